/* SPDX-License-Identifier: Apache-2.0 */
/* countersign upstream: other MCP servers of a running server, and what an admin says of their tools (EX-3). */
#include "app/client/client.h"

#include "app/wrap/line.h"
#include "json/out.h"

#include <stdlib.h>
#include <unistd.h>

#define UPSTREAMS "/api/v1/upstreams"

const struct cli_flag upstream_flags[] = {
	{ .name = "url",
		.value = "URL",
		.doc = "add: where the server is; or its program, after two dashes." },
	{ .name = "bearer",
		.value = "VARIABLE",
		.doc = "add: the variable of your environment that holds a token for it." },
	{ .name = "network",
		.value = "CIDR",
		.doc = "add: a network that is not public and that it may be in. Repeatable.",
		.many = true },
	LINE_FLAGS,
	{ .name = "effect", .value = "EFFECT", .doc = "accept: read, mutate, or destructive unless said." },
	{ .name = "tier",
		.value = "TIER",
		.doc = "accept: always_allow, blocked, or needs_approval unless said." },
	{ .name = "options", .value = "JSON", .doc = "accept: how it is previewed; docs/upstream.md." },
	{ .name = "yes", .doc = "accept: do not ask." },
	{ .name = "json", .doc = "Print the server's JSON as it is." },
	{ 0 },
};

/* --- which one --- */

/* By its id or its name. */
static status
find(struct ctx *cx, const struct cli_call *call, str which, const struct json **out)
{
	struct client_answer answer;
	const struct json *all;

	TRY(client_ask(cx, call, "GET", STR(UPSTREAMS), (str){ 0 }, &answer));
	all = part_of(answer.doc, "upstreams");
	for (const struct json *u = all ? all->child : NULL; u; u = u->next) {
		if (str_eq(text_of(u, "name"), which) || str_eq(text_of(u, "id"), which)) {
			*out = u;
			return OK;
		}
	}
	return fail(cx, E_NOT_FOUND, "there is no upstream server \"%.*s\"; `upstream list` shows them",
		STR_ARG(shown_line(cx->arena, which)));
}

static str
path_of(struct ctx *cx, const struct json *u, const char *after)
{
	return client_path(cx->arena, UPSTREAMS "/", text_of(u, "id"), after);
}

/* --- list --- */

static status
print_list(struct ctx *cx, const struct json *doc)
{
	const struct json *all = part_of(doc, "upstreams");
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	if (!all || !all->count)
		buf_add(&b, STR("There are no upstream servers.\n"));
	else
		buf_printf(&b, "%-38s%-32s%-7s%-10s%-10s%s\n", "ID", "NAME", "KIND", "STATE", "BREAKER",
			"PROBLEM");
	for (const struct json *u = all ? all->child : NULL; u; u = u->next) {
		shown_cell(&b, text_of(u, "id"), 38);
		shown_cell(&b, text_of(u, "name"), 32);
		shown_cell(&b, text_of(u, "kind"), 7);
		shown_cell(&b, text_of(u, "state"), 10);
		shown_cell(&b, text_of(u, "breaker"), 10);
		buf_add(&b, shown_line(cx->arena, text_of(u, "problem")));
		buf_add_char(&b, '\n');
	}
	return client_print(cx, STDOUT_FILENO, &b);
}

static status
list(struct ctx *cx, const struct cli_call *call)
{
	struct client_answer answer;

	TRY(client_ask(cx, call, "GET", STR(UPSTREAMS), (str){ 0 }, &answer));
	return cli_given(call, "json", NULL) ? client_print_json(cx, &answer) : print_list(cx, answer.doc);
}

/* --- add --- */

static status
write_http(struct ctx *cx, const struct cli_call *call, str name, str url, str *out)
{
	str variable;
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "name", name);
	json_out_str(&o, "kind", STR("http"));
	json_out_str(&o, "url", url);
	if (cli_given(call, "bearer", &variable)) {
		const char *value = getenv(arena_cstr(cx->arena, variable));

		if (!value)
			return fail(cx, E_INVALID,
				"--bearer %.*s: there is no such variable; a token on the command line could "
				"be "
				"seen by others",
				STR_ARG(shown_line(cx->arena, variable)));
		json_out_str(&o, "bearer", str_of(value));
	}
	json_out_array(&o, "networks");
	for (const struct cli_given *g = cli_next(call, "network", NULL); g; g = cli_next(call, "network", g))
		json_out_str(&o, NULL, g->value);
	json_out_end(&o);
	json_out_end(&o);
	return buf_finish(&b, out);
}

static status
tell_added(struct ctx *cx, const struct json *u, const struct line *l)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	shown_field(&b, "Id", text_of(u, "id"));
	shown_field(&b, "Name", text_of(u, "name"));
	if (l)
		line_tell(cx, l, true, &b);
	buf_printf(&b, "Read what it offers with `countersign upstream refresh %.*s`.\n",
		STR_ARG(shown_line(cx->arena, text_of(u, "name"))));
	return client_print(cx, STDOUT_FILENO, &b);
}

static status
add(struct ctx *cx, const struct cli_call *call)
{
	str name = call->arguments[1], url, body;
	struct client_answer answer;
	struct line line;
	bool http = cli_given(call, "url", &url);

	if (http && call->argument_count > 2)
		return fail(cx, E_INVALID, "a server has --url or a program, not both");
	if (http) {
		TRY(write_http(cx, call, name, url, &body));
	} else {
		TRY(line_read(cx, call, 2, name, &line));
		TRY(line_body(cx, &line, name, &body));
	}
	TRY(client_ask(cx, call, "POST", STR(UPSTREAMS), body, &answer));
	if (cli_given(call, "json", NULL))
		return client_print_json(cx, &answer);
	return tell_added(cx, answer.doc, http ? NULL : &line);
}

/* --- tools --- */

/* Why it is as it is: what can never be accepted, what it was called, how much has changed. */
static str
remark(struct ctx *cx, const struct json *t)
{
	const struct json *diff = part_of(t, "diff");

	if (text_of(t, "refused").len)
		return arena_printf(cx->arena, "refused: %.*s", STR_ARG(text_of(t, "refused")));
	if (text_of(t, "problem").len)
		return text_of(t, "problem");
	if (text_of(t, "renamedFrom").len)
		return arena_printf(cx->arena, "was called %.*s", STR_ARG(text_of(t, "renamedFrom")));
	if (diff)
		return arena_printf(cx->arena, "defined otherwise than accepted, at %zu %s",
			(size_t)diff->count, diff->count == 1 ? "place" : "places");
	if (str_eq(text_of(t, "state"), STR("accepted")))
		return STR("");
	return text_of(part_of(t, "definition"), "description");
}

static bool
is_named(const struct cli_call *call, const struct json *t)
{
	for (size_t i = 2; i < call->argument_count; i++)
		if (str_eq(text_of(t, "name"), call->arguments[i]) ||
			str_eq(text_of(t, "remote"), call->arguments[i]))
			return true;
	return call->argument_count <= 2;
}

/* Those that the command line names; where it names none, all. */
static status
print_tools(struct ctx *cx, const struct cli_call *call, const struct json *doc)
{
	const struct json *all = part_of(doc, "tools");
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	if (!all || !all->count)
		buf_add(&b, STR("It has no tools that are known here.\n"));
	else
		buf_printf(&b, "%-13s%-13s%-16s%-40s%s\n", "STATE", "EFFECT", "TIER", "NAME", "REMARK");
	for (const struct json *t = all ? all->child : NULL; t; t = t->next) {
		bool accepted = str_eq(text_of(t, "state"), STR("accepted"));

		if (!is_named(call, t))
			continue;
		shown_cell(&b, text_of(t, "state"), 13);
		shown_cell(&b, accepted ? text_of(t, "effect") : STR("-"), 13);
		shown_cell(&b, accepted ? text_of(t, "tier") : STR("-"), 16);
		shown_cell(&b, text_of(t, "name"), 40);
		buf_add(&b, shown_line(cx->arena, remark(cx, t)));
		buf_add_char(&b, '\n');
	}
	return client_print(cx, STDOUT_FILENO, &b);
}

static status
show_tools(struct ctx *cx, const struct cli_call *call, const char *method, const char *after)
{
	struct client_answer answer;
	const struct json *u;

	TRY(find(cx, call, call->arguments[1], &u));
	TRY(client_ask(cx, call, method, path_of(cx, u, after), (str){ 0 }, &answer));
	return cli_given(call, "json", NULL) ? client_print_json(cx, &answer)
					     : print_tools(cx, call, answer.doc);
}

/* --- accept --- */

/* By the name that agents use, or the server's own. */
static const struct json *
find_tool(const struct json *tools, str which)
{
	for (const struct json *t = tools ? tools->child : NULL; t; t = t->next)
		if (str_eq(text_of(t, "name"), which) || str_eq(text_of(t, "remote"), which))
			return t;
	return NULL;
}

/* The whole definition: what is accepted is exactly this. */
static status
show(struct ctx *cx, int fd, const struct json *t)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	shown_field(&b, "Tool", text_of(t, "name"));
	if (text_of(t, "refused").len)
		shown_field(&b, "REFUSED", text_of(t, "refused"));
	if (text_of(t, "renamedFrom").len)
		shown_field(&b, "Was called", text_of(t, "renamedFrom"));
	shown_field(&b, "Definition", shown_json(cx, part_of(t, "definition")));
	if (part_of(t, "diff"))
		shown_field(&b, "Changed", shown_json(cx, part_of(t, "diff")));
	if (part_of(t, "suggested"))
		shown_field(&b, "Suggested", shown_json(cx, part_of(t, "suggested")));
	buf_add_char(&b, '\n');
	return client_print(cx, fd, &b);
}

static status
write_said(struct ctx *cx, const struct cli_call *call, const struct json *t, struct json_out *o)
{
	static const char *const words[] = { "effect", "tier" };
	struct json *options;
	str text;

	json_out_object(o, NULL);
	json_out_str(o, "name", text_of(t, "name"));
	json_out_str(o, "definitionHash", text_of(t, "definitionHash"));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (cli_given(call, words[i], &text))
			json_out_str(o, words[i], text);
	if (cli_given(call, "options", &text)) {
		if (json_parse(cx, text, &options) != OK)
			return fail(cx, E_INVALID, "--options is not JSON: %.*s",
				STR_ARG(shown_line(cx->arena, ctx_message(cx, cx->error.code))));
		json_out_value(o, "options", options);
	}
	json_out_end(o);
	return OK;
}

/* Shows each tool that is named, and writes down that exactly this one is meant. */
static status
gather(struct ctx *cx, const struct cli_call *call, const struct json *tools, str *out)
{
	int fd = cli_given(call, "json", NULL) ? STDERR_FILENO : STDOUT_FILENO;
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_array(&o, "tools");
	for (size_t i = 2; i < call->argument_count; i++) {
		const struct json *t = find_tool(tools, call->arguments[i]);

		if (!t)
			return fail(cx, E_NOT_FOUND,
				"the server offers no tool \"%.*s\"; `upstream refresh` asks it again",
				STR_ARG(shown_line(cx->arena, call->arguments[i])));
		TRY(show(cx, fd, t));
		TRY(write_said(cx, call, t, &o));
	}
	json_out_end(&o);
	json_out_end(&o);
	return buf_finish(&b, out);
}

static status
accept(struct ctx *cx, const struct cli_call *call)
{
	bool yes = cli_given(call, "yes", NULL);
	struct client_answer answer;
	const struct json *u;
	str body;

	if (!yes && !isatty(STDIN_FILENO))
		return fail(cx, E_INVALID, "accept asks on a terminal; where there is none, say --yes");
	TRY(find(cx, call, call->arguments[1], &u));
	TRY(client_ask(cx, call, "GET", path_of(cx, u, "/tools"), (str){ 0 }, &answer));
	TRY(gather(cx, call, part_of(answer.doc, "tools"), &body));
	if (!yes)
		TRY(client_confirm(cx, "Offer exactly this to agents?"));
	TRY(client_ask(cx, call, "POST", path_of(cx, u, "/tools/accept"), body, &answer));
	return cli_given(call, "json", NULL) ? client_print_json(cx, &answer)
					     : print_tools(cx, call, answer.doc);
}

/* --- refuse, disable, enable, remove --- */

static status
refuse(struct ctx *cx, const struct cli_call *call)
{
	struct client_answer answer;
	const struct json *u, *t;
	struct json_out o;
	struct buf b;
	str body;

	TRY(find(cx, call, call->arguments[1], &u));
	TRY(client_ask(cx, call, "GET", path_of(cx, u, "/tools"), (str){ 0 }, &answer));
	t = find_tool(part_of(answer.doc, "tools"), call->arguments[2]);
	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "name", t ? text_of(t, "name") : call->arguments[2]);
	json_out_end(&o);
	TRY(buf_finish(&b, &body));
	TRY(client_ask(cx, call, "POST", path_of(cx, u, "/tools/refuse"), body, &answer));
	return cli_given(call, "json", NULL) ? client_print_json(cx, &answer)
					     : print_tools(cx, call, answer.doc);
}

/* body empty: it is removed. */
static status
change(struct ctx *cx, const struct cli_call *call, const char *method, str body, const char *done)
{
	struct client_answer answer;
	const struct json *u;
	struct buf b;

	TRY(find(cx, call, call->arguments[1], &u));
	TRY(client_ask(cx, call, method, path_of(cx, u, NULL), body, &answer));
	if (cli_given(call, "json", NULL))
		return client_print_json(cx, &answer);
	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	buf_printf(&b, "%s: %.*s\n", done, STR_ARG(shown_line(cx->arena, text_of(answer.doc, "name"))));
	return client_print(cx, STDOUT_FILENO, &b);
}

/* --- the command --- */

static status
run_named(struct ctx *cx, const struct cli_call *call, str verb, bool *out_known)
{
	*out_known = true;
	if (str_eq(verb, STR("tools")))
		return show_tools(cx, call, "GET", "/tools");
	if (str_eq(verb, STR("refresh")))
		return show_tools(cx, call, "POST", "/refresh");
	if (str_eq(verb, STR("remove")))
		return change(cx, call, "DELETE", (str){ 0 }, "Removed, with its tools and credentials");
	if (str_eq(verb, STR("disable")))
		return change(cx, call, "PATCH", STR("{\"disabled\":true}"), "Switched off");
	if (str_eq(verb, STR("enable")))
		return change(cx, call, "PATCH", STR("{\"disabled\":false}"), "Switched on");
	*out_known = false;
	return OK;
}

status
run_upstream(struct ctx *cx, const struct cli_call *call)
{
	size_t n = call->argument_count;
	str verb = n ? call->arguments[0] : (str){ 0 };
	bool known = false;

	if (n == 1 && str_eq(verb, STR("list")))
		return list(cx, call);
	if (n >= 2 && str_eq(verb, STR("add")))
		return add(cx, call);
	if (n >= 3 && str_eq(verb, STR("accept")))
		return accept(cx, call);
	if (n == 3 && str_eq(verb, STR("refuse")))
		return refuse(cx, call);
	if (n == 2)
		TRY(run_named(cx, call, verb, &known));
	if (known)
		return OK;
	return fail(cx, E_INVALID,
		"upstream what? `upstream list`, `add NAME`, `tools NAME`, `refresh NAME`, `accept NAME TOOL "
		"...`, "
		"`refuse NAME TOOL`, `disable NAME`, `enable NAME` or `remove NAME`");
}
