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
	FIELD_END,
};

static status /* inside one transaction */
create_tx(struct ctx *cx, void *arg)
{
	struct installation *in = arg;

	TRY(tx_now_us(cx, &in->created_at_us));
	return db_run(cx, SQL_INSTALLATION_ADD, TEXT(in->id), TEXT(in->name), INT(in->created_at_us));
}

status
installation_create(struct ctx *cx, str name, struct installation *out)
{
	struct installation in = { .name = name };
	status s;

	if (!name.len || name.len > LIMIT_INSTALLATION_NAME)
		return fail(cx, E_INVALID, "the installation's name must have 1 to %u bytes",
			LIMIT_INSTALLATION_NAME);
	in.id = random_hex(cx->arena, 16);
	s = tx_run(cx, create_tx, &in);
	if (s == E_EXISTS)
		return fail(cx, E_EXISTS, "this installation was made before; nothing was changed");
	TRY(s);
	*out = in;
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
