/* SPDX-License-Identifier: Apache-2.0 */
/* AU-4: the tree is RFC 6962's, proofs prove, and what is not so cannot be proved. */
#include "tests/unit/unit.h"

#include "base/random.h"
#include "core/audit/merkle.h"

#include <sodium.h>
#include <stdio.h>

/* --- the definition of RFC 6962 section 2.1, written down again, slowly and by itself --- */

#define SLOW_MAX 130

static void
sha256(const void *data, size_t n, unsigned char out[32])
{
	crypto_hash_sha256(out, data, n);
}

static void
slow_root(const str *data, size_t n, unsigned char out[32])
{
	unsigned char both[65] = { 1 };
	size_t k = 1;

	if (n == 0) {
		sha256("", 0, out);
		return;
	}
	if (n == 1) {
		unsigned char one[65] = { 0 };

		memcpy(one + 1, data->ptr, data->len);
		sha256(one, data->len + 1, out);
		return;
	}
	while (k * 2 < n)
		k *= 2;
	slow_root(data, k, both + 1);
	slow_root(data + k, n - k, both + 33);
	sha256(both, 65, out);
}

static size_t
slow_path(size_t m, const str *data, size_t n, unsigned char out[][32])
{
	size_t k = 1, count;

	if (n == 1)
		return 0;
	while (k * 2 < n)
		k *= 2;
	if (m < k) {
		count = slow_path(m, data, k, out);
		slow_root(data + k, n - k, out[count]);
	} else {
		count = slow_path(m - k, data + k, n - k, out);
		slow_root(data, k, out[count]);
	}
	return count + 1;
}

static size_t
slow_subproof(size_t m, const str *data, size_t n, bool whole, unsigned char out[][32])
{
	size_t k = 1, count;

	if (m == n) {
		if (whole)
			return 0;
		slow_root(data, n, out[0]);
		return 1;
	}
	while (k * 2 < n)
		k *= 2;
	if (m <= k) {
		count = slow_subproof(m, data, k, whole, out);
		slow_root(data + k, n - k, out[count]);
	} else {
		count = slow_subproof(m - k, data + k, n - k, false, out);
		slow_root(data, k, out[count]);
	}
	return count + 1;
}

/* --- a log in memory: what a database would store --- */

struct memory {
	struct merkle_edge edge;
	struct merkle_hash nodes[9][SLOW_MAX];
	str data[SLOW_MAX];
	char text[SLOW_MAX][8];
	size_t reads;
};

static status
get_node(struct ctx *cx, void *arg, unsigned level, uint64_t index, struct merkle_hash *out)
{
	struct memory *m = arg;

	(void)cx;
	m->reads++;
	assert_true(((index + 1) << level) <= m->edge.size);
	*out = m->nodes[level][index];
	return OK;
}

static void
append(struct memory *m)
{
	struct merkle_done done[MERKLE_LEVELS];
	uint64_t i = m->edge.size;
	size_t count;

	m->data[i] =
		(str){ m->text[i], (size_t)snprintf(m->text[i], sizeof(m->text[i]), "e%u", (unsigned)i) };
	merkle_leaf(m->data[i], &m->nodes[0][i]);
	count = merkle_append(&m->edge, &m->nodes[0][i], done);
	for (size_t d = 0; d < count; d++) {
		assert_int_equal(done[d].last_leaf, i);
		assert_int_equal((i + 1) % (UINT64_C(1) << done[d].level), 0);
		m->nodes[done[d].level][((i + 1) >> done[d].level) - 1] = done[d].hash;
	}
}

static void
root_of(const struct memory *m, size_t n, struct merkle_hash *out)
{
	slow_root(m->data, n, out->bytes);
}

/* --- tests --- */

static void
the_roots_are_those_of_certificate_transparency(void **state)
{
	/* the eight inputs and roots that the tests of CT implementations share */
	static const struct {
		const char *input, *root;
	} known[] = {
		{ "", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
		{ "00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125" },
		{ "10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77" },
		{ "2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7" },
		{ "3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4" },
		{ "40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef" },
		{ "5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c" },
		{ "606162636465666768696a6b6c6d6e6f",
			"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328" },
	};
	struct merkle_edge e = { .size = 0 };
	struct merkle_hash hash;
	char hex[65];

	(void)state;
	merkle_root(&e, &hash);
	assert_string_equal(sodium_bin2hex(hex, sizeof(hex), hash.bytes, 32),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct merkle_done done[MERKLE_LEVELS];
		unsigned char bytes[16];
		size_t n;

		assert_int_equal(sodium_hex2bin(bytes, sizeof(bytes), known[i].input, strlen(known[i].input),
					 NULL, &n, NULL),
			0);
		merkle_leaf((str){ (const char *)bytes, n }, &hash);
		(void)merkle_append(&e, &hash, done);
		merkle_root(&e, &hash);
		assert_string_equal(sodium_bin2hex(hex, sizeof(hex), hash.bytes, 32), known[i].root);
	}
}

static void
every_inclusion_proof_is_the_rfcs_and_verifies(void **state)
{
	UNIT(u);
	struct memory *m = arena_alloc(&u.arena, sizeof(*m));
	struct merkle_source from = { get_node, m };

	(void)state;
	for (size_t n = 1; n < SLOW_MAX; n++) {
		struct merkle_hash root, slow;

		append(m);
		merkle_root(&m->edge, &root);
		root_of(m, n, &slow);
		assert_true(merkle_equal(&root, &slow));
		assert_status(merkle_root_at(&u.cx, &from, n, &root), OK);
		assert_true(merkle_equal(&root, &slow));
		for (size_t i = 0; i < n; i++) {
			unsigned char path[MERKLE_LEVELS][32];
			struct merkle_proof p;

			m->reads = 0;
			assert_status(merkle_prove_inclusion(&u.cx, &from, i, n, &p), OK);
			assert_true(m->reads <= 16); /* O(log n), not O(n) */
			assert_int_equal(p.count, slow_path(i, m->data, n, path));
			assert_memory_equal(p.path, path, p.count * 32);
			assert_true(merkle_verify_inclusion(&m->nodes[0][i], i, n, &p, &root));
		}
	}
}

static void
every_consistency_proof_is_the_rfcs_and_verifies(void **state)
{
	UNIT(u);
	struct memory *m = arena_alloc(&u.arena, sizeof(*m));
	struct merkle_source from = { get_node, m };

	(void)state;
	for (size_t i = 0; i + 1 < SLOW_MAX; i++)
		append(m);
	for (size_t n = 0; n < SLOW_MAX; n++) {
		struct merkle_hash root;

		root_of(m, n, &root);
		for (size_t old = 0; old <= n; old++) {
			unsigned char path[MERKLE_LEVELS][32];
			struct merkle_hash old_root;
			struct merkle_proof p;

			root_of(m, old, &old_root);
			assert_status(merkle_prove_consistency(&u.cx, &from, old, n, &p), OK);
			assert_int_equal(p.count, old ? slow_subproof(old, m->data, n, true, path) : 0);
			assert_memory_equal(p.path, path, p.count * 32);
			assert_true(merkle_verify_consistency(old, &old_root, n, &root, &p));
		}
	}
}

static void
a_changed_inclusion_proof_is_refused(void **state)
{
	UNIT(u);
	struct memory *m = arena_alloc(&u.arena, sizeof(*m));
	struct merkle_source from = { get_node, m };
	struct merkle_proof p;
	struct merkle_hash root;

	(void)state;
	for (size_t n = 1; n < 40; n++) {
		append(m);
		merkle_root(&m->edge, &root);
		for (size_t i = 0; i < n; i++) {
			struct merkle_hash *leaf = &m->nodes[0][i], other = *leaf;

			assert_status(merkle_prove_inclusion(&u.cx, &from, i, n, &p), OK);
			other.bytes[i % 32] ^= 1;
			assert_false(merkle_verify_inclusion(&other, i, n, &p, &root));
			assert_false(merkle_verify_inclusion(leaf, i, n, &p, &other));
			assert_false(merkle_verify_inclusion(leaf, n, n, &p, &root));
			for (size_t j = 0; j < n; j++)
				if (j != i)
					assert_false(merkle_verify_inclusion(leaf, j, n, &p, &root));
			p.path[p.count++] = other; /* one too many */
			assert_false(merkle_verify_inclusion(leaf, i, n, &p, &root));
			p.count--;
			for (size_t k = 0; k < p.count; k++) {
				p.path[k].bytes[31] ^= 0x80;
				assert_false(merkle_verify_inclusion(leaf, i, n, &p, &root));
				p.path[k].bytes[31] ^= 0x80;
			}
			if (p.count) {
				p.count--; /* one too few */
				assert_false(merkle_verify_inclusion(leaf, i, n, &p, &root));
			}
		}
	}
	assert_false(merkle_verify_inclusion(&m->nodes[0][0], 0, 0, &p, &root));
}

static void
a_fork_has_no_consistency_proof(void **state)
{
	UNIT(u);
	struct memory *m = arena_alloc(&u.arena, sizeof(*m));
	struct merkle_source from = { get_node, m };

	(void)state;
	for (size_t i = 0; i < 40; i++)
		append(m);
	for (size_t n = 1; n <= 40; n++) {
		struct merkle_hash root, old_root, wrong;

		root_of(m, n, &root);
		for (size_t old = 0; old <= n; old++) {
			struct merkle_proof p;

			root_of(m, old, &old_root);
			assert_status(merkle_prove_consistency(&u.cx, &from, old, n, &p), OK);
			wrong = old_root;
			wrong.bytes[7] ^= 4;
			assert_false(merkle_verify_consistency(old, &wrong, n, &root, &p));
			assert_false(merkle_verify_consistency(n + 1, &root, n, &root, &p));
			wrong = root;
			wrong.bytes[9] ^= 16;
			if (old > 0) /* everything grows out of nothing */
				assert_false(merkle_verify_consistency(old, &old_root, n, &wrong, &p));
			for (size_t k = 0; k < p.count; k++) {
				p.path[k].bytes[0] ^= 1;
				assert_false(merkle_verify_consistency(old, &old_root, n, &root, &p));
				p.path[k].bytes[0] ^= 1;
			}
			p.count++;
			p.path[p.count - 1] = wrong;
			assert_false(merkle_verify_consistency(old, &old_root, n, &root, &p));
			p.count--;
			if (p.count) {
				p.count--;
				assert_false(merkle_verify_consistency(old, &old_root, n, &root, &p));
			}
		}
	}
}

static status
broken(struct ctx *cx, void *arg, unsigned level, uint64_t index, struct merkle_hash *out)
{
	size_t *left = arg;

	(void)level;
	(void)index;
	if ((*left)-- == 0)
		return fail(cx, E_UNAVAILABLE, "gone");
	memset(out, 0, sizeof(*out));
	return OK;
}

static void
a_source_that_fails_fails_the_proof_and_leaves_the_output(void **state)
{
	UNIT(u);
	struct merkle_proof p = { .count = 77 };
	struct merkle_hash root = { { 9 } };

	(void)state;
	for (size_t after = 0; after < 3; after++) {
		struct merkle_source from = { broken, &(size_t){ after } };

		assert_status(merkle_prove_inclusion(&u.cx, &from, 3, 11, &p), E_UNAVAILABLE);
		from.arg = &(size_t){ after };
		assert_status(merkle_prove_consistency(&u.cx, &from, 6, 11, &p), E_UNAVAILABLE);
		from.arg = &(size_t){ after };
		assert_status(merkle_root_at(&u.cx, &from, 11, &root), E_UNAVAILABLE);
	}
	assert_int_equal(p.count, 77);
	assert_int_equal(root.bytes[0], 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_roots_are_those_of_certificate_transparency),
		cmocka_unit_test(every_inclusion_proof_is_the_rfcs_and_verifies),
		cmocka_unit_test(every_consistency_proof_is_the_rfcs_and_verifies),
		cmocka_unit_test(a_changed_inclusion_proof_is_refused),
		cmocka_unit_test(a_fork_has_no_consistency_proof),
		cmocka_unit_test(a_source_that_fails_fails_the_proof_and_leaves_the_output),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
