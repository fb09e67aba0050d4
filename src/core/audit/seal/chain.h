/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain: the numbers of entries (docs/decisions/0038).
 *
 * An entry that is written while a lock is held gets the next number of that lock's chain: the entries of a proposal
 * are 1, 2, 3 ..., and so are an organization's changes of rights, from 2. The number is in the leaf and under the
 * entry's MAC, and the last one is under the MAC of the row that the lock is on. So an entry that was taken out, put
 * in or put back does not fit: not the row at its next use, and not the sealer.
 */
#ifndef CORE_AUDIT_SEAL_CHAIN_H
#define CORE_AUDIT_SEAL_CHAIN_H

#include "core/audit/row.h"

/* A proposal's, while its row is locked. */
struct audit_chain {
	str proposal_id;
	int64_t number; /* of its last entry */
	int64_t kept;	/* the number that its row was last written with */
};

/*
 * Inside tx_run, with the lock on the organization's rights (cx->rights_held): the number of the entry that is about to be added.
 *
 * E_TAMPERED  the count and the entries do not fit
 */
status chain_rights_next(struct ctx *cx, str org_id, int64_t *out_number) MUST_USE;

/* Numbers that were sealed are remembered (numbers.h). Inside tx_run: once it has committed. */
void chain_remember(struct ctx *cx, const struct audit_row *rows, size_t count);

/* In a read: the numbers of these leaves are remembered at once. */
status chain_follow(struct ctx *cx, str org_id, int64_t from, int64_t to) MUST_USE;

/* What does not fit, as a sentence; empty: everything does. In a read. */
status chain_rights_problem(struct ctx *cx, str org_id, str *out_problem) MUST_USE;

/*
 * Rows that wait to be sealed, one at least, by id: each carries its MAC and follows its predecessor.
 *
 * E_CONFLICT  one does not: a sentence names it
 */
struct chain_rule {
	bool before; /* entries that were written before there were MACs are among them, and that is right */
	str missing; /* "<proposal id or rights> <number>\n" ...: entries that somebody has looked for and given up */
};
status chain_check(struct ctx *cx, const struct audit_row *rows, size_t count, const struct chain_rule *rule)
	MUST_USE;

/* In a read: do all entries of the organization follow their predecessors? E_CONFLICT  one does not */
status chain_check_all(struct ctx *cx, str org_id) MUST_USE;

/* Does the entry carry its MAC? E_CONFLICT  no */
status chain_check_mac(struct ctx *cx, const struct audit_row *row) MUST_USE;

#endif
