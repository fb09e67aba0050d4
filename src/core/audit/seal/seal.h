/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal: entries become leaves, and roots that are committed become signed checkpoints.
 *
 *	audit_pending --seal (one transaction)--> audit_leaf, audit_node, audit_head
 *	audit_head (committed) --sign--> file beside the key, then audit_checkpoint
 *
 * One sealer at a time per organization: the head's row is locked, and moved by compare-and-set.
 * It seals only entries that carry their MAC and follow their predecessor (chain.h): where one does not, nothing of that
 * organization is sealed until somebody has looked. Before it signs, the sealer demands that the tree continues the last
 * checkpoint it knows, in the file (held.h) and in the database: after a rollback, a lost tail or a restored backup it
 * refuses, loudly and for ever, rather than sign a second history. The file is written first, so that whatever has been
 * published is remembered.
 */
#ifndef CORE_AUDIT_SEAL_SEAL_H
#define CORE_AUDIT_SEAL_SEAL_H

#include "core/audit/seal/held.h"
#include "core/audit/tree.h"

struct sealed {
	int64_t size;	 /* of the log */
	int64_t entries; /* sealed by this call */
	bool signed_now; /* a new checkpoint is out */
	bool more;	 /* there may be more to seal: call again at once */
};

/*
 * Seals what is pending, at most LIMIT_AUDIT_ROUND entries or a batch more, and signs. held_dir: where last
 * checkpoints are kept, a file per organization. Not inside a transaction. Needs cx->keys.
 *
 * E_CONFLICT     an entry was forged or is missing, or the tree does not continue the last checkpoint: nothing was signed;
 *		  the message says how
 * E_UNAVAILABLE  the file cannot be read or written
 */
status audit_seal(struct ctx *cx, str org_id, const char *held_dir, struct sealed *out) MUST_USE;

/* Seals all that is pending, entries from before there were MACs, too (begin.h); signs nothing. E_CONFLICT  one has a wrong MAC */
status audit_seal_before(struct ctx *cx, str org_id) MUST_USE;

/* --- the thread --- */

struct sealer;

struct sealer_options {
	struct db *db;
	const struct keys *keys;
	const char *held_dir; /* made where it is missing */
	int interval_ms;      /* 0: LIMIT_AUDIT_SEAL_MS */
};

struct sealer_stats {
	int64_t rounds, entries, checkpoints;
	int64_t failures; /* rounds in which an organization could not be sealed or signed */
	int64_t refused;  /* organizations that were refused in the last round: alarm on it */
};

/* Inside of it: what is to be sealed once is (begin.h). E_UNAVAILABLE  the folder cannot be made; and errors of the database */
status sealer_start(struct ctx *cx, const struct sealer_options *o, struct sealer **out_sealer) MUST_USE;

/* One more round now; from any thread. */
void sealer_kick(struct sealer *s);
/* What was decided, as this server has seen it (numbers.h); lives as long as the sealer. */
struct numbers *sealer_numbers(struct sealer *s);

/* An answer has this checkpoint: it is held from now on. From any thread. */
void sealer_gives(struct sealer *s, str org_id, const struct tree_checkpoint *c);
void sealer_stats(struct sealer *s, struct sealer_stats *out);

/* Seals once more, then ends the thread. NULL is fine. */
void sealer_stop(struct sealer *s);

#endif
