// SPDX-License-Identifier: Apache-2.0
// The first steps, while somebody takes them. The token is kept nowhere but here, until the page is closed.
import { me } from './api.ts';
import { store } from './store.ts';

export interface Guide {
	agent: { id: string; name: string };
	token: string;
	connected: boolean; // the line was copied, or skipped
	proposal: string | null;
}

/** null: not begun, or done. */
export const guide = store<Guide | null>(null);
me.on(() => me.get() || guide.set(null)); // nobody else's token
