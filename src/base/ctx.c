/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ctx.h"

#include "base/check.h"
#include "base/limits.h"

#define ISSUES_MAX (sizeof(((struct error *)0)->issues) / sizeof(struct issue))

void
ctx_init(struct ctx *cx, struct arena *a)
{
	*cx = (struct ctx){ .arena = a };
}

void
fail_describe(struct ctx *cx, status code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cx->error.message = arena_vprintf(cx->arena, format, args);
	va_end(args);
	if (cx->error.message.len > LIMIT_ERROR_MESSAGE)
		cx->error.message.len = LIMIT_ERROR_MESSAGE;
	cx->error.code = code;
	cx->error.details = (str){ NULL, 0 };
}

void
fail_details(struct ctx *cx, str object)
{
	cx->error.details = object;
}

void
fail_issue(struct ctx *cx, str path, str message)
{
	if (cx->error.issue_count < ISSUES_MAX)
		cx->error.issues[cx->error.issue_count++] = (struct issue){ path, message };
}

status
fail_below(struct ctx *cx, str part, status s)
{
	struct error *e = &cx->error;

	if (s != E_INVALID || e->code != s || e->issue_count == 0)
		return s;
	for (size_t i = 0; i < e->issue_count; i++)
		e->issues[i].path =
			arena_printf(cx->arena, "%.*s%.*s", STR_ARG(part), STR_ARG(e->issues[i].path));
	return fail(cx, s, "%.*s %.*s", STR_ARG(e->issues[0].path), STR_ARG(e->issues[0].message));
}

void
ctx_header(struct ctx *cx, const char *name, str value)
{
	size_t at = 0;

	while (at < cx->header_count && strcmp(cx->headers[at].name, name) != 0)
		at++;
	CHECK(at < CTX_HEADERS);
	cx->headers[at] = (struct answer_header){ name, value };
	if (at == cx->header_count)
		cx->header_count++;
}

void
ctx_header_add(struct ctx *cx, const char *name, str value)
{
	CHECK(cx->header_count < CTX_HEADERS);
	cx->headers[cx->header_count++] = (struct answer_header){ name, value };
}

void
ctx_clear(struct ctx *cx)
{
	/* the issues beyond the count mean nothing: this is called for every part of every request */
	cx->error.code = OK;
	cx->error.message = cx->error.details = (str){ NULL, 0 };
	cx->error.issue_count = 0;
}

str
ctx_message(const struct ctx *cx, status s)
{
	if (cx->error.code == s && cx->error.message.len)
		return cx->error.message;
	return str_of(status_info(s)->sentence);
}
