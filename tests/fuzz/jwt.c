/* SPDX-License-Identifier: Apache-2.0 */
/* What a hostile provider sends: keys, a line, then a token. Nothing but the fixed key of the seed is
 * believed. */
#include "base/check.h"
#include "base/limits.h"
#include "core/oidc/claims.h"
#include "core/oidc/jwt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_claims(struct ctx *cx, const struct jwt *t)
{
	struct claims_wanted want = { .issuer = STR("https://idp"),
		.client_id = STR("us"),
		.nonce = STR("n"),
		.access_token = STR("access"),
		.now_us = INT64_C(1800000000000000) };
	struct claims c;
	status s = claims_check(cx, t->claims, &want, &c);

	CHECK(s == OK || s == E_INVALID);
	CHECK(s != OK || (c.subject.len && c.subject.len <= LIMIT_OIDC_SUBJECT));
}

static void
check_token(struct ctx *cx, str keys, str token)
{
	struct json *set;
	struct jwt t;
	status s = jwt_read(cx, token, &t);

	CHECK(s == OK || s == E_INVALID);
	if (s != OK)
		return;
	CHECK(t.claims->type == JSON_OBJECT && t.signed_text.len < token.len);
	check_claims(cx, &t);
	if (json_parse(cx, keys, &set) != OK)
		return;
	s = jwt_verify(cx, &t, set);
	CHECK(s == OK || s == E_INVALID || s == E_NOT_FOUND);
	CHECK(s != OK || str_eq(t.alg, STR("RS256")) || str_eq(t.alg, STR("ES256")));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* a block of exactly this size: one byte too far is seen */
	char *text = malloc(size ? size : 1);
	struct arena arena;
	struct ctx cx;
	str keys, token;

	CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	if (str_cut((str){ text, size }, '\n', &keys, &token))
		check_token(&cx, keys, token);
	arena_done(&arena);
	free(text);
	return 0;
}
