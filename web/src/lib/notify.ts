// SPDX-License-Identifier: Apache-2.0
// Notifications of the desktop, for whoever asked for them in this browser, while no tab of ours is looked at.
import { ask } from './api.ts';
import { keep, kept } from './keep.ts';
import { onNews, type News } from './live.ts';
import type { Proposal } from './model.ts';
import { go, proposalPath } from './route.ts';
import { store } from './store.ts';
import { visible } from './visible.ts';

export const canNotify = 'Notification' in window;
const allowed = (): boolean => canNotify && Notification.permission === 'granted';

export const notifying = store(allowed() && kept('notify') === 'on');
notifying.on(() => keep('notify', notifying.get() ? 'on' : 'off'));

/** The browser asks the person. False: they, or the browser, said no. */
export async function wantNotices(): Promise<boolean> {
	if (canNotify && !allowed()) await Notification.requestPermission();
	notifying.set(allowed());
	return notifying.get();
}

async function tell({ type, id }: News): Promise<void> {
	if (type !== 'proposal.pending' || !notifying.get() || !allowed() || document.hasFocus()) return;
	const { card } = await ask<Proposal>('GET', `/api/v1/proposals/${encodeURIComponent(id)}`);
	const note = new Notification(visible(card.summary, false), { body: visible(card.askedBy.name, false), tag: id }); // one for all tabs
	note.onclick = () => {
		window.focus();
		go(proposalPath(id, 'pending'));
		note.close();
	};
}

onNews((news) => void tell(news).catch(() => {})); // it is in the inbox in any case
