/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source: what a person agrees to of a tool that is not ours, besides what is sent: whose it is, where it is, what opens it
 * there, and what an admin has said of it (PA-6, EX-4).
 *
 * On the card is the origin of the address, and of all of it an HMAC under the key file: an address is often a secret (a
 * webhook's path), and a bare hash of one that can be guessed would tell it to everybody who may see the card.
 */
#ifndef CORE_OUTSIDE_SOURCE_H
#define CORE_OUTSIDE_SOURCE_H

#include "core/outside/outside.h"
#include "json/json.h"

/*
 * Inside tx_run or db_read: asks the tool's provider.
 *
 * E_NOT_FOUND  its source is gone; E_UNAVAILABLE  nothing here can reach it
 */
status source_of(struct ctx *cx, str org_id, const struct tool *t, struct outside_source *out) MUST_USE;

/* The member `source` of a card. Needs cx->keys. */
struct json *source_card(struct ctx *cx, str org_id, const struct tool *t, const struct outside_source *s);

/* Is what a card has as its `source` (NULL: nothing, an old one) what would be put there now? */
status source_is(struct ctx *cx, const struct json *shown, const struct json *now, bool *out) MUST_USE;

/* For a provider, which has just read its own: is the call for this one? */
bool source_same(const struct outside_call *call, const struct outside_source *now);

#define SOURCE_MOVED "its address or its credential was changed after it was claimed; nothing was sent"

#endif
