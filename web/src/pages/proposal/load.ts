// SPDX-License-Identifier: Apache-2.0
// A proposal and the hashes of what is drawn of it, computed here; looked at again at every news about it.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { ApiError, ask } from '../../lib/api.ts';
import { canon, freeze, sha256, type Json } from '../../lib/canon.ts';
import { onNews } from '../../lib/live.ts';
import { isOpen, type Proposal } from '../../lib/model.ts';
import { useStore } from '../../lib/store.ts';
import { secondsLeft, tick } from '../../lib/time.ts';
import { useWords } from '../../words/words.ts';

export interface Seen {
	p: Proposal;
	viewHash: string;
	payloadHash: string;
}

/** Is what is drawn what the server says it stored? */
export const isIntact = ({ p, viewHash, payloadHash }: Seen): boolean => viewHash === p.viewHash && payloadHash === p.card.payloadHash;

async function see(p: Proposal): Promise<Seen> {
	freeze(p);
	const [viewHash, payloadHash] = await Promise.all([sha256(canon(p.card as unknown as Json)), sha256(canon(p.payload))]);
	return { p, viewHash, payloadHash };
}

/** What the reader should know before anything else; again: it can be proposed again. */
export type Meanwhile = { tone: 'info' | 'bad'; text: string; again?: boolean } | null;

export const pathOf = (id: string): string => `/api/v1/proposals/${encodeURIComponent(id)}`;

const BROWSE_MS = 60; // whoever runs through the list with j does not ask for each

export function useProposal(id: string) {
	const w = useWords();
	const [seen, setSeen] = useState<Seen | null>(null);
	const [error, setError] = useState<unknown>(null);
	const [meanwhile, setMeanwhile] = useState<Meanwhile>(null);
	const latest = useRef<Seen | null>(null);
	const show = useCallback(async (p: Proposal) => {
		const before = latest.current, next = await see(p);
		latest.current = next;
		setSeen(next);
		setError(null);
		return { before, next };
	}, []);
	/** Looks again; says so where it is no longer what the reader saw. */
	const load = useCallback(async () => {
		try {
			const { before, next } = await show(await ask<Proposal>('GET', pathOf(id)));
			const state = next.p.state;
			if (before && isOpen(before.p.state) && !isOpen(state)) setMeanwhile({ tone: 'info', text: state === 'expired' ? w.meanwhile.expired : w.meanwhile.decided(w.states[state]) });
			else if (before && before.viewHash !== next.viewHash) setMeanwhile({ tone: 'bad', text: w.meanwhile.changed });
		} catch (e) {
			if (!latest.current || !(e instanceof ApiError && e.code === 'offline')) setError(e);
		}
	}, [id, w, show]);

	const clock = useStore(tick);
	const expired = seen !== null && isOpen(seen.p.state) && secondsLeft(seen.p.expiresAt, clock) === 0;
	useEffect(() => {
		const timer = setTimeout(load, expired ? 1000 : BROWSE_MS); // when time is up the server's clock decides
		return () => clearTimeout(timer);
	}, [load, expired]);
	useEffect(() => onNews((news) => {
		if (news.id === id || news.type === 'resync') void load();
	}), [id, load]);
	return { seen, error, meanwhile, setMeanwhile, show, load, expired };
}
