/* SPDX-License-Identifier: Apache-2.0 */
/* What agents look at before they ask for a change: lists, single ones, and what somebody would be answered. */
#include "domain/flag/change/change.h"
#include "domain/flag/change/impl.h"

#include "base/limits.h"
#include "core/ident/caller.h"
#include "domain/flag/evaluate.h"

#define PAGE 100

static struct tool_result
about(const struct environment *e, str key, const struct json *value)
{
	return (struct tool_result){ .summary = STR("Read flags"),
		.resource_type = STR("environment"),
		.resource_key = key,
		.environment_id = e->id,
		.affected = STR("nothing"),
		.value = value };
}

static status
find_environment(struct ctx *cx, const struct tool_call *call, str key, struct environment *out)
{
	str id = input_text(call->input, "envId");

	TRY(change_in_scope(cx, call, id, key));
	return environment_get(cx, id, out);
}

static struct json *
begin(struct ctx *cx, const struct environment *e)
{
	struct json *value = json_new_object(cx->arena);

	json_add_member(value, STR("envId"), json_new_string(cx->arena, e->id));
	json_add_member(value, STR("version"), json_new_int(cx->arena, e->version));
	return value;
}

/* --- lists --- */

static enum resource
resource_of(const struct tool *t)
{
	return strstr(t->name, "_flag")	    ? RESOURCE_FLAG
	       : strstr(t->name, "_config") ? RESOURCE_CONFIG
					    : RESOURCE_SEGMENT;
}

static struct json *
line(struct ctx *cx, const struct json *item)
{
	static const char *const members[] = { "type", "defaultValue" };
	struct json *o = json_new_object(cx->arena);
	const struct json *rules = json_get(item, STR("rules"));

	json_add_member(o, STR("key"), json_new_string(cx->arena, item->key));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct json *value = json_get(item, str_of(members[i]));

		if (value)
			json_add_member(o, str_of(members[i]), json_share(cx->arena, value));
	}
	json_add_member(o, STR("rules"), json_new_int(cx->arena, rules ? rules->count : 0));
	return o;
}

static int64_t
limit_of(const struct json *input)
{
	const struct json *limit = json_get(input, STR("limit"));
	int64_t n = PAGE;

	if (limit)
		(void)json_to_int(limit, &n);
	return n;
}

/* Those of a document in the order of their keys, behind `after`. */
static status
list(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	enum resource r = resource_of(call->tool);
	str plural = str_of(resource_plural(r)), after = input_text(call->input, "after");
	struct json *items = json_new_array(cx->arena), *value, *doc;
	const struct json *all, **sorted;
	int64_t limit = limit_of(call->input);
	struct environment e;

	TRY(find_environment(cx, call, (str){ 0 }, &e));
	TRY(store_document(cx, &e, 0, &doc));
	value = begin(cx, &e);
	all = json_get(doc, plural);
	sorted = all ? json_sorted(cx->arena, all) : NULL;
	if (all && !sorted)
		return fail(cx, E_TOO_LARGE, "the environment is too large");
	for (size_t i = 0; all && i < all->count; i++) {
		if (json_key_cmp(sorted[i]->key, after) <= 0 && after.len)
			continue;
		if (!caller_in_scope(cx->caller, e.id, sorted[i]->key))
			continue;
		if (items->count == limit) {
			json_add_member(value, STR("next"),
				json_new_string(cx->arena,
					json_get(json_at(items, items->count - 1), STR("key"))->text));
			break;
		}
		json_add_item(items, line(cx, sorted[i]));
	}
	json_add_member(value, plural, items);
	*out = about(&e, (str){ 0 }, value);
	return OK;
}

/* --- one --- */

static status
describe(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	enum resource r = resource_of(call->tool);
	str key = input_text(call->input, "resourceKey");
	struct environment e;
	struct store_item item;
	struct json *value;

	TRY(find_environment(cx, call, key, &e));
	TRY(store_find(cx, &e, r, key, &item));
	value = begin(cx, &e);
	json_add_member(value, STR("id"), json_new_string(cx->arena, item.id));
	json_add_member(value, STR("key"), json_new_string(cx->arena, item.key));
	if (item.type.len)
		json_add_member(value, STR("type"), json_new_string(cx->arena, item.type));
	json_add_member(value, STR("description"), json_new_string(cx->arena, item.description));
	if (item.schema)
		json_add_member(value, STR("jsonSchema"), json_share(cx->arena, item.schema));
	JSON_EACH (member, change_shown(cx, r, item.state))
		json_add_member(value, member->key, json_share(cx->arena, member));
	*out = about(&e, key, value);
	return OK;
}

static status
version(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct environment e;

	TRY(find_environment(cx, call, (str){ 0 }, &e));
	*out = about(&e, (str){ 0 }, begin(cx, &e));
	return OK;
}

/* --- what somebody is answered --- */

struct asking {
	const struct ruleset *rs;
	struct subject *subject;
	bool verbose, flags_only;
};

static status
answer_one(const struct asking *a, const struct item *item, str key, struct json_out *o)
{
	struct evaluation e;

	json_out_key(o, key);
	if (!item) {
		json_out_null(o, NULL);
		return OK;
	}
	TRY(ruleset_evaluate(a->subject, item, &e));
	evaluation_out(o, NULL, a->subject, &e, a->verbose);
	return subject_charge(a->subject);
}

/* A key that was named is refused where it is outside the scope; of all keys those inside are answered. */
static status
answer(struct ctx *cx, const struct tool_call *call, const struct environment *e, const struct asking *a,
	const struct json *keys, struct json_out *o)
{
	if (keys) {
		JSON_EACH (key, keys) {
			TRY(change_in_scope(cx, call, e->id, key->text));
			TRY(answer_one(a, ruleset_find(a->rs, key->text), key->text, o));
		}
		return OK;
	}
	for (size_t i = 0; i < ruleset_count(a->rs); i++) {
		const struct item *item = ruleset_at(a->rs, i);

		if (caller_in_scope(cx->caller, e->id, item->key) && !(a->flags_only && item->is_config))
			TRY(answer_one(a, item, item->key, o));
	}
	return OK;
}

static status
evaluate_with(struct ctx *cx, const struct tool_call *call, const struct environment *e, struct asking *a,
	const struct json *context, const struct json *keys, struct json **out)
{
	struct json_out o;
	struct buf b;
	str text;

	TRY(subject_prepare(cx, a->rs, context, &a->subject));
	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	TRY(answer(cx, call, e, a, keys, &o));
	json_out_end(&o);
	TRY(buf_finish(&b, &text));
	return json_parse(cx, text, out);
}

/* The ruleset of this transaction, compiled for this one answer: what a tool says is never older. */
static status
evaluate_in(struct ctx *cx, const struct tool_call *call, const struct json *context, bool flags_only,
	struct tool_result *out)
{
	const struct json *verbose = json_get(call->input, STR("verboseReason")),
			  *keys = json_get(call->input, STR("keys"));
	struct asking a = { .verbose = verbose && verbose->truth, .flags_only = flags_only };
	struct json *doc, *value, *answers;
	struct ruleset *rs;
	struct environment e;
	status s;

	TRY(find_environment(cx, call, (str){ 0 }, &e));
	TRY(store_document(cx, &e, 0, &doc));
	s = ruleset_compile_stored(cx, doc, &rs);
	if (s == E_INVALID)
		return fail(cx, E_NOT_CACHED, "the ruleset that is live cannot be loaded");
	TRY(s);
	a.rs = rs;
	s = evaluate_with(cx, call, &e, &a, context, keys, &answers);
	ruleset_free(rs);
	TRY(s);
	value = begin(cx, &e);
	json_add_member(value, STR("evaluations"), answers);
	*out = about(&e, (str){ 0 }, value);
	return OK;
}

static status
evaluate(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	return evaluate_in(cx, call, json_get(call->input, STR("context")), false, out);
}

/* The flags of one target: the context is its id, and what else is said of it. */
static status
lookup(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	const struct json *more = json_get(call->input, STR("context"));
	struct json *context = json_new_object(cx->arena);
	struct environment e;

	TRY(find_environment(cx, call, (str){ 0 }, &e));
	if (more)
		JSON_EACH (member, more)
			if (!str_eq(member->key, e.target_field))
				json_add_member(context, member->key, json_share(cx->arena, member));
	json_add_member(
		context, e.target_field, json_new_string(cx->arena, input_text(call->input, "targetId")));
	return evaluate_in(cx, call, context, true, out);
}

/* --- the declarations --- */

static const char *const reads_flag[] = { "flag.flag.read", NULL };
static const char *const reads_config[] = { "flag.config.read", NULL };
static const char *const reads_segment[] = { "flag.segment.read", NULL };
static const char *const reads_values[] = { "flag.flag.read", "flag.config.read", NULL };

#define LIST                                                                                                 \
	SCHEMA_OBJECT(SCHEMA_ENV_ID                                                                          \
		"," SCHEMA_ID("after", "Go on behind this key.") ",\"limit\":{\"type\":\"integer\","         \
								 "\"minimum\":1,\"maximum\":200}",           \
		"\"envId\"")
#define ONE	SCHEMA_OBJECT(SCHEMA_ENV_ID "," SCHEMA_RESOURCE_KEY, "\"envId\",\"resourceKey\"")
#define JUST	SCHEMA_OBJECT(SCHEMA_ENV_ID, "\"envId\"")
#define CONTEXT "\"context\":{\"type\":\"object\"}"
#define VERBOSE "\"verboseReason\":{\"type\":\"boolean\"}"
#define EVALUATE                                                                                             \
	SCHEMA_OBJECT(SCHEMA_ENV_ID "," CONTEXT ",\"keys\":{\"type\":\"array\",\"maxItems\":1000,"           \
				    "\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}," VERBOSE,        \
		"\"envId\",\"context\"")
#define LOOKUP                                                                                               \
	SCHEMA_OBJECT(SCHEMA_ENV_ID                                                                          \
		"," SCHEMA_ID("targetId", "Who: a value of the target field.") "," CONTEXT "," VERBOSE,      \
		"\"envId\",\"targetId\"")

#define GIVES_LINE                                                                                           \
	SCHEMA_OBJECT(GIVES("key", "string") "," GIVES("type", "string") ",\"defaultValue\":{}," GIVES(      \
			      "rules", "integer"),                                                           \
		"\"key\",\"rules\"")
#define GIVES_PAGE(plural)                                                                                   \
	SCHEMA_OBJECT(GIVES_WHERE "," GIVES("next", "string") "," GIVES_LIST(plural, GIVES_LINE),            \
		"\"envId\",\"version\",\"" plural "\"")
#define GIVES_ONE                                                                                            \
	SCHEMA_OBJECT(GIVES_WHERE                                                                            \
		"," GIVES("id", "string") "," GIVES("key", "string") "," GIVES("type", "string") "," GIVES(  \
			"description", "string") ",\"jsonSchema\":{}," GIVES_LISTS,                          \
		"\"envId\",\"version\",\"id\",\"key\",\"description\",\"rules\"")
#define GIVES_ANSWERS                                                                                        \
	SCHEMA_OBJECT(GIVES_WHERE ",\"evaluations\":{\"type\":\"object\",\"additionalProperties\":{"         \
				  "\"type\":[\"object\",\"null\"]}}",                                        \
		"\"envId\",\"version\",\"evaluations\"")

#define READ(name_, title_, doc_, schema, gives, rules_, fn)                                                 \
	{                                                                                                    \
		.name = "flag." name_, .model = (name_), .version = 1, .title = (title_), .doc = (doc_),     \
		.effect = OP_READ, .in_schema = schema, .out_schema = gives, .rules = (rules_),              \
		.category = TOOL_CATEGORY_A, .domain = "operations", .target = CHANGE_TARGET,                \
		.rollback = true, .run = (fn)                                                                \
	}

/* clang-format off */
const struct tool change_read_tools[] = {
	READ("list_flags", "List flags", "Lists the flags of an environment by key.", LIST, GIVES_PAGE("flags"), reads_flag, list),
	READ("list_configs", "List configs", "Lists the configs of an environment by key.", LIST, GIVES_PAGE("configs"), reads_config, list),
	READ("list_segments", "List segments", "Lists the segments of an environment by key.", LIST, GIVES_PAGE("segments"), reads_segment, list),
	READ("describe_flag", "Read a flag", "Gives a flag as it is in an environment.", ONE, GIVES_ONE, reads_flag, describe),
	READ("describe_config", "Read a config", "Gives a config as it is in an environment.", ONE, GIVES_ONE, reads_config, describe),
	READ("describe_segment", "Read a segment", "Gives a segment as it is in an environment.", ONE, GIVES_ONE, reads_segment,
		describe),
	READ("evaluate_for_context", "Evaluate flags", "Says what a context is answered, and why: some keys, or all.",
		EVALUATE, GIVES_ANSWERS, reads_values, evaluate),
	READ("lookup_flags_for_target", "Look up a target's flags", "Says what every flag answers for one target.",
		LOOKUP, GIVES_ANSWERS, reads_flag, lookup),
	READ("get_ruleset_version", "Read an environment's version", "Gives the version of an environment's ruleset.",
		JUST, SCHEMA_OBJECT(GIVES_WHERE, "\"envId\",\"version\""), reads_flag, version),
	{ 0 },
};
/* clang-format on */
