/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many: the program with more tools, for a list that is long. Linked with --wrap=registry_new, so what the
 * program hands to the registry passes here first, and nothing else of it is another.
 *
 * BENCH_TOOLS is how many the registry gets: its own, then these again under other names. Their
 * declarations, schemas and rules are the real ones.
 */
#include "base/check.h"
#include "core/gate/tool.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST	    1000u
#define MOST_TABLES 64u
#define NAME_BYTES  128u

status __real_registry_new(struct ctx *cx, const struct tool *const *tables, struct registry **out) MUST_USE;
status __wrap_registry_new(struct ctx *cx, const struct tool *const *tables, struct registry **out) MUST_USE;

static struct tool more[MOST + 1];
static char names[MOST][NAME_BYTES];
static const struct tool *all[MOST_TABLES];

static size_t
count_of(const struct tool *const *tables)
{
	size_t n = 0;

	for (; *tables; tables++)
		for (const struct tool *t = *tables; t->name; t++)
			n++;
	return n;
}

static void
copy(const struct tool *t, size_t at)
{
	CHECK(snprintf(names[at], NAME_BYTES, "more%zu%s", at, t->name) < (int)NAME_BYTES);
	more[at] = *t;
	more[at].name = names[at];
	more[at].kind = more[at].model = NULL;
}

/* Repeats the declarations until there are enough. */
static void
repeat(const struct tool *const *tables, size_t missing)
{
	size_t made = 0;

	CHECK(missing <= MOST);
	while (made < missing)
		for (const struct tool *const *table = tables; *table; table++)
			for (const struct tool *t = *table; t->name && made < missing; t++)
				copy(t, made++);
}

status
__wrap_registry_new(struct ctx *cx, const struct tool *const *tables, struct registry **out)
{
	const char *text = getenv("BENCH_TOOLS");
	size_t wanted = text ? strtoul(text, NULL, 10) : 0, have = count_of(tables), n = 0;

	repeat(tables, wanted > have ? wanted - have : 0);
	for (; tables[n]; n++) {
		CHECK(n + 2 < MOST_TABLES);
		all[n] = tables[n];
	}
	all[n] = more;
	return __real_registry_new(cx, all, out);
}
