// SPDX-License-Identifier: Apache-2.0
// One entry: what happened, on whose authority, what it changed, and its proof.
import type { ComponentChildren } from 'preact';

import { useAnswer } from '../../lib/answer.ts';
import type { Json } from '../../lib/canon.ts';
import type { Change } from '../../lib/model.ts';
import { follow, go, pagePath, proposalPath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { visibleJson } from '../../lib/visible.ts';
import { useKeys } from '../../ui/keys.ts';
import { RiskMark } from '../../ui/marks.tsx';
import { Failure } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';
import { ChangeView } from '../proposal/diff.tsx';
import { chainOf, ChainView } from './chain.tsx';
import { logPath, type Entry, type Found } from './model.ts';
import { useNames, type Names } from './names.ts';
import { Verify } from './proof.tsx';

function changeOf({ before, after, diff }: Found['values']): Change | null {
	if (diff) return visibleJson({ kind: 'update', diff } as unknown as Json) as unknown as Change;
	if (after !== undefined && before === undefined) return { kind: 'create', after: visibleJson(after) };
	if (before !== undefined && after === undefined) return { kind: 'delete', before: visibleJson(before) };
	return null;
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => <div class="fact"><dt>{name}</dt><dd>{children}</dd></div>;

function Facts({ entry, names }: { entry: Entry; names: Names }) {
	const w = useWords();
	const a = w.audit;
	const lang = useStore(language);
	const who = (id: string) => <><strong>{names.of(id)}</strong> <code class="hash quiet">{id}</code></>;
	return (
		<dl class="facts">
			<Fact name={a.when}>{clockTime(entry.time, lang)} <code class="hash quiet">{entry.time}</code></Fact>
			<Fact name={a.who}>{entry.actorId ? who(entry.actorId) : <strong>{a.actorTypes.system}</strong>} <span class="quiet">{a.actorTypes[entry.actorType]}</span></Fact>
			{entry.delegatorId && <Fact name={a.authority}>{who(entry.delegatorId)}</Fact>}
			{entry.approvers && entry.approvers.length > 0 && <Fact name={a.approvers}>{entry.approvers.map((id) => <div key={id}>{who(id)}</div>)}</Fact>}
			{entry.applierId && <Fact name={a.chain.roles.applier}>{who(entry.applierId)}</Fact>}
			{entry.tool && <Fact name={w.card.tool}><code><Raw of={entry.tool} lines={false} /></code></Fact>}
			{entry.resourceType && <Fact name={w.card.resource}>{a.things[entry.resourceType] ?? entry.resourceType} <code><Raw of={entry.resourceKey ?? entry.resourceId ?? ''} lines={false} /></code></Fact>}
			{entry.proposalId && <Fact name={a.proposal}><a href={proposalPath(entry.proposalId, 'all')} onClick={follow}><code>{entry.proposalId}</code></a></Fact>}
			{entry.risk && <Fact name={w.card.risk}><RiskMark level={entry.risk} /></Fact>}
			{entry.withOverride && <Fact name={a.override}>{a.overrideText}</Fact>}
		</dl>
	);
}

function Values({ found }: { found: Found }) {
	const w = useWords();
	const { values } = found, change = changeOf(values);
	if (values.state === 'none') return null;
	return (
		<section class="panel" aria-labelledby="values-title">
			<div class="panel-head"><h3 id="values-title">{w.audit.changed}</h3></div>
			<div class="panel-body">
				{values.state === 'erased' && <p class="quiet">{w.audit.erased}</p>}
				{values.state === 'broken' && <p class="bad-text">{w.audit.broken}</p>}
				{change && <ChangeView change={change} />}
			</div>
		</section>
	);
}

/** All columns, for who wants to see every one of them. */
const Columns = ({ entry }: { entry: Entry }) => {
	const w = useWords();
	return <details class="proof"><summary>{w.audit.columns}</summary><pre class="value" tabIndex={0}><Raw of={JSON.stringify(entry, null, 2)} /></pre></details>;
};

export function EntryPage({ slug, id }: { slug: string; id: string }) {
	const w = useWords();
	const lang = useStore(language), names = useNames();
	const { data: found, error, again } = useAnswer<Found>(logPath(slug, `/${encodeURIComponent(id)}`));
	const entry = found?.entry;
	const { data: story } = useAnswer<{ entries: Entry[] }>(entry?.proposalId ? logPath(slug, `?limit=100&proposalId=${encodeURIComponent(entry.proposalId)}`) : null);
	useKeys((event) => {
		if (event.key === 'u' || event.key === 'Escape') return go(pagePath('audit')), true;
		if (event.key === 'v') return document.querySelector<HTMLButtonElement>('#verify-title')?.closest('section')?.querySelector('button')?.click(), true;
		return false;
	});
	const chain = entry && (!entry.proposalId || story) ? chainOf(w, lang, entry, story ? [...story.entries].reverse() : [entry], names) : null;
	return (
		<div class="sheet">
			<p class="crumb"><a href={pagePath('audit')} onClick={follow}>← {w.pages.audit}</a></p>
			{error !== null && <Failure error={error} retry={() => void again()} />}
			{!found && error === null && <p class="quiet" role="status">{w.loading}</p>}
			{found && entry && (
				<>
					<div class="sheet-head"><div><h2>{w.audit.actions[entry.action] ?? entry.action}</h2><p class="lead">{clockTime(entry.time, lang)}{found.leafIndex !== undefined && <> · {w.audit.number(found.leafIndex + 1)}</>}</p></div></div>
					<section class="panel chain-panel" aria-labelledby="chain-title">
						<div class="panel-head"><h3 id="chain-title">{w.audit.chain.title}</h3></div>
						{chain ? <ChainView chain={chain} /> : <p class="quiet pad" role="status">{w.loading}</p>}
					</section>
					<Verify slug={slug} entry={entry} />
					<Values found={found} />
					<Facts entry={entry} names={names} />
					<Columns entry={entry} />
				</>
			)}
		</div>
	);
}
