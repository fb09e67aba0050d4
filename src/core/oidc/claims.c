/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oidc/claims.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/hash/sha256.h"
#include "core/oidc/jwt.h"

static str
text_of(const struct json *object, str key)
{
	const struct json *value = json_get(object, key);

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

/* --- to us --- */

static bool
names_us(const struct json *aud, str client_id)
{
	if (!aud)
		return false;
	if (aud->type == JSON_STRING)
		return str_eq(aud->text, client_id);
	if (aud->type != JSON_ARRAY)
		return false;
	JSON_EACH (one, aud) {
		if (one->type == JSON_STRING && str_eq(one->text, client_id))
			return true;
	}
	return false;
}

/* Several audiences: it must say that we are the one who asked for it. */
static status
check_audience(struct ctx *cx, const struct json *token, str client_id)
{
	const struct json *aud = json_get(token, STR("aud")), *azp = json_get(token, STR("azp"));
	bool several = aud && aud->type == JSON_ARRAY && aud->count > 1;

	if (!names_us(aud, client_id))
		return fail(cx, E_INVALID, "it is for another audience (aud)");
	if ((azp || several) && !str_eq(text_of(token, STR("azp")), client_id))
		return fail(cx, E_INVALID, "it was made for another party (azp)");
	return OK;
}

/* --- now --- */

/* Seconds since 1970; false where the claim is absent or out of this world. */
static bool
time_of(const struct json *token, str key, int64_t *out_us)
{
	const struct json *value = json_get(token, key);
	int64_t seconds = 0;

	if (!value || value->type != JSON_NUMBER || !json_to_int(value, &seconds) || seconds < 0 ||
		seconds > INT64_MAX / SECOND_US / 2)
		return false;
	*out_us = seconds * SECOND_US;
	return true;
}

static status
check_times(struct ctx *cx, const struct json *token, int64_t now_us)
{
	int64_t exp = 0, iat = 0, nbf = 0;

	if (!time_of(token, STR("exp"), &exp) || !time_of(token, STR("iat"), &iat))
		return fail(cx, E_INVALID,
			"it does not say when it was made (iat) and until when it holds (exp)");
	if (exp <= now_us - LIMIT_OIDC_SKEW_US)
		return fail(cx, E_INVALID, "its time is over (exp)");
	if (iat > now_us + LIMIT_OIDC_SKEW_US)
		return fail(cx, E_INVALID, "it was made in the future (iat); are both clocks right?");
	if (json_get(token, STR("nbf")) &&
		(!time_of(token, STR("nbf"), &nbf) || nbf > now_us + LIMIT_OIDC_SKEW_US))
		return fail(cx, E_INVALID, "its time has not come (nbf)");
	return OK;
}

/* --- of this sign-in --- */

/* The left half of the access token's hash; both algorithms we accept mean SHA-256. */
static status
check_access_token(struct ctx *cx, const struct json *token, str access_token)
{
	unsigned char hash[SHA256_BYTES];

	if (!json_get(token, STR("at_hash")))
		return OK;
	sha256_of(access_token, hash);
	if (!str_eq(text_of(token, STR("at_hash")),
		    base64url(cx->arena, (str){ (const char *)hash, sizeof(hash) / 2 })))
		return fail(cx, E_INVALID, "it belongs to another access token (at_hash)");
	return OK;
}

static void
read_email(const struct json *doc, struct claims *c)
{
	const struct json *verified = json_get(doc, STR("email_verified"));

	c->email = text_of(doc, STR("email"));
	c->email_verified = verified && verified->type == JSON_BOOL && verified->truth;
}

status
claims_check(struct ctx *cx, const struct json *token, const struct claims_wanted *want, struct claims *out)
{
	struct claims c = { .subject = text_of(token, STR("sub")) };

	if (!str_eq(text_of(token, STR("iss")), want->issuer))
		return fail(cx, E_INVALID, "it is of another issuer (iss)");
	TRY(check_audience(cx, token, want->client_id));
	TRY(check_times(cx, token, want->now_us));
	if (!want->nonce.len || !str_eq_secret(text_of(token, STR("nonce")), want->nonce))
		return fail(cx, E_INVALID, "it is of another sign-in (nonce)");
	TRY(check_access_token(cx, token, want->access_token));
	if (!c.subject.len || c.subject.len > LIMIT_OIDC_SUBJECT)
		return fail(cx, E_INVALID, "it does not say who it is about (sub)");
	read_email(token, &c);
	if (!time_of(token, STR("auth_time"), &c.authenticated_at))
		c.authenticated_at = 0;
	*out = c;
	return OK;
}

status
claims_add(struct ctx *cx, const struct json *doc, struct claims *c)
{
	if (!str_eq(text_of(doc, STR("sub")), c->subject))
		return fail(cx, E_INVALID, "what the provider says of the person is of another one (sub)");
	read_email(doc, c);
	return OK;
}
