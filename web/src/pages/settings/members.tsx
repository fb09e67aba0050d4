// SPDX-License-Identifier: Apache-2.0
// People and services: add, give roles, a new link, shut out.
import { useCallback, useEffect, useState } from 'preact/hooks';

import { everything, useAnswer } from '../../lib/answer.ts';
import { ask, me } from '../../lib/api.ts';
import { loadPeople } from '../../lib/people.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Checks, FormDialog } from '../../ui/form.tsx';
import { Failure, Notice, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Secret } from '../agents/connect.tsx';
import type { Member, Role } from './model.ts';

const pathOf = (member: Member): string => `/api/v1/members/${encodeURIComponent(member.id)}`;

/** A link that somebody sets their own password behind: nobody sees it again. */
function LinkOnce({ link, who, onClose }: { link: string; who: string; onClose: () => void }) {
	const w = useWords();
	return (
		<Dialog title={w.settings.linkTitle} onClose={() => {}}>
			<Notice tone="good"><p>{w.settings.linkOnce(visible(who, false))}</p></Notice>
			<Secret name={w.settings.link} value={new URL(link, location.origin).href} />
			<div class="buttons"><button type="button" class="primary" onClick={onClose}>{w.agents.kept}</button></div>
		</Dialog>
	);
}

function NewLink({ member, onClose }: { member: Member; onClose: () => void }) {
	const w = useWords();
	const [link, setLink] = useState<string | null>(null);
	if (link !== null) return <LinkOnce link={link} who={member.email ?? member.name} onClose={onClose} />;
	const send = async () => setLink((await ask<{ link: string }>('POST', `${pathOf(member)}/link`)).link);
	return (
		<FormDialog title={w.settings.newLinkTitle} does={w.settings.newLink} onDo={send} onClose={onClose}>
			<p class="dialog-summary"><Raw of={member.name} lines={false} /></p>
			<p>{w.settings.newLinkText}</p>
		</FormDialog>
	);
}

function Invite({ roles, onDone, onClose }: { roles: string[]; onDone: () => void; onClose: () => void }) {
	const w = useWords();
	const [name, setName] = useState(''), [email, setEmail] = useState(''), [chosen, setChosen] = useState<string[]>(['proposer']);
	const [made, setMade] = useState<Member | null>(null);
	if (made?.link) return <LinkOnce link={made.link} who={made.email ?? made.name} onClose={onClose} />;
	const send = async () => {
		setMade(await ask<Member>('POST', '/api/v1/members', { name, email, roles: chosen }));
		onDone();
	};
	return (
		<FormDialog title={w.settings.inviteTitle} does={w.settings.invite} ready={name.trim() !== '' && email.trim() !== ''} onDo={send} onClose={onClose}>
			<label>{w.agents.name}<input type="text" required maxLength={200} value={name} onInput={(event) => setName(event.currentTarget.value)} autofocus /></label>
			<label>{w.signIn.email}<input type="email" required maxLength={254} autocomplete="off" value={email} onInput={(event) => setEmail(event.currentTarget.value)} /></label>
			<Checks legend={w.settings.roles} all={roles} chosen={chosen} onChange={setChosen} name={(id) => visible(id, false)} />
		</FormDialog>
	);
}

function ChangeRoles({ member, roles, onDone, onClose }: { member: Member; roles: string[]; onDone: () => void; onClose: () => void }) {
	const w = useWords();
	const [chosen, setChosen] = useState(member.roles);
	return (
		<FormDialog title={w.settings.rolesTitle} does={w.agents.save} onDo={() => ask('PATCH', pathOf(member), { roles: chosen }).then(onDone)} onClose={onClose}>
			<p class="dialog-summary"><Raw of={member.name} lines={false} /></p>
			<Checks legend={w.settings.roles} all={roles} chosen={chosen} onChange={setChosen} name={(id) => visible(id, false)} />
		</FormDialog>
	);
}

function Row({ member, onRoles, onLink, onDisable }: { member: Member; onRoles: () => void; onLink: () => void; onDisable: () => void }) {
	const w = useWords();
	const own = useStore(me)?.id === member.id; // one's own password is changed under "You"
	const name = visible(member.name, false), does = member.disabled ? w.agents.letIn : w.agents.shutOut;
	return (
		<tr>
			<th scope="row"><Raw of={member.name} lines={false} />{member.email && <div class="fine"><Raw of={member.email} lines={false} /></div>}</th>
			<td>{member.roles.map((role) => visible(role, false)).join(', ') || '—'}</td>
			<td class="spare"><span class={`mark ${member.disabled ? 'state-denied' : 'state-approved'}`}>{member.disabled ? w.agents.disabled : w.agents.active}</span></td>
			<td class="end"><span class="row-buttons">
				<button type="button" aria-label={`${w.settings.roles}: ${name}`} onClick={onRoles}>{w.settings.roles}</button>
				{member.kind === 'user' && !member.disabled && !own && <button type="button" aria-label={`${w.settings.newLink}: ${name}`} onClick={onLink}>{w.settings.newLink}</button>}
				<button type="button" class={member.disabled ? '' : 'danger'} aria-label={`${does}: ${name}`} onClick={onDisable}>{does}</button>
			</span></td>
		</tr>
	);
}

export function Members() {
	const w = useWords();
	const [members, setMembers] = useState<Member[] | null>(null), [error, setError] = useState<unknown>(null);
	const [open, setOpen] = useState<{ what: 'invite' } | { what: 'roles' | 'link' | 'disable'; member: Member } | null>(null);
	const roles = useAnswer<{ items: Role[] }>('/api/v1/roles?limit=200').data?.items.map((role) => role.name) ?? [];
	const load = useCallback(() => {
		setError(null);
		everything<Member>('/api/v1/members').then(setMembers, setError);
	}, []);
	useEffect(load, [load]);
	const changed = () => {
		setOpen(null);
		say(w.agents.saved);
		load();
		void loadPeople();
	};
	return (
		<section class="panel" aria-labelledby="members-title">
			<div class="panel-head">
				<div><h3 id="members-title">{w.settings.parts.members}</h3><p class="fine">{w.settings.membersText}</p></div>
				<button type="button" class="primary" onClick={() => setOpen({ what: 'invite' })}>{w.settings.invite}</button>
			</div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={load} /></div>}
			{members && (
				<div class="wide-table"><table class="table">
					<thead><tr><th scope="col">{w.agents.name}</th><th scope="col">{w.settings.roles}</th><th scope="col" class="spare">{w.agents.state}</th><td /></tr></thead>
					<tbody>{members.map((member) => <Row key={member.id} member={member} onRoles={() => setOpen({ what: 'roles', member })} onLink={() => setOpen({ what: 'link', member })} onDisable={() => setOpen({ what: 'disable', member })} />)}</tbody>
				</table></div>
			)}
			{open?.what === 'invite' && <Invite roles={roles} onDone={load} onClose={() => setOpen(null)} />}
			{open?.what === 'roles' && <ChangeRoles member={open.member} roles={roles} onDone={changed} onClose={() => setOpen(null)} />}
			{open?.what === 'link' && <NewLink member={open.member} onClose={() => setOpen(null)} />}
			{open?.what === 'disable' && (
				<FormDialog title={open.member.disabled ? w.settings.letInTitle : w.settings.shutOutTitle} does={open.member.disabled ? w.agents.letIn : w.agents.shutOut} danger={!open.member.disabled}
					onDo={() => ask('PATCH', pathOf(open.member), { disabled: !open.member.disabled }).then(changed)} onClose={() => setOpen(null)}>
					<p class="dialog-summary"><Raw of={open.member.name} lines={false} /></p>
					<p>{open.member.disabled ? w.settings.letInText : w.settings.shutOutText}</p>
				</FormDialog>
			)}
		</section>
	);
}
