/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scoped: what is not memory is given back where its name goes out of sight.
 *
 *	scoped_fd fd = open(...);
 *	scoped_lock held = lock(&mutex);
 */
#ifndef BASE_SCOPED_H
#define BASE_SCOPED_H

#include <pthread.h>
#include <unistd.h>

#include "base/check.h"

static inline void
scoped_fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}
#define scoped_fd __attribute__((cleanup(scoped_fd_done))) int

/* The descriptor, which its scope no longer closes. */
static inline int
fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void
scoped_lock_done(pthread_mutex_t *const *m)
{
	if (*m)
		CHECK(pthread_mutex_unlock(*m) == 0);
}
#define scoped_lock __attribute__((cleanup(scoped_lock_done), unused)) pthread_mutex_t *

static inline pthread_mutex_t *
lock(pthread_mutex_t *m)
{
	CHECK(pthread_mutex_lock(m) == 0);
	return m;
}

#endif
