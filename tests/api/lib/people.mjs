// SPDX-License-Identifier: Apache-2.0
// People of a test, as they come to a real server: an admin adds them, and they set their own password behind the one-time link.
//
//   const ann = await addPerson(server, admin, { name: 'Ann', email: 'ann@example.org', roles: ['operator'] });
//   const page = await signIn(server, ann);      // headers of their session
import assert from 'node:assert/strict';

export const PASSWORD = 'correct horse battery';

/** What stands behind # in a link. */
export const tokenOf = (link) => new URL(link, 'http://x').hash.slice(1);

/** Sets the password of the person of this link. Gives the answer. */
export const followLink = (server, link, password = PASSWORD) => server.post('/api/v1/link', { token: tokenOf(link), password });

/** A new member who can sign in; what POST /members answered, and the password. `admin` asks as somebody who may add them. */
export async function addPerson(server, admin, { password = PASSWORD, ...member }) {
	const made = await admin.post('/api/v1/members', member);
	assert.equal(made.status, 201, made.text);
	const set = await followLink(server, made.json.link, password);
	assert.equal(set.status, 200, set.text);
	return { ...made.json, password };
}

/** Headers of a new session. */
export async function signIn(server, { email, password = PASSWORD, org }) {
	const answer = await server.post('/api/v1/session', { email, password, ...(org ? { org } : {}) });
	assert.equal(answer.status, 200, answer.text);
	return { cookie: answer.headers.get('set-cookie').split(';')[0], 'x-csrf-token': answer.json.csrfToken, origin: server.url };
}

/** Asks with the headers of a session. */
export function asSession(server, headers) {
	const ask = (method) => (target, body) => server.request(method, target, { body: body ?? (method === 'POST' ? {} : undefined), headers });
	return { headers, get: ask('GET'), post: ask('POST'), put: ask('PUT'), patch: ask('PATCH'), delete: ask('DELETE') };
}

/** The first admin, signed in. */
export const adminSession = async (server) => asSession(server, await signIn(server, { email: server.first.adminEmail, password: server.first.adminPassword }));
