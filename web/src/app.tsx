// SPDX-License-Identifier: Apache-2.0
// The shell: who is signed in, whether we are connected, and which page. On a wide screen the inbox stays beside the
// proposal; on a narrow one they take turns.
import { useEffect, useRef, useState } from 'preact/hooks';

import { me, signOut, whoAmI, type Me } from './lib/api.ts';
import { connection, onNews } from './lib/live.ts';
import { loadPeople } from './lib/people.ts';
import { follow, go, inboxPath, pagePath, proposalPath, route } from './lib/route.ts';
import { useStore } from './lib/store.ts';
import { clockTime, tick } from './lib/time.ts';
import { visible } from './lib/visible.ts';
import { Inbox } from './pages/inbox/inbox.tsx';
import { hear, list, reload, select } from './pages/inbox/list.ts';
import { pages } from './pages/pages.ts';
import { ProposalPage } from './pages/proposal/proposal.tsx';
import { SignIn } from './pages/signin/signin.tsx';
import { Help } from './ui/help.tsx';
import { Later } from './ui/later.tsx';
import { useKeys } from './ui/keys.ts';
import { Failure, Notice, say, Toast } from './ui/notice.tsx';
import { Navigation } from './ui/navigation.tsx';
import { Palette, type Command } from './ui/palette.tsx';
import { Preferences } from './ui/preferences.tsx';
import { Sign } from './ui/sign.tsx';
import { language, languages, theme, themes, useWords, words, type Language } from './words/words.ts';

const leave = (): void => void signOut().catch(() => say(words().errors.offline));

function Link() {
	const w = useWords();
	const state = useStore(connection);
	return <span class={`link link-${state}`} role="status"><span class="link-dot" aria-hidden="true" />{w.shell.connection[state]}</span>;
}

function Bar({ who, waiting, onPalette, onHelp }: { who: Me; waiting: string; onPalette: () => void; onHelp: () => void }) {
	const w = useWords();
	const menu = useRef<HTMLDetailsElement>(null);
	const shut = () => {
		if (menu.current) menu.current.open = false;
	};
	useEffect(() => {
		const click = (event: Event) => menu.current?.contains(event.target as Node) || shut();
		document.addEventListener('click', click);
		return () => document.removeEventListener('click', click);
	}, []);
	return (
		<header class="bar">
			<h1 class="unseen">Countersign</h1>
			<a class="skip" href="#main">{w.skip}</a>
			<a class="home" href="/" onClick={follow} aria-label="Countersign"><Sign /><span>Countersign</span></a>
			<span class="org clip">{visible(who.orgName, false)}</span>
			<Navigation waiting={waiting} />
			<Link />
			<button type="button" class="palette-button" onClick={onPalette}><span>{w.shell.palette}</span> <kbd>Ctrl K</kbd></button>
			<details class="menu" ref={menu} onKeyDown={(event) => event.key === 'Escape' && shut()}>
				<summary>{visible(who.name, false)}</summary>
				<div class="menu-body">
					<p class="quiet">{w.shell.signedInAs(visible(who.email ?? who.name, false))}</p>
					<Preferences />
					<button type="button" onClick={() => { shut(); onHelp(); }}>{w.shell.help} <kbd>?</kbd></button>
					<button type="button" onClick={leave}>{w.shell.signOut}</button>
				</div>
			</details>
		</header>
	);
}

function useCommands(onHelp: () => void): Command[] {
	const w = useWords();
	const { rows } = useStore(list), { view } = useStore(route);
	return [
		...(['pending', 'approved', 'all'] as const).map((one): Command => ({ id: `view-${one}`, name: `${w.inbox.title}: ${w.inbox.views[one]}`, run: () => go(inboxPath(one)) })),
		...pages.map(({ name }): Command => ({ id: `page-${name}`, name: w.pages[name], run: () => go(pagePath(name)) })),
		{ id: 'help', name: w.shell.help, hint: '?', run: onHelp },
		...themes.map((one): Command => ({ id: `theme-${one}`, name: `${w.shell.theme}: ${w.shell.themes[one]}`, run: () => theme.set(one) })),
		...(Object.keys(languages) as Language[]).map((one): Command => ({ id: `language-${one}`, name: `${w.language}: ${languages[one]}`, run: () => language.set(one) })),
		{ id: 'sign-out', name: w.shell.signOut, run: leave },
		...rows.filter((row) => row.status !== 'tampered').map((row): Command => ({ id: row.proposalId, name: row.summary, hint: row.tool, run: () => go(proposalPath(row.proposalId, view)) })),
	];
}

/** How many wait, as text; "" where it is not known, or none. */
function useWaiting(): string {
	const w = useWords();
	const now = useStore(list), clock = useStore(tick), { view } = useStore(route);
	useEffect(() => void reload(view), [view]);
	useEffect(() => onNews(hear), []);
	if (now.view !== 'pending' || now.state !== 'ready') return '';
	const waiting = select(now, { text: '', risk: '', sort: 'newest' }, clock).length;
	return waiting > 0 ? w.inbox.count(waiting, now.next !== null) : '';
}

/** "(3) Inbox · Countersign": how many wait, whatever is open. */
function useTitle(waiting: string): void {
	const w = useWords();
	const { page } = useStore(route);
	const title = `${waiting && `(${waiting}) `}${w.pages[page ?? 'inbox']} · Countersign`;
	useEffect(() => {
		document.title = title;
	}, [title]);
}

/** Nothing is open: how to go on. */
function Pick() {
	const w = useWords();
	const { rows } = useStore(list);
	if (rows.length === 0) return null;
	const keys: [string, string][] = [['j', w.keys.next], ['k', w.keys.previous], ['a', w.keys.approve], ['d', w.keys.deny], ['?', w.keys.help]];
	return (
		<div class="pick quiet">
			<div><p>{w.inbox.pick}</p><dl class="keys">{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl></div>
		</div>
	);
}

const Nowhere = () => {
	const w = useWords();
	return <main id="main" class="pad"><h2>{w.notFound}</h2><p><a href="/" onClick={follow}>{w.toInbox}</a></p></main>;
};

function Pages() {
	const at = useStore(route);
	const last = useRef(at.page);
	useEffect(() => { // whoever reads by ear hears where they are now
		if (last.current !== at.page) document.getElementById('main')?.focus({ preventScroll: true });
		last.current = at.page;
	}, [at.page]);
	if (at.page === 'inbox') {
		return (
			<main id="main" tabIndex={-1} class={`pages ${at.proposal ? 'has-proposal' : ''}`}>
				<Inbox />
				<div class="detail">{at.proposal ? <ProposalPage key={at.proposal} id={at.proposal} /> : <Pick />}</div>
			</main>
		);
	}
	const page = pages.find(({ name }) => name === at.page);
	return page ? <main id="main" tabIndex={-1} class="page" key={page.name}><Later page={page} path={at.path} /></main> : <Nowhere />;
}

function Shell({ who }: { who: Me }) {
	const w = useWords();
	const link = useStore(connection), spoken = useStore(language);
	const [open, setOpen] = useState<'palette' | 'help' | null>(null);
	const commands = useCommands(() => setOpen('help'));
	const waiting = useWaiting();
	useTitle(waiting);
	useEffect(() => void loadPeople(), [who.id]);
	useKeys((event) => event.key === '?' && (setOpen('help'), true));
	useKeys((event) => event.key.toLowerCase() === 'k' && (setOpen('palette'), true), true);
	return (
		<>
			<Bar who={who} waiting={waiting} onPalette={() => setOpen('palette')} onHelp={() => setOpen('help')} />
			{who.recoveredAt && <Notice tone="info"><p>{w.shell.recovered(clockTime(who.recoveredAt, spoken))}</p></Notice>}
			{link === 'offline' && <Notice tone="bad"><p>{w.shell.offline}</p></Notice>}
			<Pages />
			{open === 'palette' && <Palette commands={commands} onClose={() => setOpen(null)} />}
			{open === 'help' && <Help onClose={() => setOpen(null)} />}
		</>
	);
}

export function App() {
	const w = useWords();
	const who = useStore(me);
	const [error, setError] = useState<unknown>(null);
	const begin = () => {
		setError(null);
		whoAmI().catch(setError);
	};
	useEffect(begin, []);
	return (
		<>
			{who === undefined && (error !== null ? <main id="main" class="sign-in"><h1><Sign /> Countersign</h1><Failure error={error} retry={begin} /></main> : <main id="main" class="pad"><p class="quiet" role="status">{w.loading}</p></main>)}
			{who === null && <SignIn />}
			{who && <Shell who={who} />}
			<Toast />
		</>
	);
}
