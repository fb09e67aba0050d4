/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access: the administration of Countersign as tools: agents, their tokens, their permissions (TL-5).
 *
 * So that even an agent's wish for more rights is a proposal, which a person decides. Every change
 * here is of category C and runs while nobody else decides (changes_rights). The handlers use what
 * the operations of the same name use; there is no second way to change a right.
 *
 * A token that is proposed gets its rights from the person who applies it, never more than theirs, and
 * its secret is answered to that person, once: it is in no payload, card, result or record.
 */
#ifndef DOMAIN_ACCESS_ACCESS_H
#define DOMAIN_ACCESS_ACCESS_H

#include "core/gate/tool.h"

extern const struct tool access_tools[];	/* agents and permissions */
extern const struct tool access_token_tools[];	/* tokens */
extern const struct tool access_change_tools[]; /* who may approve */
extern const char *const access_operations[];	/* what access.change can propose; ended by NULL */
extern const struct tool access_look_tools[];	/* where things are, and the audit log */

/* What all of them say. */
#define ACCESS_TARGET "Countersign itself"
#define ACCESS_DOMAIN "operations"

/* Private to access: a page of a list. */
struct access_page {
	str after;
	int64_t limit;
};

/* Private to access: adds a text. */
void access_text(struct ctx *cx, struct json *o, const char *key, str text);

#endif
