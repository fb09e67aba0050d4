/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oidc/jwt.h"

#include "base/check.h"
#include "base/limits.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>

#define P256_BYTES     32u
#define EXPONENT_BYTES 8u /* of an RSA key: nobody has more than three */
#define SCOPED(fn, type)                                                                                     \
	static void fn##_done(type *const *p)                                                                \
	{                                                                                                    \
		fn(*p);                                                                                      \
	}
SCOPED(EVP_PKEY_free, EVP_PKEY)
SCOPED(EVP_PKEY_CTX_free, EVP_PKEY_CTX)
SCOPED(EVP_MD_CTX_free, EVP_MD_CTX)
SCOPED(OSSL_PARAM_BLD_free, OSSL_PARAM_BLD)
SCOPED(OSSL_PARAM_free, OSSL_PARAM)
SCOPED(BN_free, BIGNUM)
SCOPED(ECDSA_SIG_free, ECDSA_SIG)
#define scoped(fn) __attribute__((cleanup(fn##_done)))

/* --- base64url --- */

str
base64url(struct arena *a, str bytes)
{
	size_t room = sodium_base64_ENCODED_LEN(bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	char *text = arena_alloc(a, room);

	(void)sodium_bin2base64(text, room, (const unsigned char *)bytes.ptr, bytes.len,
		sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return (str){ text, strlen(text) };
}

status
base64url_read(struct ctx *cx, str text, str *out_bytes)
{
	char *bytes = arena_try_bytes(cx->arena, text.len + 1);
	size_t len = 0;

	if (!bytes)
		return fail(cx, E_INVALID, "it is too large");
	if (text.len && sodium_base642bin((unsigned char *)bytes, text.len, text.ptr, text.len, NULL, &len,
				NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
		return fail(cx, E_INVALID, "a part of it is not base64url");
	*out_bytes = (str){ bytes, len };
	return OK;
}

/* --- reading --- */

static str
text_of(const struct json *object, str key)
{
	const struct json *value = json_get(object, key);

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

static status
read_object(struct ctx *cx, str part, const char *what, struct json **out)
{
	struct json *doc;
	str text;

	TRY(base64url_read(cx, part, &text));
	if (json_parse(cx, text, &doc) != OK || doc->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "its %s is no JSON object", what);
	*out = doc;
	return OK;
}

status
jwt_read(struct ctx *cx, str text, struct jwt *out)
{
	str head, rest, body, signature;
	struct json *header;
	struct jwt t;

	if (text.len > LIMIT_JWT)
		return fail(cx, E_INVALID, "it is larger than %zu bytes", LIMIT_JWT);
	if (!str_cut(text, '.', &head, &rest) || !str_cut(rest, '.', &body, &signature) ||
		str_find(signature, '.') < signature.len)
		return fail(cx, E_INVALID, "it has not three parts");
	TRY(read_object(cx, head, "header", &header));
	if (json_get(header, STR("crit")))
		return fail(cx, E_INVALID, "it has extensions that we do not know");
	t.alg = text_of(header, STR("alg"));
	t.kid = text_of(header, STR("kid"));
	t.signed_text = (str){ text.ptr, head.len + 1 + body.len };
	TRY(read_object(cx, body, "content", &t.claims));
	TRY(base64url_read(cx, signature, &t.signature));
	*out = t;
	return OK;
}

/* --- keys --- */

static status
refuse_key(struct ctx *cx)
{
	ERR_clear_error(); /* libcurl shares this thread's list of errors */
	return fail(cx, E_INVALID, "a key of the provider is not one");
}

static status
build_key(struct ctx *cx, const char *type, OSSL_PARAM_BLD *parts, EVP_PKEY **out)
{
	scoped(OSSL_PARAM_free) OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(parts);
	scoped(EVP_PKEY_CTX_free) EVP_PKEY_CTX *making = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	CHECK(params && making); /* no memory */
	if (EVP_PKEY_fromdata_init(making) != 1 ||
		EVP_PKEY_fromdata(making, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		return refuse_key(cx);
	*out = key;
	return OK;
}

static BIGNUM *
number(str bytes)
{
	BIGNUM *n = BN_bin2bn((const unsigned char *)(bytes.len ? bytes.ptr : ""), (int)bytes.len, NULL);

	CHECK(n); /* no memory */
	return n;
}

static status
read_rsa(struct ctx *cx, const struct json *jwk, EVP_PKEY **out)
{
	scoped(OSSL_PARAM_BLD_free) OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();
	scoped(BN_free) BIGNUM *n = NULL;
	scoped(BN_free) BIGNUM *e = NULL;
	str modulus, exponent;

	CHECK(parts);
	TRY(base64url_read(cx, text_of(jwk, STR("n")), &modulus));
	TRY(base64url_read(cx, text_of(jwk, STR("e")), &exponent));
	if (modulus.len > LIMIT_RSA_BITS / 8 + 1 || exponent.len > EXPONENT_BYTES)
		return refuse_key(cx);
	n = number(modulus);
	e = number(exponent);
	if (BN_num_bits(n) < LIMIT_RSA_LEAST_BITS || BN_num_bits(n) > LIMIT_RSA_BITS)
		return fail(cx, E_INVALID,
			"a key of the provider is too short or too long: RSA has %d to %d bits",
			LIMIT_RSA_LEAST_BITS, LIMIT_RSA_BITS);
	if (!BN_is_odd(n) || !BN_is_odd(e) || BN_is_one(e))
		return refuse_key(cx);
	CHECK(OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
		OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_E, e) == 1);
	return build_key(cx, "RSA", parts, out);
}

static status
read_p256(struct ctx *cx, const struct json *jwk, EVP_PKEY **out)
{
	scoped(OSSL_PARAM_BLD_free) OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();
	unsigned char point[1 + 2 * P256_BYTES] = { POINT_CONVERSION_UNCOMPRESSED };
	str x, y;

	CHECK(parts);
	TRY(base64url_read(cx, text_of(jwk, STR("x")), &x));
	TRY(base64url_read(cx, text_of(jwk, STR("y")), &y));
	if (!str_eq(text_of(jwk, STR("crv")), STR("P-256")) || x.len != P256_BYTES || y.len != P256_BYTES)
		return refuse_key(cx);
	memcpy(point + 1, x.ptr, P256_BYTES);
	memcpy(point + 1 + P256_BYTES, y.ptr, P256_BYTES);
	CHECK(OSSL_PARAM_BLD_push_utf8_string(parts, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) == 1 &&
		OSSL_PARAM_BLD_push_octet_string(parts, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point)) == 1);
	return build_key(cx, "EC", parts, out);
}

/* --- signatures --- */

/* r and s, 32 bytes each, as the DER that OpenSSL reads. */
static status
p256_signature(struct ctx *cx, str raw, str *out)
{
	scoped(ECDSA_SIG_free) ECDSA_SIG *pair = ECDSA_SIG_new();
	unsigned char *der = arena_alloc(cx->arena, 2 * P256_BYTES + 16), *end = der;

	CHECK(pair);
	if (raw.len != (size_t)2 * P256_BYTES)
		return fail(cx, E_INVALID, "its signature has not the length that ES256 has");
	CHECK(ECDSA_SIG_set0(pair, number((str){ raw.ptr, P256_BYTES }), number(str_skip(raw, P256_BYTES))) ==
		1);
	CHECK(i2d_ECDSA_SIG(pair, &end) > 0);
	*out = (str){ (const char *)der, (size_t)(end - der) };
	return OK;
}

static status
rsa_signature(struct ctx *cx, str raw, str *out)
{
	(void)cx;
	*out = raw;
	return OK;
}

/* What we accept: the algorithm, and the only kind of key it goes with. */
struct algorithm {
	const char *alg, *kty;
	status (*key)(struct ctx *cx, const struct json *jwk, EVP_PKEY **out);
	status (*signature)(struct ctx *cx, str raw, str *out);
};
static const struct algorithm algorithms[] = {
	{ "RS256", "RSA", read_rsa, rsa_signature },
	{ "ES256", "EC", read_p256, p256_signature },
};

static const struct algorithm *
find_algorithm(str alg)
{
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
		if (str_eq(alg, str_of(algorithms[i].alg)))
			return &algorithms[i];
	return NULL;
}

/* Could the token have been signed with it? A key says what it is for, where it says anything. */
static bool
suits(const struct json *jwk, const struct jwt *t, const struct algorithm *a)
{
	const struct json *use = json_get(jwk, STR("use")), *alg = json_get(jwk, STR("alg"));

	return str_eq(text_of(jwk, STR("kty")), str_of(a->kty)) &&
	       (!t->kid.len || str_eq(text_of(jwk, STR("kid")), t->kid)) &&
	       (!use || str_eq(text_of(jwk, STR("use")), STR("sig"))) &&
	       (!alg || str_eq(text_of(jwk, STR("alg")), t->alg));
}

static status
verify_with(struct ctx *cx, const struct jwt *t, const struct algorithm *a, const struct json *jwk)
{
	scoped(EVP_MD_CTX_free) EVP_MD_CTX *check = EVP_MD_CTX_new();
	scoped(EVP_PKEY_free) EVP_PKEY *key = NULL;
	str signature;
	bool good;

	CHECK(check);
	TRY(a->signature(cx, t->signature, &signature));
	TRY(a->key(cx, jwk, &key));
	good = EVP_DigestVerifyInit(check, NULL, EVP_sha256(), NULL, key) == 1 &&
	       EVP_DigestVerify(check, (const unsigned char *)(signature.len ? signature.ptr : ""),
		       signature.len, (const unsigned char *)t->signed_text.ptr, t->signed_text.len) == 1;
	ERR_clear_error();
	return good ? OK : fail(cx, E_INVALID, "its signature is not by a key of the provider");
}

status
jwt_verify(struct ctx *cx, const struct jwt *t, const struct json *set)
{
	const struct algorithm *a = find_algorithm(t->alg);
	const struct json *keys = json_get(set, STR("keys"));
	status s = E_NOT_FOUND;

	if (!a)
		return fail(cx, E_INVALID, "it is not signed with RS256 or ES256");
	if (!keys || keys->type != JSON_ARRAY || keys->count > LIMIT_OIDC_KEYS)
		return fail(cx, E_INVALID, "the provider's keys are no list of at most %u", LIMIT_OIDC_KEYS);
	JSON_EACH (jwk, keys) {
		if (s != OK && suits(jwk, t, a))
			s = verify_with(cx, t, a, jwk);
	}
	if (s == E_NOT_FOUND || (s != OK && !t->kid.len)) /* without a name it may be a key that is new */
		return fail(cx, E_NOT_FOUND, "it is signed by a key that the provider does not announce");
	return s;
}
