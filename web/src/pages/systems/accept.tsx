// SPDX-License-Identifier: Apache-2.0
// What an admin says of a tool: this counts, whatever the server says of itself. It holds for exactly the definition
// that was read, named by its hash.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { visible } from '../../lib/visible.ts';
import { FormDialog } from '../../ui/form.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { TIERS, type Tier } from '../agents/model.ts';
import { argumentNames, neededNames } from './definition.tsx';
import { CONTRACTS, EFFECTS, upstreamPath, useSystemWords, type Before, type Category, type Contract, type Upstream, type UpstreamTool } from './model.ts';
import type { Effect } from '../../lib/model.ts';

type Preview = 'none' | 'before' | 'dryRun';

interface Saying {
	effect: Effect | null;
	tier: Tier;
	category: Category;
	rollbackSupported: boolean;
	financial: boolean;
	personalData: boolean;
	phi: boolean;
	failure: string;
	contract: Contract;
	probe: string;
	preview: Preview;
	before: Before;
	dryRun: string;
}

/** What was said the last time; of a new tool nothing but the careful usual, and no effect: that is for a person. */
function begin(t: UpstreamTool): Saying {
	const said = t.version > 0, before = t.options.before ?? t.suggested?.before, dryRun = t.options.dryRun ?? '';
	return {
		effect: said ? t.effect : null,
		tier: said ? t.tier : 'needs_approval',
		category: said ? t.category : 'C',
		rollbackSupported: t.rollbackSupported, financial: t.financial, personalData: t.personalData, phi: t.phi,
		failure: said ? t.failure : '',
		contract: said ? t.contract : 'blind',
		probe: t.options.probe ?? '',
		preview: t.options.before || (!said && before) ? 'before' : dryRun ? 'dryRun' : 'none',
		before: before ?? { tool: '', arguments: {} },
		dryRun,
	};
}

function optionsOf(t: UpstreamTool, f: Saying): object {
	const { before: _before, dryRun: _dryRun, probe: _probe, ...kept } = t.options; // what this page does not know stays
	if (f.effect === 'read') return kept;
	return { ...kept, ...(f.preview === 'before' && { before: f.before }), ...(f.preview === 'dryRun' && { dryRun: f.dryRun }), ...(f.contract === 'probe' && { probe: f.probe }) };
}

function bodyOf(t: UpstreamTool, f: Saying): object {
	const { effect, tier, category, rollbackSupported, financial, personalData, phi, failure, contract } = f;
	const more = effect === 'read' ? {} : { category, rollbackSupported, contract, ...(failure.trim() && { failure }) };
	return { name: t.name, definitionHash: t.definitionHash, effect, tier, financial, personalData, phi, ...more, options: optionsOf(t, f), ...(t.version > 0 && { deadlineMs: t.deadlineMs }) };
}

type Set = (some: Partial<Saying>) => void;

function Effects({ f, onSet }: { f: Saying; onSet: Set }) {
	const s = useSystemWords();
	return (
		<fieldset class="choices">
			<legend>{s.tool.effect}</legend>
			{EFFECTS.map((one) => <label key={one} class="choice"><input type="radio" name="effect" checked={f.effect === one} onChange={() => onSet({ effect: one, tier: one === 'read' ? 'always_allow' : 'needs_approval' })} /> <span><b>{s.tool.effects[one]}</b><span class="hint-text">{s.tool.effectTexts[one]}</span></span></label>)}
		</fieldset>
	);
}

/** Which argument of the reading tool is which of ours. */
function Reading({ tool, others, f, onSet }: { tool: UpstreamTool; others: UpstreamTool[]; f: Saying; onSet: Set }) {
	const s = useSystemWords();
	const own = argumentNames(tool.definition), reads = others.find(({ remote }) => remote === f.before.tool);
	const choose = (remote: string) => {
		const chosen = others.find((one) => one.remote === remote), names = chosen ? neededNames(chosen.definition) : [];
		onSet({ before: { tool: remote, arguments: Object.fromEntries(names.filter((name) => own.includes(name)).map((name) => [name, name])) } });
	};
	const map = (name: string, to: string) => {
		const { [name]: _was, ...rest } = f.before.arguments;
		onSet({ before: { ...f.before, arguments: to ? { ...rest, [name]: to } : rest } });
	};
	return (
		<>
			<label>{s.tool.readTool}
				<select value={f.before.tool} onChange={(event) => choose(event.currentTarget.value)}>
					<option value="">—</option>
					{others.map(({ remote }) => <option key={remote} value={remote}>{visible(remote, false)}{tool.suggested?.before?.tool === remote ? ` (${s.tool.suggested})` : ''}</option>)}
				</select>
			</label>
			{reads && argumentNames(reads.definition).map((name) => (
				<label key={name}>{s.tool.readArgument(visible(name, false))}
					<select value={f.before.arguments[name] ?? ''} onChange={(event) => map(name, event.currentTarget.value)}><option value="">—</option>{own.map((one) => <option key={one} value={one}>{visible(one, false)}</option>)}</select>
				</label>
			))}
			<p class="fine">{s.tool.previewText}</p>
		</>
	);
}

function Previewing({ tool, all, f, onSet }: { tool: UpstreamTool; all: UpstreamTool[]; f: Saying; onSet: Set }) {
	const s = useSystemWords();
	const others = all.filter((one) => one.remote !== tool.remote && one.state !== 'gone');
	return (
		<>
			<label>{s.tool.preview}
				<select value={f.preview} onChange={(event) => onSet({ preview: event.currentTarget.value as Preview })}>{(['none', 'before', 'dryRun'] as const).map((one) => <option key={one} value={one}>{s.tool.previews[one]}</option>)}</select>
			</label>
			{f.preview === 'before' && <Reading tool={tool} others={others} f={f} onSet={onSet} />}
			{f.preview === 'dryRun' && (
				<label>{s.tool.dryArgument}
					<select value={f.dryRun} onChange={(event) => onSet({ dryRun: event.currentTarget.value })}><option value="">—</option>{argumentNames(tool.definition).map((one) => <option key={one} value={one}>{visible(one, false)}</option>)}</select>
				</label>
			)}
		</>
	);
}

function Repeating({ tool, all, f, onSet }: { tool: UpstreamTool; all: UpstreamTool[]; f: Saying; onSet: Set }) {
	const s = useSystemWords();
	return (
		<>
			<label>{s.tool.contract}
				<select value={f.contract} onChange={(event) => onSet({ contract: event.currentTarget.value as Contract })}>{CONTRACTS.map((one) => <option key={one} value={one}>{s.tool.contracts[one]}</option>)}</select>
			</label>
			{f.contract === 'probe' && (
				<label>{s.tool.probe}
					<select value={f.probe} onChange={(event) => onSet({ probe: event.currentTarget.value })}><option value="">—</option>{all.filter((one) => one.name !== tool.name && one.state === 'accepted' && one.effect === 'read').map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}</select>
				</label>
			)}
			<label>{s.tool.failure}<input type="text" maxLength={500} value={f.failure} onInput={(event) => onSet({ failure: event.currentTarget.value })} /><span class="hint-text">{s.tool.failureHint}</span></label>
		</>
	);
}

const isWhole = (f: Saying): boolean => f.effect === 'read' || (f.effect !== null
	&& (f.preview !== 'before' || (f.before.tool !== '' && Object.keys(f.before.arguments).length > 0))
	&& (f.preview !== 'dryRun' || f.dryRun !== '') && (f.contract !== 'probe' || f.probe !== ''));

export function Accept({ tool, all, upstream, onDone, onClose }: { tool: UpstreamTool; all: UpstreamTool[]; upstream: Upstream; onDone: (now: { tools: UpstreamTool[] }) => void; onClose: () => void }) {
	const w = useWords(), s = useSystemWords();
	const [read] = useState(tool); // what was read: if it changes meanwhile, the server refuses its hash
	const [f, setF] = useState(() => begin(tool));
	const set: Set = (some) => setF((was) => ({ ...was, ...some }));
	const send = () => ask<{ tools: UpstreamTool[] }>('POST', `${upstreamPath(upstream.id)}/tools/accept`, { tools: [bodyOf(read, f)] }).then(onDone);
	const changes = f.effect !== null && f.effect !== 'read';
	return (
		<FormDialog title={s.tool.acceptTitle} does={s.tool.acceptDo} ready={isWhole(f)} onDo={send} onClose={onClose}>
			<p class="dialog-summary"><Raw of={tool.name} lines={false} /></p>
			<p>{s.tool.acceptText}</p>
			<Effects f={f} onSet={set} />
			<label>{s.tool.tier} <select value={f.tier} onChange={(event) => set({ tier: event.currentTarget.value as Tier })}>{TIERS.map((one) => <option key={one} value={one}>{w.tiers[one]}</option>)}</select></label>
			<fieldset class="checks">
				<legend>{s.tool.data}</legend>
				{(['financial', 'personalData', 'phi'] as const).map((one) => <label key={one} class="check"><input type="checkbox" checked={f[one]} onChange={(event) => set({ [one]: event.currentTarget.checked })} /> {s.tool[one]}</label>)}
			</fieldset>
			{changes && (
				<>
					<label>{s.tool.category} <select value={f.category} onChange={(event) => set({ category: event.currentTarget.value as Category })}>{(['A', 'B', 'C'] as const).map((one) => <option key={one} value={one}>{s.tool.categories[one]}</option>)}</select></label>
					<Previewing tool={tool} all={all} f={f} onSet={set} />
					<Repeating tool={tool} all={all} f={f} onSet={set} />
					<label class="check"><input type="checkbox" checked={f.rollbackSupported} onChange={(event) => set({ rollbackSupported: event.currentTarget.checked })} /> {s.tool.rollback}</label>
				</>
			)}
		</FormDialog>
	);
}
