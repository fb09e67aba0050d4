// SPDX-License-Identifier: Apache-2.0
// Rules in words, for who reads them.
import type { Json } from '../../lib/canon.ts';
import { visibleJson } from '../../lib/visible.ts';
import { shown, Text } from '../../ui/text.tsx';
import { useWords } from '../../words/words.ts';
import type { Condition, Item, Rule } from './model.ts';

export const Quoted = ({ of }: { of: Json }) => <code><Text of={shown(visibleJson(of))} /></code>;

export function Said({ of }: { of: Condition }) {
	const w = useWords();
	const both = (name: '$and' | '$or') => (of[name] as Condition[]).map((one, i) => <>{i > 0 && <em> {w.flags.joins[name]} </em>}<Said of={one} /></>);
	if (Array.isArray(of['$and'])) return <>({both('$and')})</>;
	if (Array.isArray(of['$or'])) return <>({both('$or')})</>;
	if (of['$not']) return <><em>{w.flags.joins.$not}</em> (<Said of={of['$not'] as Condition} />)</>;
	if (of['$segment'] !== undefined) return <>{w.flags.inSegment} <Quoted of={of['$segment']} /></>;
	const operator = Object.keys(of).find((key) => key.startsWith('$')) ?? '';
	return <><Quoted of={of['field'] ?? ''} /> {w.flags.operators[operator] ?? operator} <Quoted of={of[operator] ?? null} /></>;
}

export function RuleSaid({ rule }: { rule: Rule }) {
	const w = useWords();
	return (
		<>
			{rule.if ? <>{w.flags.when} <Said of={rule.if} /></> : w.flags.everybody}
			{rule.rolloutPercent !== undefined && <> <span class="mark">{w.flags.share(rule.rolloutPercent)}</span></>}
			{rule.value !== undefined && <> → <strong><Quoted of={rule.value} /></strong></>}
			{rule.description && <span class="fine rule-note"> <Quoted of={rule.description} /></span>}
		</>
	);
}

/** All that an environment says of an item. */
export function StateSaid({ item }: { item: Item }) {
	const w = useWords();
	return (
		<>
			{item.rules.length > 0 && <ol class="said">{item.rules.map((rule, i) => <li key={i}><RuleSaid rule={rule} /></li>)}</ol>}
			{item.defaultValue !== undefined && <p>{item.rules.length > 0 ? w.flags.otherwise : w.flags.always} <strong><Quoted of={item.defaultValue} /></strong></p>}
			{item.allowList && item.allowList.length > 0 && <p>{w.flags.allowList}: <Quoted of={item.allowList} /></p>}
			{item.denyList && item.denyList.length > 0 && <p>{w.flags.denyList}: <Quoted of={item.denyList} /></p>}
			{item.allowList && item.rules.length + item.allowList.length === 0 && <p class="quiet">{w.flags.nobody}</p>}
		</>
	);
}
