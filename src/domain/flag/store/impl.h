/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl: what the files of the store share. Nobody else includes this.
 *
 *	item.c       identity: in all environments of a project
 *	store.c      environments, documents of any version, writing states
 *	overlay.c    a document with changes in it
 *	reference.c  which rules name a segment
 */
#ifndef DOMAIN_FLAG_STORE_IMPL_H
#define DOMAIN_FLAG_STORE_IMPL_H

#include "domain/flag/store/store.h"

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

/* Space of names that the resource's keys are in: the column of flag_item. */
str resource_space(enum resource r);

#endif
