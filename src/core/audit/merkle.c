/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/merkle.h"

#include "base/check.h"
#include "base/hash/sha256.h"

/* --- hashes --- */

void
merkle_leaf(str data, struct merkle_hash *out)
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, (str){ "\x00", 1 });
	sha256_add(&s, data);
	sha256_done(&s, out->bytes);
}

void
merkle_node(const struct merkle_hash *left, const struct merkle_hash *right, struct merkle_hash *out)
{
	char both[1 + 2 * MERKLE_HASH] = { 1 };

	memcpy(both + 1, left->bytes, MERKLE_HASH);
	memcpy(both + 1 + MERKLE_HASH, right->bytes, MERKLE_HASH);
	sha256_of((str){ both, sizeof(both) }, out->bytes);
}

bool
merkle_equal(const struct merkle_hash *a, const struct merkle_hash *b)
{
	return memcmp(a->bytes, b->bytes, MERKLE_HASH) == 0;
}

/* --- a growing tree --- */

size_t
merkle_edge_count(uint64_t size)
{
	return (size_t)__builtin_popcountll(size);
}

size_t
merkle_append(struct merkle_edge *e, const struct merkle_hash *leaf, struct merkle_done *out_done)
{
	size_t top = merkle_edge_count(e->size), done = 0;
	struct merkle_hash hash = *leaf;

	CHECK(e->size < UINT64_C(1) << (MERKLE_LEVELS - 1));
	/* Each trailing one of the size is a subtree as large as the one that has just become complete. */
	for (uint64_t rest = e->size; rest & 1; rest >>= 1) {
		merkle_node(&e->roots[--top], &hash, &hash);
		out_done[done] = (struct merkle_done){ (unsigned)done + 1, e->size, hash };
		done++;
	}
	e->roots[top] = hash;
	e->size++;
	return done;
}

void
merkle_root(const struct merkle_edge *e, struct merkle_hash *out)
{
	size_t i = merkle_edge_count(e->size);
	struct merkle_hash hash;

	if (i == 0) {
		sha256_of(STR(""), out->bytes);
		return;
	}
	hash = e->roots[--i];
	while (i > 0)
		merkle_node(&e->roots[--i], &hash, &hash);
	*out = hash;
}

/* --- proofs --- */

/* The largest power of two smaller than n (n > 1), as its exponent: where RFC 6962 splits. */
static unsigned
split(uint64_t n)
{
	return 63u - (unsigned)__builtin_clzll(n - 1);
}

/* The root of leaves [start, end), start being a multiple of the next power of two of its size. */
static status
range_root(struct ctx *cx, const struct merkle_source *from, uint64_t start, uint64_t end,
	struct merkle_hash *out)
{
	struct merkle_hash parts[MERKLE_LEVELS], hash;
	size_t count = 0;

	CHECK(start < end);
	do {
		unsigned level = 63u - (unsigned)__builtin_clzll(end - start);

		TRY(from->get(cx, from->arg, level, start >> level, &parts[count++]));
		start += UINT64_C(1) << level;
	} while (start < end);
	hash = parts[--count];
	while (count > 0)
		merkle_node(&parts[--count], &hash, &hash);
	*out = hash;
	return OK;
}

status
merkle_root_at(struct ctx *cx, const struct merkle_source *from, uint64_t size, struct merkle_hash *out)
{
	const struct merkle_edge empty = { .size = 0 };

	if (size == 0) {
		merkle_root(&empty, out);
		return OK;
	}
	return range_root(cx, from, 0, size, out);
}

/* Proofs are found from the root down and read from the leaf up. */
static void
reverse(struct merkle_proof *p)
{
	for (size_t i = 0; i < p->count / 2; i++) {
		struct merkle_hash t = p->path[i];

		p->path[i] = p->path[p->count - 1 - i];
		p->path[p->count - 1 - i] = t;
	}
}

status
merkle_prove_inclusion(struct ctx *cx, const struct merkle_source *from, uint64_t index, uint64_t size,
	struct merkle_proof *out)
{
	struct merkle_proof p = { .count = 0 };
	uint64_t start = 0, end = size;

	CHECK(index < size);
	while (end - start > 1) {
		uint64_t middle = start + (UINT64_C(1) << split(end - start));
		bool left = index < middle;

		TRY(range_root(cx, from, left ? middle : start, left ? end : middle, &p.path[p.count++]));
		if (left)
			end = middle;
		else
			start = middle;
	}
	reverse(&p);
	*out = p;
	return OK;
}

status
merkle_prove_consistency(struct ctx *cx, const struct merkle_source *from, uint64_t old, uint64_t size,
	struct merkle_proof *out)
{
	struct merkle_proof p = { .count = 0 };
	uint64_t start = 0, end = size;
	bool whole = true; /* the old tree is exactly the left part we are in: its root is known already */

	CHECK(old <= size);
	if (old == 0 || old == size) {
		*out = p;
		return OK;
	}
	while (end != old) { /* SUBPROOF of RFC 6962: old lies in (start, end) */
		uint64_t middle = start + (UINT64_C(1) << split(end - start));
		bool left = old <= middle;

		TRY(range_root(cx, from, left ? middle : start, left ? end : middle, &p.path[p.count++]));
		if (left) {
			end = middle;
		} else {
			start = middle;
			whole = false;
		}
	}
	if (!whole)
		TRY(range_root(cx, from, start, end, &p.path[p.count++]));
	reverse(&p);
	*out = p;
	return OK;
}

/* --- verification --- */

bool
merkle_verify_inclusion(const struct merkle_hash *leaf, uint64_t index, uint64_t size,
	const struct merkle_proof *proof, const struct merkle_hash *root)
{
	uint64_t at = index, last = size - 1;
	struct merkle_hash hash = *leaf;

	if (index >= size)
		return false;
	for (size_t i = 0; i < proof->count; i++) {
		if (last == 0)
			return false;
		if (!(at & 1) && at != last) {
			merkle_node(&hash, &proof->path[i], &hash);
		} else {
			merkle_node(&proof->path[i], &hash, &hash);
			for (; !(at & 1) && at != 0; at >>= 1)
				last >>= 1;
		}
		at >>= 1;
		last >>= 1;
	}
	return last == 0 && merkle_equal(&hash, root);
}

/* 0 < old < size: both roots come out of one path. */
static bool
verify_growth(uint64_t old, const struct merkle_hash *old_root, uint64_t size, const struct merkle_hash *root,
	const struct merkle_proof *proof)
{
	bool whole = (old & (old - 1)) == 0; /* a perfect subtree: the path leaves its root out */
	uint64_t at = old - 1, last = size - 1;
	struct merkle_hash first, second;
	size_t i = whole ? 0 : 1;

	if (proof->count < i)
		return false;
	first = second = whole ? *old_root : proof->path[0];
	for (; at & 1; at >>= 1)
		last >>= 1;
	for (; i < proof->count; i++) {
		if (last == 0)
			return false;
		if (at & 1 || at == last) {
			merkle_node(&proof->path[i], &first, &first);
			merkle_node(&proof->path[i], &second, &second);
			for (; !(at & 1) && at != 0; at >>= 1)
				last >>= 1;
		} else {
			merkle_node(&second, &proof->path[i], &second);
		}
		at >>= 1;
		last >>= 1;
	}
	return last == 0 && merkle_equal(&first, old_root) && merkle_equal(&second, root);
}

bool
merkle_verify_consistency(uint64_t old, const struct merkle_hash *old_root, uint64_t size,
	const struct merkle_hash *root, const struct merkle_proof *proof)
{
	const struct merkle_edge empty = { .size = 0 };
	struct merkle_hash nothing;

	merkle_root(&empty, &nothing);
	if (old > size || (old == 0 && !merkle_equal(old_root, &nothing)))
		return false;
	if (old == 0)
		return proof->count == 0;
	if (old == size)
		return proof->count == 0 && merkle_equal(old_root, root);
	return verify_growth(old, old_root, size, root, proof);
}
