/* SPDX-License-Identifier: Apache-2.0 */
/* What is done by somebody else: claimed, sent once, and honest about what is known (EX-4, EX-5), on both engines. */
#include "tests/unit/database.h"
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "core/audit/audit.h"
#include "core/event.h"
#include "core/gate/gate.h"
#include "core/ident/org.h"
#include "core/ident/secret.h"
#include "core/ident/session.h"
#include "core/keys.h"
#include "core/outside/lane.h"
#include "core/proposal/kept/retention.h"
#include "core/proposal/run/attempt.h"
#include "core/proposal/sweeper.h"
#include "json/bind.h"

/* --- somebody else --- */

struct world;

struct other {
	struct outside_answer says;
	status fails; /* before anything was sent */
	int asked;
	struct outside_call last;
	void (*meanwhile)(struct world *w);
	str digest; /* what a preview would show now; empty: it cannot be looked at */
};
static struct other other; /* set anew by each test */

/* --- its tools --- */

#define WORD(literal)                                                                                        \
	{                                                                                                    \
		.ptr = (literal), .len = sizeof(literal) - 1                                                 \
	} /* STR is no constant */
#define INPUT                                                                                                \
	"{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"n\":{\"type\":\"number\"}},"  \
	"\"required\":[\"path\"],\"additionalProperties\":false}"

static const char *const write_rules[] = { "mcp.tool.write", NULL }, *const read_rules[] = { "mcp.tool.read",
	NULL };

static const struct tool_outside there = { .source_id = WORD("up-1"),
	.source = WORD("files"),
	.remote = WORD("write"),
	.deadline_ms = 1000,
	.options = WORD("{\"affects\":\"one file\",\"probe\":\"mcp__files__look\"}") },
				 late = { .source_id = WORD("up-1"),
					 .source = WORD("files"),
					 .remote = WORD("late"),
					 .deadline_ms = -9000 }, /* it is over when it is claimed */
	look = { .source_id = WORD("up-1"),
		.source = WORD("files"),
		.remote = WORD("look"),
		.deadline_ms = 1000 };

static status
survey(struct ctx *cx, const struct tool_call *call, const struct json **out)
{
	struct json *o = json_new_object(cx->arena);

	(void)call;
	json_add_member(o, STR("digest"), json_new_string(cx->arena, STR("d1")));
	*out = o;
	return OK;
}

static status
recheck(struct ctx *cx, const struct tool_call *call, str *out)
{
	assert_non_null(json_get(call->input, STR("path")));
	if (!other.digest.len)
		return fail(cx, E_UNAVAILABLE, "it is away");
	*out = other.digest;
	return OK;
}

static status
where(struct ctx *cx, void *arg, str org_id, const struct tool *t, struct outside_source *out)
{
	(void)cx;
	(void)arg;
	(void)org_id;
	(void)t;
	*out = (struct outside_source){ .address = STR("https://files.example/mcp") };
	return OK;
}

#define OUTSIDE(name_, version_, effect_, rules_, where, ...)                                                \
	{                                                                                                    \
		.name = (name_), .version = (version_), .title = "Write a file", .doc = "It does.",          \
		.effect = (effect_), .in_schema = INPUT, .out_schema = "true", .rules = (rules_),            \
		.propose_rule = "mcp.tool.propose",                                                          \
		.category = (effect_) == OP_READ ? TOOL_CATEGORY_A : TOOL_CATEGORY_C,                        \
		.domain = "operations", .target = "the file server",                                         \
		.failure = "The file may be half written.", .contract = TOOL_PROBE, .provider = TOOL_MCP,    \
		.outside = (where), __VA_ARGS__                                                              \
	}

static const struct tool tools[] = {
	OUTSIDE("mcp__files__write", 1, OP_MUTATE, write_rules, &there, .rollback = true),
	OUTSIDE("mcp__files__late", 1, OP_MUTATE, write_rules, &late, .rollback = false),
	OUTSIDE("mcp__files__seen", 1, OP_MUTATE, write_rules, &there, .survey = survey, .recheck = recheck),
	OUTSIDE("mcp__files__look", 1, OP_READ, read_rules, &look, .rollback = false),
	{ 0 },
};
/* The same after an admin has looked at it again: another version, and it takes something else. */
static const struct tool newer[] = {
	OUTSIDE("mcp__files__write", 2, OP_MUTATE, write_rules, &there, .rollback = true),
	{ 0 },
};

/* --- a server --- */

struct world {
	struct database database;
	struct arena arena;
	struct ctx cx; /* what every request begins with */
	struct keys keys;
	struct registry *tools;
	struct outside outside;
	struct org_first first;
	struct credential agent, admin, session;
	str said; /* what the last request was told */
};

static status
answer(struct ctx *cx, void *arg, const struct outside_call *call, struct outside_answer *out)
{
	struct world *w = arg;

	assert_null(cx->tx);
	other.asked++;
	other.last = *call;
	if (other.fails != OK)
		return fail(cx, other.fails, "no room");
	if (other.meanwhile)
		other.meanwhile(w);
	*out = other.says;
	return OK;
}

static bool on_postgres;

static struct registry *
registry(struct world *w, const struct tool *table)
{
	struct registry *r;

	assert_status(registry_new(&w->cx, (const struct tool *const[]){ table, NULL }, &r), OK);
	return r;
}

static const struct op *
op_named(const char *name)
{
	const struct op *const tables[] = { proposal_ops, call_ops, settle_ops, gate_ops };

	for (size_t i = 0; i < 4; i++)
		OP_EACH (op, tables[i])
			if (strcmp(op->name, name) == 0)
				return op;
	return NULL;
}

/* As a face does it. *out (may be NULL) is the answer where it is OK. */
static status
ask(struct world *w, const struct credential *who, const char *name, const char *body, struct json **out)
{
	const struct op *op = op_named(name);
	struct ctx cx = w->cx;
	struct json_out o;
	struct json *doc;
	struct buf b;
	void *in;
	status s;

	CHECK(op != NULL);
	in = arena_alloc(&w->arena, op->in_size);
	memset(in, 0, op->in_size);
	cx.credential = who;
	assert_status(json_parse(&cx, str_of(body), &doc), OK);
	if (op->whole_body)
		*(struct json **)in = doc;
	else
		TRY(json_bind(&cx, doc, op->in, op->in_size, in));
	buf_init(&b, &w->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	s = op_run(&cx, op, in, &o);
	w->said = s == OK ? (str){ 0 } : arena_str(&w->arena, ctx_message(&cx, s));
	if (s != OK || !out)
		return s;
	json_out_end(&o);
	assert_status(json_parse(&cx, buf_str(&b), out), OK);
	return OK;
}

static struct json *
asked(struct world *w, const struct credential *who, const char *name, const char *body)
{
	struct json *out = NULL;
	status s = ask(w, who, name, body, &out);

	if (s != OK)
		print_message("%s: %s: %.*s\n", name, status_info(s)->name, STR_ARG(w->said));
	assert_int_equal(s, OK);
	return out;
}

static const char *
text(struct world *w, const struct json *o, const char *key)
{
	const struct json *value = json_get(o, str_of(key));

	return value && value->type == JSON_STRING ? arena_cstr(&w->arena, value->text) : "";
}

struct signing {
	struct session_person person;
	struct session_start start;
};

static status
sign_in(struct ctx *cx, void *arg)
{
	struct signing *s = arg;

	return session_begin(cx, &s->person, &s->start);
}

static struct credential
session_of(struct world *w)
{
	struct signing s = { .person = { .org_id = w->first.org_id,
				     .slug = STR("default"),
				     .principal_id = w->first.admin_id,
				     .name = STR("Ada") },
		.start = { .secret = secret_new(&w->arena, SECRET_KIND_SESSION) } };
	struct ctx cx = w->cx;
	struct credential none = { .transport = "rest" };

	cx.credential = &none;
	assert_status(tx_run(&cx, sign_in, &s), OK);
	return (struct credential){ .session = s.start.secret,
		.csrf = session_csrf(&w->arena, s.start.secret),
		.transport = "rest",
		.same_origin = true };
}

static int
make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct db_options options;
	int applied;

	CHECK(w != NULL);
	other = (struct other){ .says = {
					.end = OUTSIDE_DONE, .result = STR("{\"ok\":true}"), .sent = 120 } };
	arena_init(&w->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&w->cx, &w->arena);
	memset(w->keys.mac, 7, sizeof(w->keys.mac));
	memset(w->keys.seal, 9, sizeof(w->keys.seal));
	w->cx.keys = &w->keys;
	w->cx.events = event_hub_new(4);
	w->cx.lanes = lanes_new();
	w->outside.providers[TOOL_MCP] =
		(struct outside_provider){ .call = answer, .arg = w, .source = where };
	w->cx.outside = &w->outside;
	w->cx.request_id = STR("r-1");
	database_make(&w->database, on_postgres);
	options = database_options(&w->database);
	options.connections = 4;
	assert_status(db_open(&w->cx, &options, &w->cx.db), OK);
	assert_status(db_migrate(&w->cx, &applied), OK);
	assert_status(db_prepare(&w->cx), OK);
	assert_status(org_bootstrap(&w->cx, STR("ada@example.org"), &w->first), OK);
	w->tools = registry(w, tools);
	w->cx.tools = w->tools;
	w->agent = (struct credential){ .bearer = w->first.agent_token, .transport = "rest" };
	w->admin = (struct credential){ .bearer = w->first.admin_token, .transport = "rest" };
	w->session = session_of(w);
	*state = w;
	return 0;
}

static int
drop_world(void **state)
{
	struct world *w = *state;

	clock_release();
	registry_free(w->tools);
	lanes_free(w->cx.lanes);
	event_hub_free(w->cx.events);
	db_close(w->cx.db);
	database_drop(&w->database);
	arena_done(&w->arena);
	free(w);
	return 0;
}

/* --- short words --- */

static const char *
with_id(struct world *w, const char *id, const char *more)
{
	return arena_printf(&w->arena, "{\"id\":\"%s\"%s}", id, more).ptr;
}

/* Proposed by the agent, agreed to by Ada, who is signed in. */
static const char *
approved(struct world *w, const char *tool)
{
	struct json *p = asked(w, &w->agent, "proposal_create",
		arena_printf(&w->arena, "{\"tool\":\"%s\",\"input\":{\"path\":\"/a\",\"n\":1}}", tool).ptr);
	const char *id = text(w, p, "proposalId");

	assert_string_equal(text(w, p, "state"), "pending");
	p = asked(w, &w->session, "proposal_approve",
		with_id(w, id, arena_printf(&w->arena, ",\"viewHash\":\"%s\"", text(w, p, "viewHash")).ptr));
	assert_string_equal(text(w, p, "state"), "approved");
	return id;
}

static struct json *
apply(struct world *w, const char *id)
{
	return asked(w, &w->session, "proposal_apply", with_id(w, id, ""));
}

static const struct json *
attempt_in(const struct json *p)
{
	return json_get(p, STR("attempt"));
}

static struct json *
get(struct world *w, const char *id)
{
	return asked(w, &w->session, "proposal_get", with_id(w, id, ""));
}

static int64_t
sweep(struct world *w)
{
	struct ctx cx = w->cx;
	int64_t tidied;

	assert_status(sweeper_round(&cx, &tidied), OK);
	return tidied;
}

/* How many rows a query counts, past us. */
static int64_t
count(struct world *w, const char *sql)
{
	return database_number(&w->database, sql);
}

static int64_t
entries(struct world *w, const char *action)
{
	return count(w,
		arena_printf(&w->arena, "SELECT count(*) FROM audit_entry WHERE action = '%s'", action).ptr);
}

/* --- one send, and what is known of it --- */

static void
what_is_approved_is_claimed_sent_once_and_its_answer_is_kept_verbatim(void **state) /* EX-1, EX-4, PA-3 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__write");
	struct json *p;

	other.says.result = STR("{\"b\" : 1.50, \"a\":2}");
	other.says.http_status = 200;
	p = apply(w, id);
	assert_string_equal(text(w, p, "state"), "applied");
	assert_int_equal(other.asked, 1);
	assert_str(other.last.input, "{\"n\":1,\"path\":\"/a\"}");
	assert_str(other.last.key, id);
	assert_str(other.last.proposal_id, id);
	assert_str(other.last.correlation_id, "r-1");
	assert_non_null(strstr(
		arena_cstr(&w->arena, other.last.approvals), arena_cstr(&w->arena, w->first.admin_id)));
	assert_true(other.last.send_by_us > clock_mono_us());
	assert_str(other.last.command_id, text(w, attempt_in(p), "attemptId"));
	assert_string_equal(text(w, attempt_in(p), "outcome"), "done");
	assert_int_equal(
		count(w, "SELECT count(*) FROM proposal WHERE result = '{\"b\" : 1.50, \"a\":2}'"), 1);
	assert_int_equal(entries(w, "proposal.executing"), 1);
	assert_int_equal(entries(w, "tool.executed"), 1);
	assert_int_equal(entries(w, "proposal.applied"), 1);
	assert_status(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), E_GONE);
	assert_int_equal(other.asked, 1);
}

static void
ends_as(struct world *w, struct outside_answer says, const char *state, const char *outcome)
{
	struct json *p;
	const char *id = approved(w, "mcp__files__write");

	other.says = says;
	p = apply(w, id);
	assert_string_equal(text(w, p, "state"), state);
	assert_string_equal(text(w, attempt_in(p), "outcome"), outcome);
	assert_string_equal(text(w, get(w, id), "state"), state);
	assert_int_equal(sweep(w), 0);
}

static void
not_sent_and_refused_are_failed_and_lost_is_unknown(void **state) /* EX-4, EX-5, PA-13 */
{
	struct world *w = *state;

	ends_as(w, (struct outside_answer){ .end = OUTSIDE_NOT_SENT, .why = STR("nobody listens there") },
		"failed", "not_sent");
	ends_as(w,
		(struct outside_answer){
			.end = OUTSIDE_REFUSED, .why = STR("no"), .http_status = 404, .sent = 9 },
		"failed", "refused");
	ends_as(w, (struct outside_answer){ .end = OUTSIDE_LOST, .why = STR("it hung up"), .sent = 9 },
		"unknown", "lost");
	other.fails = E_TOO_LARGE;
	ends_as(w, other.says, "failed", "not_sent");
	assert_int_equal(entries(w, "proposal.executing"), 4);
	assert_int_equal(entries(w, "proposal.failed"), 3);
	assert_int_equal(entries(w, "proposal.unknown"), 1);
	assert_int_equal(entries(w, "tool.executed"), 0);
	assert_int_equal(count(w, "SELECT count(*) FROM proposal WHERE error = 'nobody listens there'"), 1);
}

static void
apply_meanwhile(struct world *w)
{
	struct json *p = asked(w, &w->session, "proposal_list", "{\"status\":\"executing\"}");
	const char *id = text(w, json_get(p, STR("proposals"))->child, "proposalId");

	other.meanwhile = NULL;
	assert_status(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), E_GONE);
	assert_str(w->said, "the proposal is executing");
	assert_status(ask(w, &w->session, "proposal_cancel", with_id(w, id, ""), NULL), E_GONE);
	assert_status(ask(w, &w->session, "proposal_settle",
			      with_id(w, id, ",\"outcome\":\"failed\",\"reason\":\"x\""), NULL),
		E_CONFLICT);
}

static void
who_applies_what_is_executing_hears_so_and_nothing_is_sent_twice(void **state) /* PA-5, EX-4 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__write");

	other.meanwhile = apply_meanwhile;
	assert_string_equal(text(w, apply(w, id), "state"), "applied");
	assert_int_equal(other.asked, 1);
}

static void
what_is_no_json_is_kept_as_text(void **state) /* EX-2 */
{
	struct world *w = *state;
	static const char *const said[] = { "<html>", "\"\xff\"", "{\"a\":1,\"a\":2}", "[1,2" };

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		other.says.result = str_of(said[i]);
		other.says.why = STR("\xff");
		assert_string_equal(text(w, apply(w, approved(w, "mcp__files__write")), "state"), "applied");
	}
	other.says = (struct outside_answer){ .end = OUTSIDE_DONE };
	assert_string_equal(text(w, apply(w, approved(w, "mcp__files__write")), "state"), "applied");
}

/* --- too late --- */

static bool
starve(void *arg)
{
	(void)arg;
	clock_freeze(clock_mono_us() + LIMIT_SEND_LEASE_US + 1);
	return true;
}

static void
wake(void *arg)
{
	(void)arg;
	clock_release();
}

static void
nothing_is_sent_after_the_lease_of_its_claim(void **state) /* EX-4 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__write");
	struct ctx_place place = { .lend = starve, .back = wake };

	w->cx.place = &place;
	assert_string_equal(text(w, apply(w, id), "state"), "failed");
	w->cx.place = NULL;
	assert_int_equal(other.asked, 0);
	assert_string_equal(text(w, attempt_in(get(w, id)), "outcome"), "not_sent");
}

static void
sweep_meanwhile(struct world *w)
{
	other.meanwhile = NULL;
	assert_int_equal(sweep(w), 1);
	assert_int_equal(sweep(w), 0); /* once */
}

static void
what_had_no_outcome_in_time_is_unknown_and_a_late_answer_is_only_evidence(void **state) /* EX-4 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__late");
	struct json *p;

	other.meanwhile = sweep_meanwhile;
	p = apply(w, id);
	assert_string_equal(text(w, p, "state"), "unknown");
	assert_string_equal(text(w, attempt_in(p), "outcome"), "lost");
	p = json_get(attempt_in(p), STR("evidence"))->child;
	assert_string_equal(text(w, p, "from"), "late answer");
	assert_string_equal(text(w, p, "outcome"), "done");
	assert_int_equal(entries(w, "proposal.unknown"), 1);
	assert_int_equal(entries(w, "proposal.applied"), 0);
}

/* --- callbacks --- */

struct calling {
	struct world *w;
	str attempt_id;
	int64_t fence;
	struct outside_answer says;
	struct proposal p;
};

static status
call_back(struct ctx *cx, void *arg)
{
	struct calling *c = arg;

	return attempt_finish(cx, c->w->first.org_id, c->attempt_id, c->fence, &c->says, &c->p);
}

static void
what_waits_is_executing_until_a_callback_of_its_fence_says_what_became_of_it(void **state) /* EX-2, EX-4 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__write");
	struct ctx cx = w->cx;
	struct calling c = { .w = w, .fence = 2, .says = { .end = OUTSIDE_DONE, .result = STR("7") } };
	struct json *p;

	other.says = (struct outside_answer){ .end = OUTSIDE_WAITING, .http_status = 202, .sent = 50 };
	p = apply(w, id);
	assert_string_equal(text(w, p, "state"), "executing");
	c.attempt_id = str_of(text(w, attempt_in(p), "attemptId"));
	assert_status(tx_run(&cx, call_back, &c), OK); /* another fence: kept, and nothing else */
	assert_string_equal(text(w, get(w, id), "state"), "executing");
	c.fence = 1;
	assert_status(tx_run(&cx, call_back, &c), OK);
	assert_int_equal(c.p.state, PROPOSAL_APPLIED);
	assert_status(tx_run(&cx, call_back, &c), OK); /* once more: nothing new */
	c.says.end = OUTSIDE_REFUSED;
	assert_status(tx_run(&cx, call_back, &c), OK);
	p = get(w, id);
	assert_string_equal(text(w, p, "state"), "applied");
	assert_int_equal(json_get(attempt_in(p), STR("evidence"))->count, 2);
	assert_int_equal(entries(w, "proposal.applied"), 1);
	c.attempt_id = STR("nobody's");
	assert_status(tx_run(&cx, call_back, &c), E_NOT_FOUND);
}

/* --- settle and probe --- */

static const char *
unknown(struct world *w)
{
	const char *id = approved(w, "mcp__files__write");

	other.says = (struct outside_answer){ .end = OUTSIDE_LOST, .why = STR("it hung up"), .sent = 3 };
	assert_string_equal(text(w, apply(w, id), "state"), "unknown");
	return id;
}

static void
what_is_unknown_is_settled_by_a_person_with_a_reason_and_by_nobody_else(void **state) /* EX-4, AP-3 */
{
	struct world *w = *state;
	const char *id = unknown(w), *as = with_id(w, id, ",\"outcome\":\"applied\",\"reason\":\"I looked\"");
	struct json *p;

	assert_status(ask(w, &w->agent, "proposal_settle", as, NULL), E_FORBIDDEN);
	assert_status(ask(w, &w->admin, "proposal_settle", as, NULL), E_FORBIDDEN);
	assert_status(
		ask(w, &w->session, "proposal_settle", with_id(w, id, ",\"outcome\":\"applied\""), NULL),
		E_INVALID);
	assert_status(ask(w, &w->session, "proposal_settle",
			      with_id(w, id, ",\"outcome\":\"done\",\"reason\":\"x\""), NULL),
		E_INVALID);
	assert_string_equal(text(w, get(w, id), "state"), "unknown");
	p = asked(w, &w->session, "proposal_settle", as);
	assert_string_equal(text(w, p, "state"), "applied");
	assert_string_equal(text(w, attempt_in(p), "settledReason"), "I looked");
	assert_str(w->first.admin_id, text(w, attempt_in(p), "settledBy"));
	assert_string_equal(text(w, attempt_in(p), "outcome"), "lost"); /* what was known stays */
	assert_int_equal(entries(w, "proposal.settled"), 1);
	assert_int_equal(entries(w, "proposal.applied"), 1);
	assert_status(ask(w, &w->session, "proposal_settle", as, NULL), E_CONFLICT);
	id = unknown(w);
	p = asked(w, &w->session, "proposal_settle",
		with_id(w, id, ",\"outcome\":\"failed\",\"reason\":\"no\""));
	assert_string_equal(text(w, p, "state"), "failed");
	assert_int_equal(other.asked, 2);
}

static void
a_probe_is_evidence_and_decides_nothing(void **state) /* EX-4 */
{
	struct world *w = *state;
	const char *id = unknown(w);
	const struct json *found;
	struct json *p;

	other.says = (struct outside_answer){ .end = OUTSIDE_DONE, .result = STR("{\"exists\":true}") };
	assert_status(ask(w, &w->agent, "proposal_probe", with_id(w, id, ""), NULL), E_FORBIDDEN);
	p = asked(w, &w->session, "proposal_probe", with_id(w, id, ""));
	assert_string_equal(text(w, p, "state"), "unknown");
	found = json_get(attempt_in(p), STR("evidence"))->child;
	assert_string_equal(text(w, found, "from"), "probe");
	assert_true(json_get(json_get(found, STR("result")), STR("exists"))->truth);
	assert_str(other.last.tool->outside->remote, "look");
	assert_str(other.last.input, "{\"n\":1,\"path\":\"/a\"}");
	assert_int_equal(other.last.key.len, 0);
	other.says.end = OUTSIDE_LOST;
	p = asked(w, &w->session, "proposal_probe", with_id(w, id, ""));
	assert_int_equal(json_get(attempt_in(p), STR("evidence"))->count, 2);
	other.says.end = OUTSIDE_LOST;
	id = approved(w, "mcp__files__late");
	assert_string_equal(text(w, apply(w, id), "state"), "unknown");
	assert_status(ask(w, &w->session, "proposal_probe", with_id(w, id, ""), NULL), E_CONFLICT);
}

/* --- before it is sent --- */

static void
the_card_says_what_is_known_and_that_it_cannot_be_previewed(void **state) /* PA-2, AP-5 */
{
	struct world *w = *state;
	struct json *p = asked(w, &w->agent, "proposal_create",
		"{\"tool\":\"mcp__files__write\",\"input\":{\"path\":\"/a\\u202eb\"}}");
	const struct json *card = json_get(p, STR("card"));

	assert_string_equal(text(w, card, "summary"), "Write a file (files): path: \"/a\\u{202E}b\"");
	assert_string_equal(text(w, card, "targetSystem"), "the file server");
	assert_string_equal(text(w, card, "affectedData"), "one file");
	assert_string_equal(text(w, card, "failureImplications"), "The file may be half written.");
	assert_true(json_get(card, STR("rollbackSupported"))->truth);
	assert_string_equal(text(w, json_get(card, STR("execution")), "contract"), "probe");
	assert_false(json_get(json_get(card, STR("preview")), STR("available"))->truth);
	assert_string_equal(text(w, json_get(card, STR("resource")), "key"), "files/write");
	assert_int_equal(json_get(card, STR("warnings"))->count, 1);
	assert_int_equal(other.asked, 0);
}

static void
what_was_previewed_is_looked_at_again_and_drift_sends_nothing(void **state) /* PA-6, EX-4 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__seen");

	other.digest = STR("d2");
	assert_status(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), E_DRIFT);
	other.digest = (str){ 0 };
	assert_status(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), E_DRIFT);
	assert_string_equal(text(w, get(w, id), "state"), "approved");
	assert_int_equal(other.asked, 0);
	assert_int_equal(entries(w, "proposal.executing"), 0);
	other.digest = STR("d1");
	assert_string_equal(text(w, apply(w, id), "state"), "applied");
	assert_int_equal(other.asked, 1);
}

static void
a_vote_that_applies_stays_where_applying_is_refused(void **state) /* PA-6, AP-4 */
{
	struct world *w = *state;
	struct json *p = asked(w, &w->agent, "proposal_create",
		"{\"tool\":\"mcp__files__seen\",\"input\":{\"path\":\"/a\"}}");

	other.digest = STR("d2");
	p = asked(w, &w->session, "proposal_approve",
		with_id(w, text(w, p, "proposalId"),
			arena_printf(&w->arena, ",\"apply\":true,\"viewHash\":\"%s\"", text(w, p, "viewHash"))
				.ptr));
	assert_string_equal(text(w, p, "state"), "approved");
	assert_string_equal(text(w, json_get(p, STR("apply")), "code"), "version_drift");
	p = asked(w, &w->agent, "proposal_create",
		"{\"tool\":\"mcp__files__write\",\"input\":{\"path\":\"/a\"}}");
	p = asked(w, &w->session, "proposal_approve",
		with_id(w, text(w, p, "proposalId"),
			arena_printf(&w->arena, ",\"apply\":true,\"viewHash\":\"%s\"", text(w, p, "viewHash"))
				.ptr));
	assert_string_equal(text(w, p, "state"), "applied");
}

static void
another_version_or_nobody_to_send_it_leaves_it_as_it_was(void **state) /* PA-6, EX-4 */
{
	struct world *w = *state;
	const char *id = approved(w, "mcp__files__write");
	struct registry *now = registry(w, newer);

	w->cx.tools = now;
	assert_status(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), E_DRIFT);
	w->cx.tools = w->tools;
	registry_free(now);
	w->cx.outside = NULL;
	assert_status(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), E_UNAVAILABLE);
	w->cx.outside = &w->outside;
	assert_string_equal(text(w, get(w, id), "state"), "approved");
	assert_int_equal(entries(w, "proposal.executing"), 0);
	assert_int_equal(other.asked, 0);
}

static void
a_lane_that_is_closed_sends_nothing_and_says_so(void **state) /* EX-5 */
{
	struct world *w = *state;
	struct json *p;

	for (int i = 0; i < LIMIT_LANE_FAILURES; i++)
		(void)unknown(w);
	other.asked = 0;
	p = apply(w, approved(w, "mcp__files__write"));
	assert_string_equal(text(w, p, "state"), "failed");
	assert_string_equal(text(w, attempt_in(p), "outcome"), "not_sent");
	assert_non_null(strstr(text(w, p, "error"), "not answered"));
	assert_int_equal(other.asked, 0);
}

/* --- reads --- */

static void
a_read_runs_outside_at_once_and_leaves_its_row(void **state) /* TL-5, EX-5 */
{
	struct world *w = *state;
	static const char *const body = "{\"tool\":\"mcp__files__look\",\"input\":{\"path\":\"/a\"}}";
	struct json *c;

	(void)asked(w, &w->admin, "agent_tools_put",
		with_id(w, arena_cstr(&w->arena, w->first.agent_id),
			",\"tools\":[{\"toolName\":\"mcp__files__look\",\"permissionStatus\":\"always_"
			"allow\"}]"));
	other.says = (struct outside_answer){ .end = OUTSIDE_DONE, .result = STR("[1,2]") };
	c = asked(w, &w->agent, "tool_call", body);
	assert_string_equal(text(w, c, "status"), "executed");
	assert_int_equal(json_get(c, STR("result"))->count, 2);
	assert_str(other.last.command_id, text(w, c, "toolCallId"));
	assert_int_equal(count(w, "SELECT count(*) FROM call WHERE status = 'executed'"), 1);
	other.says = (struct outside_answer){ .end = OUTSIDE_DONE };
	c = asked(w, &w->agent, "tool_call", body);
	assert_int_equal(json_get(c, STR("result"))->type, JSON_NULL);
	other.says = (struct outside_answer){ .end = OUTSIDE_DONE, .result = STR("oops") };
	assert_string_equal(text(w, asked(w, &w->agent, "tool_call", body), "result"), "oops");
	other.says = (struct outside_answer){ .end = OUTSIDE_REFUSED, .why = STR("no such file") };
	assert_status(ask(w, &w->agent, "tool_call", body, NULL), E_OUTSIDE);
	assert_str(w->said, "files did not answer look: no such file");
	assert_int_equal(count(w, "SELECT count(*) FROM call WHERE status = 'failed'"), 1);
	w->cx.outside = NULL;
	assert_status(ask(w, &w->agent, "tool_call", body, NULL), E_UNAVAILABLE);
}

static void
a_read_that_needs_approval_is_claimed_like_anything_else(void **state) /* TL-6, EX-3, EX-4 */
{
	struct world *w = *state;
	struct json *c = asked(
		w, &w->agent, "tool_call", "{\"tool\":\"mcp__files__look\",\"input\":{\"path\":\"/a\"}}");

	assert_string_equal(text(w, c, "status"), "awaiting_operator");
	assert_int_equal(other.asked, 0);
	c = asked(w, &w->session, "proposal_approve",
		with_id(w, text(w, json_get(c, STR("proposal")), "proposalId"),
			arena_printf(&w->arena, ",\"apply\":true,\"viewHash\":\"%s\"",
				text(w, json_get(c, STR("proposal")), "viewHash"))
				.ptr));
	assert_string_equal(text(w, c, "state"), "applied");
	assert_int_equal(other.asked, 1);
}

/* --- deceit and death --- */

static void
an_attempt_that_was_edited_is_noticed(void **state) /* AU-1, PA-3 */
{
	struct world *w = *state;
	const char *id = unknown(w);

	(void)count(w, "UPDATE attempt SET why = 'it was done'");
	assert_status(ask(w, &w->session, "proposal_get", with_id(w, id, ""), NULL), E_TAMPERED);
	assert_status(ask(w, &w->session, "proposal_settle",
			      with_id(w, id, ",\"outcome\":\"failed\",\"reason\":\"x\""), NULL),
		E_TAMPERED);
}

#ifdef COUNTERSIGN_FAULTS
static void
stopped_at(struct world *w, const char *fault, status says, const char *then, int asked_times)
{
	const char *id = approved(w, "mcp__files__late");

	other.asked = 0;
	assert_true(fault_arm(fault));
	assert_int_equal(ask(w, &w->session, "proposal_apply", with_id(w, id, ""), NULL), says);
	(void)sweep(w);
	assert_string_equal(text(w, get(w, id), "state"), then);
	assert_int_equal(other.asked, asked_times);
}

static void
wherever_it_stops_it_is_sent_at_most_once_and_what_is_said_is_true(void **state) /* EX-4 */
{
	struct world *w = *state;

	stopped_at(w, "claim_after_record:1:fail", E_UNAVAILABLE, "approved", 0);
	stopped_at(w, "send_before:1:fail", E_COMMIT_UNKNOWN, "unknown", 0);
	stopped_at(w, "send_after:1:fail", E_COMMIT_UNKNOWN, "unknown", 1);
	stopped_at(w, "outcome_after_step:1:fail", OK, "applied", 1); /* written again, not sent again */
	stopped_at(w, "outcome_after_step:1:break", E_COMMIT_UNKNOWN, "executing", 1);
	(void)fault_arm("propose_after_store:1000000:fail"); /* the other one is over */
	assert_int_equal(sweep(w), 1);
}
#endif

/* --- how long it is kept (docs/decisions/0040) --- */

static int64_t
forget(struct world *w, int64_t keep_us)
{
	struct ctx cx = w->cx;
	int64_t erased;

	assert_status(retention_round(&cx, keep_us, &erased), OK);
	return erased;
}

static void
what_is_closed_loses_what_it_said_after_its_time(void **state) /* AP-8 */
{
	struct world *w = *state;
	const char *done = approved(w, "mcp__files__write"), *lost = approved(w, "mcp__files__write"), *hash;
	struct json *p;

	other.says.result = STR("{\"said\":\"what-nobody-keeps\"}");
	hash = text(w, apply(w, done), "viewHash");
	other.says = (struct outside_answer){ .end = OUTSIDE_LOST, .why = STR("it hung up"), .sent = 9 };
	assert_string_equal(text(w, apply(w, lost), "state"), "unknown");
	(void)approved(w, "mcp__files__write");
	assert_int_equal(forget(w, 3600 * SECOND_US), 0);
	assert_int_equal(forget(w, 1), 1); /* what is open, or unknown, is kept */
	assert_int_equal(forget(w, 1), 0);
	p = get(w, done);
	assert_int_equal(json_get(p, STR("payload"))->type, JSON_NULL);
	assert_string_equal(text(w, json_get(p, STR("erased")), "why"), "kept");
	assert_string_equal(text(w, p, "viewHash"), hash);
	assert_string_equal(text(w, p, "state"), "applied");
	assert_string_equal(text(w, attempt_in(p), "outcome"), "done");
	assert_null(json_get(attempt_in(p), STR("answer")));
	assert_int_equal(entries(w, "proposal.erased"), 1);
	assert_int_equal(count(w, "SELECT count(*) FROM proposal WHERE result LIKE '%nobody-keeps%'"), 0);
	assert_int_equal(count(w, "SELECT count(*) FROM attempt WHERE result LIKE '%nobody-keeps%'"), 0);
	assert_string_equal(text(w, json_get(get(w, lost), STR("payload")), "path"), "/a");
}

#define ON_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, drop_world)

static const struct CMUnitTest tests[] = {
	ON_WORLD(what_is_approved_is_claimed_sent_once_and_its_answer_is_kept_verbatim),
	ON_WORLD(not_sent_and_refused_are_failed_and_lost_is_unknown),
	ON_WORLD(who_applies_what_is_executing_hears_so_and_nothing_is_sent_twice),
	ON_WORLD(what_is_no_json_is_kept_as_text),
	ON_WORLD(nothing_is_sent_after_the_lease_of_its_claim),
	ON_WORLD(what_had_no_outcome_in_time_is_unknown_and_a_late_answer_is_only_evidence),
	ON_WORLD(what_waits_is_executing_until_a_callback_of_its_fence_says_what_became_of_it),
	ON_WORLD(what_is_unknown_is_settled_by_a_person_with_a_reason_and_by_nobody_else),
	ON_WORLD(a_probe_is_evidence_and_decides_nothing),
	ON_WORLD(the_card_says_what_is_known_and_that_it_cannot_be_previewed),
	ON_WORLD(what_was_previewed_is_looked_at_again_and_drift_sends_nothing),
	ON_WORLD(a_vote_that_applies_stays_where_applying_is_refused),
	ON_WORLD(another_version_or_nobody_to_send_it_leaves_it_as_it_was),
	ON_WORLD(a_lane_that_is_closed_sends_nothing_and_says_so),
	ON_WORLD(a_read_runs_outside_at_once_and_leaves_its_row),
	ON_WORLD(a_read_that_needs_approval_is_claimed_like_anything_else),
	ON_WORLD(an_attempt_that_was_edited_is_noticed),
	ON_WORLD(what_is_closed_loses_what_it_said_after_its_time),
#ifdef COUNTERSIGN_FAULTS
	ON_WORLD(wherever_it_stops_it_is_sent_at_most_once_and_what_is_said_is_true),
#endif
};

int
main(void)
{
	int failed;

	on_postgres = false;
	failed = cmocka_run_group_tests_name("attempts on SQLite", tests, NULL, NULL);
	if (!database_server()) {
		print_message("skipped: PostgreSQL, because COUNTERSIGN_TEST_POSTGRES is not set\n");
		return failed;
	}
	on_postgres = true;
	return failed + cmocka_run_group_tests_name("attempts on PostgreSQL", tests, NULL, NULL);
}
