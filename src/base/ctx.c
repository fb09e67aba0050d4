/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ctx.h"

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
}

void
fail_issue(struct ctx *cx, str path, str message)
{
	if (cx->error.issue_count < ISSUES_MAX)
		cx->error.issues[cx->error.issue_count++] = (struct issue){ path, message };
}

void
ctx_clear(struct ctx *cx)
{
	cx->error = (struct error){ .code = OK };
}

str
ctx_message(const struct ctx *cx, status s)
{
	if (cx->error.code == s && cx->error.message.len)
		return cx->error.message;
	return str_of(status_info(s)->sentence);
}
