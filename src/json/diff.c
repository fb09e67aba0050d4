/* SPDX-License-Identifier: Apache-2.0 */
#include "json/diff.h"

#include "base/limits.h"
#include "base/meter/meter.h"
#include "json/pointer.h"

#define FIRST_ROOM   16u
#define CHANGE_STEPS 5u	 /* of a change that is noted ... */
#define BYTES_A_STEP 32u /* ... and of its path, which is copied */

struct walk {
	struct ctx *cx;
	struct buf path; /* of the values that are being compared */
	struct change *changes;
	size_t count, room;
};

static status
too_large(struct walk *w)
{
	return fail(w->cx, E_TOO_LARGE, "the difference takes more memory than one request may use");
}

static status
make_room(struct walk *w)
{
	size_t room = w->room ? w->room * 2 : FIRST_ROOM;
	struct change *more = ARENA_TRY_ARRAY(w->cx->arena, struct change, room);

	if (!more)
		return too_large(w);
	if (w->count)
		memcpy(more, w->changes, w->count * sizeof(*more));
	w->changes = more;
	w->room = room;
	return OK;
}

static status
add_change(struct walk *w, const struct json *before, const struct json *after)
{
	char *path;

	TRY(meter_spend(w->cx, CHANGE_STEPS + w->path.len / BYTES_A_STEP));
	if (w->count == w->room)
		TRY(make_room(w));
	path = arena_try_bytes(w->cx->arena, w->path.len);
	if (!path || w->path.overflow)
		return too_large(w);
	if (w->path.len)
		memcpy(path, w->path.ptr, w->path.len);
	w->changes[w->count++] = (struct change){ { path, w->path.len }, before, after };
	return OK;
}

static status compare(struct walk *w, const struct json *before, const struct json *after);

/* Members in sorted order on both sides, like two people reading two lists aloud. */
static status
compare_objects(struct walk *w, const struct json *before, const struct json *after)
{
	const struct json **old = json_sorted(w->cx->arena, before);
	const struct json **new = json_sorted(w->cx->arena, after);
	size_t path_len = w->path.len;
	uint32_t i = 0, j = 0;

	if (!old || !new)
		return too_large(w);
	while (i < before->count || j < after->count) {
		int order = i == before->count	? 1
			    : j == after->count ? -1
						: json_key_cmp(old[i]->key, new[j]->key);

		pointer_add_key(&w->path, order <= 0 ? old[i]->key : new[j]->key);
		TRY(compare(w, order <= 0 ? old[i] : NULL, order >= 0 ? new[j] : NULL));
		w->path.len = path_len;
		i += order <= 0;
		j += order >= 0;
	}
	return OK;
}

static status
compare_arrays(struct walk *w, const struct json *before, const struct json *after)
{
	const struct json *old = before->child, *new = after->child;
	size_t path_len = w->path.len;

	for (int64_t index = 0; old || new; index++) {
		buf_add_char(&w->path, '/');
		buf_add_int(&w->path, index);
		TRY(compare(w, old, new));
		w->path.len = path_len;
		old = old ? old->next : NULL;
		new = new ? new->next : NULL;
	}
	return OK;
}

static status
compare(struct walk *w, const struct json *before, const struct json *after)
{
	if (!before || !after || before->type != after->type)
		return add_change(w, before, after);
	if (before->type == JSON_OBJECT)
		return compare_objects(w, before, after);
	if (before->type == JSON_ARRAY)
		return compare_arrays(w, before, after);
	return json_equal(before, after) ? OK : add_change(w, before, after);
}

status
diff_make(struct ctx *cx, const struct json *before, const struct json *after, struct diff *out)
{
	struct walk w = { .cx = cx };

	buf_init(&w.path, cx->arena, LIMIT_JSON_BYTES);
	TRY(compare(&w, before, after));
	*out = (struct diff){ .changes = w.changes, .count = w.count };
	return OK;
}

void
diff_out(struct json_out *o, const char *key, const struct diff *d)
{
	json_out_array(o, key);
	for (size_t i = 0; i < d->count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "path", d->changes[i].path);
		if (d->changes[i].before)
			json_out_value(o, "before", d->changes[i].before);
		if (d->changes[i].after)
			json_out_value(o, "after", d->changes[i].after);
		json_out_end(o);
	}
	json_out_end(o);
}
