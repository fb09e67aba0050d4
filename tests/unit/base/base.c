/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "base/buf.h"

static void
buffer_overflow_is_sticky(void **state)
{
	UNIT(u);
	struct buf b;
	str text = STR("untouched");

	(void)state;
	buf_init(&b, &u.arena, 4);
	buf_add(&b, STR("abcde"));
	buf_add(&b, STR("a"));
	assert_status(buf_finish(&b, &text), E_TOO_LARGE);
	assert_str(text, "untouched");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_overflow_is_sticky),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
