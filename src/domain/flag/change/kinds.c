/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of proposals about flags, configs and segments: one table (FL-5). */
#include "base/check.h"
#include "db/db.h"
#include "domain/flag/change/change.h"
#include "domain/flag/change/impl.h"

/* --- the new state, from the old one and the diff --- */

typedef status next_fn(struct ctx *cx, const struct store_item *item, const struct json *diff,
	const struct json **out_state);

static status
next_default(struct ctx *cx, const struct store_item *item, const struct json *diff, const struct json **out)
{
	*out = change_with(cx, item->state, "defaultValue", json_get(diff, STR("defaultValue")));
	return OK;
}

/* A segment's lists stay as they are unless the diff has them. */
static status
next_rules(struct ctx *cx, const struct store_item *item, const struct json *diff, const struct json **out)
{
	static const char *const lists[] = { "rules", "allowList", "denyList" };
	const struct json *state = item->state;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct json *list = json_get(diff, str_of(lists[i]));

		if (list)
			state = change_with(cx, state, lists[i], list);
	}
	*out = state;
	return OK;
}

static status
next_killed(struct ctx *cx, const struct store_item *item, const struct json *diff, const struct json **out)
{
	struct json *state;

	(void)diff;
	if (!str_eq(item->type, STR("boolean"))) {
		fail_issue(cx, STR("/resourceKey"), STR("must be a boolean flag: only those can be killed"));
		return fail(cx, E_INVALID, "the flag %.*s is not boolean: only those can be killed",
			STR_ARG(item->key));
	}
	state = change_with(cx, item->state, "defaultValue", json_new_bool(cx->arena, false));
	*out = change_with(cx, state, "rules", json_new_array(cx->arena));
	return OK;
}

/* --- the table --- */

#define NO_DIFF	       SCHEMA_OBJECT("", "")
#define DEFAULT(value) SCHEMA_OBJECT("\"defaultValue\":{" value "}", "\"defaultValue\"")
#define RULES(rule)    SCHEMA_OBJECT(SCHEMA_RULES(rule), "\"rules\"")
#define SEGMENT_RULES                                                                                        \
	SCHEMA_OBJECT(SCHEMA_RULES(SCHEMA_SEGMENT_RULE) "," SCHEMA_TEXTS("allowList") "," SCHEMA_TEXTS(      \
			      "denyList"),                                                                   \
		"\"rules\"")

/*	kind, and what models call it; resource; diff; next; verb; doc */
/* clang-format off */
#define SET_KINDS(X) \
	X(set_default_value_flag, "propose_set_default_value", FLAG,    flag,    DEFAULT(SCHEMA_FLAG_VALUE),   next_default, \
		"Set the default value of", "Sets what a flag says where no rule matches. diff: {defaultValue}.") \
	X(set_rules_flag, "propose_set_rules_flag", FLAG,    flag,    RULES(SCHEMA_VALUE_RULE(SCHEMA_FLAG_VALUE)), next_rules, \
		"Change the rules of", "Replaces all rules of a flag. diff: {rules}.") \
	X(kill_flag, "propose_kill_flag", FLAG,    flag,    NO_DIFF,                      next_killed, \
		"Kill", "Switches a boolean flag off for everybody: default false, no rules. diff: {}.") \
	X(set_default_value_config, "propose_set_default_value_config", CONFIG,  config,  DEFAULT(SCHEMA_CONFIG_VALUE), next_default, \
		"Set the default value of", "Sets what a config says where no rule matches. diff: {defaultValue}.") \
	X(set_rules_config, "propose_set_rules_config", CONFIG,  config,  RULES(SCHEMA_VALUE_RULE(SCHEMA_CONFIG_VALUE)), next_rules, \
		"Change the rules of", "Replaces all rules of a config. diff: {rules}.") \
	X(set_rules_segment, "propose_set_rules_segment", SEGMENT, segment, SEGMENT_RULES,                next_rules, \
		"Change the rules of", "Replaces all rules of a segment, and its lists where they are given. " \
		"diff: {rules, allowList?, denyList?}.")

#define DELETE_KINDS(X) \
	X(delete_flag,    FLAG,    flag) \
	X(delete_config,  CONFIG,  config) \
	X(delete_segment, SEGMENT, segment)
/* clang-format on */

struct kind {
	const char *name;
	enum resource resource;
	const char *verb;
	next_fn *next; /* NULL: it is deleted */
};

static const struct kind kinds[] = {
#define X(kind, model, R, r, diff, next_, verb_, doc)                                                        \
	{ .name = #kind, .resource = RESOURCE_##R, .verb = (verb_), .next = (next_) },
	SET_KINDS(X)
#undef X
#define X(kind, R, r) { .name = #kind, .resource = RESOURCE_##R, .verb = "Delete" },
		DELETE_KINDS(X)
#undef X
};

static const struct kind *
kind_of(const struct tool *t)
{
	size_t i = 0;

	while (strcmp(kinds[i].name, t->kind) != 0) {
		i++;
		CHECK(i < sizeof(kinds) / sizeof(kinds[0])); /* both come from the same list */
	}
	return &kinds[i];
}

/* --- setting --- */

static status
plan(struct ctx *cx, const struct tool_call *call, bool lock, struct change *c)
{
	const struct kind *k = kind_of(call->tool);

	TRY(change_begin(cx, call, lock, k->resource, c));
	return k->next ? k->next(cx, &c->item, json_get(call->input, STR("diff")), &c->edit.state) : OK;
}

static status
survey(struct ctx *cx, const struct tool_call *call, const struct json **out)
{
	return change_survey(cx, call, plan, out);
}

static status
set(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct change c;

	TRY(plan(cx, call, true, &c));
	return change_write(cx, call, &c, kind_of(call->tool)->verb, "/diff", out);
}

/* --- deleting: from the project, so from all its environments --- */

struct deletion {
	struct project project;
	const struct environment *here; /* the one that is named */
	struct store_item item;
	struct json *doc;
	struct json *before; /* by environment */
};

static status
find_everywhere(struct ctx *cx, const struct tool_call *call, const struct kind *k, str key,
	str environment_id, struct deletion *d)
{
	d->before = json_new_object(cx->arena);
	for (size_t i = 0; i < d->project.environment_count; i++) {
		const struct environment *e = &d->project.environments[i];
		struct store_item item;

		TRY(change_in_scope(cx, call, e->id, key));
		TRY(store_find(cx, e, k->resource, key, &item));
		json_add_member(d->before, e->slug, change_shown(cx, k->resource, item.state));
		if (!str_eq(e->id, environment_id))
			continue;
		d->here = e;
		d->item = item;
		TRY(tool_check_version(cx, call, e->version));
		TRY(store_document(cx, e, 0, &d->doc));
	}
	/* it was there a moment ago, and the project is locked */
	return d->here ? OK : fail(cx, E_NOT_FOUND, "there is no environment with this id");
}

static const str *
ids_of(struct ctx *cx, const struct project *p)
{
	str *ids = arena_alloc(cx->arena, (p->environment_count + 1) * sizeof(*ids));

	for (size_t i = 0; i < p->environment_count; i++)
		ids[i] = p->environments[i].id;
	return ids;
}

static struct json *
deleted_value(struct ctx *cx, const struct deletion *d, const struct kind *k, str key)
{
	struct json *value = json_new_object(cx->arena), *versions = json_new_object(cx->arena);

	json_add_member(value, STR("deleted"), json_new_string(cx->arena, key));
	json_add_member(
		value, STR("resourceType"), json_new_string(cx->arena, str_of(resource_name(k->resource))));
	for (size_t i = 0; i < d->project.environment_count; i++)
		json_add_member(versions, d->project.environments[i].slug,
			json_new_int(cx->arena, d->project.environments[i].version));
	json_add_member(value, STR("versions"), versions);
	return value;
}

static status delete (struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	const struct kind *k = kind_of(call->tool);
	const char *what = resource_name(k->resource);
	str environment_id = input_text(call->input, "envId"), key = input_text(call->input, "resourceKey");
	struct store_edit edit = { .resource = k->resource, .key = key };
	struct deletion d = { 0 };
	struct environment e;
	struct impact impact;
	int64_t seen, now_us;
	str words;

	TRY(change_in_scope(cx, call, environment_id, key));
	TRY(environment_get(cx, environment_id, &e));
	TRY(project_lock(cx, e.project_id, &d.project));
	TRY(find_everywhere(cx, call, k, key, environment_id, &d));
	seen = d.here->version;
	TRY(tx_now_us(cx, &now_us));
	TRY(item_delete(cx, &d.project, k->resource, key, now_us));
	TRY(change_impact(cx, call, d.doc, &edit, 1, &impact, &words));
	*out = (struct tool_result){
		.summary = arena_printf(cx->arena, "Delete the %s %.*s from %.*s%s", what, STR_ARG(key),
			STR_ARG(d.here->slug),
			d.project.environment_count > 1 ? " and every other environment of its project" : ""),
		.resource_type = str_of(what),
		.resource_key = key,
		.resource_id = d.item.id,
		.environment_id = d.here->id,
		.environments = ids_of(cx, &d.project),
		.environment_count = d.project.environment_count,
		.live_version = seen,
		.affected = arena_printf(cx->arena, "%s %.*s in all %zu environments of the project %.*s%.*s",
			what, STR_ARG(key), d.project.environment_count, STR_ARG(d.project.slug),
			STR_ARG(words)),
		.before = d.before,
		.impact = impact.radius,
		.value = deleted_value(cx, &d, k, key),
		.version = d.here->version
	};
	return OK;
}

/* --- the declarations --- */

#define KIND_INPUT(diff)                                                                                     \
	SCHEMA_OBJECT(SCHEMA_ENV_ID "," SCHEMA_RESOURCE_KEY ",\"diff\":" diff "," SCHEMA_SPOT_CHECK,         \
		"\"envId\",\"resourceKey\",\"diff\"")

#define GIVES_DELETED                                                                                        \
	SCHEMA_OBJECT(GIVES("deleted", "string") "," GIVES("resourceType", "string") "," GIVES(              \
			      "versions", "object"),                                                         \
		"\"deleted\",\"resourceType\",\"versions\"")

#define RULES_OF(resource)                                                                                   \
	static const char *const writes_##resource[] = { "flag." #resource ".write", NULL };                 \
	static const char *const deletes_##resource[] = { "flag." #resource ".delete", NULL };
RULES_OF(flag)
RULES_OF(config)
RULES_OF(segment)

const struct tool change_tools[] = {
#define X(kind_, model_, R, r, diff, next, verb, doc_)                                                       \
	{ .name = "flag." #kind_,                                                                            \
		.kind = #kind_,                                                                              \
		.model = (model_),                                                                           \
		.version = 1,                                                                                \
		.title = verb " a " #r,                                                                      \
		.doc = (doc_),                                                                               \
		.effect = OP_MUTATE,                                                                         \
		.in_schema = KIND_INPUT(diff),                                                               \
		.out_schema = GIVES_CHANGED,                                                                 \
		.rules = writes_##r,                                                                         \
		.propose_rule = "flag." #r ".propose",                                                       \
		.category = TOOL_CATEGORY_B,                                                                 \
		.domain = "operations",                                                                      \
		.target = CHANGE_TARGET,                                                                     \
		.rollback = true,                                                                            \
		.spans = RESOURCE_##R == RESOURCE_SEGMENT, /* it shows whom the segment's change affects */  \
		.ttl_seconds = CHANGE_TTL_SECONDS,                                                           \
		.failure = CHANGE_FAILURE,                                                                   \
		.run = set,                                                                                  \
		.survey = survey },
	SET_KINDS(X)
#undef X
#define X(kind_, R, r)                                                                                       \
	{ .name = "flag." #kind_,                                                                            \
		.kind = #kind_,                                                                              \
		.model = "propose_" #kind_,                                                                  \
		.version = 1,                                                                                \
		.title = "Delete a " #r,                                                                     \
		.doc = "Deletes a " #r " from its project: from every environment. diff: {}.",               \
		.effect = OP_DESTRUCTIVE,                                                                    \
		.in_schema = KIND_INPUT(NO_DIFF),                                                            \
		.out_schema = GIVES_DELETED,                                                                 \
		.rules = deletes_##r,                                                                        \
		.propose_rule = "flag." #r ".propose",                                                       \
		.domain = "operations",                                                                      \
		.target = CHANGE_TARGET,                                                                     \
		.spans = true,                                                                               \
		.ttl_seconds = CHANGE_TTL_SECONDS,                                                           \
		.failure = CHANGE_FAILURE,                                                                   \
		.run = delete,                                                                               \
		.survey = survey },
		DELETE_KINDS(X)
#undef X
			{ 0 },
};
