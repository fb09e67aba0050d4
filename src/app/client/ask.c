/* SPDX-License-Identifier: Apache-2.0 */
#include "app/client/client.h"

#include "base/limits.h"
#include "base/scoped.h"
#include "core/card/visible.h"
#include "http/client.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '_' || c == '.' || c == '~';
}

str
client_path(struct arena *a, const char *before, str id, const char *after)
{
	struct buf b;

	buf_init(&b, a, LIMIT_HTTP_TARGET);
	buf_add(&b, str_of(before));
	for (size_t i = 0; i < id.len; i++) {
		if (is_plain(id.ptr[i]) && !(id.ptr[i] == '.' && id.len < 3)) /* "..": no step up */
			buf_add_char(&b, id.ptr[i]);
		else
			buf_printf(&b, "%%%02X", (unsigned char)id.ptr[i]);
	}
	buf_add(&b, str_of(after));
	return buf_str(&b);
}

/* --- errors --- */

/* The row of the table that has this code. What was wrong with the input is not wrong with the command line.
 */
static status
status_of(str code)
{
	for (status s = E_BAD_REQUEST; s < STATUS_COUNT; s++)
		if (str_eq(code, str_of(status_info(s)->code)))
			return s == E_INVALID ? E_BAD_REQUEST : s;
	return E_UNAVAILABLE;
}

static const char *
advice(const struct config *c, status s)
{
	switch (s) {
	case E_UNAUTHENTICATED:
		if (c->email.len)
			return "; they are COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD";
		return "; give a token that is valid with COUNTERSIGN_TOKEN";
	case E_VIEW:
		return "; run the command again to see it";
	case E_STEP_UP:
		return "; run the command again to sign in anew";
	default:
		return "";
	}
}

/* The envelope as one sentence: its message, and what was wrong where. */
static status
refuse(struct ctx *cx, const struct json *doc)
{
	const struct json *fields = part_of(doc, "fields");
	str code = text_of(doc, "code"), message = text_of(doc, "message");
	status s = status_of(code);
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_add(&b, shown_line(cx->arena, message));
	if (fields)
		JSON_EACH (issue, fields) {
			str path = text_of(issue, "path"), what = text_of(issue, "message");

			if (str_starts(message, path) && str_ends(message, what))
				continue; /* said already */
			buf_printf(&b, "; %.*s %.*s", STR_ARG(shown_line(cx->arena, path)),
				STR_ARG(shown_line(cx->arena, what)));
		}
	return fail(cx, s, "%.*s (%.*s)%s", STR_ARG(buf_str(&b)), STR_ARG(shown_line(cx->arena, code)),
		advice(&cx->app->config, s));
}

static status
unreachable(struct ctx *cx)
{
	str server = cx->app->config.server, why = ctx_message(cx, E_UNAVAILABLE);

	return fail(cx, E_UNAVAILABLE,
		"the server at %.*s cannot be reached (%.*s); start it with `countersign serve`, or say "
		"where "
		"it is with --server or COUNTERSIGN_SERVER",
		STR_ARG(server), STR_ARG(shown_line(cx->arena, why)));
}

static status
stranger(struct ctx *cx, int number)
{
	return fail(cx, E_UNAVAILABLE,
		"what answers at %.*s is not Countersign (HTTP %d, and no answer of its form); say where the "
		"server is with --server or COUNTERSIGN_SERVER",
		STR_ARG(cx->app->config.server), number);
}

/* --- asking --- */

status
client_send(struct ctx *cx, const char *method, str path, str body, const struct http_client_field *fields,
	size_t field_count, struct http_client_answer *out)
{
	const struct config *c = &cx->app->config;
	struct http_client_request r = {
		.method = method, .body = body, .fields = fields, .field_count = field_count
	};
	str server = c->server;
	status s;

	if (!field_count)
		r.bearer = c->token;
	while (str_ends(server, STR("/")))
		server.len--;
	r.url = arena_printf(cx->arena, "%.*s%.*s", STR_ARG(server), STR_ARG(path));
	if (c->server_ca.len)
		r.ca_file = arena_cstr(cx->arena, c->server_ca);
	s = http_client_run(cx, &r, out);
	return s == E_UNAVAILABLE ? unreachable(cx) : s;
}

static bool
is_envelope(const struct json *doc)
{
	return doc && doc->type == JSON_OBJECT && text_of(doc, "code").len && text_of(doc, "message").len;
}

/* *out holds the envelope, too, where it was refused. */
status
client_answered(struct ctx *cx, const struct http_client_answer *got, struct client_answer *out)
{
	out->text = got->body;
	if (json_parse_stored(cx, got->body, &out->doc) != OK || out->doc->type != JSON_OBJECT)
		return stranger(cx, got->status);
	if (got->status / 100 == 2)
		return OK;
	if (!is_envelope(out->doc))
		return stranger(cx, got->status);
	return refuse(cx, out->doc);
}

status
client_ask(struct ctx *cx, const struct cli_call *call, const char *method, str path, str body,
	struct client_answer *out)
{
	struct http_client_field fields[CLIENT_FIELDS];
	struct client_answer answer = { .doc = NULL };
	struct http_client_answer got;
	size_t count;
	status s;

	TRY(client_sign_in(cx, fields, &count));
	if (!count && !cx->app->config.token.len)
		return fail(cx, E_INVALID,
			"there is no token; put one into COUNTERSIGN_TOKEN (`init` shows the first two, "
			"`token mint` "
			"makes more)");
	TRY(client_send(cx, method, path, body, fields, count, &got));
	s = client_answered(cx, &got, &answer);
	if (s != OK && is_envelope(answer.doc) && cli_given(call, "json", NULL)) {
		struct error said = cx->error;

		TRY(client_print_json(cx, &answer));
		cx->error = said;
	}
	TRY(s);
	*out = answer;
	return OK;
}

/* --- reading --- */

static status
read_all(struct ctx *cx, int fd, const char *name, size_t most, str *out)
{
	struct buf b;
	ssize_t n = 1;

	buf_init(&b, cx->arena, most);
	while (n > 0 && !b.overflow) {
		char piece[4096];

		n = read(fd, piece, sizeof(piece));
		if (n > 0)
			buf_add(&b, (str){ piece, (size_t)n });
	}
	if (n < 0)
		return fail(cx, E_UNAVAILABLE, "%s cannot be read: %s", name, strerror(errno));
	if (b.overflow)
		return fail(cx, E_INVALID, "%s is larger than %zu bytes", name, most);
	*out = buf_str(&b);
	return OK;
}

status
client_read(struct ctx *cx, const char *name, size_t most, str *out)
{
	if (str_eq(str_of(name), STR("-")))
		return read_all(cx, STDIN_FILENO, "standard input", most, out);
	scoped_fd fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(cx, E_UNAVAILABLE, "%s cannot be read: %s", name, strerror(errno));
	return read_all(cx, fd, name, most, out);
}

/* --- printing --- */

status
client_print(struct ctx *cx, int fd, const struct buf *b)
{
	unsigned found = 0;
	struct buf safe;
	str text;

	TRY(buf_finish(b, &text));
	buf_init(&safe, cx->arena, LIMIT_HTTP_ANSWER);
	buf_add(&safe, visible_text(cx->arena, text, &found)); /* the last word, whatever a command forgot */
	return app_print_to(cx, fd, &safe);
}

status
client_print_json(struct ctx *cx, const struct client_answer *answer)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	buf_add(&b, answer->text);
	if (!str_ends(answer->text, STR("\n")))
		buf_add_char(&b, '\n');
	return isatty(STDOUT_FILENO) ? client_print(cx, STDOUT_FILENO, &b) : app_print(cx, &b);
}

status
client_confirm(struct ctx *cx, const char *question)
{
	char answer[16];
	struct buf b;
	ssize_t n;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	buf_printf(&b, "\n%s Type yes: ", question);
	TRY(app_print_to(cx, STDERR_FILENO, &b));
	n = read(STDIN_FILENO, answer, sizeof(answer));
	if (n < 0 || !str_eq((str){ answer, (size_t)n }, STR("yes\n")))
		return fail(cx, E_CONFLICT, "nothing was decided");
	return OK;
}
