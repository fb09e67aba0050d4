// SPDX-License-Identifier: Apache-2.0
// A proposal: what would happen, and yes or no. A vote carries the hash of the card as this browser has drawn it.
import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks';

import { ApiError, ask, me } from '../../lib/api.ts';
import { connection } from '../../lib/live.ts';
import { isOpen, type Proposal } from '../../lib/model.ts';
import { follow, go, inboxPath, proposalPath, route } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { useKeys } from '../../ui/keys.ts';
import { RiskMark, StateMark, TimeLeft } from '../../ui/marks.tsx';
import { Failure, Notice, say } from '../../ui/notice.tsx';
import { Folds } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import { intent } from '../inbox/inbox.tsx';
import { ActDialog, ActionBar, cannotVote, type Act, type More } from './actions.tsx';
import { CardView } from './card.tsx';
import { useTrusts } from './trust.ts';
import { isIntact, pathOf, useProposal, type Seen } from './load.ts';
import { Approvals, Outcome, Proof, Timeline, Why } from './state.tsx';

/** Sends what was decided, and says what came of it. */
function useDecide(id: string, { setMeanwhile, show, load }: ReturnType<typeof useProposal>) {
	const w = useWords();
	const { view } = useStore(route);
	const [working, setWorking] = useState(false);
	const [failure, setFailure] = useState<unknown>(null);
	const refused = async (e: unknown) => {
		const code = e instanceof ApiError ? e.code : '';
		if (code === 'proposal_gone' || code === 'view_mismatch') await load();
		if (code === 'version_drift') setMeanwhile({ tone: 'bad', text: `${w.meanwhile.drift} ${w.meanwhile.driftHow}`, again: true });
		else if (code === 'view_mismatch') setMeanwhile({ tone: 'bad', text: w.meanwhile.mismatch });
		else if (code === 'tampered') setMeanwhile({ tone: 'bad', text: w.meanwhile.tampered });
		else if (code !== 'proposal_gone') setFailure(e);
	};
	/** The vote stands, whatever becomes of the wish to be asked no more. */
	const trust = async ({ p }: Seen) => {
		try {
			await ask('POST', '/api/v1/tool-overrides', { agentId: p.proposer.id, toolName: p.tool });
			say(w.act.alwaysNow);
		} catch (e) {
			setMeanwhile({ tone: 'bad', text: `${w.act.notAlways} ${e instanceof ApiError ? e.message : ''}` });
		}
	};
	const decide = async (act: Act, seen: Seen, { always, ...more }: More) => {
		const done = { approve: w.act.approved, deny: w.act.denied, cancel: w.act.cancelled, apply: w.act.applied, settle: w.act.settled }[act];
		setWorking(true);
		setFailure(null);
		try {
			const answer = await ask<Proposal>('POST', `${pathOf(id)}/${act}`, act === 'settle' ? more : act === 'apply' || act === 'cancel' ? {} : { viewHash: seen.viewHash, ...more });
			setMeanwhile(answer.apply ? { tone: 'bad', text: `${w.act.notApplied} ${answer.apply.message}`, again: answer.apply.code === 'version_drift' } : null);
			await show(answer);
			say(answer.state === 'applied' ? w.act.applied : done);
			if (always) await trust(seen);
		} catch (e) {
			await refused(e);
		} finally {
			setWorking(false);
		}
	};
	const again = async () => {
		setFailure(null);
		try {
			const next = await ask<Proposal>('POST', `${pathOf(id)}/repropose`, {});
			say(w.act.proposedAgain);
			go(proposalPath(next.proposalId, view));
		} catch (e) {
			setFailure(e);
		}
	};
	return { working, failure, decide, again };
}

function Crumb({ seen, expired }: { seen: Seen | null; expired: boolean }) {
	const w = useWords();
	const { view } = useStore(route);
	const p = seen?.p;
	return (
		<p class="crumb">
			<a href={inboxPath(view)} onClick={follow}>← {w.back}</a>
			{p && <><StateMark state={expired ? 'expired' : p.state} /> <RiskMark level={p.card.risk.level} /></>}
			{p && isOpen(p.state) && !expired && <span class="quiet"><TimeLeft until={p.expiresAt} /> {w.inbox.left}</span>}
		</p>
	);
}

const agrees = (act: Act) => act === 'approve' || act === 'apply';

export function ProposalPage({ id }: { id: string }) {
	const w = useWords();
	const who = useStore(me)!, { view } = useStore(route), link = useStore(connection), wish = useStore(intent);
	const proposal = useProposal(id);
	const { seen, error, meanwhile, load, expired } = proposal;
	const { working, failure, decide, again } = useDecide(id, proposal);
	const trusts = useTrusts(seen, who);
	const [act, setAct] = useState<Act | null>(null);
	const [folded, setFolded] = useState(0);
	const tellFold = useCallback((change: 1 | -1) => setFolded((n) => n + change), []);

	const open = seen !== null && isOpen(seen.p.state) && !expired;
	const blocked = seen && !isIntact(seen) ? w.act.mismatch : link === 'offline' ? w.errors.offline : expired ? w.meanwhile.expired : null;
	const begin = (wanted: Act) => {
		const votes = wanted === 'approve' || wanted === 'deny';
		if (!seen || !(open || (wanted === 'settle' && seen.p.state === 'unknown')) || blocked || (votes && cannotVote(w, seen.p, who, wanted)) || (agrees(wanted) && folded > 0)) return;
		setAct(wanted);
	};
	const tooSoon = act !== null && ((!open && !(act === 'settle' && seen?.p.state === 'unknown')) || (agrees(act) && folded > 0)); // a wish from the inbox comes before the card is drawn
	useLayoutEffect(() => {
		if (tooSoon) setAct(null);
	}, [tooSoon]);
	useEffect(() => {
		if (!seen || wish?.id !== id) return;
		intent.set(null);
		begin(wish.act);
	}, [seen, wish]);
	useKeys((event) => {
		if (event.key === 'a') return begin(seen?.p.state === 'approved' ? 'apply' : 'approve'), true;
		if (event.key === 'd') return begin('deny'), true;
		if (event.key === 'u' || event.key === 'Escape') return go(inboxPath(view)), true;
		return false;
	});

	return (
		<div class="proposal">
			<Crumb seen={seen} expired={expired} />
			{meanwhile && <Notice tone={meanwhile.tone}><p>{meanwhile.text}</p>{meanwhile.again && <button type="button" onClick={again}>{w.act.again}</button>}</Notice>}
			{failure !== null && <Failure error={failure} />}
			{error !== null && <Failure error={error} retry={() => void load()} />}
			{!seen && error === null && <p class="quiet" role="status">{w.proposal.loading}</p>}
			{seen && (
				<>
					{seen.p.erased ? <Notice tone="info"><p>{w.proposal.erased}</p></Notice> : !isIntact(seen) && <Notice tone="bad"><p>{w.act.mismatch}</p></Notice>}
					<div class="proposal-columns">
						<Folds.Provider value={tellFold}><CardView key={seen.viewHash} card={seen.p.card} /></Folds.Provider>
						<aside>
							<Outcome p={seen.p} />
							<Approvals p={seen.p} />
							<Timeline p={seen.p} />
							{isOpen(seen.p.state) && <Why p={seen.p} />}
						</aside>
					</div>
					{!seen.p.erased && <Proof {...seen} />}
					<ActionBar p={seen.p} who={who} folded={folded} blocked={blocked} onAct={begin} onAgain={again} />
					{act && !tooSoon && <ActDialog act={act} p={seen.p} onSeen={proposal.show} trusts={trusts} working={working} onDo={(more) => void decide(act, seen, more).finally(() => setAct(null))} onClose={() => setAct(null)} />}
				</>
			)}
		</div>
	);
}
