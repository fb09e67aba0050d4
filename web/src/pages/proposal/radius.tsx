// SPDX-License-Identifier: Apache-2.0
// Who is affected: the contexts that were given to look at, and how many of those seen of late would flip.
import { canon, type Json } from '../../lib/canon.ts';
import type { RecentContexts } from '../../lib/model.ts';
import { Fold, Text, Value } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';

type Spot = { context: Json; live: Json; preview: Json };
const isSpots = (value: Json): value is (Spot & { [key: string]: Json })[] =>
	Array.isArray(value) && value.every((one) => one !== null && typeof one === 'object' && !Array.isArray(one) && 'context' in one && 'live' in one && 'preview' in one);

type Known = { value: Json; defaultValue: Json; reason: { kind: 'default' } | { kind: 'rule_match'; ruleIndex: number } };
const only = (of: object, ...names: string[]): boolean => Object.keys(of).every((name) => names.includes(name));
/** An evaluation of which words can say everything (docs/flags.md); any other is shown as it is. */
function isKnown(one: { [key: string]: Json }): one is Known {
	const reason = one['reason'];
	if (!only(one, 'value', 'defaultValue', 'reason') || !('defaultValue' in one) || reason === null || typeof reason !== 'object' || Array.isArray(reason)) return false;
	if (reason['kind'] === 'default') return only(reason, 'kind');
	return reason['kind'] === 'rule_match' && only(reason, 'kind', 'ruleIndex', 'matchedValue') && typeof reason['ruleIndex'] === 'number' && canon(reason['matchedValue'] ?? null) === canon(one['value'] ?? null);
}

function Because({ of }: { of: { [key: string]: Json } }) {
	const w = useWords();
	if (!isKnown(of)) return <Fold text={JSON.stringify(of)} />;
	if (of.reason.kind === 'default') return <>{w.flags.history.byDefault}</>;
	return <>{w.flags.history.byRule(of.reason.ruleIndex + 1)} · {w.card.elseValue} <code><Text of={JSON.stringify(of.defaultValue)} /></code></>;
}

/** What a context is answered: the values large, all else of the answer small. */
function Answer({ of }: { of: Json }) {
	if (of === null || typeof of !== 'object' || Array.isArray(of)) return <Value of={of} />;
	return (
		<>
			{Object.entries(of).map(([key, one]) => {
				const whole = one !== null && typeof one === 'object' && !Array.isArray(one) && 'value' in one ? one : null, value = whole ? whole['value'] : one;
				return (
					<div key={key} class="answer">
						<code><Text of={key} /></code> = <strong><code><Text of={JSON.stringify(value)} /></code></strong>
						{whole && <div class="fine"><Because of={whole} /></div>}
					</div>
				);
			})}
		</>
	);
}

/** A bar: how much of the whole. The figures stand beside it. */
const Bar = ({ part, whole }: { part: number; whole: number }) => (
	<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
		<rect class="meter-whole" width="100" height="6" rx="1" />
		<rect class="meter-part" width={whole > 0 ? Math.max(part > 0 ? 1 : 0, (100 * part) / whole) : 0} height="6" rx="1" />
	</svg>
);

export function Spots({ of }: { of: Json }) {
	const w = useWords();
	if (!isSpots(of)) return <Value of={of} />;
	const flips = of.filter((spot) => canon(spot.live) !== canon(spot.preview)).length;
	return (
		<>
			<p>{w.card.flipCount(flips, of.length)}</p>
			<Bar part={flips} whole={of.length} />
			<div class="scroll" tabIndex={0} role="group" aria-label={w.card.radius}>
				<table>
					<thead><tr><th scope="col">{w.card.context}</th><th scope="col">{w.card.now}</th><th scope="col">{w.card.then}</th><th scope="col">{w.card.difference}</th></tr></thead>
					<tbody>
						{of.map((spot, i) => {
							const flip = canon(spot.live) !== canon(spot.preview);
							return (
								<tr key={i} class={flip ? 'flips' : ''}>
									<td><Value of={spot.context} /></td><td><Answer of={spot.live} /></td><td><Answer of={spot.preview} /></td>
									<td>{flip ? <strong>⇄ {w.card.flips}</strong> : <span class="quiet">{w.card.same}</span>}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
		</>
	);
}

export function Recent({ of }: { of: RecentContexts }) {
	const w = useWords();
	return (
		<div class="recent">
			<p><Text of={of.sentence} /></p>
			{of.contexts !== undefined && of.changed !== undefined && of.contexts > 0 && <Bar part={of.changed} whole={of.contexts} />}
			{of.groups && of.groups.length > 0 && (
				<table>
					<thead><tr><th scope="col">{w.card.group}</th><th scope="col" colSpan={2}>{w.card.groupChanged}</th></tr></thead>
					<tbody>
						{of.groups.map((group) => (
							<tr key={`${group.field}=${group.value}`}>
								<td><code><Text of={group.field} /></code> = <Text of={group.value} /></td>
								<td class="number">{group.changed} / {group.contexts}</td>
								<td><Bar part={group.changed} whole={group.contexts} /></td>
							</tr>
						))}
					</tbody>
				</table>
			)}
		</div>
	);
}
