/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program around exec/mcp, for tests only: what the official suite's client scenarios want of a client, and one
 * question to a server. It may reach this machine, and nothing else that is not public.
 *
 *	mcpdriver URL			the scenario of MCP_CONFORMANCE_SCENARIO
 *	mcpdriver script TARGET		one line of JSON in ({op: list, call, changes, authorize}), one out;
 *					a call with `stops` waits for another line and stops the client
 *
 * TARGET is a URL, or -- and a program with its arguments. MCPDRIVER_ERA: legacy, modern; MCPDRIVER_GRANT: off, or
 * paths (a + before a writable one), comma-separated, "net" among them; MCPDRIVER_OPTIONS: set_options.
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/limits.h"
#include "exec/mcp/client.h"
#include "exec/sandbox/hold.h"
#include "exec/sandbox/walls.h"
#include "http/client/many.h"
#include "json/out.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_US (20 * SECOND_US)
#define PATHS_MAX   16u
#define ARGS_MAX    32u

static str
env(const char *name)
{
	return str_of(getenv(name));
}

static str
text_of(const struct json *o, const char *key)
{
	const struct json *v = o ? json_get(o, str_of(key)) : NULL;

	return v && v->type == JSON_STRING ? v->text : (str){ 0 };
}

/* --- what the server asks --- */

/* All defaults of a form. */
static void
fill_in(struct json_out *o, const struct json *schema)
{
	const struct json *properties = schema ? json_get(schema, STR("properties")) : NULL;

	if (!properties)
		return;
	JSON_EACH (property, properties) {
		const struct json *value = json_get(property, STR("default"));

		if (!value)
			continue;
		json_out_key(o, property->key);
		json_out_value(o, NULL, value);
	}
}

static bool
answer(void *arg, struct ctx *cx, str method, const struct json *params, str *out_result)
{
	struct json_out o;
	struct buf b;

	(void)arg;
	if (!str_eq(method, STR("elicitation/create")))
		return false;
	buf_init(&b, cx->arena, MIB);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "action", STR("accept"));
	json_out_object(&o, "content");
	fill_in(&o, params ? json_get(params, STR("requestedSchema")) : NULL);
	json_out_end(&o);
	json_out_end(&o);
	*out_result = buf_str(&b);
	return true;
}

/* --- the client --- */

struct target {
	struct mcp_options options;
	struct mcp_program program;
	struct mcp_path paths[PATHS_MAX];
	struct walls_path listed[PATHS_MAX];
	struct walls walls;
	str argv[ARGS_MAX];
	struct http_net allow[2];
};

static void
grant(struct arena *a, struct target *t)
{
	str one, rest = env("MCPDRIVER_GRANT");

	while (rest.len && t->program.path_count < PATHS_MAX) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (str_eq(one, STR("off")))
			t->program.unconfined = true;
		else if (str_eq(one, STR("net")))
			t->program.network = true;
		else if (str_starts(one, STR("+")))
			t->paths[t->program.path_count++] = (struct mcp_path){ str_skip(one, 1), true };
		else
			t->paths[t->program.path_count++] = (struct mcp_path){ one, false };
	}
	for (size_t i = 0; i < t->program.path_count; i++)
		t->listed[i] = (struct walls_path){ walls_real(a, t->paths[i].path), t->paths[i].writable };
	t->walls = (struct walls){ .listed = t->listed, .listed_count = t->program.path_count };
	t->program.walls = &t->walls;
}

static enum mcp_era
era(void)
{
	str version = env("MCP_CONFORMANCE_PROTOCOL_VERSION"), name = env("MCPDRIVER_ERA");

	if (str_eq(version, STR("2026-07-28")) || str_eq(name, STR("modern")))
		return MCP_MODERN;
	return version.len || str_eq(name, STR("legacy")) ? MCP_LEGACY : MCP_ANY;
}

static void
aim(struct arena *a, struct target *t, char **args)
{
	*t = (struct target){
		.options = { .name = STR("driver"), .era = era(), .allow = t->allow, .allow_count = 2 }
	};
	CHECK(http_net_read(STR("127.0.0.0/8"), &t->allow[0]) && http_net_read(STR("::1"), &t->allow[1]));
	if (strcmp(args[0], "--") != 0) {
		t->options.url = str_of(args[0]);
		return;
	}
	for (size_t i = 1; args[i] && i < ARGS_MAX; i++)
		t->argv[t->program.argc++] = str_of(args[i]);
	t->program.argv = t->argv;
	t->program.paths = t->paths;
	grant(a, t);
	t->options.program = &t->program;
}

/* --- OAuth: a store in memory, and a browser that agrees --- */

#define KEPT_MAX 8u

struct kept {
	char name[64], text[8192];
};

static status
load(void *arg, struct ctx *cx, str name, str *out_text)
{
	struct kept *all = arg;

	*out_text = (str){ 0 };
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (str_eq(name, str_of(all[i].name)))
			*out_text = arena_str(cx->arena, str_of(all[i].text));
	return OK;
}

static status
save(void *arg, struct ctx *cx, str name, str text)
{
	struct kept *all = arg;

	(void)cx;
	for (size_t i = 0; i < KEPT_MAX; i++) {
		if (all[i].name[0] && !str_eq(name, str_of(all[i].name)))
			continue;
		(void)snprintf(all[i].name, sizeof(all[i].name), "%.*s", STR_ARG(name));
		(void)snprintf(all[i].text, sizeof(all[i].text), "%.*s", STR_ARG(text));
		return OK;
	}
	return E_INTERNAL;
}

static bool
ignore(void *arg, str bytes)
{
	(void)arg;
	(void)bytes;
	return true;
}

struct visited {
	struct ctx *cx;
	str back;
	bool over;
};

static void
come_back(void *arg, const struct http_flight *f, status s, str why)
{
	struct visited *v = arg;

	(void)why;
	v->over = true;
	if (s == OK)
		v->back = arena_str(v->cx->arena, http_flight_header(f, "Location"));
}

/* The suite's authorization servers agree at once; where they send the browser is all that counts. */
static status
visit(void *arg, struct ctx *cx, str url, str *out_back)
{
	static const struct http_flight_calls watching = { ignore, come_back };
	struct http_client_request r = { .method = "GET", .url = url, .accept = "text/html" };
	struct visited v = { .cx = cx };
	struct http_many *many = http_many_new();
	struct http_flight *flight;
	status s = http_many_begin(many, cx, &r, &watching, &v, &flight);

	(void)arg;
	while (s == OK && !v.over)
		(void)http_many_poll(many, -1, 1000);
	http_many_free(many);
	*out_back = v.back;
	return s;
}

/* --- scenarios --- */

static bool
call(struct ctx *cx, struct mcp_client *c, str tool, str input, struct outside_answer *out)
{
	struct mcp_how how = { .deadline_us = clock_mono_us() + PATIENCE_US };
	status s = mcp_client_call(cx, c, tool, input, &how, out);

	if (s != OK)
		*out = (struct outside_answer){ .end = OUTSIDE_NOT_SENT, .why = ctx_message(cx, s) };
	if (out->end != OUTSIDE_DONE)
		(void)fprintf(stderr, "%.*s: %d %.*s\n", STR_ARG(tool), (int)out->end, STR_ARG(out->why));
	return out->end == OUTSIDE_DONE;
}

static bool
list(struct ctx *cx, struct mcp_client *c, struct mcp_tools *out)
{
	status s = mcp_client_list(cx, c, clock_mono_us() + PATIENCE_US, out);

	if (s != OK)
		(void)fprintf(stderr, "list: %.*s\n", STR_ARG(ctx_message(cx, s)));
	return s == OK;
}

/* What the scenario wants to be called, besides the list. */
static const struct {
	const char *scenario, *tool, *input;
} calls[] = {
	{ "tools_call", "add_numbers", "{\"a\":5,\"b\":3}" },
	{ "elicitation-sep1034-client-defaults", "test_client_elicitation_defaults", "{}" },
	{ "sse-retry", "test_reconnection", "{}" },
	{ "http-standard-headers", "test_headers", "{}" },
	{ "http-standard-headers", "my-hyphenated-tool", "{}" },
	{ "http-invalid-tool-headers", NULL, "{\"region\":\"us-west1\"}" }, /* all that are left */
	{ "sep-2322-client-request-state", "test_mrtr_echo_state", "{}" },
	{ "sep-2322-client-request-state", "test_mrtr_unrelated", "{}" },
	{ "sep-2322-client-request-state", "test_mrtr_no_state", "{}" },
	{ "sep-2322-client-request-state", "test_mrtr_no_result_type", "{}" },
};

static bool
call_all(struct ctx *cx, struct mcp_client *c, str scenario, const struct mcp_tools *tools)
{
	struct outside_answer out;
	bool fine = true;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!str_eq(scenario, str_of(calls[i].scenario)))
			continue;
		for (size_t j = 0; !calls[i].tool && j < tools->count; j++)
			fine = call(cx, c, tools->all[j].name, str_of(calls[i].input), &out) && fine;
		if (calls[i].tool)
			fine = call(cx, c, str_of(calls[i].tool), str_of(calls[i].input), &out) && fine;
	}
	if (str_starts(scenario, STR("auth/")))
		fine = call(cx, c, STR("test-tool"), STR("{}"), &out) && fine;
	return fine;
}

/* http-custom-headers says itself what to call. */
static bool
call_named(struct ctx *cx, struct mcp_client *c, const struct json *context)
{
	const struct json *wanted = context ? json_get(context, STR("toolCalls")) : NULL;
	struct outside_answer out;
	bool fine = true;
	str input;

	if (!wanted)
		return true;
	JSON_EACH (one, wanted) {
		const struct json *arguments = json_get(one, STR("arguments"));

		if (!arguments || json_text(cx, arguments, &input) != OK)
			input = STR("{}");
		fine = call(cx, c, text_of(one, "name"), input, &out) && fine;
	}
	return fine;
}

/* json-schema-2020-12-preservation wants to see the schema that we have read. */
static bool
echo_schema(struct ctx *cx, struct mcp_client *c, const struct mcp_tools *tools)
{
	struct outside_answer out;
	struct json *tool;
	str schema;

	for (size_t i = 0; i < tools->count; i++) {
		if (!str_eq(tools->all[i].name, STR("json_schema_2020_12_tool")))
			continue;
		CHECK(json_parse(cx, tools->all[i].definition, &tool) == OK);
		CHECK(json_text(cx, json_get(tool, STR("inputSchema")), &schema) == OK);
		return call(cx, c, STR("json_schema_echo"),
			arena_printf(cx->arena, "{\"schema\":%.*s}", STR_ARG(schema)), &out);
	}
	return true;
}

static int
run_scenario(struct ctx *cx, char **args)
{
	str scenario = env("MCP_CONFORMANCE_SCENARIO");
	struct json *context = NULL;
	struct mcp_client *c;
	struct mcp_tools tools;
	struct target t;
	struct kept kept[KEPT_MAX] = { 0 };
	struct mcp_oauth oauth = { .store = { .load = load, .save = save, .arg = kept },
		.redirect_uri = STR("http://localhost:3000/callback"),
		.client_name = STR("Countersign's test driver"),
		.document_url = STR("https://conformance-test.local/client-metadata.json"),
		.visit = visit };
	bool fine;

	if (env("MCP_CONFORMANCE_CONTEXT").len)
		CHECK(json_parse(cx, env("MCP_CONFORMANCE_CONTEXT"), &context) == OK);
	aim(cx->arena, &t, args);
	t.options.capabilities = STR("{\"elicitation\":{\"form\":{\"applyDefaults\":true}}}");
	t.options.answer = answer;
	if (str_starts(scenario, STR("auth/")))
		t.options.oauth = &oauth;
	oauth.client_id = text_of(context, "client_id");
	oauth.client_secret = text_of(context, "client_secret");
	oauth.machine = str_eq(scenario, STR("auth/client-credentials-basic"));
	CHECK(mcp_client_new(cx, &t.options, &c) == OK);
	fine = list(cx, c, &tools) && call_all(cx, c, scenario, &tools) && call_named(cx, c, context) &&
	       echo_schema(cx, c, &tools);
	mcp_client_free(c);
	return fine ? 0 : 1;
}

/* --- a script --- */

static const char *
end_name(enum outside_end end)
{
	switch (end) {
	case OUTSIDE_LOST:
		return "lost";
	case OUTSIDE_NOT_SENT:
		return "not_sent";
	case OUTSIDE_REFUSED:
		return "refused";
	case OUTSIDE_DONE:
		return "done";
	case OUTSIDE_WAITING:
	default:
		return "waiting";
	}
}

static int64_t
int_of(const struct json *o, const char *key, int64_t otherwise)
{
	const struct json *v = json_get(o, str_of(key));
	int64_t n;

	return v && v->type == JSON_NUMBER && json_to_int(v, &n) ? n : otherwise;
}

static bool
truth_of(const struct json *o, const char *key)
{
	const struct json *v = o ? json_get(o, str_of(key)) : NULL;

	return v && v->type == JSON_BOOL && v->truth;
}

/* One of the calls that a line asks for, on a thread of its own. */
struct caller {
	pthread_t thread;
	struct mcp_client *c;
	const struct json *line;
	struct arena arena;
	struct ctx cx;
	struct outside_answer out;
};

static void *
call_on_thread(void *arg)
{
	struct caller *me = arg;
	const struct json *input = json_get(me->line, STR("input"));
	int64_t now = clock_mono_us(), send_by_ms = int_of(me->line, "send_by_ms", 0);
	struct mcp_how how = { .deadline_us = now + int_of(me->line, "deadline_ms", 20000) * 1000,
		.send_by_us = send_by_ms ? now + send_by_ms * 1000 : 0,
		.reads = truth_of(me->line, "reads") };
	str text = STR("{}");
	status s = input ? json_text(&me->cx, input, &text) : OK;

	if (s == OK)
		s = mcp_client_call(&me->cx, me->c, text_of(me->line, "tool"), text, &how, &me->out);
	if (s != OK)
		me->out = (struct outside_answer){ .end = OUTSIDE_NOT_SENT, .why = ctx_message(&me->cx, s) };
	return NULL;
}

static void
say_call(struct json_out *o, const struct outside_answer *out)
{
	json_out_object(o, NULL);
	json_out_str(o, "end", str_of(end_name(out->end)));
	json_out_int(o, "status", out->http_status);
	json_out_int(o, "sent", out->sent);
	json_out_str(o, "why", out->why);
	if (out->result.len)
		json_out_raw(o, "result", out->result);
	json_out_end(o);
}

#define TIMES_MAX 64

/* Until the test sends another line: it sees when the calls have arrived. */
static void
wait_for_word(void)
{
	char *line = NULL;
	size_t room = 0;

	CHECK(getline(&line, &room, stdin) > 0);
	free(line);
}

static void
run_calls(struct mcp_client *c, const struct json *line, struct json_out *o)
{
	static struct caller all[TIMES_MAX];
	int64_t times = int_of(line, "times", 1);

	CHECK(times > 0 && times <= TIMES_MAX);
	for (int64_t i = 0; i < times; i++) {
		all[i].c = c;
		all[i].line = line;
		arena_init(&all[i].arena, LIMIT_REQUEST_ARENA);
		ctx_init(&all[i].cx, &all[i].arena);
		CHECK(pthread_create(&all[i].thread, NULL, call_on_thread, &all[i]) == 0);
	}
	if (truth_of(line, "stops")) {
		wait_for_word();
		mcp_client_stop(c);
	}
	json_out_array(o, "calls");
	for (int64_t i = 0; i < times; i++) {
		CHECK(pthread_join(all[i].thread, NULL) == 0);
		say_call(o, &all[i].out);
		arena_done(&all[i].arena);
	}
	json_out_end(o);
}

static void
run_list(struct ctx *cx, struct mcp_client *c, struct json_out *o)
{
	struct mcp_tools tools;
	status s = mcp_client_list(cx, c, clock_mono_us() + PATIENCE_US, &tools);

	json_out_str(o, "status", str_of(status_info(s)->code));
	if (s != OK) {
		json_out_str(o, "why", ctx_message(cx, s));
		return;
	}
	json_out_int(o, "dropped", (int64_t)tools.dropped);
	json_out_array(o, "tools");
	for (size_t i = 0; i < tools.count; i++)
		json_out_raw(o, NULL, tools.all[i].definition);
	json_out_end(o);
}

static void
run_authorize(struct ctx *cx, struct mcp_client *c, const struct json *line, struct json_out *o)
{
	struct mcp_flow flow = { 0 };
	status s = json_get(line, STR("back"))
			   ? mcp_client_authorized(cx, c, text_of(line, "kept"), text_of(line, "back"))
			   : mcp_client_authorize(cx, c, &flow);

	json_out_str(o, "status", str_of(status_info(s)->code));
	json_out_str(o, "url", flow.url);
	json_out_str(o, "kept", flow.kept);
	json_out_str(o, "why", s != OK ? ctx_message(cx, s) : (str){ 0 });
}

static void
run_line(struct mcp_client *c, str text)
{
	struct json_out o;
	struct json *line;
	struct arena a;
	struct ctx cx;
	struct buf b;
	str op;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	CHECK(json_parse(&cx, text, &line) == OK);
	buf_init(&b, &a, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	op = text_of(line, "op");
	if (str_eq(op, STR("list")))
		run_list(&cx, c, &o);
	else if (str_eq(op, STR("call")))
		run_calls(c, line, &o);
	else if (str_eq(op, STR("changes")))
		json_out_int(&o, "changes", (int64_t)mcp_client_changes(c));
	else if (str_eq(op, STR("authorize")))
		run_authorize(&cx, c, line, &o);
	json_out_end(&o);
	(void)printf("%.*s\n", STR_ARG(buf_str(&b)));
	(void)fflush(stdout);
	arena_done(&a);
}

/* Options besides the target, as JSON in MCPDRIVER_OPTIONS. */
static void
set_options(struct ctx *cx, struct target *t, struct mcp_oauth *oauth)
{
	static struct http_client_field fields[2], variables[2];
	const struct json *o = NULL, *wish;
	struct json *doc;

	if (!env("MCPDRIVER_OPTIONS").len)
		return;
	CHECK(json_parse(cx, env("MCPDRIVER_OPTIONS"), &doc) == OK);
	t->options.bearer = text_of(doc, "bearer");
	fields[0] = (struct http_client_field){ STR("X-Api-Key"), text_of(doc, "api_key") };
	t->options.fields = fields;
	t->options.field_count = fields[0].value.len > 0;
	variables[0] = (struct http_client_field){ STR("SECRET"), text_of(doc, "secret") };
	t->program.variables = variables;
	t->program.variable_count = variables[0].value.len > 0;
	t->program.directory = text_of(doc, "directory");
	t->options.capabilities = text_of(doc, "capabilities");
	t->options.answer = t->options.capabilities.len ? answer : NULL;
	wish = json_get(doc, STR("allow_none"));
	if (wish)
		t->options.allow_count = 0;
	o = json_get(doc, STR("oauth"));
	if (!o)
		return;
	oauth->client_id = text_of(o, "client_id");
	oauth->client_secret = text_of(o, "client_secret");
	oauth->document_url = text_of(o, "document_url");
	oauth->issuer = text_of(o, "issuer");
	oauth->scope = text_of(o, "scope");
	oauth->machine = truth_of(o, "machine");
	oauth->redirect_uri = STR("https://countersign.example/callback");
	oauth->visit = truth_of(o, "visit") ? visit : NULL;
	t->options.oauth = oauth;
}

static int
run_script(struct ctx *cx, char **args)
{
	struct kept kept[KEPT_MAX] = { 0 };
	struct mcp_oauth oauth = { .store = { .load = load, .save = save, .arg = kept } };
	struct mcp_client *c;
	struct target t;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	status s;

	aim(cx->arena, &t, args);
	set_options(cx, &t, &oauth);
	s = mcp_client_new(cx, &t.options, &c);
	if (s != OK) {
		(void)printf("{\"status\":\"%s\"}\n", status_info(s)->code);
		return 1;
	}
	while ((n = getline(&line, &room, stdin)) > 0)
		run_line(c, (str){ line, (size_t)n });
	free(line);
	mcp_client_free(c);
	return 0;
}

static int
run(struct ctx *cx, int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "script") == 0)
		return run_script(cx, argv + 2);
	if (argc == 2)
		return run_scenario(cx, argv + 1);
	(void)fprintf(stderr, "mcpdriver URL | script TARGET\n");
	return 2;
}

int
main(int argc, char **argv)
{
	struct arena a;
	struct ctx cx;
	int code;

	if (hold_wanted(argv))
		return hold_run(argv);
	CHECK(!getenv("COUNTERSIGN_TEST_PLANT") || fault_plant(getenv("COUNTERSIGN_TEST_PLANT")));
	(void)signal(SIGPIPE, SIG_IGN);
	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	code = run(&cx, argc, argv);
	arena_done(&a);
	return code;
}
