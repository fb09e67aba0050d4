// SPDX-License-Identifier: Apache-2.0
// Whether "approve always" would change anything (TL-7): it is the choice of the person for whom the agent acts, where the
// organization allows it, and it never lifts what destroys, high risk, category C or guarded data.
import { useEffect, useState } from 'preact/hooks';

import { ask, type Me } from '../../lib/api.ts';
import type { Seen } from './load.ts';

const NEVER = ['category C tools always need a person', 'personal or health data needs a person in this compliance mode'];

interface Said {
	reasons: string[];
}

async function find({ p }: Seen): Promise<boolean> {
	const [settings, said] = await Promise.all([
		ask<{ policy: { overrides: boolean } }>('GET', '/api/v1/settings'),
		ask<Said>('POST', '/api/v1/policy/explain', { tool: p.tool, principalId: p.proposer.id }),
	]);
	return settings.policy.overrides && !said.reasons.some((reason) => NEVER.includes(reason));
}

export function useTrusts(seen: Seen | null, who: Me): boolean {
	const [trusts, setTrusts] = useState(false);
	const p = seen?.p;
	const asks = p !== undefined && p.state === 'pending' && p.proposer.kind === 'agent' && p.proposer.onBehalfOf === who.id && p.effect !== 'destructive' && p.card.risk.level !== 'high';
	useEffect(() => {
		let mine = true;
		setTrusts(false);
		if (asks) find(seen!).then((yes) => mine && setTrusts(yes), () => {}); // who may not know may not choose
		return () => void (mine = false);
	}, [asks, p?.proposalId]);
	return trusts;
}
