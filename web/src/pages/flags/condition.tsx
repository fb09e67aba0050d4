// SPDX-License-Identifier: Apache-2.0
// The builder of conditions: a comparison, a segment, all of, any of, not; each in each.
import type { Json } from '../../lib/canon.ts';
import { useWords } from '../../words/words.ts';
import { JsonField, ListField, NumberField, ScalarField, TextField, YesField } from './fields.tsx';
import { firstOperand, OPERATORS, takes, type Condition } from './model.ts';

type Form = 'field' | '$segment' | '$and' | '$or' | '$not';
const FORMS = ['field', '$segment', '$and', '$or', '$not'] as const;
const formOf = (of: Condition): Form => (['$and', '$or', '$not', '$segment'] as const).find((one) => one in of) ?? 'field';
const operatorOf = (of: Condition): string => Object.keys(of).find((key) => key.startsWith('$')) ?? '$equals';
export const newCondition = (): Condition => ({ field: '', $equals: '' });

/** Another form keeps what is inside. */
function turn(of: Condition, form: Form): Condition {
	const from = formOf(of);
	const inside = from === '$and' || from === '$or' ? (of[from] as Condition[]) : from === '$not' ? [of['$not'] as Condition] : [of];
	if (form === '$and' || form === '$or') return { [form]: inside };
	if (form === '$not') return { $not: inside[0] ?? newCondition() };
	return form === '$segment' ? { $segment: '' } : (inside.find((one) => formOf(one) === 'field') ?? newCondition());
}

function Operand({ operator, value, onChange }: { operator: string; value: Json; onChange: (value: Json) => void }) {
	const w = useWords();
	const label = w.flags.operand, kind = takes(operator);
	if (kind === 'yes') return <YesField label={label} value={value === true} onChange={onChange} />;
	if (kind === 'number' && typeof value === 'number') return <NumberField label={label} value={value} onChange={onChange} />;
	if (kind === 'list' && Array.isArray(value)) return <ListField label={label} value={value} onChange={onChange} />;
	if (kind === 'text' && typeof value === 'string') return <TextField label={label} value={value} onChange={onChange} />;
	if (kind === 'scalar' && value !== null && typeof value !== 'object') return <ScalarField label={label} value={value} onChange={onChange} />;
	return <JsonField label={label} value={value} onChange={onChange} rows={3} />;
}

function Comparison({ of, onChange }: { of: Condition; onChange: (of: Condition) => void }) {
	const w = useWords();
	const operator = operatorOf(of), field = String(of['field'] ?? ''), value = of[operator] ?? '';
	return (
		<>
			<TextField label={w.flags.field} value={field} onChange={(next) => onChange({ field: next, [operator]: value })} />
			<select aria-label={w.flags.operator} value={operator} onChange={(event) => onChange({ field, [event.currentTarget.value]: firstOperand(event.currentTarget.value, value) })}>{OPERATORS.map((one) => <option key={one} value={one}>{w.flags.operators[one]}</option>)}</select>
			<Operand key={operator} operator={operator} value={value} onChange={(next) => onChange({ field, [operator]: next })} />
		</>
	);
}

export function ConditionEditor({ of, segments, onChange, onRemove }: { of: Condition; segments: readonly string[]; onChange: (of: Condition) => void; onRemove?: () => void }) {
	const w = useWords();
	const form = formOf(of), parts = form === '$and' || form === '$or' ? (of[form] as Condition[]) : [];
	const put = (i: number, next: Condition | null) => onChange({ [form]: next ? parts.map((part, k) => (k === i ? next : part)) : parts.filter((_, k) => k !== i) });
	return (
		<div class={`condition ${parts.length > 0 || form === '$not' ? 'group' : ''}`} role="group" aria-label={w.flags.condition}>
			<div class="condition-line">
				<select aria-label={w.flags.form} value={form} onChange={(event) => onChange(turn(of, event.currentTarget.value as Form))}>{FORMS.map((one) => <option key={one} value={one}>{w.flags.forms[one]}</option>)}</select>
				{form === 'field' && <Comparison of={of} onChange={onChange} />}
				{form === '$segment' && (
					<select aria-label={w.flags.segment} value={String(of['$segment'])} onChange={(event) => onChange({ $segment: event.currentTarget.value })}>
						{!segments.includes(String(of['$segment'])) && <option value={String(of['$segment'])}>{String(of['$segment']) || '…'}</option>}
						{segments.map((one) => <option key={one} value={one}>{one}</option>)}
					</select>
				)}
				{onRemove && <button type="button" class="quiet-button" onClick={onRemove} aria-label={w.flags.removeCondition}>✕</button>}
			</div>
			{parts.map((part, i) => <ConditionEditor key={i} of={part} segments={segments} onChange={(next) => put(i, next)} {...(parts.length > 1 ? { onRemove: () => put(i, null) } : {})} />)}
			{(form === '$and' || form === '$or') && <button type="button" class="add" onClick={() => onChange({ [form]: [...parts, newCondition()] })}>+ {w.flags.addCondition}</button>}
			{form === '$not' && <ConditionEditor of={of['$not'] as Condition} segments={segments} onChange={(next) => onChange({ $not: next })} />}
		</div>
	);
}
