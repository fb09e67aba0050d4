/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: a one-time link by which a person sets their own password (ID-8). Nobody sets another person's password.
 *
 *	link_make --> live for 24 hours --POST /link--> used: their password is set, their sessions end
 *	                 `--another link, or the person is shut out--> ended
 *
 * The link opens a page; its secret stands behind '#', so it reaches no log on the way. Only the hash of the
 * secret is stored. Making a link and using it are on record.
 */
#ifndef CORE_PEOPLE_LINK_H
#define CORE_PEOPLE_LINK_H

#include "core/op.h"

#define LINK_PATH "/link" /* the page (app/link_page.c) */

extern const struct op link_ops[];

struct link {
	str url; /* LINK_PATH#secret, behind public-url where that is set. Shown once */
	int64_t expires_at;
};

/* Inside tx_run, with the lock on rights: another link for a person, on record. The one before ends. */
status link_make(struct ctx *cx, str org_id, str person_id, struct link *out) MUST_USE;

/* Inside tx_run: the person's link is good no more, if there is one. */
status link_end(struct ctx *cx, str org_id, str person_id) MUST_USE;

#endif
