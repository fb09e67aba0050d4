/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "core/audit/audit.h"
#include "db/db.h"
#include "domain/flag/reservoir/impl.h"
#include "domain/flag/store/store.h"
#include "json/bind.h"

#include "domain/flag/reservoir/reservoir.sql.h" /* SQL_RESERVOIR_*, generated from reservoir.sql */

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = 64, .doc = "The environment."),
	FIELD_END,
};

/* Whose data is kept is for people to say, and in scope. */
static status
enter(struct ctx *cx, str id, bool changes, struct environment *out)
{
	static const char *const reads[] = { "access.environment.read", NULL };
	static const char *const writes[] = { "access.environment.write", NULL };

	if (!caller_in_scope(cx->caller, id, (str){ 0 }))
		return fail(cx, E_SCOPE, "this environment is outside the scope of your token");
	TRY(changes ? environment_lock(cx, id, out) : environment_get(cx, id, out));
	TRY(caller_require_in(cx, cx->caller, "sampling", changes ? writes : reads, out->production));
	if (changes && cx->caller->kind != PRINCIPAL_USER)
		return fail(cx, E_FORBIDDEN, "Forbidden: sampling (only people say whose contexts are kept)");
	return OK;
}

/* --- what there is --- */

struct sampling_out {
	int64_t percent, kept, most, days;
	struct json *keep_fields;
	str oldest;
};
static const struct field sampling_out[] = {
	FIELD_INT(struct sampling_out, percent, .need = true, .doc = "Of evaluations; 0: it is off."),
	FIELD_JSON(struct sampling_out, keep_fields, .doc = "The fields that are kept; absent: all."),
	FIELD_INT(struct sampling_out, kept, .need = true, .doc = "Contexts in the sample now."),
	FIELD_INT(struct sampling_out, most, .need = true, .doc = "Never more than this."),
	FIELD_INT(struct sampling_out, days, .need = true, .doc = "Older ones are deleted."),
	FIELD_TEXT(struct sampling_out, oldest, .doc = "When the oldest was taken."),
	FIELD_END,
};

struct count_row {
	int64_t kept, oldest;
};
static const struct field count_row[] = {
	FIELD_INT(struct count_row, kept),
	FIELD_INT(struct count_row, oldest),
	FIELD_END,
};

/* percent 0 where it does not sample. */
static status
find(struct ctx *cx, str environment_id, struct sampling *out)
{
	struct sampling s = { .keep_fields = STR("null") };
	status found = sampling_get(cx, cx->caller->org_id, environment_id, &s);

	if (found == E_NOT_FOUND)
		ctx_clear(cx);
	else
		TRY(found);
	*out = s;
	return OK;
}

static status
show(struct ctx *cx, const struct environment *e, struct json_out *out)
{
	struct count_row n;
	struct sampling s;

	TRY(find(cx, e->id, &s));
	TRY(db_one(cx, SQL_RESERVOIR_COUNT, count_row, &n, TEXT(cx->caller->org_id), TEXT(e->id)));
	json_out_int(out, "percent", s.percent);
	if (!str_eq(s.keep_fields, STR("null")))
		json_out_raw(out, "keepFields", s.keep_fields);
	json_out_int(out, "kept", n.kept);
	json_out_int(out, "most", LIMIT_RESERVOIR);
	json_out_int(out, "days", LIMIT_SAMPLE_AGE_US / (INT64_C(24) * 3600 * 1000000));
	if (n.oldest)
		json_out_time(out, "oldest", n.oldest);
	return OK;
}

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct environment e;

	TRY(enter(cx, i->id, false, &e));
	return show(cx, &e, out);
}

/* --- on, and off --- */

/* After the commit: nothing more is sampled by what was said before. */
struct forgetting {
	struct reservoir *reservoir;
	str environment_id;
};

static void
forget(void *arg)
{
	struct forgetting *f = arg;

	reservoir_forget(f->reservoir, f->environment_id);
}

static void
forget_later(struct ctx *cx, str environment_id)
{
	struct forgetting *f = arena_alloc(cx->arena, sizeof(*f));

	*f = (struct forgetting){ cx->reservoir, environment_id };
	tx_after_commit(cx, forget, f);
}

static status
setting_json(struct ctx *cx, const struct sampling *s, struct json **out)
{
	struct json *o = json_new_object(cx->arena), *keep;

	TRY(json_parse(cx, s->keep_fields, &keep));
	json_add_member(o, STR("percent"), json_new_int(cx->arena, s->percent));
	json_add_member(o, STR("keepFields"), keep);
	*out = o;
	return OK;
}

static status
record(struct ctx *cx, const struct environment *e, const struct sampling *was, const struct sampling *is)
{
	struct audit_entry entry = { .action = AUDIT_RECORD_CHANGED,
		.resource_type = STR("sampling"),
		.resource_key = e->slug,
		.resource_id = e->id };
	struct json *before, *after;

	TRY(setting_json(cx, was, &before));
	TRY(setting_json(cx, is, &after));
	entry.before = before;
	entry.after = after;
	return audit_add(cx, &entry, NULL);
}

static status
store(struct ctx *cx, const struct environment *e, const struct sampling *was, const struct sampling *is)
{
	str org = cx->caller->org_id, wrapped;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (!is->percent) /* its samples go with it, and with its key */
		return db_run(cx, SQL_RESERVOIR_END, TEXT(org), TEXT(e->id));
	if (was->percent)
		return db_run(cx, SQL_RESERVOIR_CHANGE, TEXT(org), TEXT(e->id), INT(is->percent),
			TEXT(is->keep_fields), INT(now_us));
	TRY(sampling_wrap(cx, org, e->id, &wrapped));
	return db_run(cx, SQL_RESERVOIR_BEGIN, TEXT(org), TEXT(e->id), INT(is->percent),
		TEXT(is->keep_fields), BLOB(wrapped), INT(now_us));
}

static status
change(struct ctx *cx, const struct environment *e, const struct sampling *is)
{
	struct sampling was;

	TRY(find(cx, e->id, &was));
	TRY(store(cx, e, &was, is));
	/* fields that are no longer to be kept are not kept */
	if (was.percent && is->percent && !str_eq(was.keep_fields, is->keep_fields))
		TRY(db_run(cx, SQL_RESERVOIR_CLEAR, TEXT(cx->caller->org_id), TEXT(e->id)));
	forget_later(cx, e->id);
	return record(cx, e, &was, is);
}

struct put_in {
	str id;
	int64_t percent;
	struct json *keep_fields;
};
static const struct field put_in[] = {
	FIELD_TEXT(struct put_in, id, .need = true, .min = 1, .max = 64, .doc = "The environment."),
	FIELD_INT(struct put_in, percent, .need = true, .min = 0, .max = 100,
		.doc = "Of evaluations whose context is sampled; 0 switches it off and deletes what there "
		       "is."),
	FIELD_JSON(struct put_in, keep_fields,
		.doc = "Only these members of a context are kept, and the target field; all unless said."),
	FIELD_END,
};

static status
run_put(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct put_in *i = in;
	struct sampling is = { .percent = i->percent, .keep_fields = STR("null") };
	struct environment e;
	const str *names;
	size_t count;

	TRY(enter(cx, i->id, true, &e));
	TRY(json_bind_strings(cx, i->keep_fields, STR("/keepFields"), LIMIT_SAMPLE_FIELDS, &names, &count));
	if (i->keep_fields && i->keep_fields->type == JSON_ARRAY)
		TRY(json_text(cx, i->keep_fields, &is.keep_fields));
	TRY(change(cx, &e, &is));
	return show(cx, &e, out);
}

static status
run_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct sampling off = { .keep_fields = STR("null") };
	struct environment e;

	TRY(enter(cx, i->id, true, &e));
	TRY(change(cx, &e, &off));
	return show(cx, &e, out);
}

/* --- one target --- */

struct target_in {
	str id, target;
};
static const struct field target_in[] = {
	FIELD_TEXT(struct target_in, id, .need = true, .min = 1, .max = 64, .doc = "The environment."),
	FIELD_TEXT(struct target_in, target, .need = true, .min = 1, .max = LIMIT_FLAG_TEXT,
		.doc = "Whose contexts: a value of the target field."),
	FIELD_END,
};

struct erased_out {
	int64_t erased;
};
static const struct field erased_out[] = {
	FIELD_INT(struct erased_out, erased, .need = true, .doc = "How many there were."),
	FIELD_END,
};

/* The record says that, where and when; not who. */
static status
run_erase(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct target_in *i = in;
	struct audit_entry entry = { .action = AUDIT_RECORD_DELETED, .resource_type = STR("sample") };
	struct environment e;
	int64_t slot, erased;
	str target;

	TRY(enter(cx, i->id, true, &e));
	target = sampling_target(cx, cx->caller->org_id, e.id, i->target, &slot);
	TRY(db_run_count(
		cx, SQL_RESERVOIR_ERASE, &erased, TEXT(cx->caller->org_id), TEXT(e.id), TEXT(target)));
	forget_later(cx, e.id); /* what waits may be theirs */
	entry.resource_key = e.slug;
	entry.resource_id = e.id;
	TRY(audit_add(cx, &entry, NULL));
	json_out_int(out, "erased", erased);
	return OK;
}

#define WRITE_ERRORS                                                                                         \
	OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_COMMIT_UNKNOWN, E_UNAVAILABLE, E_DISK_FULL, E_READ_ONLY)

const struct op reservoir_ops[] = {
	{ .name = "sampling_get",
		.method = "GET",
		.path = "/api/v1/envs/{id}/sampling",
		.rule = RULE_ANYBODY, /* enter: in that environment */
		.tx = OP_TX_READ,
		.doc = "Says whether an environment keeps a sample of the contexts that it evaluates, and "
		       "how many there are. Nothing shows the contexts themselves.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = sampling_out,
		.errors = OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_get },
	{ .name = "sampling_put",
		.method = "PUT",
		.path = "/api/v1/envs/{id}/sampling",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Switches the sample of an environment on or off, with access.environment.write. It "
		       "is off "
		       "unless a person says otherwise.",
		.in = put_in,
		.in_size = sizeof(struct put_in),
		.out = sampling_out,
		.errors = WRITE_ERRORS,
		.run = run_put },
	{ .name = "sampling_delete",
		.method = "DELETE",
		.path = "/api/v1/envs/{id}/sampling",
		.rule = RULE_ANYBODY,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_DECIDE,
		.doc = "Switches the sample off and deletes all of it, with its key.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = sampling_out,
		.errors = WRITE_ERRORS,
		.run = run_delete },
	{ .name = "sampling_erase_target",
		.method = "DELETE",
		.path = "/api/v1/envs/{id}/sampling/targets/{target}",
		.rule = RULE_ANYBODY,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_DECIDE,
		.doc = "Deletes what the sample has of one target.",
		.in = target_in,
		.in_size = sizeof(struct target_in),
		.out = erased_out,
		.errors = WRITE_ERRORS,
		.run = run_erase },
	{ 0 },
};
