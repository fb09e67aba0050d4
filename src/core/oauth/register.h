/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register: clients that introduce themselves (RFC 7591).
 *
 *	registered --somebody agrees--> used
 *	     `--a day--> forgotten
 *
 * So many from one address in an hour, counted in the database and so over all servers, and so many that nobody
 * has agreed to yet in all. An IPv6 address counts as its /64: that is what one customer has.
 */
#ifndef CORE_OAUTH_REGISTER_H
#define CORE_OAUTH_REGISTER_H

#include "json/json.h"

struct registration {
	str id, name; /* the name as it came */
	const str *redirects;
	size_t redirect_count;
	int64_t created_at;
};

/*
 * Outside a transaction.
 *
 * E_FORBIDDEN     the settings say no
 * E_INVALID       the metadata is not that of a client we take
 * E_REFERENCED    a redirect URI is not acceptable
 * E_RATE_LIMITED  too many, with Retry-After
 */
status
register_client(struct ctx *cx, const struct json *metadata, str peer, struct registration *out) MUST_USE;

/* Inside tx_run: somebody has agreed to it. */
status register_use(struct ctx *cx, str client_id) MUST_USE;

/* Forgets clients that nobody wanted. Outside a transaction. */
status register_sweep(struct ctx *cx) MUST_USE;

#endif
