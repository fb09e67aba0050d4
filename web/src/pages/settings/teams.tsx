// SPDX-License-Identifier: Apache-2.0
// Teams: people whom policy can ask together. What a team shares besides is kept as it is.
import { useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { nameOf, people } from '../../lib/people.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';
import { Checks, FormDialog } from '../../ui/form.tsx';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import type { Team } from './model.ts';

function Edit({ team, onDone, onClose }: { team: Team | null; onDone: () => void; onClose: () => void }) {
	const w = useWords();
	const names = useStore(people);
	const [name, setName] = useState(team?.name ?? ''), [members, setMembers] = useState<string[]>(team?.members ?? []);
	const send = () => (team ? ask('PUT', `/api/v1/teams/${encodeURIComponent(team.id)}`, { name, members, grants: team.grants }) : ask('POST', '/api/v1/teams', { name, members }));
	return (
		<FormDialog title={team ? w.settings.editTeam : w.settings.newTeam} does={team ? w.agents.save : w.settings.newTeam} ready={name.trim() !== ''} onDo={() => send().then(onDone)} onClose={onClose}>
			<label>{w.agents.name}<input type="text" required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} autofocus /></label>
			<Checks legend={w.settings.teamMembers} all={[...names.keys()]} chosen={members} onChange={setMembers} name={(id) => nameOf(names, id)} />
		</FormDialog>
	);
}

/** A list has names; who is in a team comes with the team. */
function Row({ id, onEdit, onEnd }: { id: string; onEdit: (team: Team) => void; onEnd: (team: Team) => void }) {
	const w = useWords();
	const names = useStore(people);
	const { data: team } = useAnswer<Team>(`/api/v1/teams/${encodeURIComponent(id)}`);
	if (!team) return null;
	const name = visible(team.name, false);
	return (
		<tr>
			<th scope="row"><Raw of={team.name} lines={false} /></th>
			<td>{team.members.map((one) => nameOf(names, one)).join(', ') || '—'}</td>
			<td class="end"><span class="row-buttons">
				<button type="button" aria-label={`${w.settings.edit}: ${name}`} onClick={() => onEdit(team)}>{w.settings.edit}</button>
				<button type="button" class="danger" aria-label={`${w.settings.remove}: ${name}`} onClick={() => onEnd(team)}>{w.settings.remove}</button>
			</span></td>
		</tr>
	);
}

export function Teams() {
	const w = useWords();
	const { data, error, again } = useAnswer<{ items: { id: string; name: string }[] }>('/api/v1/teams?limit=200');
	const [editing, setEditing] = useState<Team | 'new' | null>(null), [ending, setEnding] = useState<Team | null>(null), [n, setN] = useState(0);
	const changed = () => {
		setEditing(null);
		setEnding(null);
		say(w.agents.saved);
		void again().then(() => setN((was) => was + 1));
	};
	return (
		<section class="panel" aria-labelledby="teams-title">
			<div class="panel-head">
				<div><h3 id="teams-title">{w.settings.parts.teams}</h3><p class="fine">{w.settings.teamsText}</p></div>
				<button type="button" class="primary" onClick={() => setEditing('new')}>{w.settings.newTeam}</button>
			</div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
			{data && data.items.length === 0 && <p class="panel-body quiet">{w.settings.noTeams}</p>}
			{data && data.items.length > 0 && (
				<div class="wide-table"><table class="table">
					<thead><tr><th scope="col">{w.agents.name}</th><th scope="col">{w.settings.teamMembers}</th><td /></tr></thead>
					<tbody>{data.items.map(({ id }) => <Row key={`${id} ${n}`} id={id} onEdit={setEditing} onEnd={setEnding} />)}</tbody>
				</table></div>
			)}
			{editing && <Edit team={editing === 'new' ? null : editing} onDone={changed} onClose={() => setEditing(null)} />}
			{ending && (
				<FormDialog title={w.settings.removeTeam} does={w.settings.remove} danger onDo={() => ask('DELETE', `/api/v1/teams/${encodeURIComponent(ending.id)}`).then(changed)} onClose={() => setEnding(null)}>
					<p class="dialog-summary"><Raw of={ending.name} lines={false} /></p>
					<p>{w.settings.removeTeamText}</p>
				</FormDialog>
			)}
		</section>
	);
}
