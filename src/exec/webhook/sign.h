/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sign: Standard Webhooks 1.0.0, both ways. Pure.
 *
 *	webhook-id: <id>	webhook-timestamp: <seconds>	webhook-signature: v1,<base64> v1,<base64> …
 *
 * A signature is HMAC-SHA-256 over id.timestamp.body. The key is what stands in base64 behind "whsec_". Several
 * signatures stand side by side while a key is being replaced; one that fits is enough.
 */
#ifndef EXEC_WEBHOOK_SIGN_H
#define EXEC_WEBHOOK_SIGN_H

#include "base/ctx.h"

#define SIGN_TOLERANCE_S 300 /* how far two clocks may be apart */

/*
 * A new secret: 256 random bits as text, in base64. Text, so that programs whose HMAC takes only text (n8n's Crypto
 * node) can use what is inside.
 */
str sign_new(struct arena *a);

/* Is it "whsec_" and base64 of 24 to 64 bytes? */
bool sign_valid(str secret);

/* The header's value; what is empty among the secrets is left out. */
str sign_header(struct arena *a, const str *secrets, size_t count, str id, int64_t seconds, str body);

/* What came with a request. */
struct sign_parts {
	str id, timestamp, signature;
};

/*
 * Was the body signed with one of the secrets, now?
 *
 * E_UNAUTHENTICATED  a header is missing or malformed, the time is not now, or no signature fits; the sentence says
 *                    which
 */
status
sign_check(struct ctx *cx, const struct sign_parts *p, const str *secrets, size_t count, str body) MUST_USE;

#endif
