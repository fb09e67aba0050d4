/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address: where the server of a data directory answers, for programs of its owner (`wrap`).
 *
 *	serving: DIR/address, locked --address_find--> url
 *
 * The lock says that the server lives, whatever became of the last one: a token is never sent to whoever has its port
 * now. SQLite's only: servers that share a database have an address that people know.
 */
#ifndef APP_WRAP_ADDRESS_H
#define APP_WRAP_ADDRESS_H

#include "base/ctx.h"

struct address {
	str url;
	str programs; /* the setting stdio-upstreams there */
	bool wraps;   /* a server that a wrap has started, and that may be started again by one */
};

/* While serving; what cannot be written is logged and costs nothing but being found. */
void address_publish(struct ctx *cx, str url);
void address_withdraw(struct ctx *cx);

/* *out_found: a server runs on dir. Waits for one that is about to, and says so. E_UNAVAILABLE  it does not say where */
status address_find(struct ctx *cx, str dir, struct address *out, bool *out_found) MUST_USE;

/* After a second of waiting: on standard error, what for. */
void address_say_waiting(struct ctx *cx, str dir, const char *what);

#endif
