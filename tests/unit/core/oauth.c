/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of OAuth that are pure: where a code may go, what a scope is, PKCE, names. */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "core/oauth/client.h"
#include "core/oauth/document.h"
#include "core/oauth/pkce.h"
#include "core/oauth/redirect.h"
#include "core/oauth/scope.h"

/* --- where a code may go --- */

static void
a_redirect_uri_is_https_or_this_machine_or_an_applications_own(void **state)
{
	static const char *const good[] = { "https://app.example/cb", "https://app.example",
		"https://a.b:8443/x?y=1", "http://127.0.0.1/cb", "http://127.0.0.1:1/cb",
		"http://localhost:65535", "http://[::1]:80/cb", "https://[2001:db8::1]/cb",
		"com.example.app:/cb", "com.example:cb", "com.example.app://host/cb",
		"cursor://anysphere.cursor-mcp/oauth/callback", "vscode://x", "https://a_b.example/", NULL };
	static const char *const bad[] = { "", "x", ":", "https:", "https:/x", "https://", "https:///x",
		"http://app.example/", "http://127.0.0.2/", "http://127.0.0.1.example/", "http://LOCALHOST/",
		"HTTPS://app.example/", "https://u@app.example/", "https://u:p@app.example/",
		"https://a.example#x", "https://a.example/ x", "https://a.example/\\x",
		"https://a.example:0/", "https://a.example:65536/", "https://a.example:/",
		"https://a.example:8o/", "https://a.example:443:443/", "https://[::1/", "https://[]/",
		"https://[::1]x/", "https://a%2eexample/", "javascript:alert", "data:text", "myapp:/cb",
		"com.example.app:", "Com.example.app:/cb", "1com.example:/cb", "https://a.example/\"",
		"https://a.example/<", "https://\xc3\xa4.example/", NULL };
	char longest[LIMIT_OAUTH_URI + 2];

	(void)state;
	for (size_t i = 0; good[i]; i++)
		assert_true(redirect_valid(str_of(good[i])));
	for (size_t i = 0; bad[i]; i++)
		assert_false(redirect_valid(str_of(bad[i])));
	assert_false(redirect_valid((str){ "https://a.example/\0x", 20 }));
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "https://a.b/", 12);
	assert_true(redirect_valid((str){ longest, LIMIT_OAUTH_URI }));
	assert_false(redirect_valid((str){ longest, LIMIT_OAUTH_URI + 1 }));
}

static void
it_matches_byte_by_byte_but_for_the_port_of_this_machine(void **state)
{
	static const struct {
		const char *registered, *asked;
		bool match;
	} pairs[] = {
		{ "https://a.example/cb", "https://a.example/cb", true },
		{ "https://a.example/cb", "https://a.example:443/cb", false },
		{ "https://a.example/cb", "https://a.example/cb/", false },
		{ "https://a.example/cb", "https://a.example/cb?x", false },
		{ "https://a.example/cb", "https://A.example/cb", false },
		{ "http://localhost/cb", "http://localhost:99/cb", true },
		{ "http://localhost:1/cb", "http://localhost/cb", true },
		{ "http://localhost:1/cb", "http://localhost:99/cb?x=1", false },
		{ "http://localhost:1/cb", "http://127.0.0.1:1/cb", false },
		{ "http://127.0.0.1/cb", "http://127.0.0.1:99/cb", true },
		{ "http://127.0.0.1/cb", "http://127.0.0.1:0/cb", false },
		{ "http://127.0.0.1/cb", "http://127.0.0.1:99@evil.example/cb", false },
		{ "http://[::1]/cb", "http://[::1]:99/cb", true },
		{ "http://127.0.0.1/cb", "https://127.0.0.1/cb", false },
		{ "com.example.app://h:1/cb", "com.example.app://h:2/cb", false },
		{ "javascript:alert(1)", "javascript:alert(1)", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_int_equal(redirect_matches(str_of(pairs[i].registered), str_of(pairs[i].asked)),
			pairs[i].match);
}

static void
a_person_is_told_where_it_goes(void **state)
{
	static const struct {
		const char *uri, *where;
	} rows[] = {
		{ "https://app.example/cb", "app.example" },
		{ "https://app.example:8443/cb", "app.example:8443" },
		{ "http://localhost:12/cb", "localhost:12 (this computer)" },
		{ "http://[::1]:12/cb", "[::1]:12 (this computer)" },
		{ "com.example.app:/cb", "the application com.example.app" },
		{ "cursor://x/cb", "the application cursor" },
		{ "not one", "nowhere" },
	};
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_str(redirect_where(&u.arena, str_of(rows[i].uri)), rows[i].where);
}

/* --- scopes --- */

static void
a_scope_is_a_bundle_or_a_rule_and_never_approve(void **state)
{
	static const char *const bad[] = { "approve", "*", "read *", "flag.flag.approve", "admin",
		"flag.flag", "a.b.c.", "READ", "flag.flag.fly", NULL };
	struct rules r;
	UNIT(u);

	(void)state;
	for (size_t i = 0; bad[i]; i++)
		assert_status(scope_read(&u.cx, str_of(bad[i]), &r), E_INVALID);
	assert_status(scope_read(&u.cx, STR(""), &r), OK);
	assert_str(scope_text(&u.arena, &r), SCOPE_DEFAULT);
	assert_status(scope_read(&u.cx, STR("offline_access"), &r), OK);
	assert_str(scope_text(&u.arena, &r), SCOPE_DEFAULT);
	assert_status(scope_read(&u.cx, STR("  read   flag.flag.toggle read flag.flag.toggle "), &r), OK);
	assert_str(scope_text(&u.arena, &r), "read flag.flag.toggle");
	assert_status(scope_read(&u.cx, STR("propose"), &r), OK);
	assert_str(scope_text(&u.arena, &r), "read propose");
	assert_status(scope_read(&u.cx, STR("flag.flag.manage"), &r), OK);
	assert_str(scope_text(&u.arena, &r), "flag.flag.manage");
}

static void
scopes_are_bounded(void **state)
{
	struct buf b;
	struct rules r;
	UNIT(u);

	(void)state;
	buf_init(&b, &u.arena, LIMIT_HTTP_BODY);
	for (unsigned i = 0; i < LIMIT_OAUTH_SCOPES; i++)
		buf_printf(&b, " a.b%u.read", i);
	assert_status(scope_read(&u.cx, buf_str(&b), &r), OK);
	assert_int_equal(r.count, LIMIT_OAUTH_SCOPES);
	buf_add(&b, STR(" a.more.read"));
	assert_status(scope_read(&u.cx, buf_str(&b), &r), E_INVALID);
	buf_init(&b, &u.arena, LIMIT_HTTP_BODY);
	for (size_t i = 0; i <= LIMIT_OAUTH_SCOPE_TEXT / 5; i++)
		buf_add(&b, STR("read "));
	assert_status(scope_read(&u.cx, buf_str(&b), &r), E_INVALID);
}

static void
one_scope_holds_another(void **state)
{
	static const struct {
		const char *granted, *asked;
		bool holds;
	} rows[] = { { "read propose", "read", true }, { "read", "read propose", false },
		{ "read a.b.write", "a.b.write", true }, { "read", "a.b.write", false },
		{ "a.b.write", "read", false } };
	struct rules granted, asked;
	UNIT(u);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_status(scope_read(&u.cx, str_of(rows[i].granted), &granted), OK);
		assert_status(scope_read(&u.cx, str_of(rows[i].asked), &asked), OK);
		assert_int_equal(scope_holds(&granted, &asked), rows[i].holds);
	}
}

static void
nobody_gives_a_rule_they_do_not_hold(void **state)
{
	struct caller person = { .kind = PRINCIPAL_USER, .rules = { .level = LEVEL_PROPOSER } };
	struct rules r;
	UNIT(u);

	(void)state;
	assert_status(
		scope_read(&u.cx, STR("read flag.flag.write flag.flag.propose access.role.manage"), &r), OK);
	scope_keep(&u.arena, &person, &r);
	assert_str(scope_text(&u.arena, &r), "read flag.flag.propose");
}

static void
step_up_names_all_that_is_needed_where_the_person_holds_it(void **state)
{
	static const char *const writes[] = { "flag.flag.write", "flag.flag.read", NULL };
	static const char *const approves[] = { "flag.flag.approve", NULL };
	static const char *const manages[] = { "access.role.manage", NULL };
	static const str items[] = { { "note.note.propose", 17 } };
	struct caller c = { .kind = PRINCIPAL_AGENT,
		.audience = STR("https://cs.example/mcp"),
		.delegated = true,
		.rules = { .level = LEVEL_OBSERVER, .items = items, .count = 1 },
		.delegator = { .level = LEVEL_OPERATOR } };
	UNIT(u);

	(void)state;
	scope_step_up(&u.cx, &c, approves);
	scope_step_up(&u.cx, &c, manages);
	assert_int_equal(u.cx.step_up.len, 0);
	scope_step_up(&u.cx, &c, writes);
	assert_str(u.cx.step_up, "read note.note.propose flag.flag.write");
	u.cx.step_up = (str){ 0 };
	c.audience = (str){ 0 };
	scope_step_up(&u.cx, &c, writes);
	assert_int_equal(u.cx.step_up.len, 0);
}

static void
every_verb_has_words_for_a_person(void **state)
{
	(void)state;
	for (int v = 0; v < VERBS; v++)
		assert_true(strlen(scope_verb_words((enum verb)v)) > 0);
}

/* --- PKCE --- */

static void
pkce_is_as_the_standard_has_it(void **state)
{
	/* RFC 7636, appendix B */
	const str verifier = STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
	const str challenge = STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
	char longest[129];
	UNIT(u);

	(void)state;
	assert_true(pkce_challenge_valid(challenge));
	assert_false(pkce_challenge_valid((str){ challenge.ptr, challenge.len - 1 }));
	assert_false(pkce_challenge_valid(STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM")));
	assert_true(pkce_matches(&u.arena, verifier, challenge));
	assert_false(pkce_matches(&u.arena, challenge, challenge)); /* plain */
	assert_false(pkce_matches(&u.arena, (str){ verifier.ptr, verifier.len - 1 }, challenge));
	assert_false(pkce_matches(&u.arena, STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjX!"), challenge));
	memset(longest, 'x', sizeof(longest));
	assert_false(pkce_matches(&u.arena, (str){ longest, sizeof(longest) }, challenge));
	assert_false(pkce_matches(&u.arena, (str){ 0 }, challenge));
}

/* --- clients --- */

static void
a_name_is_one_line_that_hides_nothing(void **state)
{
	bool deceives;
	UNIT(u);

	(void)state;
	assert_str(client_name(&u.arena, STR("  Claude Code "), &deceives), "Claude Code");
	assert_false(deceives);
	assert_str(client_name(&u.arena, STR(" "), &deceives), "An application without a name");
	(void)client_name(&u.arena,
		STR("a\xe2\x80\xae"
		    "b"),
		&deceives);
	assert_true(deceives);
	/* 79 bytes, and a character of three that does not fit any more */
	assert_str(
		client_name(&u.arena,
			STR("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			    "\xe2\x82\xac tail"),
			&deceives),
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u2026");
}

static void
the_name_of_a_document_is_an_https_url_with_a_path(void **state)
{
	static const char *const bad[] = { "", "client-1", "https://a.example", "https://a.example/",
		"http://a.example/c", "https://a.example/c?x", "https://a.example/../c",
		"https://a.example/a/./c", "https://a.example/a/..", "https://u@a.example/c",
		"https://a.example/c#x", "https://a.example?x", NULL };

	(void)state;
	assert_true(document_is_id(STR("https://a.example/c")));
	assert_true(document_is_id(STR("https://a.example:8443/.well-known/client..json")));
	assert_str(document_host(STR("https://a.example:8443/c")), "a.example");
	for (size_t i = 0; bad[i]; i++)
		assert_false(document_is_id(str_of(bad[i])));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redirect_uri_is_https_or_this_machine_or_an_applications_own),
		cmocka_unit_test(it_matches_byte_by_byte_but_for_the_port_of_this_machine),
		cmocka_unit_test(a_person_is_told_where_it_goes),
		cmocka_unit_test(a_scope_is_a_bundle_or_a_rule_and_never_approve),
		cmocka_unit_test(scopes_are_bounded),
		cmocka_unit_test(one_scope_holds_another),
		cmocka_unit_test(nobody_gives_a_rule_they_do_not_hold),
		cmocka_unit_test(step_up_names_all_that_is_needed_where_the_person_holds_it),
		cmocka_unit_test(every_verb_has_words_for_a_person),
		cmocka_unit_test(pkce_is_as_the_standard_has_it),
		cmocka_unit_test(a_name_is_one_line_that_hides_nothing),
		cmocka_unit_test(the_name_of_a_document_is_an_https_url_with_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
