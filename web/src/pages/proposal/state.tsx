// SPDX-License-Identifier: Apache-2.0
// What stands around the card: votes, the story so far, the payload with its proof, the outcome.
import { useEffect, useState } from 'preact/hooks';

import { ask } from '../../lib/api.ts';
import { isOpen, type Proposal, type Vote } from '../../lib/model.ts';
import { nameOf, people } from '../../lib/people.ts';
import { useStore } from '../../lib/store.ts';
import { clockTime } from '../../lib/time.ts';
import { visible } from '../../lib/visible.ts';
import { Raw } from '../../ui/text.tsx';
import { language, sentence, useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';

export function Approvals({ p }: { p: Proposal }) {
	const w = useWords();
	const { needed, valid, groups, fourEyes, votes } = p.approvals;
	return (
		<section aria-labelledby="approvals-title">
			<h3 id="approvals-title">{w.proposal.approvals} {needed > 0 && <span class="tally">{w.proposal.approvalsOf(valid, needed)}</span>}</h3>
			{needed === 0 && <p class="quiet">{w.proposal.none}</p>}
			{needed > 0 && <p class="dots" aria-hidden="true">{Array.from({ length: Math.min(needed, 20) }, (_, i) => <span key={i} class={i < valid ? 'dot full' : 'dot'} />)}</p>}
			{groups.length > 0 && <ul>{groups.map((group) => <li key={group.team}><Raw of={group.team} lines={false} />: {w.proposal.approvalsOf(group.valid, group.needed)}</li>)}</ul>}
			{fourEyes && <p class="fine">{w.proposal.fourEyes}</p>}
			{votes.some((vote) => !vote.counts) && <ul class="fine">{votes.filter((vote) => !vote.counts).map((vote) => <li key={vote.personId}><Raw of={vote.name} lines={false} />: {w.proposal.noLongerCounts}{vote.why && `: ${sentence(w, vote.why)}`}</li>)}</ul>}
		</section>
	);
}

function VoteLine({ vote }: { vote: Vote }) {
	const w = useWords();
	return (
		<>
			<strong><Raw of={vote.name} lines={false} /></strong> {w.proposal.voted[vote.decision]}{vote.viaToken && <span class="quiet"> ({w.proposal.viaToken})</span>}
			{vote.reason && <blockquote class="pre"><Raw of={vote.reason} /></blockquote>}
		</>
	);
}

export function Timeline({ p }: { p: Proposal }) {
	const w = useWords();
	const lang = useStore(language), names = useStore(people);
	const ended = p.resolvedAt ?? p.attempt?.endedAt ?? p.attempt?.claimedAt ?? p.expiresAt; // what is unknown is not resolved yet
	return (
		<section aria-labelledby="timeline-title">
			<h3 id="timeline-title">{w.proposal.timeline}</h3>
			<ol class="timeline">
				<li><time dateTime={p.createdAt}>{clockTime(p.createdAt, lang)}</time><strong><Raw of={p.proposer.name} lines={false} /></strong> {w.proposal.proposed}</li>
				{p.approvals.votes.map((vote) => <li key={vote.personId}><time dateTime={vote.at}>{clockTime(vote.at, lang)}</time><VoteLine vote={vote} /></li>)}
				{p.applierId && p.resolvedAt && <li><time dateTime={p.resolvedAt}>{clockTime(p.resolvedAt, lang)}</time><strong>{nameOf(names, p.applierId)}</strong> {w.proposal.appliedBy}</li>}
				{!isOpen(p.state) && <li><time dateTime={ended}>{clockTime(ended, lang)}</time>{w.proposal.became} <strong>{w.states[p.state]}</strong></li>}
			</ol>
		</section>
	);
}

interface Explained {
	reasons: string[];
	permissionStatus: keyof Words['tiers'];
}

/** Policy's reasons; only for who may read policy. */
export function Why({ p }: { p: Proposal }) {
	const w = useWords();
	const [why, setWhy] = useState<Explained | null>(null);
	const environment = p.card.resource.environment;
	useEffect(() => {
		setWhy(null);
		ask<Explained>('POST', '/api/v1/policy/explain', { tool: p.tool, principalId: p.proposer.id, ...(environment ? { environmentId: environment } : {}) }).then(setWhy, () => {});
	}, [p.proposalId]);
	if (!why) return null;
	return (
		<section aria-labelledby="why-title">
			<h3 id="why-title">{w.proposal.why}</h3>
			<ul class="reasons">{why.reasons.map((reason) => <li key={reason}>{sentence(w, reason)}</li>)}</ul>
			<p class="fine">{w.proposal.permission}: {w.tiers[why.permissionStatus] ?? why.permissionStatus}</p>
		</section>
	);
}

const Hash = ({ name, of, good }: { name: string; of: string; good: boolean }) => {
	const w = useWords();
	return <div class="fact"><dt>{name}</dt><dd><code class="hash">{of}</code> <span class={good ? 'good-text' : 'bad-text'}>{good ? `✓ ${w.proposal.checked}` : `✗ ${w.proposal.notChecked}`}</span></dd></div>;
};

export function Proof({ p, viewHash, payloadHash }: { p: Proposal; viewHash: string; payloadHash: string }) {
	const w = useWords();
	return (
		<details class="proof">
			<summary>{w.proposal.proof}</summary>
			<h3>{w.proposal.payload}</h3>
			<pre class="value" tabIndex={0}><Raw of={JSON.stringify(p.payload, null, 2)} /></pre>
			<dl class="facts">
				<Hash name={w.proposal.payloadHash} of={payloadHash} good={payloadHash === p.card.payloadHash} />
				<Hash name={w.proposal.viewHash} of={viewHash} good={viewHash === p.viewHash} />
				<div class="fact"><dt>{w.proposal.id}</dt><dd><code>{visible(p.proposalId, false)}</code></dd></div>
			</dl>
		</details>
	);
}

export function Outcome({ p }: { p: Proposal }) {
	const w = useWords();
	return (
		<>
			{p.reveal !== undefined && <div class="notice good" role="status"><p><strong>{w.proposal.secret}</strong></p><pre class="value"><Raw of={JSON.stringify(p.reveal, null, 2)} /></pre></div>}
			{p.error && <div class="notice info"><p><strong>{w.proposal.note}:</strong> <Raw of={p.error} /></p></div>}
			{p.attempt !== undefined && <details class="attempt"><summary>{w.proposal.attempt}</summary><pre class="value" tabIndex={0}><Raw of={JSON.stringify(p.attempt, null, 2)} /></pre></details>}
			{p.result !== undefined && <section aria-labelledby="result-title"><h3 id="result-title">{w.proposal.result}</h3><pre class="value" tabIndex={0}><Raw of={JSON.stringify(p.result, null, 2)} /></pre></section>}
		</>
	);
}
