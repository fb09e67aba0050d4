/* SPDX-License-Identifier: Apache-2.0 */
/* AU-4: checkpoints are C2SP's, and every changed byte is noticed. */
#include "tests/unit/tempdir.h"
#include "tests/unit/unit.h"

#include "core/audit/checkpoint.h"

static void
make_keys(struct ctx *cx, struct keys *out)
{
	TEMPDIR(dir);

	assert_status(keys_create(cx, arena_printf(cx->arena, "%s/keys", dir.path).ptr, out), OK);
}

static struct checkpoint
sample(struct arena *a)
{
	struct checkpoint c = { .origin = checkpoint_origin(a, STR("org-1")), .size = 20852163 };

	for (size_t i = 0; i < MERKLE_HASH; i++)
		c.root.bytes[i] = (unsigned char)(7 * i);
	return c;
}

static struct checkpoint_key
key_of(struct ctx *cx, const struct keys *k, str origin)
{
	struct checkpoint_key key;

	assert_status(
		checkpoint_key_parse(cx, checkpoint_key_text(cx->arena, origin, k->sign_public), &key), OK);
	return key;
}

static void
the_id_of_a_key_is_that_of_other_implementations(void **state)
{
	UNIT(u);
	/* the key that the tests of Go's sumdb/note and its ports use */
	str known = STR("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW");
	struct checkpoint_key key;

	(void)state;
	assert_status(checkpoint_key_parse(&u.cx, known, &key), OK);
	assert_str(key.name, "PeterNeumann");
	assert_true(str_eq(checkpoint_key_text(&u.arena, key.name, key.bytes), known));
}

static void
a_key_with_a_wrong_character_is_refused(void **state)
{
	UNIT(u);
	static const char *const wrong[] = { "", "PeterNeumann", "PeterNeumann+c74f20a3",
		"PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TX",
		"PeterNeumam+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+AhpG2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T" };
	struct checkpoint_key key = { .name = STR("untouched") };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_status(checkpoint_key_parse(&u.cx, str_of(wrong[i]), &key), E_INVALID);
	assert_str(key.name, "untouched");
}

static void
what_is_signed_opens(void **state)
{
	UNIT(u);
	struct checkpoint c = sample(&u.arena), got;
	struct keys k;
	struct checkpoint_key key;
	str text;

	(void)state;
	make_keys(&u.cx, &k);
	key = key_of(&u.cx, &k, c.origin);
	text = checkpoint_sign(&u.arena, &k, &c);
	assert_true(str_starts(
		text, STR("countersign/org-1\n20852163\nAAcOFRwjKjE4P0ZNVFtiaXB3foWMk5qhqK+2vcTL0tk=\n\n"
			  "\xe2\x80\x94 countersign/org-1 ")));
	assert_status(checkpoint_open(&u.cx, text, &key, &got), OK);
	assert_str(got.origin, "countersign/org-1");
	assert_int_equal(got.size, 20852163);
	assert_true(merkle_equal(&got.root, &c.root));
}

static void
what_has_the_form_of_a_checkpoint_is_told_without_a_key(void **state)
{
	UNIT(u);
	struct checkpoint c = sample(&u.arena);
	struct keys k;
	str text;

	(void)state;
	make_keys(&u.cx, &k);
	text = checkpoint_sign(&u.arena, &k, &c);
	assert_true(checkpoint_formed(text));
	for (size_t n = 0; n < text.len; n++) /* no part of it has */
		assert_false(checkpoint_formed((str){ text.ptr, n }));
	assert_true(checkpoint_formed(arena_printf(&u.arena, "%.*s\xe2\x80\x94 w x\n", STR_ARG(text))));
	assert_false(checkpoint_formed(arena_printf(&u.arena, "%.*sw x\n", STR_ARG(text))));
}

static void
no_changed_byte_opens(struct unit *u)
{
	struct checkpoint c = sample(&u->arena), got;
	struct keys k;
	struct checkpoint_key key;
	str text;

	make_keys(&u->cx, &k);
	key = key_of(&u->cx, &k, c.origin);
	text = checkpoint_sign(&u->arena, &k, &c);
	for (size_t i = 0; i < text.len; i++) {
		struct arena_mark mark = arena_mark(&u->arena);
		char *copy = arena_alloc(&u->arena, text.len);

		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(copy, text.ptr, text.len);
			copy[i] = (char)(copy[i] ^ (1 << bit));
			assert_status(
				checkpoint_open(&u->cx, (str){ copy, text.len }, &key, &got), E_INVALID);
		}
		assert_status(checkpoint_open(&u->cx, (str){ text.ptr, i }, &key, &got), E_INVALID);
		arena_rewind(&u->arena, mark);
	}
}

static void
any_changed_byte_is_noticed(void **state)
{
	UNIT(u);

	(void)state;
	for (int i = 0; i < 8; i++) /* other keys, other letters: libsodium's base64 was lenient with some */
		no_changed_byte_opens(&u);
}

static void
a_checkpoint_counts_only_for_its_log_and_key(void **state)
{
	UNIT(u);
	struct checkpoint c = sample(&u.arena), got;
	struct keys k, others;
	struct checkpoint_key key;
	str text;

	(void)state;
	make_keys(&u.cx, &k);
	make_keys(&u.cx, &others);
	text = checkpoint_sign(&u.arena, &k, &c);
	key = key_of(&u.cx, &others, c.origin);
	assert_status(checkpoint_open(&u.cx, text, &key, &got), E_INVALID);
	assert_true(
		str_starts(ctx_message(&u.cx, E_INVALID), STR("the checkpoint is not signed by the key ")));
	key = key_of(&u.cx, &k, STR("countersign/org-2"));
	assert_status(checkpoint_open(&u.cx, text, &key, &got), E_INVALID);
	assert_str(ctx_message(&u.cx, E_INVALID), "the checkpoint is of another log: countersign/org-1");
}

static void
witnesses_may_sign_too_and_change_nothing(void **state)
{
	UNIT(u);
	struct checkpoint c = sample(&u.arena), got;
	struct keys k;
	struct checkpoint_key key;
	str text, longer;

	(void)state;
	make_keys(&u.cx, &k);
	key = key_of(&u.cx, &k, c.origin);
	text = checkpoint_sign(&u.arena, &k, &c);
	longer = arena_printf(&u.arena, "%.*s\xe2\x80\x94 witness.example/w1 AAAAAA==\n", STR_ARG(text));
	assert_status(checkpoint_open(&u.cx, longer, &key, &got), OK);
	longer = arena_printf(&u.arena, "%.*sand something else\n", STR_ARG(text));
	assert_status(checkpoint_open(&u.cx, longer, &key, &got), E_INVALID);
	longer = arena_printf(&u.arena, "countersign/org-1\n007\n%.*s", STR_ARG(str_skip(text, 27)));
	assert_status(checkpoint_open(&u.cx, longer, &key, &got), E_INVALID);
	longer = arena_printf(&u.arena, "countersign/org-1\n-7\n%.*s", STR_ARG(str_skip(text, 27)));
	assert_status(checkpoint_open(&u.cx, longer, &key, &got), E_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_id_of_a_key_is_that_of_other_implementations),
		cmocka_unit_test(a_key_with_a_wrong_character_is_refused),
		cmocka_unit_test(what_is_signed_opens),
		cmocka_unit_test(what_has_the_form_of_a_checkpoint_is_told_without_a_key),
		cmocka_unit_test(any_changed_byte_is_noticed),
		cmocka_unit_test(a_checkpoint_counts_only_for_its_log_and_key),
		cmocka_unit_test(witnesses_may_sign_too_and_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
