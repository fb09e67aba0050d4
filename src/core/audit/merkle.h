/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merkle: the tree of RFC 6962 section 2.1, over SHA-256. Pure: it hashes and asks for stored
 * hashes, nothing else.
 *
 *	leaf = SHA-256(0x00 | data)      node = SHA-256(0x01 | left | right)      root of nothing = SHA-256()
 *
 * A growing tree is held by its right edge: the roots of the perfect subtrees whose sizes add up to the
 * tree's, the largest first. Appending completes zero or more subtrees; whoever stores those can
 * prove everything later with a number of reads that grows with the logarithm of the size.
 */
#ifndef CORE_AUDIT_MERKLE_H
#define CORE_AUDIT_MERKLE_H

#include "base/ctx.h"

#define MERKLE_HASH   32u
#define MERKLE_LEVELS 63u /* sizes are int64 in the databases */

struct merkle_hash {
	unsigned char bytes[MERKLE_HASH];
};

void merkle_leaf(str data, struct merkle_hash *out);
void merkle_node(const struct merkle_hash *left, const struct merkle_hash *right, struct merkle_hash *out);
bool merkle_equal(const struct merkle_hash *a, const struct merkle_hash *b);

/* --- a growing tree --- */

struct merkle_edge {
	uint64_t size;
	struct merkle_hash roots[MERKLE_LEVELS]; /* one per bit that is set in size, from the highest */
};

/* How many roots the edge of a tree of this size has. */
size_t merkle_edge_count(uint64_t size);

/* A subtree that an append has completed: 2^level leaves (level 1 and up), the last of them at last_leaf. */
struct merkle_done {
	unsigned level;
	uint64_t last_leaf;
	struct merkle_hash hash;
};

/* Adds a leaf (already hashed). out_done has room for MERKLE_LEVELS; gives how many there are, lowest level
 * first. */
size_t merkle_append(struct merkle_edge *e, const struct merkle_hash *leaf, struct merkle_done *out_done);

void merkle_root(const struct merkle_edge *e, struct merkle_hash *out);

/* --- proofs --- */

/* Where stored hashes come from. level 0 is a leaf; index counts subtrees of that level from the left. */
struct merkle_source {
	status (*get)(struct ctx *cx, void *arg, unsigned level, uint64_t index, struct merkle_hash *out);
	void *arg;
};

struct merkle_proof {
	struct merkle_hash path[2 * MERKLE_LEVELS];
	size_t count;
};

/* The root of the first size leaves. Errors of the source. */
status merkle_root_at(
	struct ctx *cx, const struct merkle_source *from, uint64_t size, struct merkle_hash *out) MUST_USE;

/* That the leaf at index is in the tree of the first size leaves (index < size). Errors of the source. */
status merkle_prove_inclusion(struct ctx *cx, const struct merkle_source *from, uint64_t index, uint64_t size,
	struct merkle_proof *out) MUST_USE;

/* That the tree of the first `size` leaves begins with the tree of the first `old` (old <= size). Errors of
 * the source. */
status merkle_prove_consistency(struct ctx *cx, const struct merkle_source *from, uint64_t old, uint64_t size,
	struct merkle_proof *out) MUST_USE;

/* The algorithms of RFC 9162 sections 2.1.3.2 and 2.1.4.2. A proof that is longer or shorter than it must be
 * is refused. */
bool merkle_verify_inclusion(const struct merkle_hash *leaf, uint64_t index, uint64_t size,
	const struct merkle_proof *proof, const struct merkle_hash *root);
bool merkle_verify_consistency(uint64_t old, const struct merkle_hash *old_root, uint64_t size,
	const struct merkle_hash *root, const struct merkle_proof *proof);

#endif
