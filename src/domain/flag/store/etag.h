/* SPDX-License-Identifier: Apache-2.0 */
/* etag: W/"<when it was changed, in microseconds>", and If-Match (FL-7). "*" is any; without If-Match all is fine. */
#ifndef DOMAIN_FLAG_STORE_ETAG_H
#define DOMAIN_FLAG_STORE_ETAG_H

#include "base/ctx.h"

/* Says in the answer's header which one it is. */
void etag_tell(struct ctx *cx, int64_t updated_at);

/* Does cx->if_match, a list of ETags, name this one? */
bool etag_matches(const struct ctx *cx, int64_t updated_at);

/* E_PRECONDITION  the client has seen another one */
status etag_check(struct ctx *cx, int64_t updated_at) MUST_USE;

#endif
