// SPDX-License-Identifier: Apache-2.0
// Keys that work anywhere but in a field, and not while a dialog is open. The last component to ask is asked first.
import { useEffect, useRef } from 'preact/hooks';

type Handler = (event: KeyboardEvent) => boolean | void; // true: it was for me
const handlers: { current: Handler; control: boolean }[] = [];

const inField = (target: EventTarget | null): boolean => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && (target as HTMLInputElement).type !== 'checkbox';

window.addEventListener('keydown', (event) => {
	if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
	const control = event.ctrlKey || event.metaKey;
	if (event.altKey || (control && event.key.toLowerCase() !== 'k') || (!control && inField(event.target))) return;
	for (const handler of [...handlers].reverse()) {
		if (handler.control === control && handler.current(event)) {
			event.preventDefault();
			return;
		}
	}
});

/** control: the keys that are pressed together with Ctrl (or ⌘), and no others. */
export function useKeys(handler: Handler, control = false): void {
	const ref = useRef(handler);
	ref.current = handler;
	useEffect(() => {
		const mine = { current: (event: KeyboardEvent) => ref.current(event), control };
		handlers.push(mine);
		return () => void handlers.splice(handlers.indexOf(mine), 1);
	}, [control]);
}
