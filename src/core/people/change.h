/* SPDX-License-Identifier: Apache-2.0 */
/* change: what all changes of identity have in common: they are on record. Private to people and ident and
 * settings. */
#ifndef CORE_PEOPLE_CHANGE_H
#define CORE_PEOPLE_CHANGE_H

#include "core/audit/audit.h"

/* Inside tx_run: records that the caller did this to a resource. key is its name for people; before and after
 * may be NULL. */
status change_record(struct ctx *cx, enum audit_action action, const char *type, str id, str key,
	const struct json *before, const struct json *after) MUST_USE;

/* Strings as a JSON array. */
struct json *change_strings(struct arena *a, const str *items, size_t count);

/* An object that is about to become `before` or `after`; both give object back. */
struct json *change_text(struct arena *a, struct json *object, const char *key, str text);

#endif
