// SPDX-License-Identifier: Apache-2.0
// What a webhook does only an admin can say: its tools, declared here, offered at once.
import { useState } from 'preact/hooks';

import { useLook } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import type { Json } from '../../lib/canon.ts';
import type { Effect } from '../../lib/model.ts';
import { FormDialog } from '../../ui/form.tsx';
import { EffectMark } from '../../ui/marks.tsx';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { TIERS, type Tier } from '../agents/model.ts';
import { connectionPath, CONTRACTS, EFFECTS, useSystemWords, type Category, type Connection, type Contract, type Declared } from './model.ts';

const SCHEMA = '{\n  "type": "object",\n  "properties": {},\n  "additionalProperties": false\n}';
const nameOf = (d: Declared): string => d.tool.replace(/^webhook\./, '');

type Saying = Pick<Declared, 'title' | 'description' | 'failure' | 'contract' | 'category' | 'tier' | 'rollback' | 'financial' | 'personalData' | 'phi' | 'serverError'> & { probe: string; affects: string; name: string; effect: Effect | null; schema: string };

const begin = (d: Declared | null): Saying => ({
	name: d ? nameOf(d) : '', title: d?.title ?? '', description: d?.description ?? '', effect: d?.effect ?? null, schema: d ? JSON.stringify(d.inputSchema, null, 2) : SCHEMA,
	failure: d?.failure ?? '', contract: d?.contract ?? 'blind', category: d?.category ?? 'C', tier: d?.tier ?? 'needs_approval',
	rollback: d?.rollback ?? false, financial: d?.financial ?? false, personalData: d?.personalData ?? false, phi: d?.phi ?? false, serverError: d?.serverError ?? 'unknown', probe: d?.probe ?? '', affects: d?.affects ?? '',
});

function parse(text: string): Json | undefined {
	try {
		return JSON.parse(text) as Json;
	} catch {
		return undefined;
	}
}

function bodyOf(d: Declared | null, f: Saying, schema: Json): object {
	const { name: _name, schema: _schema, failure, probe, affects, ...rest } = f;
	const kept = d ? { outputSchema: d.outputSchema, domain: d.domain, target: d.target, deadlineMs: d.deadlineMs } : {};
	return { ...kept, ...rest, ...(failure.trim() && { failure }), ...(f.effect !== 'read' && f.contract === 'probe' && { probe }), ...(affects.trim() && { affects }), inputSchema: schema };
}

function Declare({ of: c, tool, onDone, onClose }: { of: Connection; tool: Declared | null; onDone: () => void; onClose: () => void }) {
	const w = useWords(), s = useSystemWords();
	const [f, setF] = useState(() => begin(tool));
	const set = (some: Partial<Saying>) => setF((was) => ({ ...was, ...some }));
	const schema = parse(f.schema), effects = EFFECTS.filter((one) => c.mode !== 'callback' || one !== 'read'), changes = f.effect !== null && f.effect !== 'read';
	const ready = f.name.trim() !== '' && f.title.trim() !== '' && f.description.trim() !== '' && f.effect !== null && schema !== undefined && (!changes || (f.failure.trim() !== '' && (f.contract !== 'probe' || f.probe.trim() !== '')));
	const send = () => ask('PUT', `${connectionPath(c.id)}/tools/${encodeURIComponent(f.name)}`, bodyOf(tool, f, schema!)).then(onDone);
	const text = (name: 'name' | 'title' | 'failure' | 'probe', most: number) => ({ type: 'text' as const, required: true, maxLength: most, value: f[name], onInput: (event: { currentTarget: { value: string } }) => set({ [name]: event.currentTarget.value }) });
	return (
		<FormDialog title={tool ? s.webhooks.changeTool : s.webhooks.declareTitle} does={s.webhooks.declareDo} ready={ready} onDo={send} onClose={onClose}>
			{tool ? <p class="dialog-summary"><Raw of={tool.tool} lines={false} /></p> : <label>{s.webhooks.toolName}<input {...text('name', 100)} autocomplete="off" spellcheck={false} autofocus /><span class="hint-text">{s.webhooks.toolNameHint}</span></label>}
			<label>{s.webhooks.title}<input {...text('title', 200)} /></label>
			<label>{s.webhooks.description}<textarea rows={2} required maxLength={4000} value={f.description} onInput={(event) => set({ description: event.currentTarget.value })} /></label>
			<fieldset class="choices">
				<legend>{s.tool.effect}</legend>
				{effects.map((one) => <label key={one} class="choice"><input type="radio" name="effect" checked={f.effect === one} onChange={() => set({ effect: one, tier: one === 'read' ? 'always_allow' : 'needs_approval' })} /> <span><b>{s.tool.effects[one]}</b><span class="hint-text">{s.tool.effectTexts[one]}</span></span></label>)}
			</fieldset>
			<label>{s.webhooks.schema}<textarea rows={6} required spellcheck={false} class="code" aria-invalid={schema === undefined} value={f.schema} onInput={(event) => set({ schema: event.currentTarget.value })} />{schema === undefined && <span class="hint-text bad-text" role="alert">{s.webhooks.notJson}</span>}</label>
			<label>{s.webhooks.affects}<input type="text" maxLength={200} value={f.affects} onInput={(event) => set({ affects: event.currentTarget.value })} /><span class="hint-text">{s.tool.failureHint}</span></label>
			{changes && <label>{s.tool.failure}<input {...text('failure', 1000)} /><span class="hint-text">{s.tool.failureHint}</span></label>}
			<label>{s.tool.tier} <select value={f.tier} onChange={(event) => set({ tier: event.currentTarget.value as Tier })}>{TIERS.map((one) => <option key={one} value={one}>{w.tiers[one]}</option>)}</select></label>
			<fieldset class="checks">
				<legend>{s.tool.data}</legend>
				{(['financial', 'personalData', 'phi'] as const).map((one) => <label key={one} class="check"><input type="checkbox" checked={f[one]} onChange={(event) => set({ [one]: event.currentTarget.checked })} /> {s.tool[one]}</label>)}
			</fieldset>
			{changes && (
				<>
					<label>{s.tool.category} <select value={f.category} onChange={(event) => set({ category: event.currentTarget.value as Category })}>{(['A', 'B', 'C'] as const).map((one) => <option key={one} value={one}>{s.tool.categories[one]}</option>)}</select></label>
					<label>{s.tool.contract} <select value={f.contract} onChange={(event) => set({ contract: event.currentTarget.value as Contract })}>{CONTRACTS.map((one) => <option key={one} value={one}>{s.tool.contracts[one]}</option>)}</select></label>
					{f.contract === 'probe' && <label>{s.tool.probe}<input {...text('probe', 200)} spellcheck={false} autocomplete="off" /><span class="hint-text">{s.webhooks.probeHint}</span></label>}
					<label>{s.webhooks.serverError} <select value={f.serverError} onChange={(event) => set({ serverError: event.currentTarget.value as Declared['serverError'] })}>{(['unknown', 'refused'] as const).map((one) => <option key={one} value={one}>{s.webhooks.serverErrors[one]}</option>)}</select></label>
					<label class="check"><input type="checkbox" checked={f.rollback} onChange={(event) => set({ rollback: event.currentTarget.checked })} /> {s.tool.rollback}</label>
				</>
			)}
		</FormDialog>
	);
}

function Row({ of: d, onChange, onRemove }: { of: Declared; onChange: () => void; onRemove: () => void }) {
	const w = useWords(), s = useSystemWords();
	return (
		<tr>
			<th scope="row"><Raw of={d.title} lines={false} /> <EffectMark effect={d.effect} /><div class="fine"><code>{d.tool}</code></div></th>
			<td class="spare">{s.tool.categories[d.category]}</td>
			<td class="spare">{w.tiers[d.tier]}</td>
			<td class="end"><span class="row-buttons">
				<button type="button" aria-label={`${s.change} ${d.tool}`} onClick={onChange}>{s.change}</button>
				<button type="button" class="danger" aria-label={`${s.remove}: ${d.tool}`} onClick={onRemove}>{s.remove}</button>
			</span></td>
		</tr>
	);
}

export function DeclaredTools({ of: c, onChanged }: { of: Connection; onChanged: () => void }) {
	const w = useWords(), s = useSystemWords();
	const { data, error, again } = useLook<{ items: Declared[] }>(`${connectionPath(c.id)}/tools`);
	const [declaring, setDeclaring] = useState<Declared | 'new' | null>(null), [removing, setRemoving] = useState<Declared | null>(null);
	const changed = (text: string) => () => {
		setDeclaring(null);
		setRemoving(null);
		say(text);
		void again();
		onChanged();
	};
	return (
		<section class="panel" aria-labelledby="declared-title">
			<div class="panel-head">
				<div><h3 id="declared-title">{s.webhooks.tools}</h3><p class="fine">{s.webhooks.toolsText}</p></div>
				<button type="button" class="primary" onClick={() => setDeclaring('new')}>{s.webhooks.declare}</button>
			</div>
			{error !== null && <div class="panel-body"><Failure error={error} retry={() => void again()} /></div>}
			{!data && error === null && <p class="panel-body quiet" role="status">{w.loading}</p>}
			{data && data.items.length === 0 && <p class="panel-body quiet">{s.webhooks.noTools}</p>}
			{data && data.items.length > 0 && (
				<div class="wide-table"><table class="table">
					<thead><tr><th scope="col">{s.name}</th><th scope="col" class="spare">{s.tool.category}</th><th scope="col" class="spare">{s.tool.tier}</th><td /></tr></thead>
					<tbody>{data.items.map((d) => <Row key={d.tool} of={d} onChange={() => setDeclaring(d)} onRemove={() => setRemoving(d)} />)}</tbody>
				</table></div>
			)}
			{declaring && <Declare of={c} tool={declaring === 'new' ? null : declaring} onDone={changed(s.tool.acceptedNow)} onClose={() => setDeclaring(null)} />}
			{removing && (
				<FormDialog title={s.webhooks.removeTool} does={s.remove} danger onDo={() => ask('DELETE', `${connectionPath(c.id)}/tools/${encodeURIComponent(nameOf(removing))}`).then(changed(s.removed))} onClose={() => setRemoving(null)}>
					<p class="dialog-summary"><Raw of={removing.tool} lines={false} /></p>
					<p>{s.webhooks.removeToolText}</p>
				</FormDialog>
			)}
		</section>
	);
}
