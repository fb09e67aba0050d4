/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: an application that wants to act for a person: one that registered itself (RFC 7591), or one that
 * describes itself at its own address (document.h). Public clients only: none has a secret.
 *
 * Whatever it says of itself nobody has checked; its name is shown as AP-7 shows all text of strangers. What
 * identifies it to a person is where the code goes.
 */
#ifndef CORE_OAUTH_CLIENT_H
#define CORE_OAUTH_CLIENT_H

#include "json/json.h"

struct client {
	str id;
	str name;	/* to be shown: one line, nothing hidden */
	bool deceives;	/* something in its name was made visible, or imitates */
	bool described; /* by a document at its id, which is a URL */
	const str *redirects;
	size_t redirect_count;
};

/* Outside a transaction. E_NOT_FOUND  there is none; and as document_fetch */
status client_find(struct ctx *cx, str id, struct client *out) MUST_USE;

/* May a code be sent there? */
bool client_redirects_to(const struct client *c, str uri);

/* The name as it is shown. */
str client_name(struct arena *a, str said, bool *out_deceives);

#endif
