// SPDX-License-Identifier: Apache-2.0
// Where we are: the inbox (/), a proposal (/proposals/ID), or another page (/agents/...). The inbox's view is in the query.
import { store } from './store.ts';

export type View = 'pending' | 'approved' | 'all';
/** The server answers these, too (CONSOLE_PAGES in face/console/console.h). */
export const PAGES = ['agents', 'flags', 'audit', 'overview', 'settings', 'start', 'systems'] as const;
export type PageName = (typeof PAGES)[number];

export interface Route {
	page: PageName | 'inbox' | null; // null: there is no such page
	path: readonly string[]; // what follows the page's name
	proposal: string | null;
	view: View;
}

function read(): Route {
	const [first = '', ...path] = location.pathname.slice(1).split('/').map(decodeURIComponent);
	const proposal = first === 'proposals' && path.length === 1 ? path[0]! : null;
	const view = new URLSearchParams(location.search).get('view');
	const inbox = location.pathname === '/' || proposal !== null;
	return {
		page: inbox ? 'inbox' : (PAGES.find((one) => one === first) ?? null),
		path: path.filter((one) => one !== ''),
		proposal,
		view: inbox && (view === 'approved' || view === 'all') ? view : 'pending',
	};
}

export const route = store<Route>(read());
window.addEventListener('popstate', () => route.set(read()));

const query = (view: View): string => (view === 'pending' ? '' : `?view=${view}`);
export const inboxPath = (view: View): string => `/${query(view)}`;
export const proposalPath = (id: string, view: View): string => `/proposals/${encodeURIComponent(id)}${query(view)}`;

export const pagePath = (page: PageName | 'inbox', ...path: string[]): string => (page === 'inbox' ? '/' : `/${[page, ...path.map(encodeURIComponent)].join('/')}`);

export function go(path: string, replace = false): void {
	if (path === location.pathname + location.search) return;
	if (replace) history.replaceState(null, '', path);
	else history.pushState(null, '', path);
	route.set(read());
}

/** For links: a plain click stays in the page, everything else is the browser's. */
export function follow(event: MouseEvent): void {
	const link = event.currentTarget as HTMLAnchorElement;
	if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
	event.preventDefault();
	go(link.pathname + link.search);
}
