// SPDX-License-Identifier: Apache-2.0
// Roles: a level, single rules, or both.
import { useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { visible } from '../../lib/visible.ts';
import { FormDialog } from '../../ui/form.tsx';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { LEVELS, type Role } from './model.ts';

function Create({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
	const w = useWords();
	const [name, setName] = useState(''), [level, setLevel] = useState(''), [rules, setRules] = useState('');
	const list = rules.split(/\s+/).filter(Boolean);
	return (
		<FormDialog title={w.settings.roleTitle} does={w.settings.newRole} ready={name.trim() !== ''} onDo={() => ask('POST', '/api/v1/roles', { name, level, rules: list }).then(onDone)} onClose={onClose}>
			<label>{w.agents.name}<input type="text" required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} autofocus /></label>
			<label>{w.settings.level} <select value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
				<option value="">{w.settings.noLevel}</option>
				{LEVELS.map((one) => <option key={one} value={one}>{one}</option>)}
			</select></label>
			<label>{w.settings.rules}<textarea rows={3} spellcheck={false} placeholder="flag.flag.toggle" value={rules} onInput={(event) => setRules(event.currentTarget.value)} /><span class="hint-text">{w.settings.rulesHint}</span></label>
		</FormDialog>
	);
}

export function Roles() {
	const w = useWords();
	const { data, error, again } = useAnswer<{ items: Role[] }>('/api/v1/roles?limit=200');
	const [creating, setCreating] = useState(false), [ending, setEnding] = useState<Role | null>(null);
	const changed = () => {
		setCreating(false);
		setEnding(null);
		say(w.agents.saved);
		void again();
	};
	return (
		<section class="panel" aria-labelledby="roles-title">
			<div class="panel-head">
				<div><h3 id="roles-title">{w.settings.parts.roles}</h3><p class="fine">{w.settings.rolesText}</p></div>
				<button type="button" class="primary" onClick={() => setCreating(true)}>{w.settings.newRole}</button>
			</div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
			{data && (
				<div class="wide-table"><table class="table">
					<thead><tr><th scope="col">{w.agents.name}</th><th scope="col">{w.agents.may}</th><td /></tr></thead>
					<tbody>{data.items.map((role) => (
						<tr key={role.id}>
							<th scope="row"><Raw of={role.name} lines={false} /></th>
							<td>{role.level && <div>{w.settings.levels[role.level]}</div>}{role.rules.map((rule) => <div key={rule}><code><Raw of={rule} lines={false} /></code></div>)}</td>
							<td class="end">{role.builtin ? <span class="fine">{w.settings.builtin}</span> : <button type="button" class="danger" aria-label={`${w.settings.remove}: ${visible(role.name, false)}`} onClick={() => setEnding(role)}>{w.settings.remove}</button>}</td>
						</tr>
					))}</tbody>
				</table></div>
			)}
			{creating && <Create onDone={changed} onClose={() => setCreating(false)} />}
			{ending && (
				<FormDialog title={w.settings.removeRole} does={w.settings.remove} danger onDo={() => ask('DELETE', `/api/v1/roles/${encodeURIComponent(ending.id)}`).then(changed)} onClose={() => setEnding(null)}>
					<p class="dialog-summary"><Raw of={ending.name} lines={false} /></p>
				</FormDialog>
			)}
		</section>
	);
}
