// SPDX-License-Identifier: Apache-2.0
// How the other systems are, and who has used how much of their calls: now, not of a day.
import { useLook } from '../../lib/answer.ts';
import { follow, pagePath } from '../../lib/route.ts';
import { useStore } from '../../lib/store.ts';
import { HealthMarks, HealthText, type AllHealth, type Health } from '../../ui/health.tsx';
import { Raw } from '../../ui/text.tsx';
import { language, useWords } from '../../words/words.ts';

interface Used {
	principalId: string;
	name: string;
	used: number;
	cap: number;
}

const MOST = 8;

function System({ of: h, part }: { of: Health; part: 'servers' | 'webhooks' }) {
	return (
		<li>
			<a href={pagePath('systems', part, h.id)} onClick={follow}><Raw of={h.name} lines={false} /></a> <HealthMarks of={h} />
			{(h.problem || h.breakerSince) && <div class="fine"><HealthText of={h} /></div>}
		</li>
	);
}

/** Nothing for who may not know. */
export function SystemsPanel() {
	const w = useWords();
	const { data } = useLook<AllHealth>('/api/v1/outside/health');
	if (!data) return null;
	const quarantined = data.upstreams.reduce((n, one) => n + one.quarantined, 0);
	const none = data.upstreams.length + data.connections.length === 0;
	return (
		<section class="panel" aria-labelledby="systems-title">
			<div class="panel-head"><h3 id="systems-title">{w.overview.systems}</h3>{quarantined > 0 && <a href={pagePath('systems', 'servers')} onClick={follow}>{w.overview.quarantined(quarantined)}</a>}</div>
			<div class="panel-body">
				{none ? <p class="quiet">{w.overview.noSystems} <a href={pagePath('systems')} onClick={follow}>{w.overview.addSystem}</a></p> : (
					<ul class="systems-list">
						{data.upstreams.map((h) => <System key={h.id} of={h} part="servers" />)}
						{data.connections.map((h) => <System key={h.id} of={h} part="webhooks" />)}
					</ul>
				)}
			</div>
		</section>
	);
}

export function BudgetPanel() {
	const w = useWords();
	const lang = useStore(language);
	const { data } = useLook<{ items: Used[] }>('/api/v1/budgets');
	if (!data) return null;
	return (
		<section class="panel" aria-labelledby="budget-title">
			<div class="panel-head"><h3 id="budget-title">{w.overview.budget}</h3></div>
			<div class="panel-body">
				{data.items.length === 0 ? <p class="quiet">{w.overview.noCalls}</p> : (
					<table class="bars" lang={lang}><thead class="unseen"><tr><th scope="col">{w.agents.name}</th><th scope="col" colSpan={2}>{w.overview.budget}</th></tr></thead><tbody>
						{data.items.slice(0, MOST).map(({ principalId, name, used, cap }) => (
							<tr key={principalId}>
								<th scope="row"><Raw of={name} lines={false} /></th>
								<td class={`number ${used >= cap ? 'bad-text' : ''}`}>{w.overview.budgetOf(used, cap)}</td>
								<td class="bar-cell" aria-hidden="true"><svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none"><rect class="meter-whole" width="100" height="6" rx="1" /><rect class={used >= 0.8 * cap ? 'meter-part' : 'meter-own'} width={Math.min(100, (100 * used) / cap)} height="6" rx="1" /></svg></td>
							</tr>
						))}
					</tbody></table>
				)}
			</div>
		</section>
	);
}
