/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/reference.h"

/* As deep as the condition is: the reader of JSON has bounded it. Members that are no condition name none. */
static bool
names(const struct json *condition, str segment, uint64_t *steps)
{
	JSON_EACH (part, condition) {
		++*steps;
		if (part->type == JSON_STRING && str_eq(part->key, STR("$segment")) &&
			str_eq(part->text, segment))
			return true;
		if (part->type == JSON_OBJECT && names(part, segment, steps)) /* $not, or one of $and, $or */
			return true;
		if (part->type == JSON_ARRAY && names(part, segment, steps))
			return true;
	}
	return false;
}

static void
look(const struct json *items, enum resource r, str segment, reference_fn *fn, void *arg, uint64_t *steps)
{
	JSON_EACH (item, items) {
		struct reference found = { .resource = r, .key = item->key };
		const struct json *rules = json_get(item, STR("rules"));

		++*steps;
		if (!rules)
			continue;
		JSON_EACH (rule, rules) {
			const struct json *condition = json_get(rule, STR("if"));

			if (condition && names(condition, segment, steps))
				fn(arg, &found);
			found.rule_index++;
		}
	}
}

uint64_t
reference_each(const struct json *doc, str segment, reference_fn *fn, void *arg)
{
	uint64_t steps = 0;

	for (int r = 0; r < RESOURCES; r++) {
		const struct json *items = json_get(doc, str_of(resource_plural((enum resource)r)));

		if (items)
			look(items, (enum resource)r, segment, fn, arg, &steps);
	}
	return steps;
}
