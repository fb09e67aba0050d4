/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/lines.h"

#include "base/check.h"

#include <stdlib.h>

#define OUTBURST_US  INT64_C(1000000) /* silence for so long: what was said before is another story */
#define SECRET_LEAST 6u /* a shorter value is a word: starring it out would hide nothing and garble much */

void
lines_init(struct lines *l, size_t max, bool cuts, lines_fn *fn, void *arg)
{
	l->len = 0;
	l->max = max;
	l->cuts = cuts;
	l->skips = false;
	l->fn = fn;
	l->arg = arg;
}

void
lines_done(struct lines *l)
{
	free(l->bytes);
	*l = (struct lines){ 0 };
}

static void
end_line(struct lines *l)
{
	if (l->len && l->bytes[l->len - 1] == '\r')
		l->len--;
	if (l->len)
		l->fn(l->arg, (str){ l->bytes, l->len });
	l->len = 0;
}

static void
grow(struct lines *l, size_t more)
{
	size_t room = l->room ? l->room : 4096;
	char *longer;

	while (room < l->len + more)
		room *= 2;
	if (room == l->room)
		return;
	longer = realloc(l->bytes, room);
	CHECK(longer); /* no memory */
	l->bytes = longer;
	l->room = room;
}

/* A piece without an end of line in it. */
static bool
add(struct lines *l, str piece)
{
	size_t fits = piece.len < l->max - l->len ? piece.len : l->max - l->len;

	if (!piece.len || l->skips)
		return true;
	grow(l, fits + 1);
	memcpy(l->bytes + l->len, piece.ptr, fits);
	l->len += fits;
	if (fits == piece.len)
		return true;
	l->skips = l->cuts;
	return l->cuts;
}

bool
lines_feed(struct lines *l, str bytes)
{
	str piece;

	while (str_cut(bytes, '\n', &piece, &bytes)) {
		if (!add(l, piece))
			return false;
		end_line(l);
		l->skips = false;
	}
	return add(l, bytes);
}

/* --- showing --- */

/* The length of the secret that text begins with; 0: none. */
static size_t
secret_at(str text, const struct http_client_field *secrets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (secrets[i].value.len >= SECRET_LEAST && str_starts(text, secrets[i].value))
			return secrets[i].value.len;
	return 0;
}

void
lines_show(str line, const struct http_client_field *secrets, size_t count, char *room, size_t size)
{
	size_t at = 0;

	while (line.len) {
		size_t secret = secret_at(line, secrets, count), n = str_utf8_sequence(line);
		str shown = { line.ptr, n };

		if (secret)
			shown = STR("***");
		else if (!n || (n == 1 && (line.ptr[0] < ' ' || line.ptr[0] == 0x7f)))
			shown = STR("?");
		if (at + shown.len >= size)
			break;
		memcpy(room + at, shown.ptr, shown.len);
		at += shown.len;
		line = str_skip(line, secret ? secret : n ? n : 1);
	}
	room[at] = '\0';
}

/* --- last words --- */

/* How much a line helps who has to find out why: "ValueError: x" more than the line that threw it. */
static int
rank(str line)
{
	static const char *const named[] = { "error: ", "exception: ", "panic: ", "fatal: ", NULL };
	static const char *const hinted[] = { "error", "exception", "panic", "fatal", "cannot", "not found",
		"no such", "denied", "failed", NULL };

	for (size_t i = 0; named[i]; i++)
		if (str_has_nocase(line, str_of(named[i])))
			return 2;
	for (size_t i = 0; hinted[i]; i++)
		if (str_has_nocase(line, str_of(hinted[i])))
			return 1;
	return 0;
}

static void
copy(char *room, size_t size, str line)
{
	size_t n = line.len < size ? line.len : size - 1;

	memcpy(room, line.ptr, n);
	room[n] = '\0';
}

void
last_words_hear(struct last_words *w, str line, int64_t now_us)
{
	int r = rank(line);

	if (now_us - w->heard_us > OUTBURST_US) {
		w->rank = 0;
		w->telling[0] = '\0';
	}
	w->heard_us = now_us;
	copy(w->last, sizeof(w->last), line);
	if (r <= w->rank)
		return;
	w->rank = r;
	copy(w->telling, sizeof(w->telling), line);
}
