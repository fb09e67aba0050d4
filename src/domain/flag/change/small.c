/* SPDX-License-Identifier: Apache-2.0 */
/* Small changes: create, describe, append a rule, roll out to a share. Those of TL-5 are direct: who holds the
 * verb has them at once where no approval is asked for, everybody else as a proposal. */
#include "db/db.h"
#include "domain/flag/change/change.h"
#include "domain/flag/change/impl.h"

#include <inttypes.h>

/* Which resource a tool is about: the word in its name. */
static enum resource
resource_of(const struct tool *t)
{
	return strstr(t->name, "_flag")	    ? RESOURCE_FLAG
	       : strstr(t->name, "_config") ? RESOURCE_CONFIG
					    : RESOURCE_SEGMENT;
}

/* --- what is in the whole project --- */

static status
lock_project(struct ctx *cx, const struct tool_call *call, str key, struct project *p, const str **out_ids)
{
	str *ids;

	TRY(project_lock(cx, input_text(call->input, "projectId"), p));
	ids = arena_alloc(cx->arena, (p->environment_count + 1) * sizeof(*ids));
	for (size_t i = 0; i < p->environment_count; i++) {
		TRY(change_in_scope(cx, call, p->environments[i].id, key));
		ids[i] = p->environments[i].id;
	}
	*out_ids = ids;
	return OK;
}

static struct tool_result
about(struct ctx *cx, const char *verb, enum resource r, str key, const struct project *p, const str *ids)
{
	const char *what = resource_name(r);

	return (struct tool_result){ .summary = arena_printf(cx->arena, "%s the %s %.*s in the project %.*s",
					     verb, what, STR_ARG(key), STR_ARG(p->slug)),
		.resource_type = str_of(what),
		.resource_key = key,
		.environments = ids,
		.environment_count = p->environment_count,
		.affected = arena_printf(cx->arena, "%s %.*s in all %zu environments of the project %.*s",
			what, STR_ARG(key), p->environment_count, STR_ARG(p->slug)) };
}

static void
add_shared(struct ctx *cx, struct json *o, const char *key, const struct json *value)
{
	if (value)
		json_add_member(o, str_of(key), json_share(cx->arena, value));
}

static void
add_text(struct ctx *cx, struct json *o, const char *key, str text)
{
	json_add_member(o, str_of(key), json_new_string(cx->arena, text));
}

static status
create(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	const struct json *in = call->input;
	enum resource r = resource_of(call->tool);
	struct item_new n = { .resource = r,
		.key = input_text(in, "key"),
		.type = input_text(in, "type"),
		.description = input_text(in, "description"),
		.schema = json_get(in, STR("jsonSchema")),
		.state = { json_get(in, STR("defaultValue")), json_get(in, STR("rules")) } };
	struct json *after = json_new_object(cx->arena);
	struct tool_result result;
	struct project p;
	const str *ids;
	int64_t now_us;
	str id;

	if (r == RESOURCE_SEGMENT) {
		n.state[0] = json_get(in, STR("rules"));
		n.state[1] = json_get(in, STR("allowList"));
		n.state[2] = json_get(in, STR("denyList"));
	}
	TRY(lock_project(cx, call, n.key, &p, &ids));
	TRY(tx_now_us(cx, &now_us));
	TRY(change_paths(cx, change_path(cx, r, n.key), "", item_create(cx, &p, &n, now_us, &id)));
	result = about(cx, "Create", r, n.key, &p, ids);
	add_text(cx, after, "key", n.key);
	if (n.type.len)
		add_text(cx, after, "type", n.type);
	add_text(cx, after, "description", n.description);
	add_shared(cx, after, "jsonSchema", n.schema);
	JSON_EACH (member, change_shown(cx, r, item_entry(cx, &n)))
		json_add_member(after, member->key, json_share(cx->arena, member));
	result.resource_id = id;
	result.after = result.value = after;
	*out = result;
	return OK;
}

/* A config's schema is in the state of every environment. */
static const struct json *
schema_of(struct ctx *cx, const struct project *p, enum resource r, str key)
{
	struct store_item item;

	if (r != RESOURCE_CONFIG || !p->environment_count)
		return NULL;
	if (store_find(cx, &p->environments[0], r, key, &item) != OK) {
		ctx_clear(cx);
		return NULL;
	}
	return item.schema;
}

static struct json *
metadata(struct ctx *cx, str description, const struct json *schema)
{
	struct json *o = json_new_object(cx->arena);

	add_text(cx, o, "description", description);
	add_shared(cx, o, "jsonSchema", schema);
	return o;
}

static status
describe(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	enum resource r = resource_of(call->tool);
	str key = input_text(call->input, "resourceKey");
	const struct json *text = json_get(call->input, STR("description")),
			  *schema = json_get(call->input, STR("jsonSchema")), *was, *becomes;
	struct store_item item;
	struct tool_result result;
	struct project p;
	const str *ids;
	int64_t now_us;

	if (!text && !schema) {
		fail_issue(cx, STR(""), STR("say what is to change"));
		return fail(cx, E_INVALID, "an update changes something: say what");
	}
	TRY(lock_project(cx, call, key, &p, &ids));
	TRY(tx_now_us(cx, &now_us));
	TRY(item_get(cx, &p, r, key, &item));
	was = becomes = schema_of(cx, &p, r, key);
	if (text)
		TRY(item_describe(cx, &p, r, key, text->text, now_us));
	if (schema) {
		becomes = schema->type == JSON_NULL ? NULL : schema;
		TRY(change_paths(
			cx, change_path(cx, r, key), "", item_reschema(cx, &p, key, becomes, now_us)));
	}
	result = about(cx, "Describe", r, key, &p, ids);
	result.resource_id = item.id;
	result.before = metadata(cx, item.description, was);
	result.after = result.value = metadata(cx, text ? text->text : item.description, becomes);
	*out = result;
	return OK;
}

/* --- what is in one environment --- */

static struct json *
appended(struct ctx *cx, const struct json *list, const struct json *item)
{
	struct json *out = json_new_array(cx->arena);

	if (list)
		JSON_EACH (old, list)
			json_add_item(out, json_share(cx->arena, old));
	json_add_item(out, json_share(cx->arena, item));
	return out;
}

static status
plan_append(struct ctx *cx, const struct tool_call *call, bool lock, struct change *c)
{
	TRY(change_begin(cx, call, lock, resource_of(call->tool), c));
	c->edit.state = change_with(cx, c->item.state, "rules",
		appended(cx, json_get(c->item.state, STR("rules")), json_get(call->input, STR("rule"))));
	return OK;
}

static status
survey_append(struct ctx *cx, const struct tool_call *call, const struct json **out)
{
	return change_survey(cx, call, plan_append, out);
}

static status
append(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	const struct json *rules;
	struct change c;

	TRY(plan_append(cx, call, true, &c));
	rules = json_get(c.item.state, STR("rules"));
	return change_paths(cx, arena_printf(cx->arena, "/rules/%u", rules ? rules->count : 0), "/rule",
		change_write(cx, call, &c, "Append a rule to", "", out));
}

static status
no_such_rule(struct ctx *cx, int64_t index, str key)
{
	fail_issue(cx, STR("/ruleIndex"), STR("must be the index of a rule, from 0"));
	return fail(cx, E_INVALID, "the flag %.*s has no rule %" PRId64, STR_ARG(key), index);
}

/* A toggle: only how many get it, never what or who. */
static status
plan_roll_out(struct ctx *cx, const struct tool_call *call, bool lock, struct change *c)
{
	struct json *rules = json_new_array(cx->arena);
	const struct json *old;
	int64_t index = -1, n = 0;

	(void)json_to_int(json_get(call->input, STR("ruleIndex")), &index);
	TRY(change_begin(cx, call, lock, RESOURCE_FLAG, c));
	old = json_get(c->item.state, STR("rules"));
	if (!old || index >= old->count)
		return no_such_rule(cx, index, c->edit.key);
	JSON_EACH (rule, old) {
		bool is = n++ == index;

		json_add_item(rules, is ? change_with(cx, rule, "rolloutPercent",
						  json_get(call->input, STR("rolloutPercent")))
					: json_share(cx->arena, rule));
	}
	c->edit.state = change_with(cx, c->item.state, "rules", rules);
	return OK;
}

static status
survey_roll_out(struct ctx *cx, const struct tool_call *call, const struct json **out)
{
	return change_survey(cx, call, plan_roll_out, out);
}

static status
roll_out(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct change c;

	TRY(plan_roll_out(cx, call, true, &c));
	return change_write(cx, call, &c, "Change the rollout of", "", out);
}

/* --- the declarations --- */

#define RULES_OF(resource)                                                                                   \
	static const char *const writes_##resource[] = { "flag." #resource ".write", NULL };                 \
	static const char *const creates_##resource[] = { "flag." #resource ".create", NULL };
RULES_OF(flag)
RULES_OF(config)
RULES_OF(segment)
static const char *const toggles[] = { "flag.flag.toggle", NULL };

#define DESCRIPTION "\"description\":{\"type\":\"string\",\"maxLength\":4096}"
#define JSON_SCHEMA                                                                                          \
	"\"jsonSchema\":{\"type\":[\"object\",\"boolean\",\"null\"],\"description\":\"What its values are "  \
	"held to.\"}"
#define KEY	    SCHEMA_ID("key", "Its key: it does not change.")
#define TYPE(types) "\"type\":{\"enum\":[" types "]}"

#define CREATE_FLAG                                                                                          \
	SCHEMA_OBJECT(SCHEMA_PROJECT_ID                                                                      \
		"," KEY                                                                                      \
		"," TYPE("\"boolean\",\"string\"") "," DESCRIPTION ",\"defaultValue\":{" SCHEMA_FLAG_VALUE   \
						   "}," SCHEMA_RULES(SCHEMA_VALUE_RULE(SCHEMA_FLAG_VALUE)),  \
		"\"projectId\",\"key\",\"type\"")
#define CREATE_CONFIG                                                                                        \
	SCHEMA_OBJECT(SCHEMA_PROJECT_ID                                                                      \
		"," KEY                                                                                      \
		"," TYPE("\"string\",\"number\",\"boolean\",\"json\"") "," DESCRIPTION "," JSON_SCHEMA       \
								       ",\"defaultValue\":"                  \
								       "{" SCHEMA_CONFIG_VALUE               \
								       "}," SCHEMA_RULES(SCHEMA_VALUE_RULE(  \
									       SCHEMA_CONFIG_VALUE)),        \
		"\"projectId\",\"key\",\"type\"")
#define CREATE_SEGMENT                                                                                       \
	SCHEMA_OBJECT(SCHEMA_PROJECT_ID "," KEY "," DESCRIPTION                                              \
					"," SCHEMA_RULES(SCHEMA_SEGMENT_RULE) "," SCHEMA_TEXTS(              \
						"allowList") "," SCHEMA_TEXTS("denyList"),                   \
		"\"projectId\",\"key\"")
#define DESCRIBE(more)                                                                                       \
	SCHEMA_OBJECT(SCHEMA_PROJECT_ID "," SCHEMA_RESOURCE_KEY "," DESCRIPTION more,                        \
		"\"projectId\",\"resourceKey\"")
#define APPEND(rule)                                                                                         \
	SCHEMA_OBJECT(SCHEMA_ENV_ID "," SCHEMA_RESOURCE_KEY ",\"rule\":" rule "," SCHEMA_SPOT_CHECK,         \
		"\"envId\",\"resourceKey\",\"rule\"")
#define ROLL_OUT                                                                                             \
	SCHEMA_OBJECT(SCHEMA_ENV_ID "," SCHEMA_RESOURCE_KEY                                                  \
				    ",\"ruleIndex\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":199},"   \
				    "\"rolloutPercent\":{\"type\":\"number\",\"minimum\":0,\"maximum\":100}" \
				    "," SCHEMA_SPOT_CHECK,                                                   \
		"\"envId\",\"resourceKey\",\"ruleIndex\",\"rolloutPercent\"")

#define GIVES_CREATED                                                                                        \
	SCHEMA_OBJECT(GIVES("key", "string") "," GIVES("type", "string") "," GIVES(                          \
			      "description", "string") ",\"jsonSchema\":{}," GIVES_LISTS,                    \
		"\"key\",\"description\",\"rules\"")
#define GIVES_DESCRIBED SCHEMA_OBJECT(GIVES("description", "string") ",\"jsonSchema\":{}", "\"description\"")

#define SMALL(name_, title_, doc_, schema, gives, rules_, resource, direct_, fn, survey_, spans_)            \
	{                                                                                                    \
		.name = "flag." name_, .model = (name_), .version = 1, .title = (title_), .doc = (doc_),     \
		.effect = OP_MUTATE, .in_schema = schema, .out_schema = gives, .rules = (rules_),            \
		.propose_rule = "flag." resource ".propose", .category = TOOL_CATEGORY_B,                    \
		.domain = "operations", .target = CHANGE_TARGET, .rollback = true, .direct = (direct_),      \
		.ttl_seconds = CHANGE_TTL_SECONDS, .failure = CHANGE_FAILURE, .run = (fn),                   \
		.survey = (survey_), .spans = (spans_)                                                       \
	}

/* clang-format off */
const struct tool change_small_tools[] = {
	SMALL("create_flag", "Create a flag", "Makes a flag in a project, the same in all its environments.",
		CREATE_FLAG, GIVES_CREATED, creates_flag, "flag", true, create, NULL, true),
	SMALL("create_config", "Create a config", "Makes a config in a project, the same in all its environments.",
		CREATE_CONFIG, GIVES_CREATED, creates_config, "config", true, create, NULL, true),
	SMALL("create_segment", "Create a segment",
		"Makes a segment in a project, the same in all its environments.",
		CREATE_SEGMENT, GIVES_CREATED, creates_segment, "segment", true, create, NULL, true),
	SMALL("update_flag_metadata", "Describe a flag", "Changes a flag's description: no answer changes.",
		DESCRIBE(""), GIVES_DESCRIBED, writes_flag, "flag", true, describe, NULL, true),
	SMALL("update_config_metadata", "Describe a config",
		"Changes a config's description, or the JSON Schema of its values: no answer changes.",
		DESCRIBE("," JSON_SCHEMA), GIVES_DESCRIBED, writes_config, "config", true, describe, NULL, true),
	SMALL("update_segment_metadata", "Describe a segment",
		"Changes a segment's description: no answer changes.",
		DESCRIBE(""), GIVES_DESCRIBED, writes_segment, "segment", true, describe, NULL, true),
	SMALL("append_flag_rule", "Append a rule to a flag",
		"Adds a rule behind the others, where it matches only what they leave.",
		APPEND(SCHEMA_VALUE_RULE(SCHEMA_FLAG_VALUE)), GIVES_CHANGED, writes_flag, "flag", true, append, survey_append, false),
	SMALL("append_config_rule", "Append a rule to a config",
		"Adds a rule behind the others, where it matches only what they leave.",
		APPEND(SCHEMA_VALUE_RULE(SCHEMA_CONFIG_VALUE)), GIVES_CHANGED, writes_config, "config", true, append, survey_append, false),
	SMALL("append_segment_rule", "Append a rule to a segment",
		"Adds a rule: whom it matches is in the segment, too.",
		APPEND(SCHEMA_SEGMENT_RULE), GIVES_CHANGED, writes_segment, "segment", true, append, survey_append, true),
	SMALL("set_rollout", "Change a flag's rollout",
		"Sets the share of those for whom a rule of a flag holds who get its value.",
		ROLL_OUT, GIVES_CHANGED, toggles, "flag", false, roll_out, survey_roll_out, false),
	{ 0 },
};
/* clang-format on */
