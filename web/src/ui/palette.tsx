// SPDX-License-Identifier: Apache-2.0
// Everything by name: commands, and the proposals that are loaded.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { visible } from '../lib/visible.ts';
import { useWords } from '../words/words.ts';
import { Dialog } from './dialog.tsx';

export interface Command {
	id: string;
	name: string;
	hint?: string;
	run: () => void;
}

const MOST = 12;

function find(commands: Command[], text: string): Command[] {
	const asked = text.toLowerCase().split(/\s+/);
	return commands.filter(({ name, hint }) => asked.every((word) => `${name} ${hint ?? ''}`.toLowerCase().includes(word))).slice(0, MOST);
}

export function Palette({ commands, onClose }: { commands: Command[]; onClose: () => void }) {
	const w = useWords();
	const [text, setText] = useState('');
	const [at, setAt] = useState(0);
	const input = useRef<HTMLInputElement>(null);
	useLayoutEffect(() => input.current!.focus(), []);
	const found = find(commands, text);
	const chosen = Math.min(at, Math.max(0, found.length - 1));
	const run = (command: Command | undefined) => {
		if (!command) return;
		onClose();
		command.run();
	};
	const key = (event: KeyboardEvent) => {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (by) setAt((chosen + by + found.length) % Math.max(1, found.length));
		else if (event.key === 'Enter') run(found[chosen]);
		else return;
		event.preventDefault();
	};
	return (
		<Dialog title={w.shell.palette} onClose={onClose}>
			<input ref={input} type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found[chosen] && `palette-${found[chosen].id}`} aria-label={w.palette.hint} placeholder={w.palette.hint}
				value={text} onInput={(event) => { setText(event.currentTarget.value); setAt(0); }} onKeyDown={key} />
			<ul class="palette-list" id="palette-list" role="listbox" aria-label={w.shell.palette}>
				{found.map((command, i) => (
					<li key={command.id} id={`palette-${command.id}`} role="option" aria-selected={i === chosen} onClick={() => run(command)} onMouseMove={() => setAt(i)}>
						<span class="clip">{visible(command.name, false)}</span> <span class="quiet">{command.hint}</span>
					</li>
				))}
			</ul>
			{found.length === 0 && <p class="quiet" role="status">{w.palette.none}</p>}
		</Dialog>
	);
}
