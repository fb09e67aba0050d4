/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsoncat: documents on standard input, one line of answer each on standard output.
 *
 *	jsoncat canon      the canonical text, or '!' and the code of the refusal
 *	jsoncat doubles    16 hexadecimal digits, the bits of a double: its canonical text
 *
 * A document comes as its length in bytes, a newline, and so many bytes.
 */
#include "base/limits.h"
#include "json/canon.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void
answer(struct ctx *cx, str text)
{
	struct json *doc;
	str out;
	status s = json_parse(cx, text, &doc);

	if (s == OK)
		s = canon_text(cx, doc, &out);
	if (s == OK)
		(void)printf("%.*s\n", STR_ARG(out));
	else
		(void)printf("!%s\n", status_info(s)->code);
}

static int
cat_documents(struct arena *arena)
{
	size_t len;

	while (scanf("%zu", &len) == 1) {
		char *text = malloc(len + 1);
		struct ctx cx;

		if (!text || getchar() != '\n' || fread(text, 1, len, stdin) != len)
			return 1;
		arena_reset(arena);
		ctx_init(&cx, arena);
		answer(&cx, (str){ text, len });
		free(text);
	}
	return 0;
}

static int
cat_doubles(void)
{
	uint64_t bits;

	while (scanf("%" SCNx64, &bits) == 1) {
		char text[32];
		double n;

		memcpy(&n, &bits, sizeof(n));
		(void)printf("%.*s\n", (int)canon_double(n, text), text);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct arena arena;
	int rc = 2;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	if (argc == 2 && str_eq(str_of(argv[1]), STR("canon")))
		rc = cat_documents(&arena);
	else if (argc == 2 && str_eq(str_of(argv[1]), STR("doubles")))
		rc = cat_doubles();
	arena_done(&arena);
	return rc;
}
