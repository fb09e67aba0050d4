// SPDX-License-Identifier: Apache-2.0
// What can be done with a proposal. To refuse is as easy as to agree: one button, one dialog, one key each.
import { useState } from 'preact/hooks';

import type { Me } from '../../lib/api.ts';
import { isOpen, type Proposal } from '../../lib/model.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Text } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import type { Words } from '../../words/en.ts';

export type Act = 'approve' | 'deny' | 'cancel' | 'apply';

/** Why this person's vote would be refused; the server decides, this only spares the try. */
export function cannotVote(w: Words, p: Proposal, who: Me): string | null {
	if (!who.mayVote) return w.act.mayNot;
	if (who.id === p.proposer.id) return w.act.own;
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
	const hint = open ? blocked ?? (pending ? noVote : null) ?? (folded > 0 ? w.act.unfold(folded) : null) : null;
	return (
		<div class="actions">
			{hint && <p class="hint" id="act-hint">{hint}</p>}
			<div class="buttons">
				{!open && p.state !== 'executing' && p.state !== 'applied' && <button type="button" onClick={onAgain}>{w.act.again}</button>}
				{open && <button type="button" class="quiet-button" disabled={blocked !== null} onClick={() => onAct('cancel')}>{w.act.cancel}</button>}
				{(pending || (open && !noVote)) && <button type="button" class="danger" disabled={cannot !== null} onClick={() => onAct('deny')}>{w.act.deny} <kbd>D</kbd></button>}
				{pending && <button type="button" class="primary" disabled={cannot !== null || folded > 0} aria-describedby={hint ? 'act-hint' : undefined} onClick={() => onAct('approve')}>{w.act.approve} <kbd>A</kbd></button>}
				{p.state === 'approved' && <button type="button" class="primary" disabled={blocked !== null || folded > 0} onClick={() => onAct('apply')}>{w.act.apply} <kbd>A</kbd></button>}
			</div>
		</div>
	);
}

interface DialogProps {
	act: Act;
	p: Proposal;
	working: boolean;
	onDo: (more: { reason?: string; apply?: boolean }) => void;
	onClose: () => void;
}

/** What is typed before something is destroyed: its key, or the tool where that is nothing a person can type. */
function wordOf(p: Proposal): string {
	const { key } = p.card.resource;
	return key && key.length <= 40 && !/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(key) ? key : p.tool;
}

export function ActDialog({ act, p, working, onDo, onClose }: DialogProps) {
	const w = useWords();
	const [reason, setReason] = useState('');
	const [apply, setApply] = useState(false);
	const [typed, setTyped] = useState('');
	const typing = p.effect === 'destructive' && (act === 'approve' || act === 'apply');
	const word = wordOf(p);
	const titles = { approve: w.act.approveTitle, deny: w.act.denyTitle, cancel: w.act.cancelTitle, apply: w.act.applyTitle };
	const submit = (event: Event) => {
		event.preventDefault();
		if (working || (typing && typed !== word)) return;
		onDo({ ...(reason ? { reason } : {}), ...(apply ? { apply } : {}) });
	};
	return (
		<Dialog title={titles[act]} onClose={() => !working && onClose()}>
			<form onSubmit={submit}>
				<p class="dialog-summary"><Text of={p.card.summary} /></p>
				{act === 'apply' && <p>{w.act.applyText}</p>}
				{act === 'cancel' && <p>{w.act.cancelText}</p>}
				{act === 'deny' && <label>{w.act.reason}<textarea rows={3} maxLength={2000} value={reason} onInput={(event) => setReason(event.currentTarget.value)} autofocus /></label>}
				{act === 'approve' && <label class="check"><input type="checkbox" checked={apply} onChange={(event) => setApply(event.currentTarget.checked)} /> {w.act.applyToo}</label>}
				{typing && <label>{w.act.type}<code class="word"><Text of={word} /></code><input type="text" autocomplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autofocus /></label>}
				<div class="buttons">
					<button type="button" onClick={onClose} disabled={working}>{w.close}</button>
					<button type="submit" class={act === 'approve' || act === 'apply' ? 'primary' : 'danger'} disabled={working || (typing && typed !== word)} autofocus={!typing && act !== 'deny'}>
						{working ? w.act.working : w.act[act]}
					</button>
				</div>
			</form>
		</Dialog>
	);
}
