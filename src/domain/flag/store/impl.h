/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl: what the files of the store share. Nobody else includes this.
 *
 *	item.c       identity: in all environments of a project
 *	many.c       many changes of identity and state at once
 *	store.c      environments, documents of any version, writing states
 *	project.c    projects and environments
 *	overlay.c    a document with changes in it
 *	reference.c  which rules name a segment
 *	direct.c     who may read and change at once
 *	etag.c       ETag and If-Match
 *	*_ops.c      the REST of it
 */
#ifndef DOMAIN_FLAG_STORE_IMPL_H
#define DOMAIN_FLAG_STORE_IMPL_H

#include "domain/flag/store/item.h"

/* An object that grows by many members: its end is kept at hand, json_add_member would walk to it. */
struct members {
	struct json *object, **end;
};

static inline struct members
members_new(struct arena *a)
{
	struct json *object = json_new_object(a);

	return (struct members){ .object = object, .end = &object->child };
}

static inline void
members_add(struct members *m, str key, struct json *value)
{
	value->key = key;
	*m->end = value;
	m->end = &value->next;
	m->object->count++;
}

/* store_write for who changes the identity too: what is not there may begin, types and schemas may change. */
status store_put(struct ctx *cx, struct environment *e, const struct store_edit *edits, size_t count,
	int64_t now_us) MUST_USE;

/* Another target field: a new version of a locked environment. E_INVALID  issues as ruleset_compile */
status store_retarget(struct ctx *cx, struct environment *e, str field, int64_t now_us) MUST_USE;

/* The state that an environment begins with: of its present version, unchecked, and nobody hears of it. */
status store_seed(struct ctx *cx, const struct environment *e, const struct store_edit *edit) MUST_USE;

/* The rows of a project that say what there is; states are somebody else's business. E_KEY_COLLISION */
status identity_check_free(struct ctx *cx, const struct project *p, const struct item_new *n) MUST_USE;
status identity_add(struct ctx *cx, const struct project *p, const struct item_new *n, int64_t now_us,
	str *out_id) MUST_USE;
status identity_remove(struct ctx *cx, const struct project *p, enum resource r, str key) MUST_USE;

/* Space of names that the resource's keys are in: the column of flag_item. */
str resource_space(enum resource r);

#endif
