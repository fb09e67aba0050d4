/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap: the gate in front of an MCP server that a client starts, in the line by which it starts it.
 *
 *	client --stdio--> countersign wrap --HTTP--> Countersign --stdio--> the program, in its sandbox
 *
 * Without a token of COUNTERSIGN_TOKEN the Countersign is one of the user's own, which the first wrap starts and the
 * last one ends (place.h); with one it is the server of the settings. Standard output is the client's; what people
 * should know goes to standard error.
 */
#include "app/app.h"
#include "app/bridge/bridge.h"
#include "app/client/client.h"
#include "app/wrap/confines.h"
#include "app/wrap/line.h"
#include "app/wrap/place.h"
#include "base/hash/sha256.h"

#include <unistd.h>

#define UPSTREAMS "/api/v1/upstreams"
#define NAMES	  9u /* of programs that would be called the same */

const struct cli_flag wrap_flags[] = {
	{ .name = "name",
		.value = "NAME",
		.doc = "What it is called here; its tools are mcp__NAME__TOOL. Without it, after what it "
		       "runs." },
	LINE_FLAGS,
	{ .name = "unconfined", .doc = "Without a sandbox: it may do whatever you may." },
	{ 0 },
};

/* A wrap on its way. */
struct wrap {
	const struct cli_call *call;
	struct line line;
	struct place *place; /* NULL: the server of the settings */
	str id, name;
	str agent; /* as whom the client acts at the server of the settings; empty: as the one of the place */
	bool added;
};

/* --- asking --- */

static const struct json *
find(const struct json *list, str name)
{
	const struct json *all = part_of(list, "upstreams");

	for (const struct json *u = all ? all->child : NULL; u; u = u->next)
		if (str_eq(text_of(u, "name"), name))
			return u;
	return NULL;
}

static status
list(struct ctx *cx, const struct wrap *w, const struct json **out)
{
	struct client_answer answer;

	TRY(client_ask(cx, w->call, "GET", STR(UPSTREAMS), (str){ 0 }, &answer));
	*out = answer.doc;
	return OK;
}

static status
add(struct ctx *cx, struct wrap *w, str name)
{
	struct client_answer answer;
	str body;

	TRY(line_body(cx, &w->line, name, &body));
	TRY(client_ask(cx, w->call, "POST", STR(UPSTREAMS), body, &answer));
	w->id = text_of(answer.doc, "id");
	w->name = name;
	w->added = true;
	return OK;
}

static status
drop(struct ctx *cx, const struct wrap *w, str id)
{
	struct client_answer answer;

	return client_ask(
		cx, w->call, "DELETE", client_path(cx->arena, UPSTREAMS "/", id, NULL), (str){ 0 }, &answer);
}

/* --- a server of our own: the name --- */

static str
nth(struct ctx *cx, const struct line *l, unsigned n)
{
	return n == 1 ? l->name : arena_printf(cx->arena, "%.*s-%u", STR_ARG(l->name), n);
}

/* Is it this program's already? Then it is used as it is, by as many as want to. */
static status
reuse(struct ctx *cx, struct wrap *w, const struct json *all, str digest, bool *out_done)
{
	for (unsigned n = 1; n <= (w->line.named ? 1 : NAMES); n++) {
		str name = nth(cx, &w->line, n), was;
		const struct json *u = find(all, name);
		bool alone;

		if (!u)
			continue;
		TRY(place_name(cx, w->place, name, &was, &alone));
		if (!str_eq(was, digest))
			continue;
		w->id = text_of(u, "id");
		w->name = name;
		*out_done = true;
		return place_keep_name(cx, w->place, (str){ 0 });
	}
	*out_done = false;
	return OK;
}

/* A name that nobody uses now. What had it is another program: it goes, and with it what was accepted of it. */
static status
occupy(struct ctx *cx, struct wrap *w, const struct json *all, str digest)
{
	for (unsigned n = 1; n <= (w->line.named ? 1 : NAMES); n++) {
		str name = nth(cx, &w->line, n), was;
		const struct json *u = find(all, name);
		bool alone;

		TRY(place_name(cx, w->place, name, &was, &alone));
		if (!alone || (u && !was.len)) /* in use, or not one of ours */
			continue;
		if (u)
			TRY(drop(cx, w, text_of(u, "id")));
		TRY(add(cx, w, name));
		return place_keep_name(cx, w->place, digest);
	}
	return fail(cx, E_CONFLICT,
		"the name \"%.*s\" is another server's now; give this one another with --name",
		STR_ARG(shown_line(cx->arena, w->line.name)));
}

static str
digest_of(struct ctx *cx, const struct line *l, str salt)
{
	str body;

	/* what it is told and what it is granted: all but its name */
	return line_body(cx, l, salt, &body) == OK ? sha256_hex(cx->arena, body) : STR("");
}

/* npx would fetch everything again each time. */
static status
give_home(struct ctx *cx, struct wrap *w)
{
	str home;

	if (!w->line.fetches)
		return OK;
	TRY(place_home(cx, w->place, digest_of(cx, &w->line, STR("home")), &home));
	TRY(line_grant(cx, &w->line, home, true));
	return line_variable(cx, &w->line, STR("HOME"), home);
}

static status
check_place(struct ctx *cx, const struct wrap *w)
{
	const struct line_grant *g = line_touches(cx, &w->line, w->place->dir);

	if (g)
		return fail(cx, E_INVALID,
			"%.*s and Countersign's own data in %.*s are in one another: a program that sees "
			"that "
			"needs nobody's approval; put the data elsewhere with --data, or name a smaller "
			"folder",
			STR_ARG(shown_line(cx->arena, g->path)), STR_ARG(w->place->dir));
	return OK;
}

static status
register_own(struct ctx *cx, struct wrap *w)
{
	const struct json *all;
	str digest, body;
	bool done;

	cx->app->config.server = w->place->at.url;
	cx->app->config.token = w->place->admin_token;
	TRY(give_home(cx, w));
	for (size_t i = 0; i < w->line.grant_count; i++) /* who runs wrap is the operator of its server */
		TRY(confines_list(cx, w->place->dir, w->line.grants[i].path, w->line.grants[i].writable));
	TRY(line_body(cx, &w->line, STR(""), &body));
	TRY(confines_program(cx, w->place->dir, body));
	digest = digest_of(cx, &w->line, STR(""));
	TRY(list(cx, w, &all));
	TRY(reuse(cx, w, all, digest, &done));
	return done ? OK : occupy(cx, w, all, digest);
}

/* --- a server of somebody's: what is registered there --- */

/* So that a shell takes it for one word. */
static void
quote(struct buf *b, str word)
{
	buf_add(b, STR(" '"));
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] == '\'')
			buf_add(b, STR("'\\''"));
		else
			buf_add_char(b, word.ptr[i]);
	}
	buf_add_char(b, '\'');
}

/* What an admin has to run. */
static status
ask_admin(struct ctx *cx, const struct line *l)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE / 2);
	for (size_t i = 0; i < l->grant_count; i++) {
		buf_add(&b, l->grants[i].writable ? STR(" --write") : STR(" --read"));
		quote(&b, l->grants[i].path);
	}
	buf_add(&b, l->network ? STR(" --allow-network --") : STR(" --no-network --"));
	for (size_t i = 0; i < l->argc; i++)
		quote(&b, l->argv[i]);
	return fail(cx, E_FORBIDDEN,
		"there is no upstream server \"%.*s\" at %.*s, and this token may not add one; an admin "
		"runs: "
		"countersign upstream add '%.*s'%.*s",
		STR_ARG(l->name), STR_ARG(cx->app->config.server), STR_ARG(l->name),
		STR_ARG(shown_line(cx->arena, buf_str(&b))));
}

static status
check_same(struct ctx *cx, const struct wrap *w, const struct json *u)
{
	struct json *ours;
	str body;

	TRY(line_body(cx, &w->line, w->line.name, &body));
	TRY(json_parse(cx, body, &ours));
	if (!part_of(u, "program") || !json_equal(part_of(u, "program"), part_of(ours, "program")))
		return fail(cx, E_CONFLICT,
			"the upstream server \"%.*s\" at %.*s is another program, or is granted something "
			"else; "
			"an admin removes it with `countersign upstream remove`, or you give this one "
			"another "
			"--name",
			STR_ARG(w->line.name), STR_ARG(cx->app->config.server));
	return OK;
}

/* What the client does with a person's token would be done by that person. */
static status
check_agent(struct ctx *cx, struct wrap *w)
{
	struct client_answer me;
	str name;

	TRY(client_ask(cx, w->call, "GET", STR("/api/v1/me"), (str){ 0 }, &me));
	name = shown_line(cx->arena, text_of(me.doc, "name"));
	if (str_eq(text_of(me.doc, "kind"), STR("user")))
		return fail(cx, E_FORBIDDEN,
			"the token of COUNTERSIGN_TOKEN is of %.*s, a person, and the client would act as "
			"them: give "
			"wrap an agent's (`countersign token mint --for AGENT`), or none to have a server of "
			"your own",
			STR_ARG(name));
	w->agent = name;
	return OK;
}

static status
register_there(struct ctx *cx, struct wrap *w)
{
	const struct json *all, *u;
	status s;

	TRY(check_agent(cx, w));
	TRY(list(cx, w, &all));
	u = find(all, w->line.name);
	if (!u) {
		s = add(cx, w, w->line.name);
		return s == E_FORBIDDEN ? ask_admin(cx, &w->line) : s;
	}
	TRY(check_same(cx, w, u));
	w->id = text_of(u, "id");
	w->name = w->line.name;
	return OK;
}

/* --- its tools --- */

/* Asks the program itself, which so is started; who may not do that sees what was found before. */
static status
look(struct ctx *cx, struct wrap *w, const struct json **out)
{
	struct client_answer answer;
	status s = client_ask(cx, w->call, "POST", client_path(cx->arena, UPSTREAMS "/", w->id, "/refresh"),
		(str){ 0 }, &answer);

	if (s == E_FORBIDDEN) {
		ctx_clear(cx);
		s = client_ask(cx, w->call, "GET", client_path(cx->arena, UPSTREAMS "/", w->id, "/tools"),
			(str){ 0 }, &answer);
	}
	if (s == OK) {
		*out = part_of(answer.doc, "tools");
		return OK;
	}
	return s;
}

/* A line that never worked leaves nothing behind. */
static status
take_back(struct ctx *cx, const struct wrap *w, status s)
{
	str why = ctx_message(cx, s);

	if (w->added && drop(cx, w, w->id) != OK)
		ctx_clear(cx);
	return fail(
		cx, s, "%.*s does not run as an MCP server: %.*s", STR_ARG(w->line.argv[0]), STR_ARG(why));
}

static size_t
count(const struct json *tools, const char *state)
{
	size_t n = 0;

	for (const struct json *t = tools ? tools->child : NULL; t; t = t->next)
		n += str_eq(text_of(t, "state"), str_of(state));
	return n;
}

static str
tools_line(struct ctx *cx, const struct json *tools)
{
	size_t accepted = count(tools, "accepted"), waiting = count(tools, "quarantined");

	return arena_printf(cx->arena,
		waiting ? "%zu accepted; %zu that no agent sees before an admin accepts them"
			: "%zu accepted",
		accepted, waiting);
}

/* Everything that an admin should know before any of it is allowed. */
static status
tell(struct ctx *cx, const struct wrap *w, const struct json *tools)
{
	str server = cx->app->config.server;
	bool confined = !w->place || !str_eq(w->place->at.programs, STR("unconfined"));
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	buf_printf(&b, "%.*s is behind Countersign's gate.\n", STR_ARG(w->name));
	line_tell(cx, &w->line, confined, &b);
	shown_field(&b, "Tools", tools_line(cx, tools));
	if (w->agent.len)
		shown_field(&b, "Acts as",
			arena_printf(
				cx->arena, "%.*s, whose token is in COUNTERSIGN_TOKEN", STR_ARG(w->agent)));
	shown_whole(&b, "Console", server);
	if (w->place)
		shown_whole(&b, "Sign in",
			arena_printf(cx->arena, "as the first admin; %.*s/first.json says how",
				STR_ARG(w->place->dir)));
	return client_print(cx, STDERR_FILENO, &b);
}

/* --- the command --- */

/* Wraps share one server: whoever notices first that it has gone starts it again. */
static status
revive(struct ctx *cx, void *arg)
{
	struct place *p = arg;

	TRY(place_revive(cx, p));
	cx->app->config.server = p->at.url;
	cx->app->config.token = p->agent_token;
	return OK;
}

static status
go(struct ctx *cx, struct wrap *w)
{
	const struct json *tools;
	status s = look(cx, w, &tools);

	if (s != OK)
		return take_back(cx, w, s);
	TRY(tell(cx, w, tools));
	if (w->place)
		cx->app->config.token = w->place->agent_token;
	return bridge_run(cx,
		&(struct bridge_options){ .only = arena_printf(cx->arena, "mcp__%.*s__", STR_ARG(w->name)),
			.revive = w->place ? revive : NULL,
			.arg = w->place });
}

static status
go_with_own(struct ctx *cx, struct wrap *w, bool unconfined)
{
	TRY(check_place(cx, w));
	TRY(place_serve(cx, w->place, unconfined));
	TRY(register_own(cx, w));
	place_ready(w->place);
	return go(cx, w);
}

status
run_wrap(struct ctx *cx, const struct cli_call *call)
{
	bool unconfined = cli_given(call, "unconfined", NULL);
	struct wrap w = { .call = call };
	struct place place;
	str name = { 0 };
	status s;

	(void)cli_given(call, "name", &name);
	TRY(line_read(cx, call, 0, name, &w.line));
	if (cx->app->config.token.len) {
		if (unconfined)
			return fail(cx, E_INVALID,
				"--unconfined is for a server that wrap starts; the one of COUNTERSIGN_TOKEN "
				"has "
				"its own setting stdio-upstreams");
		TRY(register_there(cx, &w));
		return go(cx, &w);
	}
	TRY(place_enter(cx, &place));
	w.place = &place;
	s = go_with_own(cx, &w, unconfined);
	place_leave(&place);
	return s;
}
