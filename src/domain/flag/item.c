/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

#include "base/limits.h"
#include "base/meter/meter.h"
#include "json/number.h"
#include "json/schema.h"

#include <math.h>

static const char *const type_names[] = {
	[ITEM_BOOLEAN] = "boolean",
	[ITEM_STRING] = "string",
	[ITEM_NUMBER] = "number",
	[ITEM_JSON] = "json",
};

const char *
item_type_name(enum item_type t)
{
	return type_names[t];
}

/* --- values --- */

/* What JSON can say and nobody can read: numbers beyond a double, U+0000. */
static void
check_readable(struct compiler *c, const struct at *at, const struct json *value)
{
	size_t i = 0;

	if (value->type == JSON_NUMBER && !isfinite(json_to_double(value)))
		compiler_issue(c, at, "is a number too large for those who read it");
	if (value->type == JSON_STRING)
		(void)compiler_text(c, at, value->text, LIMIT_FLAG_VALUE);
	JSON_EACH (child, value) {
		if (value->type == JSON_OBJECT)
			(void)compiler_text(c, AT_MEMBER(at, child->key), child->key, LIMIT_FLAG_TEXT);
		check_readable(
			c, value->type == JSON_OBJECT ? AT_MEMBER(at, child->key) : AT_ITEM(at, i), child);
		i++;
	}
}

static bool
has_type(enum item_type wanted, const struct json *value)
{
	static const enum json_type types[] = {
		[ITEM_BOOLEAN] = JSON_BOOL, [ITEM_STRING] = JSON_STRING, [ITEM_NUMBER] = JSON_NUMBER
	};

	return wanted == ITEM_JSON || value->type == types[wanted];
}

static void
check_schema(struct compiler *c, const struct at *at, const struct schema *schema, const struct json *value)
{
	struct schema_issues found = { 0 };
	struct ctx sub;

	ctx_init(&sub, c->cx->arena);
	meter_share(&sub, c->cx);
	if (schema_check(&sub, schema, value, &found) != OK)
		compiler_issue(c, at, "takes too much work to be checked against the schema");
	for (size_t i = 0; i < found.count; i++)
		compiler_issue_below(c, at, found.issues[i].path, found.issues[i].message);
}

static status
compile_value(struct compiler *c, const struct at *at, const struct item *item, const struct schema *schema,
	const struct json *value, str *out_text)
{
	struct json_out out;

	if (!has_type(item->type, value)) {
		compiler_issue(c, at, "must be a %s, as the type of the %s says", type_names[item->type],
			item->is_config ? "config" : "flag");
		return OK;
	}
	if (item->type == ITEM_BOOLEAN && !schema) {
		*out_text = value->truth ? STR("true") : STR("false");
		return OK;
	}
	check_readable(c, at, value);
	if (schema)
		check_schema(c, at, schema, value);
	c->scratch.len = 0;
	json_out_init(&out, &c->scratch);
	json_out_value(&out, NULL, value);
	if (c->scratch.overflow) {
		compiler_issue(c, at, "has more than %zu bytes", (size_t)LIMIT_FLAG_VALUE);
		buf_init(&c->scratch, c->cx->arena, LIMIT_FLAG_VALUE);
	}
	return compiler_copy(c, buf_str(&c->scratch), out_text);
}

/* --- rules --- */

/* 0 to 100 in steps of 0.001, as buckets. */
static bool
read_percent(const struct json *percent, uint32_t *out_buckets)
{
	struct decimal d = decimal_of(percent->text);
	double size = json_to_double(percent);

	if (d.negative || size > 100 || decimal_count(&d) - d.point > 3)
		return false;
	*out_buckets = (uint32_t)lround(size * BUCKETS_A_PERCENT);
	return true;
}

static void
compile_rollout(struct compiler *c, const struct at *at, str key, const struct json *percent,
	const struct json *salt, struct rule *out)
{
	out->buckets = BUCKETS;
	if (percent && !read_percent(percent, &out->buckets))
		compiler_issue(
			c, AT_NAME(at, "rolloutPercent"), "must be from 0 to 100, with at most 3 decimals");
	if (salt && salt->text.len && !key_valid(salt->text))
		compiler_issue(c, AT_NAME(at, "salt"), "must have 1 to %u letters, digits, or . _ : -",
			LIMIT_FLAG_KEY);
	if (out->buckets == BUCKETS)
		return; /* nobody asks for a bucket */
	bucket_add(&out->bucket, key);
	bucket_add(&out->bucket, STR("/"));
	if (salt)
		bucket_add(&out->bucket, salt->text);
	bucket_add(&out->bucket, STR("/"));
}

/* A rule of an item, or of a segment where item is NULL: that has no value. */
static status
compile_rule(struct compiler *c, const struct at *at, const struct item *item, const struct schema *schema,
	const struct json *json, struct rule *out)
{
	enum { IF, DESCRIPTION, VALUE, PERCENT, SALT, COUNT };
	struct member members[COUNT] = {
		[IF] = { MEMBER("if"), JSON_OBJECT },
		[DESCRIPTION] = { MEMBER("description"), JSON_STRING },
		[VALUE] = { MEMBER("value"), .any = true, .need = true },
		[PERCENT] = { MEMBER("rolloutPercent"), JSON_NUMBER },
		[SALT] = { MEMBER("salt"), JSON_STRING },
	};

	if (!compiler_members(c, at, json, members, item ? COUNT : VALUE) && c->issues >= COMPILER_ENOUGH)
		return OK;
	compiler_description(c, at, members[DESCRIPTION].found);
	if (members[IF].found)
		TRY(condition_compile(c, AT_NAME(at, "if"), members[IF].found, &out->condition));
	if (!item) {
		out->buckets = BUCKETS;
		return OK;
	}
	compile_rollout(c, at, item->key, members[PERCENT].found, members[SALT].found, out);
	if (!members[VALUE].found)
		return OK;
	return compile_value(c, AT_NAME(at, "value"), item, schema, members[VALUE].found, &out->value);
}

status
rules_compile(struct compiler *c, const struct at *at, const struct item *item, const struct schema *schema,
	const struct json *list, const struct rule **out_rules, uint32_t *out_count)
{
	struct rule *rules;
	uint32_t n = 0;

	c->conditions = 0;
	if (!list)
		return OK;
	if (list->count > LIMIT_FLAG_RULES) {
		compiler_issue(c, at, "has more than %u rules", LIMIT_FLAG_RULES);
		return OK;
	}
	TRY(compiler_take(c, list->count, sizeof(*rules), &rules));
	JSON_EACH (json, list) {
		if (c->issues >= COMPILER_ENOUGH)
			return OK; /* what is wrong is known, and the rest need not be looked at */
		TRY(compile_rule(c, AT_ITEM(at, n), item, schema, json, &rules[n]));
		n++;
	}
	*out_rules = rules;
	*out_count = n;
	return OK;
}

/* --- flags and configs --- */

/* The schema that json is; NULL where there is none, or it is an issue. The caller frees it. */
static struct schema *
compile_schema(struct compiler *c, const struct at *at, const struct json *json)
{
	struct schema *schema = NULL;
	struct ctx sub;

	if (!json)
		return NULL;
	ctx_init(&sub, c->cx->arena);
	meter_share(&sub, c->cx);
	if (schema_new(&sub, json, NULL, &schema) == OK)
		return schema;
	for (size_t i = 0; i < sub.error.issue_count; i++)
		compiler_issue_below(c, at, sub.error.issues[i].path, sub.error.issues[i].message);
	if (!sub.error.issue_count)
		compiler_issue(c, at, "%.*s", STR_ARG(sub.error.message));
	return NULL;
}

/* Flags are booleans or strings; configs may be numbers and JSON, too. */
static bool
read_type(const struct json *name, bool is_config, enum item_type *out_type)
{
	for (unsigned t = ITEM_BOOLEAN; t <= (is_config ? ITEM_JSON : ITEM_STRING); t++)
		if (str_eq(str_of(type_names[t]), name->text)) {
			*out_type = (enum item_type)t;
			return true;
		}
	return false;
}

status
item_compile(struct compiler *c, const struct at *at, const struct json *json, struct item *item)
{
	enum { TYPE, DEFAULT, RULES, DESCRIPTION, SCHEMA, COUNT };
	struct member members[COUNT] = {
		[TYPE] = { MEMBER("type"), JSON_STRING, .need = true },
		[DEFAULT] = { MEMBER("defaultValue"), .any = true, .need = true },
		[RULES] = { MEMBER("rules"), JSON_ARRAY },
		[DESCRIPTION] = { MEMBER("description"), JSON_STRING },
		[SCHEMA] = { MEMBER("schema"), .any = true },
	};
	struct schema *schema;
	status done;

	(void)compiler_members(c, at, json, members, item->is_config ? COUNT : SCHEMA);
	compiler_description(c, at, members[DESCRIPTION].found);
	if (!members[TYPE].found)
		return OK;
	if (!read_type(members[TYPE].found, item->is_config, &item->type)) {
		compiler_issue(c, AT_NAME(at, "type"), "must be %s",
			item->is_config ? "boolean, string, number or json" : "boolean or string");
		return OK;
	}
	schema = c->is_fresh ? compile_schema(c, AT_NAME(at, "schema"), members[SCHEMA].found) : NULL;
	done = members[DEFAULT].found ? compile_value(c, AT_NAME(at, "defaultValue"), item, schema,
						members[DEFAULT].found, &item->default_value)
				      : OK;
	if (done == OK)
		done = rules_compile(c, AT_NAME(at, "rules"), item, schema, members[RULES].found,
			&item->rules, &item->rule_count);
	schema_free(schema);
	return done;
}
