/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/given.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/scoped.h"

#include <pthread.h>
#include <stdlib.h>

struct one {
	struct one *next; /* an older one */
	char *org_id;
	char *note; /* NULL: it was taken */
	int64_t size;
};

struct given {
	pthread_mutex_t lock;
	struct one *newest; /* one for each organization; the oldest is forgotten */
	size_t count;
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
	free(o);
}

void
given_free(struct given *g)
{
	if (!g)
		return;
	for (struct one *o = g->newest, *next; o; o = next) {
		next = o->next;
		forget(o);
	}
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

static void
take_out(struct given *g, struct one **at)
{
	struct one *o = *at;

	*at = o->next;
	g->count--;
	forget(o);
}

static void
add(struct given *g, str org_id, const struct tree_checkpoint *c)
{
	struct one *o = calloc(1, sizeof(*o));

	CHECK(o != NULL);
	*o = (struct one){ g->newest, copy_of(org_id), copy_of(c->note), c->size };
	g->newest = o;
	g->count++;
}

bool
given_add(struct given *g, str org_id, const struct tree_checkpoint *c)
{
	scoped_lock held = lock(&g->lock);
	struct one **at = &g->newest;

	/* at its own, or at the oldest where there is room for no other */
	while (*at && !str_eq(str_of((*at)->org_id), org_id) &&
		!(g->count == LIMIT_AUDIT_GIVEN && !(*at)->next))
		at = &(*at)->next;
	if (*at && str_eq(str_of((*at)->org_id), org_id) && (*at)->size >= c->size)
		return false;
	if (*at)
		take_out(g, at);
	add(g, org_id, c);
	return true;
}

bool
given_take(struct given *g, struct arena *a, str *out_org_id, str *out_note)
{
	scoped_lock held = lock(&g->lock);
	struct one *o = g->newest;

	while (o && !o->note)
		o = o->next;
	if (!o)
		return false;
	*out_org_id = arena_str(a, str_of(o->org_id));
	*out_note = arena_str(a, str_of(o->note));
	free(o->note);
	o->note = NULL;
	return true;
}
