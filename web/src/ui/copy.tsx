// SPDX-License-Identifier: Apache-2.0
import { useState } from 'preact/hooks';

import { useWords } from '../words/words.ts';

/** Copies, and says so. what: the name of it, where a page has several. */
export function Copy({ text, what }: { text: string; what?: string }) {
	const w = useWords();
	const [done, setDone] = useState(false);
	const copy = () => navigator.clipboard.writeText(text).then(() => setDone(true), () => {});
	const word = done ? w.copied : w.copy;
	return <button type="button" aria-label={what && `${word}: ${what}`} onClick={copy}>{word}</button>;
}
