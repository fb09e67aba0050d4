/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes one document many times with one library and prints the processor time of one round trip
 *in nanoseconds. bench/json.py compiles it once for each: -DOURS, -DJANSSON, -DCJSON.
 *
 *	bench-json FILE ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(OURS)
#	include "base/limits.h"
#	include "json/out.h"

static size_t
round_trip(const char *text, size_t len)
{
	static struct arena arena; /* a worker keeps its arena from request to request, too */
	struct json *doc;
	struct ctx cx;
	str out;

	if (!arena.cap)
		arena_init(&arena, LIMIT_REQUEST_ARENA);
	arena_reset(&arena);
	ctx_init(&cx, &arena);
	if (json_parse(&cx, (str){ text, len }, &doc) != OK || json_text(&cx, doc, &out) != OK)
		return 0;
	return out.len;
}
#elif defined(JANSSON)
#	include <jansson.h>

static size_t
round_trip(const char *text, size_t len)
{
	json_t *doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	char *out = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	size_t n = out ? strlen(out) : 0;

	free(out);
	json_decref(doc);
	return n;
}
#elif defined(CJSON)
#	include <cjson/cJSON.h>

static size_t
round_trip(const char *text, size_t len)
{
	cJSON *doc = cJSON_ParseWithLength(text, len);
	char *out = doc ? cJSON_PrintUnformatted(doc) : NULL;
	size_t n = out ? strlen(out) : 0;

	cJSON_free(out);
	cJSON_Delete(doc);
	return n;
}
#endif

static double
processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* checksrc: allow clock_gettime (processor time) */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
	static char text[1 << 20];
	FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
	long rounds = argc == 3 ? strtol(argv[2], NULL, 10) : 0; /* checksrc: allow strtol (stands alone) */
	size_t len;
	double begin;

	if (!file || rounds < 1)
		return 2;
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	for (long i = 0; i < rounds / 10 + 1; i++) /* warm */
		if (round_trip(text, len) == 0)
			return 1;
	begin = processor_ns();
	for (long i = 0; i < rounds; i++)
		if (round_trip(text, len) == 0)
			return 1;
	printf("%.1f\n", (processor_ns() - begin) / (double)rounds);
	return 0;
}
