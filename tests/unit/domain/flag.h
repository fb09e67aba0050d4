/* SPDX-License-Identifier: Apache-2.0 */
/* flag: what the tests of rulesets share. Documents are written with ' for ". */
#ifndef TESTS_UNIT_DOMAIN_FLAG_H
#define TESTS_UNIT_DOMAIN_FLAG_H

#include "tests/unit/unit.h"

#include "domain/flag/evaluate.h"
#include "domain/flag/ruleset.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Says what is not so, and ends the test. */
#define not_so(...)                                                                                          \
	do {                                                                                                 \
		print_error(__VA_ARGS__);                                                                    \
		print_error("\n");                                                                           \
		_fail(__FILE__, __LINE__);                                                                   \
	} while (0)

static inline const struct json *
document(struct unit *u, const char *text)
{
	str copy = arena_str(&u->arena, str_of(text));
	char *p = (char *)(uintptr_t)copy.ptr;
	struct json *doc = NULL;

	for (size_t i = 0; i < copy.len; i++)
		if (p[i] == '\'')
			p[i] = '"';
	if (json_parse_any(&u->cx, copy, &doc) != OK)
		not_so("not JSON: %s: %.*s", text, STR_ARG(u->cx.error.message));
	return doc;
}

static inline struct ruleset *
compiled(struct unit *u, const char *text)
{
	struct ruleset *rs = NULL;

	if (ruleset_compile(&u->cx, document(u, text), &rs) != OK)
		not_so("not a ruleset: %s: %.*s", text, STR_ARG(u->cx.error.message));
	return rs;
}

static inline struct subject *
prepared(struct unit *u, const struct ruleset *rs, const char *context)
{
	struct subject *s = NULL;

	assert_status(subject_prepare(&u->cx, rs, document(u, context), &s), OK);
	return s;
}

/* What the item called key answers, as JSON text. */
static inline const char *
answer(struct unit *u, const struct ruleset *rs, const char *key, const char *context)
{
	struct evaluation e;

	assert_status(ruleset_evaluate(prepared(u, rs, context), ruleset_find(rs, str_of(key)), &e), OK);
	return arena_cstr(&u->arena, e.value);
}

#endif
