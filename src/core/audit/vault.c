/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/vault.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/hash/sha256.h"
#include "core/keys.h"
#include "db/db.h"
#include "json/canon.h"
#include "json/diff.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <sodium.h>

#define KEY  KEYS_KEY
#define SALT 32u

static const unsigned char *
bytes_of(str s)
{
	return (const unsigned char *)(s.len ? s.ptr : "");
}

/* --- keys of subjects --- */

struct key_row {
	str key_id, wrapped;
};
static const struct field key_fields[] = {
	FIELD_TEXT(struct key_row, key_id),
	FIELD_BLOB(struct key_row, wrapped),
	FIELD_END,
};

/* What a wrapped key is bound to: moved to another organization or name, it does not open. */
static str
key_about(struct arena *a, str org_id, str key_id)
{
	return arena_printf(a, "%.*s/%.*s", STR_ARG(org_id), STR_ARG(key_id));
}

static status
unwrap(struct ctx *cx, str org_id, str key_id, str wrapped, unsigned char out[KEY])
{
	str plain = keys_open(cx, cx->keys->seal, wrapped, key_about(cx->arena, org_id, key_id));

	if (plain.len != KEY)
		return fail(cx, E_INTERNAL,
			"an audit key does not open: this is not the key file it was made with");
	memcpy(out, plain.ptr, KEY);
	return OK;
}

static status
make_key(struct ctx *cx, str org_id, str subject)
{
	unsigned char key[KEY];
	str id = random_hex(cx->arena, 16), wrapped;
	int64_t now_us;

	random_bytes(key, sizeof(key));
	TRY(tx_now_us(cx, &now_us));
	TRY(keys_box(cx, cx->keys->seal, (str){ (const char *)key, KEY }, key_about(cx->arena, org_id, id),
		&wrapped));
	sodium_memzero(key, sizeof(key));
	return db_run(
		cx, SQL_AUDIT_KEY_ADD, TEXT(org_id), TEXT(id), TEXT(subject), BLOB(wrapped), INT(now_us));
}

/* E_NOT_FOUND is no failed statement: looking is allowed. */
static status
find_key(struct ctx *cx, str org_id, str subject, struct key_row *out)
{
	return db_one(cx, SQL_AUDIT_KEY_GET, key_fields, out, TEXT(org_id), TEXT(subject));
}

static status
key_for(struct ctx *cx, str org_id, str subject, str *out_id, unsigned char out[KEY])
{
	struct key_row row;
	status s = find_key(cx, org_id, subject, &row);

	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		TRY(make_key(cx, org_id, subject));
		s = find_key(cx, org_id, subject, &row); /* ours, or that of who was faster */
	}
	TRY(s);
	*out_id = row.key_id;
	return unwrap(cx, org_id, row.key_id, row.wrapped, out);
}

status
vault_destroy(struct ctx *cx, str org_id, str subject, str *out_key_id)
{
	struct key_row row;
	int64_t gone;
	status s = find_key(cx, org_id, subject, &row);

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "nothing is stored under a key of this subject");
	TRY(s);
	TRY(db_run_count(cx, SQL_AUDIT_KEY_DESTROY, &gone, TEXT(org_id), TEXT(subject), TEXT(row.key_id)));
	if (gone != 1)
		return fail(cx, E_NOT_FOUND, "nothing is stored under a key of this subject");
	*out_key_id = row.key_id;
	return OK;
}

/* --- values --- */

struct values {
	str salt;		 /* bytes */
	str before, after, diff; /* canonical JSON; empty where absent */
};

static str
salted(struct arena *a, str salt, const char *name, str value)
{
	unsigned char hash[SHA256_BYTES];
	char hex[SHA256_HEX + 1];
	struct sha256 s;

	if (!value.len)
		return (str){ NULL, 0 };
	sha256_init(&s);
	sha256_add(&s, salt);
	sha256_add(&s, (str){ name, strlen(name) + 1 }); /* with its NUL */
	sha256_add(&s, value);
	sha256_done(&s, hash);
	return arena_str(a, str_of(sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash))));
}

static void
hash_values(struct arena *a, const struct values *v, struct vault_hashes *out)
{
	*out = (struct vault_hashes){
		.before = salted(a, v->salt, "before", v->before),
		.after = salted(a, v->salt, "after", v->after),
		.diff = salted(a, v->salt, "diff", v->diff),
	};
}

/* The list of changes, where there are two sides to compare. */
static status
make_diff(struct ctx *cx, const struct json *before, const struct json *after, str *out)
{
	struct json_out o;
	struct json *doc;
	struct diff d;
	struct buf b;
	str text;

	if (!before || !after)
		return OK;
	TRY(diff_make(cx, before, after, &d));
	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	diff_out(&o, NULL, &d);
	if (buf_finish(&b, &text) != OK)
		return fail(cx, E_TOO_LARGE, "the change is too large to be recorded");
	TRY(json_parse(cx, text, &doc));
	return canon_text(cx, doc, out);
}

static status
print_values(struct ctx *cx, const struct values *v, str *out)
{
	struct json_out o;
	struct buf b;
	char hex[2 * SALT + 1];

	buf_init(&b, cx->arena, 3 * LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	if (v->after.len)
		json_out_raw(&o, "after", v->after);
	if (v->before.len)
		json_out_raw(&o, "before", v->before);
	if (v->diff.len)
		json_out_raw(&o, "diff", v->diff);
	json_out_str(&o, "salt", str_of(sodium_bin2hex(hex, sizeof(hex), bytes_of(v->salt), SALT)));
	json_out_end(&o);
	if (buf_finish(&b, out) != OK)
		return fail(cx, E_TOO_LARGE, "the change is too large to be recorded");
	return OK;
}

status
vault_put(struct ctx *cx, str org_id, str entry_id, str subject, const struct json *before,
	const struct json *after, struct vault_hashes *out)
{
	unsigned char salt[SALT], key[KEY];
	struct values v = { .salt = { (const char *)salt, SALT } };
	str key_id, plain, sealed;
	status s;

	if (!cx->keys)
		return fail(cx, E_INTERNAL, "a change cannot be recorded without the key file");
	random_bytes(salt, sizeof(salt));
	if (before)
		TRY(canon_text(cx, before, &v.before));
	if (after)
		TRY(canon_text(cx, after, &v.after));
	TRY(make_diff(cx, before, after, &v.diff));
	TRY(print_values(cx, &v, &plain));
	TRY(key_for(cx, org_id, subject, &key_id, key));
	s = keys_box(cx, key, plain, entry_id, &sealed);
	sodium_memzero(key, sizeof(key));
	TRY(s);
	TRY(db_run(cx, SQL_AUDIT_VALUE_ADD, TEXT(org_id), TEXT(entry_id), TEXT(key_id), BLOB(sealed)));
	hash_values(cx->arena, &v, out);
	return OK;
}

/* The canonical text of a member, and the member. */
static status
take_member(struct ctx *cx, const struct json *doc, str name, str *out_text, const struct json **out_value)
{
	*out_value = json_get(doc, name);
	return *out_value ? canon_text(cx, *out_value, out_text) : OK;
}

static status
read_values(struct ctx *cx, str plain, unsigned char salt[SALT], struct values *v, struct vault_values *out)
{
	const struct json *hex;
	struct json *doc;
	size_t got;

	TRY(json_parse(cx, plain, &doc));
	TRY(take_member(cx, doc, STR("before"), &v->before, &out->before));
	TRY(take_member(cx, doc, STR("after"), &v->after, &out->after));
	TRY(take_member(cx, doc, STR("diff"), &v->diff, &out->diff));
	hex = json_get(doc, STR("salt"));
	if (!hex || hex->type != JSON_STRING ||
		sodium_hex2bin(salt, SALT, hex->text.ptr, hex->text.len, NULL, &got, NULL) != 0 ||
		got != SALT)
		return fail(cx, E_INVALID, "the stored values have no salt");
	v->salt = (str){ (const char *)salt, SALT };
	return OK;
}

static bool
same_hashes(const struct vault_hashes *a, const struct vault_hashes *b)
{
	return str_eq(a->before, b->before) && str_eq(a->after, b->after) && str_eq(a->diff, b->diff);
}

status
vault_open(struct ctx *cx, str org_id, str entry_id, const struct vault_sealed *v,
	const struct vault_hashes *hashes, struct vault_values *out)
{
	struct vault_values got = { .state = VAULT_BROKEN };
	struct values values = { .salt = { NULL, 0 } };
	unsigned char key[KEY], salt[SALT];
	struct vault_hashes again;
	str plain;

	*out = got;
	if (!v->wrapped.len) {
		out->state = VAULT_ERASED;
		return OK;
	}
	if (!cx->keys || unwrap(cx, org_id, v->key_id, v->wrapped, key) != OK) {
		ctx_clear(cx);
		return OK;
	}
	plain = keys_open(cx, key, v->sealed, entry_id);
	sodium_memzero(key, sizeof(key));
	if (!plain.len || read_values(cx, plain, salt, &values, &got) != OK) {
		ctx_clear(cx);
		return OK;
	}
	hash_values(cx->arena, &values, &again);
	if (!same_hashes(&again, hashes))
		return OK;
	got.state = VAULT_OPEN;
	*out = got;
	return OK;
}

static const struct field sealed_fields[] = {
	FIELD_TEXT(struct vault_sealed, key_id),
	FIELD_BLOB(struct vault_sealed, sealed),
	FIELD_BLOB(struct vault_sealed, wrapped),
	FIELD_END,
};

status
vault_get(
	struct ctx *cx, str org_id, str entry_id, const struct vault_hashes *hashes, struct vault_values *out)
{
	struct vault_sealed v;
	status s;

	if (!hashes->before.len && !hashes->after.len) {
		*out = (struct vault_values){ .state = VAULT_NONE };
		return OK;
	}
	s = db_one(cx, SQL_AUDIT_VALUE_GET, sealed_fields, &v, TEXT(org_id), TEXT(entry_id));
	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		*out = (struct vault_values){ .state = VAULT_BROKEN };
		return OK;
	}
	TRY(s);
	return vault_open(cx, org_id, entry_id, &v, hashes, out);
}
