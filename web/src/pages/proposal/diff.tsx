// SPDX-License-Identifier: Apache-2.0
// What would change, for reading: each field with its value before and after, the words that differ marked.
import type { Json } from '../../lib/canon.ts';
import type { Change } from '../../lib/model.ts';
import { Fold, shown, Text, Value } from '../../ui/text.tsx';
import { wordDiff, type Piece } from '../../ui/worddiff.ts';
import { language, useWords } from '../../words/words.ts';
import { clockTime } from '../../lib/time.ts';
import { useStore } from '../../lib/store.ts';

type Field = { path: string; before?: Json; after?: Json };

/** Fields that every change of a record touches; they stand last, and nothing is left out. */
const isBookkeeping = ({ path }: Field): boolean => path === '/updatedAt' || path === '/version' || path === '/revision';

const pathText = (path: string): string => path.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).join(' › ') || '/';

/** Microseconds since 1970, as the server counts: a person wants the date, too. */
function Date_({ path, value }: { path: string; value: Json }) {
	const lang = useStore(language);
	if (typeof value !== 'number' || !/(At|_at)$/.test(path) || value < 1e15) return null;
	return <span class="quiet"> {clockTime(value / 1000, lang)}</span>;
}

function Pieces({ of, mark: Mark }: { of: Piece[]; mark: 'ins' | 'del' }) {
	return <>{of.map((piece, i) => (piece.differs ? <Mark key={i}><Text of={piece.text} /></Mark> : <Text key={i} of={piece.text} />))}</>;
}

function Side({ label, sign, kind, path, value, other }: { label: string; sign: string; kind: 'ins' | 'del'; path: string; value: Json | undefined; other: Json | undefined }) {
	const w = useWords();
	if (value === undefined) return <div class={`side ${kind} absent`}><span class="side-sign" aria-hidden="true">{sign}</span><span class="side-label">{label}</span><span class="quiet">{w.card.nothing}</span></div>;
	const pieces = other === undefined ? null : kind === 'del' ? (text: string) => wordDiff(text, shown(other)).before : (text: string) => wordDiff(shown(other), text).after;
	return (
		<div class={`side ${kind}`}>
			<span class="side-sign" aria-hidden="true">{sign}</span><span class="side-label">{label}</span>
			<pre class="value"><Fold text={shown(value)}>{(text) => (pieces && text === shown(value) ? <Pieces of={pieces(text)} mark={kind} /> : <Text of={text} />)}</Fold><Date_ path={path} value={value} /></pre>
		</div>
	);
}

/** "version 1 → 2": all of it is there, on one line. */
function Bookkeeping({ field }: { field: Field }) {
	const w = useWords();
	const side = (value: Json | undefined) => (value === undefined ? w.card.nothing : <><Text of={shown(value)} /><Date_ path={field.path} value={value} /></>);
	return <p class="bookkeeping"><code>{pathText(field.path)}</code> {side(field.before)} → {side(field.after)}</p>;
}

function FieldDiff({ field }: { field: Field }) {
	const w = useWords();
	return (
		<div class="field">
			<h4><Text of={pathText(field.path)} /></h4>
			<Side label={w.card.before} sign="−" kind="del" path={field.path} value={field.before} other={field.after} />
			<Side label={w.card.after} sign="+" kind="ins" path={field.path} value={field.after} other={field.before} />
		</div>
	);
}

/** An object field by field; anything else as it is. */
export function Whole({ of, kind }: { of: Json; kind: 'ins' | 'del' | 'call' }) {
	if (of === null || typeof of !== 'object' || Array.isArray(of)) return <div class={`side ${kind}`}><Value of={of} /></div>;
	return (
		<dl class={`whole ${kind}`}>
			{Object.entries(of).map(([key, value]) => (
				<div key={key}><dt><Text of={key} /></dt><dd><Value of={value} /><Date_ path={key} value={value} /></dd></div>
			))}
		</dl>
	);
}

export function ChangeView({ change }: { change: Change }) {
	const w = useWords();
	const fields = change.kind === 'update' ? change.diff : [];
	return (
		<>
			{change.kind === 'create' && <Whole of={change.after} kind="ins" />}
			{change.kind === 'delete' && <Whole of={change.before} kind="del" />}
			{change.kind === 'call' && <Whole of={change.input} kind="call" />}
			{change.kind === 'update' && change.diff.length === 0 && <p>{w.card.noChange}</p>}
			{fields.filter((field) => !isBookkeeping(field)).map((field) => <FieldDiff key={field.path} field={field} />)}
			{fields.filter(isBookkeeping).map((field) => <Bookkeeping key={field.path} field={field} />)}
		</>
	);
}
