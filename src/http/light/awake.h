/* SPDX-License-Identifier: Apache-2.0 */
/*
 * awake: for how long a loop that has nothing to do looks around before it sleeps.
 *
 * A processor that sleeps takes tens of microseconds to wake, more than a light call needs. Where events have followed each
 * other closely the next one is waited for awake; where they have not, nothing is spent. Pure.
 */
#ifndef HTTP_LIGHT_AWAKE_H
#define HTTP_LIGHT_AWAKE_H

#include <stdint.h>

struct http_awake {
	int64_t last_us; /* when something happened */
	int64_t gap_us;	 /* between the last ones, smoothed */
};

void http_awake_init(struct http_awake *a);

/* Something happened, and what it leads to comes from outside: until when it is worth to stay awake; 0: it is not. */
int64_t http_awake_until(struct http_awake *a, int64_t now_us);

#endif
