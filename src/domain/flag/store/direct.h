/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct: may the caller read this, and may they change it at once, without a proposal?
 *
 * Rights are asked for in the environment: a token may hold more where it is not production (ID-7).
 */
#ifndef DOMAIN_FLAG_STORE_DIRECT_H
#define DOMAIN_FLAG_STORE_DIRECT_H

#include "core/ident/rule.h"
#include "domain/flag/store/item.h"

/* E_FORBIDDEN  the rule flag.<resource>.read is missing */
status direct_may_read(struct ctx *cx, const struct environment *e, enum resource r) MUST_USE;

/* E_SCOPE  the environment or the key is outside the token's scope */
status direct_in_scope(struct ctx *cx, const struct environment *e, str key) MUST_USE;

/*
 * kind: the proposal that does the same ("set_rules_flag"); the tool flag.<kind>, which the sentence names.
 *
 * E_FORBIDDEN  the rule flag.<resource>.<verb> is missing
 * E_SCOPE      as above
 * E_APPROVAL   somebody else has to agree first: the token, the environment or policy says so
 */
status direct_may_write(struct ctx *cx, const struct environment *e, enum resource r, enum verb verb, str key,
	const char *kind) MUST_USE;

/* The same in every environment of the project, for what is changed in all of them. Without gate: what
 * changes no ruleset; only the token's wish counts then. */
status direct_may_write_all(struct ctx *cx, const struct project *p, enum resource r, enum verb verb, str key,
	const char *kind, bool gate) MUST_USE;

#endif
