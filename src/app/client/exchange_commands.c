/* SPDX-License-Identifier: Apache-2.0 */
/* countersign export, import: an environment as a file, and a file as a proposal (docs/import.md). */
#include "app/client/client.h"

#include "base/limits.h"
#include "base/scoped.h"
#include "domain/flag/exchange/exchange.h"
#include "json/out.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define ENVIRONMENTS "/api/v1/environments"

/* --- which environment --- */

/* 8-4-4-4-12 digits; everything else is a slug. */
static bool
is_id(str text)
{
	return text.len == 36 && text.ptr[8] == '-' && text.ptr[13] == '-' && text.ptr[18] == '-' &&
	       text.ptr[23] == '-';
}

/* Of one page; *out_id is empty where it is not there. */
static status
find_slug(struct ctx *cx, const struct json *page, str slug, str *id)
{
	const struct json *items = part_of(page, "items");

	if (items)
		JSON_EACH (e, items) {
			if (!str_eq(text_of(e, "slug"), slug))
				continue;
			if (id->len)
				return fail(cx, E_INVALID,
					"two environments are called %.*s, %.*s and %.*s: say which by its "
					"id",
					STR_ARG(shown_line(cx->arena, slug)),
					STR_ARG(shown_line(cx->arena, *id)),
					STR_ARG(shown_line(cx->arena, text_of(e, "id"))));
			*id = text_of(e, "id");
		}
	return OK;
}

static status
find_environment(struct ctx *cx, const struct cli_call *call, str *out_id)
{
	struct client_answer answer;
	str given, next = { 0 }, id = { 0 };

	if (!cli_given(call, "env", &given) || !given.len)
		return fail(cx, E_INVALID, "%s which environment? Say its id or slug with --env",
			call->command->name);
	if (is_id(given)) {
		*out_id = given;
		return OK;
	}
	do {
		str path = next.len ? client_path(cx->arena, ENVIRONMENTS "?after=", next, NULL)
				    : STR(ENVIRONMENTS);

		TRY(client_ask(cx, call, "GET", path, (str){ 0 }, &answer));
		TRY(find_slug(cx, answer.doc, given, &id));
		next = text_of(answer.doc, "next");
	} while (next.len);
	if (!id.len)
		return fail(cx, E_NOT_FOUND, "there is no environment called %.*s",
			STR_ARG(shown_line(cx->arena, given)));
	*out_id = id;
	return OK;
}

/* --- files --- */

/* The file was read, and is not what it should be: not a mistake of the command line. */
static status
wrong_file(struct ctx *cx, const char *name, status s)
{
	if (s != E_INVALID && s != E_BAD_JSON && s != E_TOO_LARGE)
		return s;
	return fail(cx, E_BAD_REQUEST, "%.*s: %.*s", STR_ARG(shown_line(cx->arena, str_of(name))),
		STR_ARG(shown_line(cx->arena, ctx_message(cx, s))));
}

static status
write_file(struct ctx *cx, const char *name, const struct buf *b)
{
	scoped_fd fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		return fail(cx, E_UNAVAILABLE, "%s cannot be written: %s", name, strerror(errno));
	return app_print_to(cx, fd, b);
}

/* To a terminal only what does not harm it. */
static status
print_text(struct ctx *cx, str text)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_STORED_BYTES);
	buf_add(&b, text);
	return isatty(STDOUT_FILENO) ? client_print(cx, STDOUT_FILENO, &b) : app_print(cx, &b);
}

/* --- export --- */

const struct cli_flag export_flags[] = {
	{ .name = "env", .value = "ID|SLUG", .doc = "The environment." },
	{ .name = "out", .value = "FILE", .doc = "Write there, not to standard output." },
	{ 0 },
};

static status
ask_export(struct ctx *cx, const struct cli_call *call, str id, struct exchange *out)
{
	struct client_answer answer;

	TRY(client_ask(cx, call, "GET", client_path(cx->arena, "/api/v1/envs/", id, "/export"), (str){ 0 },
		&answer));
	return wrong_file(cx, "what the server says",
		exchange_read(cx, EXCHANGE_COUNTERSIGN, answer.doc, (str){ 0 }, out));
}

status
run_export(struct ctx *cx, const struct cli_call *call)
{
	struct exchange e;
	struct buf b;
	str id, text, name;

	TRY(find_environment(cx, call, &id));
	TRY(ask_export(cx, call, id, &e));
	TRY(exchange_write(cx, e.ruleset, &text));
	if (!cli_given(call, "out", &name))
		return print_text(cx, text);
	buf_init(&b, cx->arena, LIMIT_JSON_STORED_BYTES);
	buf_add(&b, text);
	return write_file(cx, arena_cstr(cx->arena, name), &b);
}

/* --- import --- */

const struct cli_flag import_flags[] = {
	{ .name = "env", .value = "ID|SLUG", .doc = "The environment." },
	{ .name = "format",
		.value = "FORMAT",
		.fallback = "countersign",
		.doc = "What the file is: countersign, flagd or unleash." },
	{ .name = "skip-unsupported", .doc = "Leave out what cannot be expressed, and say so." },
	{ .name = "prune", .doc = "What the file has not is deleted from the project." },
	{ .name = "spot-check",
		.value = "JSON|@FILE",
		.doc = "An array of contexts: the card says what each gets now and then." },
	{ .name = "intent", .value = "TEXT", .doc = "What for, in your own words; shown as such." },
	{ .name = "print", .doc = "Print the file as one of ours, and ask for nothing." },
	{ .name = "target-field",
		.value = "FIELD",
		.doc = "Where a context says who it is; the environment's unless said." },
	{ .name = "json", .doc = "Print the server's JSON as it is." },
	{ 0 },
};

/* Each remark in a line on standard error. */
static status
tell_remarks(struct ctx *cx, const struct exchange *e)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_STORED_BYTES);
	for (const struct exchange_remark *r = e->remarks; r; r = r->next)
		buf_printf(&b, "%s %.*s: %.*s %.*s\n", r->refused ? "refused" : "note",
			STR_ARG(shown_line(cx->arena, r->item.len ? r->item : STR("the file"))),
			STR_ARG(shown_line(cx->arena, r->path)), STR_ARG(shown_line(cx->arena, r->message)));
	return b.len ? client_print(cx, STDERR_FILENO, &b) : OK;
}

/* The environment's target field, which only flagd's files need to know. */
static status
find_target_field(
	struct ctx *cx, const struct cli_call *call, str env_id, enum exchange_format format, str *out)
{
	struct exchange live;

	*out = STR("userId");
	if (cli_given(call, "target-field", out) || format == EXCHANGE_COUNTERSIGN || !env_id.len)
		return OK;
	TRY(ask_export(cx, call, env_id, &live));
	*out = text_of(live.ruleset, "targetField");
	return OK;
}

static status
read_file(struct ctx *cx, const struct cli_call *call, str env_id, struct exchange *out)
{
	const char *name = arena_cstr(cx->arena, call->arguments[0]);
	enum exchange_format format = EXCHANGE_COUNTERSIGN;
	struct json *file;
	str text, field, given;

	if (cli_given(call, "format", &given) && !exchange_format_find(given, &format))
		return fail(cx, E_INVALID, "--format is countersign, flagd or unleash");
	TRY(client_read(cx, name, LIMIT_JSON_STORED_BYTES, &text));
	TRY(find_target_field(cx, call, env_id, format, &field));
	TRY(wrong_file(cx, name, json_parse_stored(cx, text, &file)));
	TRY(wrong_file(cx, name, exchange_read(cx, format, file, field, out)));
	TRY(tell_remarks(cx, out));
	if (out->refusals && !cli_given(call, "skip-unsupported", NULL))
		return fail(cx, E_CONFLICT,
			"%zu of the file cannot be expressed; --skip-unsupported leaves them out",
			out->refusals);
	return OK;
}

/* An array of contexts: as it is, or from @FILE. */
static status
read_contexts(struct ctx *cx, const struct cli_call *call, struct json **out)
{
	str given, text;

	*out = NULL;
	if (!cli_given(call, "spot-check", &given))
		return OK;
	text = given;
	if (str_starts(given, STR("@")))
		TRY(client_read(cx, arena_cstr(cx->arena, str_skip(given, 1)), LIMIT_HTTP_BODY, &text));
	if (json_parse(cx, text, out) != OK || (*out)->type != JSON_ARRAY)
		return fail(cx, E_INVALID, "--spot-check is an array of contexts");
	return OK;
}

static status
write_proposal(struct ctx *cx, const struct cli_call *call, str env_id, const struct json *ruleset, str *out)
{
	bool prune = cli_given(call, "prune", NULL);
	struct json *contexts;
	struct json_out o;
	struct buf b;
	str intent;

	TRY(read_contexts(cx, call, &contexts));
	buf_init(&b, cx->arena, LIMIT_JSON_STORED_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "tool", prune ? STR("flag.import_exact") : STR("flag.import"));
	json_out_object(&o, "input");
	json_out_str(&o, "envId", env_id);
	json_out_object(&o, "ruleset");
	json_out_str(&o, "countersign", STR(EXCHANGE_VERSION));
	JSON_EACH (m, ruleset) {
		json_out_key(&o, m->key);
		json_out_value(&o, NULL, m);
	}
	json_out_end(&o);
	if (contexts)
		json_out_value(&o, "spotCheck", contexts);
	json_out_end(&o);
	if (cli_given(call, "intent", &intent)) {
		json_out_object(&o, "intent");
		json_out_str(&o, "summary", intent);
		json_out_end(&o);
	}
	json_out_end(&o);
	TRY(buf_finish(&b, out));
	if (out->len > LIMIT_HTTP_BODY)
		return fail(cx, E_TOO_LARGE, "as a request the file has %zu bytes, and the server takes %zu",
			out->len, (size_t)LIMIT_HTTP_BODY);
	return OK;
}

status
run_import(struct ctx *cx, const struct cli_call *call)
{
	bool print = cli_given(call, "print", NULL);
	struct client_answer answer;
	struct exchange e;
	str id = { 0 }, text;

	if (!call->argument_count || !call->arguments[0].len)
		return fail(cx, E_INVALID, "import what? It needs a file; - is standard input");
	if (!print || cli_given(call, "env", NULL))
		TRY(find_environment(cx, call, &id));
	TRY(read_file(cx, call, id, &e));
	if (print) {
		TRY(exchange_write(cx, e.ruleset, &text));
		return print_text(cx, text);
	}
	TRY(write_proposal(cx, call, id, e.ruleset, &text));
	TRY(client_ask(cx, call, "POST", STR("/api/v1/proposals"), text, &answer));
	return client_proposed(cx, call, &answer);
}
