// SPDX-License-Identifier: Apache-2.0
// What went wrong or happened meanwhile, with the server's code and sentence.
import type { ComponentChildren } from 'preact';

import { ApiError } from '../lib/api.ts';
import { store, useStore } from '../lib/store.ts';
import { visible } from '../lib/visible.ts';
import { useWords } from '../words/words.ts';

export type Tone = 'info' | 'good' | 'bad';

export const Notice = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
	<div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>{children}</div>
);

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
	const w = useWords();
	const e = error instanceof ApiError ? error : new ApiError('console', String(error), 0);
	const own = e.code === 'offline' ? w.errors.offline : e.code === 'bad_answer' ? w.errors.bad_answer : null;
	return (
		<Notice tone="bad">
			<p>{own ?? visible(e.message)}</p>
			<p class="fine">
				{w.errors.code} <code>{visible(e.code, false)}</code>
				{e.requestId && <> · {w.errors.request} <code>{visible(e.requestId, false)}</code></>}
			</p>
			{retry && <button type="button" onClick={retry}>{w.retry}</button>}
		</Notice>
	);
}

/** A line at the bottom that goes away by itself; it is also read aloud. */
const toast = store<{ text: string; n: number } | null>(null);
let last: ReturnType<typeof setTimeout>, n = 0;
export function say(text: string): void {
	toast.set({ text, n: ++n });
	clearTimeout(last);
	last = setTimeout(() => toast.set(null), 6000);
}
export function Toast() {
	const now = useStore(toast);
	return <div class="toast" role="status" aria-live="polite">{now && <span key={now.n}>{now.text}</span>}</div>;
}
