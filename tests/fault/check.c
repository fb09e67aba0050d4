/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "base/check.h"
#include "base/limits.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

enum told { TRIED, ACKNOWLEDGED, REFUSED, UNKNOWN };

struct entry {
	int64_t id;
	enum told told;
	bool found;
};

struct judge {
	struct entry *entries; /* sorted by id */
	size_t count, room;
	sqlite3 *db;
	struct arena arena;
	int violations;
};

#define VIOLATION(j, ...) ((j)->violations++, (void)printf("violation: " __VA_ARGS__), (void)putchar('\n'))

static int
by_id(const void *a, const void *b)
{
	int64_t x = ((const struct entry *)a)->id, y = ((const struct entry *)b)->id;

	return x < y ? -1 : x > y;
}

static void
add(struct judge *j, int64_t id, enum told told)
{
	if (j->count == j->room) {
		j->room = j->room ? 2 * j->room : 256;
		j->entries = realloc(j->entries, j->room * sizeof(*j->entries));
		CHECK(j->entries);
	}
	j->entries[j->count++] = (struct entry){ .id = id, .told = told };
}

static void
hear(struct judge *j, str line)
{
	static const str words[] = { [TRIED] = STR("try"),
		[ACKNOWLEDGED] = STR("ok"),
		[REFUSED] = STR("no"),
		[UNKNOWN] = STR("unknown") };
	str word, rest, id_text;
	int64_t id;

	if (!str_cut(line, ' ', &word, &rest))
		return;
	if (str_eq(word, STR("bad")))
		VIOLATION(j, "the writer saw: %.*s", STR_ARG(rest));
	id_text = (str){ .ptr = rest.ptr, .len = str_find(rest, ' ') };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_eq(word, words[i]) && str_to_int(id_text, &id))
			add(j, id, (enum told)i);
	}
}

/* One entry per id: what was told last counts over "try". A refusal after an acknowledgement is a lie. */
static void
merge(struct judge *j)
{
	size_t kept = 0;

	qsort(j->entries, j->count, sizeof(*j->entries), by_id);
	for (size_t i = 0; i < j->count; i++) {
		struct entry *e = &j->entries[i], *last = kept ? &j->entries[kept - 1] : NULL;
		if (!last || last->id != e->id) {
			j->entries[kept++] = *e;
			continue;
		}
		if (e->told != TRIED && last->told != TRIED)
			VIOLATION(j, "%" PRId64 " was answered twice", e->id);
		if (e->told == ACKNOWLEDGED || last->told == TRIED)
			last->told = e->told;
	}
	j->count = kept;
}

static bool
listen(struct judge *j, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		str s = str_of(line);
		if (str_ends(s, STR("\n"))) /* a last line without its end was never said */
			hear(j, (str){ .ptr = s.ptr, .len = s.len - 1 });
	}
	(void)fclose(f);
	merge(j);
	return true;
}

/* --- the store is asked to recover and to go on --- */

static status
put_own(struct ctx *cx, void *arg)
{
	return rig_put(cx, *(const int64_t *)arg);
}

/* Its id is one that no earlier judge took: a judge may be killed, too. */
static status
go_on(struct ctx *cx, int64_t *out_id)
{
	int64_t id = RIG_JUDGE;
	status s = tx_run(cx, put_own, &id);

	for (; s == E_EXISTS; s = tx_run(cx, put_own, &id))
		id++;
	*out_id = id;
	return s;
}

static void
recover(struct judge *j, const struct rig_options *o)
{
	struct ctx cx;
	int64_t id = 0;
	status s;

	ctx_init(&cx, &j->arena);
	s = rig_open(&cx, o);
	if (s != OK) {
		str why = ctx_message(&cx, s);
		VIOLATION(j, "cannot be opened again: %s: %.*s", status_info(s)->name, STR_ARG(why));
		return;
	}
	s = go_on(&cx, &id);
	if (s != OK)
		VIOLATION(j, "takes no more writes: %s", status_info(s)->name);
	else
		add(j, id, ACKNOWLEDGED);
	db_close(cx.db);
	qsort(j->entries, j->count, sizeof(*j->entries), by_id);
}

/* --- and is then read with SQLite alone --- */

static sqlite3_stmt *
query(struct judge *j, const char *text)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(j->db, text, -1, &stmt, NULL) != SQLITE_OK)
		VIOLATION(j, "%s: %s", text, sqlite3_errmsg(j->db));
	return stmt;
}

static void
check_row(struct judge *j, sqlite3_stmt *row)
{
	struct entry key = { .id = sqlite3_column_int64(row, 0) };
	struct entry *e = bsearch(&key, j->entries, j->count, sizeof(key), by_id);
	bool first = sqlite3_column_int(row, 1) != 0;
	str body = { .ptr = (const char *)sqlite3_column_text(row, 2),
		.len = (size_t)sqlite3_column_bytes(row, 2) };

	if (!first || !body.ptr)
		VIOLATION(j, "%" PRId64 " is only half there", key.id);
	else if (!str_eq(body, rig_body(&j->arena, key.id)))
		VIOLATION(j, "%" PRId64 " has another body", key.id);
	arena_reset(&j->arena);
	if (e)
		e->found = true;
	if (!e && key.id < RIG_JUDGE)
		VIOLATION(j, "%" PRId64 " was never tried", key.id);
	if (e && e->told == REFUSED)
		VIOLATION(j, "%" PRId64 " was refused and is there", key.id);
}

static int64_t
check_rows(struct judge *j)
{
	sqlite3_stmt *rows = query(j,
		"SELECT i.id, f.id IS NOT NULL, s.body FROM (SELECT id FROM rig_first UNION SELECT id FROM "
		"rig_second) i LEFT JOIN rig_first f ON f.id = i.id LEFT JOIN rig_second s ON s.id = i.id");
	int64_t n = 0;

	for (; rows && sqlite3_step(rows) == SQLITE_ROW; n++)
		check_row(j, rows);
	(void)sqlite3_finalize(rows);
	for (size_t i = 0; i < j->count; i++) {
		if (j->entries[i].told == ACKNOWLEDGED && !j->entries[i].found)
			VIOLATION(j, "%" PRId64 " was acknowledged and is lost", j->entries[i].id);
	}
	return n;
}

static void
check_value(struct judge *j, const char *text, const char *expected)
{
	sqlite3_stmt *row = query(j, text);
	const char *got =
		row && sqlite3_step(row) == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;

	if (!got || strcmp(got, expected) != 0)
		VIOLATION(j, "%s gives %s instead of %s", text, got ? got : "nothing", expected);
	(void)sqlite3_finalize(row);
}

static void
inspect(struct judge *j, const char *dir)
{
	char path[4096], expected[32];

	(void)snprintf(path, sizeof(path), "%s/countersign.db", dir);
	if (sqlite3_open_v2(path, &j->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
		VIOLATION(j, "%s: %s", path, sqlite3_errmsg(j->db));
	} else {
		check_value(j, "PRAGMA integrity_check", "ok");
		(void)snprintf(expected, sizeof(expected), "%" PRId64, check_rows(j));
		check_value(j, "SELECT n FROM rig_counter", expected);
	}
	(void)sqlite3_close(j->db);
}

int
rig_check(const struct rig_options *o, const char *history)
{
	struct judge j = { 0 };

	arena_init(&j.arena, LIMIT_REQUEST_ARENA);
	if (!listen(&j, history))
		VIOLATION(&j, "no history at %s", history);
	recover(&j, o);
	if (j.violations == 0)
		inspect(&j, o->dir);
	free(j.entries);
	arena_done(&j.arena);
	return j.violations ? 1 : 0;
}
