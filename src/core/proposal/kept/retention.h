/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retention: how many proposals somebody may have open, and how long what closed ones say is kept (docs/decisions/0040).
 *
 * Erasing takes payload, card, summary, result and error out of a closed proposal. What stays is who asked for which tool
 * and what became of it, and the hashes of what was there (`erased`, a JSON object): the row is sealed anew, and the
 * audit log is not touched.
 */
#ifndef CORE_PROPOSAL_KEPT_RETENTION_H
#define CORE_PROPOSAL_KEPT_RETENTION_H

#include "core/proposal/proposal.h"
#include "db/db.h"

/*
 * Inside tx_run, with cx->caller: may one more be proposed? The question goes along with what is asked next, and is
 * answered when that is waited for.
 *
 * E_RATE_LIMITED  they have cx->open_proposals open
 */
status retention_ask(struct ctx *cx, struct db_rows **out_open) MUST_USE;
status retention_room(struct ctx *cx, const struct db_rows *open) MUST_USE;

/* Is what was left in an erased row what was put there? */
bool retention_is_whole(struct ctx *cx, const struct proposal *p);

/* {"at", "why"} of p, as the member `erased`. */
void retention_write(struct ctx *cx, const struct proposal *p, struct json_out *o);

/* Proposals from before they named their subject, by what the log says of them, and what the subject asked for, where it is a
 * person. Inside db_read. */
struct retention_ids {
	str *ids;
	size_t count;
};
status retention_find(struct ctx *cx, str org_id, str subject, struct retention_ids *out) MUST_USE;

/*
 * Inside tx_run: erases what is about the subject, and what retention_find has found. An open proposal is cancelled
 * first; one that is being carried out is left as it is, to be erased when its outcome is known.
 */
struct retention_erased {
	int64_t erased, left; /* of those that were looked at */
	bool more;	      /* one transaction holds no more of them: ask again */
};
status retention_erase_subject(struct ctx *cx, str org_id, str subject, const struct retention_ids *found,
	struct retention_erased *out) MUST_USE;

/* Outside a transaction: erases some of those that were closed more than keep_us ago; *out_count says how many. */
status retention_round(struct ctx *cx, int64_t keep_us, int64_t *out_count) MUST_USE;

#endif
