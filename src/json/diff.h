/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: what changed between two documents, field by field.
 *
 * A change is {path, before, after}: before is NULL where something was added,
 * after where it was removed. Objects are compared by sorted key, arrays by
 * index; the order of changes is the order of paths in that walk, so the same
 * two documents always give the same list. Equal values (json_equal) are no change.
 */
#ifndef JSON_DIFF_H
#define JSON_DIFF_H

#include "json/json.h"
#include "json/out.h"

struct change {
	str path;
	const struct json *before, *after;
};

struct diff {
	struct change *changes;
	size_t count;
};

/* E_TOO_LARGE  more changes than the arena's cap allows */
status
diff_make(struct ctx *cx, const struct json *before, const struct json *after, struct diff *out) MUST_USE;

/* [{"path":…,"before":…,"after":…}, …]; before or after is left out where it is NULL. */
void diff_out(struct json_out *o, const char *key, const struct diff *d);

#endif
