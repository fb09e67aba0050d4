/* SPDX-License-Identifier: Apache-2.0 */
/* The page behind the link of a first start: plain, as it works in a build without a console, too. */
#include "app/page.h"

/* clang-format off */
static const char html[] =
"<!doctype html>\n"
"<html lang=\"en\">\n"
"<head>\n"
"<meta charset=\"utf-8\">\n"
"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
"<meta name=\"color-scheme\" content=\"light dark\">\n"
"<title>Set up Countersign</title>\n"
"<link rel=\"stylesheet\" href=\"/assets/page.css\">\n"
"<script src=\"/assets/setup.js\" defer></script>\n"
"</head>\n"
"<body>\n"
"<main>\n"
"<h1>Set up Countersign</h1>\n"
"<noscript><p>This page needs JavaScript. <code>countersign init</code> in a terminal does the same.</p></noscript>\n"
"<form id=\"form\" hidden>\n"
"<p>You become the first admin. This works once.</p>\n"
"<p><label for=\"email\">Your e-mail address</label>\n"
"<input id=\"email\" type=\"email\" autocomplete=\"username\" required></p>\n"
"<p><label for=\"password\">A password, at least 12 characters</label>\n"
"<input id=\"password\" type=\"password\" autocomplete=\"new-password\" minlength=\"12\" required></p>\n"
"<p><label for=\"name\">Your organization's name (may stay empty)</label>\n"
"<input id=\"name\" type=\"text\" maxlength=\"200\"></p>\n"
"<p><button id=\"button\" type=\"submit\">Set up</button></p>\n"
"</form>\n"
"<p id=\"said\" role=\"status\"></p>\n"
"<dl id=\"result\" hidden>\n"
"<dt>You sign in as</dt><dd id=\"admin-email\"></dd>\n"
"<dt>Your token; it may vote for an hour</dt><dd><code id=\"admin-token\"></code></dd>\n"
"<dt>The first agent's token</dt><dd><code id=\"agent-token\"></code></dd>\n"
"<dt>Where you decide</dt><dd><a href=\"/\">The console</a></dd>\n"
"<dt>Next: connect the agent, its token in COUNTERSIGN_TOKEN (other clients: docs/connect.md)</dt><dd><code id=\"connect\"></code></dd>\n"
"</dl>\n"
"</main>\n"
"</body>\n"
"</html>\n";

/* The code stands behind '#': browsers send that to nobody. It leaves the address bar and the history at once. */
static const char script[] =
"'use strict';\n"
"(() => {\n"
"	const by = (id) => document.getElementById(id);\n"
"	const say = (text) => { by('said').textContent = text; };\n"
"	const token = location.hash.slice(1);\n"
"	history.replaceState(null, '', location.pathname);\n"
"	if (!token) {\n"
"		say('Open the link that the server printed when it was started.');\n"
"		return;\n"
"	}\n"
"	const show = (made) => {\n"
"		by('form').hidden = true;\n"
"		by('result').hidden = false;\n"
"		by('admin-email').textContent = made.adminEmail;\n"
"		by('admin-token').textContent = made.adminToken;\n"
"		by('agent-token').textContent = made.agentToken;\n"
"		by('connect').textContent = 'claude mcp add --transport http countersign ' + location.origin +\n"
"			'/mcp --header \"Authorization: Bearer $COUNTERSIGN_TOKEN\"';\n"
"		say('Countersign has been set up. The tokens are shown once; keep them somewhere safe.');\n"
"	};\n"
"	by('form').addEventListener('submit', async (event) => {\n"
"		event.preventDefault();\n"
"		by('button').disabled = true;\n"
"		say('Setting up\\u2026');\n"
"		try {\n"
"			const body = { token, email: by('email').value, password: by('password').value, name: by('name').value };\n"
"			const answer = await fetch('/api/v1/setup', {\n"
"				method: 'POST',\n"
"				headers: { 'Content-Type': 'application/json' },\n"
"				body: JSON.stringify(body),\n"
"			});\n"
"			const made = await answer.json();\n"
"			if (answer.status === 201) show(made);\n"
"			else say(made.message);\n"
"		} catch {\n"
"			say('The server cannot be reached.');\n"
"		}\n"
"		by('button').disabled = false;\n"
"	});\n"
"	by('form').hidden = false;\n"
"})();\n";
/* clang-format on */

const struct http_file setup_page = {
	.path = "", .content_type = "text/html; charset=utf-8", .body = { html, sizeof(html) - 1 }
};
const struct http_file setup_script = { .path = "setup.js",
	.content_type = "text/javascript; charset=utf-8",
	.body = { script, sizeof(script) - 1 } };
