/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a schema and a value, one document behind the other on two lines.
 * What compiles is valid under the meta-schema; checking ends, and says the same twice.
 */
#include "base/check.h"
#include "base/limits.h"
#include "json/schema.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The meta-schema, compiled once for the whole run. */
static const struct schema *
meta_schema(void)
{
	static struct schema *meta;
	struct arena arena;
	struct ctx cx;
	struct json *doc;

	if (meta)
		return meta;
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	CHECK(json_parse(&cx, STR("{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}"), &doc) ==
		OK);
	CHECK(schema_new(&cx, doc, NULL, &meta) == OK);
	arena_done(&arena);
	return meta;
}

static void
check_twice(struct ctx *cx, const struct schema *s, const struct json *value)
{
	struct schema_issues first, second;
	status done = schema_check(cx, s, value, &first);

	CHECK(done == OK || done == E_TOO_LARGE);
	if (done != OK)
		return;
	CHECK(first.count <= LIMIT_SCHEMA_ISSUES);
	CHECK(schema_check(cx, s, value, &second) == OK && first.count == second.count);
	for (size_t i = 0; i < first.count; i++)
		CHECK(str_eq(first.issues[i].path, second.issues[i].path) &&
			str_eq(first.issues[i].message, second.issues[i].message));
}

static void
run(struct ctx *cx, const struct json *doc, const struct json *value)
{
	struct schema_options options = { .assert_format = true };
	struct schema *s = NULL;
	struct schema_issues issues;
	status done = schema_new(cx, doc, &options, &s);

	CHECK(done == OK || done == E_INVALID || done == E_TOO_LARGE);
	CHECK((done == OK) == (s != NULL));
	if (done != OK)
		return;
	/* a dialect of its own may know less than the meta-schema */
	if (!json_get(doc, STR("$schema")) && schema_check(cx, meta_schema(), doc, &issues) == OK)
		CHECK(issues.count == 0);
	check_twice(cx, s, value);
	schema_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena;
	struct ctx cx;
	struct json *doc, *value;
	/* a block of exactly this size: one byte too far is seen */
	char *text = malloc(size ? size : 1);
	str first, second;

	CHECK(text);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)data[i];
	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	if (str_cut((str){ text, size }, '\n', &first, &second) && json_parse(&cx, first, &doc) == OK &&
		json_parse_any(&cx, second, &value) == OK)
		run(&cx, doc, value);
	arena_done(&arena);
	free(text);
	return 0;
}
