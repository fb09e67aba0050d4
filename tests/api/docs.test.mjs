// SPDX-License-Identifier: Apache-2.0
// The quick starts, and the page about webhooks, do what they say (tests/api/lib/page.mjs).
import { test } from 'node:test';

import { follow } from './lib/page.mjs';
import { freePort } from './lib/process.mjs';

test('the quick start for agent builders does what it says (PA-1, PA-7, PA-12, TL-5, TL-9, AP-5)', (t) => follow(t, 'quickstart-agent.md'));
test('the quick start for operators does what it says (AP-3, AP-5, PA-6, PA-13)', (t) => follow(t, 'quickstart-operator.md'));
test('the quick start for admins does what it says (ID-4, ID-6, ID-7, TL-6)', (t) => follow(t, 'quickstart-admin.md'));
test('the quick start for flags does what it says (FL-1, FL-3, FL-4, FL-5, FL-6)', (t) => follow(t, 'quickstart-flags.md'));
test('the page about webhooks does what it says (EX-1, EX-2)', async (t) => follow(t, 'webhooks.md', { ports: { 8800: await freePort() } }));
