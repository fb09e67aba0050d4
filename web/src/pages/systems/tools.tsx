// SPDX-License-Identifier: Apache-2.0
// What a server offers: what waits to be read, what agents can ask for, what is gone.
import { useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { visible, visibleJson } from '../../lib/visible.ts';
import { FormDialog } from '../../ui/form.tsx';
import { EffectMark } from '../../ui/marks.tsx';
import { Notice, say } from '../../ui/notice.tsx';
import { Raw, Text } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { ChangeView } from '../proposal/diff.tsx';
import { Accept } from './accept.tsx';
import { Definition, titleOf, Whole } from './definition.tsx';
import { Fact } from './facts.tsx';
import { upstreamPath, useSystemWords, type Upstream, type UpstreamTool } from './model.ts';

type Changed = (now: { tools: UpstreamTool[] }) => void;
const OPEN_AT_ONCE = 2;

/** Why it is in quarantine, in three words. */
function why(s: ReturnType<typeof useSystemWords>, tool: UpstreamTool): string {
	if (tool.diff) return s.tool.changed;
	return tool.version > 0 ? s.tool.withdrawn : s.tool.fresh;
}

/** Left as it was accepted, right as it is. */
function Changes({ of }: { of: NonNullable<UpstreamTool['diff']> }) {
	const s = useSystemWords();
	const diff = of.map(({ path, before, after }) => ({ path: visible(path, false), ...(before !== undefined && { before: visibleJson(before) }), ...(after !== undefined && { after: visibleJson(after) }) }));
	return (
		<section class="beside">
			<h4>{s.tool.changedTitle}</h4>
			<p class="fine">{s.tool.changedText}</p>
			<ChangeView change={{ kind: 'update', diff }} />
		</section>
	);
}

/** What an admin has said, which is what counts. */
function Said({ of: t }: { of: UpstreamTool }) {
	const w = useWords(), s = useSystemWords();
	const data = (['financial', 'personalData', 'phi'] as const).filter((one) => t[one]).map((one) => s.tool[one]);
	return (
		<dl class="facts said" aria-label={s.tool.said}>
			<Fact name={s.tool.effect}>{s.tool.effects[t.effect]} <span class="quiet">· {s.tool.categories[t.category]}</span></Fact>
			<Fact name={s.tool.tier}>{w.tiers[t.tier]}</Fact>
			{data.length > 0 && <Fact name={s.tool.data}>{data.join(', ')}</Fact>}
			{t.effect !== 'read' && <Fact name={s.tool.contract}>{s.tool.contracts[t.contract]}{t.options.probe && <> <code><Raw of={t.options.probe} lines={false} /></code></>}</Fact>}
			{t.effect !== 'read' && <Fact name={s.tool.preview}>{t.options.before ? <>{s.tool.previews.before} <code><Raw of={t.options.before.tool} lines={false} /></code></> : t.options.dryRun ? <>{s.tool.previews.dryRun} <code><Raw of={t.options.dryRun} lines={false} /></code></> : s.tool.previews.none}</Fact>}
			{t.effect !== 'read' && <Fact name={s.tool.failure}><Raw of={t.failure} lines={false} /></Fact>}
		</dl>
	);
}

function Body({ of: t, all, upstream, onChanged }: { of: UpstreamTool; all: UpstreamTool[]; upstream: Upstream; onChanged: Changed }) {
	const s = useSystemWords();
	const [open, setOpen] = useState<'accept' | 'refuse' | null>(null);
	const changed = (text: string) => (now: { tools: UpstreamTool[] }) => {
		setOpen(null);
		say(text);
		onChanged(now);
	};
	return (
		<div class="tool-body">
			{t.refused && <Notice tone="bad"><p><strong>{s.tool.refused}</strong> <Raw of={t.refused} lines={false} /></p></Notice>}
			{t.problem && <Notice tone="bad"><p><strong>{s.tool.cannotOffer}</strong> <Raw of={t.problem} lines={false} /></p></Notice>}
			{t.renamedFrom && <Notice tone="info"><p>{s.tool.renamed(visible(t.renamedFrom, false))}</p></Notice>}
			{t.state === 'accepted' && <Said of={t} />}
			{t.diff && <Changes of={t.diff} />}
			<Definition of={t} />
			<Whole of={t} />
			{t.state !== 'gone' && (
				<div class="buttons">
					{t.state === 'accepted' && <button type="button" class="danger" aria-label={`${s.tool.refuse}: ${t.remote}`} onClick={() => setOpen('refuse')}>{s.tool.refuse}</button>}
					{!t.refused && <button type="button" class={t.state === 'accepted' ? '' : 'primary'} aria-label={`${t.state === 'accepted' ? s.tool.again : s.tool.accept} ${t.remote}`} onClick={() => setOpen('accept')}>{t.state === 'accepted' ? s.tool.again : s.tool.accept}</button>}
				</div>
			)}
			{open === 'accept' && <Accept tool={t} all={all} upstream={upstream} onDone={changed(s.tool.acceptedNow)} onClose={() => setOpen(null)} />}
			{open === 'refuse' && (
				<FormDialog title={s.tool.refuseTitle} does={s.tool.refuse} danger onDo={() => ask<{ tools: UpstreamTool[] }>('POST', `${upstreamPath(upstream.id)}/tools/refuse`, { name: t.name }).then(changed(s.tool.refusedNow))} onClose={() => setOpen(null)}>
					<p class="dialog-summary"><Raw of={t.name} lines={false} /></p>
					<p>{s.tool.refuseText}</p>
				</FormDialog>
			)}
		</div>
	);
}

function Item({ of: t, all, upstream, atOnce, onChanged }: { of: UpstreamTool; all: UpstreamTool[]; upstream: Upstream; atOnce: boolean; onChanged: Changed }) {
	const s = useSystemWords();
	const [open, setOpen] = useState(atOnce);
	const title = titleOf(t);
	return (
		<li class="tool">
			<button type="button" class="tool-head quiet-button" aria-expanded={open} onClick={() => setOpen(!open)}>
				<span class="turn" aria-hidden="true">▸</span>
				<span class="tool-what"><b><Text of={visible(title, false)} /></b> <span class="fine"><code><Raw of={t.name} lines={false} /></code></span></span>
				<span class="marks">
					{t.refused && <span class="mark state-failed">✕</span>}
					{t.state === 'quarantined' && <span class={`mark ${t.diff ? 'state-unknown' : ''}`}>{why(s, t)}</span>}
					{t.state === 'accepted' && <EffectMark effect={t.effect} />}
				</span>
			</button>
			{open && <Body of={t} all={all} upstream={upstream} onChanged={onChanged} />}
		</li>
	);
}

function Group({ state, of, all, upstream, onChanged }: { state: UpstreamTool['state']; of: UpstreamTool[]; all: UpstreamTool[]; upstream: Upstream; onChanged: Changed }) {
	const s = useSystemWords();
	if (of.length === 0) return null;
	return (
		<section class="panel" aria-labelledby={`tools-${state}`}>
			<div class="panel-head"><div><h3 id={`tools-${state}`}>{s.tool[state]} <span class="tally">{of.length}</span></h3><p class="fine">{s.tool[`${state}Text`]}</p></div></div>
			<ul class="tools">{of.map((t) => <Item key={`${t.name} ${state}`} of={t} all={all} upstream={upstream} atOnce={state === 'quarantined' && of.length <= OPEN_AT_ONCE} onChanged={onChanged} />)}</ul>
		</section>
	);
}

/** What has changed comes first: agents may be waiting for it. */
export function Tools({ of, upstream, onChanged }: { of: UpstreamTool[]; upstream: Upstream; onChanged: Changed }) {
	const s = useSystemWords();
	return (
		<>
			{of.length === 0 && <p class="panel panel-body quiet">{s.tool.noTools}</p>}
			{(['quarantined', 'accepted', 'gone'] as const).map((state) => <Group key={state} state={state} of={of.filter((t) => t.state === state).sort((a, b) => Number(b.diff !== undefined) - Number(a.diff !== undefined))} all={of} upstream={upstream} onChanged={onChanged} />)}
		</>
	);
}
