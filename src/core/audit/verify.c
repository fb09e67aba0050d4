/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/verify.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/audit/export.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>

/* --- lines of a file --- */

#define CHUNK (1u * MIB)

struct reader {
	int fd;
	char *buffer; /* many lines; none is as long as this */
	size_t at, len, room;
	bool end;
};

static status
fill(struct ctx *cx, struct reader *r)
{
	ssize_t n;

	memmove(r->buffer, r->buffer + r->at, r->len - r->at);
	r->len -= r->at;
	r->at = 0;
	n = read(r->fd, r->buffer + r->len, r->room - r->len);
	if (n < 0)
		return errno == EINTR
			       ? OK
			       : fail(cx, E_UNAVAILABLE, "the export cannot be read: %s", strerror(errno));
	r->end = n == 0;
	r->len += (size_t)n;
	return OK;
}

/* The next line without its end. *out_more false: the file is at its end. A problem is set for what is no
 * line. */
static status
next_line(struct ctx *cx, struct reader *r, str *out_line, bool *out_more, const char **out_problem)
{
	for (;;) {
		str rest = { r->buffer + r->at, r->len - r->at };
		const char *end = rest.len ? memchr(rest.ptr, '\n', rest.len) : NULL;

		if (end) {
			*out_line = (str){ rest.ptr, (size_t)(end - rest.ptr) };
			r->at += out_line->len + 1;
			*out_more = true;
			return OK;
		}
		*out_more = false;
		if (r->end) {
			*out_problem = rest.len ? "the last line is cut off" : NULL;
			return OK;
		}
		if (rest.len == r->room) {
			*out_problem = "a line is longer than any entry can be";
			return OK;
		}
		TRY(fill(cx, r));
	}
}

/* --- the first line --- */

struct header {
	str key, note;
};

/* What an export begins with, byte for byte: nothing in it may be changed unnoticed. */
static bool
read_header(struct ctx *cx, str line, struct header *out)
{
	const struct json *note, *key;
	struct json *doc;
	str again;

	if (json_parse(cx, line, &doc) != OK) {
		ctx_clear(cx);
		return false;
	}
	note = json_get(doc, STR("checkpoint"));
	key = json_get(doc, STR("key"));
	if (!note || !key || note->type != JSON_STRING || key->type != JSON_STRING)
		return false;
	*out = (struct header){ .key = arena_str(cx->arena, key->text),
		.note = arena_str(cx->arena, note->text) };
	again = audit_export_header(cx->arena, out->key, out->note);
	return again.len == line.len + 1 && memcmp(again.ptr, line.ptr, line.len) == 0;
}

static bool
is_selection(struct ctx *cx, str line)
{
	const struct json *kind;
	struct json *doc;

	if (json_parse(cx, line, &doc) != OK) {
		ctx_clear(cx);
		return false;
	}
	kind = json_get(doc, STR("countersign"));
	return kind && kind->type == JSON_STRING && str_eq(kind->text, STR(AUDIT_SELECTION));
}

/* --- the verification --- */

struct check {
	struct audit_report *report;
	struct checkpoint_key key;
	struct checkpoint claimed, held;
	bool has_held;
	struct merkle_edge edge;
};

__attribute__((format(printf, 3, 4))) static void
problem(struct ctx *cx, struct audit_report *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!r->problem.len)
		r->problem = arena_vprintf(cx->arena, format, args);
	va_end(args);
}

/* Opens a checkpoint; a wrong one is a problem. */
static bool
open_note(struct ctx *cx, struct check *c, const char *what, str note, struct checkpoint *out)
{
	if (checkpoint_open(cx, note, &c->key, out) != OK) {
		problem(cx, c->report, "%s: %.*s", what, STR_ARG(ctx_message(cx, E_INVALID)));
		ctx_clear(cx);
		return false;
	}
	c->report->checkpoints++;
	return true;
}

/* Key and checkpoints, before any entry is looked at. */
static status
begin(struct ctx *cx, struct check *c, const struct header *h, str key, str held)
{
	struct audit_report *r = c->report;
	status s = checkpoint_key_parse(cx, key.len ? key : h->key, &c->key);

	if (s != OK && key.len)
		return s;
	if (s != OK) {
		problem(cx, r, "the public key in the export is not one");
		ctx_clear(cx);
		return OK;
	}
	r->key = arena_str(cx->arena, key.len ? key : h->key);
	r->origin = arena_str(cx->arena, c->key.name);
	if (key.len && !str_eq(key, h->key))
		problem(cx, r, "the export names another public key than the one given");
	if (!open_note(cx, c, "the export's checkpoint", h->note, &c->claimed))
		return OK;
	c->has_held = held.len && open_note(cx, c, "the held checkpoint", held, &c->held);
	if (c->has_held && c->held.size > c->claimed.size)
		problem(cx, r,
			"the log was cut or rolled back: the export ends at %" PRIu64
			" entries, the held checkpoint was signed at %" PRIu64,
			c->claimed.size, c->held.size);
	return OK;
}

static void
check_root(struct ctx *cx, struct check *c, const struct checkpoint *at, const char *what)
{
	struct merkle_hash root;

	merkle_root(&c->edge, &root);
	if (!merkle_equal(&root, &at->root))
		problem(cx, c->report,
			"entries were changed: the first %" PRIu64 " do not give the root of %s", at->size,
			what);
}

static void
add_leaf(struct ctx *cx, struct check *c, str line)
{
	struct merkle_done done[MERKLE_LEVELS];
	struct merkle_hash leaf;

	merkle_leaf(line, &leaf);
	(void)merkle_append(&c->edge, &leaf, done);
	if (c->has_held && c->edge.size == c->held.size)
		check_root(cx, c, &c->held, "the held checkpoint");
}

/* The entries. Stops at the first problem. */
static status
walk(struct ctx *cx, struct check *c, struct reader *r)
{
	const char *wrong = NULL;
	str line;
	bool more;

	if (c->has_held && c->held.size == 0)
		check_root(cx, c, &c->held, "the held checkpoint");
	while (!c->report->problem.len) {
		TRY(next_line(cx, r, &line, &more, &wrong));
		if (!more)
			break;
		if (c->edge.size == c->claimed.size) {
			problem(cx, c->report,
				"there are more entries than the checkpoint says (%" PRIu64 ")",
				c->claimed.size);
			return OK;
		}
		add_leaf(cx, c, line);
	}
	c->report->entries = (int64_t)c->edge.size;
	if (wrong)
		problem(cx, c->report, "%s", wrong);
	if (c->edge.size != c->claimed.size)
		problem(cx, c->report,
			"entries are missing: there are %" PRIu64 ", the checkpoint says %" PRIu64,
			c->edge.size, c->claimed.size);
	check_root(cx, c, &c->claimed, "the checkpoint");
	return OK;
}

static status
verify(struct ctx *cx, struct reader *r, str key, str held, struct audit_report *report)
{
	struct check *c = ARENA_NEW(cx->arena, struct check);
	const char *wrong = NULL;
	struct header h;
	str line;
	bool more;

	c->report = report;
	TRY(next_line(cx, r, &line, &more, &wrong));
	if (more && is_selection(cx, line)) {
		problem(cx, report,
			"this is a selection of the log, made for an agent or a token that does not see all "
			"of it; it "
			"cannot be verified: export the log as a person who sees all of it");
		return OK;
	}
	if (!more || !read_header(cx, line, &h)) {
		problem(cx, report, "the file does not begin as an export of an audit log does");
		return OK;
	}
	TRY(begin(cx, c, &h, key, held));
	if (report->problem.len)
		return OK;
	report->root = base64_text(cx->arena, c->claimed.root.bytes, MERKLE_HASH);
	return walk(cx, c, r);
}

status
audit_verify_file(struct ctx *cx, const char *path, str key, str held, struct audit_report *report)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct reader r = { .fd = fd, .room = CHUNK };
	struct audit_report found = { .key_given = key.len > 0, .held_given = held.len > 0 };

	CHECK(sodium_init() >= 0);
	if (fd < 0)
		return fail(cx, errno == ENOENT ? E_NOT_FOUND : E_UNAVAILABLE, "%s cannot be opened: %s",
			path, strerror(errno));
	r.buffer = arena_alloc(cx->arena, CHUNK);
	TRY(verify(cx, &r, key, held, &found));
	*report = found;
	return OK;
}
