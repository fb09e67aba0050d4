// SPDX-License-Identifier: Apache-2.0
// First steps: an agent, its line for the client, a proposal, a decision. Each is the real thing; nothing is staged.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { useAnswer } from '../../lib/answer.ts';
import { ApiError, ask } from '../../lib/api.ts';
import { guide, type Guide } from '../../lib/guide.ts';
import { onNews } from '../../lib/live.ts';
import type { Proposal, Row } from '../../lib/model.ts';
import { follow, pagePath, proposalPath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { visible } from '../../lib/visible.ts';
import { StateMark } from '../../ui/marks.tsx';
import { Failure, Notice } from '../../ui/notice.tsx';
import { Raw } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { Connect } from '../agents/connect.tsx';
import { mint } from '../agents/mint.tsx';
import type { Agent } from '../agents/model.ts';
import './start.css';

type Progress = 'done' | 'now' | 'later';

function Step({ n, title, progress, children }: { n: number; title: string; progress: Progress; children: ComponentChildren }) {
	const w = useWords();
	return (
		<li class={`step ${progress}`} aria-current={progress === 'now' ? 'step' : undefined}>
			<h3><span class="step-number" aria-hidden="true">{progress === 'done' ? '✓' : n}</span>{title}{progress === 'done' && <span class="unseen"> ({w.start.done})</span>}</h3>
			{progress !== 'later' && <div class="step-body">{children}</div>}
		</li>
	);
}

/** Which agent: one that is there, or a new one; and a token for it. */
function Begin() {
	const w = useWords();
	const { data } = useAnswer<{ items: Agent[] }>('/api/v1/agents?limit=200');
	const there = (data?.items ?? []).filter((agent) => !agent.disabled);
	const [chosen, setChosen] = useState<string | null>(null), [name, setName] = useState('');
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const which = chosen ?? there[0]?.id ?? '';
	const submit = async (event: Event) => {
		event.preventDefault();
		setWorking(true);
		setError(null);
		try {
			const agent = there.find((one) => one.id === which) ?? (await ask<Agent>('POST', '/api/v1/agents', { name }));
			setChosen(agent.id);
			const { token } = await mint(agent.id, w.start.tokenName, 'safe', 7, false);
			guide.set({ agent, token, connected: false, proposal: null });
		} catch (e) {
			setError(e);
		} finally {
			setWorking(false);
		}
	};
	return (
		<form class="fields" onSubmit={submit}>
			<p>{w.start.agentText}</p>
			{there.length > 0 && (
				<label>{w.start.which} <select value={which} onChange={(event) => setChosen(event.currentTarget.value)}>
					{there.map((agent) => <option key={agent.id} value={agent.id}>{visible(agent.name, false)}</option>)}
					<option value="">{w.start.another}</option>
				</select></label>
			)}
			{which === '' && <label>{w.agents.name}<input type="text" required maxLength={200} placeholder={w.start.namePlaceholder} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>}
			{error !== null && <Failure error={error} />}
			<div><button type="submit" class="primary" disabled={working || data === null || (which === '' && name.trim() === '')}>{w.start.begin}</button></div>
		</form>
	);
}

/** As the agent, with its token and without the person's session: what an MCP client would do. */
async function proposeAs(token: string): Promise<Proposal> {
	const body = { tool: 'note.create', input: { title: 'Hello', text: 'My first proposal.' }, intent: { summary: 'A first note', reasoning: 'To see how a proposal is decided.' } };
	const response = await fetch('/api/v1/proposals', { method: 'POST', credentials: 'omit', headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` }, body: JSON.stringify(body) }).catch(() => {
		throw new ApiError('offline', '', 0);
	});
	const answer = (await response.json()) as Proposal & { code?: string; message?: string };
	if (!response.ok) throw new ApiError(answer.code ?? 'bad_answer', answer.message ?? '', response.status);
	return answer;
}

/** Hears when the agent proposes something by itself, from its own client. */
function useOwnProposal(of: Guide | null): void {
	useEffect(() => onNews(({ type, id }) => {
		if (!of || of.proposal || type !== 'proposal.pending') return;
		void ask<{ proposals: Row[] }>('GET', '/api/v1/proposals?limit=20').then(({ proposals }) => {
			const now = guide.get();
			if (now && !now.proposal && proposals.some((row) => row.proposalId === id && row.proposer?.id === now.agent.id)) guide.set({ ...now, proposal: id });
		}, () => {});
	}), [of]);
}

function Propose({ now }: { now: Guide }) {
	const w = useWords();
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const send = async () => {
		setWorking(true);
		setError(null);
		await proposeAs(now.token).then((made) => guide.set({ ...now, proposal: made.proposalId }), setError);
		setWorking(false);
	};
	return (
		<>
			<p>{w.start.proposeText}</p>
			<blockquote class="say">{w.start.prompt}</blockquote>
			<p class="quiet">{w.start.proposeOr}</p>
			{error !== null && <Failure error={error} />}
			<div><button type="button" class="primary" disabled={working} onClick={() => void send()}>{w.start.send}</button></div>
		</>
	);
}

/** What became of the proposal, as it happens. */
function useFate(id: string | null | undefined): Proposal | null {
	const { data, again } = useAnswer<Proposal>(id ? `/api/v1/proposals/${encodeURIComponent(id)}` : null);
	useEffect(() => onNews((news) => {
		if (id && (news.id === id || news.type === 'resync')) void again();
	}), [id, again]);
	return data;
}

export default function Start() {
	const w = useWords();
	const now = useStore(guide);
	useOwnProposal(now);
	const fate = useFate(now?.proposal);
	const decided = fate !== null && fate.state !== 'pending';
	const progress = (done: boolean, begun: boolean): Progress => (done ? 'done' : begun ? 'now' : 'later');
	return (
		<div class="sheet start">
			<div class="sheet-head"><div><h2>{w.pages.start}</h2><p class="lead">{w.start.lead}</p></div></div>
			<ol class="steps">
				<Step n={1} title={w.start.agent} progress={progress(now !== null, true)}>
					{now ? <p class="quiet"><Raw of={now.agent.name} lines={false} /></p> : <Begin />}
				</Step>
				<Step n={2} title={w.start.connect} progress={progress(now?.connected === true, now !== null)}>
					{now && !now.connected && (
						<>
							<p>{w.start.connectText}</p>
							<Connect token={now.token} />
							<div><button type="button" class="primary" onClick={() => guide.set({ ...now, connected: true })}>{w.start.next}</button></div>
						</>
					)}
				</Step>
				<Step n={3} title={w.start.propose} progress={progress(now?.proposal != null, now?.connected === true)}>
					{now && !now.proposal && <Propose now={now} />}
					{fate && <p class="quiet"><Raw of={fate.card.summary} lines={false} /></p>}
				</Step>
				<Step n={4} title={w.start.decide} progress={progress(decided, now?.proposal != null)}>
					{now?.proposal && !decided && (
						<>
							<p>{w.start.decideText}</p>
							<div><a class="button primary" href={proposalPath(now.proposal, 'pending')} onClick={follow}>{w.start.open}</a></div>
						</>
					)}
					{decided && <p><StateMark state={fate.state} /></p>}
				</Step>
			</ol>
			{decided && (
				<Notice tone="good">
					<p><b>{w.start.allDone}</b> {fate.state === 'approved' ? w.start.approvedText : w.start.doneText}</p>
					<p><a href={pagePath('inbox')} onClick={(event) => { follow(event); guide.set(null); }}>{w.toInbox}</a> · <a href={pagePath('agents', now!.agent.id)} onClick={(event) => { follow(event); guide.set(null); }}>{w.start.permissions}</a></p>
				</Notice>
			)}
		</div>
	);
}
