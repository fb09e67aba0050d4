/* SPDX-License-Identifier: Apache-2.0 */
/* JSONTestSuite: what must be accepted is, what must be refused is, and where we are stricter stands here. */
#include "tests/unit/unit.h"

#include "json/json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define FOLDER "../shared/data/json-parsing/test_parsing"

static const struct {
	const char *name, *reason;
} stricter[] = {
	{ "y_object_duplicated_key.json", "names are unique" },
	{ "y_object_duplicated_key_and_value.json", "names are unique" },
	{ "y_object_escaped_null_in_key.json", "neither database keeps U+0000" },
	{ "y_string_null_escape.json", "neither database keeps U+0000" },
};

static bool
must_accept(const char *name)
{
	for (size_t i = 0; i < sizeof(stricter) / sizeof(stricter[0]); i++)
		if (str_eq(str_of(stricter[i].name), str_of(name)))
			return false;
	return name[0] == 'y';
}

/* The file in a block of exactly its size, so that AddressSanitizer sees one byte too far. */
static status
read_file(struct unit *u, const char *name)
{
	const char *path = arena_printf(&u->arena, FOLDER "/%s", name).ptr;
	static char bytes[256 * KIB];
	FILE *file = fopen(path, "rb");
	struct json *doc;
	size_t len;
	char *text;
	status s;

	assert_non_null(file);
	len = fread(bytes, 1, sizeof(bytes), file);
	assert_true(feof(file));
	(void)fclose(file);
	text = malloc(len ? len : 1);
	assert_non_null(text);
	memcpy(text, bytes, len);
	s = json_parse(&u->cx, (str){ text, len }, &doc);
	free(text);
	return s;
}

static void
the_json_test_suite_is_judged_as_it_should_be(void **state)
{
	DIR *folder = opendir(FOLDER);
	int judged = 0, wrong = 0;

	(void)state;
	if (!folder) {
		print_message("skipped: " FOLDER " is not here\n");
		skip();
	}
	for (const struct dirent *e = readdir(folder); e; e = readdir(folder)) {
		UNIT(u);
		status s;

		if (e->d_name[0] == '.')
			continue;
		s = read_file(&u, e->d_name);
		assert_true(s == OK || s == E_BAD_JSON);
		if (e->d_name[0] == 'i') /* either is right, as long as it is an answer */
			continue;
		judged++;
		if ((s == OK) != must_accept(e->d_name)) {
			print_error("%s: %s\n", e->d_name, status_info(s)->name);
			wrong++;
		}
	}
	(void)closedir(folder);
	assert_int_equal(wrong, 0);
	assert_true(judged > 200);
	print_message("%d files judged\n", judged);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_json_test_suite_is_judged_as_it_should_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
