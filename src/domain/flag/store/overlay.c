/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/impl.h"

#include <stdlib.h>

/* An edit with a mark: has it found its place in the document? */
struct change {
	const struct store_edit *edit;
	bool placed;
};

static int
by_key(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return str_cmp(x->edit->key, y->edit->key);
}

static struct change *
find(struct change *changes, size_t count, str key)
{
	struct store_edit wanted = { .key = key };
	struct change probe = { .edit = &wanted };

	return count ? bsearch(&probe, changes, count, sizeof(*changes), by_key) : NULL;
}

/* The edits of one kind, sorted by key. */
static struct change *
sort(struct arena *a, enum resource r, const struct store_edit *edits, size_t count, size_t *out_count)
{
	struct change *changes = arena_alloc(a, (count + 1) * sizeof(*changes));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (edits[i].resource == r)
			changes[n++] = (struct change){ .edit = &edits[i] };
	if (n)
		qsort(changes, n, sizeof(*changes), by_key);
	*out_count = n;
	return changes;
}

static struct json *
lay(struct arena *a, const struct json *items, struct change *changes, size_t count)
{
	struct members m = members_new(a);

	for (const struct json *old = items ? items->child : NULL; old; old = old->next) {
		struct change *c = find(changes, count, old->key);

		if (c)
			c->placed = true;
		if (!c || c->edit->state)
			members_add(&m, old->key, json_share(a, c ? c->edit->state : old));
	}
	for (size_t i = 0; i < count; i++)
		if (!changes[i].placed && changes[i].edit->state)
			members_add(&m, changes[i].edit->key, json_share(a, changes[i].edit->state));
	return m.object;
}

struct json *
store_overlay(struct ctx *cx, const struct json *doc, const struct store_edit *edits, size_t count)
{
	struct json *result = json_new_object(cx->arena);
	const struct json *target = json_get(doc, STR("targetField"));

	if (target)
		json_add_member(result, STR("targetField"), json_share(cx->arena, target));
	for (int r = 0; r < RESOURCES; r++) {
		str plural = str_of(resource_plural((enum resource)r));
		size_t n;
		struct change *changes = sort(cx->arena, (enum resource)r, edits, count, &n);

		json_add_member(result, plural, lay(cx->arena, json_get(doc, plural), changes, n));
	}
	return result;
}
