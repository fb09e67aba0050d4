/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program around exec/mcp, for tests only: what the official suite's client scenarios want of a client, and one
 * question to a server. It may reach this machine, and nothing else that is not public.
 *
 *	mcpdriver URL			the scenario of MCP_CONFORMANCE_SCENARIO
 *	mcpdriver list TARGET
 *	mcpdriver call TOOL INPUT TARGET	prints {end, status, sent, why, result}
 *	mcpdriver listen MILLISECONDS TARGET
 *
 * TARGET is a URL, or -- and a program with its arguments. MCPDRIVER_ERA: legacy, modern; MCPDRIVER_GRANT: off, or
 * paths (a + before a writable one), comma-separated, "net" among them.
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "exec/mcp/client.h"
#include "http/client/many.h"
#include "json/out.h"

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
	str argv[ARGS_MAX];
	struct http_net allow[2];
};

static void
grant(struct target *t)
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
aim(struct target *t, char **args)
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
	grant(t);
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
	struct mcp_oauth oauth = { .store = { load, save, kept },
		.redirect_uri = STR("http://localhost:3000/callback"),
		.client_name = STR("Countersign's test driver"),
		.document_url = STR("https://conformance-test.local/client-metadata.json"),
		.visit = visit };
	bool fine;

	if (env("MCP_CONFORMANCE_CONTEXT").len)
		CHECK(json_parse(cx, env("MCP_CONFORMANCE_CONTEXT"), &context) == OK);
	aim(&t, args);
	t.options.capabilities = STR("{\"elicitation\":{\"form\":{\"applyDefaults\":true}}}");
	t.options.answer = answer;
	if (str_starts(scenario, STR("auth/")))
		t.options.oauth = &oauth;
	oauth.client_id = text_of(context, "client_id");
	oauth.client_secret = text_of(context, "client_secret");
	CHECK(mcp_client_new(cx, &t.options, &c) == OK);
	fine = list(cx, c, &tools) && call_all(cx, c, scenario, &tools) && call_named(cx, c, context) &&
	       echo_schema(cx, c, &tools);
	mcp_client_free(c);
	return fine ? 0 : 1;
}

/* --- one question --- */

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

static void
print(struct buf *b)
{
	str text = buf_str(b);

	(void)printf("%.*s\n", STR_ARG(text));
	(void)fflush(stdout);
}

static int
run_list(struct ctx *cx, char **args)
{
	struct mcp_client *c;
	struct mcp_tools tools;
	struct json_out o;
	struct target t;
	struct buf b;
	status s;

	aim(&t, args);
	CHECK(mcp_client_new(cx, &t.options, &c) == OK);
	s = mcp_client_list(cx, c, clock_mono_us() + PATIENCE_US, &tools);
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	if (s != OK) {
		json_out_str(&o, "why", ctx_message(cx, s));
	} else {
		json_out_int(&o, "dropped", (int64_t)tools.dropped);
		json_out_array(&o, "tools");
		for (size_t i = 0; i < tools.count; i++)
			json_out_raw(&o, NULL, tools.all[i].definition);
		json_out_end(&o);
	}
	json_out_end(&o);
	print(&b);
	mcp_client_free(c);
	return s == OK ? 0 : 1;
}

static int
run_call(struct ctx *cx, const char *tool, const char *input, char **args)
{
	struct outside_answer out;
	struct mcp_client *c;
	struct json_out o;
	struct target t;
	struct buf b;

	aim(&t, args);
	CHECK(mcp_client_new(cx, &t.options, &c) == OK);
	(void)call(cx, c, str_of(tool), str_of(input), &out);
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "end", str_of(end_name(out.end)));
	json_out_int(&o, "status", out.http_status);
	json_out_int(&o, "sent", out.sent);
	json_out_str(&o, "why", out.why);
	if (out.result.len)
		json_out_raw(&o, "result", out.result);
	json_out_end(&o);
	print(&b);
	mcp_client_free(c);
	return 0;
}

static int
run_listen(struct ctx *cx, const char *ms, char **args)
{
	int64_t patience_ms = 0;
	struct mcp_client *c;
	struct target t;
	status s;

	CHECK(str_to_int(str_of(ms), &patience_ms));
	aim(&t, args);
	CHECK(mcp_client_new(cx, &t.options, &c) == OK);
	s = mcp_client_listen(cx, c, 0, clock_mono_us() + patience_ms * 1000);
	(void)printf(
		"{\"status\":\"%s\",\"changes\":%d}\n", status_info(s)->code, (int)mcp_client_changes(c));
	mcp_client_free(c);
	return 0;
}

static int
run(struct ctx *cx, int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "list") == 0)
		return run_list(cx, argv + 2);
	if (argc >= 5 && strcmp(argv[1], "call") == 0)
		return run_call(cx, argv[2], argv[3], argv + 4);
	if (argc >= 4 && strcmp(argv[1], "listen") == 0)
		return run_listen(cx, argv[2], argv + 3);
	if (argc == 2)
		return run_scenario(cx, argv + 1);
	(void)fprintf(stderr,
		"mcpdriver URL | list TARGET | call TOOL INPUT TARGET | listen MILLISECONDS TARGET\n");
	return 2;
}

int
main(int argc, char **argv)
{
	struct arena a;
	struct ctx cx;
	int code;

	(void)signal(SIGPIPE, SIG_IGN);
	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	code = run(&cx, argc, argv);
	arena_done(&a);
	return code;
}
