// SPDX-License-Identifier: Apache-2.0
// A proposal: what would happen, and yes or no. A vote carries the hash of the card as this browser has drawn it.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { ApiError, ask, me } from '../../lib/api.ts';
import { canon, freeze, sha256, type Json } from '../../lib/canon.ts';
import { connection, onNews } from '../../lib/live.ts';
import { isOpen, type Proposal } from '../../lib/model.ts';
import { follow, go, inboxPath, proposalPath, route } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { secondsLeft, tick } from '../../lib/time.ts';
import { useKeys } from '../../ui/keys.ts';
import { RiskMark, StateMark, TimeLeft } from '../../ui/marks.tsx';
import { Failure, Notice, say } from '../../ui/notice.tsx';
import { Folds } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { intent } from '../inbox/inbox.tsx';
import { ActDialog, ActionBar, cannotVote, type Act } from './actions.tsx';
import { CardView } from './card.tsx';
import { Approvals, Outcome, Proof, Timeline, Why } from './state.tsx';

/** A proposal and the hashes of what is drawn of it, computed here. */
interface Seen {
	p: Proposal;
	viewHash: string;
	payloadHash: string;
}

async function see(p: Proposal): Promise<Seen> {
	freeze(p);
	const [viewHash, payloadHash] = await Promise.all([sha256(canon(p.card as unknown as Json)), sha256(canon(p.payload))]);
	return { p, viewHash, payloadHash };
}

type Meanwhile = { tone: 'info' | 'bad'; text: string; again?: boolean } | null;

function useProposal(id: string) {
	const w = useWords();
	const [seen, setSeen] = useState<Seen | null>(null);
	const [error, setError] = useState<unknown>(null);
	const [meanwhile, setMeanwhile] = useState<Meanwhile>(null);
	const latest = useRef<Seen | null>(null);
	const show = useCallback((next: Seen) => {
		latest.current = next;
		setSeen(next);
		setError(null);
	}, []);
	/** Looks again; says so where it is no longer what the reader saw. */
	const load = useCallback(async () => {
		try {
			const next = await see(await ask<Proposal>('GET', `/api/v1/proposals/${encodeURIComponent(id)}`));
			const before = latest.current;
			if (before && isOpen(before.p.state) && !isOpen(next.p.state))
				setMeanwhile({ tone: 'info', text: next.p.state === 'expired' ? w.meanwhile.expired : w.meanwhile.decided(w.states[next.p.state]) });
			else if (before && before.viewHash !== next.viewHash) setMeanwhile({ tone: 'bad', text: w.meanwhile.changed });
			show(next);
		} catch (e) {
			if (!latest.current || !(e instanceof ApiError && e.code === 'offline')) setError(e);
		}
	}, [id, w, show]);
	return { seen, error, meanwhile, setMeanwhile, show, load };
}

export function ProposalPage({ id }: { id: string }) {
	const w = useWords();
	const who = useStore(me)!, { view } = useStore(route), link = useStore(connection), clock = useStore(tick);
	const { seen, error, meanwhile, setMeanwhile, show, load } = useProposal(id);
	const [act, setAct] = useState<Act | null>(null);
	const [working, setWorking] = useState(false);
	const [failure, setFailure] = useState<unknown>(null);
	const [folded, setFolded] = useState(0);
	const tellFold = useCallback((change: 1 | -1) => setFolded((n) => n + change), []);
	const expired = seen !== null && isOpen(seen.p.state) && secondsLeft(seen.p.expiresAt, clock) === 0;

	useEffect(() => {
		const timer = setTimeout(load, 60); // whoever runs through the list with j does not ask for each
		return () => clearTimeout(timer);
	}, [load]);
	useEffect(() => onNews((news) => {
		if (news.id === id || news.type === 'resync') void load();
	}), [id, load]);
	useEffect(() => {
		if (!expired) return undefined;
		const timer = setTimeout(load, 1000); // the server's clock decides
		return () => clearTimeout(timer);
	}, [expired, load]);
	const open = seen !== null && isOpen(seen.p.state) && !expired;
	useEffect(() => {
		if (!open) setAct(null);
	}, [open]);

	const intact = seen !== null && seen.viewHash === seen.p.viewHash && seen.payloadHash === seen.p.card.payloadHash;
	const blocked = !intact ? w.act.mismatch : link === 'offline' ? w.errors.offline : expired ? w.meanwhile.expired : null;
	const begin = (wanted: Act) => {
		if (!seen || !open || blocked) return;
		if ((wanted === 'approve' || wanted === 'deny') && cannotVote(w, seen.p, who)) return;
		if ((wanted === 'approve' || wanted === 'apply') && folded > 0) return;
		setFailure(null);
		setAct(wanted);
	};
	const wish = useStore(intent);
	useEffect(() => {
		if (!seen || wish?.id !== id) return;
		intent.set(null);
		begin(wish.act);
	}, [seen, wish]);

	const refused = async (e: unknown) => {
		setAct(null);
		const code = e instanceof ApiError ? e.code : '';
		if (code === 'version_drift') setMeanwhile({ tone: 'bad', text: `${w.meanwhile.drift} ${w.meanwhile.driftHow}`, again: true });
		else if (code === 'view_mismatch') {
			await load();
			setMeanwhile({ tone: 'bad', text: w.meanwhile.mismatch });
		} else if (code === 'proposal_gone') await load();
		else {
			setFailure(e);
			if (code === 'tampered') setMeanwhile({ tone: 'bad', text: w.meanwhile.tampered });
		}
	};
	const decide = async (more: { reason?: string; apply?: boolean }) => {
		if (!seen || !act) return;
		setWorking(true);
		const body = act === 'apply' || act === 'cancel' ? {} : { viewHash: seen.viewHash, ...more };
		const done = { approve: w.act.approved, deny: w.act.denied, cancel: w.act.cancelled, apply: w.act.applied }[act];
		try {
			const answer = await ask<Proposal>('POST', `/api/v1/proposals/${encodeURIComponent(id)}/${act}`, body);
			setMeanwhile(answer.apply ? { tone: 'bad', text: `${w.act.notApplied} ${answer.apply.message}`, again: answer.apply.code === 'version_drift' } : null);
			show(await see(answer));
			setAct(null);
			say(answer.state === 'applied' ? w.act.applied : done);
		} catch (e) {
			await refused(e);
		} finally {
			setWorking(false);
		}
	};
	const again = async () => {
		setFailure(null);
		try {
			const next = await ask<Proposal>('POST', `/api/v1/proposals/${encodeURIComponent(id)}/repropose`, {});
			say(w.act.proposedAgain);
			go(proposalPath(next.proposalId, view));
		} catch (e) {
			setFailure(e);
		}
	};
	useKeys((event) => {
		if (event.key === 'a') return begin(seen?.p.state === 'approved' ? 'apply' : 'approve'), true;
		if (event.key === 'd') return begin('deny'), true;
		if (event.key === 'u' || event.key === 'Escape') return go(inboxPath(view)), true;
		return false;
	});

	if (!seen) {
		return (
			<div class="proposal">
				<p class="crumb"><a href={inboxPath(view)} onClick={follow}>← {w.back}</a></p>
				{error !== null ? <Failure error={error} retry={() => void load()} /> : <p class="quiet" role="status">{w.proposal.loading}</p>}
			</div>
		);
	}
	const p = seen.p;
	return (
		<div class="proposal">
			<p class="crumb">
				<a href={inboxPath(view)} onClick={follow}>← {w.back}</a>
				<StateMark state={expired ? 'expired' : p.state} /> <RiskMark level={p.card.risk.level} />
				{open && <span class="quiet"><TimeLeft until={p.expiresAt} /> {w.inbox.left}</span>}
			</p>
			{meanwhile && <Notice tone={meanwhile.tone}><p>{meanwhile.text}</p>{meanwhile.again && <button type="button" onClick={again}>{w.act.again}</button>}</Notice>}
			{failure !== null && <Failure error={failure} />}
			{error !== null && <Failure error={error} retry={() => void load()} />}
			{!intact && <Notice tone="bad"><p>{w.act.mismatch}</p></Notice>}
			<div class="proposal-columns">
				<Folds.Provider value={tellFold}><CardView key={seen.viewHash} card={p.card} /></Folds.Provider>
				<aside>
					<Outcome p={p} />
					<Approvals p={p} />
					<Timeline p={p} />
					{isOpen(p.state) && <Why p={p} />}
				</aside>
			</div>
			<Proof p={p} viewHash={seen.viewHash} payloadHash={seen.payloadHash} />
			<ActionBar p={p} who={who} folded={folded} blocked={blocked} onAct={begin} onAgain={again} />
			{act && <ActDialog act={act} p={p} working={working} onDo={decide} onClose={() => setAct(null)} />}
		</div>
	);
}
