/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/given.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/scoped.h"

#include <pthread.h>
#include <stdlib.h>

struct one {
	char *org_id;
	char *note; /* NULL: it was taken */
	int64_t size;
};

struct given {
	pthread_mutex_t lock;
	struct one all[LIMIT_AUDIT_GIVEN]; /* one for each organization; the oldest is forgotten */
	size_t next;
};

struct given *
given_new(void)
{
	struct given *g = calloc(1, sizeof(*g));

	CHECK(g != NULL && pthread_mutex_init(&g->lock, NULL) == 0);
	return g;
}

static void
forget(struct one *o)
{
	free(o->org_id);
	free(o->note);
	*o = (struct one){ .size = 0 };
}

void
given_free(struct given *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < LIMIT_AUDIT_GIVEN; i++)
		forget(&g->all[i]);
	CHECK(pthread_mutex_destroy(&g->lock) == 0);
	free(g);
}

static char *
copy_of(str text)
{
	char *copy = malloc(text.len + 1);

	CHECK(copy != NULL);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	return copy;
}

bool
given_add(struct given *g, str org_id, const struct tree_checkpoint *c)
{
	scoped_lock held = lock(&g->lock);
	struct one *o = NULL;

	for (size_t i = 0; i < LIMIT_AUDIT_GIVEN && !o; i++)
		if (g->all[i].org_id && str_eq(str_of(g->all[i].org_id), org_id))
			o = &g->all[i];
	if (o && o->size >= c->size)
		return false;
	if (!o)
		o = &g->all[g->next++ % LIMIT_AUDIT_GIVEN];
	forget(o);
	o->org_id = copy_of(org_id);
	o->note = copy_of(c->note);
	o->size = c->size;
	return true;
}

bool
given_take(struct given *g, struct arena *a, str *out_org_id, str *out_note)
{
	scoped_lock held = lock(&g->lock);

	for (size_t i = 0; i < LIMIT_AUDIT_GIVEN; i++) {
		struct one *o = &g->all[i];

		if (!o->note)
			continue;
		*out_org_id = arena_str(a, str_of(o->org_id));
		*out_note = arena_str(a, str_of(o->note));
		free(o->note);
		o->note = NULL;
		return true;
	}
	return false;
}
