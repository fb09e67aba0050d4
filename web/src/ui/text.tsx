// SPDX-License-Identifier: Apache-2.0
// Text and values as they are drawn: always as text nodes, hidden characters marked, long values folded and counted.
import { createContext } from 'preact';
import { useContext, useLayoutEffect, useState } from 'preact/hooks';

import type { Json } from '../lib/canon.ts';
import { shownHidden, visible } from '../lib/visible.ts';
import { useWords } from '../words/words.ts';

const FOLD_CHARACTERS = 1500;
const FOLD_LINES = 24;

/** Text that was made visible; what stands for a hidden character is a mark. */
export function Text({ of }: { of: string }) {
	const w = useWords();
	return <>{shownHidden(of).map((part, i) => (i % 2 ? <mark class="hidden-char" title={w.card.hidden}>{part}</mark> : part))}</>;
}

/** Text that nobody has looked at yet. */
export const Raw = ({ of, lines = true }: { of: string; lines?: boolean }) => <Text of={visible(of, lines)} />;

/** Tells the page how many parts are still folded: nobody approves what they could not see. */
export const Folds = createContext<(change: 1 | -1) => void>(() => {});

export function Fold({ text, children }: { text: string; children?: (text: string) => preact.ComponentChildren }) {
	const w = useWords();
	const tell = useContext(Folds);
	const lines = text.split('\n');
	const long = text.length > FOLD_CHARACTERS || lines.length > FOLD_LINES;
	const [open, setOpen] = useState(false);
	const folded = long && !open;
	useLayoutEffect(() => {
		if (!folded) return undefined;
		tell(1);
		return () => tell(-1);
	}, [folded, tell]);
	const shown = folded ? lines.slice(0, FOLD_LINES / 2).join('\n').slice(0, FOLD_CHARACTERS / 2) : text;
	return (
		<>
			{children ? children(shown) : <Text of={shown} />}
			{folded && (
				<button type="button" class="fold" onClick={() => setOpen(true)}>
					{w.card.fold(text.length - shown.length)}
				</button>
			)}
		</>
	);
}

const ONE_LINE = 60;

/** What stands for a hidden character stays as the server wrote it: JSON would double its backslash. */
const json = (value: Json, space: number): string => JSON.stringify(value, null, space).replaceAll(/\\\\(u\{[0-9A-F]{2,6}\})/g, '\\$1');

/** A JSON value for reading: text of several lines as such, everything else as JSON, on one line where it is short. */
export function shown(value: Json): string {
	if (typeof value === 'string' && value.includes('\n')) return value;
	const short = json(value, 1).replaceAll(/\n */g, ' '); // no text in it has a line's end
	return short.length <= ONE_LINE ? short : json(value, 2);
}

export const Value = ({ of }: { of: Json }) => (
	<pre class="value"><Fold text={shown(of)} /></pre>
);
