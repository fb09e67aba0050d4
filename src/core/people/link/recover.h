/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover: the way back in, by an operator who has the database and the key file (ID-8).
 *
 * For an admin who lost their password, or for an organization that nobody administers any more; four eyes and quorum go off only where
 * that is asked for. On record as the system's action, and shown to everybody of the organization for LIMIT_RECOVERED_US.
 */
#ifndef CORE_PEOPLE_RECOVER_H
#define CORE_PEOPLE_RECOVER_H

#include "core/people/link/link.h"

struct recover_wish {
	str org;   /* slug or id; empty: the only one */
	str email; /* of the person who gets a link; empty: nobody does */
	bool switch_off_four_eyes;
};

struct recovered {
	str org_slug, name, email;
	struct link link;    /* url empty: none was asked for */
	bool made_admin;     /* nobody was: they are now */
	bool policy_changed; /* four eyes or a quorum was on */
};

/*
 * With cx->keys, which must be the database's. One transaction.
 *
 * E_INVALID    neither was asked for, or there are several organizations and none was named
 * E_NOT_FOUND  there is no such organization, or nobody in it signs in with this address
 * E_CONFLICT   this person is not an admin, and another one is
 */
status recover(struct ctx *cx, const struct recover_wish *wish, struct recovered *out) MUST_USE;

/* When access was last recovered in any organization, within LIMIT_RECOVERED_US; 0: it was not. */
status recover_last(struct ctx *cx, int64_t *out_us) MUST_USE;

#endif
