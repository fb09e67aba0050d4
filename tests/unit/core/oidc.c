/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of signing in at an identity provider that need none (ID-8): tokens, keys, claims, the flow's
 * cookie. */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "core/keys.h"
#include "core/oidc/claims.h"
#include "core/oidc/flow.h"
#include "core/oidc/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#define NOW INT64_C(1800000000000000)

/* --- tokens --- */

static EVP_PKEY *rsa, *other_rsa, *ec;

static int
make_keys(void **state)
{
	(void)state;
	rsa = EVP_RSA_gen(2048);
	other_rsa = EVP_RSA_gen(2048);
	ec = EVP_EC_gen("P-256");
	return rsa && other_rsa && ec ? 0 : 1;
}

static int
free_keys(void **state)
{
	(void)state;
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(other_rsa);
	EVP_PKEY_free(ec);
	return 0;
}

static str
number_of(struct unit *u, EVP_PKEY *key, const char *name, int width)
{
	unsigned char *bytes = arena_alloc(&u->arena, 1024);
	BIGNUM *n = NULL;
	int len;

	assert_int_equal(EVP_PKEY_get_bn_param(key, name, &n), 1);
	len = width ? BN_bn2binpad(n, bytes, width) : BN_bn2bin(n, bytes);
	BN_free(n);
	return base64url(&u->arena, (str){ (const char *)bytes, (size_t)len });
}

/* more: members that go into the key, with a comma before each. */
static str
rsa_jwk(struct unit *u, EVP_PKEY *key, const char *more)
{
	return arena_printf(&u->arena, "{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"%.*s\"%s}",
		STR_ARG(number_of(u, key, OSSL_PKEY_PARAM_RSA_N, 0)),
		STR_ARG(number_of(u, key, OSSL_PKEY_PARAM_RSA_E, 0)), more);
}

static str
ec_jwk(struct unit *u, EVP_PKEY *key, const char *more)
{
	return arena_printf(&u->arena, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%.*s\",\"y\":\"%.*s\"%s}",
		STR_ARG(number_of(u, key, OSSL_PKEY_PARAM_EC_PUB_X, 32)),
		STR_ARG(number_of(u, key, OSSL_PKEY_PARAM_EC_PUB_Y, 32)), more);
}

static struct json *
set_of(struct unit *u, str keys)
{
	struct json *set;

	assert_status(
		json_parse(&u->cx, arena_printf(&u->arena, "{\"keys\":[%.*s]}", STR_ARG(keys)), &set), OK);
	return set;
}

static str
sign(struct unit *u, EVP_PKEY *key, str text)
{
	unsigned char *bytes = arena_alloc(&u->arena, 1024);
	EVP_MD_CTX *x = EVP_MD_CTX_new();
	size_t len = 1024;

	assert_int_equal(EVP_DigestSignInit(x, NULL, EVP_sha256(), NULL, key), 1);
	assert_int_equal(EVP_DigestSign(x, bytes, &len, (const unsigned char *)text.ptr, text.len), 1);
	EVP_MD_CTX_free(x);
	if (EVP_PKEY_is_a(key, "EC")) {
		const unsigned char *der = bytes;
		ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)len);
		unsigned char *raw = arena_alloc(&u->arena, 64);

		assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32), 32);
		assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32), 32);
		ECDSA_SIG_free(pair);
		return (str){ (const char *)raw, 64 };
	}
	return (str){ (const char *)bytes, len };
}

static str
token(struct unit *u, EVP_PKEY *key, const char *header, const char *claims)
{
	str text = arena_printf(&u->arena, "%.*s.%.*s", STR_ARG(base64url(&u->arena, str_of(header))),
		STR_ARG(base64url(&u->arena, str_of(claims))));

	return arena_printf(
		&u->arena, "%.*s.%.*s", STR_ARG(text), STR_ARG(base64url(&u->arena, sign(u, key, text))));
}

static status
verify(struct unit *u, str text, struct json *set)
{
	struct jwt t;
	status s = jwt_read(&u->cx, text, &t);

	return s == OK ? jwt_verify(&u->cx, &t, set) : s;
}

static void
a_token_is_believed_by_the_key_that_signed_it(void **state)
{
	UNIT(u);
	struct json *set = set_of(&u, arena_printf(&u.arena, "%.*s,%.*s",
					      STR_ARG(rsa_jwk(&u, rsa, ",\"kid\":\"r\",\"use\":\"sig\"")),
					      STR_ARG(ec_jwk(&u, ec, ",\"kid\":\"e\",\"alg\":\"ES256\""))));
	struct jwt t;

	(void)state;
	assert_status(
		jwt_read(&u.cx, token(&u, rsa, "{\"alg\":\"RS256\",\"kid\":\"r\"}", "{\"a\":1}"), &t), OK);
	assert_str(t.alg, "RS256");
	assert_str(t.kid, "r");
	assert_non_null(json_get(t.claims, STR("a")));
	assert_status(jwt_verify(&u.cx, &t, set), OK);
	assert_status(verify(&u, token(&u, ec, "{\"alg\":\"ES256\",\"kid\":\"e\"}", "{}"), set), OK);
	assert_status(verify(&u, token(&u, rsa, "{\"alg\":\"RS256\"}", "{}"), set), OK);
}

static void
every_flipped_bit_is_noticed(void **state)
{
	UNIT(u);
	struct json *set = set_of(&u, ec_jwk(&u, ec, ",\"kid\":\"e\""));
	str good = token(&u, ec, "{\"alg\":\"ES256\",\"kid\":\"e\"}", "{\"sub\":\"ada\"}");

	(void)state;
	assert_status(verify(&u, good, set), OK);
	for (size_t i = 0; i < good.len; i++) {
		char *bad = arena_alloc(&u.arena, good.len);

		memcpy(bad, good.ptr, good.len);
		bad[i] = bad[i] == 'x' ? 'y' : 'x';
		assert_true(verify(&u, (str){ bad, good.len }, set) != OK);
	}
	for (size_t n = 0; n < good.len; n++)
		assert_true(verify(&u, (str){ good.ptr, n }, set) != OK);
}

static void
an_algorithm_we_do_not_list_is_refused_whatever_the_keys(void **state)
{
	static const char *const algs[] = { "none", "None", "HS256", "HS512", "RS512", "PS256", "ES384",
		"EdDSA", "rs256", "" };
	UNIT(u);
	struct json *set = set_of(&u, rsa_jwk(&u, rsa, ""));

	(void)state;
	for (size_t i = 0; i < sizeof(algs) / sizeof(algs[0]); i++) {
		const char *header = arena_printf(&u.arena, "{\"alg\":\"%s\"}", algs[i]).ptr;

		assert_status(verify(&u, token(&u, rsa, header, "{}"), set), E_INVALID);
	}
	assert_status(verify(&u, token(&u, rsa, "{}", "{}"), set), E_INVALID);
	assert_status(verify(&u, token(&u, rsa, "{\"alg\":[\"RS256\"]}", "{}"), set), E_INVALID);
}

static void
a_key_is_used_only_for_what_it_says(void **state)
{
	UNIT(u);
	str t = token(&u, rsa, "{\"alg\":\"RS256\",\"kid\":\"k\"}", "{}");
	struct json *set;

	(void)state;
	assert_status(verify(&u, t, set_of(&u, rsa_jwk(&u, rsa, ",\"kid\":\"other\""))), E_NOT_FOUND);
	assert_status(verify(&u, t, set_of(&u, rsa_jwk(&u, rsa, ""))), E_NOT_FOUND);
	assert_status(
		verify(&u, t, set_of(&u, rsa_jwk(&u, rsa, ",\"kid\":\"k\",\"use\":\"enc\""))), E_NOT_FOUND);
	assert_status(verify(&u, t, set_of(&u, rsa_jwk(&u, rsa, ",\"kid\":\"k\",\"use\":1"))), E_NOT_FOUND);
	assert_status(
		verify(&u, t, set_of(&u, rsa_jwk(&u, rsa, ",\"kid\":\"k\",\"alg\":\"PS256\""))), E_NOT_FOUND);
	assert_status(verify(&u, t, set_of(&u, ec_jwk(&u, ec, ",\"kid\":\"k\""))), E_NOT_FOUND);
	assert_status(verify(&u, t, set_of(&u, rsa_jwk(&u, other_rsa, ",\"kid\":\"k\""))), E_INVALID);
	set = set_of(
		&u, arena_printf(&u.arena, "%.*s,%.*s", STR_ARG(rsa_jwk(&u, other_rsa, ",\"kid\":\"k\"")),
			    STR_ARG(rsa_jwk(&u, rsa, ",\"kid\":\"k\""))));
	assert_status(verify(&u, t, set), OK); /* two of one name: one of them it was */
	/* without a name, another key's signature may be that of a key we have not seen */
	assert_status(verify(&u, token(&u, rsa, "{\"alg\":\"RS256\"}", "{}"),
			      set_of(&u, rsa_jwk(&u, other_rsa, ""))),
		E_NOT_FOUND);
}

static void
keys_that_are_none_are_refused(void **state)
{
	static const char *const wrong[] = {
		"{\"kty\":\"RSA\"}",
		"{\"kty\":\"RSA\",\"n\":\"*\",\"e\":\"AQAB\"}",
		"{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
	};
	UNIT(u);
	str t = token(&u, rsa, "{\"alg\":\"RS256\",\"kid\":\"k\"}", "{}");
	str n = number_of(&u, rsa, OSSL_PKEY_PARAM_RSA_N, 0);
	struct json *set;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		str jwk = arena_printf(&u.arena, "%.*s,\"kid\":\"k\"}", (int)strlen(wrong[i]) - 1, wrong[i]);

		assert_status(verify(&u, t, set_of(&u, jwk)), E_INVALID);
	}
	for (size_t i = 0; i < 4; i++) {
		static const char *const exponents[] = { "", "AQ", "AA", "AQAAAAAAAAAAAQAB" };
		str jwk =
			arena_printf(&u.arena, "{\"kty\":\"RSA\",\"kid\":\"k\",\"n\":\"%.*s\",\"e\":\"%s\"}",
				STR_ARG(n), exponents[i]);

		assert_status(verify(&u, t, set_of(&u, jwk)), E_INVALID);
	}
	assert_status(json_parse(&u.cx, STR("{\"keys\":7}"), &set), OK);
	assert_status(verify(&u, t, set), E_INVALID);
	assert_status(json_parse(&u.cx, STR("[]"), &set), OK);
	assert_status(verify(&u, t, set), E_INVALID);
	assert_status(verify(&u, t, set_of(&u, STR("1,null,\"x\",[],{}"))), E_NOT_FOUND);
}

static void
a_key_longer_than_the_limit_costs_nothing(void **state)
{
	UNIT(u);
	str t = token(&u, rsa, "{\"alg\":\"RS256\",\"kid\":\"k\"}", "{}");
	char *much = arena_alloc(&u.arena, 4000);

	(void)state;
	memset(much, 'B', 4000); /* 24,000 bits */
	assert_status(
		verify(&u, t,
			set_of(&u, arena_printf(&u.arena,
					   "{\"kty\":\"RSA\",\"kid\":\"k\",\"n\":\"%.*s\",\"e\":\"AQAB\"}",
					   4000, much))),
		E_INVALID);
}

static void
base64url_is_strict(void **state)
{
	static const char *const wrong[] = { "A", "A=", "AA==", "A+", "A/AA", "AA\n", " AA", "AB", "AAB" };
	UNIT(u);
	str bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_status(base64url_read(&u.cx, str_of(wrong[i]), &bytes), E_INVALID);
	assert_status(base64url_read(&u.cx, STR("_-8"), &bytes), OK);
	assert_int_equal(bytes.len, 2);
	assert_memory_equal(bytes.ptr, "\xff\xef", 2);
	assert_status(base64url_read(&u.cx, STR(""), &bytes), OK);
	assert_int_equal(bytes.len, 0);
}

/* --- claims --- */

static status
check(struct unit *u, const char *claims, struct claims *out)
{
	struct claims_wanted want = {
		.issuer = STR("https://idp"), .client_id = STR("us"), .nonce = STR("n"), .now_us = NOW
	};
	struct json *doc;

	assert_status(json_parse(&u->cx, str_of(claims), &doc), OK);
	return claims_check(&u->cx, doc, &want, out);
}

#define TIMES "\"iat\":1800000000,\"exp\":1800000300"
#define REST  "\"iss\":\"https://idp\",\"nonce\":\"n\",\"sub\":\"s\""

static void
claims_are_for_us_now_and_of_this_sign_in(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{" REST ",\"aud\":\"us\"}",
		"{" REST ",\"aud\":\"us\",\"iat\":1800000000,\"exp\":-1}",
		"{" REST ",\"aud\":\"us\",\"iat\":1800000000,\"exp\":9223372036854775807}",
		"{" REST ",\"aud\":\"us\",\"iat\":1800000061,\"exp\":1800000300}",
		"{" REST ",\"aud\":\"us\",\"iat\":1799999000,\"exp\":1799999940}",
		"{" REST ",\"aud\":[]," TIMES "}",
		"{" REST ",\"aud\":[[\"us\"]]," TIMES "}",
		"{" REST ",\"aud\":[\"us\",\"us\"]," TIMES "}",
		"{" REST ",\"aud\":\"us\",\"azp\":null," TIMES "}",
		"{" REST ",\"aud\":\"us\",\"nbf\":\"soon\"," TIMES "}",
		"{\"iss\":\"https://idp\",\"nonce\":null,\"sub\":\"s\",\"aud\":\"us\"," TIMES "}",
	};
	UNIT(u);
	struct claims c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_status(check(&u, wrong[i], &c), E_INVALID);
	assert_status(check(&u, "{" REST ",\"aud\":[\"us\",\"them\"],\"azp\":\"us\"," TIMES "}", &c), OK);
	assert_status(check(&u, "{" REST ",\"aud\":\"us\",\"iat\":1800000060,\"exp\":1799999941}", &c), OK);
	assert_str(c.subject, "s");
	assert_false(c.email_verified);
}

static void
an_address_is_verified_only_by_true(void **state)
{
	UNIT(u);
	struct claims c;
	struct json *doc;

	(void)state;
	assert_status(
		check(&u, "{" REST ",\"aud\":\"us\",\"email\":\"a@b\",\"email_verified\":\"true\"," TIMES "}",
			&c),
		OK);
	assert_str(c.email, "a@b");
	assert_false(c.email_verified);
	assert_status(
		json_parse(&u.cx, STR("{\"sub\":\"s\",\"email\":\"c@d\",\"email_verified\":true}"), &doc),
		OK);
	assert_status(claims_add(&u.cx, doc, &c), OK);
	assert_str(c.email, "c@d");
	assert_true(c.email_verified);
	assert_status(json_parse(&u.cx, STR("{\"sub\":\"t\",\"email\":\"e@f\"}"), &doc), OK);
	assert_status(claims_add(&u.cx, doc, &c), E_INVALID);
	assert_str(c.email, "c@d");
}

/* --- the flow's cookie --- */

static void
a_flow_opens_for_ten_minutes_with_its_state_for_its_provider(void **state)
{
	const struct keys keys = { .mac = { 1 } }, others = { .mac = { 2 } };
	UNIT(u);
	struct flow f, back;
	str sealed;

	(void)state;
	u.cx.keys = &keys;
	f = flow_new(&u.cx, NOW);
	f.return_to = STR("/x");
	sealed = flow_seal(&u.cx, &f, STR("idp us"));
	assert_status(flow_open(&u.cx, sealed, STR("idp us"), f.state, NOW, &back), OK);
	assert_true(str_eq(back.verifier, f.verifier) && str_eq(back.nonce, f.nonce));
	assert_str(back.return_to, "/x");
	assert_status(
		flow_open(&u.cx, sealed, STR("idp us"), f.state, NOW + LIMIT_OIDC_FLOW_US - 1, &back), OK);
	assert_status(flow_open(&u.cx, sealed, STR("idp us"), f.state, NOW + LIMIT_OIDC_FLOW_US, &back),
		E_UNAUTHENTICATED);
	assert_status(flow_open(&u.cx, sealed, STR("idp them"), f.state, NOW, &back), E_UNAUTHENTICATED);
	assert_status(flow_open(&u.cx, sealed, STR("idp us"), f.nonce, NOW, &back), E_UNAUTHENTICATED);
	assert_status(flow_open(&u.cx, sealed, STR("idp us"), (str){ 0 }, NOW, &back), E_UNAUTHENTICATED);
	for (size_t n = 0; n < sealed.len; n += 7)
		assert_status(flow_open(&u.cx, (str){ sealed.ptr, n }, STR("idp us"), f.state, NOW, &back),
			E_UNAUTHENTICATED);
	u.cx.keys = &others;
	assert_status(flow_open(&u.cx, sealed, STR("idp us"), f.state, NOW, &back), E_UNAUTHENTICATED);
}

static void
the_challenge_is_that_of_rfc_7636(void **state)
{
	UNIT(u);
	struct flow f = { .verifier = STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") };

	(void)state;
	assert_str(flow_challenge(&u.cx, &f), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

static void
only_a_path_of_ours_is_gone_on_to(void **state)
{
	(void)state;
	assert_true(flow_return_ok(STR("/")));
	assert_true(flow_return_ok(STR("/a/b?c=d#e")));
	assert_false(flow_return_ok(STR("")));
	assert_false(flow_return_ok(STR("//evil")));
	assert_false(flow_return_ok(STR("/\\evil")));
	assert_false(flow_return_ok(STR("https://evil")));
	assert_false(flow_return_ok(STR("/\r\nSet-Cookie: x=y")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_believed_by_the_key_that_signed_it),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(an_algorithm_we_do_not_list_is_refused_whatever_the_keys),
		cmocka_unit_test(a_key_is_used_only_for_what_it_says),
		cmocka_unit_test(keys_that_are_none_are_refused),
		cmocka_unit_test(a_key_longer_than_the_limit_costs_nothing),
		cmocka_unit_test(base64url_is_strict),
		cmocka_unit_test(claims_are_for_us_now_and_of_this_sign_in),
		cmocka_unit_test(an_address_is_verified_only_by_true),
		cmocka_unit_test(a_flow_opens_for_ten_minutes_with_its_state_for_its_provider),
		cmocka_unit_test(the_challenge_is_that_of_rfc_7636),
		cmocka_unit_test(only_a_path_of_ours_is_gone_on_to),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
