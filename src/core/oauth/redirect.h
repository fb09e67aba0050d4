/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redirect: where a client may have a code sent (OAuth 2.1; RFC 8252). Pure.
 *
 * A redirect URI is https, or http to this machine (127.0.0.1, [::1], localhost), or a scheme that a native
 * application has for itself: one with a dot, or one of the few known ones without. No fragment, no user, nothing
 * that a browser reads differently than we do. It matches byte by byte; only the port of a URI to this machine
 * may differ, since native applications take any free one.
 */
#ifndef CORE_OAUTH_REDIRECT_H
#define CORE_OAUTH_REDIRECT_H

#include "base/arena.h"

/* A URI taken apart; each part as it stands there. */
struct redirect {
	str scheme, host, port, rest; /* host, port: empty where it has no authority; rest: path and query */
};

/* False: it is not one that we understand completely. */
bool redirect_split(str uri, struct redirect *out);

bool redirect_valid(str uri);
bool redirect_matches(str registered, str asked);

/* For a person: "app.example.org", "localhost:1234 (this computer)", "the application com.example.app". It is valid. */
str redirect_where(struct arena *a, str uri);

#endif
