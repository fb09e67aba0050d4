/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/pkce.h"

#include "base/hash/sha256.h"
#include "core/oidc/jwt.h"

static bool
is_made_of(str text, const char *others)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c && strchr(others, c))))
			return false;
	}
	return true;
}

bool
pkce_challenge_valid(str challenge)
{
	return challenge.len == 43 && is_made_of(challenge, "-_");
}

bool
pkce_matches(struct arena *a, str verifier, str challenge)
{
	unsigned char hash[SHA256_BYTES];

	if (verifier.len < 43 || verifier.len > 128 || !is_made_of(verifier, "-._~"))
		return false;
	sha256_of(verifier, hash);
	return str_eq_secret(base64url(a, (str){ (const char *)hash, sizeof(hash) }), challenge);
}
