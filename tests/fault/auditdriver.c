/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auditdriver: does the audit log notice what was done to it? (AU-4; tests/fault/run-tamper drives it.)
 *
 *	auditdriver tamper CASES [SEED]   random changes to sealed entries, exported and stored,
 *	                                  against a held checkpoint
 *	auditdriver measure ENTRIES       how long verifying takes
 *	auditdriver database ENTRIES      how long sealing and verifying in SQLite takes
 *
 * Each case is one change that somebody with the file, or with the database and its triggers
 * gone, could make. A case passes where the verification names a problem. The untouched log must
 * verify before and after.
 */
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "core/audit/audit.h"
#include "core/audit/export.h"
#include "core/audit/row.h"
#include "core/audit/seal/chain.h"
#include "core/audit/seal/seal.h"
#include "core/audit/verify.h"
#include "core/id.h"
#include "db/db.h"
#include "json/json.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#define ENTRIES 60

struct rig {
	struct arena arena;
	struct ctx cx;
	struct keys keys;
	struct caller caller;
	str org, key, held;
	char dir[64];
	str clean, backup;	/* the database's file: whole, and as it was half-way */
	str export, old_export; /* the whole file, and one that ended half-way */
	uint64_t random;
	long passed, failed;
};

/* --- small things --- */

static uint64_t
draw(struct rig *r, uint64_t below)
{
	r->random ^= r->random << 13; /* xorshift: the seed alone says what a run does */
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return r->random % below;
}

static const char *
path(struct rig *r, const char *name)
{
	return arena_printf(&r->arena, "%s/%s", r->dir, name).ptr;
}

static void
must(struct rig *r, status s, const char *what)
{
	if (s == OK)
		return;
	(void)fprintf(stderr, "auditdriver: %s: %.*s\n", what, STR_ARG(ctx_message(&r->cx, s)));
	exit(2);
}

static str
read_file(struct rig *r, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *p;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	p = arena_alloc(&r->arena, (size_t)st.st_size + 1);
	CHECK(read(fd, p, (size_t)st.st_size) == st.st_size);
	(void)close(fd);
	return (str){ p, (size_t)st.st_size };
}

static void
write_file(const char *name, str text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len);
	(void)close(fd);
}

/* --- the database --- */

static void
open_database(struct rig *r)
{
	struct db_options o = { .sqlite_dir = r->dir, .create = true };
	int applied;

	must(r, db_open(&r->cx, &o, &r->cx.db), "open");
	must(r, db_migrate(&r->cx, &applied), "migrate");
}

static void
close_database(struct rig *r)
{
	db_close(r->cx.db);
	r->cx.db = NULL;
}

static void
put_database(struct rig *r, str file)
{
	(void)unlink(path(r, "countersign.db-wal"));
	(void)unlink(path(r, "countersign.db-shm"));
	write_file(path(r, "countersign.db"), file);
}

static status
add_tx(struct ctx *cx, void *arg)
{
	return audit_add(cx, arg, NULL);
}

static void
add(struct rig *r, int i)
{
	struct json *before, *after;
	struct audit_entry e = { .action = AUDIT_RECORD_CHANGED,
		.resource_type = STR("note"),
		.resource_id = arena_printf(&r->arena, "note-%d", i),
		.reason = arena_printf(&r->arena, "proposal:%d", i),
		.tool = STR("note.update"),
		.approvers = STR("[\"ann\",\"bob\"]"),
		.version = i,
		.subject = i % 2 ? STR("ann") : STR("") };

	must(r, json_parse(&r->cx, arena_printf(&r->arena, "{\"n\":%d}", i), &before), "json");
	must(r, json_parse(&r->cx, arena_printf(&r->arena, "{\"n\":%d}", i + 1), &after), "json");
	e.before = i % 3 ? before : NULL;
	e.after = i % 3 ? after : NULL;
	must(r, tx_run(&r->cx, add_tx, &e), "add");
}

static status
erase_tx(struct ctx *cx, void *arg)
{
	struct rig *r = arg;

	return audit_erase(cx, r->org, STR("ann"), NULL);
}

static void
seal(struct rig *r)
{
	struct sealed done;

	do {
		must(r, audit_seal(&r->cx, r->org, path(r, "held"), &done), "seal");
	} while (done.more);
}

static str
export_log(struct rig *r)
{
	struct audit_export e = { .org_id = r->org };
	struct audit_exported at;
	int fd = open(path(r, "export"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	must(r, audit_export_file(&r->cx, &e, fd, &at), "export");
	(void)close(fd);
	return read_file(r, path(r, "export"));
}

static void
make_log(struct rig *r)
{
	open_database(r);
	for (int i = 0; i < ENTRIES / 2; i++) {
		add(r, i);
		if (i % 7 == 0)
			seal(r);
	}
	must(r, tx_run(&r->cx, erase_tx, r), "erase");
	seal(r);
	r->old_export = export_log(r);
	close_database(r);
	r->backup = read_file(r, path(r, "countersign.db"));
	open_database(r);
	for (int i = ENTRIES / 2; i < ENTRIES; i++) {
		add(r, i);
		if (i % 11 == 0)
			seal(r);
	}
	seal(r);
	r->export = export_log(r);
	must(r, held_read(&r->cx, path(r, "held"), r->org, &r->held), "held");
	close_database(r);
	r->clean = read_file(r, path(r, "countersign.db"));
}

/* --- verdicts --- */

static str
verify_export(struct rig *r, str file)
{
	struct audit_report report;

	write_file(path(r, "export"), file);
	must(r, audit_verify_file(&r->cx, path(r, "export"), r->key, r->held, &report), "verify");
	return report.problem;
}

/* A database so broken that it cannot be read is noticed, too. */
static str
verify_stored(struct rig *r)
{
	struct audit_report report;
	status s;

	open_database(r);
	s = audit_verify_database(&r->cx, r->org, STR(""), r->held, &report);
	close_database(r);
	return s == OK ? report.problem : ctx_message(&r->cx, s);
}

static void
judge(struct rig *r, const char *what, str problem)
{
	if (problem.len) {
		r->passed++;
		return;
	}
	r->failed++;
	(void)printf("NOT NOTICED: %s\n", what);
}

/* --- changes to an export --- */

#define LINES_MAX 128

/* The file as lines with their ends; the first is the header. */
static size_t
cut_lines(str text, str *out)
{
	size_t n = 0;

	while (text.len) {
		size_t end = str_find(text, '\n');

		CHECK(n < LINES_MAX);
		out[n++] = (str){ text.ptr, end < text.len ? end + 1 : text.len };
		text = str_skip(text, end + 1);
	}
	return n;
}

static str
join(struct rig *r, const str *lines, size_t count)
{
	struct buf b;
	str out;

	buf_init(&b, &r->arena, 16 * MIB);
	for (size_t i = 0; i < count; i++)
		buf_add(&b, lines[i]);
	must(r, buf_finish(&b, &out), "join");
	return out;
}

static str
changed_copy(struct rig *r, str text, size_t at, char c)
{
	char *copy = arena_alloc(&r->arena, text.len);

	memcpy(copy, text.ptr, text.len);
	copy[at] = c;
	return (str){ copy, text.len };
}

static str
flip(struct rig *r, str text)
{
	size_t at = draw(r, text.len);

	return changed_copy(r, text, at, (char)(text.ptr[at] ^ (1 << draw(r, 8))));
}

enum export_change {
	E_FLIP,
	E_DELETE,
	E_INSERT,
	E_SWAP,
	E_TRUNCATE,
	E_CHANGE,
	E_DUPLICATE,
	E_ROLLBACK,
	E_CHANGES
};

static str
change_lines(struct rig *r, enum export_change change, str *lines, size_t count)
{
	size_t a = 1 + draw(r, count - 1), b = 1 + draw(r, count - 2);
	str saved = lines[a];

	b += b >= a; /* another line */
	switch (change) {
	case E_DELETE:
		memmove(lines + a, lines + a + 1, (count - a - 1) * sizeof(str));
		return join(r, lines, count - 1);
	case E_DUPLICATE:
	case E_INSERT:
		memmove(lines + a + 1, lines + a, (count - a) * sizeof(str));
		lines[a] = change == E_INSERT ? flip(r, saved) : saved;
		return join(r, lines, count + 1);
	case E_SWAP:
		lines[a] = lines[b];
		lines[b] = saved;
		return join(r, lines, count);
	default: /* E_CHANGE: another digit somewhere in an entry */
		lines[a] = flip(r, saved);
		return join(r, lines, count);
	}
}

static void
tamper_export(struct rig *r, enum export_change change)
{
	static const char *const names[] = { "flip", "delete", "insert", "swap", "truncate", "change",
		"duplicate", "rollback" };
	str lines[LINES_MAX], file;
	size_t count = cut_lines(r->export, lines);

	if (change == E_FLIP)
		file = flip(r, r->export);
	else if (change == E_TRUNCATE)
		file = (str){ r->export.ptr, draw(r, r->export.len) };
	else if (change == E_ROLLBACK)
		file = r->old_export; /* whole and rightly signed, but older than what we hold */
	else
		file = change_lines(r, change, lines, count);
	judge(r, arena_printf(&r->arena, "export: %s", names[change]).ptr, verify_export(r, file));
}

/* --- changes to what is stored --- */

static sqlite3 *attacker;

/* How many rows it changed; -1: it is refused (a constraint), which is no case. */
static int
attack(const char *sql)
{
	if (sqlite3_exec(attacker, sql, NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	return sqlite3_changes(attacker);
}

static void
attack_open(struct rig *r)
{
	static const char *const tables[] = { "audit_entry", "audit_value", "audit_leaf", "audit_node",
		"audit_checkpoint" };

	CHECK(sqlite3_open(path(r, "countersign.db"), &attacker) == SQLITE_OK);
	(void)attack("PRAGMA synchronous=OFF");
	for (size_t i = 0; i < 5; i++) {
		CHECK(attack(arena_printf(&r->arena, "DROP TRIGGER %s_no_update", tables[i]).ptr) >= 0);
		CHECK(attack(arena_printf(&r->arena, "DROP TRIGGER %s_no_delete", tables[i]).ptr) >= 0);
	}
	CHECK(attack("DROP TRIGGER audit_entry_to_pending") >= 0);
}

static void
attack_close(void)
{
	CHECK(sqlite3_close(attacker) == SQLITE_OK);
	attacker = NULL;
}

#define TEXT_COLUMNS                                                                                         \
	"action", "actor_id", "delegator_id", "token_id", "agent_id", "applier_id", "approvers",             \
		"transport", "chat_id", "tool_call_id", "proposal_id", "tool", "args_hash", "resource_type", \
		"resource_key", "resource_id", "reason", "risk", "decision", "outcome", "prompt_version",    \
		"prompt_hash", "model", "provider", "subject", "before_hash", "after_hash", "diff_hash",     \
		"entry_id"
#define NUMBER_COLUMNS "at", "version", "with_override", "via_token"

static const char *
one_of(struct rig *r, const char *const *names, size_t count)
{
	return names[draw(r, count)];
}

/* A random row of an entry, as SQL. */
static const char *
some_entry(struct rig *r)
{
	return arena_printf(&r->arena, "entry_id = (SELECT entry_id FROM audit_leaf WHERE leaf_index = %d)",
		(int)draw(r, ENTRIES + 1))
		.ptr;
}

enum stored_change {
	S_TEXT,
	S_NUMBER,
	S_DELETE_ENTRY,
	S_INSERT_ENTRY,
	S_REPLACE_ENTRY,
	S_SWAP_ENTRIES,
	S_LEAF_HASH,
	S_LEAF_SWAP,
	S_DELETE_LEAF,
	S_NODE_HASH,
	S_NODE_DELETE,
	S_NODE_INSERT,
	S_TRUNCATE,
	S_TRUNCATE_WELL,
	S_HEAD,
	S_CHECKPOINT,
	S_VALUE,
	S_VALUE_DELETE,
	S_VALUE_SWAP,
	S_KEY_DELETE,
	S_CHANGES
};

static const char *
change_text(struct rig *r)
{
	static const char *const text[] = { TEXT_COLUMNS }, *const number[] = { NUMBER_COLUMNS };

	if (draw(r, 5) == 0) {
		const char *c = one_of(r, number, 4);

		return arena_printf(&r->arena, "UPDATE audit_entry SET %s = %s WHERE %s", c,
			strncmp(c, "w", 1) && strncmp(c, "vi", 2)
				? arena_printf(&r->arena, "%s + %d", c, 1 + (int)draw(r, 1000)).ptr
				: arena_printf(&r->arena, "1 - %s", c).ptr,
			some_entry(r))
			.ptr;
	}
	const char *c = one_of(r, text, sizeof(text) / sizeof(text[0]));
	return arena_printf(&r->arena, "UPDATE audit_entry SET %s = %s || '%c' WHERE %s", c, c,
		'a' + (char)draw(r, 26), some_entry(r))
		.ptr;
}

static const char *
set_to(struct rig *r, const char *table, const char *column, str value, const char *where)
{
	return arena_printf(&r->arena, "UPDATE %s SET %s = %.*s WHERE (%s) AND %s <> %.*s", table, column,
		STR_ARG(value), where, column, STR_ARG(value))
		.ptr;
}

/* Another byte, or one more, or one less. */
static const char *
blob_change(struct rig *r, const char *table, const char *column, const char *where)
{
	str value = arena_printf(&r->arena, "CAST(substr(%s, 1, %d) || X'%02x' || substr(%s, %d) AS BLOB)",
		column, (int)draw(r, 31), (unsigned)draw(r, 256), column, 32 + (int)draw(r, 2));

	return set_to(r, table, column, value, where);
}

static const char *
change_stored(struct rig *r, enum stored_change change)
{
	int leaf = (int)draw(r, ENTRIES + 1), other = (int)draw(r, ENTRIES + 1);
	const char *where = arena_printf(&r->arena, "leaf_index = %d", leaf).ptr;

	switch (change) {
	case S_TEXT:
	case S_NUMBER:
		return change_text(r);
	case S_DELETE_ENTRY:
		return arena_printf(&r->arena, "DELETE FROM audit_entry WHERE %s", some_entry(r)).ptr;
	case S_INSERT_ENTRY:
		return arena_printf(&r->arena,
			"CREATE TEMP TABLE t AS SELECT * FROM audit_entry WHERE %s; UPDATE t SET entry_id = "
			"entry_id || 'x'; "
			"INSERT INTO audit_entry SELECT * FROM t",
			some_entry(r))
			.ptr;
	case S_REPLACE_ENTRY:
		return arena_printf(&r->arena,
			"CREATE TEMP TABLE t AS SELECT * FROM audit_entry WHERE %s; UPDATE t SET reason = "
			"'replaced'; "
			"REPLACE INTO audit_entry SELECT * FROM t",
			some_entry(r))
			.ptr;
	case S_SWAP_ENTRIES: /* two leaves change places, hashes and all */
		return arena_printf(&r->arena,
			"UPDATE audit_leaf SET leaf_index = -1 WHERE leaf_index = %d; "
			"UPDATE audit_leaf SET leaf_index = %d WHERE leaf_index = %d; "
			"UPDATE audit_leaf SET leaf_index = %d WHERE leaf_index = -1",
			leaf, leaf, (leaf + 1 + other % ENTRIES) % (ENTRIES + 1),
			(leaf + 1 + other % ENTRIES) % (ENTRIES + 1))
			.ptr;
	case S_LEAF_HASH:
		return blob_change(r, "audit_leaf", "hash", where);
	case S_LEAF_SWAP: /* only whose they are */
		return arena_printf(&r->arena,
			"CREATE TEMP TABLE t AS SELECT entry_id e FROM audit_leaf WHERE leaf_index = %d; "
			"DELETE FROM audit_leaf WHERE leaf_index = %d; "
			"UPDATE audit_leaf SET entry_id = (SELECT e FROM t) WHERE leaf_index = %d",
			leaf, leaf, (leaf + 1) % (ENTRIES + 1))
			.ptr;
	case S_DELETE_LEAF:
		return arena_printf(&r->arena, "DELETE FROM audit_leaf WHERE %s", where).ptr;
	case S_NODE_HASH:
		return blob_change(r, "audit_node", "hash",
			arena_printf(&r->arena, "last_leaf = %d AND level = 1", leaf | 1).ptr);
	case S_NODE_DELETE:
		return arena_printf(&r->arena, "DELETE FROM audit_node WHERE last_leaf = %d", leaf | 1).ptr;
	case S_NODE_INSERT:
		return arena_printf(&r->arena,
			"INSERT INTO audit_node SELECT org_id, %d, 9, hash FROM audit_leaf WHERE leaf_index "
			"= %d",
			leaf + other, leaf)
			.ptr;
	case S_TRUNCATE:
		return arena_printf(&r->arena,
			"DELETE FROM audit_entry WHERE entry_id IN (SELECT entry_id FROM audit_leaf WHERE "
			"leaf_index >= %d); "
			"DELETE FROM audit_leaf WHERE leaf_index >= %d",
			leaf, leaf)
			.ptr;
	case S_TRUNCATE_WELL: /* everything after a stored checkpoint, from every table */
		return arena_printf(&r->arena,
			"CREATE TEMP TABLE t AS SELECT size s FROM audit_checkpoint WHERE size <= %d ORDER "
			"BY size DESC LIMIT 1; "
			"DELETE FROM audit_value WHERE entry_id IN (SELECT entry_id FROM audit_leaf, t WHERE "
			"leaf_index >= s); "
			"DELETE FROM audit_entry WHERE entry_id IN (SELECT entry_id FROM audit_leaf, t WHERE "
			"leaf_index >= s); "
			"DELETE FROM audit_leaf WHERE leaf_index >= (SELECT s FROM t); "
			"DELETE FROM audit_node WHERE last_leaf >= (SELECT s FROM t); "
			"DELETE FROM audit_checkpoint WHERE size > (SELECT s FROM t); DELETE FROM audit_head",
			1 + (int)draw(r, ENTRIES))
			.ptr;
	case S_HEAD:
		return draw(r, 2) ? blob_change(r, "audit_head", "root", "1")
				  : arena_printf(&r->arena, "UPDATE audit_head SET size = %d", leaf).ptr;
	case S_CHECKPOINT:
		return set_to(r, "audit_checkpoint", "note",
			arena_printf(&r->arena, "substr(note, 1, %d) || '%c' || substr(note, %d)",
				(int)draw(r, 100), 'a' + (char)draw(r, 26), 102 + (int)draw(r, 3)),
			"1");
	case S_VALUE:
		return blob_change(
			r, "audit_value", "sealed", "key_id IN (SELECT key_id FROM audit_subject_key)");
	case S_VALUE_DELETE:
		return arena_printf(&r->arena,
			"DELETE FROM audit_value WHERE entry_id = (SELECT max(entry_id) FROM audit_value "
			"WHERE entry_id < "
			"(SELECT entry_id FROM audit_leaf WHERE leaf_index = %d))",
			3 + leaf % (ENTRIES - 3))
			.ptr;
	case S_VALUE_SWAP:
		return "UPDATE audit_value SET sealed = (SELECT sealed FROM audit_value ORDER BY entry_id "
		       "DESC LIMIT 1) "
		       "WHERE key_id IN (SELECT key_id FROM audit_subject_key) AND "
		       "entry_id < (SELECT max(entry_id) FROM audit_value)";
	default: /* S_KEY_DELETE */
		return "DELETE FROM audit_subject_key WHERE subject = ''";
	}
}

static void
tamper_stored(struct rig *r, enum stored_change change)
{
	const char *sql = NULL;
	int changed = 0;

	put_database(r, r->clean);
	attack_open(r);
	while (changed <= 0) { /* a draw that finds no row, or breaks a constraint, is no case */
		(void)attack("ROLLBACK");
		(void)attack("DROP TABLE IF EXISTS temp.t");
		CHECK(attack("BEGIN") >= 0);
		sql = change_stored(r, change);
		changed = attack(sql);
	}
	CHECK(attack("COMMIT") >= 0);
	attack_close();
	judge(r, arena_printf(&r->arena, "stored: %s", sql).ptr, verify_stored(r));
}

/* --- histories made anew --- */

/* A backup is restored and life goes on: the sealer must not sign, and a holder of a checkpoint must notice.
 */
static void
tamper_fork(struct rig *r)
{
	struct sealed done;
	int more = (int)draw(r, ENTRIES);
	bool refused;

	put_database(r, r->backup);
	open_database(r);
	for (int i = 0; i < more; i++)
		add(r, 1000 + i);
	refused = audit_seal(&r->cx, r->org, path(r, "held"), &done) == E_CONFLICT;
	ctx_clear(&r->cx);
	close_database(r);
	judge(r, "fork: the sealer signed it", refused ? STR("refused") : STR(""));
	judge(r, "fork: the verification", verify_stored(r));
}

/* An entry is changed, and the whole tree is to be built again. */
static void
unseal(struct rig *r)
{
	put_database(r, r->clean);
	attack_open(r);
	while (attack(change_text(r)) <= 0)
		;
	CHECK(attack("DELETE FROM audit_leaf; DELETE FROM audit_node; DELETE FROM audit_head; DELETE FROM "
		     "audit_checkpoint; "
		     "INSERT INTO audit_pending (org_id, entry_id) SELECT org_id, entry_id FROM "
		     "audit_entry") >= 0);
	attack_close();
}

struct pending {
	const struct rig *r;
	struct audit_row *rows;
	size_t count;
};

static status
read_pending(struct ctx *cx, void *arg)
{
	struct pending *p = arg;

	return db_all(cx, SQL_AUDIT_PENDING_PAGE, audit_row_sealed, sizeof(*p->rows), &p->rows, &p->count,
		TEXT(p->r->org), INT(ENTRIES + 2), TEXT(STR("")));
}

/* With the MAC key: every entry gets the MAC that fits what it says now. */
static void
authenticate(struct rig *r)
{
	struct pending p = { .r = r };
	struct buf sql;

	buf_init(&sql, &r->arena, 16 * MIB);
	open_database(r);
	must(r, db_read(&r->cx, read_pending, &p), "pending");
	close_database(r);
	for (size_t i = 0; i < p.count; i++) {
		str mac;

		must(r, audit_row_mac(&r->cx, &p.rows[i], &mac), "mac");
		buf_printf(&sql, "UPDATE audit_entry SET mac = '%.*s' WHERE entry_id = '%.*s';", STR_ARG(mac),
			STR_ARG(p.rows[i].id));
	}
	CHECK(sqlite3_open(path(r, "countersign.db"), &attacker) == SQLITE_OK);
	buf_add_char(&sql, 0);
	CHECK(attack(buf_str(&sql).ptr) >= 0);
	attack_close();
}

/* With the keys or without them: an entry is changed and the whole tree is built and signed again. */
static void
tamper_rewrite(struct rig *r, bool with_keys)
{
	struct sealed done = { .more = true };
	const char *held = path(r, "forged");
	status s = OK;

	unseal(r);
	if (with_keys)
		authenticate(r);
	(void)mkdir(held, 0700);
	(void)unlink(arena_printf(&r->arena, "%s/%.*s.checkpoint", held, STR_ARG(r->org)).ptr);
	open_database(r);
	while (s == OK && done.more)
		s = audit_seal(&r->cx, r->org, held, &done);
	close_database(r);
	if (with_keys)
		must(r, s, "seal");
	else
		judge(r, "a rewritten history: the sealer", s == E_CONFLICT ? STR("refused") : STR(""));
	ctx_clear(&r->cx);
	judge(r, "a rewritten history", verify_stored(r));
}

/* --- what waits to be sealed (docs/decisions/0038) --- */

enum waiting_change {
	W_FORGE,    /* an entry that nobody wrote, as a copy of one that was */
	W_BARE,	    /* one without a MAC, as a version before wrote them */
	W_CHANGE,   /* a column of one */
	W_MISSING,  /* one of a proposal is gone */
	W_ROW_GONE, /* one is gone, and was only forgotten in the list of those that wait */
	W_REPLAY, /* one with the number of another, rightly authenticated: of a time line that was given up */
	W_CHANGES
};

/* Three entries of one proposal that wait; replays: what the third one was before the database was rolled back. */
static str
add_waiting(struct rig *r, bool replays)
{
	struct audit_chain chain = { .proposal_id = STR("proposal-w"), .number = 1 };
	struct audit_entry e = { .action = AUDIT_PROPOSAL_CREATED,
		.resource_id = chain.proposal_id,
		.proposal_id = chain.proposal_id,
		.tool = STR("note.update"),
		.chain = &chain };
	str before = { NULL, 0 };

	chain.number = 0;
	open_database(r);
	for (int i = 0; i < 3; i++, e.action = AUDIT_PROPOSAL_APPROVED)
		must(r, tx_run(&r->cx, add_tx, &e), "add");
	close_database(r);
	if (replays)
		before = read_file(r, path(r, "countersign.db"));
	return before;
}

/* Of the three, that with this number. */
#define WAITS(number) "proposal_id = 'proposal-w' AND number = " number

static const char *
change_waiting(struct rig *r, enum waiting_change change)
{
	static const char *const columns[] = { TEXT_COLUMNS };

	switch (change) {
	case W_FORGE:
		return "CREATE TEMP TABLE t AS SELECT * FROM audit_entry WHERE " WAITS(
			"1") "; "
			     "UPDATE t SET entry_id = 'f' || entry_id, number = 4, action = "
			     "'proposal.applied'; "
			     "INSERT INTO audit_entry SELECT * FROM t; INSERT INTO audit_pending SELECT "
			     "org_id, entry_id FROM t";
	case W_BARE:
		return "CREATE TEMP TABLE t AS SELECT * FROM audit_entry WHERE " WAITS(
			"1") "; "
			     "UPDATE t SET entry_id = 'f' || entry_id, number = 0, mac = ''; "
			     "INSERT INTO audit_entry SELECT * FROM t; INSERT INTO audit_pending SELECT "
			     "org_id, entry_id FROM t";
	case W_CHANGE: {
		const char *c = one_of(r, columns, sizeof(columns) / sizeof(columns[0]) - 1); /* not its id */

		return arena_printf(
			&r->arena, "UPDATE audit_entry SET %s = %s || 'x' WHERE " WAITS("2"), c, c)
			.ptr;
	}
	case W_MISSING:
		return "DELETE FROM audit_pending WHERE entry_id IN (SELECT entry_id FROM audit_entry "
		       "WHERE " WAITS("2") "); "
					   "DELETE FROM audit_entry WHERE " WAITS("2");
	case W_ROW_GONE:
		return "DELETE FROM audit_entry WHERE " WAITS("3");
	default: /* W_REPLAY */
		return "ATTACH 'old.db' AS old; DROP INDEX audit_entry_by_number; "
		       "INSERT INTO audit_entry SELECT * FROM old.audit_entry WHERE " WAITS(
			       "3") "; "
				    "INSERT INTO audit_pending SELECT org_id, entry_id FROM old.audit_entry "
				    "WHERE " WAITS("3");
	}
}

static void
tamper_waiting(struct rig *r, enum waiting_change change)
{
	static const char *const names[] = { "forged", "bare", "changed", "missing", "row gone", "replayed" };
	struct sealed done;
	status s;

	put_database(r, r->clean);
	if (change == W_REPLAY) {
		write_file(path(r, "old.db"), add_waiting(r, true));
		put_database(r, r->clean);
	}
	(void)add_waiting(r, false);
	attack_open(r);
	CHECK(chdir(r->dir) == 0);
	CHECK(attack(change_waiting(r, change)) > 0);
	attack_close();
	open_database(r);
	s = audit_seal(&r->cx, r->org, path(r, "held"), &done);
	close_database(r);
	judge(r, arena_printf(&r->arena, "waiting, %s: the sealer", names[change]).ptr,
		s == E_CONFLICT ? STR("refused") : STR(""));
	ctx_clear(&r->cx);
	judge(r, arena_printf(&r->arena, "waiting, %s: the verification", names[change]).ptr,
		verify_stored(r));
}

static void
one_case(struct rig *r)
{
	uint64_t kind = draw(r, 100);

	if (kind < 45)
		tamper_export(r, (enum export_change)draw(r, E_CHANGES));
	else if (kind < 90)
		tamper_stored(r, (enum stored_change)draw(r, S_CHANGES));
	else if (kind < 92)
		tamper_fork(r);
	else if (kind < 97)
		tamper_waiting(r, (enum waiting_change)draw(r, W_CHANGES));
	else
		tamper_rewrite(r, kind == 99);
}

/* An alarm that always rings is none: without the checkpoint we held, an older whole log is a log. */
static void
control(struct rig *r)
{
	str held = r->held;

	r->held = STR("");
	put_database(r, r->backup);
	if (verify_export(r, r->old_export).len || verify_stored(r).len) {
		(void)printf("the control: an older log does not verify by itself\n");
		r->failed++;
	}
	r->held = held;
}

static int
tamper(struct rig *r, long cases)
{
	make_log(r);
	control(r);
	for (int round = 0; round < 2; round++) { /* the untouched one, before and after */
		put_database(r, r->clean);
		if (verify_export(r, r->export).len || verify_stored(r).len) {
			(void)printf("the untouched log does not verify\n");
			r->failed++;
		} else {
			r->passed++;
		}
		while (round == 0 && r->passed + r->failed < cases + 1) {
			struct arena_mark mark = arena_mark(&r->arena);

			one_case(r);
			ctx_clear(&r->cx);
			arena_rewind(&r->arena, mark);
		}
	}
	(void)printf("%ld passed, %ld failed\n", r->passed, r->failed);
	return r->failed != 0;
}

/* --- figures --- */

static void
report(const char *what, int64_t entries, int64_t from_us)
{
	double seconds = (double)(clock_mono_us() - from_us) / 1e6;

	(void)printf("%s: %" PRId64 " entries in %.2f s, %.0f/s\n", what, entries, seconds,
		(double)entries / seconds);
}

/* An export of this many entries, as a server would have written it. */
static void
write_export(struct rig *r, int64_t entries)
{
	FILE *f = fopen(path(r, "body"), "w");
	FILE *whole = fopen(path(r, "export"), "w");
	struct merkle_edge edge = { .size = 0 };
	struct checkpoint c = { .origin = checkpoint_origin(&r->arena, r->org), .size = (uint64_t)entries };
	struct merkle_done done[MERKLE_LEVELS];
	char chunk[65536];
	size_t n;
	str head;

	CHECK(f && whole);
	for (int64_t i = 0; i < entries; i++) {
		struct arena_mark mark = arena_mark(&r->arena);
		struct audit_row row = { .action = STR("tool.executed"),
			.actor_id = id_new(&r->arena),
			.actor_type = STR("agent_token"),
			.agent_id = id_new(&r->arena),
			.at = clock_now_us(),
			.delegator_id = id_new(&r->arena),
			.id = id_new(&r->arena),
			.org_id = r->org,
			.proposal_id = id_new(&r->arena),
			.reason = STR("proposal:0192f3c4-5e6a-7c1d-8a3f-2b1c9d0e4f55"),
			.resource_id = id_new(&r->arena),
			.resource_type = STR("note"),
			.risk = STR("low"),
			.args_hash = random_hex(&r->arena, 32),
			.after_hash = random_hex(&r->arena, 32),
			.tool = STR("note.update"),
			.transport = STR("mcp"),
			.version = i };
		struct merkle_hash leaf;
		str line;

		must(r, audit_row_leaf(&r->cx, &row, &line), "leaf");
		merkle_leaf(line, &leaf);
		(void)merkle_append(&edge, &leaf, done);
		CHECK(fwrite(line.ptr, 1, line.len, f) == line.len && fputc('\n', f) == '\n');
		arena_rewind(&r->arena, mark);
	}
	CHECK(fclose(f) == 0);
	merkle_root(&edge, &c.root);
	head = audit_export_header(&r->arena, r->key, checkpoint_sign(&r->arena, &r->keys, &c));
	CHECK(fwrite(head.ptr, 1, head.len, whole) == head.len);
	f = fopen(path(r, "body"), "r");
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		CHECK(fwrite(chunk, 1, n, whole) == n);
	CHECK(fclose(f) == 0 && fclose(whole) == 0);
}

static int
measure(struct rig *r, int64_t entries)
{
	struct audit_report found;
	int64_t from_us;

	write_export(r, entries);
	from_us = clock_mono_us();
	must(r, audit_verify_file(&r->cx, path(r, "export"), r->key, STR(""), &found), "verify");
	report("verify export", found.entries, from_us);
	(void)printf("%.*s\n", STR_ARG(found.problem.len ? found.problem : STR("verified")));
	return found.problem.len != 0;
}

static status
many_tx(struct ctx *cx, void *arg)
{
	const int64_t *count = arg;
	struct audit_entry e = {
		.action = AUDIT_TOOL_EXECUTED, .tool = STR("note.get"), .args_hash = STR("0123456789abcdef")
	};

	for (int64_t i = 0; i < *count; i++) {
		struct arena_mark mark = arena_mark(cx->arena);

		TRY(audit_add(cx, &e, NULL));
		arena_rewind(cx->arena, mark);
	}
	return OK;
}

static int
measure_database(struct rig *r, int64_t entries)
{
	struct audit_report found;
	int64_t from_us = clock_mono_us();

	open_database(r);
	for (int64_t left = entries; left > 0; left -= 10000) {
		int64_t count = left < 10000 ? left : 10000;

		must(r, tx_run(&r->cx, many_tx, &count), "add");
	}
	report("add", entries, from_us);
	from_us = clock_mono_us();
	seal(r);
	report("seal", entries, from_us);
	from_us = clock_mono_us();
	must(r, audit_verify_database(&r->cx, r->org, STR(""), STR(""), &found), "verify");
	report("verify database", found.entries, from_us);
	(void)printf("%.*s\n", STR_ARG(found.problem.len ? found.problem : STR("verified")));
	close_database(r);
	return found.problem.len != 0;
}

/* --- main --- */

static int
remove_one(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

static void
start(struct rig *r)
{
	const char *tmp = getenv("TMPDIR");

	arena_init(&r->arena, 512 * MIB);
	ctx_init(&r->cx, &r->arena);
	(void)snprintf(r->dir, sizeof(r->dir), "%s/countersign-audit.XXXXXX",
		tmp && strlen(tmp) < 30 ? tmp : "/tmp");
	CHECK(mkdtemp(r->dir) != NULL);
	CHECK(mkdir(path(r, "held"), 0700) == 0);
	must(r, keys_create(&r->cx, path(r, "keys"), &r->keys), "keys");
	r->org = STR("0192f3c4-0000-7000-8000-00000000000a");
	r->key = checkpoint_key_text(&r->arena, checkpoint_origin(&r->arena, r->org), r->keys.sign_public);
	r->caller = (struct caller){ .org_id = r->org, .principal_id = STR("person-1"), .transport = "rest" };
	r->cx.keys = &r->keys;
	r->cx.caller = &r->caller;
}

static int
usage(void)
{
	(void)fprintf(
		stderr, "usage: auditdriver tamper CASES [SEED] | measure ENTRIES | database ENTRIES\n");
	return 2;
}

int
main(int argc, char **argv)
{
	static struct rig r;
	int64_t number = 0, seed = 1;
	int rc;

	if (argc < 3 || !str_to_int(str_of(argv[2]), &number) || number < 1 ||
		(argc > 3 && (!str_to_int(str_of(argv[3]), &seed) || seed == 0)))
		return usage();
	r.random = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15);
	start(&r);
	if (strcmp(argv[1], "tamper") == 0)
		rc = tamper(&r, (long)number);
	else if (strcmp(argv[1], "measure") == 0)
		rc = measure(&r, number);
	else
		rc = strcmp(argv[1], "database") == 0 ? measure_database(&r, number) : usage();
	(void)nftw(r.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_done(&r.arena);
	return rc;
}
