/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/change.h"

status
change_record(struct ctx *cx, enum audit_action action, const char *type, str id, str key,
	const struct json *before, const struct json *after)
{
	struct audit_entry e = { .action = action,
		.resource_type = str_of(type),
		.resource_id = id,
		.resource_key = key,
		.before = before,
		.after = after };

	return audit_add(cx, &e, NULL);
}

struct json *
change_strings(struct arena *a, const str *items, size_t count)
{
	struct json *array = json_new_array(a);

	for (size_t i = 0; i < count; i++)
		json_add_item(array, json_new_string(a, items[i]));
	return array;
}

struct json *
change_text(struct arena *a, struct json *object, const char *key, str text)
{
	json_add_member(object, str_of(key), json_new_string(a, text));
	return object;
}
