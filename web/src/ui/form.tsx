// SPDX-License-Identifier: Apache-2.0
// A dialog with a form: what went wrong stands in it, above the button that caused it.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { useWords } from '../words/words.ts';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface Props {
	title: string;
	does: string; // what the button says
	danger?: boolean;
	ready?: boolean;
	onDo: () => Promise<unknown>;
	onClose: () => void;
	children?: ComponentChildren;
}

export function FormDialog({ title, does, danger = false, ready = true, onDo, onClose, children }: Props) {
	const w = useWords();
	const [working, setWorking] = useState(false), [error, setError] = useState<unknown>(null);
	const submit = async (event: Event) => {
		event.preventDefault();
		if (working || !ready) return;
		setWorking(true);
		setError(null);
		await onDo().catch(setError);
		setWorking(false);
	};
	return (
		<Dialog title={title} onClose={() => !working && onClose()}>
			<form onSubmit={submit}>
				{children}
				{error !== null && <Failure error={error} />}
				<div class="buttons">
					<button type="button" onClick={onClose} disabled={working}>{w.close}</button>
					<button type="submit" class={danger ? 'danger' : 'primary'} disabled={working || !ready}>{does}</button>
				</div>
			</form>
		</Dialog>
	);
}

/** Several of a few. */
export function Checks({ legend, all, chosen, onChange, name = (id) => id }: { legend: string; all: readonly string[]; chosen: readonly string[]; onChange: (chosen: string[]) => void; name?: (id: string) => string }) {
	return (
		<fieldset class="checks">
			<legend>{legend}</legend>
			{all.map((one) => (
				<label key={one} class="check"><input type="checkbox" checked={chosen.includes(one)} onChange={(event) => onChange(event.currentTarget.checked ? [...chosen, one] : chosen.filter((id) => id !== one))} /> {name(one)}</label>
			))}
		</fieldset>
	);
}
