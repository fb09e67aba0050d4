/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/row.h"

#include "base/check.h"
#include "base/limits.h"
#include "core/keys.h"

/* JSON columns come from the database as text. */
#define ROW_TEXT(member) FIELD_TEXT(struct audit_row, member)
#define ROW_JSON(member) FIELD_TEXT(struct audit_row, member)
#define ROW_INT(member)	 FIELD_INT(struct audit_row, member)
#define ROW_BOOL(member) FIELD_BOOL(struct audit_row, member)

const struct field audit_row_fields[] = {
#define X(type, member, key, doc) ROW_##type(member),
	AUDIT_COLUMNS(X)
#undef X
		FIELD_END,
};

const struct field audit_row_sealed[] = {
#define X(type, member, key, doc) ROW_##type(member),
	AUDIT_COLUMNS(X)
#undef X
		FIELD_TEXT(struct audit_row, mac),
	FIELD_END,
};

static void
out_text(struct json_out *o, const char *key, str value)
{
	if (value.len)
		json_out_str(o, key, value);
}

static void
out_json(struct json_out *o, const char *key, str value)
{
	if (value.len)
		json_out_raw(o, key, value);
}

static void
out_int(struct json_out *o, const char *key, int64_t value)
{
	if (value)
		json_out_int(o, key, value);
}

static void
out_bool(struct json_out *o, const char *key, bool value)
{
	if (value)
		json_out_bool(o, key, true);
}

#define OUT_TEXT out_text
#define OUT_JSON out_json
#define OUT_INT	 out_int
#define OUT_BOOL out_bool

status
audit_row_leaf(struct ctx *cx, const struct audit_row *row, str *out_bytes)
{
	struct json_out o;
	struct buf b;
	status s;

	buf_init(&b, cx->arena, LIMIT_AUDIT_LEAF);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
#define X(type, member, key, doc)                                                                            \
	if (strcmp(key, "version") == 0)                                                                     \
		json_out_int(&o, "v", 1); /* stands before it in the order of names */                       \
	OUT_##type(&o, key, row->member);
	AUDIT_COLUMNS(X)
#undef X
	json_out_end(&o);
	s = buf_finish(&b, out_bytes);
	return s == OK ? OK : fail(cx, s, "an audit entry is larger than %zu bytes", LIMIT_AUDIT_LEAF);
}

status
audit_row_mac(struct ctx *cx, const struct audit_row *row, str *out)
{
	str parts[] = { STR("entry"), { NULL, 0 } };

	if (!cx->keys)
		return fail(cx, E_INTERNAL, "the audit log is not written without the key file");
	TRY(audit_row_leaf(cx, row, &parts[1]));
	*out = keys_mac_hex(cx->arena, cx->keys, parts, 2);
	return OK;
}

void
audit_row_out(struct json_out *o, const struct audit_row *row)
{
#define X(type, member, key, doc) OUT_##type(o, key, row->member);
	AUDIT_COLUMNS(X)
#undef X
	json_out_time(o, "time", row->at);
}

/* --- filters --- */

static bool
match_text(str have, str want)
{
	return !want.len || str_eq(have, want);
}

/* A canonical array of strings holds the id, quotes and all. */
static bool
match_json(str have, str want)
{
	if (!want.len)
		return true;
	for (size_t i = 0; i + want.len + 2 <= have.len; i++)
		if (have.ptr[i] == '"' && have.ptr[i + 1 + want.len] == '"' &&
			memcmp(have.ptr + i + 1, want.ptr, want.len) == 0)
			return true;
	return false;
}

static bool
match_int(int64_t have, int64_t want)
{
	return !want || have == want;
}

static bool
match_bool(bool have, bool want)
{
	return !want || have;
}

#define MATCH_TEXT match_text
#define MATCH_JSON match_json
#define MATCH_INT  match_int
#define MATCH_BOOL match_bool

bool
audit_row_matches(const struct audit_row *row, const struct audit_row *want)
{
#define X(type, member, key, doc)                                                                            \
	if (!MATCH_##type(row->member, want->member))                                                        \
		return false;
	AUDIT_COLUMNS(X)
#undef X
	return true;
}
