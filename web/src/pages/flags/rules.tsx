// SPDX-License-Identifier: Apache-2.0
// The rules of an item, in their order: the first that matches decides.
import type { FieldError } from '../../lib/api.ts';
import type { Json } from '../../lib/canon.ts';
import { visible } from '../../lib/visible.ts';
import { useWords } from '../../words/words.ts';
import { ConditionEditor, newCondition } from './condition.tsx';
import { NumberField, TextField, ValueField } from './fields.tsx';
import { firstValue, type Item, type Rule } from './model.ts';

/** What the server says is wrong, at the place it names. */
export function Wrong({ at, of }: { at: string; of: readonly FieldError[] }) {
	const here = of.filter(({ path }) => path === at || path.startsWith(`${at}/`));
	if (here.length === 0) return null;
	return <div class="wrong" role="alert"><ul>{here.map(({ path, message }) => <li key={path + message}><code>{visible(path.slice(at.length + 1), false)}</code> {visible(message)}</li>)}</ul></div>;
}

interface RuleProps {
	item: Item;
	rule: Rule;
	at: number;
	of: number;
	segments: readonly string[];
	wrong: readonly FieldError[];
	onChange: (rule: Rule) => void;
	onMove: (by: 1 | -1) => void;
	onRemove: () => void;
}

/** A member that is undefined is not there, nor is an empty note. */
function set(rule: Rule, change: { if?: Rule['if'] | undefined; value?: Json; rolloutPercent?: number | undefined; description?: string }): Rule {
	return Object.fromEntries(Object.entries({ ...rule, ...change }).filter(([name, value]) => value !== undefined && (name !== 'description' || value !== ''))) as Rule;
}

function RuleEditor({ item, rule, at, of, segments, wrong, onChange, onMove, onRemove }: RuleProps) {
	const w = useWords();
	return (
		<li class="rule">
			<fieldset>
				<legend>{w.flags.rule(at + 1)}</legend>
				<div class="rule-tools">
					<button type="button" class="quiet-button" disabled={at === 0} onClick={() => onMove(-1)} aria-label={`${w.flags.up}: ${w.flags.rule(at + 1)}`}>↑</button>
					<button type="button" class="quiet-button" disabled={at === of - 1} onClick={() => onMove(1)} aria-label={`${w.flags.down}: ${w.flags.rule(at + 1)}`}>↓</button>
					<button type="button" class="quiet-button" onClick={onRemove} aria-label={`${w.flags.remove}: ${w.flags.rule(at + 1)}`}>✕</button>
				</div>
				<label class="check"><input type="checkbox" checked={!rule.if} onChange={(event) => onChange(set(rule, { if: event.currentTarget.checked ? undefined : newCondition() }))} /> {w.flags.everybody}</label>
				{rule.if && <ConditionEditor of={rule.if} segments={segments} onChange={(next) => onChange(set(rule, { if: next }))} />}
				<div class="rule-line">
					{item.type && <span class="labelled"><span aria-hidden="true">{w.flags.value}</span><ValueField type={item.type} label={w.flags.value} value={rule.value ?? null} onChange={(value) => onChange({ ...rule, value })} /></span>}
					<label class="check"><input type="checkbox" checked={rule.rolloutPercent !== undefined} onChange={(event) => onChange(set(rule, { rolloutPercent: event.currentTarget.checked ? 10 : undefined }))} /> {w.flags.rollout}</label>
					{rule.rolloutPercent !== undefined && <span class="labelled percent"><NumberField label={w.flags.percent} value={rule.rolloutPercent} onChange={(rolloutPercent) => onChange({ ...rule, rolloutPercent })} /> %</span>}
					<span class="labelled grow"><span aria-hidden="true">{w.flags.note}</span><TextField label={w.flags.note} value={rule.description ?? ''} onChange={(description) => onChange(set(rule, { description }))} /></span>
				</div>
				<Wrong at={`/rules/${at}`} of={wrong} />
			</fieldset>
		</li>
	);
}

export function Rules({ item, rules, segments, wrong, onChange }: { item: Item; rules: readonly Rule[]; segments: readonly string[]; wrong: readonly FieldError[]; onChange: (rules: Rule[]) => void }) {
	const w = useWords();
	const move = (i: number, by: 1 | -1) => onChange(rules.map((rule, k) => (k === i ? rules[i + by]! : k === i + by ? rules[i]! : rule)));
	const fresh = (): Rule => ({ if: newCondition(), ...(item.type ? { value: firstValue(item) } : {}) });
	return (
		<>
			<ol class="rules">
				{rules.map((rule, i) => <RuleEditor key={i} item={item} rule={rule} at={i} of={rules.length} segments={segments} wrong={wrong} onChange={(next) => onChange(rules.map((one, k) => (k === i ? next : one)))} onMove={(by) => move(i, by)} onRemove={() => onChange(rules.filter((_, k) => k !== i))} />)}
			</ol>
			{rules.length === 0 && <p class="quiet">{w.flags.noRules}</p>}
			<p><button type="button" onClick={() => onChange([...rules, fresh()])}>+ {w.flags.addRule}</button></p>
		</>
	);
}
