/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/item.h"

#include "base/limits.h"
#include "core/id.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "domain/flag/store/impl.h"
#include "json/out.h"
#include "json/pointer.h"

#include "domain/flag/store/identity.sql.h" /* SQL_IDENTITY_*, generated from identity.sql */

/* --- entries --- */

static struct json *
empty_value(struct arena *a, str type)
{
	if (str_eq(type, STR("boolean")))
		return json_new_bool(a, false);
	if (str_eq(type, STR("number")))
		return json_new_int(a, 0);
	return str_eq(type, STR("string")) ? json_new_string(a, STR("")) : json_new_null(a);
}

static struct json *
given(struct arena *a, const struct json *value, struct json *otherwise)
{
	return value ? json_share(a, value) : otherwise;
}

struct json *
item_entry(struct ctx *cx, const struct item_new *n)
{
	static const char *const lists[] = { "rules", "allowList", "denyList" };
	struct arena *a = cx->arena;
	struct json *o = json_new_object(a);

	if (n->resource == RESOURCE_SEGMENT) {
		for (size_t i = 0; i < 3; i++)
			json_add_member(o, str_of(lists[i]), given(a, n->state[i], json_new_array(a)));
		return o;
	}
	json_add_member(o, STR("type"), json_new_string(a, n->type));
	json_add_member(o, STR("defaultValue"), given(a, n->state[0], empty_value(a, n->type)));
	json_add_member(o, STR("rules"), given(a, n->state[1], json_new_array(a)));
	if (n->schema)
		json_add_member(o, STR("schema"), json_share(a, n->schema));
	return o;
}

/* --- in all environments --- */

static status
put_everywhere(struct ctx *cx, struct project *p, const struct store_edit *edit, int64_t now_us)
{
	for (size_t i = 0; i < p->environment_count; i++)
		TRY(store_put(cx, &p->environments[i], edit, 1, now_us));
	return OK;
}

static status
schema_text(struct ctx *cx, const struct json *schema, str *out)
{
	*out = STR("");
	return schema ? json_text(cx, schema, out) : OK;
}

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

/* Asked before it is written: nobody else can, for the project is locked, and the key is not known to be one. */
status
identity_check_free(struct ctx *cx, const struct project *p, const struct item_new *n)
{
	struct count_row taken;

	TRY(db_one(cx, SQL_IDENTITY_TAKEN, count_row, &taken, TEXT(cx->caller->org_id), TEXT(p->id),
		TEXT(resource_space(n->resource)), TEXT(n->key)));
	if (taken.count)
		return fail(cx, E_KEY_COLLISION, "the key %.*s is taken%s", STR_ARG(n->key),
			n->resource == RESOURCE_SEGMENT ? "" : "; flags and configs share theirs");
	return OK;
}

status
identity_add(struct ctx *cx, const struct project *p, const struct item_new *n, int64_t now_us, str *out_id)
{
	str id = id_at(cx->arena, now_us), schema;

	TRY(schema_text(cx, n->schema, &schema));
	TRY(db_run(cx, SQL_IDENTITY_ADD, TEXT(cx->caller->org_id), TEXT(p->id),
		TEXT(resource_space(n->resource)), TEXT(n->key), TEXT(id),
		TEXT(str_of(resource_name(n->resource))), TEXT(n->type), TEXT(n->description), TEXT(schema),
		INT(now_us)));
	*out_id = id;
	return OK;
}

status
identity_remove(struct ctx *cx, const struct project *p, enum resource r, str key)
{
	return db_run(cx, SQL_IDENTITY_REMOVE, TEXT(cx->caller->org_id), TEXT(p->id), TEXT(resource_space(r)),
		TEXT(key));
}

status
item_create(struct ctx *cx, struct project *p, const struct item_new *n, int64_t now_us, str *out_id)
{
	struct store_edit edit = { n->resource, n->key, item_entry(cx, n) };

	if (!p->environment_count)
		return fail(cx, E_CONFLICT, "the project has no environment yet; make one first");
	TRY(identity_check_free(cx, p, n));
	TRY(put_everywhere(cx, p, &edit, now_us));
	return identity_add(cx, p, n, now_us, out_id);
}

/* --- one of them --- */

struct item_row {
	str id, key, type, description, schema;
	int64_t created_at, updated_at;
};
static const struct field item_row[] = {
	FIELD_TEXT(struct item_row, id),
	FIELD_TEXT(struct item_row, key),
	FIELD_TEXT(struct item_row, type),
	FIELD_TEXT(struct item_row, description),
	FIELD_TEXT(struct item_row, schema),
	FIELD_INT(struct item_row, created_at),
	FIELD_INT(struct item_row, updated_at),
	FIELD_END,
};

status
item_get(struct ctx *cx, const struct project *p, enum resource r, str key, struct store_item *out)
{
	struct json *schema = NULL;
	struct item_row row;
	status s = db_one(cx, SQL_IDENTITY_GET, item_row, &row, TEXT(cx->caller->org_id), TEXT(p->id),
		TEXT(resource_space(r)), TEXT(str_of(resource_name(r))), TEXT(key));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no %s with this key", resource_name(r));
	TRY(s);
	if (row.schema.len)
		TRY(json_parse_stored(cx, row.schema, &schema));
	*out = (struct store_item){ .id = row.id,
		.key = row.key,
		.type = row.type,
		.description = row.description,
		.resource = r,
		.schema = schema,
		.created_at = row.created_at,
		.updated_at = row.updated_at };
	return OK;
}

status
item_delete(struct ctx *cx, struct project *p, enum resource r, str key, int64_t now_us)
{
	struct store_edit edit = { r, key, NULL };
	struct store_item item;

	TRY(item_get(cx, p, r, key, &item));
	TRY(put_everywhere(cx, p, &edit, now_us));
	return identity_remove(cx, p, r, key);
}

/* Later than every ETag of it so far, whatever the clock does. */
static int64_t
later(const struct project *p, const struct store_item *item, int64_t now_us)
{
	int64_t last = item->updated_at;

	for (size_t i = 0; i < p->environment_count; i++)
		if (p->environments[i].updated_at > last)
			last = p->environments[i].updated_at;
	return now_us > last ? now_us : last + 1;
}

status
item_describe(
	struct ctx *cx, const struct project *p, enum resource r, str key, str description, int64_t now_us)
{
	struct store_item item;

	if (description.len > LIMIT_FLAG_TEXT) {
		ctx_clear(cx);
		fail_issue(cx, STR("/description"), STR("is too long"));
		return fail(
			cx, E_INVALID, "the description has more than %zu bytes", (size_t)LIMIT_FLAG_TEXT);
	}
	TRY(item_get(cx, p, r, key, &item));
	if (str_eq(description, item.description))
		return OK;
	return db_run(cx, SQL_IDENTITY_DESCRIBE, TEXT(cx->caller->org_id), TEXT(p->id),
		TEXT(resource_space(r)), TEXT(key), TEXT(description), INT(later(p, &item, now_us)));
}

/* The state as it is, under another schema. */
static status
put_schema(struct ctx *cx, struct environment *e, str key, const struct json *schema, int64_t now_us)
{
	struct store_edit edit = { .resource = RESOURCE_CONFIG, .key = key };
	struct item_new next = { .resource = RESOURCE_CONFIG, .schema = schema };
	struct store_item item;

	TRY(store_find(cx, e, RESOURCE_CONFIG, key, &item));
	next.type = item.type;
	next.state[0] = json_get(item.state, STR("defaultValue"));
	next.state[1] = json_get(item.state, STR("rules"));
	edit.state = item_entry(cx, &next);
	return store_put(cx, e, &edit, 1, now_us);
}

status
item_reschema(struct ctx *cx, struct project *p, str key, const struct json *schema, int64_t now_us)
{
	struct store_item item;
	str text;

	TRY(item_get(cx, p, RESOURCE_CONFIG, key, &item));
	if (schema && item.schema ? json_equal(schema, item.schema) : schema == item.schema)
		return OK;
	TRY(schema_text(cx, schema, &text));
	for (size_t i = 0; i < p->environment_count; i++)
		TRY(put_schema(cx, &p->environments[i], key, schema, now_us));
	return db_run(cx, SQL_IDENTITY_RESCHEMA, TEXT(cx->caller->org_id), TEXT(p->id),
		TEXT(resource_space(RESOURCE_CONFIG)), TEXT(key), TEXT(text), INT(later(p, &item, now_us)));
}

/* --- whose fault it is --- */

/* Of an issue about the item, what stands behind its name in the path. */
static bool
is_below(str path, str item, str *out_rest)
{
	*out_rest = str_skip(path, item.len);
	return str_starts(path, item) && (!out_rest->len || out_rest->ptr[0] == '/');
}

static struct issue
body_issue(struct ctx *cx, const struct issue *found, str item, str itself)
{
	str rest, schema = STR("/schema"), below;

	if (!is_below(found->path, item, &rest)) /* a circle, or the whole of the ruleset is at its limit */
		return (struct issue){ STR(""),
			arena_printf(cx->arena, "%.*s %.*s", STR_ARG(found->path), STR_ARG(found->message)) };
	if (!rest.len)
		return (struct issue){ itself, found->message };
	if (is_below(rest, schema, &below))
		rest = arena_printf(cx->arena, "/jsonSchema%.*s", STR_ARG(below));
	return (struct issue){ rest, found->message };
}

status
item_body_paths(struct ctx *cx, enum resource r, str key, str itself, status s)
{
	struct error *e = &cx->error;
	const struct issue *first = &e->issues[0];
	str item;

	if (s != E_INVALID || e->code != s || !e->issue_count)
		return s;
	item = pointer_key(cx->arena, arena_printf(cx->arena, "/%s", resource_plural(r)), key);
	for (size_t i = 0; i < e->issue_count; i++)
		e->issues[i] = body_issue(cx, &e->issues[i], item, itself);
	return fail(cx, s, "%.*s%s%.*s", STR_ARG(first->path), first->path.len ? " " : "",
		STR_ARG(first->message));
}
