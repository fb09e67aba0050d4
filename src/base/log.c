/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};
#define LEVELS (sizeof(level_names) / sizeof(level_names[0]))

static _Atomic int lowest = LOG_INFO;
static _Atomic int target = STDERR_FILENO;

static bool
is_plain(str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f)
			return false;
	}
	return s.len > 0;
}

static void
add_quoted(struct buf *b, str s)
{
	/* what is not UTF-8, and every control character, is shown byte by byte */
	bool utf8 = str_is_utf8(s);

	buf_add_char(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
			buf_printf(b, "\\x%02x", c);
		else
			buf_add_char(b, (char)c);
	}
	buf_add_char(b, '"');
}

static bool
is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* What stands behind cs_<kind>_ is starred out: a token that somebody has put into a path by mistake. */
static void
hide_secrets(char *p, size_t len)
{
	for (size_t i = 0; i + 3 < len; i++) {
		size_t at = i + 3;

		if (memcmp(p + i, "cs_", 3) != 0)
			continue;
		while (at < len && is_word(p[at]))
			at++;
		if (at == len || p[at] != '_')
			continue;
		for (at++; at < len && (is_word(p[at]) || p[at] == '_'); at++)
			p[at] = '*';
	}
}

void
log_write(enum log_level level, const char *event, const struct log_field *fields)
{
	struct arena arena;
	struct buf b;
	str line;
	ssize_t written;

	if (!log_wants(level))
		return;
	arena_init(&arena, 4 * LIMIT_LOG_LINE);
	buf_init(&b, &arena, LIMIT_LOG_LINE - 1);
	buf_add(&b, STR("time="));
	buf_add(&b, clock_text(&arena, clock_now_us()));
	buf_printf(&b, " level=%s event=%s", level_names[level], event);
	for (const struct log_field *f = fields; f->key; f++) {
		buf_printf(&b, " %s=", f->key);
		if (f->is_int)
			buf_add_int(&b, f->number);
		else if (is_plain(f->text))
			buf_add(&b, f->text);
		else
			add_quoted(&b, f->text);
	}
	hide_secrets(b.ptr, b.len);
	/* a line that was too long is cut, but it is still one line, written by one call */
	line = arena_printf(&arena, "%.*s\n", STR_ARG(buf_str(&b)));
	written = write(atomic_load(&target), line.ptr, line.len);
	(void)written; /* a log that cannot be written has nobody to tell */
	arena_done(&arena);
}

bool
log_wants(enum log_level level)
{
	return (int)level >= atomic_load_explicit(&lowest, memory_order_relaxed);
}

void
log_set_level(enum log_level level)
{
	atomic_store(&lowest, (int)level);
}

bool
log_level_of(str text, enum log_level *out_level)
{
	for (size_t i = 0; i < LEVELS; i++) {
		if (str_eq(text, str_of(level_names[i]))) {
			*out_level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

void
log_set_fd(int fd)
{
	atomic_store(&target, fd);
}
