// SPDX-License-Identifier: Apache-2.0
// A modal dialog: the browser's own, which keeps the focus inside, closes with Escape and gives the focus back.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
	const ref = useRef<HTMLDialogElement>(null);
	const id = useId();
	useLayoutEffect(() => { // at once: the next key is for the dialog already
		const dialog = ref.current!;
		const before = document.activeElement;
		dialog.showModal();
		return () => {
			dialog.close();
			if (before instanceof HTMLElement && before.isConnected) before.focus();
		};
	}, []);
	return (
		<dialog ref={ref} aria-labelledby={id} onCancel={(event) => { event.preventDefault(); onClose(); }} onClick={(event) => event.target === ref.current && onClose()}>
			<div class="dialog-body">
				<h2 id={id}>{title}</h2>
				{children}
			</div>
		</dialog>
	);
}
