/* SPDX-License-Identifier: Apache-2.0 */
#include "core/installation.h"

#include "base/limits.h"
#include "base/random.h"
#include "db/db.h"

#include "core/installation.sql.h" /* SQL_INSTALLATION_*, generated from installation.sql */

static const struct field row[] = {
	FIELD_TEXT(struct installation, id),
	FIELD_TEXT(struct installation, name),
	FIELD_INT(struct installation, created_at_us),
	FIELD_TEXT(struct installation, keys),
	FIELD_END,
};

struct join {
	str id, name, keys;
	struct installation found;
};

static status /* inside one transaction */
join_tx(struct ctx *cx, void *arg)
{
	struct join *j = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_INSTALLATION_ADD, TEXT(j->id), TEXT(j->name), INT(now_us), TEXT(j->keys)));
	TRY(db_run(cx, SQL_INSTALLATION_BIND, TEXT(j->keys)));
	TRY(db_one(cx, SQL_INSTALLATION_GET, row, &j->found));
	if (!str_eq(j->found.keys, j->keys))
		return fail(cx, E_CONFLICT,
			"this key file (%.*s) does not belong to the database (%.*s); give the right one "
			"with "
			"--keys",
			STR_ARG(j->keys), STR_ARG(j->found.keys));
	return OK;
}

status
installation_join(struct ctx *cx, str name, str keys, struct installation *out)
{
	struct join j = { .id = random_hex(cx->arena, 16), .name = name, .keys = keys };

	if (!name.len || name.len > LIMIT_INSTALLATION_NAME)
		return fail(cx, E_INVALID, "the installation's name must have 1 to %u bytes",
			LIMIT_INSTALLATION_NAME);
	TRY(tx_run(cx, join_tx, &j));
	*out = j.found;
	return OK;
}

static status
get_tx(struct ctx *cx, void *arg)
{
	return db_one(cx, SQL_INSTALLATION_GET, row, arg);
}

status
installation_get(struct ctx *cx, struct installation *out)
{
	struct installation in;
	status s = db_read(cx, get_tx, &in);

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "this installation has not been made; run `countersign init`");
	TRY(s);
	*out = in;
	return OK;
}
