/* SPDX-License-Identifier: Apache-2.0 */
#include "http/light/awake.h"

#include "base/limits.h"

/* Of a gap that counts: however long one was, a few short ones make up for it. */
#define LONGEST (4 * LIMIT_HTTP_AWAKE_US)

void
http_awake_init(struct http_awake *a)
{
	*a = (struct http_awake){ .gap_us = LONGEST };
}

int64_t
http_awake_until(struct http_awake *a, int64_t now_us)
{
	int64_t gap = now_us - a->last_us;

	a->last_us = now_us;
	a->gap_us = (3 * a->gap_us + (gap < LONGEST ? gap : LONGEST)) / 4;
	return a->gap_us < LIMIT_HTTP_AWAKE_US ? now_us + LIMIT_HTTP_AWAKE_US : 0;
}
