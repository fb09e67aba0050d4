/* SPDX-License-Identifier: Apache-2.0 */
/* The store of flags, configs and segments: rows, versions, and what is refused (FL-1, FL-3). */
#include "tests/unit/domain/store_world.h"

#include "domain/flag/store/impl.h"

#include "domain/flag/store/store.sql.h"

#define EMPTY "{\"targetField\":\"userId\",\"flags\":{},\"configs\":{},\"segments\":{}}"
#define FLAG(value)                                                                                          \
	"{\"targetField\":\"userId\",\"flags\":{\"a\":{\"type\":\"boolean\",\"defaultValue\":" value         \
	",\"rules\":[]}},\"configs\":{},\"segments\":{}}"
#define IN_STAFF "[{\"if\":{\"$not\":{\"$and\":[{\"$segment\":\"staff\"}]}},\"value\":true}]"

static void
a_fresh_environment_has_an_empty_ruleset_of_version_1(void **state)
{
	struct world *w = *state;
	struct environment e = environment_now(w, w->first.production_id);

	assert_int_equal(e.version, 1);
	assert_str(e.slug, "production");
	assert_str(e.target_field, "userId");
	assert_true(e.production);
	assert_true(e.updated_at == e.created_at);
	assert_string_equal(document(w, e.id, 0), EMPTY);
	assert_string_equal(document(w, e.id, 1), EMPTY);
}

static void
every_version_can_be_read_again_FL_1(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	int64_t version;

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_status(try_write(w, id, RESOURCE_FLAG, "a",
			      "{\"type\":\"boolean\",\"defaultValue\":true,\"rules\":[]}", &version),
		OK);
	assert_int_equal(version, 3);
	assert_string_equal(document(w, id, 1), EMPTY);
	assert_string_equal(document(w, id, 2), FLAG("false"));
	assert_string_equal(document(w, id, 3), FLAG("true"));
	assert_string_equal(document(w, id, 0), FLAG("true"));
	/* and the other environment has its own */
	assert_int_equal(environment_now(w, w->first.production_id).version, 2);
	assert_string_equal(document(w, w->first.production_id, 0), FLAG("false"));
}

static void
a_version_that_is_not_there_is_not_found(void **state)
{
	struct world *w = *state;
	struct reading r = { .environment_id = w->first.staging_id, .version = 2 };

	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND);
	r.version = -1;
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND);
	r.environment_id = STR("nothing");
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND);
}

static void
another_tenant_finds_nothing(void **state)
{
	struct world *w = *state;
	struct reading r = { .environment_id = w->first.staging_id };
	struct make m = { .project_id = w->first.project_id };

	w->caller.org_id = STR("somebody-else");
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND);
	assert_status(tx_run(&w->cx, make_tx, &m), E_NOT_FOUND);
}

static void
the_version_of_a_time_is_the_one_that_was_live_then(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	struct environment e = environment_now(w, id);
	struct reading r = { .environment_id = id, .at_us = e.created_at };
	int64_t made_us;

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	made_us = environment_now(w, id).updated_at;
	assert_true(made_us > e.created_at);
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(r.version, 1);
	r.at_us = made_us - 1;
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(r.version, 1);
	r.at_us = made_us;
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(r.version, 2);
	r.at_us = e.created_at - 1;
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND);
}

struct gone {
	enum resource resource;
	const char *key;
	str project_id;
};

static status
delete_tx(struct ctx *cx, void *arg)
{
	const struct gone *g = arg;
	struct project p;
	int64_t now_us;

	TRY(project_lock(cx, g->project_id, &p));
	TRY(tx_now_us(cx, &now_us));
	return item_delete(cx, &p, g->resource, str_of(g->key), now_us);
}

static status
try_delete(struct world *w, enum resource r, const char *key)
{
	return tx_run(&w->cx, delete_tx, &(struct gone){ r, key, w->first.project_id });
}

static void
a_version_that_only_ends_something_is_one_of_its_time(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	struct reading r = { .environment_id = id };

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_status(try_delete(w, RESOURCE_FLAG, "a"), OK);
	r.at_us = environment_now(w, id).updated_at;
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(r.version, 3);
	assert_string_equal(text_of(w, r.doc), EMPTY);
	assert_string_equal(document(w, id, 2), FLAG("false"));
	assert_status(try_delete(w, RESOURCE_FLAG, "a"), E_NOT_FOUND);
}

static void
what_changes_nothing_is_no_version(void **state)
{
	struct world *w = *state;
	int64_t version;

	make_value(w, RESOURCE_CONFIG, "n", "number", "1", NULL);
	assert_status(try_write(w, w->first.staging_id, RESOURCE_CONFIG, "n",
			      "{\"rules\":[],\"defaultValue\":1.0,\"type\":\"number\"}", &version),
		OK);
	assert_int_equal(version, 2);
}

static void
a_state_cannot_change_the_identity(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;

	make_value(w, RESOURCE_CONFIG, "n", "number", "1", NULL);
	assert_status(try_write(w, id, RESOURCE_CONFIG, "n",
			      "{\"rules\":[],\"defaultValue\":\"1\",\"type\":\"string\"}", NULL),
		E_INVALID);
	assert_str(w->cx.error.issues[0].path, "/configs/n/type");
	assert_status(try_write(w, id, RESOURCE_CONFIG, "n",
			      "{\"rules\":[],\"defaultValue\":1,\"type\":\"number\",\"schema\":{}}", NULL),
		E_INVALID);
	assert_str(w->cx.error.issues[0].path, "/configs/n/schema");
	assert_status(try_write(w, id, RESOURCE_FLAG, "n",
			      "{\"rules\":[],\"defaultValue\":true,\"type\":\"boolean\"}", NULL),
		E_NOT_FOUND);
	assert_int_equal(environment_now(w, id).version, 2);
}

static void
what_is_no_ruleset_is_refused_with_a_path_FL_3(void **state)
{
	struct world *w = *state;

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_status(
		try_write(w, w->first.staging_id, RESOURCE_FLAG, "a",
			"{\"type\":\"boolean\",\"defaultValue\":false,\"rules\":[{\"value\":1}]}", NULL),
		E_INVALID);
	assert_str(w->cx.error.issues[0].path, "/flags/a/rules/0/value");
	assert_int_equal(environment_now(w, w->first.staging_id).version, 2);
}

static void
flags_and_configs_share_their_names(void **state)
{
	struct world *w = *state;
	struct item_new again = { .resource = RESOURCE_CONFIG, .key = STR("a"), .type = STR("number") };

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_status(try_make(w, again), E_KEY_COLLISION);
	again.resource = RESOURCE_FLAG;
	assert_status(try_make(w, again), E_KEY_COLLISION);
	make_segment(w, "a", NULL);
	assert_int_equal(environment_now(w, w->first.staging_id).version, 3);
}

static void
a_key_that_is_none_is_refused_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct item_new bad = { .resource = RESOURCE_FLAG, .key = STR("/x y"), .type = STR("boolean") };

	assert_status(try_make(w, bad), E_INVALID);
	assert_int_equal(w->cx.error.issue_count, 1);
	assert_string_equal(document(w, w->first.staging_id, 0), EMPTY);
}

static void
a_segment_that_others_name_stays(void **state)
{
	struct world *w = *state;
	const str keys[] = { STR("a"), STR("staff") };

	make_segment(w, "staff", NULL);
	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", IN_STAFF);
	make_value(w, RESOURCE_CONFIG, "b", "boolean", "false", IN_STAFF);
	make_segment(w, "c", "[{\"if\":{\"$or\":[{\"$segment\":\"staff\"}]}}]");
	assert_status(try_delete(w, RESOURCE_SEGMENT, "staff"), E_IN_USE);
	assert_int_equal(w->cx.error.issue_count, 3);
	assert_str(w->cx.error.issues[0].path, "flag.a");
	assert_str(w->cx.error.issues[1].path, "config.b");
	assert_str(w->cx.error.issues[2].path, "segment.c");
	/* who may not see them is told of none */
	w->caller.scope.all_keys = false;
	w->caller.scope.keys = keys;
	w->caller.scope.key_count = 2;
	assert_status(try_delete(w, RESOURCE_SEGMENT, "staff"), E_IN_USE);
	assert_int_equal(w->cx.error.issue_count, 1);
	assert_status(try_delete(w, RESOURCE_FLAG, "a"), OK);
	assert_status(try_delete(w, RESOURCE_CONFIG, "b"), OK);
	assert_status(try_delete(w, RESOURCE_SEGMENT, "staff"), E_IN_USE);
	assert_int_equal(w->cx.error.issue_count, 0);
	assert_status(try_delete(w, RESOURCE_SEGMENT, "c"), OK);
	assert_status(try_delete(w, RESOURCE_SEGMENT, "staff"), OK);
	assert_string_equal(document(w, w->first.production_id, 0), EMPTY);
}

/* --- overlay --- */

static void
an_overlay_replaces_adds_and_removes_and_leaves_the_document_alone(void **state)
{
	struct world *w = *state;
	struct json *doc = parse(w, "{\"targetField\":\"u\",\"flags\":{\"a\":1,\"b\":2,\"c\":3},"
				    "\"segments\":{\"b\":4}}");
	const char *before = text_of(w, doc);
	struct store_edit edits[] = { { RESOURCE_FLAG, STR("b"), parse(w, "7") },
		{ RESOURCE_FLAG, STR("z"), parse(w, "8") }, { RESOURCE_FLAG, STR("a"), NULL },
		{ RESOURCE_FLAG, STR("not-there"), NULL }, { RESOURCE_SEGMENT, STR("b"), parse(w, "9") } };

	assert_string_equal(text_of(w, store_overlay(&w->cx, doc, edits, 5)),
		"{\"targetField\":\"u\",\"flags\":{\"b\":7,\"c\":3,\"z\":8},\"configs\":{},"
		"\"segments\":{\"b\":9}}");
	assert_string_equal(text_of(w, doc), before);
	assert_string_equal(text_of(w, store_overlay(&w->cx, parse(w, "{}"), NULL, 0)),
		"{\"flags\":{},\"configs\":{},\"segments\":{}}");
}

/* --- many --- */

static status
make_many_tx(struct ctx *cx, void *arg)
{
	struct world *w = arg;
	struct project p;
	str id;

	TRY(project_lock(cx, w->first.project_id, &p));
	for (int i = 0; i < 20; i++) {
		struct item_new n = { .resource = RESOURCE_FLAG, .type = STR("boolean") };

		n.key = arena_printf(cx->arena, "f%d", i);
		TRY(item_create(cx, &p, &n, 1, &id)); /* and a clock that stands still */
	}
	return OK;
}

static void
times_grow_with_versions_whatever_the_clock_says(void **state)
{
	struct world *w = *state;
	struct environment before = environment_now(w, w->first.staging_id), e;
	struct reading r = { .environment_id = before.id };

	assert_status(tx_run(&w->cx, make_many_tx, w), OK);
	e = environment_now(w, before.id);
	assert_int_equal(e.version, 21);
	for (int64_t i = 0; i <= 20; i++) {
		r.at_us = e.created_at + i;
		assert_status(db_read(&w->cx, read_tx, &r), OK);
		assert_int_equal(r.version, 1 + i);
		assert_int_equal(json_get(r.doc, STR("flags"))->count, i);
	}
}

/* --- news --- */

static void
count_event(void *arg, const struct event *e)
{
	if (str_eq(e->type, STR(STORE_EVENT)))
		++*(int *)arg;
}

static void
a_new_version_is_news_and_a_refusal_is_none(void **state)
{
	struct world *w = *state;
	int events = 0;

	event_listen(w->cx.events, count_event, &events);
	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_int_equal(events, 2); /* environments */
	assert_status(try_write(w, w->first.staging_id, RESOURCE_FLAG, "a",
			      "{\"type\":\"boolean\",\"defaultValue\":2,\"rules\":[]}", NULL),
		E_INVALID);
	assert_int_equal(events, 2);
}

/* --- one of them --- */

struct finding {
	str environment_id;
	const char *key;
	struct store_item item;
};

static status
find_tx(struct ctx *cx, void *arg)
{
	struct finding *f = arg;
	struct environment e;

	TRY(environment_get(cx, f->environment_id, &e));
	return store_find(cx, &e, RESOURCE_CONFIG, str_of(f->key), &f->item);
}

struct describe {
	str project_id;
	const char *key;
	str description;
	const struct json *schema;
	bool reschema;
};

static status
describe_tx(struct ctx *cx, void *arg)
{
	const struct describe *d = arg;
	struct project p;

	TRY(project_lock(cx, d->project_id, &p));
	if (d->reschema)
		return item_reschema(cx, &p, str_of(d->key), d->schema, 1);
	return item_describe(cx, &p, RESOURCE_CONFIG, str_of(d->key), d->description, 1);
}

static void
a_description_is_no_version_but_a_newer_etag(void **state)
{
	struct world *w = *state;
	struct finding f = { .environment_id = w->first.staging_id, .key = "n" };
	struct describe d = { .project_id = w->first.project_id, .key = "n", .description = STR("of days") };
	int64_t before;

	make_value(w, RESOURCE_CONFIG, "n", "number", "1", NULL);
	assert_status(db_read(&w->cx, find_tx, &f), OK);
	before = f.item.updated_at;
	assert_status(tx_run(&w->cx, describe_tx, &d), OK);
	assert_status(db_read(&w->cx, find_tx, &f), OK);
	assert_true(f.item.updated_at > before);
	assert_str(f.item.description, "of days");
	assert_str(f.item.type, "number");
	assert_null(f.item.schema);
	assert_int_equal(environment_now(w, w->first.staging_id).version, 2);
	d.key = f.key = "m";
	assert_status(tx_run(&w->cx, describe_tx, &d), E_NOT_FOUND);
	assert_status(db_read(&w->cx, find_tx, &f), E_NOT_FOUND);
	d.description.len = LIMIT_FLAG_TEXT + 1;
	assert_status(tx_run(&w->cx, describe_tx, &d), E_INVALID);
}

static void
a_schema_is_one_version_and_all_states_fit_it(void **state)
{
	struct world *w = *state;
	struct finding f = { .environment_id = w->first.staging_id, .key = "n" };
	struct describe d = { .project_id = w->first.project_id, .key = "n", .reschema = true };

	make_value(w, RESOURCE_CONFIG, "n", "number", "1", NULL);
	d.schema = parse(w, "{\"maximum\":3}");
	assert_status(tx_run(&w->cx, describe_tx, &d), OK);
	assert_status(db_read(&w->cx, find_tx, &f), OK);
	assert_string_equal(text_of(w, f.item.schema), "{\"maximum\":3}");
	assert_string_equal(text_of(w, json_get(f.item.state, STR("schema"))), "{\"maximum\":3}");
	assert_int_equal(environment_now(w, w->first.staging_id).version, 3);
	d.schema = parse(w, "{\"minimum\":3}");
	assert_status(tx_run(&w->cx, describe_tx, &d), E_INVALID);
	assert_str(w->cx.error.issues[0].path, "/configs/n/defaultValue");
	d.schema = NULL;
	assert_status(tx_run(&w->cx, describe_tx, &d), OK);
	assert_status(db_read(&w->cx, find_tx, &f), OK);
	assert_null(f.item.schema);
	assert_int_equal(environment_now(w, w->first.production_id).version, 4);
}

/* --- more than one page --- */

#define MANY 2100

static status
put_many_tx(struct ctx *cx, void *arg)
{
	struct world *w = arg;
	struct store_edit *edits = arena_alloc(cx->arena, MANY * sizeof(*edits));
	struct environment e;

	TRY(environment_lock(cx, w->first.staging_id, &e));
	for (int i = 0; i < MANY; i++)
		edits[i] = (struct store_edit){ RESOURCE_FLAG, arena_printf(cx->arena, "f%d", i),
			parse(w, "{\"type\":\"boolean\",\"defaultValue\":true,\"rules\":[]}") };
	return store_put(cx, &e, edits, MANY, 1);
}

static void
thousands_are_one_version_and_read_page_by_page(void **state)
{
	struct world *w = *state;
	struct reading r = { .environment_id = w->first.staging_id, .version = 2 };

	assert_status(tx_run(&w->cx, put_many_tx, w), OK);
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(json_get(r.doc, STR("flags"))->count, MANY);
	r.version = 0;
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(json_get(r.doc, STR("flags"))->count, MANY);
}

/* --- what is too old --- */

struct number_row {
	int64_t number;
};
static const struct field number_row[] = { FIELD_INT(struct number_row, number), FIELD_END };

static status
count_old_tx(struct ctx *cx, void *arg)
{
	return db_one(cx, SQL_STORE_OLD, number_row, arg, INT(INT64_MAX));
}

/* Is anything kept that not even the far future needs? */
static int64_t
old_states(struct world *w)
{
	struct number_row row;

	assert_status(db_read(&w->cx, count_old_tx, &row), OK);
	return row.number;
}

static void
grow_old(struct world *w)
{
	behind_the_back(w, "UPDATE flag_state SET valid_from = valid_from - 8640000000000, "
			   "valid_until = valid_until - 8640000000000");
	behind_the_back(w, "UPDATE environment SET created_at = created_at - 8640000000000, "
			   "updated_at = updated_at - 8640000000000");
}

static void
states_of_100_days_ago_are_forgotten_and_versions_are_not(void **state)
{
	struct world *w = *state;
	str id = w->first.staging_id;
	struct reading r = { .environment_id = id, .version = 3 };

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_status(try_delete(w, RESOURCE_FLAG, "a"), OK);
	make_value(w, RESOURCE_FLAG, "b", "boolean", "false", NULL);
	assert_status(store_sweep(&w->cx), OK);
	assert_int_equal(old_states(w), 1);
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	grow_old(w);
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND); /* swept or not */
	assert_status(store_sweep(&w->cx), OK);
	assert_int_equal(old_states(w), 0);
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND);
	assert_string_equal(document(w, id, 4), document(w, id, 0));
	/* what ended last is all that tells which version there was: it stays until something begins */
	assert_status(try_delete(w, RESOURCE_FLAG, "b"), OK);
	grow_old(w);
	assert_status(store_sweep(&w->cx), OK);
	r.at_us = environment_now(w, id).updated_at + STORE_PAST_US;
	assert_status(db_read(&w->cx, read_tx, &r), OK);
	assert_int_equal(r.version, 5);
	r.at_us = environment_now(w, id).updated_at;
	assert_status(db_read(&w->cx, read_tx, &r), E_NOT_FOUND); /* more than 90 days ago */
}

/* --- the target field --- */

struct target {
	str project_id, field;
};

static status
target_tx(struct ctx *cx, void *arg)
{
	const struct target *t = arg;
	struct project p;
	int64_t now_us;

	TRY(project_lock(cx, t->project_id, &p));
	TRY(tx_now_us(cx, &now_us));
	return project_change(cx, &p, p.name, t->field, now_us);
}

static void
the_target_field_is_part_of_every_version(void **state)
{
	struct world *w = *state;
	str id = w->first.production_id;
	struct target t = { w->first.project_id, STR("account.id") };

	make_value(w, RESOURCE_FLAG, "a", "boolean", "false", NULL);
	assert_status(tx_run(&w->cx, target_tx, &t), OK);
	t.field = STR("deviceId");
	assert_status(tx_run(&w->cx, target_tx, &t), OK);
	assert_status(tx_run(&w->cx, target_tx, &t), OK); /* the same again is no version */
	assert_string_equal(document(w, id, 1), EMPTY);
	assert_string_equal(document(w, id, 2), FLAG("false"));
	assert_non_null(strstr(document(w, id, 3), "\"targetField\":\"account.id\""));
	assert_non_null(strstr(document(w, id, 4), "\"targetField\":\"deviceId\""));
	assert_string_equal(document(w, id, 4), document(w, id, 0));
	assert_int_equal(environment_now(w, id).version, 4);
	assert_str(environment_now(w, id).target_field, "deviceId");
	t.field = STR("");
	assert_status(tx_run(&w->cx, target_tx, &t), OK);
	assert_str(environment_now(w, id).target_field, "userId");
	assert_int_equal(environment_now(w, id).version, 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(a_fresh_environment_has_an_empty_ruleset_of_version_1),
		ON_WORLD(every_version_can_be_read_again_FL_1),
		ON_WORLD(a_version_that_is_not_there_is_not_found),
		ON_WORLD(another_tenant_finds_nothing),
		ON_WORLD(the_version_of_a_time_is_the_one_that_was_live_then),
		ON_WORLD(a_version_that_only_ends_something_is_one_of_its_time),
		ON_WORLD(what_changes_nothing_is_no_version),
		ON_WORLD(a_state_cannot_change_the_identity),
		ON_WORLD(what_is_no_ruleset_is_refused_with_a_path_FL_3),
		ON_WORLD(flags_and_configs_share_their_names),
		ON_WORLD(a_key_that_is_none_is_refused_and_leaves_nothing),
		ON_WORLD(a_segment_that_others_name_stays),
		ON_WORLD(an_overlay_replaces_adds_and_removes_and_leaves_the_document_alone),
		ON_WORLD(times_grow_with_versions_whatever_the_clock_says),
		ON_WORLD(a_new_version_is_news_and_a_refusal_is_none),
		ON_WORLD(a_description_is_no_version_but_a_newer_etag),
		ON_WORLD(a_schema_is_one_version_and_all_states_fit_it),
		ON_WORLD(thousands_are_one_version_and_read_page_by_page),
		ON_WORLD(states_of_100_days_ago_are_forgotten_and_versions_are_not),
		ON_WORLD(the_target_field_is_part_of_every_version),
	};

	return on_every_engine("store", tests, sizeof(tests) / sizeof(tests[0]));
}
