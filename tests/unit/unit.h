/* SPDX-License-Identifier: Apache-2.0 */
/* unit: what every unit test needs: cmocka, a context in a fresh arena, and comparing a str. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

/* cmocka has a fail of its own; ours, from ctx.h, is the one that tests mean */
#pragma push_macro("fail")
#undef fail
#include <cmocka.h>
#undef fail
#pragma pop_macro("fail")

#include "base/limits.h"
#include "core/keys.h"

struct unit {
	struct arena arena;
	struct ctx cx;
};

/* UNIT(u); declares a context that lives until the end of the block. */
static inline void
unit_done(struct unit *u)
{
	arena_done(&u->arena);
}
#define UNIT(u)                                                                                              \
	__attribute__((cleanup(unit_done))) struct unit u;                                                   \
	arena_init(&u.arena, LIMIT_REQUEST_ARENA);                                                           \
	ctx_init(&u.cx, &u.arena)

/* Keys for a test that only needs some: the log is not written without. */
static inline const struct keys *
unit_keys(void)
{
	static const struct keys keys = { .mac = "a key of a test" };

	return &keys;
}

#define assert_str(s, literal)                                                                               \
	do {                                                                                                 \
		str assert_s_ = (s);                                                                         \
		assert_int_equal(assert_s_.len, strlen(literal));                                            \
		assert_memory_equal(assert_s_.len ? assert_s_.ptr : "", literal, assert_s_.len);             \
	} while (0)

#define assert_status(call, expected) assert_string_equal(status_info(call)->name, #expected)

#endif
