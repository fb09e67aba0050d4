/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held: the newest checkpoint of each log that this server knows of, in a file beside the key, where no restored or promoted
 * database can take it back.
 *
 * A server holds the checkpoints that it signs, those of other servers as they appear in the database, and those that it
 * gives in answers. It signs nothing that does not continue what it holds.
 */
#ifndef CORE_AUDIT_SEAL_HELD_H
#define CORE_AUDIT_SEAL_HELD_H

#include "core/audit/tree.h"

/* The checkpoint that is kept in the folder; empty where there is none. E_UNAVAILABLE  it cannot be read */
status held_read(struct ctx *cx, const char *held_dir, str org_id, str *out_note) MUST_USE;
status held_write(struct ctx *cx, const char *held_dir, str org_id, str note) MUST_USE;

/* The entries that somebody has given up: `<org>.missing` in the folder, lines as chain.h has them; mostly there is none. */
status held_missing(struct ctx *cx, const char *held_dir, str org_id, str *out_lines) MUST_USE;

/*
 * One writer at a time on this machine, until *out_fd is closed: the lock comes before the look at the head, so a tree can only
 * have grown since the file was written. Servers elsewhere have files of their own. Not inside a transaction.
 */
status held_lock(struct ctx *cx, const char *held_dir, int *out_fd) MUST_USE;

/* In a read: does the tree of this head continue the checkpoint (empty: none)? E_CONFLICT  no: a sentence says how */
status held_fits(struct ctx *cx, str org_id, const struct checkpoint_key *key, const struct tree_head *head,
	str note) MUST_USE;

/* The leaves that came with a checkpoint: from <= index < to. */
struct held_news {
	int64_t from, to;
};

/*
 * Holds a checkpoint that was seen (empty: none), where it is newer than the one that is held, and looks whether the tree
 * continues both. Not inside a transaction.
 *
 * E_CONFLICT     the tree does not, or it is no checkpoint of ours: the sentence says how
 * E_UNAVAILABLE  the file cannot be read or written
 */
status held_keep(struct ctx *cx, const char *held_dir, str org_id, str note, struct held_news *out) MUST_USE;

#endif
