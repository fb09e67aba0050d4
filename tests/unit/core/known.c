/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that are known: a copy of their own, under the epoch they were read at, and no table without a trigger (ID-6). */
#include "tests/unit/unit.h"

#include "base/limits.h"
#include "core/known/known.h"
#include "db/db.h"

#include "core/gate/permission.sql.h"
#include "core/ident/caller.sql.h"

#include <stdio.h>
#include <stdlib.h>

static struct credential
bearing(const char *secret)
{
	return (struct credential){ .bearer = str_of(secret), .transport = "rest" };
}

static struct caller
caller_at(int64_t epoch)
{
	return (struct caller){
		.org_id = STR("org"), .token_id = STR("t1"), .via_token = true, .epoch = epoch
	};
}

static void
what_is_found_is_a_copy_of_what_was_kept_last(void **state)
{
	struct known *k = known_new();
	struct credential one = bearing("cs_1"), other = bearing("cs_2");
	char *settings = strdup("{\"policy\":{}}");
	const struct caller_tier tier = { STR("note.create"), STR("blocked"), false };
	struct caller c = caller_at(7), found = { 0 };
	struct arena a;

	(void)state;
	arena_init(&a, (size_t)1 << 20);
	c.settings = str_of(settings);
	known_keep(k, &one, &c);
	free(settings);
	assert_true(known_find(k, &a, &one, &found));
	assert_str(found.settings, "{\"policy\":{}}");
	assert_int_equal(found.epoch, 7);
	assert_false(found.tiers_read);
	assert_false(known_find(k, &a, &other, &found));
	c = found;
	c.epoch = 8;
	c.tiers = &tier;
	c.tier_count = 1;
	c.tiers_read = true;
	known_keep(k, &one, &c);
	assert_true(known_find(k, &a, &one, &found));
	assert_int_equal(found.epoch, 8);
	assert_true(found.tiers_read && found.tiers != &tier);
	assert_int_equal(found.tier_count, 1);
	assert_str(found.tiers[0].tool, "note.create");
	assert_str(found.tiers[0].tier, "blocked");
	known_free(k);
	known_free(NULL);
	assert_str(found.tiers[0].tool, "note.create"); /* the arena's */
	arena_done(&a);
}

static void
memory_is_bounded(void **state)
{
	struct known *k = known_new();
	struct caller c = caller_at(1), found;
	char *large = calloc(1, LIMIT_KNOWN_CALLER), secret[32];
	int known = 0;
	struct arena a;

	(void)state;
	arena_init(&a, (size_t)1 << 24);
	c.settings = (str){ large, LIMIT_KNOWN_CALLER };
	known_keep(k, &(struct credential){ .bearer = STR("cs_large") }, &c);
	assert_false(known_find(k, &a, &(struct credential){ .bearer = STR("cs_large") }, &found));
	c.settings = STR("{}");
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(secret, sizeof(secret), "cs_%d", i);
		known_keep(k, &(struct credential){ .bearer = str_of(secret) }, &c);
	}
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(secret, sizeof(secret), "cs_%d", i);
		known += known_find(k, &a, &(struct credential){ .bearer = str_of(secret) }, &found);
	}
	assert_in_range(known, 2000, 4096);
	arena_done(&a);
	/* no room for a copy: as if it were not known, and the database is asked */
	arena_init(&a, 1);
	assert_false(known_find(k, &a, &(struct credential){ .bearer = str_of(secret) }, &found));
	arena_done(&a);
	known_free(k);
	free(large);
}

/* Is there, in a migration for this engine, a trigger for each of these events on this table that draws an epoch? */
static bool
has_trigger(const char *(*text_of)(const struct migration *), const char *event, const char *table)
{
	char name[128];

	for (size_t i = 0; i < migration_count; i++) {
		const char *text = text_of(&migrations[i]);

		(void)snprintf(name, sizeof(name), "CREATE TRIGGER rights_%s_%s AFTER ", table, event);
		if (strstr(text, name))
			return true;
		(void)snprintf(name, sizeof(name), "CREATE TRIGGER rights_%s AFTER ", table);
		const char *at = strstr(text, name);

		if (at) {
			size_t length = strcspn(at, ";");
			str trigger = { at, length };
			char *line = strndup(trigger.ptr, trigger.len), upper[16];
			bool found;

			for (size_t c = 0; c <= strlen(event); c++)
				upper[c] = (char)(event[c] & ~0x20);
			found = strstr(line, upper) != NULL && strstr(line, "rights_change()") != NULL;
			free(line);
			if (found)
				return true;
		}
	}
	return false;
}

static const char *
sqlite_of(const struct migration *m)
{
	return m->sqlite;
}

static const char *
postgres_of(const struct migration *m)
{
	return m->postgres;
}

/* What appears there cannot be part of a caller that is known already. */
static bool
is_new(const char *table)
{
	return strcmp(table, "token") == 0 || strcmp(table, "principal") == 0 || strcmp(table, "org") == 0;
}

static void
check_table(const char *table)
{
	static const char *const events[] = { "insert", "update", "delete" };

	for (size_t i = is_new(table) ? 1 : 0; i < 3; i++) {
		bool sqlite = has_trigger(sqlite_of, events[i], table),
		     postgres = has_trigger(postgres_of, events[i], table);

		if (!sqlite || !postgres)
			print_error("%s of %s does not draw an epoch\n", events[i], table);
		assert_true(sqlite && postgres);
	}
}

/* Every word that follows FROM or JOIN. */
static int
check_tables_of(const struct sql *s)
{
	char *text = strdup(s->postgres), *rest = text, *word, *before = NULL;
	int count = 0;

	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word)
			continue;
		if (before && (strcmp(before, "FROM") == 0 || strcmp(before, "JOIN") == 0)) {
			check_table(word);
			count++;
		}
		before = word;
	}
	free(text);
	return count;
}

static void
every_table_a_caller_is_read_from_draws_an_epoch_when_it_changes(void **state)
{
	(void)state;
	assert_int_equal(check_tables_of(SQL_CALLER_TOKEN), 6);
	assert_int_equal(check_tables_of(SQL_PERMISSION_SNAPSHOT), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_is_a_copy_of_what_was_kept_last),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(every_table_a_caller_is_read_from_draws_an_epoch_when_it_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
