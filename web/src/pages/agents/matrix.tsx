// SPDX-License-Identifier: Apache-2.0
// What an agent may do with each tool: three states, a row for each tool and one above for all of a provider. Nothing is
// sent before "Save", and then all of it: the server keeps exactly what is shown.
import { useEffect, useMemo, useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ask } from '../../lib/api.ts';
import { Failure, say } from '../../ui/notice.tsx';
import { EffectMark } from '../../ui/marks.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';
import { TIERS, type Agent, type Permission, type Tier, type Tool } from './model.ts';

export interface Line extends Permission {
	tool: Tool | undefined; // somebody may see that there is a tool, and not what it is
}
interface Group {
	id: string;
	name: string;
	lines: Line[];
}

const SIGNS: Record<Tier, string> = { always_allow: '✓', needs_approval: '?', blocked: '✕' };

function groupOf(line: Line): string {
	if (line.tool && line.tool.provider !== 'builtin') return `provider ${line.tool.provider}`;
	const plugin = line.toolName.split('.')[0]!;
	return plugin === 'flag' || plugin === 'note' ? plugin : 'own';
}

function groups(w: Words, lines: Line[]): Group[] {
	const found = new Map<string, Line[]>();
	for (const line of lines) found.set(groupOf(line), [...(found.get(groupOf(line)) ?? []), line]);
	return [...found].map(([id, of]) => ({ id, name: w.agents.groups[id] ?? id.replace('provider ', ''), lines: of }));
}

/** Three states of which one is chosen, or none where those below differ. */
function Three({ label, value, onChange }: { label: string; value: Tier | null; onChange: (tier: Tier) => void }) {
	const w = useWords();
	return (
		<div class="three" role="radiogroup" aria-label={value ? label : `${label} (${w.agents.mixed})`}>
			{TIERS.map((tier) => (
				<label key={tier} class={`tier-${tier}`}>
					<input type="radio" name={label} checked={value === tier} onChange={() => onChange(tier)} />
					<span><span aria-hidden="true">{SIGNS[tier]}</span> {w.tiers[tier]}</span>
				</label>
			))}
		</div>
	);
}

type Wish = (names: string[], tier: Tier) => void;
const same = (lines: Line[]): Tier | null => (lines.every((line) => line.permissionStatus === lines[0]!.permissionStatus) ? lines[0]!.permissionStatus : null);

function Row({ line, changed, onWish }: { line: Line; changed: boolean; onWish: Wish }) {
	const w = useWords();
	const still = line.permissionStatus === 'always_allow' && line.tool && line.tool.effect !== 'read' && (line.tool.effect === 'destructive' || line.tool.category === 'C');
	return (
		<li class={`matrix-row ${changed ? 'changed' : ''}`}>
			<div class="matrix-what">
				<span>{line.tool ? <Raw of={line.tool.title} lines={false} /> : <code>{line.toolName}</code>} {line.tool && <EffectMark effect={line.tool.effect} />}</span>
				<span class="fine"><code>{line.toolName}</code>{!line.stored && !changed && <> · {w.agents.isDefault}</>}{changed && <> · <b>{w.agents.unsaved}</b></>}</span>
				{still && <span class="fine still">{w.agents.stillAsks}</span>}
			</div>
			<Three label={line.toolName} value={line.permissionStatus} onChange={(tier) => onWish([line.toolName], tier)} />
		</li>
	);
}

function Part({ group, open, changed, onToggle, onWish }: { group: Group; open: boolean; changed: (line: Line) => boolean; onToggle: () => void; onWish: Wish }) {
	const w = useWords();
	const counts = TIERS.map((tier) => [tier, group.lines.filter((line) => line.permissionStatus === tier).length] as const).filter(([, n]) => n > 0);
	return (
		<section class="matrix-group">
			<div class="matrix-row master">
				<button type="button" class="matrix-what quiet-button" aria-expanded={open} onClick={onToggle}>
					<span><span class="turn" aria-hidden="true">▸</span> <b><Raw of={group.name} lines={false} /></b></span>
					<span class="fine">{counts.map(([tier, n]) => `${n} ${w.tiers[tier].toLowerCase()}`).join(' · ')}</span>
				</button>
				<Three label={w.agents.all(group.name)} value={same(group.lines)} onChange={(tier) => onWish(group.lines.map((line) => line.toolName), tier)} />
			</div>
			{open && <ul>{group.lines.map((line) => <Row key={line.toolName} line={line} changed={changed(line)} onWish={onWish} />)}</ul>}
		</section>
	);
}

const fits = (line: Line, text: string): boolean => `${line.toolName} ${line.tool?.title ?? ''}`.toLowerCase().includes(text.toLowerCase());

/** What the server has, with what was changed here laid over it. */
function useMatrix(agent: Agent) {
	const path = `/api/v1/agents/${encodeURIComponent(agent.id)}/tools`;
	const stored = useAnswer<{ tools: Permission[] }>(path), tools = useAnswer<{ tools: Tool[] }>('/api/v1/tools');
	const [wishes, setWishes] = useState<ReadonlyMap<string, Tier>>(new Map());
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const known = useMemo(() => new Map((tools.data?.tools ?? []).map((tool) => [tool.name, tool])), [tools.data]);
	const before = useMemo(() => new Map((stored.data?.tools ?? []).map((one) => [one.toolName, one])), [stored.data]);
	const lines = [...before.values()].map((one): Line => ({ ...one, permissionStatus: wishes.get(one.toolName) ?? one.permissionStatus, tool: known.get(one.toolName) }));
	const wish: Wish = (names, tier) => setWishes((was) => {
		const next = new Map(was);
		for (const name of names) before.get(name)?.permissionStatus === tier ? next.delete(name) : next.set(name, tier);
		return next;
	});
	const put = async (set: { toolName: string; permissionStatus: Tier }[]): Promise<boolean> => {
		setWorking(true);
		setError(null);
		try {
			stored.set(await ask<{ tools: Permission[] }>('PUT', path, { tools: set }));
			setWishes(new Map());
			return true;
		} catch (e) {
			setError(e);
			return false;
		} finally {
			setWorking(false);
		}
	};
	const save = () => put(lines.filter((line) => line.stored || wishes.has(line.toolName)).map(({ toolName, permissionStatus }) => ({ toolName, permissionStatus })));
	return { lines, ready: stored.data !== null && (tools.data !== null || tools.error !== null), failure: stored.error, again: stored.again, wishes, wish, save, reset: () => put([]), forget: () => setWishes(new Map()), working, error };
}

export function Matrix({ agent }: { agent: Agent }) {
	const w = useWords();
	const m = useMatrix(agent);
	const [text, setText] = useState(''), [open, setOpen] = useState<ReadonlySet<string>>(new Set());
	useEffect(() => { // what was changed and not saved is not lost by a slip
		if (m.wishes.size === 0) return undefined;
		const stay = (event: BeforeUnloadEvent) => event.preventDefault();
		window.addEventListener('beforeunload', stay);
		return () => window.removeEventListener('beforeunload', stay);
	}, [m.wishes.size === 0]);
	const shown = groups(w, m.lines.filter((line) => fits(line, text)));
	const toggle = (id: string) => setOpen((was) => new Set(was.has(id) ? [...was].filter((one) => one !== id) : [...was, id]));
	const saved = (done: boolean) => done && say(w.agents.saved);
	return (
		<section class="panel matrix" aria-labelledby="matrix-title">
			<div class="panel-head">
				<div><h3 id="matrix-title">{w.agents.matrix}</h3><p class="fine">{w.agents.matrixText}</p></div>
				<input type="search" class="matrix-filter" aria-label={w.agents.filterTools} placeholder={w.agents.filterTools} value={text} onInput={(event) => setText(event.currentTarget.value)} />
			</div>
			{m.failure !== null && <div class="panel-body"><Failure error={m.failure} retry={() => void m.again()} /></div>}
			{!m.ready && m.failure === null && <p class="panel-body quiet" role="status">{w.loading}</p>}
			{m.ready && text !== '' && shown.length === 0 && <p class="panel-body quiet" role="status">{w.inbox.nothingFits}</p>}
			{m.ready && text === '' && (
				<div class="matrix-row master everything">
					<div class="matrix-what"><b>{w.agents.everyTool}</b></div>
					<Three label={w.agents.everyTool} value={same(m.lines)} onChange={(tier) => m.wish(m.lines.map((line) => line.toolName), tier)} />
				</div>
			)}
			{m.ready && shown.map((group) => <Part key={group.id} group={group} open={text !== '' || open.has(group.id)} changed={(line) => m.wishes.has(line.toolName)} onToggle={() => toggle(group.id)} onWish={m.wish} />)}
			{m.error !== null && <div class="panel-body"><Failure error={m.error} /></div>}
			<div class={`save ${m.wishes.size > 0 ? 'dirty' : ''}`}>
				<span role="status">{m.wishes.size > 0 ? w.agents.changes(m.wishes.size) : ''}</span>
				<div class="buttons">
					{m.wishes.size === 0 && m.lines.some((line) => line.stored) && <button type="button" class="quiet-button" disabled={m.working} onClick={() => void m.reset().then(saved)}>{w.agents.reset}</button>}
					{m.wishes.size > 0 && <button type="button" disabled={m.working} onClick={m.forget}>{w.agents.discard}</button>}
					<button type="button" class="primary" disabled={m.working || m.wishes.size === 0} onClick={() => void m.save().then(saved)}>{w.agents.save}</button>
				</div>
			</div>
		</section>
	);
}
