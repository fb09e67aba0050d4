/* SPDX-License-Identifier: Apache-2.0 */
/* wait: until a descriptor is ready. A thread is held up; on a fiber the server's loop goes on. Private to http. */
#ifndef HTTP_CLIENT_WAIT_H
#define HTTP_CLIENT_WAIT_H

#include "base/ctx.h"

#include <poll.h>

#define HTTP_WAIT_FIBER 8u /* descriptors that a fiber waits for at once */

/* As poll(2), but for no reason it may be over early. fiber: NULL on a thread. */
void http_wait(struct fiber *fiber, struct pollfd *fds, size_t count, int timeout_ms);

#endif
