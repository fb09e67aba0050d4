/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/project.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "domain/flag/ruleset.h"
#include "domain/flag/store/impl.h"
#include "domain/flag/store/item.h"
#include "json/out.h"

#include "domain/flag/store/identity.sql.h" /* SQL_IDENTITY_*, generated from identity.sql */

/* --- finding --- */

static const struct field project_row[] = {
	FIELD_TEXT(struct project, id),
	FIELD_TEXT(struct project, slug),
	FIELD_TEXT(struct project, name),
	FIELD_TEXT(struct project, target_field),
	FIELD_INT(struct project, created_at),
	FIELD_INT(struct project, updated_at),
	FIELD_END,
};

status
project_get(struct ctx *cx, str id, struct project *out)
{
	struct project p = { 0 };
	status s = db_one(cx, SQL_IDENTITY_PROJECT, project_row, &p, TEXT(cx->caller->org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no project with this id");
	TRY(s);
	if (!p.updated_at)
		p.updated_at = p.created_at;
	*out = p;
	return OK;
}

struct id_row {
	str id;
};
static const struct field id_row[] = { FIELD_TEXT(struct id_row, id), FIELD_END };

static status
lock_environments(struct ctx *cx, struct project *p)
{
	struct id_row *ids;
	size_t count;

	TRY(db_all(cx, SQL_IDENTITY_ENVIRONMENTS, id_row, sizeof(*ids), &ids, &count,
		TEXT(cx->caller->org_id), TEXT(p->id)));
	p->environments = arena_try_array(cx->arena, count + 1, sizeof(*p->environments));
	if (!p->environments)
		return fail(cx, E_TOO_LARGE, "the project has too many environments");
	for (size_t i = 0; i < count; i++)
		TRY(environment_lock(cx, ids[i].id, &p->environments[i]));
	p->environment_count = count;
	return OK;
}

status
project_lock(struct ctx *cx, str id, struct project *out)
{
	struct db_rows locked;
	struct project p;

	TRY(db_ask(cx, SQL_IDENTITY_LOCK, id_row, sizeof(struct id_row), &locked, TEXT(cx->caller->org_id),
		TEXT(id)));
	TRY(project_get(cx, id, &p));
	TRY(lock_environments(cx, &p));
	tx_waited(cx);
	*out = p;
	return OK;
}

/* --- names --- */

static bool
is_key(str key)
{
	for (size_t i = 0; i < key.len; i++) {
		char c = key.ptr[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

		if (!word && !(i && (c == '-' || c == '_' || c == '.')))
			return false;
	}
	return key.len > 0 && key.len <= LIMIT_NAME;
}

static status
refuse(struct ctx *cx, str path, str why)
{
	ctx_clear(cx);
	fail_issue(cx, path, why);
	return fail(cx, E_INVALID, "%.*s %.*s", STR_ARG(path), STR_ARG(why));
}

static status
check_key(struct ctx *cx, str key)
{
	if (is_key(key))
		return OK;
	return refuse(cx, STR("/key"),
		STR("must begin with a lower-case letter or digit and go on with those, or - _ ."));
}

/* --- projects --- */

static str
field_of(str target_field)
{
	return target_field.len ? target_field : STR(PROJECT_TARGET_FIELD);
}

/* Is it a field that a ruleset can name? Its compiler knows. */
static status
check_field(struct ctx *cx, str target_field)
{
	struct json *doc = json_new_object(cx->arena);
	struct ruleset *rules;
	status s;

	json_add_member(doc, STR("targetField"), json_new_string(cx->arena, field_of(target_field)));
	s = ruleset_compile(cx, doc, &rules);
	if (s == E_INVALID)
		return refuse(cx, STR("/targetIdField"), cx->error.issues[0].message);
	TRY(s);
	ruleset_free(rules);
	return OK;
}

/* Two at once are told apart by the index; the loser's transaction is over then. */
static status
taken(struct ctx *cx, status s, str key)
{
	return s == E_EXISTS ? fail(cx, E_KEY_COLLISION, "the key %.*s is taken", STR_ARG(key)) : s;
}

status
project_create(struct ctx *cx, struct project *p, int64_t now_us)
{
	TRY(check_key(cx, p->slug));
	TRY(check_field(cx, p->target_field));
	p->id = id_at(cx->arena, now_us);
	p->created_at = p->updated_at = now_us;
	return taken(cx,
		db_run(cx, SQL_IDENTITY_ADD_PROJECT, TEXT(cx->caller->org_id), TEXT(p->id), TEXT(p->slug),
			TEXT(p->name), TEXT(p->target_field), INT(now_us)),
		p->slug);
}

status
project_change(struct ctx *cx, struct project *p, str name, str target_field, int64_t now_us)
{
	struct project next = *p;

	TRY(check_field(cx, target_field));
	for (size_t i = 0; i < p->environment_count; i++)
		TRY(store_retarget(cx, &p->environments[i], field_of(target_field), now_us));
	next.name = name;
	next.target_field = target_field;
	next.updated_at = now_us > p->updated_at ? now_us : p->updated_at + 1;
	TRY(db_run(cx, SQL_IDENTITY_CHANGE_PROJECT, TEXT(cx->caller->org_id), TEXT(p->id), TEXT(name),
		TEXT(target_field), INT(next.updated_at)));
	*p = next;
	return OK;
}

/* --- environments --- */

static status
check_room(struct ctx *cx, const struct project *p, str slug)
{
	TRY(check_key(cx, slug));
	if (p->environment_count >= LIMIT_ENVIRONMENTS)
		return fail(cx, E_CONFLICT, "the project has %u environments; that is the most there can be",
			LIMIT_ENVIRONMENTS);
	for (size_t i = 0; i < p->environment_count; i++)
		if (str_eq(p->environments[i].slug, slug))
			return fail(cx, E_KEY_COLLISION, "the key %.*s is taken", STR_ARG(slug));
	return OK;
}

struct seed_row {
	str kind, key, type, schema;
};
static const struct field seed_row[] = {
	FIELD_TEXT(struct seed_row, kind),
	FIELD_TEXT(struct seed_row, key),
	FIELD_TEXT(struct seed_row, type),
	FIELD_TEXT(struct seed_row, schema),
	FIELD_END,
};

static enum resource
resource_of(str kind)
{
	enum resource r = RESOURCE_FLAG;

	while (r < RESOURCE_SEGMENT && !str_eq(kind, str_of(resource_name(r))))
		r++;
	return r;
}

static status
seed(struct ctx *cx, const struct project *p, const struct environment *e, const struct seed_row *row)
{
	struct item_new n = { .resource = resource_of(row->kind), .type = row->type };
	struct store_item first;

	if (row->schema.len) {
		TRY(store_find(cx, &p->environments[0], n.resource, row->key, &first));
		n.schema = first.schema;
		n.state[0] = json_get(first.state, STR("defaultValue"));
	}
	return store_seed(cx, e, &(struct store_edit){ n.resource, row->key, item_entry(cx, &n) });
}

#define PAGE 1000 /* below LIMIT_DB_ROWS */

static status
seed_all(struct ctx *cx, const struct project *p, const struct environment *e)
{
	str space = STR(""), after = STR("");
	struct seed_row *rows;
	size_t count;

	do {
		TRY(db_all(cx, SQL_IDENTITY_PAGE, seed_row, sizeof(*rows), &rows, &count,
			TEXT(cx->caller->org_id), TEXT(p->id), TEXT(space), TEXT(after), INT(PAGE)));
		for (size_t i = 0; i < count; i++)
			TRY(seed(cx, p, e, &rows[i]));
		if (count) {
			space = resource_space(resource_of(rows[count - 1].kind));
			after = rows[count - 1].key;
		}
	} while (count == PAGE);
	return OK;
}

status
environment_create(struct ctx *cx, struct project *p, struct environment *e, int64_t now_us)
{
	TRY(check_room(cx, p, e->slug));
	e->id = id_at(cx->arena, now_us);
	e->project_id = p->id;
	e->target_field = field_of(p->target_field);
	e->version = 1;
	e->created_at = e->updated_at = now_us;
	TRY(db_run(cx, SQL_IDENTITY_ADD_ENVIRONMENT, TEXT(cx->caller->org_id), TEXT(e->id), TEXT(p->id),
		TEXT(e->slug), TEXT(e->name), INT(e->production), INT(e->approval_gate), INT(now_us)));
	return seed_all(cx, p, e);
}

status
environment_change(struct ctx *cx, struct environment *e, int64_t now_us)
{
	int64_t at = now_us > e->updated_at ? now_us : e->updated_at + 1;

	TRY(db_run(cx, SQL_IDENTITY_CHANGE_ENVIRONMENT, TEXT(cx->caller->org_id), TEXT(e->id), TEXT(e->name),
		INT(e->production), INT(e->approval_gate), INT(at)));
	e->updated_at = at;
	return OK;
}
