/* SPDX-License-Identifier: Apache-2.0 */
/* answer: the bodies of OFREP, and when they are new. Private to ofrep. */
#ifndef FACE_OFREP_ANSWER_H
#define FACE_OFREP_ANSWER_H

#include "core/ident/caller.h"
#include "domain/flag/live/live.h"
#include "http/http.h"

/* What was asked. */
struct ofrep_ask {
	bool bulk;
	str environment_id; /* empty: the token's */
	str key;	    /* of one */
	struct json *context;
};

/* Is it little enough for the event loop? */
bool ofrep_is_light(const struct ofrep_ask *a, const struct live_ruleset *live);

/* May they see what they ask for by name? */
bool ofrep_in_scope(const struct ofrep_ask *a, const struct caller *c, str environment_id);

/* 200, 304, or 404 for a key that is not there. E_TOO_LARGE  the context, as subject_prepare */
status ofrep_answer(struct http_exchange *x, const struct ofrep_ask *a, const struct caller *c,
	const struct live_ruleset *live) MUST_USE;

/* Pages of any origin may read this answer, and these headers of it. */
void ofrep_allow(struct http_exchange *x);

#endif
