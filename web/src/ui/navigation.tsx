// SPDX-License-Identifier: Apache-2.0
// The pages, in the bar; on a narrow screen in a line of their own below it.
import { useEffect, useRef } from 'preact/hooks';

import { guide } from '../lib/guide.ts';
import { follow, pagePath, route } from '../lib/route.ts';
import { useStore } from '../lib/store.ts';
import { pages } from '../pages/pages.ts';
import { useWords } from '../words/words.ts';

export function Navigation({ waiting }: { waiting: string }) {
	const w = useWords();
	const at = useStore(route), guided = useStore(guide) !== null;
	const nav = useRef<HTMLElement>(null);
	const names = ['inbox' as const, ...pages.filter(({ name, bar }) => bar || (guided && name === 'start')).map(({ name }) => name)];
	useEffect(() => { // the line may be longer than the screen
		const line = nav.current, link = line?.querySelector<HTMLElement>('[aria-current]');
		if (line && link) line.scrollLeft = link.offsetLeft - (line.clientWidth - link.clientWidth) / 2;
	}, [at.page]);
	if (names.length === 1) return null;
	return (
		<nav class={`navigation ${at.proposal ? 'beside-proposal' : ''}`} aria-label={w.navigation} ref={nav}>
			{names.map((name) => (
				<a key={name} href={pagePath(name)} onClick={follow} aria-current={at.page === name ? 'page' : undefined}>
					{w.pages[name]}{name === 'inbox' && at.page !== 'inbox' && waiting && <span class="badge">{waiting}</span>}
				</a>
			))}
		</nav>
	);
}
