/* SPDX-License-Identifier: Apache-2.0 */
/* past: times that a request names: RFC 3339, not in the future, at most STORE_PAST_US ago. */
#ifndef DOMAIN_FLAG_LIVE_PAST_H
#define DOMAIN_FLAG_LIVE_PAST_H

#include "domain/flag/store/store.h"

/* E_INVALID  text is no time; the issue is at path */
status past_parse(struct ctx *cx, str path, str text, int64_t *out_us) MUST_USE;

/* Inside a read. E_INVALID  after now, or too long ago */
status past_check(struct ctx *cx, str path, int64_t at_us) MUST_USE;

#endif
