// SPDX-License-Identifier: Apache-2.0
// Keys that work anywhere but in a field, and not while a dialog is open. The last component to ask is asked first.
import { useEffect, useRef } from 'preact/hooks';

type Handler = (event: KeyboardEvent) => boolean | void; // true: it was for me
const handlers: { current: Handler }[] = [];

const inField = (target: EventTarget | null): boolean => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && (target as HTMLInputElement).type !== 'checkbox';

window.addEventListener('keydown', (event) => {
	if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
	const control = event.ctrlKey || event.metaKey;
	if (event.altKey || (control && event.key.toLowerCase() !== 'k') || (!control && inField(event.target))) return;
	for (const handler of [...handlers].reverse()) {
		if (handler.current(event)) {
			event.preventDefault();
			return;
		}
	}
});

export function useKeys(handler: Handler): void {
	const ref = useRef(handler);
	ref.current = handler;
	useEffect(() => {
		handlers.push(ref);
		return () => void handlers.splice(handlers.indexOf(ref), 1);
	}, []);
}
