/* SPDX-License-Identifier: Apache-2.0 */
/* countersign propose, proposals, approve, deny, apply: against a running server. */
#include "app/client/client.h"

#include "base/limits.h"
#include "json/out.h"

#include <unistd.h>

#define PROPOSALS "/api/v1/proposals"

#define JSON_FLAG                                                                                            \
	{                                                                                                    \
		.name = "json", .doc = "Print the server's JSON as it is."                                   \
	}

/* --- what is read --- */

/* JSON as it is, @FILE, or - for standard input. */
static status
read_input(struct ctx *cx, str given, str *out)
{
	bool file = str_starts(given, STR("@"));

	*out = given;
	if (!file && !str_eq(given, STR("-")))
		return OK;
	return client_read(cx, arena_cstr(cx->arena, str_skip(given, file)), LIMIT_HTTP_BODY, out);
}

static status
need_argument(struct ctx *cx, const struct cli_call *call, const char *what, str *out)
{
	if (!call->argument_count || !call->arguments[0].len)
		return fail(cx, E_INVALID, "%s what? It needs %s: `" PROGRAM " %s%s`", call->command->name,
			what, call->command->name, call->command->arguments);
	*out = call->arguments[0];
	return OK;
}

/* --- what is said --- */

/* A person reads where it is in its life; awaiting_operator is for models. */
static str
state_of(const struct json *p)
{
	str state = text_of(p, "state");

	return state.len ? state : text_of(p, "status");
}

/* What became of it. A failure is an error: scripts look at the exit code. */
static status
tell_state(struct ctx *cx, const struct json *p, struct buf *b)
{
	const struct json *result = part_of(p, "result");

	buf_printf(b, "Proposal %.*s is %.*s (%.*s).\n",
		STR_ARG(shown_line(cx->arena, text_of(p, "proposalId"))),
		STR_ARG(shown_line(cx->arena, state_of(p))),
		STR_ARG(card_votes(cx, part_of(p, "approvals"))));
	if (result)
		buf_printf(b, "Result: %.*s\n", STR_ARG(shown_json(cx, result)));
	return client_print(cx, STDOUT_FILENO, b);
}

static status
check_outcome(struct ctx *cx, const struct json *p)
{
	const struct json *refused = part_of(p, "apply");
	str state = text_of(p, "status");

	if (refused)
		return fail(cx, E_CONFLICT, "the vote counts, but it was not applied: %.*s (%.*s)",
			STR_ARG(shown_line(cx->arena, text_of(refused, "message"))),
			STR_ARG(shown_line(cx->arena, text_of(refused, "code"))));
	if (str_eq(state, STR("failed")) || str_eq(state, STR("unknown")))
		return fail(cx, E_CONFLICT, "applying it ended as %.*s: %.*s", STR_ARG(state),
			STR_ARG(shown_line(cx->arena, text_of(p, "error"))));
	return OK;
}

static status
finish(struct ctx *cx, const struct cli_call *call, const struct client_answer *answer)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	if (cli_given(call, "json", NULL))
		TRY(client_print_json(cx, answer));
	else
		TRY(tell_state(cx, answer->doc, &b));
	return check_outcome(cx, answer->doc);
}

/* --- propose --- */

const struct cli_flag propose_flags[] = {
	{ .name = "input",
		.value = "JSON|@FILE|-",
		.fallback = "{}",
		.doc = "What the tool takes; - reads standard input." },
	{ .name = "intent", .value = "TEXT", .doc = "What for, in your own words; shown as such." },
	{ .name = "key",
		.value = "KEY",
		.doc = "An idempotency key: the same request with the same key is made once." },
	{ .name = "expires", .value = "SECONDS", .fallback = "600", .doc = "How long it can be decided." },
	JSON_FLAG,
	{ 0 },
};

static status
write_proposal(struct ctx *cx, const struct cli_call *call, const struct json *input, str *out)
{
	struct json_out o;
	struct buf b;
	str text;
	int64_t seconds;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "tool", call->arguments[0]);
	json_out_value(&o, "input", input);
	if (cli_given(call, "intent", &text)) {
		json_out_object(&o, "intent");
		json_out_str(&o, "summary", text);
		json_out_end(&o);
	}
	if (cli_given(call, "key", &text))
		json_out_str(&o, "idempotencyKey", text);
	if (cli_given(call, "expires", &text)) {
		if (!str_to_int(text, &seconds))
			return fail(cx, E_INVALID, "--expires is a number of seconds");
		json_out_int(&o, "expiresInSeconds", seconds);
	}
	json_out_end(&o);
	return buf_finish(&b, out);
}

static status
tell_proposed(struct ctx *cx, const struct json *p)
{
	str id = shown_line(cx->arena, text_of(p, "proposalId")), token = text_of(p, "token");
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	shown_field(&b, "Summary", text_of(p, "summary"));
	shown_field(&b, "Risk", text_of(part_of(p, "risk"), "level"));
	shown_field(&b, "Expires", text_of(p, "expiresAt"));
	if (token.len)
		shown_whole(&b, "Apply token", token);
	if (str_eq(state_of(p), STR("pending")))
		buf_printf(&b, "Somebody else decides now: " PROGRAM " approve %.*s\n", STR_ARG(id));
	if (str_eq(state_of(p), STR("approved")))
		buf_printf(&b, "Nothing has happened yet; to do it: " PROGRAM " apply %.*s\n", STR_ARG(id));
	TRY(tell_state(cx, p, &b));
	return check_outcome(cx, p);
}

status
client_proposed(struct ctx *cx, const struct cli_call *call, const struct client_answer *answer)
{
	return cli_given(call, "json", NULL) ? finish(cx, call, answer) : tell_proposed(cx, answer->doc);
}

status
run_propose(struct ctx *cx, const struct cli_call *call)
{
	str given = STR("{}"), text, body, tool;
	struct client_answer answer;
	struct json *input;

	TRY(need_argument(cx, call, "the name of a tool", &tool));
	(void)cli_given(call, "input", &given);
	TRY(read_input(cx, given, &text));
	if (json_parse(cx, text, &input) != OK)
		return fail(cx, E_INVALID, "--input is not JSON: %.*s",
			STR_ARG(shown_line(cx->arena, ctx_message(cx, cx->error.code))));
	TRY(write_proposal(cx, call, input, &body));
	TRY(client_ask(cx, call, "POST", STR(PROPOSALS), body, &answer));
	return client_proposed(cx, call, &answer);
}

/* --- proposals --- */

const struct cli_flag proposals_flags[] = {
	{ .name = "status",
		.value = "STATUS",
		.doc = "Only those that are pending, approved, applied, denied, ..." },
	{ .name = "cursor", .value = "CURSOR", .doc = "Go on where the page before ended." },
	JSON_FLAG,
	{ 0 },
};

static status
list_path(struct ctx *cx, const struct cli_call *call, str *out)
{
	str path = STR(PROPOSALS), text;

	if (cli_given(call, "status", &text))
		path = client_path(cx->arena, PROPOSALS "?status=", text, NULL);
	if (cli_given(call, "cursor", &text))
		path = client_path(cx->arena,
			arena_printf(cx->arena, "%.*s%ccursor=", STR_ARG(path),
				str_find(path, '?') < path.len ? '&' : '?')
				.ptr,
			text, NULL);
	*out = path;
	return OK;
}

static status
print_list(struct ctx *cx, const struct json *doc)
{
	const struct json *list = part_of(doc, "proposals");
	str next = text_of(doc, "nextCursor");
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	if (!list || !list->count)
		buf_add(&b, STR("There are no such proposals.\n"));
	else
		buf_printf(&b, "%-38s%-11s%-8s%-29s%-20s%s\n", "ID", "STATUS", "RISK", "EXPIRES", "TOOL",
			"SUMMARY");
	if (list)
		JSON_EACH (p, list) {
			shown_cell(&b, text_of(p, "proposalId"), 38);
			shown_cell(&b, text_of(p, "status"), 11);
			shown_cell(&b, text_of(part_of(p, "risk"), "level"), 8);
			shown_cell(&b, text_of(p, "expiresAt"), 29);
			shown_cell(&b, text_of(p, "tool"), 20);
			buf_add(&b, shown_line(cx->arena, text_of(p, "summary")));
			buf_add_char(&b, '\n');
		}
	if (next.len)
		buf_printf(&b, "There are more: --cursor %.*s\n", STR_ARG(shown_line(cx->arena, next)));
	return client_print(cx, STDOUT_FILENO, &b);
}

static status
print_one(struct ctx *cx, int fd, const struct json *p)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	card_show(cx, &b, p);
	if (client_print(cx, fd, &b) == E_TOO_LARGE)
		return fail(cx, E_TOO_LARGE, "the card is too large for a terminal; look at it with --json");
	return OK;
}

status
run_proposals(struct ctx *cx, const struct cli_call *call)
{
	struct client_answer answer;
	str path;

	if (call->argument_count)
		path = client_path(cx->arena, PROPOSALS "/", call->arguments[0], NULL);
	else
		TRY(list_path(cx, call, &path));
	TRY(client_ask(cx, call, "GET", path, (str){ 0 }, &answer));
	if (cli_given(call, "json", NULL))
		return client_print_json(cx, &answer);
	return call->argument_count ? print_one(cx, STDOUT_FILENO, answer.doc) : print_list(cx, answer.doc);
}

/* --- approve, deny --- */

const struct cli_flag approve_flags[] = {
	{ .name = "apply", .doc = "Apply it, too, where this was the last vote it needed." },
	{ .name = "yes", .doc = "Do not ask." },
	JSON_FLAG,
	{ 0 },
};
const struct cli_flag deny_flags[] = {
	{ .name = "reason", .value = "TEXT", .doc = "Why; everybody who sees the proposal sees it." },
	JSON_FLAG,
	{ 0 },
};

/* Fetches the proposal and prints its card: *out_hash is of exactly what was printed. */
static status
see(struct ctx *cx, const struct cli_call *call, str id, str *out_hash)
{
	str path = client_path(cx->arena, PROPOSALS "/", id, NULL);
	struct client_answer answer;
	str hash;

	TRY(client_ask(cx, call, "GET", path, (str){ 0 }, &answer));
	TRY(card_check(cx, answer.doc, &hash));
	TRY(print_one(cx, cli_given(call, "json", NULL) ? STDERR_FILENO : STDOUT_FILENO, answer.doc));
	*out_hash = hash;
	return OK;
}

static status
vote(struct ctx *cx, const struct cli_call *call, const char *verb, str hash)
{
	struct client_answer answer;
	struct json_out o;
	str body, reason;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "viewHash", hash);
	if (cli_given(call, "apply", NULL))
		json_out_bool(&o, "apply", true);
	if (cli_given(call, "reason", &reason))
		json_out_str(&o, "reason", reason);
	json_out_end(&o);
	TRY(buf_finish(&b, &body));
	TRY(client_ask(cx, call, "POST", client_path(cx->arena, PROPOSALS "/", call->arguments[0], verb),
		body, &answer));
	return finish(cx, call, &answer);
}

status
run_approve(struct ctx *cx, const struct cli_call *call)
{
	bool yes = cli_given(call, "yes", NULL);
	str id, hash;

	TRY(need_argument(cx, call, "the id of a proposal", &id));
	if (!yes && !isatty(STDIN_FILENO))
		return fail(cx, E_INVALID, "approve asks on a terminal; where there is none, say --yes");
	TRY(see(cx, call, id, &hash));
	if (!yes)
		TRY(client_confirm(cx, "Approve exactly this?"));
	return vote(cx, call, "/approve", hash);
}

status
run_deny(struct ctx *cx, const struct cli_call *call)
{
	str id, hash;

	TRY(need_argument(cx, call, "the id of a proposal", &id));
	TRY(see(cx, call, id, &hash));
	return vote(cx, call, "/deny", hash);
}

/* --- apply --- */

const struct cli_flag apply_flags[] = {
	JSON_FLAG,
	{ 0 },
};

static status
apply_token(struct ctx *cx, const struct cli_call *call, str token)
{
	struct client_answer answer;
	struct json_out o;
	struct buf b;
	str body;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "token", token);
	json_out_end(&o);
	TRY(buf_finish(&b, &body));
	TRY(client_ask(cx, call, "POST", STR(PROPOSALS "/apply"), body, &answer));
	return finish(cx, call, &answer);
}

status
run_apply(struct ctx *cx, const struct cli_call *call)
{
	struct client_answer answer;
	str what, path;

	TRY(need_argument(cx, call, "an id or a token", &what));
	if (str_eq(what, STR("-"))) {
		TRY(client_read(cx, "-", LIMIT_HTTP_BODY, &what));
		while (str_ends(what, STR("\n")))
			what.len--;
	}
	if (str_starts(what, STR("propose:")))
		return apply_token(cx, call, what);
	path = client_path(cx->arena, PROPOSALS "/", what, "/apply");
	TRY(client_ask(cx, call, "POST", path, STR("{}"), &answer));
	return finish(cx, call, &answer);
}
