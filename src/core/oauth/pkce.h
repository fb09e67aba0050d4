/* SPDX-License-Identifier: Apache-2.0 */
/* pkce: proof that who brings a code is who asked for it (RFC 7636, S256 only). Pure. */
#ifndef CORE_OAUTH_PKCE_H
#define CORE_OAUTH_PKCE_H

#include "base/ctx.h"

/* Can it be the SHA-256 of something, in base64url? */
bool pkce_challenge_valid(str challenge);

/* Is it the verifier behind the challenge? What is no verifier (43 to 128 unreserved characters) never is. */
bool pkce_matches(struct arena *a, str verifier, str challenge);

#endif
