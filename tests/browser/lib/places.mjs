// SPDX-License-Identifier: Apache-2.0
// Every page and every dialog of the console, and how one gets there, in any language: t is the catalogue, x what the
// world holds. Each is looked at in light, dark and on a phone, and read in Spanish (console.looks.test.mjs).
import { ok } from '../../api/lib/flow.mjs';
import { Shop } from '../../api/lib/flags.mjs';
import { until } from '../../api/lib/server.mjs';
import { startUpstream, tool } from '../../api/lib/upstream.mjs';
import { usable } from './desk.mjs';

const press = (page, name) => page.getByRole('button', { name: new RegExp(`^${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`) }).first().click();
const dialog = (page) => page.getByRole('dialog').waitFor();
const card = (page) => page.locator('.card').waitFor();
const proposal = (name) => (x) => `/proposals/${x[name].proposalId}`;
const opened = (...keys) => async (page, t) => {
	await card(page);
	for (const one of keys) await press(page, t.act[one]);
	await dialog(page);
};
const rows = (page) => page.locator('.table tbody tr').first().waitFor();
const inDialog = (name) => async (page, t) => {
	await rows(page);
	await press(page, name(t));
	await dialog(page);
};
const impact = (page) => page.locator('.impact table').waitFor();
const item = (page) => page.locator('.env .panel-body').first().waitFor();
const itemDialog = (name) => async (page, t) => {
	await item(page);
	await press(page, name(t));
	await dialog(page);
};
const chain = (page) => page.locator('.chain svg').waitFor();

/** name: [where, what to wait for or to open there] */
export const places = {
	'inbox': ['/', (page) => page.locator('.row').first().waitFor()],
	'inbox-ready': ['/?view=approved', (page) => page.locator('.row').first().waitFor()],
	'inbox-none': ['/', async (page, t) => {
		await page.locator('.row').first().waitFor();
		await page.getByLabel(t.inbox.filter).fill('nothing like it');
		await page.locator('.empty').waitFor();
	}],
	'inbox-batch': ['/', async (page, t) => {
		await page.locator('.row').first().waitFor();
		await page.locator('.row input').first().check();
		await press(page, t.inbox.denySelected);
		await dialog(page);
	}],
	'menu': ['/', async (page) => {
		await page.locator('.row').first().waitFor();
		await page.locator('.menu summary').click();
		await page.locator('.menu-body').waitFor();
	}],
	'commands': ['/', async (page) => {
		await page.locator('.row').first().waitFor();
		await page.keyboard.press('Control+k');
		await page.getByRole('dialog').getByRole('option').first().waitFor();
	}],
	'keys': ['/', async (page) => {
		await page.locator('.row').first().waitFor();
		await page.keyboard.press('?');
		await dialog(page);
	}],
	'proposal-update': [proposal('update'), (page) => page.locator('#why-title').waitFor()],
	'proposal-destructive': [proposal('end'), (page) => page.locator('#why-title').waitFor()],
	'proposal-deceptive': [proposal('tricky'), (page) => page.locator('#why-title').waitFor()],
	'proposal-flag': [proposal('kill'), (page) => page.locator('tr.flips').first().waitFor()],
	'proposal-proof': [proposal('update'), async (page) => {
		await card(page);
		await page.locator('.proof summary').click();
		await page.locator('.proof .hash').first().waitFor();
	}],
	'proposal-applied': [proposal('applied'), card],
	'proposal-denied': [proposal('denied'), card],
	'proposal-unknown': [proposal('unknown'), card],
	'proposal-not-found': ['/proposals/none', (page) => page.getByRole('alert').waitFor()],
	'dialog-approve': [proposal('update'), opened('approve')],
	'dialog-always': [proposal('hers'), async (page, t) => {
		await card(page);
		await until(async () => { // whether it can be chosen is asked for after the card is there
			if ((await page.getByRole('dialog').count()) === 0) await press(page, t.act.approve);
			if ((await page.getByRole('dialog').getByRole('checkbox').count()) === 2) return true;
			await page.keyboard.press('Escape');
			return false;
		}, '"approve always"');
	}],
	'dialog-destructive': [proposal('end'), opened('approve')],
	'dialog-deny': [proposal('update'), opened('deny')],
	'dialog-take-back': [proposal('update'), opened('cancel')],
	'dialog-apply': [proposal('ready'), opened('apply')],
	'dialog-settle': [proposal('unknown'), opened('settle')],
	'overview': ['/overview', async (page) => {
		await page.locator('.uplot canvas').waitFor();
		await page.locator('.bars').first().waitFor();
	}],
	'agents': ['/agents', rows],
	'dialog-agent': ['/agents', inDialog((t) => t.agents.create)],
	'agent': [(x) => `/agents/${x.bot.id}`, async (page) => {
		await rows(page);
		await page.locator('.matrix-group').first().waitFor();
	}],
	'agent-matrix': [(x) => `/agents/${x.bot.id}`, async (page) => {
		await page.locator('.matrix-group button').last().click();
		await page.locator('.matrix-group li input').nth(2).check();
		await page.locator('.save.dirty').waitFor();
	}],
	'dialog-token': [(x) => `/agents/${x.bot.id}`, inDialog((t) => t.agents.mint)],
	'dialog-token-shown': [(x) => `/agents/${x.spare.id}`, async (page, t) => {
		await page.locator('.matrix-group').first().waitFor();
		await press(page, t.agents.mint);
		await page.getByRole('dialog').getByRole('textbox').fill('CI');
		await page.getByRole('dialog').getByRole('button', { name: t.agents.mint }).click();
		await page.locator('.secret').first().waitFor();
	}],
	'dialog-revoke': [(x) => `/agents/${x.bot.id}`, inDialog((t) => t.agents.revoke)],
	'dialog-shut-out': [(x) => `/agents/${x.bot.id}`, inDialog((t) => t.agents.shutOut)],
	'flags': ['/flags/shop', rows],
	'flags-configs': ['/flags/shop/configs', rows],
	'flags-segments': ['/flags/shop/segments', rows],
	'flags-none': ['/flags', (page) => page.locator('.empty').waitFor()],
	'dialog-flag': ['/flags/shop', inDialog((t) => t.flags.create.flags)],
	'dialog-segment': ['/flags/shop/segments', inDialog((t) => t.flags.create.segments)],
	'dialog-promote-all': ['/flags/shop', inDialog((t) => t.flags.promote)],
	'flags-item': ['/flags/shop/flags/checkout', item],
	'flags-history': ['/flags/shop/flags/checkout', async (page, t) => {
		await item(page);
		await press(page, t.flags.history.show);
		await page.locator('.timeline li').first().waitFor();
		await page.locator('.timeline').scrollIntoViewIfNeeded();
	}],
	'dialog-kill': ['/flags/shop/flags/checkout', itemDialog((t) => t.flags.kill)],
	'dialog-promote': ['/flags/shop/flags/checkout', itemDialog((t) => t.flags.promote)],
	'dialog-delete': ['/flags/shop/flags/checkout', itemDialog((t) => t.flags.delete)],
	'flags-editor': ['/flags/shop/flags/checkout/live', impact],
	'flags-editor-wrong': ['/flags/shop/flags/checkout/live', async (page, t) => {
		await impact(page);
		await page.getByLabel(t.flags.operator).first().selectOption('$matches');
		await page.getByLabel(t.flags.operand, { exact: true }).first().fill('(');
		await page.locator('.wrong').first().waitFor();
		await page.locator('.impact .notice').waitFor();
	}],
	'flags-editor-segment': ['/flags/shop/segments/staff/live', impact],
	'audit': ['/audit', rows],
	'audit-none': ['/audit?to=2020-01-01', (page) => page.locator('.empty').waitFor()],
	'audit-entry': [(x) => `/audit/${x.entry.id}`, async (page, t) => {
		await chain(page);
		await press(page, t.audit.verify.button);
		await page.locator('.checks li').nth(4).waitFor();
		await page.locator('.page').evaluate((box) => box.scrollTo(0, 0));
	}],
	'audit-not-found': ['/audit/none', (page) => page.getByRole('alert').waitFor()],
	'settings-policy': ['/settings', (page) => page.getByRole('spinbutton').first().waitFor()],
	'settings-explain': ['/settings', async (page, t) => {
		await usable(page.getByRole('button', { name: t.settings.ask }));
		await press(page, t.settings.ask);
		await page.locator('.panel .notice').waitFor();
		await page.locator('.panel .notice').scrollIntoViewIfNeeded();
	}],
	'settings-members': ['/settings/members', rows],
	'dialog-member': ['/settings/members', inDialog((t) => t.settings.invite)],
	'dialog-new-link': ['/settings/members', inDialog((t) => `${t.settings.newLink}:`)],
	'dialog-roles': ['/settings/members', inDialog((t) => `${t.settings.roles}:`)],
	'dialog-member-out': ['/settings/members', inDialog((t) => `${t.agents.shutOut}:`)],
	'settings-roles': ['/settings/roles', rows],
	'dialog-role': ['/settings/roles', inDialog((t) => t.settings.newRole)],
	'dialog-role-removed': ['/settings/roles', inDialog((t) => `${t.settings.remove}:`)],
	'settings-teams': ['/settings/teams', rows],
	'dialog-team': ['/settings/teams', inDialog((t) => t.settings.newTeam)],
	'settings-you': ['/settings/account', (page) => page.locator('#password-title').waitFor()],
	'start-1': ['/start', (page, t) => usable(page.getByRole('button', { name: t.start.begin }))],
	'start-2': ['/start', async (page, t) => {
		await usable(page.getByRole('button', { name: t.start.begin }));
		await press(page, t.start.begin);
		await page.locator('.secret').waitFor();
	}],
	'start-3': ['/start', async (page, t) => {
		await places['start-2'][1](page, t);
		await press(page, t.start.next);
		await page.locator('.say').waitFor();
	}],
	'start-4': ['/start', async (page, t) => {
		await places['start-3'][1](page, t);
		await press(page, t.start.send);
		await page.getByRole('link', { name: t.start.open }).waitFor();
	}],
};

/** A world in which all these places have something to show. */
export async function furnish(desk, ana) {
	const w = desk.world, x = { ana };
	const asAna = await desk.desk(ana);
	const as = (method, path, body) => asAna.evaluate(async ([how, where, what]) => {
		const me = await (await fetch('/api/v1/me')).json();
		return (await fetch(`/api/v1/${where}`, { method: how, headers: { 'content-type': 'application/json', 'x-csrf-token': me.csrfToken }, ...(what ? { body: JSON.stringify(what) } : {}) })).json();
	}, [method, path, body]);
	const shop = await Shop.open(await w.person(['admin']), 'shop'); // behind a gate one writes in a session
	await ok(w.admin.post(`/api/v1/projects/${shop.project.id}/environments`, { key: 'production', name: 'Europe' }));
	await shop.segment('staff', { rules: [{ if: { field: 'email', $endsWith: '@example.org' } }], allowList: ['user-7'] });
	await shop.flag('checkout', { description: 'The new checkout', defaultValue: true, rules: [{ if: { $and: [{ field: 'plan', $in: ['pro', 'team'] }, { field: 'app.version', $semverGte: '2.4.0' }] }, value: true, rolloutPercent: 25 }, { if: { $segment: 'staff' }, value: true, description: 'we eat our own food' }] });
	await shop.put('flags', 'checkout', { defaultValue: true, rules: [] });
	await shop.flag('theme', { type: 'string', defaultValue: 'plain' });
	await shop.config('upload-limit', { defaultValue: 10, description: 'MB' });

	const note = await w.note('Runbook', 'Restart the payment workers one at a time.\nWait for the queue to drain.\nThen page the on-call.');
	[x.entry] = await w.audit({ action: 'record.created' });
	await until(async () => (await w.admin.get(`/api/v1/orgs/default/audit/${x.entry.id}/proof`)).status === 200, 'a checkpoint');
	x.applied = (await ok(w.admin.get('/api/v1/proposals?status=applied'))).proposals[0];
	x.denied = await w.propose();
	await ok(w.admin.post(`/api/v1/proposals/${x.denied.proposalId}/deny`, { viewHash: x.denied.viewHash, reason: 'Not on a Friday.' }));
	x.ready = await w.propose({ input: { title: 'Ready', text: 'x' }, expiresInSeconds: 3600 });
	await w.approve(x.ready);
	const more = { expiresInSeconds: 3600 };
	x.kill = await ok(w.agent.post('/api/v1/proposals', { envId: shop.live.id, kind: 'kill_flag', resourceKey: 'checkout', diff: {}, spotCheck: [{ userId: 'u1', plan: 'pro' }, { userId: 'user-7' }], reason: 'Payments fail since 14:02', ...more }));
	x.update = await w.propose({ tool: 'note.update', input: { id: note.id, text: 'Restart all payment workers at once.\nWait for the queue to drain.\nThen tell the on-call.' }, intent: { summary: 'Shorten the outage', reasoning: 'One at a time takes 40 minutes.' }, ...more });
	x.end = await w.propose({ tool: 'note.delete', input: { id: note.id }, ...more });
	x.tricky = await w.propose({ input: { title: 'pay\u202Egnp.exe', text: 'x' }, ...more });

	x.bot = await ok(w.admin.post('/api/v1/agents', { name: 'Deploy bot' }));
	x.spare = await ok(w.admin.post('/api/v1/agents', { name: 'Spare bot' }));
	await ok(w.admin.post('/api/v1/tokens', { name: 'CI pipeline', principalId: x.bot.id }));
	await ok(w.admin.put(`/api/v1/agents/${x.bot.id}/tools`, { tools: [{ toolName: 'note.delete', permissionStatus: 'blocked' }, { toolName: 'note.create', permissionStatus: 'always_allow' }] }));
	await ok(w.admin.post('/api/v1/roles', { name: 'Releaser', level: 'proposer', rules: ['flag.flag.toggle'] }));
	await ok(w.admin.post('/api/v1/teams', { name: 'Treasury', members: [ana.id] }));

	const { id } = await as('POST', 'agents', { name: 'Ana\'s bot' });
	const { token } = await as('POST', 'tokens', { name: 'hers', principalId: id, ratePerMinute: 1000, level: 'operator' });
	const hers = w.server.as(token);
	x.hers = await ok(hers.post('/api/v1/proposals', { tool: 'note.create', input: { title: 'Again', text: 'x' }, ...more }));
	let up;
	up = await startUpstream({ tools: [tool('write_file', { run: () => (void up.stop(), new Promise(() => {})) })] }); // it hears the call, and says nothing
	const u = await as('POST', 'upstreams', { name: 'files', kind: 'http', url: up.url, networks: ['127.0.0.0/8'] });
	const { tools } = await as('POST', `upstreams/${u.id}/refresh`, {});
	await as('POST', `upstreams/${u.id}/tools/accept`, { tools: [{ name: tools[0].name, definitionHash: tools[0].definitionHash, effect: 'mutate' }] });
	({ proposal: x.unknown } = await ok(hers.post('/api/v1/tools/call', { tool: tools[0].name, input: { path: 'b' } })));
	await as('POST', `proposals/${x.unknown.proposalId}/approve`, { viewHash: x.unknown.viewHash, apply: true });
	await until(async () => (await ok(w.admin.get(`/api/v1/proposals/${x.unknown.proposalId}`))).state === 'unknown', 'an outcome that nobody knows');
	await asAna.context().close();
	return x;
}
