/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/item.h"

#include "domain/flag/store/impl.h"

/* What the other environments get of it: what is new without its rules, and nothing of what goes. */
static status
make_seeds(struct ctx *cx, const struct item_many *m, struct store_edit **out, size_t *out_count)
{
	struct store_edit *seeds =
		ARENA_TRY_ARRAY(cx->arena, struct store_edit, m->made_count + m->edit_count + 1);
	size_t n = 0;

	if (!seeds)
		return fail(cx, E_TOO_LARGE, "that is too much to change at once");
	for (size_t i = 0; i < m->made_count; i++) {
		struct item_new seed = m->made[i];

		seed.state[1] = seed.state[2] = NULL;
		if (seed.resource == RESOURCE_SEGMENT)
			seed.state[0] = NULL;
		seeds[n++] = (struct store_edit){ seed.resource, seed.key, item_entry(cx, &seed) };
	}
	for (size_t i = 0; i < m->edit_count; i++)
		if (!m->edits[i].state)
			seeds[n++] = m->edits[i];
	*out = seeds;
	*out_count = n;
	return OK;
}

static status
write_identity(struct ctx *cx, const struct project *p, const struct item_many *m, int64_t now_us)
{
	str id;

	for (size_t i = 0; i < m->made_count; i++)
		TRY(identity_add(cx, p, &m->made[i], now_us, &id));
	for (size_t i = 0; i < m->edit_count; i++)
		if (!m->edits[i].state)
			TRY(identity_remove(cx, p, m->edits[i].resource, m->edits[i].key));
	return OK;
}

status
item_write_many(struct ctx *cx, struct project *p, struct environment *here, const struct item_many *m,
	int64_t now_us)
{
	struct store_edit *seeds;
	size_t seed_count;

	TRY(make_seeds(cx, m, &seeds, &seed_count));
	for (size_t i = 0; i < m->made_count; i++)
		TRY(identity_check_free(cx, p, &m->made[i]));
	for (size_t i = 0; i < p->environment_count; i++) {
		struct environment *e = &p->environments[i];

		if (e == here)
			TRY(store_put(cx, e, m->edits, m->edit_count, now_us));
		else if (seed_count)
			TRY(store_put(cx, e, seeds, seed_count, now_us));
	}
	return write_identity(cx, p, m, now_us);
}
