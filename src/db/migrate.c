/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"
#include "base/fault.h"
#include "db/engine.h"

#include "db/schema.sql.h" /* SQL_SCHEMA_*, generated from schema.sql */

#include <inttypes.h>

static const struct field schema_row[] = {
	FIELD_INT(struct db_schema, version),
	FIELD_INT(struct db_schema, min_compatible),
	FIELD_END,
};

struct found {
	int64_t count;
};
static const struct field found_row[] = { FIELD_INT(struct found, count), FIELD_END };

static status /* inside a transaction or a read */
load(struct ctx *cx, void *arg)
{
	struct db_schema *schema = arg;
	struct found tables;
	status s;

	*schema = (struct db_schema){ .version = 0 };
	TRY(db_one(cx, SQL_SCHEMA_EXISTS, found_row, &tables));
	if (!tables.count)
		return OK;
	s = db_one(cx, SQL_SCHEMA_GET, schema_row, schema);
	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		return OK;
	}
	return s;
}

status
db_schema(struct ctx *cx, struct db_schema *out)
{
	struct db_schema schema;

	TRY(db_read(cx, load, &schema));
	*out = schema;
	return OK;
}

struct step {
	const struct migration *m;
	bool applied;
};

static status /* inside one transaction: the change and the note that it was made */
step_tx(struct ctx *cx, void *arg)
{
	const struct engine *e = cx->db->engine;
	struct step *step = arg;
	const struct migration *m = step->m;
	struct db_schema schema;
	int64_t now_us;

	step->applied = false;
	TRY(e->migrate_lock(cx, cx->tx));
	TRY(load(cx, &schema)); /* after the lock: another process may have been faster */
	if (schema.version >= m->version)
		return OK;
	TRY(e->script(cx, cx->tx, m));
	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_SCHEMA_ADD, INT(m->version), INT(m->min_compatible), TEXT(str_of(m->name)),
		INT(now_us)));
	step->applied = true;
	return OK;
}

static status
check_newer(struct ctx *cx, const struct db_schema *schema, int64_t ours)
{
	if (schema->version <= ours || schema->min_compatible <= ours)
		return OK;
	return fail(cx, E_SCHEMA,
		"the database has schema %" PRId64
		", which needs a program that knows at least schema %" PRId64 "; this one knows %" PRId64
		". Use the newer program, or restore a backup made before the upgrade",
		schema->version, schema->min_compatible, ours);
}

status
db_migrate(struct ctx *cx, int *out_applied)
{
	const struct db_catalog *c = &cx->db->catalog;
	struct db_schema schema;
	int applied = 0;

	TRY(db_schema(cx, &schema));
	for (size_t i = 0; i < c->migration_count; i++) {
		struct step step = { .m = &c->migrations[i] };

		if (schema.version >= step.m->version)
			continue;
		TRY(tx_run(cx, step_tx, &step));
		applied += step.applied;
		if (FAULT_FAILS(migrate_between))
			return fail(cx, E_UNAVAILABLE, "stopped between two migrations");
	}
	TRY(db_schema(cx, &schema)); /* it may have become newer meanwhile */
	TRY(check_newer(cx, &schema, c->migration_count ? c->migrations[c->migration_count - 1].version : 0));
	*out_applied = applied;
	return OK;
}
