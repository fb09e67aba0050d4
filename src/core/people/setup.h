/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup: the first start of a server on a database that nobody has set up (ID-8).
 *
 *	setup_offer --> link, valid for an hour --POST /setup--> organization and first admin
 *
 * The link works once: as soon as there is an organization, it opens nothing. A later offer replaces it. Only
 * the hash of its secret is stored.
 */
#ifndef CORE_PEOPLE_SETUP_H
#define CORE_PEOPLE_SETUP_H

#include "core/op.h"

extern const struct op setup_ops[];

/* A secret for the link; empty where there is an organization already. After installation_join. */
status setup_offer(struct ctx *cx, str *out_secret) MUST_USE;

#endif
