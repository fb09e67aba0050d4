/* SPDX-License-Identifier: Apache-2.0 */
/* The REST of flags, configs and segments: one set of functions, and the three tables made of it (FL-1, FL-7). */
#include "domain/flag/store/ops.h"

#include "base/limits.h"
#include "core/audit/audit.h"
#include "db/db.h"
#include "domain/flag/store/direct.h"
#include "domain/flag/store/etag.h"
#include "domain/flag/store/impl.h"
#include "domain/flag/store/reference.h"
#include "domain/flag/store/view.h"

/* The proposals that do the same. */
enum kind { KIND_PUT, KIND_CREATE, KIND_PATCH, KIND_DELETE, KINDS };
#define KINDS_OF(r)                                                                                          \
	{                                                                                                    \
		"set_rules_" #r, "create_" #r, "update_" #r "_metadata", "delete_" #r                        \
	}
static const char *const kinds[RESOURCES][KINDS] = {
	[RESOURCE_FLAG] = KINDS_OF(flag),
	[RESOURCE_CONFIG] = KINDS_OF(config),
	[RESOURCE_SEGMENT] = KINDS_OF(segment),
};

/* --- on record --- */

/* The entry of an environment, with its name: what changed. */
static struct json *
recorded(struct ctx *cx, const struct environment *e, const struct json *entry)
{
	struct json *o;

	if (!entry)
		return NULL;
	o = json_new_object(cx->arena);
	json_add_member(o, STR("environmentId"), json_new_string(cx->arena, e->id));
	JSON_EACH (member, entry)
		json_add_member(o, member->key, json_share(cx->arena, member));
	return o;
}

static status
record(struct ctx *cx, enum audit_action action, const struct store_item *item, int64_t version,
	const struct json *before, const struct json *after)
{
	return audit_add(cx,
		&(struct audit_entry){ .action = action,
			.resource_type = str_of(resource_name(item->resource)),
			.resource_key = item->key,
			.resource_id = item->id,
			.version = version,
			.before = before,
			.after = after },
		NULL);
}

/* --- reading --- */

#define BATCH	   5	     /* the largest there can be fit a request's memory */
#define PAGE_BYTES (1 * MIB) /* then a page ends, however many it has */

struct listing {
	const struct environment *e;
	enum resource resource;
	int64_t left;
	str after;   /* the last that was looked at */
	bool more;   /* is there another page? */
	size_t from; /* what was written before it */
};

/* false: the page is full */
static bool
list_batch(
	struct ctx *cx, struct listing *l, const struct store_item *items, size_t count, struct json_out *out)
{
	for (size_t i = 0; i < count; i++) {
		if (!caller_in_scope(cx->caller, l->e->id, items[i].key)) {
			l->after = items[i].key;
			continue;
		}
		if (!l->left || out->buf->len - l->from > PAGE_BYTES) {
			l->more = true;
			return false;
		}
		l->after = items[i].key;
		l->left--;
		json_out_object(out, NULL);
		view_write(out, l->e->project_id, l->e->id, &items[i]);
		json_out_end(out);
	}
	return true;
}

static status
run_list(struct ctx *cx, enum resource r, const struct item_in *in, struct json_out *out)
{
	struct environment e;
	struct listing l = { .e = &e,
		.resource = r,
		.left = op_page_rows(in->limit) - 1,
		.after = in->after,
		.from = out->buf->len };
	struct store_item *items;
	size_t count;

	TRY(environment_get(cx, in->env_id, &e));
	TRY(direct_may_read(cx, &e, r));
	json_out_array(out, "items");
	do
		TRY(store_page(cx, &e, r, l.after, BATCH, &items, &count));
	while (list_batch(cx, &l, items, count, out) && count == BATCH);
	json_out_end(out);
	if (l.more)
		json_out_str(out, "next", l.after);
	return OK;
}

/* Who may read here, and whether it is in scope, before anybody learns whether it exists. */
static status
find(struct ctx *cx, enum resource r, const struct item_in *in, struct environment *e,
	struct store_item *item)
{
	TRY(environment_get(cx, in->env_id, e));
	TRY(direct_may_read(cx, e, r));
	TRY(direct_in_scope(cx, e, in->key));
	return store_find(cx, e, r, in->key, item);
}

static status
run_get(struct ctx *cx, enum resource r, const struct item_in *in, struct json_out *out)
{
	struct environment e;
	struct store_item item;

	TRY(find(cx, r, in, &e, &item));
	etag_tell(cx, item.updated_at);
	view_write(out, e.project_id, e.id, &item);
	return OK;
}

/* --- references --- */

struct referrers {
	struct ctx *cx;
	const struct environment *e;
	struct json_out *out;
	enum resource resource;
};

static void
write_reference(void *arg, const struct reference *r)
{
	struct referrers *w = arg;

	if (r->resource != w->resource || !caller_in_scope(w->cx->caller, w->e->id, r->key))
		return;
	json_out_object(w->out, NULL);
	json_out_str(w->out, "key", r->key);
	json_out_int(w->out, "ruleIndex", (int64_t)r->rule_index);
	json_out_end(w->out);
}

static status
run_references(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct item_in *in = arg;
	struct store_item segment;
	struct environment e;
	struct json *doc;

	TRY(find(cx, RESOURCE_SEGMENT, in, &e, &segment));
	TRY(store_document(cx, &e, 0, &doc));
	for (int r = 0; r < RESOURCES; r++) {
		struct referrers w = { .cx = cx, .e = &e, .out = out, .resource = (enum resource)r };

		json_out_array(out, resource_plural(w.resource));
		(void)reference_each(doc, segment.key, write_reference, &w);
		json_out_end(out);
	}
	return OK;
}

/* --- changing one environment --- */

/* After every ETag it has had: the environment's times grow, the identity's are others. */
static status
time_after(struct ctx *cx, const struct store_item *item, int64_t *out_us)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	*out_us = now_us > item->updated_at ? now_us : item->updated_at + 1;
	return OK;
}

static status
run_put(struct ctx *cx, enum resource r, const struct item_in *in, struct json_out *out)
{
	struct item_new n = view_new(r, in);
	struct environment was, e;
	struct store_item item;
	struct store_edit edit = { .resource = r, .key = in->key };
	int64_t now_us;

	TRY(environment_lock(cx, in->env_id, &was));
	TRY(direct_may_write(cx, &was, r, VERB_WRITE, in->key, kinds[r][KIND_PUT]));
	TRY(store_find(cx, &was, r, in->key, &item));
	TRY(etag_check(cx, item.updated_at));
	n.type = item.type;
	n.schema = item.schema;
	edit.state = item_entry(cx, &n);
	TRY(time_after(cx, &item, &now_us));
	e = was;
	TRY(item_body_paths(cx, r, in->key, STR(""), store_write(cx, &e, &edit, 1, now_us)));
	if (e.version != was.version) {
		TRY(record(cx, AUDIT_RECORD_CHANGED, &item, e.version, recorded(cx, &e, item.state),
			recorded(cx, &e, edit.state)));
		item.updated_at = e.updated_at;
	}
	item.state = edit.state;
	etag_tell(cx, item.updated_at);
	view_write(out, e.project_id, e.id, &item);
	json_out_int(out, "version", e.version);
	return OK;
}

/* --- changing all environments --- */

/* For what is changed in all of them: the ETag of any will do. */
static status
check_any_etag(struct ctx *cx, const struct project *p, const struct store_item *item)
{
	struct store_item here;

	if (etag_matches(cx, item->updated_at))
		return OK;
	for (size_t i = 0; i < p->environment_count; i++) {
		TRY(store_find(cx, &p->environments[i], item->resource, item->key, &here));
		if (etag_matches(cx, here.updated_at))
			return OK;
	}
	return etag_check(cx, item->updated_at);
}

static status
answer_all(struct ctx *cx, const struct project *p, const struct store_item *item, struct json_out *out)
{
	etag_tell(cx, item->updated_at);
	view_write(out, p->id, (str){ 0 }, item);
	view_write_versions(out, p);
	return OK;
}

static status
run_create(struct ctx *cx, enum resource r, const struct item_in *in, struct json_out *out)
{
	struct item_new n = view_new(r, in);
	struct store_item item;
	struct project p;
	int64_t now_us;
	str id;

	TRY(project_lock(cx, in->id, &p));
	TRY(direct_may_write_all(cx, &p, r, VERB_CREATE, in->key, kinds[r][KIND_CREATE], true));
	TRY(tx_now_us(cx, &now_us));
	TRY(item_body_paths(cx, r, in->key, STR("/key"), item_create(cx, &p, &n, now_us, &id)));
	TRY(item_get(cx, &p, r, in->key, &item));
	item.state = item_entry(cx, &n);
	for (size_t i = 0; i < p.environment_count; i++)
		TRY(record(cx, AUDIT_RECORD_CREATED, &item, p.environments[i].version, NULL,
			recorded(cx, &p.environments[i], item.state)));
	return answer_all(cx, &p, &item, out);
}

static struct json *
described(struct ctx *cx, const struct store_item *item)
{
	struct json *o = json_new_object(cx->arena);

	json_add_member(o, STR("description"), json_new_string(cx->arena, item->description));
	if (item->resource == RESOURCE_CONFIG)
		json_add_member(o, STR("jsonSchema"),
			item->schema ? json_share(cx->arena, item->schema) : json_new_null(cx->arena));
	return o;
}

static status
patch(struct ctx *cx, struct project *p, const struct item_in *in, const struct store_item *item)
{
	struct item_new n = view_new(item->resource, in);
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (in->description.ptr)
		TRY(item_describe(cx, p, item->resource, in->key, in->description, now_us));
	if (!in->json_schema)
		return OK;
	return item_body_paths(
		cx, item->resource, in->key, STR(""), item_reschema(cx, p, in->key, n.schema, now_us));
}

static status
run_patch(struct ctx *cx, enum resource r, const struct item_in *in, struct json_out *out)
{
	struct store_item was, item;
	struct project p;

	TRY(project_lock(cx, in->id, &p));
	TRY(direct_may_write_all(
		cx, &p, r, VERB_WRITE, in->key, kinds[r][KIND_PATCH], in->json_schema != NULL));
	TRY(item_get(cx, &p, r, in->key, &was));
	TRY(check_any_etag(cx, &p, &was));
	TRY(patch(cx, &p, in, &was));
	TRY(item_get(cx, &p, r, in->key, &item));
	if (item.updated_at != was.updated_at)
		TRY(record(cx, AUDIT_RECORD_CHANGED, &item, 0, described(cx, &was), described(cx, &item)));
	return answer_all(cx, &p, &item, out);
}

static status
run_delete(struct ctx *cx, enum resource r, const struct item_in *in, struct json_out *out)
{
	struct store_item item, here;
	struct project p;
	int64_t now_us;

	TRY(project_lock(cx, in->id, &p));
	TRY(direct_may_write_all(cx, &p, r, VERB_DELETE, in->key, kinds[r][KIND_DELETE], true));
	TRY(item_get(cx, &p, r, in->key, &item));
	TRY(check_any_etag(cx, &p, &item));
	for (size_t i = 0; i < p.environment_count; i++) {
		const struct environment *e = &p.environments[i];

		TRY(store_find(cx, e, r, in->key, &here));
		TRY(record(
			cx, AUDIT_RECORD_DELETED, &item, e->version + 1, recorded(cx, e, here.state), NULL));
	}
	TRY(tx_now_us(cx, &now_us));
	TRY(item_delete(cx, &p, r, in->key, now_us));
	view_write(out, p.id, (str){ 0 }, &item);
	view_write_versions(out, &p);
	return OK;
}

/* --- the tables --- */

#define RUN(name, R, run)                                                                                    \
	static status name(struct ctx *cx, const void *in, struct json_out *out)                             \
	{                                                                                                    \
		return run(cx, RESOURCE_##R, in, out);                                                       \
	}
#define RUNS(r, R)                                                                                           \
	RUN(r##_list, R, run_list)                                                                           \
	RUN(r##_get, R, run_get)                                                                             \
	RUN(r##_create, R, run_create)                                                                       \
	RUN(r##_patch, R, run_patch)                                                                         \
	RUN(r##_put, R, run_put)                                                                             \
	RUN(r##_delete, R, run_delete)

RUNS(flag, FLAG)
RUNS(config, CONFIG)
RUNS(segment, SEGMENT)

#define IN(fields) .in = (fields), .in_size = sizeof(struct item_in)

#define ITEM_OPS(r, patch_in, put_in, what, change)                                                          \
	{ .name = #r "_list",                                                                                \
		.method = "GET",                                                                             \
		.path = "/api/v1/envs/{envId}/" #r "s",                                                      \
		.rule = RULE_ANYBODY,                                                                        \
		.tx = OP_TX_READ,                                                                            \
		.doc = "Lists the " #r "s of an environment, by key: those in the token's scope. Needs "     \
		       "flag." #r ".read there.",                                                            \
		IN(view_list_in),                                                                            \
		.out = op_list_out,                                                                          \
		.errors = OP_ERRORS(E_NOT_FOUND, E_TOO_LARGE),                                               \
		.run = r##_list },                                                                           \
		{ .name = #r "_get",                                                                         \
			.method = "GET",                                                                     \
			.path = "/api/v1/envs/{envId}/" #r "s/{key}",                                        \
			.rule = RULE_ANYBODY,                                                                \
			.tx = OP_TX_READ,                                                                    \
			.doc = "Gives a " #r " as it is in an environment, with its ETag. Needs "            \
			       "flag." #r ".read there.",                                                    \
			IN(view_get_in),                                                                     \
			.out = view_##r##_out,                                                               \
			.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE),                                           \
			.run = r##_get },                                                                    \
		{ .name = #r "_create",                                                                      \
			.method = "POST",                                                                    \
			.path = "/api/v1/projects/{id}/" #r "s",                                             \
			.rule = RULE_ANYBODY,                                                                \
			.effect = OP_MUTATE,                                                                 \
			.tx = OP_TX_DECIDE,                                                                  \
			.doc = "Makes a " #r " in every environment of a project. Needs flag." #r            \
			       ".create in each, and that none wants approval.",                             \
			IN(view_##r##_create_in),                                                            \
			.out = view_##r##_out,                                                               \
			.success = 201,                                                                      \
			.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_APPROVAL, E_KEY_COLLISION, E_CONFLICT),  \
			.run = r##_create },                                                                 \
		{ .name = #r "_change",                                                                      \
			.method = "PATCH",                                                                   \
			.path = "/api/v1/projects/{id}/" #r "s/{key}",                                       \
			.rule = RULE_ANYBODY,                                                                \
			.effect = OP_MUTATE,                                                                 \
			.tx = OP_TX_DECIDE,                                                                  \
			.doc = "Changes the " change " of a " #r ". A description is in no ruleset, so it "  \
			       "waits for nobody's approval. Needs flag." #r ".write in each environment.",  \
			IN(patch_in),                                                                        \
			.out = view_##r##_out,                                                               \
			.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_APPROVAL, E_PRECONDITION),               \
			.run = r##_patch },                                                                  \
		{ .name = #r "_state_put",                                                                   \
			.method = "PUT",                                                                     \
			.path = "/api/v1/envs/{envId}/" #r "s/{key}/state",                                  \
			.rule = RULE_ANYBODY,                                                                \
			.effect = OP_MUTATE,                                                                 \
			.tx = OP_TX_DECIDE,                                                                  \
			.doc = "Replaces " what " of a " #r " in one environment, at once. Needs flag." #r   \
			       ".write there, and that nobody wants approval; with If-Match only what was "  \
			       "read is replaced.",                                                          \
			IN(put_in),                                                                          \
			.out = view_##r##_out,                                                               \
			.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_APPROVAL, E_PRECONDITION),               \
			.run = r##_put },                                                                    \
	{                                                                                                    \
		.name = #r "_delete", .method = "DELETE", .path = "/api/v1/projects/{id}/" #r "s/{key}",     \
		.rule = RULE_ANYBODY, .effect = OP_DESTRUCTIVE, .tx = OP_TX_DECIDE,                          \
		.doc = "Deletes a " #r " from every environment of a project. Needs flag." #r                \
		       ".delete in each, and that none wants approval.",                                     \
		IN(view_delete_in), .out = view_##r##_out,                                                   \
		.errors =                                                                                    \
			OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_APPROVAL, E_IN_USE, E_PRECONDITION, E_TOO_LARGE),  \
		.run = r##_delete                                                                            \
	}

struct references_out {
	struct json *flags, *configs, *segments;
};
static const struct field references_out[] = {
	FIELD_JSON(struct references_out, flags, .need = true, .doc = "Objects {key, ruleIndex}."),
	FIELD_JSON(struct references_out, configs, .need = true, .doc = "Objects {key, ruleIndex}."),
	FIELD_JSON(struct references_out, segments, .need = true, .doc = "Objects {key, ruleIndex}."),
	FIELD_END,
};

const struct op item_ops[] = {
	ITEM_OPS(flag, view_patch_in, view_value_put_in, "default value and rules", "description"),
	ITEM_OPS(config, view_config_patch_in, view_value_put_in, "default value and rules",
		"description and the JSON Schema"),
	ITEM_OPS(segment, view_patch_in, view_segment_put_in, "rules and lists", "description"),
	{ .name = "segment_references",
		.method = "GET",
		.path = "/api/v1/envs/{envId}/segments/{key}/references",
		.rule = RULE_ANYBODY,
		.tx = OP_TX_READ,
		.doc = "Lists the rules of an environment that name a segment: those in the token's scope. "
		       "Needs flag.segment.read there.",
		IN(view_get_in),
		.out = references_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_SCOPE, E_TOO_LARGE),
		.run = run_references },
	{ 0 },
};
