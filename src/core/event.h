/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event: "something happened, look again": a hint for waiters and streams, never the truth.
 *
 * event_emit inside a transaction sends after the commit: to this server's
 * listeners at once, to other servers by NOTIFY (PostgreSQL). Metadata only (TL-10).
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "base/ctx.h"

struct event_hub;
struct event {
	str org_id, type, id; /* "proposal.pending", the proposal's id */
	str data;	      /* a small JSON object, metadata only */
};

void event_emit(struct ctx *cx, const struct event *e);

/* Waits until an event about id (or the deadline). Returns false on time-out. Spurious wake-ups are fine:
 * look again. */
bool event_wait(struct event_hub *hub, str id, int64_t until_mono_us, bool (*gone)(void *), void *arg);

#endif
