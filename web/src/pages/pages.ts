// SPDX-License-Identifier: Apache-2.0
// The pages beside the inbox, in the order of the bar. Each is loaded when it is first opened: a phone that is sent to
// a proposal waits for nothing else.
import type { FunctionComponent } from 'preact';

import type { PageName } from '../lib/route.ts';

/** path: what follows the page's name in the address. */
export type PageView = FunctionComponent<{ path: readonly string[] }>;

export interface Page {
	name: PageName;
	bar: boolean; // it has an entry in the bar
	load: () => Promise<{ default: PageView }>;
}

export const pages: readonly Page[] = [
	{ name: 'start', bar: false, load: () => import('./start/start.tsx') },
	{ name: 'overview', bar: true, load: () => import('./overview/overview.tsx') },
	{ name: 'agents', bar: true, load: () => import('./agents/agents.tsx') },
	{ name: 'systems', bar: true, load: () => import('./systems/systems.tsx') },
	{ name: 'flags', bar: true, load: () => import('./flags/flags.tsx') },
	{ name: 'audit', bar: true, load: () => import('./audit/audit.tsx') },
	{ name: 'settings', bar: true, load: () => import('./settings/settings.tsx') },
];
