/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oidc/flow.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/hash/sha256.h"
#include "core/ident/secret.h"
#include "core/keys.h"
#include "core/oidc/jwt.h"
#include "db/db.h"
#include "json/bind.h"
#include "json/out.h"

#include "core/oidc/flow.sql.h" /* SQL_FLOW_*, generated from flow.sql */

#include <sodium.h>

#define KEY   crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG   crypto_aead_xchacha20poly1305_ietf_ABYTES

static const struct field fields[] = {
	FIELD_TEXT(struct flow, state, .need = true),
	FIELD_TEXT(struct flow, nonce, .need = true),
	FIELD_TEXT(struct flow, verifier, .need = true),
	FIELD_TEXT(struct flow, return_to, .need = true),
	FIELD_TEXT(struct flow, org, .need = true),
	FIELD_TEXT(struct flow, old_hash, .need = true),
	FIELD_BOOL(struct flow, step_up),
	FIELD_INT(struct flow, until_us, .need = true),
	FIELD_END,
};

static str
random_word(struct arena *a)
{
	char bytes[32];

	random_bytes(bytes, sizeof(bytes));
	return base64url(a, (str){ bytes, sizeof(bytes) });
}

struct flow
flow_new(struct ctx *cx, int64_t now_us)
{
	return (struct flow){ .state = random_word(cx->arena),
		.nonce = random_word(cx->arena),
		.verifier = random_word(cx->arena),
		.until_us = now_us + LIMIT_OIDC_FLOW_US };
}

/* A key for nothing else. */
static void
derive(const struct ctx *cx, unsigned char key[KEY])
{
	const str what[] = { STR("oidc flow") };

	_Static_assert(KEY == 32, "keys_mac makes 32 bytes");
	keys_mac(cx->keys, what, 1, key);
}

str
flow_seal(struct ctx *cx, const struct flow *f, str about)
{
	unsigned char key[KEY], *sealed;
	struct json_out o;
	struct buf plain;

	buf_init(&plain, cx->arena, LIMIT_HTTP_HEAD);
	json_out_init(&o, &plain);
	json_out_object(&o, NULL);
	json_out_fields(&o, fields, f);
	json_out_end(&o);
	CHECK(!plain.overflow); /* its texts have maxima */
	sealed = arena_alloc(cx->arena, NONCE + plain.len + TAG);
	random_bytes(sealed, NONCE);
	derive(cx, key);
	CHECK(crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + NONCE, NULL,
		      (const unsigned char *)plain.ptr, plain.len, (const unsigned char *)about.ptr,
		      about.len, NULL, sealed, key) == 0);
	sodium_memzero(key, sizeof(key));
	return base64url(cx->arena, (str){ (const char *)sealed, NONCE + plain.len + TAG });
}

/* False: it was not sealed by us for this. */
static bool
unseal(struct ctx *cx, str boxed, str about, struct flow *out)
{
	const unsigned char *box = (const unsigned char *)boxed.ptr;
	unsigned char key[KEY], *plain;
	struct json *doc;
	bool good;

	if (boxed.len < NONCE + TAG)
		return false;
	plain = arena_alloc(cx->arena, boxed.len);
	derive(cx, key);
	good = crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, box + NONCE, boxed.len - NONCE,
		       (const unsigned char *)about.ptr, about.len, box, key) == 0;
	sodium_memzero(key, sizeof(key));
	return good && json_parse(cx, (str){ (const char *)plain, boxed.len - NONCE - TAG }, &doc) == OK &&
	       json_bind(cx, doc, fields, sizeof(*out), out) == OK;
}

status
flow_open(struct ctx *cx, str sealed, str about, str state, int64_t now_us, struct flow *out)
{
	struct flow f = { 0 };
	str boxed;

	if (sealed.len > LIMIT_HTTP_HEAD || base64url_read(cx, sealed, &boxed) != OK ||
		!unseal(cx, boxed, about, &f) || f.until_us <= now_us || !str_eq_secret(f.state, state))
		return fail(cx, E_UNAUTHENTICATED,
			"this sign-in was not begun in this browser, or too long ago; begin again");
	*out = f;
	return OK;
}

str
flow_challenge(struct ctx *cx, const struct flow *f)
{
	unsigned char hash[SHA256_BYTES];

	sha256_of(f->verifier, hash);
	return base64url(cx->arena, (str){ (const char *)hash, sizeof(hash) });
}

/* Browsers read '\\' as '/', drop tabs and newlines, and take "//host" for another server. */
bool
flow_return_ok(str path)
{
	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] <= ' ' || path.ptr[i] > '~' || path.ptr[i] == '\\')
			return false;
	return path.len <= LIMIT_OIDC_RETURN && str_starts(path, STR("/")) && !str_starts(path, STR("//"));
}

/* --- once --- */

struct use {
	str state_hash;
	int64_t until_us;
};

static status
use_tx(struct ctx *cx, void *arg)
{
	const struct use *u = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_FLOW_FORGET, INT(now_us - LIMIT_OIDC_FLOW_US))); /* clocks may differ a little */
	return db_run(cx, SQL_FLOW_USE, TEXT(u->state_hash), INT(u->until_us));
}

status
flow_use(struct ctx *cx, const struct flow *f)
{
	struct use u = { secret_hash(cx->arena, f->state), f->until_us };
	status s = tx_run(cx, use_tx, &u);

	return s == E_EXISTS ? fail(cx, E_UNAUTHENTICATED, "this sign-in has come back already; begin again")
			     : s;
}
