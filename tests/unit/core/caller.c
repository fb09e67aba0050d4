/* SPDX-License-Identifier: Apache-2.0 */
/* Who may what: scope, delegation and revocation, on both engines (ID-2 to ID-7, ID-9). */
#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "core/ident/caller.h"
#include "core/ident/org.h"
#include "core/ident/token.h"
#include "core/people/team.h"
#include "core/proposal/handler.h"

/* --- without a database --- */

#define RULES(...)                                                                                           \
	{                                                                                                    \
		.items = (const str[]){ __VA_ARGS__ },                                                       \
		.count = sizeof((const str[]){ __VA_ARGS__ }) / sizeof(str)                                  \
	}

static void
an_agent_has_what_both_it_and_its_person_have_and_never_approves(void **state) /* ID-4, ID-6 */
{
	struct caller c = { .kind = PRINCIPAL_AGENT,
		.delegated = true,
		.rules = { .level = LEVEL_MAINTAINER },
		.delegator = { .level = LEVEL_OPERATOR } };

	(void)state;
	assert_true(caller_may(&c, STR("note.note.write")));
	assert_false(caller_may(&c, STR("note.note.delete")));
	assert_false(caller_may(&c, STR("note.note.approve")));
	c.delegator.level = LEVEL_ADMIN;
	assert_true(caller_may(&c, STR("note.note.delete")));
	assert_false(caller_may(&c, STR("note.note.approve")));
	c.rules = c.delegator = (struct rules)RULES(STR("*"));
	assert_false(caller_may(&c, STR("note.note.approve")));
	c.kind = PRINCIPAL_SERVICE;
	assert_false(caller_may(&c, STR("note.note.approve")));
	c.kind = PRINCIPAL_USER;
	assert_true(caller_may(&c, STR("note.note.approve")));
	assert_false(caller_may(&c, STR("nonsense")));
	assert_false(caller_may(&c, STR("note.note.fly")));
}

static void
production_has_its_own_verbs_and_no_environment_counts_as_production(void **state) /* ID-7 */
{
	struct caller c = { .kind = PRINCIPAL_AGENT,
		.rules = { .level = LEVEL_OPERATOR },
		.scope = { .verbs = TOKEN_AGENT_VERBS, .production_verbs = TOKEN_AGENT_PRODUCTION_VERBS } };

	(void)state;
	assert_true(caller_may_in(&c, STR("flag.flag.write"), false));
	assert_true(caller_may_in(&c, STR("flag.flag.toggle"), false));
	assert_false(caller_may_in(&c, STR("flag.flag.create"), false));
	assert_false(caller_may_in(&c, STR("flag.flag.write"), true));
	assert_true(caller_may_in(&c, STR("flag.flag.propose"), true));
	assert_false(caller_may(&c, STR("flag.flag.write")));
	assert_true(caller_may(&c, STR("flag.flag.read")));
}

static void
scope_is_exact_keys_or_prefixes_and_named_environments(void **state) /* ID-5 */
{
	const str keys[] = { STR("payments.*"), STR("one") }, environments[] = { STR("e1") };
	struct caller c = { .scope = { .keys = keys,
				    .key_count = 2,
				    .environments = environments,
				    .environment_count = 1 } };

	(void)state;
	assert_true(caller_in_scope(&c, STR("e1"), STR("payments.eu.fast")));
	assert_true(caller_in_scope(&c, STR("e1"), STR("one")));
	assert_false(caller_in_scope(&c, STR("e2"), STR("one")));
	assert_false(caller_in_scope(&c, STR("e1"), STR("payments")));
	assert_false(caller_in_scope(&c, STR("e1"), STR("paymentsx")));
	assert_false(caller_in_scope(&c, STR("e1"), STR("one.more")));
	assert_true(caller_in_scope(&c, STR(""), STR("")));
	c.scope.all_keys = c.scope.all_environments = true;
	assert_true(caller_in_scope(&c, STR("e2"), STR("anything")));
}

static void
a_refusal_by_scope_says_what_it_is_and_names_only_what_was_sent(void **state) /* ID-5, TL-2 */
{
	UNIT(u);
	const str keys[] = { STR("docs.*") }, environments[] = { STR("e1") };
	struct tool t = { .name = "x.change" };
	struct caller c = { .scope = { .keys = keys,
				    .key_count = 1,
				    .environments = environments,
				    .environment_count = 1 } };
	struct handler_run run = { .tool = &t,
		.result = { .environment_id = STR("e1"), .resource_key = STR("docs.a") } };
	struct json *input;

	(void)state;
	assert_status(json_parse(&u.cx, STR("{\"n\":1,\"in\":\"e2\",\"id\":\"pay\"}"), &input), OK);
	assert_status(handler_in_scope(&u.cx, &c, &run), OK);
	run.result.resource_key = STR("pay");
	assert_status(handler_in_scope(&u.cx, &c, &run), E_SCOPE);
	assert_str(ctx_message(&u.cx, E_SCOPE),
		"Forbidden: x.change (the key of its resource is outside the token's scope)");
	run.call.input = input;
	assert_status(handler_in_scope(&u.cx, &c, &run), E_SCOPE);
	assert_str(ctx_message(&u.cx, E_SCOPE),
		"Forbidden: x.change (the key pay is outside the token's scope)");
	run.result.environment_id = STR("e2");
	assert_status(handler_in_scope(&u.cx, &c, &run), E_SCOPE);
	assert_str(ctx_message(&u.cx, E_SCOPE),
		"Forbidden: x.change (the environment e2 is outside the token's scope)");
	run.result.environment_id = STR("e3");
	assert_status(handler_in_scope(&u.cx, &c, &run), E_SCOPE);
	assert_str(ctx_message(&u.cx, E_SCOPE),
		"Forbidden: x.change (the environment of its resource is outside the token's scope)");
}

static void
nobody_gives_more_than_they_have(void **state) /* ID-6 */
{
	UNIT(u);
	struct caller c = { .kind = PRINCIPAL_USER, .rules = { .level = LEVEL_OPERATOR } };
	const struct rules operator_ = { .level = LEVEL_OPERATOR },
			   maintainer = { .level = LEVEL_MAINTAINER }, one = RULES(STR("note.note.write")),
			   more = RULES(STR("note.note.write"), STR("note.note.manage")),
			   all = RULES(STR("*"));

	(void)state;
	assert_status(caller_may_give(&u.cx, &c, &operator_), OK);
	assert_status(caller_may_give(&u.cx, &c, &one), OK);
	assert_status(caller_may_give(&u.cx, &c, &maintainer), E_FORBIDDEN);
	assert_status(caller_may_give(&u.cx, &c, &more), E_FORBIDDEN);
	assert_non_null(strstr(u.cx.error.message.ptr, "note.note.manage"));
	assert_status(caller_may_give(&u.cx, &c, &all), E_FORBIDDEN);
	c.scope.verbs = 1u << VERB_READ; /* a token that only reads gives nothing that writes */
	assert_status(caller_may_give(&u.cx, &c, &operator_), E_FORBIDDEN);
	assert_status(caller_may_give(&u.cx, &c, &one), E_FORBIDDEN);
	c = (struct caller){ .kind = PRINCIPAL_USER, .rules = { .level = LEVEL_ADMIN } };
	assert_status(caller_may_give(&u.cx, &c, &all), OK);
	c.scope.production_verbs = level_verbs(LEVEL_OPERATOR);
	assert_status(caller_may_give(&u.cx, &c, &all), E_FORBIDDEN);
	c.scope.production_verbs = 0;
	c.delegated = true; /* and the person behind the token has nothing any more */
	assert_status(caller_may_give(&u.cx, &c, &operator_), E_FORBIDDEN);
}

static void
what_is_missing_is_named(void **state) /* ID-9 */
{
	UNIT(u);
	struct caller c = { .kind = PRINCIPAL_USER, .rules = { .level = LEVEL_OBSERVER } };

	(void)state;
	assert_status(caller_require(&u.cx, &c, "note.update",
			      (const char *const[]){
				      "note.note.read", "note.note.write", "note.note.create", NULL }),
		E_FORBIDDEN);
	assert_str(u.cx.error.message,
		"Forbidden: note.update (missing permission: note.note.write, note.note.create)");
	assert_status(caller_require(&u.cx, &c, "x", (const char *const[]){ NULL }), OK);
}

/* --- with one --- */

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx;
	struct org_first first;
};

static void
world_make(struct world *w, bool postgres)
{
	struct db_options options;
	int applied;

	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
	w->cx.keys = unit_keys();
	database_make(&w->database, postgres);
	options = database_options(&w->database);
	assert_status(db_open(&w->cx, &options, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), OK);
	assert_status(org_bootstrap(&w->cx, STR("Ada@Example.org"), &w->first), OK);
}

static void
world_drop(struct world *w)
{
	db_close(w->cx.db);
	database_drop(&w->database);
	arena_done(&w->arena);
}

struct identify {
	struct credential credential;
	struct caller caller;
};

static status
identify_tx(struct ctx *cx, void *arg)
{
	struct identify *i = arg;

	return caller_enter(cx, &i->credential, CALLER_UNLOCKED, &i->caller);
}

static status
identify(struct world *w, str bearer, struct caller *out)
{
	struct identify i = { .credential = {
				      .bearer = bearer, .peer = STR("192.0.2.1"), .transport = "rest" } };
	status s = db_read(&w->cx, identify_tx, &i);

	if (s == OK && out)
		*out = i.caller;
	return s;
}

struct mint {
	str org_id;
	struct token_new token;
	struct token_minted minted;
	int64_t count;
};

static status
mint_tx(struct ctx *cx, void *arg)
{
	struct mint *m = arg;

	return token_mint(cx, m->org_id, PRINCIPAL_USER, &m->token, &m->minted);
}

static struct token_minted
mint(struct world *w, str parent_id, const str *cidrs, size_t cidr_count)
{
	struct mint m = { .org_id = w->first.org_id,
		.token = { .name = STR("one"),
			.principal_id = w->first.admin_id,
			.parent_id = parent_id,
			.level = LEVEL_ADMIN,
			.all_environments = true,
			.all_keys = true,
			.cidrs = cidrs,
			.cidr_count = cidr_count } };

	assert_status(tx_run(&w->cx, mint_tx, &m), OK);
	return m.minted;
}

struct revoke {
	str org_id, id;
	int64_t count;
};

static status
revoke_tx(struct ctx *cx, void *arg)
{
	struct revoke *r = arg;

	return token_revoke(cx, r->org_id, r->id, &r->count);
}

static status
revoke_person_tx(struct ctx *cx, void *arg)
{
	struct revoke *r = arg;

	return token_revoke_person(cx, r->org_id, r->id);
}

static void
check_bootstrap_is_once(struct world *w)
{
	struct org_first again = { .org_id = STR("untouched") };
	bool exists = false;

	assert_str(w->first.admin_email, "ada@example.org");
	assert_status(org_exists(&w->cx, &exists), OK);
	assert_true(exists);
	assert_status(org_bootstrap(&w->cx, STR("eve@example.org"), &again), E_EXISTS);
	assert_str(again.org_id, "untouched");
	assert_status(org_bootstrap(&w->cx, STR("nonsense"), &again), E_INVALID);
}

static void
check_identify(struct world *w)
{
	struct caller c;

	assert_status(identify(w, w->first.admin_token, &c), OK);
	assert_int_equal(c.kind, PRINCIPAL_USER);
	assert_true(c.may_vote && c.via_token);
	assert_true(caller_may(&c, STR("access.role.manage")));
	assert_status(identify(w, w->first.agent_token, &c), OK);
	assert_int_equal(c.kind, PRINCIPAL_AGENT);
	assert_true(str_eq(c.delegator_id, w->first.admin_id));
	assert_false(c.may_vote);
	assert_true(caller_may(&c, STR("note.note.propose")));
	assert_false(caller_may(&c, STR("note.note.write")));
	assert_status(identify(w, STR("cs_pat_"), NULL), E_UNAUTHENTICATED);
	assert_status(identify(w, STR(""), NULL), E_UNAUTHENTICATED);
	assert_status(caller_enter(&w->cx, NULL, CALLER_UNLOCKED, &c), E_UNAUTHENTICATED);
}

static void
check_addresses(struct world *w)
{
	const str here[] = { STR("198.51.100.0/24"), STR("192.0.2.0/24") }, there[] = { STR("10.0.0.0/8") };

	assert_status(identify(w, mint(w, (str){ 0 }, here, 2).secret, NULL), OK);
	assert_status(identify(w, mint(w, (str){ 0 }, there, 1).secret, NULL), E_UNAUTHENTICATED);
}

static void
check_cascade(struct world *w)
{
	struct token_minted parent = mint(w, (str){ 0 }, NULL, 0), child = mint(w, parent.token_id, NULL, 0),
			    grandchild = mint(w, child.token_id, NULL, 0),
			    other = mint(w, (str){ 0 }, NULL, 0);
	struct revoke r = { .org_id = w->first.org_id, .id = parent.token_id },
		      wrong = { .org_id = STR("other"), .id = other.token_id };

	assert_status(tx_run(&w->cx, revoke_tx, &wrong), E_NOT_FOUND); /* another tenant's */
	assert_status(tx_run(&w->cx, revoke_tx, &r), OK);
	assert_int_equal(r.count, 3);
	assert_status(identify(w, parent.secret, NULL), E_UNAUTHENTICATED);
	assert_status(identify(w, child.secret, NULL), E_UNAUTHENTICATED);
	assert_status(identify(w, grandchild.secret, NULL), E_UNAUTHENTICATED);
	assert_status(identify(w, other.secret, NULL), OK);
	assert_status(tx_run(&w->cx, revoke_tx, &r), E_NOT_FOUND);
}

struct may {
	struct caller *caller;
	const char *rule, *id;
	bool may;
};

static status
may_tx(struct ctx *cx, void *arg)
{
	struct may *m = arg;

	return team_may(cx, m->caller, str_of(m->rule), STR("note"), str_of(m->id), &m->may);
}

static void
check_teams(struct world *w)
{
	struct caller c;
	struct may m = { .caller = &c, .rule = "note.note.read", .id = "n1" };

	assert_status(identify(w, w->first.agent_token, &c), OK);
	assert_status(db_read(&w->cx, may_tx, &m), OK);
	assert_true(m.may);
	m.rule = "note.note.write"; /* not by rule, and there is no team */
	assert_status(db_read(&w->cx, may_tx, &m), OK);
	assert_false(m.may);
	m.rule = "nonsense";
	assert_status(db_read(&w->cx, may_tx, &m), E_INTERNAL);
}

static void
check_person(struct world *w)
{
	struct token_minted one = mint(w, (str){ 0 }, NULL, 0);
	struct revoke r = { .org_id = w->first.org_id, .id = w->first.admin_id };

	assert_status(tx_run(&w->cx, revoke_person_tx, &r), OK);
	assert_status(identify(w, one.secret, NULL), E_UNAUTHENTICATED);
	assert_status(identify(w, w->first.admin_token, NULL), E_UNAUTHENTICATED);
	assert_status(identify(w, w->first.agent_token, NULL), E_UNAUTHENTICATED); /* what they delegated */
}

static void
run(bool postgres)
{
	struct world w;

	world_make(&w, postgres);
	check_bootstrap_is_once(&w);
	check_identify(&w);
	check_addresses(&w);
	check_cascade(&w);
	check_teams(&w);
	check_person(&w);
	world_drop(&w);
}

static void
credentials_are_what_the_database_says_now_on_sqlite(void **state)
{
	(void)state;
	run(false);
}

static void
credentials_are_what_the_database_says_now_on_postgres(void **state)
{
	(void)state;
	if (!database_server()) {
		print_message("skipped: COUNTERSIGN_TEST_POSTGRES is not set\n");
		skip();
	}
	run(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_has_what_both_it_and_its_person_have_and_never_approves),
		cmocka_unit_test(production_has_its_own_verbs_and_no_environment_counts_as_production),
		cmocka_unit_test(scope_is_exact_keys_or_prefixes_and_named_environments),
		cmocka_unit_test(a_refusal_by_scope_says_what_it_is_and_names_only_what_was_sent),
		cmocka_unit_test(nobody_gives_more_than_they_have),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(credentials_are_what_the_database_says_now_on_sqlite),
		cmocka_unit_test(credentials_are_what_the_database_says_now_on_postgres),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
