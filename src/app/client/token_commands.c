/* SPDX-License-Identifier: Apache-2.0 */
/* countersign token: mint, list, revoke, against a running server. */
#include "app/client/client.h"

#include "base/limits.h"
#include "core/id.h"
#include "json/out.h"

#include <unistd.h>

#define TOKENS "/api/v1/tokens"
#define AGENTS "/api/v1/agents?limit=200"

const struct cli_flag token_flags[] = {
	{ .name = "for", .value = "ID|NAME", .doc = "mint: the agent or service that will use it." },
	{ .name = "level",
		.value = "LEVEL",
		.doc = "mint: observer, proposer, operator, maintainer or admin." },
	{ .name = "rules", .value = "RULE,...", .doc = "mint: single rules." },
	{ .name = "environments", .value = "ID,...|all", .doc = "mint: where it may act." },
	{ .name = "keys", .value = "KEY,...|all", .doc = "mint: on what; `payments.*` is a prefix." },
	{ .name = "actions", .value = "VERB,...", .doc = "mint: the only verbs it may use." },
	{ .name = "cidrs", .value = "CIDR,...", .doc = "mint: where it may come from." },
	{ .name = "ttl", .value = "SECONDS", .doc = "mint: how long it lives: an hour to 90 days." },
	{ .name = "mode",
		.value = "MODE",
		.fallback = "approve",
		.doc = "mint: auto applies at once what policy allows." },
	{ .name = "voting", .doc = "mint: one of your own that may vote, for an hour." },
	{ .name = "override", .doc = "mint: yes, this agent is to have the level admin." },
	{ .name = "after", .value = "ID", .doc = "list: go on where the page before ended." },
	{ .name = "json", .doc = "Print the server's JSON as it is." },
	{ 0 },
};

/* --- mint --- */

/* The flag that says it, and the member that the server knows it by. */
static const struct wish {
	const char *flag, *member;
	enum { TEXT_WISH, LIST_WISH, NUMBER_WISH, SWITCH_WISH } type;
} wishes[] = {
	{ "for", "principalId", TEXT_WISH },
	{ "level", "level", TEXT_WISH },
	{ "rules", "rules", LIST_WISH },
	{ "environments", "environments", LIST_WISH },
	{ "keys", "keys", LIST_WISH },
	{ "actions", "actions", LIST_WISH },
	{ "cidrs", "cidrs", LIST_WISH },
	{ "ttl", "ttlSeconds", NUMBER_WISH },
	{ "mode", "mode", TEXT_WISH },
	{ "voting", "forVoting", SWITCH_WISH },
	{ "override", "override", SWITCH_WISH },
};

/* "a,b" -> ["a","b"]; "all" is a word of its own. */
static void
write_list(struct json_out *o, const char *member, str text)
{
	str item;

	if (str_eq(text, STR("all"))) {
		json_out_str(o, member, text);
		return;
	}
	json_out_array(o, member);
	while (str_cut(text, ',', &item, &text))
		json_out_str(o, NULL, str_trim(item));
	json_out_str(o, NULL, str_trim(text));
	json_out_end(o);
}

/* The only agent of that name; without one, the server says that it has none. */
static status
write_named(struct ctx *cx, const struct cli_call *call, const char *member, str name, struct json_out *o)
{
	struct client_answer agents;
	const struct json *all;
	str id = { 0 };

	TRY(client_ask(cx, call, "GET", STR(AGENTS), (str){ 0 }, &agents));
	if (text_of(agents.doc, "next").len)
		return fail(cx, E_INVALID, "--for: there are too many agents to go by a name; give its id");
	all = part_of(agents.doc, "items");
	for (const struct json *one = all ? all->child : NULL; one; one = one->next) {
		if (!str_eq(text_of(one, "name"), name))
			continue;
		if (id.len)
			return fail(cx, E_INVALID, "--for: more than one agent has this name; give its id");
		id = text_of(one, "id");
	}
	json_out_str(o, member, id.len ? id : name);
	return OK;
}

static status
write_wish(struct ctx *cx, const struct cli_call *call, const struct wish *w, struct json_out *o)
{
	int64_t n = 0;
	str text;

	if (!cli_given(call, w->flag, &text))
		return OK;
	if (w->type == NUMBER_WISH && !str_to_int(text, &n))
		return fail(cx, E_INVALID, "--%s is a number", w->flag);
	if (w->type == NUMBER_WISH)
		json_out_int(o, w->member, n);
	else if (w->type == LIST_WISH)
		write_list(o, w->member, text);
	else if (w->type == SWITCH_WISH)
		json_out_bool(o, w->member, true);
	else if (strcmp(w->flag, "for") == 0 && !id_valid(text))
		return write_named(cx, call, w->member, text, o);
	else
		json_out_str(o, w->member, text);
	return OK;
}

static status
tell_minted(struct ctx *cx, const struct json *t)
{
	const struct json *warnings = part_of(t, "warnings");
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	shown_whole(&b, "Token", text_of(t, "token"));
	shown_field(&b, "", STR("It is shown here and never again."));
	shown_field(&b, "Id", text_of(t, "id"));
	shown_field(&b, "Name", text_of(t, "name"));
	shown_field(&b, "For",
		arena_printf(cx->arena, "%.*s (%.*s)", STR_ARG(text_of(t, "principalName")),
			STR_ARG(text_of(t, "principalKind"))));
	shown_field(&b, "Expires", text_of(t, "expiresAt"));
	if (text_of(t, "voteUntil").len)
		shown_field(&b, "May vote",
			arena_printf(cx->arena, "until %.*s", STR_ARG(text_of(t, "voteUntil"))));
	if (warnings)
		JSON_EACH (warning, warnings)
			shown_field(&b, "WARNING", warning->text);
	return client_print(cx, STDOUT_FILENO, &b);
}

static status
mint(struct ctx *cx, const struct cli_call *call, str name)
{
	struct client_answer answer;
	struct json_out o;
	struct buf b;
	str body;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "name", name);
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		TRY(write_wish(cx, call, &wishes[i], &o));
	json_out_end(&o);
	TRY(buf_finish(&b, &body));
	TRY(client_ask(cx, call, "POST", STR(TOKENS), body, &answer));
	return cli_given(call, "json", NULL) ? client_print_json(cx, &answer) : tell_minted(cx, answer.doc);
}

/* --- list --- */

static status
print_list(struct ctx *cx, const struct json *doc)
{
	const struct json *list = part_of(doc, "items");
	str next = text_of(doc, "next");
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	buf_printf(&b, "%-38s%-9s%-14s%-12s%-29s%-20s%s\n", "ID", "STATE", "HINT", "LEVEL", "EXPIRES", "FOR",
		"NAME");
	if (list)
		JSON_EACH (t, list) {
			str level = text_of(t, "level"), client = text_of(t, "clientId");

			shown_cell(&b, text_of(t, "id"), 38);
			shown_cell(&b, text_of(t, "revokedAt").len ? STR("revoked") : STR("minted"), 9);
			shown_cell(&b, text_of(t, "hint"), 14);
			shown_cell(&b, level.len ? level : STR("rules"), 12);
			shown_cell(&b, text_of(t, "expiresAt"), 29);
			shown_cell(&b, text_of(t, "principalName"), 20);
			buf_add(&b, shown_line(cx->arena, text_of(t, "name")));
			if (client.len)
				buf_printf(&b, " (OAuth: %.*s)", STR_ARG(shown_line(cx->arena, client)));
			buf_add_char(&b, '\n');
		}
	if (next.len)
		buf_printf(&b, "There are more: --after %.*s\n", STR_ARG(shown_line(cx->arena, next)));
	return client_print(cx, STDOUT_FILENO, &b);
}

static status
list(struct ctx *cx, const struct cli_call *call)
{
	struct client_answer answer;
	str path = STR(TOKENS), after;

	if (cli_given(call, "after", &after))
		path = client_path(cx->arena, TOKENS "?after=", after, NULL);
	TRY(client_ask(cx, call, "GET", path, (str){ 0 }, &answer));
	return cli_given(call, "json", NULL) ? client_print_json(cx, &answer) : print_list(cx, answer.doc);
}

/* --- revoke --- */

static status
revoke_one(struct ctx *cx, const struct cli_call *call, str id)
{
	struct client_answer answer;
	struct buf b;

	TRY(client_ask(
		cx, call, "DELETE", client_path(cx->arena, TOKENS "/", id, NULL), (str){ 0 }, &answer));
	if (cli_given(call, "json", NULL))
		return client_print_json(cx, &answer);
	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	buf_printf(&b, "Revoked: %.*s, with those minted from it.\n",
		STR_ARG(shown_json(cx, part_of(answer.doc, "revoked"))));
	return client_print(cx, STDOUT_FILENO, &b);
}

status
run_token(struct ctx *cx, const struct cli_call *call)
{
	str verb = call->argument_count ? call->arguments[0] : (str){ 0 };

	if (call->argument_count == 2 && call->arguments[1].len) {
		if (str_eq(verb, STR("mint")))
			return mint(cx, call, call->arguments[1]);
		if (str_eq(verb, STR("revoke")))
			return revoke_one(cx, call, call->arguments[1]);
	}
	if (call->argument_count == 1 && str_eq(verb, STR("list")))
		return list(cx, call);
	return fail(cx, E_INVALID, "token what? `token mint NAME`, `token list` or `token revoke ID`");
}
