/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/safe.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/id.h"
#include "core/keys.h"
#include "db/db.h"

#include <sodium.h>

#include "exec/safe.sql.h" /* SQL_SAFE_*, generated from safe.sql */

struct row {
	str boxed;
};
static const struct field row[] = {
	FIELD_BLOB(struct row, boxed),
	FIELD_END,
};

/* What the box is bound to: it opens nowhere else. */
static str
place_of(struct ctx *cx, str org_id, str id)
{
	return arena_printf(cx->arena, "secret/%.*s/%.*s", STR_ARG(org_id), STR_ARG(id));
}

status
safe_put(struct ctx *cx, str org_id, str text, str *out_id)
{
	str id = id_new(cx->arena), boxed;
	int64_t now;

	if (!cx->keys)
		return fail(cx, E_INTERNAL, "a secret cannot be kept without the key file");
	if (!text.len)
		return fail(cx, E_INVALID, "a secret is not empty");
	if (text.len > LIMIT_SAFE_BYTES)
		return fail(cx, E_TOO_LARGE, "a secret has at most %zu bytes", LIMIT_SAFE_BYTES);
	TRY(keys_box(cx, cx->keys->seal, text, place_of(cx, org_id, id), &boxed));
	TRY(tx_now_us(cx, &now));
	TRY(db_run(cx, SQL_SAFE_ADD, TEXT(org_id), TEXT(id), BLOB(boxed), INT(now)));
	*out_id = id;
	return OK;
}

void
safe_done(struct safe_text *t)
{
	sodium_free(t->memory); /* wipes it; NULL is fine */
	*t = (struct safe_text){ 0 };
}

/* The arena's copy is wiped; what remains lies between guard pages, and is not written to a core file or to swap. */
static struct safe_text
take_out(str plain)
{
	struct safe_text t = { .memory = sodium_malloc(plain.len) };

	CHECK(t.memory); /* no memory */
	memcpy(t.memory, plain.ptr, plain.len);
	t.text = (str){ t.memory, plain.len };
	sodium_memzero((char *)(uintptr_t)plain.ptr, plain.len);
	return t;
}

status
safe_get(struct ctx *cx, str org_id, str id, struct safe_text *out)
{
	struct row r;
	str plain;
	status s;

	if (!id.len) {
		*out = (struct safe_text){ 0 };
		return OK;
	}
	if (!cx->keys)
		return fail(cx, E_INTERNAL, "a secret cannot be read without the key file");
	s = db_one(cx, SQL_SAFE_GET, row, &r, TEXT(org_id), TEXT(id));
	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "the secret is not there any more");
	TRY(s);
	plain = keys_open(cx, cx->keys->seal, r.boxed, place_of(cx, org_id, id));
	if (!plain.len)
		return fail(cx, E_TAMPERED,
			"a stored secret does not open: it was changed outside of Countersign, or the key "
			"file is another");
	*out = take_out(plain);
	return OK;
}

status
safe_drop(struct ctx *cx, str org_id, str id)
{
	return db_run(cx, SQL_SAFE_REMOVE, TEXT(org_id), TEXT(id));
}
