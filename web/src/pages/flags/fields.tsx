// SPDX-License-Identifier: Apache-2.0
// Fields for values of JSON. What cannot be read as a value is said at once, and nothing can be sent meanwhile.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

import { canon, type Json } from '../../lib/canon.ts';
import { useWords } from '../../words/words.ts';

/** Tells the editor how many fields hold something that is no value. */
export const Unreadable = createContext<(change: 1 | -1) => void>(() => {});

interface ParsedProps<T> {
	label: string;
	value: T;
	show: (value: T) => string;
	read: (text: string) => T | undefined;
	onChange: (value: T) => void;
	rows?: number;
}

/** A field whose text is read on each letter. */
export function Parsed<T extends Json>({ label, value, show, read, onChange, rows }: ParsedProps<T>) {
	const w = useWords();
	const tell = useContext(Unreadable);
	const [text, setText] = useState(show(value));
	const now = read(text), bad = now === undefined;
	useEffect(() => { // it was changed from outside
		if (now === undefined || canon(now) !== canon(value)) setText(show(value));
	}, [canon(value)]);
	useEffect(() => {
		if (!bad) return undefined;
		tell(1);
		return () => tell(-1);
	}, [bad, tell]);
	const input = (event: Event) => {
		const next = (event.currentTarget as HTMLInputElement).value, parsed = read(next);
		setText(next);
		if (parsed !== undefined) onChange(parsed);
	};
	const more = { 'aria-label': label, 'aria-invalid': bad, spellcheck: false, value: text, onInput: input };
	return (
		<span class="parsed">
			{rows ? <textarea class="mono" rows={rows} {...more} /> : <input type="text" class="mono" autocomplete="off" {...more} />}
			{bad && <span class="field-bad" role="alert">{w.flags.unreadable}</span>}
		</span>
	);
}

function json(text: string): Json | undefined {
	try {
		return JSON.parse(text) as Json;
	} catch {
		return undefined;
	}
}
const number = (text: string): number | undefined => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined);

export const NumberField = (p: { label: string; value: number; onChange: (value: number) => void }) => <Parsed {...p} show={String} read={number} />;
export const JsonField = ({ rows = 4, ...p }: { label: string; value: Json; onChange: (value: Json) => void; rows?: number }) => <Parsed {...p} rows={rows} show={(value) => JSON.stringify(value, null, 2)} read={json} />;
export const TextField = ({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) => <input type="text" class="mono" aria-label={label} autocomplete="off" spellcheck={false} value={value} onInput={(event) => onChange(event.currentTarget.value)} />;

export function YesField({ label, value, onChange }: { label: string; value: boolean; onChange: (value: boolean) => void }) {
	return <select aria-label={label} value={String(value)} onChange={(event) => onChange(event.currentTarget.value === 'true')}><option value="true">true</option><option value="false">false</option></select>;
}

type Scalar = string | number | boolean;
/** A text, a number or a truth: nothing is converted, so the type is said. */
export function ScalarField({ label, value, onChange }: { label: string; value: Scalar; onChange: (value: Scalar) => void }) {
	const w = useWords();
	const turn = (type: string) => onChange(type === 'number' ? Number(value) || 0 : type === 'boolean' ? value === true || value === 'true' : String(value));
	return (
		<span class="scalar">
			<select aria-label={`${label}: ${w.flags.type}`} value={typeof value} onChange={(event) => turn(event.currentTarget.value)}>{(['string', 'number', 'boolean'] as const).map((one) => <option key={one} value={one}>{w.flags.types[one]}</option>)}</select>
			{typeof value === 'number' ? <NumberField label={label} value={value} onChange={onChange} /> : typeof value === 'boolean' ? <YesField label={label} value={value} onChange={onChange} /> : <TextField label={label} value={value} onChange={onChange} />}
		</span>
	);
}

/** One a line; what is written as a number or in quotes is JSON, the rest text. */
const asLine = (value: Json): string => (typeof value === 'string' && json(value) === undefined && value.trim() === value && value !== '' ? value : JSON.stringify(value));
const ofLine = (line: string): Json => json(line) ?? line;
export const ListField = ({ label, value, onChange, texts = false }: { label: string; value: Json[]; onChange: (value: Json[]) => void; texts?: boolean }) => (
	<Parsed label={label} value={value} rows={Math.min(8, Math.max(2, value.length))} onChange={onChange}
		show={(list) => list.map(texts ? String : asLine).join('\n')} read={(text) => text.split('\n').map((line) => line.trim()).filter((line) => line !== '').map(texts ? String : ofLine)} />
);

/** A value of the item's own type. */
export function ValueField({ type, label, value, onChange }: { type: string; label: string; value: Json; onChange: (value: Json) => void }) {
	if (type === 'boolean' && typeof value === 'boolean') return <YesField label={label} value={value} onChange={onChange} />;
	if (type === 'number' && typeof value === 'number') return <NumberField label={label} value={value} onChange={onChange} />;
	if (type === 'string' && typeof value === 'string') return <TextField label={label} value={value} onChange={onChange} />;
	return <JsonField label={label} value={value} onChange={onChange} />;
}
