/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/view.h"

#include "base/limits.h"

static const char *const flag_types[] = { "boolean", "string", NULL };
static const char *const config_types[] = { "string", "number", "boolean", "json", NULL };

/* --- what comes in --- */

#define IN struct item_in

#define PROJECT_FIELD FIELD_TEXT(IN, id, .need = true, .max = LIMIT_NAME, .doc = "Which project.")
#define ENV_FIELD     FIELD_TEXT(IN, env_id, .need = true, .max = LIMIT_NAME, .doc = "Which environment.")
#define KEY_FIELD     FIELD_TEXT(IN, key, .need = true, .min = 1, .max = LIMIT_FLAG_KEY, .doc = "Its key.")
#define DESCRIPTION_FIELD                                                                                    \
	FIELD_TEXT(IN, description, .min = 0, .max = LIMIT_FLAG_TEXT, .doc = "What it is for, for people.")
#define TYPE_FIELD(all)                                                                                      \
	FIELD_TEXT(IN, type, .need = true, .choices = (all), .doc = "What its values are; never changes.")
#define DEFAULT_FIELD                                                                                        \
	FIELD_JSON(IN, default_value, .need = true, .doc = "What it says where no rule matches.")
#define RULES_FIELD(needed)                                                                                  \
	FIELD_JSON(IN, rules, .need = (needed), .doc = "Its rules, in their order (docs/flags.md).")
#define ALLOW_FIELD(needed) FIELD_JSON(IN, allow_list, .need = (needed), .doc = "Targets that are in it.")
#define DENY_FIELD(needed)  FIELD_JSON(IN, deny_list, .need = (needed), .doc = "Targets that are never in it.")
#define SCHEMA_FIELD                                                                                         \
	FIELD_JSON(IN, json_schema, .doc = "JSON Schema (2020-12) that its values are held to; null: none.")

const struct field view_list_in[] = { ENV_FIELD, OP_PAGE_FIELDS(IN), FIELD_END };
const struct field view_get_in[] = { ENV_FIELD, KEY_FIELD, FIELD_END };
const struct field view_delete_in[] = { PROJECT_FIELD, KEY_FIELD, FIELD_END };
const struct field view_flag_create_in[] = { PROJECT_FIELD, KEY_FIELD, TYPE_FIELD(flag_types), DEFAULT_FIELD,
	RULES_FIELD(false), DESCRIPTION_FIELD, FIELD_END };
const struct field view_config_create_in[] = { PROJECT_FIELD, KEY_FIELD, TYPE_FIELD(config_types),
	DEFAULT_FIELD, RULES_FIELD(false), DESCRIPTION_FIELD, SCHEMA_FIELD, FIELD_END };
const struct field view_segment_create_in[] = { PROJECT_FIELD, KEY_FIELD, RULES_FIELD(false),
	ALLOW_FIELD(false), DENY_FIELD(false), DESCRIPTION_FIELD, FIELD_END };
const struct field view_patch_in[] = { PROJECT_FIELD, KEY_FIELD, DESCRIPTION_FIELD, FIELD_END };
const struct field view_config_patch_in[] = { PROJECT_FIELD, KEY_FIELD, DESCRIPTION_FIELD, SCHEMA_FIELD,
	FIELD_END };
const struct field view_value_put_in[] = { ENV_FIELD, KEY_FIELD, DEFAULT_FIELD, RULES_FIELD(true),
	FIELD_END };
const struct field view_segment_put_in[] = { ENV_FIELD, KEY_FIELD, RULES_FIELD(true), ALLOW_FIELD(true),
	DENY_FIELD(true), FIELD_END };

struct item_new
view_new(enum resource r, const struct item_in *in)
{
	const struct json *schema = in->json_schema;
	struct item_new n = { .resource = r,
		.key = in->key,
		.type = in->type,
		.description = in->description,
		.schema = schema && schema->type != JSON_NULL ? schema : NULL,
		.state = { in->default_value, in->rules } };

	if (r == RESOURCE_SEGMENT) {
		n.state[0] = in->rules;
		n.state[1] = in->allow_list;
		n.state[2] = in->deny_list;
	}
	return n;
}

/* --- what goes out --- */

struct item_out {
	str id, project_id, env_id, key, type, description;
	struct json *json_schema, *default_value, *rules, *allow_list, *deny_list;
	str created_at, updated_at;
	int64_t version;
	struct json *environments;
};

#define OUT struct item_out

#define IDENTITY_OUT                                                                                         \
	FIELD_TEXT(OUT, id, .need = true, .doc = "Its id."),                                                 \
		FIELD_TEXT(OUT, project_id, .need = true, .doc = "The project."),                            \
		FIELD_TEXT(OUT, env_id, .doc = "The environment whose state this is."),                      \
		FIELD_TEXT(OUT, key, .need = true, .doc = "Its key."),                                       \
		FIELD_TEXT(OUT, description, .need = true, .doc = "What it is for, for people.")
#define RULES_OUT FIELD_JSON(OUT, rules, .doc = "Its rules, in their order.")
#define VALUE_OUT(all)                                                                                       \
	FIELD_TEXT(OUT, type, .need = true, .choices = (all), .doc = "What its values are."),                \
		FIELD_JSON(OUT, default_value, .doc = "What it says where no rule matches."), RULES_OUT
#define TIMES_OUT                                                                                            \
	FIELD_TEXT(OUT, created_at, .need = true, .doc = "When it was made."),                               \
		FIELD_TEXT(OUT, updated_at, .need = true,                                                    \
			.doc = "When it or its state was last changed: its ETag."),                          \
		FIELD_INT(                                                                                   \
			OUT, version, .doc = "The environment's version with this state, after a change."),  \
		FIELD_JSON(OUT, environments, .doc = "After a change of all: objects {id, key, version}.")

const struct field view_flag_out[] = { IDENTITY_OUT, VALUE_OUT(flag_types), TIMES_OUT, FIELD_END };
const struct field view_config_out[] = { IDENTITY_OUT, VALUE_OUT(config_types),
	FIELD_JSON(OUT, json_schema, .need = true, .doc = "The JSON Schema of its values, or null."),
	TIMES_OUT, FIELD_END };
const struct field view_segment_out[] = { IDENTITY_OUT, RULES_OUT,
	FIELD_JSON(OUT, allow_list, .doc = "Targets that are in it."),
	FIELD_JSON(OUT, deny_list, .doc = "Targets that are never in it."), TIMES_OUT, FIELD_END };

static void
write_state(struct json_out *o, const struct json *state)
{
	static const char *const members[] = { "defaultValue", "rules", "allowList", "denyList" };

	for (size_t i = 0; state && i < sizeof(members) / sizeof(members[0]); i++) {
		const struct json *value = json_get(state, str_of(members[i]));

		if (value)
			json_out_value(o, members[i], value);
	}
}

void
view_write(struct json_out *o, str project_id, str env_id, const struct store_item *item)
{
	json_out_str(o, "id", item->id);
	json_out_str(o, "projectId", project_id);
	if (env_id.len)
		json_out_str(o, "envId", env_id);
	json_out_str(o, "key", item->key);
	if (item->resource != RESOURCE_SEGMENT)
		json_out_str(o, "type", item->type);
	json_out_str(o, "description", item->description);
	if (item->resource == RESOURCE_CONFIG && item->schema)
		json_out_value(o, "jsonSchema", item->schema);
	else if (item->resource == RESOURCE_CONFIG)
		json_out_null(o, "jsonSchema");
	write_state(o, item->state);
	json_out_time(o, "createdAt", item->created_at);
	json_out_time(o, "updatedAt", item->updated_at);
}

void
view_write_versions(struct json_out *o, const struct project *p)
{
	json_out_array(o, "environments");
	for (size_t i = 0; i < p->environment_count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "id", p->environments[i].id);
		json_out_str(o, "key", p->environments[i].slug);
		json_out_int(o, "version", p->environments[i].version);
		json_out_end(o);
	}
	json_out_end(o);
}
