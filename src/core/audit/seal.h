/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal: entries become leaves, and roots that are committed become signed checkpoints.
 *
 *	audit_pending --seal (one transaction)--> audit_leaf, audit_node, audit_head
 *	audit_head (committed) --sign--> file beside the key, then audit_checkpoint
 *
 * One sealer at a time per organization: the head's row is locked, and moved by compare-and-set.
 * Before it signs, the sealer demands that the tree continues the last checkpoint it knows, in
 * the file and in the database: after a rollback or a restored backup it refuses, loudly and for
 * ever, rather than sign a second history. The file is written first, so that whatever has been
 * published is remembered.
 */
#ifndef CORE_AUDIT_SEAL_H
#define CORE_AUDIT_SEAL_H

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
 * E_CONFLICT     the tree does not continue the last checkpoint: nothing was signed; the message says how
 * E_UNAVAILABLE  the file cannot be read or written
 */
status audit_seal(struct ctx *cx, str org_id, const char *held_dir, struct sealed *out) MUST_USE;

/* The checkpoint that is kept in the folder; empty where there is none. E_UNAVAILABLE  it cannot be read */
status held_read(struct ctx *cx, const char *held_dir, str org_id, str *out_note) MUST_USE;
status held_write(struct ctx *cx, const char *held_dir, str org_id, str note) MUST_USE;

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

/* E_UNAVAILABLE  the folder cannot be made */
status sealer_start(struct ctx *cx, const struct sealer_options *o, struct sealer **out_sealer) MUST_USE;

/* One more round now; from any thread. */
void sealer_kick(struct sealer *s);
void sealer_stats(struct sealer *s, struct sealer_stats *out);

/* Seals once more, then ends the thread. NULL is fine. */
void sealer_stop(struct sealer *s);

#endif
