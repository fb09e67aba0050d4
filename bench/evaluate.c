/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags in process, one thread: prints one JSON object with the processor time of an evaluation, of an
 * environment's load, and what it takes in memory.
 *
 *	bench-evaluate ROUNDS
 */
#include "base/check.h"
#include "base/limits.h"
#include "domain/flag/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONTEXTS 64u
#define FLAGS	 10000u
#define SEGMENTS 50u
#define BULK	 1000u

static double
processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* checksrc: allow clock_gettime (processor time) */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The flag of the peers' bench: country in a list; mail ends with; plan equals, for a half. */
static void
write_flag(struct buf *b, unsigned n, bool with_segment)
{
	buf_printf(b,
		"%s\"flag-%u\":{\"type\":\"boolean\",\"defaultValue\":false,\"rules\":["
		"{\"if\":{\"field\":\"country\",\"$in\":[\"US\",\"CA\",\"MX\"]},\"value\":true},"
		"{\"if\":{\"field\":\"email\",\"$endsWith\":\"@corp.com\"},\"value\":true},",
		n ? "," : "", n);
	if (with_segment)
		buf_printf(b, "{\"if\":{\"$segment\":\"segment-%u\"},\"value\":true},", n % SEGMENTS);
	buf_add(b, STR("{\"if\":{\"field\":\"plan\",\"$equals\":\"pro\"},\"value\":true,\"rolloutPercent\":"
		       "50}]}"));
}

static str
environment(struct arena *a, unsigned flags, unsigned segments)
{
	struct buf b;
	str text;

	buf_init(&b, a, LIMIT_JSON_STORED_BYTES);
	buf_add(&b, STR("{\"flags\":{"));
	for (unsigned i = 0; i < flags; i++)
		write_flag(&b, i, segments > 0);
	buf_add(&b, STR("},\"segments\":{"));
	for (unsigned i = 0; i < segments; i++) {
		buf_printf(&b,
			"%s\"segment-%u\":{\"rules\":[{\"if\":{\"field\":\"team\",\"$equals\":\"team-%u\"}}],"
			"\"allowList\":[",
			i ? "," : "", i, i);
		for (unsigned n = 0; n < 100; n++)
			buf_printf(&b, "%s\"member-%u\"", n ? "," : "", i * 1000 + n);
		buf_add(&b, STR("]}"));
	}
	buf_add(&b, STR("}}"));
	CHECK(buf_finish(&b, &text) == OK);
	return text;
}

static struct json *
context(struct ctx *cx, unsigned i)
{
	static const char *const countries[] = { "DE", "FR", "US", "IT" };
	struct json *doc;
	str text = arena_printf(cx->arena,
		"{\"userId\":\"user-%u\",\"country\":\"%s\",\"email\":\"user-%u@%s\",\"plan\":\"%s\",\"age\":"
		"%u}",
		i, countries[i % 8 == 0 ? 2 : i % 2], i, i % 16 == 1 ? "corp.com" : "example.org",
		i % 4 ? "pro" : "free", 20 + i);

	CHECK(json_parse(cx, text, &doc) == OK);
	return doc;
}

struct load {
	double parse_ns, all_ns;
};

static struct load
load(struct ctx *cx, str text, struct ruleset **out_rs)
{
	struct arena_mark mark = arena_mark(cx->arena);
	double begin = processor_ns(), parsed;
	struct json *doc;
	struct load took;

	CHECK(json_parse_stored(cx, text, &doc) == OK);
	parsed = processor_ns();
	CHECK(ruleset_compile(cx, doc, out_rs) == OK);
	took = (struct load){ parsed - begin, processor_ns() - begin };
	arena_rewind(cx->arena, mark);
	return took;
}

/* The best of some: what disturbs only makes it slower. */
static struct load
load_often(struct ctx *cx, str text, struct ruleset **out_rs)
{
	struct load best = load(cx, text, out_rs);

	for (unsigned i = 0; i < 4; i++) {
		struct load next;

		ruleset_free(*out_rs);
		next = load(cx, text, out_rs);
		best.parse_ns = next.parse_ns < best.parse_ns ? next.parse_ns : best.parse_ns;
		best.all_ns = next.all_ns < best.all_ns ? next.all_ns : best.all_ns;
	}
	return best;
}

static double
evaluate_prepared(
	struct ctx *cx, struct subject **subjects, const struct item *item, unsigned rounds, unsigned *on)
{
	double begin = processor_ns();
	struct evaluation e;

	for (unsigned i = 0; i < rounds; i++) {
		cx->work = (struct metered){ 0 };
		CHECK(ruleset_evaluate(subjects[i % CONTEXTS], item, &e) == OK);
		*on += e.value.len == 4;
	}
	return (processor_ns() - begin) / rounds;
}

/* All that a call by key does: make the context ready, find the flag, evaluate. */
static double
evaluate_whole(struct ctx *cx, const struct ruleset *rs, struct json **contexts, unsigned rounds)
{
	double begin = processor_ns();
	struct evaluation e;
	struct subject *s;

	for (unsigned i = 0; i < rounds; i++) {
		struct arena_mark mark = arena_mark(cx->arena);

		cx->work = (struct metered){ 0 }; /* each is a request of its own */
		CHECK(subject_prepare(cx, rs, contexts[i % CONTEXTS], &s) == OK);
		CHECK(ruleset_evaluate(s, ruleset_find(rs, STR("flag-0")), &e) == OK);
		arena_rewind(cx->arena, mark);
	}
	return (processor_ns() - begin) / rounds;
}

/* All flags for one context, with the answer as JSON: what a client asks for when it starts. */
static double
evaluate_bulk(struct ctx *cx, const struct ruleset *rs, struct json **contexts, unsigned rounds)
{
	double begin = processor_ns();

	for (unsigned i = 0; i < rounds; i++) {
		struct arena_mark mark = arena_mark(cx->arena);
		struct json_out o;
		struct subject *s;
		struct buf b;
		str text;

		cx->work = (struct metered){ 0 };
		buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
		json_out_init(&o, &b);
		json_out_array(&o, NULL);
		CHECK(subject_prepare(cx, rs, contexts[i % CONTEXTS], &s) == OK);
		for (size_t n = 0; n < ruleset_count(rs); n++) {
			struct evaluation e;

			CHECK(ruleset_evaluate(s, ruleset_at(rs, n), &e) == OK);
			evaluation_out(&o, NULL, s, &e, false);
		}
		json_out_end(&o);
		CHECK(buf_finish(&b, &text) == OK);
		arena_rewind(cx->arena, mark);
	}
	return (processor_ns() - begin) / rounds;
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, on = 0;
	struct json *contexts[CONTEXTS];
	struct subject *subjects[CONTEXTS];
	struct ruleset *one, *thousand, *large;
	struct arena arena;
	struct ctx cx;
	struct load took;
	double ns, whole, bulk;
	str text;

	if (!rounds) {
		(void)fputs("usage: bench-evaluate ROUNDS\n", stderr);
		return 2;
	}
	arena_init(&arena, 4 * (size_t)LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	(void)load(&cx, environment(&arena, 1, 0), &one);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		contexts[i] = context(&cx, i);
		CHECK(subject_prepare(&cx, one, contexts[i], &subjects[i]) == OK);
	}
	ns = evaluate_prepared(&cx, subjects, ruleset_at(one, 0), rounds, &on);
	whole = evaluate_whole(&cx, one, contexts, rounds);
	text = environment(&arena, FLAGS, SEGMENTS);
	took = load_often(&cx, text, &large);
	(void)load(&cx, environment(&arena, BULK, 0), &thousand);
	bulk = evaluate_bulk(&cx, thousand, contexts, rounds / 100 + 1);
	(void)printf(
		"{\"ns\":%.1f,\"wholeNs\":%.1f,\"on\":%.2f,\"bulkUs\":%.1f,\"parseMs\":%.2f,\"loadMs\":%.2f,"
		"\"documentBytes\":%zu,\"compiledBytes\":%zu}\n",
		ns, whole, (double)on / rounds, bulk / 1e3, took.parse_ns / 1e6, took.all_ns / 1e6, text.len,
		ruleset_bytes(large));
	ruleset_free(one);
	ruleset_free(thousand);
	ruleset_free(large);
	arena_done(&arena);
	return 0;
}
