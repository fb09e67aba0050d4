// SPDX-License-Identifier: Apache-2.0
// The card, in AP-6's order, from the server's canonical document and nothing else: what is drawn here is what the
// vote's viewHash is computed of.
import type { ComponentChildren } from 'preact';

import type { Card } from '../../lib/model.ts';
import { nameOf, people } from '../../lib/people.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { EffectMark, RiskMark } from '../../ui/marks.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Fold, Text, Value } from '../../ui/text.tsx';
import { language, sentence, useWords } from '../../words/words.ts';
import { ChangeView } from './diff.tsx';
import { PreviewView } from './preview.tsx';
import { Recent, Spots } from './radius.tsx';

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
	<div class="fact"><dt>{name}</dt><dd>{children}</dd></div>
);

/** A warning stands where the text stands that it is about. */
function Warnings({ of }: { of: string[] | undefined }) {
	const w = useWords();
	if (!of?.length) return null;
	return <Notice tone="bad"><p><strong>{w.card.warning}:</strong></p><ul>{of.map((one) => <li key={one}>{sentence(w, one)}</li>)}</ul></Notice>;
}

function Where({ card }: { card: Card }) {
	const w = useWords();
	const { type, key, environment } = card.resource;
	if (!type && !key && !environment) return null;
	return (
		<Fact name={w.card.resource}>
			<Text of={type} /> <code><Text of={key} /></code>
			{environment && <> · {w.card.environment} <code><Text of={environment} /></code></>}
			{card.liveVersion !== undefined && <span class="quiet"> · {w.card.liveVersion(card.liveVersion)}</span>}
		</Fact>
	);
}

function Who({ card }: { card: Card }) {
	const w = useWords();
	const names = useStore(people);
	const { name, kind, id, onBehalfOf, agrees } = card.askedBy;
	return (
		<Fact name={w.card.asked}>
			<Warnings of={card.warningsOf?.askedBy} />
			<strong><Text of={name} /></strong> <span class="quiet">({w.card.kindsOfPrincipal[kind] ?? kind})</span>
			{onBehalfOf && <> {w.card.onBehalf(nameOf(names, onBehalfOf))}</>}
			{agrees && <>, {w.card.agrees[agrees] ?? <Text of={agrees} />}</>}
			<span class="ids quiet"><code><Text of={id} /></code>{onBehalfOf && <> · <code><Text of={onBehalfOf} /></code></>}</span>
		</Fact>
	);
}

function Says({ says }: { says: Card['agentSays'] }) {
	const w = useWords();
	const any = says.summary !== '' || says.reasoning !== '';
	return (
		<section class="says" aria-labelledby="says-title">
			<h3 id="says-title">{w.card.says}</h3>
			<Warnings of={says.warnings} />
			{any ? (
				<blockquote>
					{says.summary && <p class="says-summary"><Fold text={says.summary} /></p>}
					{says.reasoning && <p class="pre"><Fold text={says.reasoning} /></p>}
				</blockquote>
			) : <p class="quiet">{w.card.saysNothing}</p>}
			<p class="fine">{w.card.saysNote}</p>
		</section>
	);
}

export function CardView({ card }: { card: Card }) {
	const w = useWords();
	const lang = useStore(language);
	const of = card.warningsOf ?? {};
	return (
		<article class="card">
			<h2 class="summary"><Text of={card.summary} /></h2>
			<Warnings of={card.warnings} />
			<dl class="facts">
				<Fact name={w.card.tool}><Warnings of={of.tool} /><Text of={card.tool.title} /> <code><Text of={card.tool.name} /></code> <span class="quiet">{w.card.version(card.tool.version)}</span></Fact>
				<Fact name={w.card.target}><Warnings of={of.targetSystem} /><Warnings of={of.source} /><strong><Text of={card.targetSystem} /></strong>{card.source && <> <span class="quiet"><Text of={card.source.name} /></span> <code><Text of={card.source.address} /></code></>}</Fact>
				<Fact name={w.card.affected}><Text of={card.affectedData} /></Fact>
				<Where card={card} />
				<Fact name={w.card.effect}><EffectMark effect={card.effect} /></Fact>
			</dl>
			<section aria-labelledby="change-title">
				<h3 id="change-title">{w.card.change} <span class="kind">{w.card.kinds[card.change.kind]}</span></h3>
				<ChangeView change={card.change} />
			</section>
			<Warnings of={of.preview} />
			{card.preview !== undefined && <PreviewView of={card.preview} />}
			{(card.blastRadius !== undefined || card.recentContexts) && (
				<section aria-labelledby="radius-title">
					<h3 id="radius-title">{w.card.radius}</h3>
					{card.blastRadius !== undefined && <Spots of={card.blastRadius} />}
					<Warnings of={of.recentContexts} />
					{card.recentContexts && <Recent of={card.recentContexts} />}
				</section>
			)}
			<dl class="facts">
				<Fact name={w.card.risk}>
					<RiskMark level={card.risk.level} />
					{card.risk.reasons.length > 0 ? <ul class="reasons">{card.risk.reasons.map((reason) => <li key={reason}>{sentence(w, reason)}</li>)}</ul> : <span class="quiet"> {w.card.noReasons}</span>}
				</Fact>
				<Fact name={w.card.rollback}>{card.rollbackSupported ? w.card.yes : <strong>{w.card.no}</strong>}</Fact>
				<Fact name={w.card.failure}><Warnings of={of.failureImplications} /><Text of={card.failureImplications} /></Fact>
				{card.execution && <Fact name={w.card.doneBy}>{sentence(w, card.execution.promise)} <code><Text of={card.execution.contract} /></code></Fact>}
				<Who card={card} />
				{card.approvers !== undefined && <Fact name={w.proposal.teams}><Warnings of={of.approvers} /><Value of={card.approvers} /></Fact>}
				<Fact name={w.card.expires}>{clockTime(card.expiresAt / 1000, lang)}</Fact>
			</dl>
			<Says says={card.agentSays} />
		</article>
	);
}
