/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/reservoir/impl.h"

#include "base/random.h"
#include "db/db.h"

#include <inttypes.h>
#include <sodium.h>

#include "domain/flag/reservoir/reservoir.sql.h" /* SQL_RESERVOIR_*, generated from reservoir.sql */

const struct field sampling_row[] = {
	FIELD_TEXT(struct sampling, org_id),
	FIELD_TEXT(struct sampling, environment_id),
	FIELD_INT(struct sampling, percent),
	FIELD_TEXT(struct sampling, keep_fields),
	FIELD_BLOB(struct sampling, wrapped),
	FIELD_TEXT(struct sampling, target_field),
	FIELD_END,
};

status
sampling_get(struct ctx *cx, str org_id, str environment_id, struct sampling *out)
{
	return db_one(cx, SQL_RESERVOIR_GET, sampling_row, out, TEXT(org_id), TEXT(environment_id));
}

/* --- keys --- */

static str
key_about(struct arena *a, str org_id, str environment_id)
{
	return arena_printf(a, "sampling/%.*s/%.*s", STR_ARG(org_id), STR_ARG(environment_id));
}

status
sampling_wrap(struct ctx *cx, str org_id, str environment_id, str *out_wrapped)
{
	unsigned char key[KEYS_KEY];
	status s;

	random_bytes(key, sizeof(key));
	s = keys_box(cx, cx->keys->seal, (str){ (const char *)key, sizeof(key) },
		key_about(cx->arena, org_id, environment_id), out_wrapped);
	sodium_memzero(key, sizeof(key));
	return s;
}

status
sampling_unwrap(struct ctx *cx, const struct sampling *s, unsigned char out[KEYS_KEY])
{
	str plain =
		keys_open(cx, cx->keys->seal, s->wrapped, key_about(cx->arena, s->org_id, s->environment_id));

	if (plain.len != KEYS_KEY)
		return fail(cx, E_INTERNAL,
			"a key of samples does not open: this is not the key file it was made with");
	memcpy(out, plain.ptr, KEYS_KEY);
	return OK;
}

str
sampling_about(struct arena *a, str org_id, str environment_id, int64_t slot)
{
	return arena_printf(a, "sample/%.*s/%.*s/%" PRId64, STR_ARG(org_id), STR_ARG(environment_id), slot);
}

/* --- targets --- */

str
sampling_target(struct ctx *cx, str org_id, str environment_id, str target, int64_t *out_slot)
{
	str parts[] = { STR("sample target"), org_id, environment_id, target };
	unsigned char mac[32];
	char *text = arena_alloc(cx->arena, 2 * sizeof(mac) + 1);
	uint64_t n = 0;

	if (target.len)
		keys_mac(cx->keys, parts, sizeof(parts) / sizeof(parts[0]), mac);
	else
		random_bytes(mac, sizeof(mac)); /* nobody: any slot */
	for (size_t i = 0; i < sizeof(n); i++)
		n = n << 8 | mac[i];
	*out_slot = (int64_t)(n >> 1);
	(void)sodium_bin2hex(text, 2 * sizeof(mac) + 1, mac, sizeof(mac));
	return target.len ? (str){ text, 2 * sizeof(mac) } : (str){ 0 };
}

/* As rules look for a field: the whole name, else step by step (docs/flags.md). */
static const struct json *
look_up(const struct json *context, str field)
{
	const struct json *found = json_get(context, field);
	str step, rest;

	while (!found && context && str_cut(field, '.', &step, &rest)) {
		context = json_get(context, step);
		field = rest;
		found = context && !memchr(rest.ptr, '.', rest.len) ? json_get(context, rest) : NULL;
	}
	return found;
}

str
sampling_who(struct arena *a, const struct json *context, str target_field)
{
	const struct json *who = look_up(context, target_field);
	int64_t n;

	if (who && who->type == JSON_STRING)
		return who->text;
	if (who && who->type == JSON_NUMBER && json_to_int(who, &n))
		return arena_printf(a, "%" PRId64, n);
	return (str){ 0 };
}
