// SPDX-License-Identifier: Apache-2.0
// Where we are: the inbox (/) or a proposal (/proposals/ID). The inbox's view is in the query.
import { store } from './store.ts';

export type View = 'pending' | 'approved' | 'all';
export interface Route {
	proposal: string | null;
	view: View;
	known: boolean;
}

function read(): Route {
	const found = /^\/proposals\/([^/]+)$/.exec(location.pathname);
	const view = new URLSearchParams(location.search).get('view');
	return {
		proposal: found ? decodeURIComponent(found[1]!) : null,
		view: view === 'approved' || view === 'all' ? view : 'pending',
		known: location.pathname === '/' || found !== null,
	};
}

export const route = store<Route>(read());
window.addEventListener('popstate', () => route.set(read()));

const query = (view: View): string => (view === 'pending' ? '' : `?view=${view}`);
export const inboxPath = (view: View): string => `/${query(view)}`;
export const proposalPath = (id: string, view: View): string => `/proposals/${encodeURIComponent(id)}${query(view)}`;

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
