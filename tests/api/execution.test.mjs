// SPDX-License-Identifier: Apache-2.0
// What another system does, over REST: proposal_settle, proposal_probe. (What is sent, and what becomes of it, is proved by
// tests/unit/core/attempt.c and tests/fault/run-outside.)
import { after, before, test } from 'node:test';

import { refused, World } from './lib/flow.mjs';

let w;
before(async () => (w = await World.start()));
after(() => w.stop());

const at = (p, what) => `/api/v1/proposals/${p.proposalId}/${what}`;

test('EX-4 only what is unknown is settled or probed, by a person who is signed in, with a reason', async () => {
	const p = await w.propose({ tool: 'note.create', input: { title: 'Ours', text: '' } });
	const ada = await w.person(['admin']), says = { outcome: 'applied', reason: 'I have seen it' };
	await refused(ada.post(at(p, 'settle'), says), 409, 'conflict', /pending: only what is unknown/);
	await refused(ada.post(at(p, 'probe')), 409, 'conflict', /only what is unknown/);
	await refused(ada.post(at(p, 'settle'), { ...says, reason: '' }), 400, 'invalid_request');
	await refused(ada.post(at(p, 'settle'), { outcome: 'unknown', reason: 'x' }), 400, 'invalid_request');
	await refused(w.agent.post(at(p, 'settle'), says), 403, 'forbidden', /signed in/);
	await refused(w.admin.post(at(p, 'settle'), says), 403, 'forbidden', /signed in/);
	const observer = await w.person(['observer']);
	await refused(observer.post(at(p, 'settle'), says), 403, 'forbidden', /note\.note\.approve/);
	await refused(ada.post('/api/v1/proposals/nothing/settle', says), 404, 'not_found');
});
