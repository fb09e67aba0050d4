// SPDX-License-Identifier: Apache-2.0
import { useWords } from '../words/words.ts';
import { Dialog } from './dialog.tsx';

export function Help({ onClose }: { onClose: () => void }) {
	const w = useWords();
	const keys: [string[], string][] = [
		[['j'], w.keys.next], [['k'], w.keys.previous], [['Enter'], w.keys.open], [['a'], w.keys.approve], [['d'], w.keys.deny], [['x'], w.keys.select],
		[['/'], w.keys.filter], [['u', 'Esc'], w.keys.back], [['Ctrl', 'K'], w.keys.palette], [['?'], w.keys.help],
	];
	return (
		<Dialog title={w.keys.title} onClose={onClose}>
			<dl class="keys">{keys.map(([names, what]) => <div key={what}><dt>{names.map((name) => <kbd key={name}>{name}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
			<div class="buttons"><button type="button" onClick={onClose} autofocus>{w.close}</button></div>
		</Dialog>
	);
}
