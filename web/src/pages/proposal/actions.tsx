// SPDX-License-Identifier: Apache-2.0
// What can be done with a proposal. To refuse is as easy as to agree: one button, one dialog, one key each.
import { useState } from 'preact/hooks';

import { ask, type Me } from '../../lib/api.ts';
import { isOpen, type Proposal } from '../../lib/model.ts';
import { visible } from '../../lib/visible.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Failure, say } from '../../ui/notice.tsx';
import { Raw, Text } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';
import { pathOf } from './load.ts';

export type Act = 'approve' | 'deny' | 'cancel' | 'apply' | 'settle';

/** Is this the person who proposed it, and whose vote on the card is still asked for? */
const confirms = (p: Proposal, who: Me): boolean => who.id === p.proposer.id && p.approvals.proposerMayConfirm;

/** Why this person's vote would be refused; the server decides, this only spares the try. */
export function cannotVote(w: Words, p: Proposal, who: Me, act: Act = 'approve'): string | null {
	if (!who.mayVote) return w.act.mayNot;
	if (who.id === p.proposer.id && !(confirms(p, who) && act === 'approve')) return w.act.own;
	if (p.approvals.fourEyes && who.id === p.proposer.onBehalfOf) return w.act.fourEyes;
	if (p.approvals.votes.some((vote) => vote.personId === who.id)) return w.act.voted;
	return null;
}

interface BarProps {
	p: Proposal;
	who: Me;
	folded: number;
	blocked: string | null; // nothing can be decided, and why
	onAct: (act: Act) => void;
	onAgain: () => void;
}

export function ActionBar({ p, who, folded, blocked, onAct, onAgain }: BarProps) {
	const w = useWords();
	const open = isOpen(p.state), pending = p.state === 'pending', noVote = cannotVote(w, p, who);
	const cannot = blocked ?? noVote;
	const noDenial = cannotVote(w, p, who, 'deny');
	const hint = open ? blocked ?? (pending ? noVote : null) ?? (folded > 0 ? w.act.unfold(folded) : null) ?? (pending && confirms(p, who) ? w.act.confirm : null) : null;
	return (
		<div class="actions">
			{hint && <p class="hint" id="act-hint">{hint}</p>}
			<div class="buttons">
				{p.state === 'unknown' && <button type="button" class="primary" disabled={blocked !== null} onClick={() => onAct('settle')}>{w.act.settle}</button>}
				{!open && p.state !== 'executing' && p.state !== 'applied' && <button type="button" onClick={onAgain}>{w.act.again}</button>}
				{open && <button type="button" class="quiet-button" disabled={blocked !== null} onClick={() => onAct('cancel')}>{w.act.cancel}</button>}
				{(pending || (open && !noDenial)) && <button type="button" class="danger" disabled={(blocked ?? noDenial) !== null} onClick={() => onAct('deny')}>{w.act.deny} <kbd>D</kbd></button>}
				{pending && <button type="button" class="primary" disabled={cannot !== null || folded > 0} aria-describedby={hint ? 'act-hint' : undefined} onClick={() => onAct('approve')}>{w.act.approve} <kbd>A</kbd></button>}
				{p.state === 'approved' && <button type="button" class="primary" disabled={blocked !== null || folded > 0} onClick={() => onAct('apply')}>{w.act.apply} <kbd>A</kbd></button>}
			</div>
		</div>
	);
}

/** always: approve this tool from now on, when this agent acts for the voter. */
export interface More {
	reason?: string;
	apply?: boolean;
	always?: boolean;
	outcome?: Outcome;
}
type Outcome = 'applied' | 'failed';

interface DialogProps {
	act: Act;
	p: Proposal;
	trusts: boolean; // "approve always" can be chosen
	working: boolean;
	onDo: (more: More) => void;
	onSeen: (p: Proposal) => Promise<unknown>; // it was looked at again meanwhile
	onClose: () => void;
}

/** What is typed before something is destroyed: its key, or the tool where that is nothing a person can type. */
function wordOf(p: Proposal): string {
	const { key } = p.card.resource;
	return key && key.length <= 40 && !/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(key) ? key : p.tool;
}

/** Another tool can tell whether it was done: it is asked, and what it says is kept. Where it says the outcome of this very proposal,
 * the server settles it, and there is nothing left to ask here. */
function Probe({ p, onSeen }: { p: Proposal; onSeen: (p: Proposal) => Promise<unknown> }) {
	const w = useWords();
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const said = p.attempt?.evidence?.filter(({ from }) => from === 'probe').at(-1);
	const probe = async () => {
		setWorking(true);
		setError(null);
		await ask<Proposal>('POST', `${pathOf(p.proposalId)}/probe`).then(async (now) => {
			await onSeen(now);
			if (now.state !== 'unknown') say(w.act.settled);
		}).catch(setError);
		setWorking(false);
	};
	return (
		<div class="probe">
			<p class="fine">{w.act.probeText}</p>
			<button type="button" disabled={working} onClick={() => void probe()}>{working ? w.act.working : w.act.probe}</button>
			{error !== null && <Failure error={error} />}
			{said && <div role="status"><p><strong>{w.act.probeSaid}:</strong> {said.result === undefined && (said.why ? <Raw of={said.why} lines={false} /> : w.act.probeNothing)}</p>{said.result !== undefined && <pre class="value" tabIndex={0}><Raw of={JSON.stringify(said.result, null, 2)} /></pre>}</div>}
		</div>
	);
}

/** Sent, and no answer: what a person found out over there. */
function Settle({ p, onSeen, outcome, onOutcome, reason, onReason }: { p: Proposal; onSeen: (p: Proposal) => Promise<unknown>; outcome: Outcome | null; onOutcome: (outcome: Outcome) => void; reason: string; onReason: (reason: string) => void }) {
	const w = useWords();
	return (
		<>
			<p>{w.act.settleText}</p>
			{p.card.execution?.contract === 'probe' && <Probe p={p} onSeen={onSeen} />}
			<fieldset class="settle">
				<legend>{w.act.settleWhat}</legend>
				{(['applied', 'failed'] as const).map((one) => <label key={one} class="check"><input type="radio" name="outcome" checked={outcome === one} onChange={() => onOutcome(one)} /> {w.act.outcomes[one]}</label>)}
			</fieldset>
			<label>{w.act.settleReason}<textarea rows={2} required maxLength={2000} value={reason} onInput={(event) => onReason(event.currentTarget.value)} /></label>
		</>
	);
}

export function ActDialog({ act, p, trusts, working, onDo, onSeen, onClose }: DialogProps) {
	const w = useWords();
	const [reason, setReason] = useState('');
	const [apply, setApply] = useState(false), [always, setAlways] = useState(false);
	const [typed, setTyped] = useState(''), [outcome, setOutcome] = useState<Outcome | null>(null);
	const typing = p.effect === 'destructive' && (act === 'approve' || act === 'apply');
	const word = wordOf(p);
	const incomplete = (typing && typed !== word) || (act === 'settle' && (outcome === null || reason.trim() === ''));
	const titles = { settle: w.act.settleTitle, approve: w.act.approveTitle, deny: w.act.denyTitle, cancel: w.act.cancelTitle, apply: w.act.applyTitle };
	const submit = (event: Event) => {
		event.preventDefault();
		if (working || incomplete) return;
		onDo({ ...(reason ? { reason } : {}), ...(apply ? { apply } : {}), ...(always ? { always } : {}), ...(outcome ? { outcome } : {}) });
	};
	return (
		<Dialog title={titles[act]} onClose={() => !working && onClose()}>
			<form onSubmit={submit}>
				<p class="dialog-summary"><Text of={p.card.summary} /></p>
				{act === 'apply' && <p>{w.act.applyText}</p>}
				{act === 'cancel' && <p>{w.act.cancelText}</p>}
				{act === 'settle' && <Settle p={p} onSeen={onSeen} outcome={outcome} onOutcome={setOutcome} reason={reason} onReason={setReason} />}
				{act === 'deny' && <label>{w.act.reason}<textarea rows={3} maxLength={2000} value={reason} onInput={(event) => setReason(event.currentTarget.value)} autofocus /></label>}
				{act === 'approve' && <label class="check"><input type="checkbox" checked={apply} onChange={(event) => setApply(event.currentTarget.checked)} /> {w.act.applyToo}</label>}
				{act === 'approve' && trusts && <label class="check top"><input type="checkbox" checked={always} onChange={(event) => setAlways(event.currentTarget.checked)} /> <span>{w.act.always(p.tool, visible(p.proposer.name, false))}<span class="hint-text">{w.act.alwaysText}</span></span></label>}
				{typing && <label>{w.act.type}<code class="word"><Text of={word} /></code><input type="text" autocomplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autofocus /></label>}
				<div class="buttons">
					<button type="button" onClick={onClose} disabled={working}>{w.close}</button>
					<button type="submit" class={act === 'deny' || act === 'cancel' ? 'danger' : 'primary'} disabled={working || incomplete} autofocus={!typing && act !== 'deny' && act !== 'settle'}>
						{working ? w.act.working : w.act[act]}
					</button>
				</div>
			</form>
		</Dialog>
	);
}
