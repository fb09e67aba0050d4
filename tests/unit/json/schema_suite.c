/* SPDX-License-Identifier: Apache-2.0 */
/* schema_suite: the official JSON Schema test suite, draft 2020-12, required and optional. */
#include "tests/unit/unit.h"

#include "json/schema.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SUITE	       "../shared/data/json-schema-test-suite"
#define REQUIRED_CASES 1299u
#define OPTIONAL_CASES 926u
#define DOCUMENTS_MAX  200u

/* Cases that we answer differently, and why (docs/decisions/0029). Everything else is asserted. */
static const struct {
	const char *file, *name, *reason;
} not_asserted[] = {
	{ "idn-hostname.json", "Bidi domain name with a digit-first label is invalid",
		"libidn2 checks the direction of writing label by label, not of a whole name" },
	{ "idn-hostname.json", "right-to-left label mixing both digit types is invalid",
		"libidn2 does not check rule 4 of RFC 5893 (both kinds of digits in one label)" },
};
#define NOT_ASSERTED (sizeof(not_asserted) / sizeof(not_asserted[0]))

struct suite {
	struct arena arena; /* of the documents; lives as long as the run */
	struct schema_document documents[DOCUMENTS_MAX];
	size_t document_count;
	unsigned run, failed, skipped;
};

static str
read_file(struct arena *a, const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text;
	size_t len;

	assert_non_null(f);
	text = arena_try_bytes(a, LIMIT_JSON_BYTES);
	assert_non_null(text);
	len = fread(text, 1, LIMIT_JSON_BYTES, f);
	assert_int_equal(fclose(f), 0);
	return arena_str(a, (str){ text, len });
}

/* Reading takes a large buffer, so each file has an arena of its own that is given back. */
static struct json *
parse_file(struct arena *keep, const char *path)
{
	struct arena file;
	struct ctx cx;
	struct json *doc = NULL;
	str text;

	arena_init(&file, 64 * MIB);
	text = arena_str(keep, read_file(&file, path));
	arena_done(&file);
	ctx_init(&cx, keep);
	if (json_parse_any(&cx, text, &doc) != OK)
		print_error("%s: %.*s\n", path, STR_ARG(cx.error.message));
	assert_non_null(doc);
	return doc;
}

static int
skip_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Calls each with the path of every .json file below dir, in order. Not below `except`. */
static void
each_file(
	struct suite *s, const char *dir, const char *except, void (*each)(struct suite *, const char *path))
{
	struct dirent **names = NULL;
	int count = scandir(dir, &names, skip_dots, alphasort);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		struct arena a;
		struct stat st;
		const char *path;

		arena_init(&a, MIB);
		path = arena_printf(&a, "%s/%s", dir, names[i]->d_name).ptr;
		assert_int_equal(stat(path, &st), 0);
		if (S_ISDIR(st.st_mode) && (!except || strcmp(names[i]->d_name, except) != 0))
			each_file(s, path, except, each);
		else if (str_ends(str_of(path), STR(".json")))
			each(s, path);
		arena_done(&a);
		free(names[i]);
	}
	free(names);
}

static void
add_remote(struct suite *s, const char *path)
{
	const char *name = path + strlen(SUITE "/remotes/");

	assert_true(s->document_count < DOCUMENTS_MAX);
	s->documents[s->document_count++] = (struct schema_document){
		.uri = arena_printf(&s->arena, "http://localhost:1234/%s", name),
		.doc = parse_file(&s->arena, path),
	};
}

static bool
is_asserted(const char *path, str name)
{
	for (size_t i = 0; i < NOT_ASSERTED; i++)
		if (str_ends(str_of(path), str_of(not_asserted[i].file)) &&
			str_eq(name, str_of(not_asserted[i].name)))
			return false;
	return true;
}

static void
run_case(struct suite *s, const char *path, str group, const struct schema *schema, str why,
	const struct json *test)
{
	struct arena a;
	struct ctx cx;
	struct schema_issues issues = { 0 };
	str name = json_get(test, STR("description"))->text;
	bool valid = json_get(test, STR("valid"))->truth, good = false;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	if (schema && schema_check(&cx, schema, json_get(test, STR("data")), &issues) == OK)
		good = (issues.count == 0) == valid;
	s->run++;
	if (!is_asserted(path, name)) {
		s->skipped++;
		assert_false(good); /* otherwise it must leave the list */
	} else if (!good) {
		s->failed++;
		printf("FAILED %s: %.*s: %.*s (must be %s; %.*s)\n", path + strlen(SUITE), STR_ARG(group),
			STR_ARG(name), valid ? "valid" : "invalid",
			STR_ARG(issues.count ? issues.issues[0].message : why));
	}
	arena_done(&a);
}

static void
run_file(struct suite *s, const char *path)
{
	struct arena a;
	const struct json *groups;

	arena_init(&a, 64 * MIB);
	groups = parse_file(&a, path);
	JSON_EACH (g, groups) {
		struct schema_options options = {
			.documents = s->documents,
			.document_count = s->document_count,
			.assert_format = strstr(path, "optional/format/") != NULL,
		};
		struct schema *schema = NULL;
		struct ctx cx;
		str why = STR("");

		ctx_init(&cx, &a);
		if (schema_new(&cx, json_get(g, STR("schema")), &options, &schema) != OK)
			why = cx.error.message;
		JSON_EACH (t, json_get(g, STR("tests")))
			run_case(s, path, json_get(g, STR("description"))->text, schema, why, t);
		schema_free(schema);
	}
	arena_done(&a);
}

static void
need_suite(void)
{
	struct stat st;

	if (stat(SUITE "/draft2020-12", &st) == 0)
		return;
	print_message("skipped: the JSON Schema test suite is not at %s\n", SUITE);
	skip();
}

static void
run_folder(const char *dir, const char *except, unsigned expected, size_t skipped)
{
	struct suite s = { .run = 0 };

	arena_init(&s.arena, 64 * MIB);
	each_file(&s, SUITE "/remotes", NULL, add_remote);
	each_file(&s, dir, except, run_file);
	printf("%s: %u cases, %u not asserted, %u failed\n", dir + strlen(SUITE) + 1, s.run, s.skipped,
		s.failed);
	arena_done(&s.arena);
	assert_true(s.run >= expected);
	assert_int_equal(s.skipped, skipped);
	assert_int_equal(s.failed, 0);
}

static void
all_required_cases_pass(void **state)
{
	(void)state;
	need_suite();
	run_folder(SUITE "/draft2020-12", "optional", REQUIRED_CASES, 0);
}

static void
all_optional_cases_but_those_listed_pass(void **state)
{
	(void)state;
	need_suite();
	run_folder(SUITE "/draft2020-12/optional", NULL, OPTIONAL_CASES, NOT_ASSERTED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_required_cases_pass),
		cmocka_unit_test(all_optional_cases_but_those_listed_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
