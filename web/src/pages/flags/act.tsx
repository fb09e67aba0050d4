// SPDX-License-Identifier: Apache-2.0
// What is done with a whole item: make it, switch it off, carry it to another environment, delete it. Each is done at
// once where nobody else has a say and becomes a proposal where somebody has; the server decides which.
import { useState } from 'preact/hooks';

import { ApiError, ask } from '../../lib/api.ts';
import type { Json } from '../../lib/canon.ts';
import { go, pagePath, proposalPath } from '../../lib/route.ts';
import { visible } from '../../lib/visible.ts';
import { FormDialog } from '../../ui/form.tsx';
import { say } from '../../ui/notice.tsx';
import { Text } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Unreadable, ValueField } from './fields.tsx';
import { firstValue, singular, typesOf, type Environment, type Item, type Kind } from './model.ts';
import type { Place } from './place.ts';

const propose = async (body: object): Promise<string> => proposalPath((await ask<{ proposalId: string }>('POST', '/api/v1/proposals', body)).proposalId, 'pending');

/** Where the proposal is that it became, or null: it is done. */
async function doOrPropose(now: () => Promise<unknown>, proposal: object): Promise<string | null> {
	try {
		await now();
		return null;
	} catch (error) {
		if (!(error instanceof ApiError) || (error.code !== 'approval_required' && error.code !== 'forbidden')) throw error;
	}
	return propose(proposal);
}

const items = (place: Place, kind: Kind): string => `/api/v1/projects/${place.project.id}/${kind}`;
const why = (reason: string): object => (reason.trim() ? { reason } : {});

function Reason({ value, onChange }: { value: string; onChange: (value: string) => void }) {
	const w = useWords();
	return <label>{w.flags.why}<input type="text" maxLength={400} value={value} onInput={(event) => onChange(event.currentTarget.value)} /></label>;
}

export function Create({ place, kind, onClose }: { place: Place; kind: Kind; onClose: () => void }) {
	const w = useWords();
	const types = typesOf(kind);
	const [key, setKey] = useState(''), [description, setDescription] = useState('');
	const [type, setType] = useState(types[0]), [value, setValue] = useState<Json>(firstValue({ type: types[0] ?? 'boolean' }, false)), [unreadable, setUnreadable] = useState(0);
	const turn = (next: NonNullable<Item['type']>) => {
		setType(next);
		setValue(firstValue({ type: next }, false));
	};
	const create = async () => {
		const body = { key: key.trim(), ...(description ? { description } : {}), ...(type ? { type, defaultValue: value } : {}) };
		const path = await doOrPropose(() => ask('POST', items(place, kind), body), { tool: `flag.create_${singular(kind)}`, input: { projectId: place.project.id, ...body } });
		say(path ? w.flags.proposed : w.flags.created);
		go(path ?? pagePath('flags', place.project.key, kind, key.trim()));
	};
	return (
		<FormDialog title={w.flags.create[kind]} does={w.flags.create[kind]} ready={key.trim() !== '' && unreadable === 0} onDo={create} onClose={onClose}>
			<p class="fine">{w.flags.createLead} {w.flags.orProposal}</p>
			<label>{w.flags.key}<input type="text" class="mono" required maxLength={200} autocomplete="off" spellcheck={false} value={key} onInput={(event) => setKey(event.currentTarget.value)} autofocus /><span class="hint-text">{w.flags.keyHint}</span></label>
			{type && (
				<div class="pair">
					<label>{w.flags.valueType}<select value={type} onChange={(event) => turn(event.currentTarget.value as NonNullable<Item['type']>)}>{types.map((one) => <option key={one} value={one}>{w.flags.types[one]}</option>)}</select></label>
					<div class="labelled-block"><span aria-hidden="true">{w.flags.defaultValue}</span><Unreadable.Provider value={(change) => setUnreadable((n) => n + change)}><ValueField key={type} type={type} label={w.flags.defaultValue} value={value} onChange={setValue} /></Unreadable.Provider></div>
				</div>
			)}
			<label>{w.flags.description}<input type="text" maxLength={1000} value={description} onInput={(event) => setDescription(event.currentTarget.value)} /></label>
		</FormDialog>
	);
}

/** It answers false to everybody already. */
export const isOff = (item: Item): boolean => item.defaultValue === false && item.rules.length === 0;

export function Kill({ item, env, onDone, onClose }: { item: Item; env: Environment; onDone: () => void; onClose: () => void }) {
	const w = useWords();
	const [reason, setReason] = useState('');
	const kill = async () => {
		const path = await doOrPropose(() => ask('PUT', `/api/v1/envs/${env.id}/flags/${encodeURIComponent(item.key)}/state`, { defaultValue: false, rules: [] }), { envId: env.id, kind: 'kill_flag', resourceKey: item.key, diff: {}, ...why(reason) });
		say(path ? w.flags.proposed : w.flags.killed);
		if (path) return go(path);
		onDone();
	};
	return (
		<FormDialog title={w.flags.killTitle(visible(env.name, false))} does={w.flags.killDoes} danger onDo={kill} onClose={onClose}>
			<p class="dialog-summary"><code><Text of={item.key} /></code></p>
			<p>{w.flags.killText}</p>
			<Reason value={reason} onChange={setReason} />
			<p class="fine">{w.flags.orProposal}</p>
		</FormDialog>
	);
}

/** name null: everything of the project. */
export function Promote({ place, kind, name, onClose }: { place: Place; kind: Kind; name: string | null; onClose: () => void }) {
	const w = useWords();
	const all = place.environments;
	const [from, setFrom] = useState(all[0]?.id ?? ''), [to, setTo] = useState(all[1]?.id ?? ''), [reason, setReason] = useState('');
	const promote = async () => go(await propose({ tool: 'flag.promote', input: { fromEnvId: from, toEnvId: to, ...(name === null ? {} : { resources: [{ type: singular(kind), key: name }] }) }, ...(reason.trim() ? { intent: { summary: reason } } : {}) }));
	const choice = (label: string, value: string, onChange: (id: string) => void) => <label>{label}<select value={value} onChange={(event) => onChange(event.currentTarget.value)}>{all.map((env) => <option key={env.id} value={env.id}>{visible(env.name, false)}</option>)}</select></label>;
	return (
		<FormDialog title={w.flags.promoteTitle} does={w.flags.propose} ready={from !== to} onDo={promote} onClose={onClose}>
			<p class="dialog-summary">{name === null ? w.flags.promoteAll : <code><Text of={name} /></code>}</p>
			<p>{w.flags.promoteText}</p>
			<div class="pair">{choice(w.flags.promoteFrom, from, setFrom)}{choice(w.flags.promoteTo, to, setTo)}</div>
			<Reason value={reason} onChange={setReason} />
		</FormDialog>
	);
}

export function Remove({ place, kind, name, onClose }: { place: Place; kind: Kind; name: string; onClose: () => void }) {
	const w = useWords();
	const [typed, setTyped] = useState(''), [reason, setReason] = useState('');
	const remove = async () => {
		const path = await doOrPropose(() => ask('DELETE', `${items(place, kind)}/${encodeURIComponent(name)}`), { envId: place.environments[0]?.id, kind: `delete_${singular(kind)}`, resourceKey: name, diff: {}, ...why(reason) });
		say(path ? w.flags.proposed : w.flags.deleted);
		go(path ?? pagePath('flags', place.project.key, kind));
	};
	return (
		<FormDialog title={w.flags.deleteTitle} does={w.flags.deleteDoes} danger ready={typed === name} onDo={remove} onClose={onClose}>
			<p>{w.flags.deleteText}</p>
			<label>{w.act.type}<code class="word"><Text of={name} /></code><input type="text" autocomplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autofocus /></label>
			<Reason value={reason} onChange={setReason} />
			<p class="fine">{w.flags.orProposal}</p>
		</FormDialog>
	);
}
