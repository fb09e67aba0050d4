/* SPDX-License-Identifier: Apache-2.0 */
/* AU-1 ... AU-6 on both databases. Each test tries to break one promise. */
#include "tests/unit/core/audit_world.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/scoped.h"
#include "core/audit/seal/chain.h"
#include "core/audit/row.h"
#include "json/canon.h"

#include <pthread.h>
#include <sched.h>
#include <sodium.h>
#include <stdatomic.h>
#include <sys/file.h>

/* --- adding (AU-1, AU-2, AU-3) --- */

static status
add_then_fail(struct ctx *cx, void *arg)
{
	struct add *a = arg;

	TRY(audit_add(cx, &a->entry, &a->id));
	return fail(cx, E_CONFLICT, "no");
}

static status
get_one(struct ctx *cx, void *arg)
{
	struct {
		str org, id;
		struct audit_found found;
	} *g = arg;

	return audit_get(cx, g->org, g->id, NULL, &g->found);
}

static struct audit_found
get(struct world *w, str id)
{
	struct {
		str org, id;
		struct audit_found found;
	} g = { .org = w->org, .id = id };

	assert_status(db_read(&w->cx, get_one, &g), OK);
	return g.found;
}

static status
get_status(struct world *w, str org, str id)
{
	struct {
		str org, id;
		struct audit_found found;
	} g = { .org = org, .id = id };

	return db_read(&w->cx, get_one, &g);
}

static void
an_entry_has_everything_that_was_said_and_who_said_it(void **state)
{
	struct world *w = *state;
	struct audit_entry e = { .action = AUDIT_PROPOSAL_APPLIED,
		.resource_type = STR("note"),
		.resource_key = STR("k"),
		.resource_id = STR("n1"),
		.reason = STR("proposal:p1"),
		.proposal_id = STR("p1"),
		.tool = STR("note.update"),
		.tool_call_id = STR("call-1"),
		.args_hash = STR("abc"),
		.risk = STR("high"),
		.decision = STR("approved"),
		.outcome = STR("applied"),
		.approvers = STR(" [ \"person-2\" ,\"person-3\" ] "),
		.applier_id = STR("person-1"),
		.agent_id = STR("agent-1"),
		.chat_id = STR("chat-1"),
		.prompt_version = STR("v7"),
		.prompt_hash = STR("def"),
		.model = STR("m"),
		.provider = STR("p"),
		.with_override = true,
		.version = 3,
		.before = parse(w, "{\"a\":1}"),
		.after = parse(w, "{\"a\":2}"),
		.subject = STR("person-9") };
	struct audit_found f;

	w->caller.delegator_id = STR("boss");
	w->caller.token_id = STR("token-1");
	w->caller.via_token = true;
	f = get(w, add_entry(w, &e));
	assert_str(f.row.action, "proposal.applied");
	assert_str(f.row.actor_type, "api_token");
	assert_str(f.row.actor_id, "person-1");
	assert_str(f.row.delegator_id, "boss");
	assert_str(f.row.token_id, "token-1");
	assert_str(f.row.transport, "rest");
	assert_str(f.row.approvers, "[\"person-2\",\"person-3\"]");
	assert_str(f.row.reason, "proposal:p1"); /* AU-6 */
	assert_str(f.row.chat_id, "chat-1");
	assert_str(f.row.subject, "person-9");
	assert_true(f.row.with_override && f.row.via_token);
	assert_int_equal(f.row.version, 3);
	assert_int_equal(f.row.before_hash.len, 64);
	assert_false(str_eq(f.row.before_hash, f.row.after_hash));
	assert_int_equal(f.values.state, VAULT_OPEN);
	assert_true(json_equal(f.values.before, e.before));
	assert_true(json_equal(f.values.after, e.after));
	assert_true(json_equal(f.values.diff, parse(w, "[{\"path\":\"/a\",\"before\":1,\"after\":2}]")));
	assert_false(f.sealed);
}

static void
the_actor_is_told_by_the_caller(void **state)
{
	struct world *w = *state;
	struct audit_entry e = { .action = AUDIT_REFUSED, .org_id = w->org };

	assert_str(get(w, add_entry(w, &e)).row.actor_type, "user");
	w->caller.kind = PRINCIPAL_AGENT;
	w->caller.principal_id = STR("agent-7");
	assert_str(get(w, add_entry(w, &e)).row.actor_type, "agent_token");
	assert_str(get(w, add_entry(w, &e)).row.agent_id, "agent-7");
	w->caller.kind = PRINCIPAL_SERVICE;
	assert_str(get(w, add_entry(w, &e)).row.actor_type, "api_token");
	w->cx.caller = NULL;
	assert_str(get(w, add_entry(w, &e)).row.actor_type, "system");
	assert_str(get(w, add_entry(w, &e)).row.transport, "system");
}

static int64_t
count_entries(struct world *w)
{
	struct audit_report r;

	assert_status(audit_verify_database(&w->cx, w->org, STR(""), STR(""), &r), OK);
	assert_str(r.problem, "");
	return r.entries + r.pending;
}

static void
what_is_rolled_back_leaves_no_entry(void **state)
{
	struct world *w = *state;
	struct add a = { .entry = { .action = AUDIT_ORG_CREATED } };

	assert_status(tx_run(&w->cx, add_then_fail, &a), E_CONFLICT);
	assert_int_equal(count_entries(w), 0);
	assert_int_equal(seal(w).entries, 0);
}

static void
an_entry_that_cannot_be_written_fails_the_transaction(void **state)
{
	struct world *w = *state;
	static char long_text[LIMIT_AUDIT_TEXT + 1];
	struct audit_entry wrong[] = {
		{ .action = AUDIT_ORG_CREATED, .reason = { long_text, sizeof(long_text) } },
		{ .action = AUDIT_ORG_CREATED, .approvers = STR("{}") },
		{ .action = AUDIT_ORG_CREATED, .approvers = STR("[") },
		{ .action = AUDIT_ORG_CREATED, .reason = STR("\xff") },
		{ .action = AUDIT_ORG_CREATED, .version = -1 },
		{ .action = AUDIT_ORG_CREATED, .version = INT64_MAX },
		{ .action = AUDIT_ORG_CREATED, .after = parse(w, "{\"n\":12345678901234567890}") },
	};

	memset(long_text, 'x', sizeof(long_text));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct add a = { .entry = wrong[i], .id = STR("untouched") };

		assert_int_not_equal(tx_run(&w->cx, add_tx, &a), OK);
		assert_str(a.id, "untouched");
	}
	w->caller.org_id = STR("");
	assert_int_not_equal(
		tx_run(&w->cx, add_tx, &(struct add){ .entry = { .action = AUDIT_ORG_CREATED } }), OK);
	w->caller.org_id = w->org;
	w->cx.keys = NULL;
	assert_int_not_equal(
		tx_run(&w->cx, add_tx,
			&(struct add){ .entry = { .action = AUDIT_ORG_CREATED, .after = parse(w, "1") } }),
		OK);
	w->cx.keys = &w->keys;
	assert_int_equal(count_entries(w), 0);
}

/* AU-1: the table is gone, so nothing that must be recorded can happen. */
static void
without_the_log_nothing_happens(void **state)
{
	struct world *w = *state;
	struct add a = { .entry = { .action = AUDIT_ORG_CREATED } };

	assert_true(attack(
		w, w->database.postgres
			   ? "ALTER TABLE audit_pending ADD CONSTRAINT never CHECK (org_id = '') NOT VALID"
			   : "CREATE TRIGGER never BEFORE INSERT ON audit_pending BEGIN SELECT RAISE(ABORT, "
			     "'no'); END"));
	assert_int_not_equal(tx_run(&w->cx, add_tx, &a), OK);
	assert_int_equal(count_entries(w), 0);
}

/* --- append-only (AU-1) --- */

static const char *const tables[] = { "audit_entry", "audit_value", "audit_leaf", "audit_node",
	"audit_checkpoint" };

static void
the_database_itself_refuses_changes_to_the_log(void **state)
{
	struct world *w = *state;
	str before, after;

	for (int i = 0; i < 4; i++)
		add_change(w, i, STR("s"));
	seal(w);
	before = read_text(w, export_to(w, AUDIT_JSONL));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		assert_false(attack(w, arena_printf(&w->arena, "UPDATE %s SET org_id = 'x'", tables[i]).ptr));
		assert_false(attack(w, arena_printf(&w->arena, "DELETE FROM %s", tables[i]).ptr));
		assert_false(attack(w, arena_printf(&w->arena, "TRUNCATE %s", tables[i]).ptr));
		if (!w->database.postgres)
			assert_false(attack(w, arena_printf(&w->arena, "REPLACE INTO %s SELECT * FROM %s",
						       tables[i], tables[i])
						       .ptr));
		else
			assert_false(
				attack(w, arena_printf(&w->arena,
						  "INSERT INTO %s SELECT * FROM %s ON CONFLICT ON CONSTRAINT "
						  "%s_pkey DO UPDATE SET org_id = 'x'",
						  tables[i], tables[i], tables[i])
						  .ptr));
	}
	after = read_text(w, export_to(w, AUDIT_JSONL));
	assert_true(str_eq(before, after));
	assert_str(database_problem(w, held_note(w)), "");
}

/* --- the leaf's bytes, computed again by somebody else --- */

static void
the_leaf_is_canonical_json_of_the_columns(void **state)
{
	struct world *w = *state;
	struct audit_row row = { .action = STR("a"),
		.id = STR("1"),
		.org_id = STR("o"),
		.at = INT64_C(1794783104123456),
		.reason = STR("\"\\\n\x01\x7f/ \xc3\xbc \xe2\x80\xa8 \xf0\x9f\x98\x80"),
		.approvers = STR("[\"b\",\"a\"]"),
		.version = 7,
		.with_override = true,
		.tool = STR("t"),
		.tool_call_id = STR("c"),
		.transport = STR("rest"),
		.via_token = true };
	struct json *doc;
	str leaf, canonical;

	assert_status(audit_row_leaf(&w->cx, &row, &leaf), OK);
	assert_str(leaf, "{\"action\":\"a\",\"approvers\":[\"b\",\"a\"],\"at\":1794783104123456,\"id\":\"1\","
			 "\"orgId\":\"o\",\"reason\":\"\\\"\\\\\\n\\u0001\x7f/ \xc3\xbc \xe2\x80\xa8 "
			 "\xf0\x9f\x98\x80\","
			 "\"tool\":\"t\",\"toolCallId\":\"c\",\"transport\":\"rest\",\"v\":1,\"version\":7,"
			 "\"viaToken\":true,\"withOverride\":true}");
	assert_status(json_parse(&w->cx, leaf, &doc), OK);
	assert_status(canon_text(&w->cx, doc, &canonical), OK);
	assert_true(str_eq(leaf, canonical));
}

static void
all_columns_stand_in_canonical_order(void **state)
{
	struct world *w = *state;
	struct audit_row row;
	struct json *doc;
	str leaf, canonical;

#define FULL_TEXT(name) STR(name)
#define FULL_JSON(name) STR("[]")
#define FULL_INT(name)	1
#define FULL_BOOL(name) true
	row = (struct audit_row){
#define X(type, member, key, doc) .member = FULL_##type(key),
		AUDIT_COLUMNS(X)
#undef X
	};
	assert_status(audit_row_leaf(&w->cx, &row, &leaf), OK);
	assert_status(json_parse(&w->cx, leaf, &doc), OK);
	assert_int_equal(doc->count, 37); /* 36 columns and v */
	assert_status(canon_text(&w->cx, doc, &canonical), OK);
	assert_true(str_eq(leaf, canonical));
}

/* What docs/audit.md tells an outsider to do, in a few lines that share nothing with verify.c. */
static void
hash_lines(str lines, size_t *out_count, unsigned char out[][32])
{
	str line;

	*out_count = 0;
	while (str_cut(lines, '\n', &line, &lines)) {
		crypto_hash_sha256_state s;

		crypto_hash_sha256_init(&s);
		crypto_hash_sha256_update(&s, (const unsigned char *)"", 1);
		crypto_hash_sha256_update(&s, (const unsigned char *)line.ptr, line.len);
		crypto_hash_sha256_final(&s, out[(*out_count)++]);
	}
}

static void
fold(unsigned char hashes[][32], size_t n, unsigned char out[32])
{
	unsigned char both[65] = { 1 };
	size_t k = 1;

	if (n == 1) {
		memcpy(out, hashes[0], 32);
		return;
	}
	while (2 * k < n)
		k *= 2;
	fold(hashes, k, both + 1);
	fold(hashes + k, n - k, both + 33);
	crypto_hash_sha256(out, both, 65);
}

static void
an_outsider_gets_the_signed_root_from_the_lines(void **state)
{
	struct world *w = *state;
	unsigned char hashes[64][32], root[32];
	char base64[64];
	str text, first;
	size_t count;

	for (int i = 0; i < 37; i++)
		i % 3 ? add_plain(w, i) : add_change(w, i, STR(""));
	seal(w);
	text = read_text(w, export_to(w, AUDIT_JSONL));
	assert_true(str_cut(text, '\n', &first, &text));
	hash_lines(text, &count, hashes);
	assert_int_equal(count, 37);
	fold(hashes, count, root);
	(void)sodium_bin2base64(base64, sizeof(base64), root, 32, sodium_base64_VARIANT_ORIGINAL);
	assert_non_null(strstr(arena_cstr(&w->arena, held_note(w)), base64));
	assert_non_null(strstr(arena_cstr(&w->arena, first), base64));
}

/* --- sealing (AU-4) --- */

static void
entries_become_leaves_in_order_and_a_checkpoint_is_signed(void **state)
{
	struct world *w = *state;
	struct sealed done;
	struct audit_report r;
	str first, last;

	first = add_plain(w, 0);
	add_plain_many(w, 598); /* more than two batches */
	last = add_plain(w, 599);
	done = seal(w);
	assert_int_equal(done.size, 600);
	assert_int_equal(done.entries, 600);
	assert_true(done.signed_now);
	assert_true(get(w, first).sealed);
	assert_int_equal(get(w, first).leaf_index, 0);
	assert_int_equal(get(w, last).leaf_index, 599);
	done = seal(w);
	assert_int_equal(done.entries, 0);
	assert_false(done.signed_now);
	assert_status(audit_verify_database(&w->cx, w->org, STR(""), held_note(w), &r), OK);
	assert_str(r.problem, "");
	assert_int_equal(r.entries, 600);
	assert_int_equal(r.checkpoints, 2); /* the stored one and the held one */
}

struct proofs {
	str org, id;
	int64_t from, to;
	struct audit_inclusion inclusion;
	struct audit_consistency consistency;
	struct tree_checkpoint checkpoint;
};

static status
prove_inclusion(struct ctx *cx, void *arg)
{
	struct proofs *p = arg;

	return audit_inclusion(cx, p->org, p->id, &p->inclusion);
}

static status
prove_consistency(struct ctx *cx, void *arg)
{
	struct proofs *p = arg;

	return audit_consistency(cx, p->org, p->from, p->to, &p->consistency);
}

static void
every_entry_has_a_proof_against_the_newest_checkpoint(void **state)
{
	struct world *w = *state;
	struct checkpoint_key key;
	str ids[23];

	for (int i = 0; i < 20; i++)
		ids[i] = add_plain(w, i);
	seal(w);
	for (int i = 20; i < 23; i++)
		ids[i] = add_plain(w, i);
	assert_status(db_read(&w->cx, prove_inclusion, &(struct proofs){ .org = w->org, .id = ids[22] }),
		E_UNAVAILABLE);
	seal(w);
	assert_status(checkpoint_key_parse(&w->cx, public_key(w), &key), OK);
	for (int i = 0; i < 23; i++) {
		struct proofs p = { .org = w->org, .id = ids[i] };
		struct merkle_hash leaf;
		struct checkpoint c;

		assert_status(db_read(&w->cx, prove_inclusion, &p), OK);
		assert_int_equal(p.inclusion.leaf_index, i);
		merkle_leaf(p.inclusion.leaf, &leaf);
		assert_status(checkpoint_open(&w->cx, p.inclusion.checkpoint.note, &key, &c), OK);
		assert_true(merkle_verify_inclusion(&leaf, (uint64_t)i, c.size, &p.inclusion.proof, &c.root));
	}
	assert_status(db_read(&w->cx, prove_inclusion, &(struct proofs){ .org = w->org, .id = STR("no") }),
		E_NOT_FOUND);
	assert_status(db_read(&w->cx, prove_inclusion, &(struct proofs){ .org = STR("other"), .id = ids[0] }),
		E_NOT_FOUND);
}

static void
sizes_are_consistent_and_wrong_sizes_are_refused(void **state)
{
	struct world *w = *state;

	assert_status(db_read(&w->cx, prove_consistency, &(struct proofs){ .org = w->org, .from = 1 }),
		E_NOT_FOUND);
	for (int i = 0; i < 21; i++)
		add_plain(w, i);
	seal(w);
	for (int64_t to = 1; to <= 21; to++) {
		for (int64_t from = 1; from <= to; from++) {
			struct proofs p = { .org = w->org, .from = from, .to = to };

			assert_status(db_read(&w->cx, prove_consistency, &p), OK);
			assert_true(merkle_verify_consistency((uint64_t)from, &p.consistency.from_root,
				(uint64_t)to, &p.consistency.to_root, &p.consistency.proof));
		}
	}
	assert_status(
		db_read(&w->cx, prove_consistency, &(struct proofs){ .org = w->org, .from = 0, .to = 5 }),
		E_INVALID);
	assert_status(
		db_read(&w->cx, prove_consistency, &(struct proofs){ .org = w->org, .from = 6, .to = 5 }),
		E_INVALID);
	assert_status(
		db_read(&w->cx, prove_consistency, &(struct proofs){ .org = w->org, .from = 6, .to = 22 }),
		E_INVALID);
}

struct other_sealer {
	struct world *w;
	atomic_bool over;
	status result;
};

static void *
seal_elsewhere(void *arg)
{
	struct other_sealer *o = arg;
	struct sealed done;
	struct arena a;
	struct ctx cx;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	cx.db = o->w->cx.db;
	cx.keys = &o->w->keys;
	o->result = audit_seal(&cx, o->w->org, o->w->held, &done);
	arena_done(&a);
	atomic_store(&o->over, true);
	return NULL;
}

/* Does somebody wait for the lock of this file? The kernel marks who waits with an arrow. */
static bool
is_waited_for(int fd)
{
	char line[256], inode[32];
	FILE *f = fopen("/proc/locks", "re");
	bool found = false;
	struct stat st;

	assert_non_null(f);
	assert_int_equal(fstat(fd, &st), 0);
	(void)snprintf(inode, sizeof(inode), ":%" PRIu64 " ", (uint64_t)st.st_ino);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "-> FLOCK") && strstr(line, inode);
	(void)fclose(f);
	return found;
}

/* Two processes with one folder of held checkpoints: the second looks at the head only when the first has signed. */
static void
who_signs_waits_for_who_has_the_folder(void **state)
{
	struct world *w = *state;
	struct other_sealer o = { .w = w };
	scoped_fd fd =
		open(arena_printf(&w->arena, "%s/lock", w->held).ptr, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pthread_t thread;

	add_plain(w, 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(pthread_create(&thread, NULL, seal_elsewhere, &o), 0);
	while (!atomic_load(&o.over) && !is_waited_for(fd))
		(void)sched_yield();
	assert_false(atomic_load(&o.over));
	assert_str(held_note(w), "");
	assert_int_equal(flock(fd, LOCK_UN), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_status(o.result, OK);
	assert_true(str_starts(held_note(w), STR("countersign/")));
}

#ifdef COUNTERSIGN_FAULTS
static void
a_stop_between_sealing_and_publishing_is_made_up_for(void **state)
{
	struct world *w = *state;
	struct sealed done;

	add_plain(w, 0);
	assert_true(fault_arm("seal_after_commit:1:fail"));
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), E_UNAVAILABLE);
	assert_str(held_note(w), "");
	assert_true(seal(w).signed_now); /* no entry is pending, a checkpoint is */
	add_plain(w, 1);
	assert_true(fault_arm("seal_after_held:1:fail"));
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), E_UNAVAILABLE);
	assert_true(str_starts(held_note(w), STR("countersign/")));
	assert_true(seal(w).signed_now);
	assert_false(seal(w).signed_now);
	assert_str(database_problem(w, held_note(w)), "");
}
#endif

/* --- many at once --- */

#define WRITERS 4
#define EACH	60

static void *
write_many(void *arg)
{
	struct world *w = arg;
	struct arena a;
	struct ctx cx;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	cx.db = w->cx.db;
	cx.keys = w->cx.keys;
	cx.caller = w->cx.caller;
	for (int i = 0; i < EACH; i++) {
		struct add add = { .entry = { .action = AUDIT_TOOL_EXECUTED, .tool = STR("note.get") } };
		struct json *doc;

		CHECK(json_parse(&cx, STR("{\"x\":1}"), &doc) == OK);
		add.entry.after = i % 3 ? NULL : doc;
		add.entry.subject = i % 2 ? STR("one") : STR("two");
		CHECK(tx_run(&cx, add_tx, &add) == OK);
		arena_reset(&a);
	}
	arena_done(&a);
	return NULL;
}

static void
writers_and_sealers_at_once_leave_one_log(void **state)
{
	struct world *w = *state;
	struct sealer_options o = { .db = w->cx.db, .keys = &w->keys, .held_dir = w->held, .interval_ms = 5 };
	struct sealer *sealers[2];
	struct sealer_stats b;
	pthread_t threads[WRITERS];
	struct audit_report r;

	for (size_t i = 0; i < 2; i++)
		assert_status(sealer_start(&w->cx, &o, &sealers[i]), OK);
	for (size_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, w), 0);
	for (size_t i = 0; i < WRITERS; i++) {
		sealer_kick(sealers[i % 2]);
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	sealer_stop(sealers[0]);
	sealer_stats(sealers[1], &b);
	sealer_stop(sealers[1]);
	assert_int_equal(b.refused, 0);
	assert_status(audit_verify_database(&w->cx, w->org, STR(""), held_note(w), &r), OK);
	assert_str(r.problem, "");
	assert_int_equal(r.entries, WRITERS * EACH);
	assert_int_equal(r.pending, 0);
	assert_int_equal(r.values, WRITERS * EACH / 3);
	assert_true(str_starts(held_note(w),
		arena_printf(&w->arena, "countersign/%.*s\n%d\n", STR_ARG(w->org), WRITERS * EACH)));
}

static void
the_sealer_signs_by_itself(void **state)
{
	struct world *w = *state;
	struct sealer_options o = { .db = w->cx.db,
		.keys = &w->keys,
		.held_dir = arena_printf(&w->arena, "%s/new", w->dir.path).ptr,
		.interval_ms = 1 };
	struct sealer_stats stats = { .rounds = 0 };
	struct sealer *s;

	assert_status(
		sealer_start(&w->cx, &o, &s), OK); /* what was there before it seals at once (begin.h) */
	add_plain(w, 0);
	while (stats.checkpoints == 0) {
		sealer_stats(s, &stats);
		(void)sched_yield();
	}
	assert_int_equal(stats.entries, 1);
	sealer_stop(s);
	sealer_stop(NULL);
	o.held_dir = "/dev/null/x";
	assert_status(sealer_start(&w->cx, &o, &s), E_UNAVAILABLE);
}

/* --- how soon: within two seconds of an entry (AU-4) --- */

/* An entry that just misses a round waits one interval and two rounds. */
_Static_assert(LIMIT_AUDIT_SEAL_MS <= 1000, "a second is left for the rounds themselves");

struct many {
	int64_t count;
};

static status
add_many(struct ctx *cx, void *arg)
{
	const struct many *m = arg;

	for (int64_t i = 0; i < m->count; i++)
		TRY(audit_add(cx, &(struct audit_entry){ .action = AUDIT_REFUSED }, NULL));
	return OK;
}

static void
one_round_signs_for_everything_that_was_there(void **state)
{
	struct world *w = *state;
	struct many few = { 3 }, many = { 2 * LIMIT_AUDIT_BATCH + 1 };
	struct sealed done = { .size = 0 };

	assert_status(tx_run(&w->cx, add_many, &few), OK);
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), OK);
	assert_int_equal(done.size, 3);
	assert_true(done.signed_now && !done.more);
	assert_status(tx_run(&w->cx, add_many, &many), OK);
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), OK);
	assert_int_equal(
		done.entries, many.count); /* more than one transaction of the sealer's, one signature */
	assert_true(done.signed_now && !done.more);
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), OK);
	assert_false(done.signed_now || done.more); /* nothing new, nothing signed */
}

static void
a_log_that_never_rests_is_signed_all_the_same(void **state)
{
	struct world *w = *state;
	struct sealer_options o = {
		.db = w->cx.db, .keys = &w->keys, .held_dir = w->held, .interval_ms = 3600 * 1000
	};
	struct many many = { LIMIT_AUDIT_ROUND + 1 };
	struct sealer_stats stats = { .rounds = 0 };
	struct sealer *s;

	assert_status(
		sealer_start(&w->cx, &o, &s), OK); /* what was there before it seals at once (begin.h) */
	assert_status(tx_run(&w->cx, add_many, &many), OK);
	sealer_kick(s);
	while (stats.entries < many.count) { /* or for an hour */
		sealer_stats(s, &stats);
		(void)sched_yield();
	}
	assert_true(
		stats.checkpoints >= 2); /* one before all were sealed, and on at once without another kick */
	sealer_stop(s);
}

/* --- rollback and fork --- */

static void
copy_database(struct world *w, const char *from, const char *to)
{
	static const char *const files[] = { "countersign.db", "countersign.db-wal", "countersign.db-shm" };

	for (size_t i = 0; i < 3; i++) {
		const char *a = arena_printf(&w->arena, "%s/%s", from, files[i]).ptr;
		const char *b = arena_printf(&w->arena, "%s/%s", to, files[i]).ptr;

		(void)unlink(b);
		if (access(a, R_OK) == 0)
			write_text(b, read_text(w, a));
	}
}

static void
a_restored_backup_is_noticed_and_never_signed(void **state)
{
	struct world *w = *state;
	const char *backup = arena_printf(&w->arena, "%s/backup", w->dir.path).ptr;
	struct sealed done;
	str held;

	if (w->database.postgres) {
		print_message("skipped on PostgreSQL: a copy of files is SQLite's kind of backup\n");
		skip();
	}
	CHECK(mkdir(backup, 0700) == 0);
	for (int i = 0; i < 10; i++)
		add_plain(w, i);
	seal(w);
	world_close(w);
	copy_database(w, w->database.dir.path, backup);
	world_open(w);
	for (int i = 10; i < 20; i++)
		add_plain(w, i);
	seal(w);
	held = held_note(w);

	world_close(w);
	copy_database(w, backup, w->database.dir.path);
	world_open(w);
	assert_str(database_problem(w, STR("")), ""); /* by itself it is whole */
	assert_true(str_starts(database_problem(w, held), STR("the log was cut or rolled back")));
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), E_CONFLICT);
	assert_true(str_starts(
		ctx_message(&w->cx, E_CONFLICT), STR("the audit log is smaller than a checkpoint")));
	for (int i = 0; i < 15; i++) { /* grows past the held size: now it is a fork */
		add_plain(w, 100 + i);
		assert_status(audit_seal(&w->cx, w->org, w->held, &done), E_CONFLICT);
	}
	assert_true(str_starts(
		ctx_message(&w->cx, E_CONFLICT), STR("the audit log does not continue a checkpoint")));
	assert_true(
		str_starts(database_problem(w, held), STR("entries were changed: the first 20 do not give")));
	assert_true(str_eq(held_note(w), held));
}

static void
a_refusing_sealer_says_so(void **state)
{
	struct world *w = *state;
	struct sealer_options o = { .db = w->cx.db, .keys = &w->keys, .held_dir = w->held, .interval_ms = 1 };
	struct sealer_stats stats = { .rounds = 0 };
	struct checkpoint other = { .origin = checkpoint_origin(&w->arena, w->org), .size = 99 };
	struct sealer *s;

	assert_status(held_write(&w->cx, w->held, w->org, checkpoint_sign(&w->arena, &w->keys, &other)), OK);
	add_plain(w, 0);
	assert_status(sealer_start(&w->cx, &o, &s), OK);
	while (stats.refused == 0) {
		sealer_stats(s, &stats);
		(void)sched_yield();
	}
	sealer_stop(s);
	assert_int_equal(stats.checkpoints, 0);
}

static void
a_held_checkpoint_that_was_changed_stops_the_signer(void **state)
{
	struct world *w = *state;
	struct sealed done;
	str note;

	add_plain(w, 0);
	seal(w);
	note = held_note(w);
	add_plain(w, 1);
	assert_status(held_write(&w->cx, w->held, w->org, (str){ note.ptr, note.len - 5 }), OK);
	assert_status(audit_seal(&w->cx, w->org, w->held, &done), E_CONFLICT);
	assert_status(audit_seal(&w->cx, w->org, "/nowhere", &done), E_UNAVAILABLE);
	assert_status(held_read(&w->cx, w->held, STR("../etc"), &note), E_INVALID);
	assert_status(held_write(&w->cx, "/dev/null", w->org, note), E_UNAVAILABLE);
	assert_status(held_read(&w->cx, "/dev/null", w->org, &note), E_UNAVAILABLE);
}

/* --- erasure (AU-5) --- */

struct erase {
	str org, subject, id;
};

static status
erase_tx(struct ctx *cx, void *arg)
{
	struct erase *e = arg;

	return audit_erase(cx, e->org, e->subject, &e->id);
}

static void
erased_values_are_unreadable_and_every_proof_stays_valid(void **state)
{
	struct world *w = *state;
	struct erase erase = { .org = w->org, .subject = STR("ann") };
	struct audit_report r;
	struct audit_found f;
	str ann, bob, before, after, held;

	ann = add_change(w, 1, STR("ann"));
	bob = add_change(w, 2, STR("bob"));
	seal(w);
	held = held_note(w);
	before = read_text(w, export_to(w, AUDIT_JSONL));
	assert_status(tx_run(&w->cx, erase_tx, &erase), OK);
	assert_int_equal(get(w, ann).values.state, VAULT_ERASED);
	assert_null(get(w, ann).values.after);
	assert_int_equal(get(w, bob).values.state, VAULT_OPEN);
	f = get(w, erase.id);
	assert_str(f.row.action, "subject.erased");
	assert_str(f.row.resource_id, "ann");
	seal(w);
	after = read_text(w, export_to(w, AUDIT_JSONL));
	assert_non_null(memmem(after.ptr, after.len, memchr(before.ptr, '\n', before.len),
		before.len - (size_t)((const char *)memchr(before.ptr, '\n', before.len) - before.ptr)));
	assert_status(audit_verify_database(&w->cx, w->org, STR(""), held, &r), OK);
	assert_str(r.problem, "");
	assert_int_equal(r.erased, 1);
	assert_int_equal(r.values, 1);
	assert_status(tx_run(&w->cx, erase_tx, &erase), E_NOT_FOUND); /* twice */
	add_change(w, 3, STR("ann"));				      /* life goes on, with a new key */
	assert_int_equal(get(w, ann).values.state, VAULT_ERASED);
	assert_str(database_problem(w, held), "");
	assert_status(tx_run(&w->cx, erase_tx, &(struct erase){ .org = w->org }), E_INVALID);
	assert_status(tx_run(&w->cx, erase_tx, &(struct erase){ .org = w->org, .subject = STR("zoe") }),
		E_NOT_FOUND);
}

static void
values_and_hashes_say_nothing_to_who_reads_the_files(void **state)
{
	struct world *w = *state;
	str file, a, b;

	a = add_change(w, 1, STR("ann"));
	b = add_change(w, 1, STR("ann"));
	assert_false(
		str_eq(get(w, a).row.after_hash, get(w, b).row.after_hash)); /* same value, another salt */
	if (w->database.postgres)
		return;
	world_close(w); /* checkpoints the WAL into the file */
	file = read_text(w, arena_printf(&w->arena, "%s/countersign.db", w->database.dir.path).ptr);
	assert_null(memmem(file.ptr, file.len, "violet", 6));
	world_open(w);
}

static void
a_key_that_vanishes_without_an_entry_is_noticed(void **state)
{
	struct world *w = *state;

	add_change(w, 1, STR("ann"));
	seal(w);
	assert_true(attack(w, "DELETE FROM audit_subject_key"));
	assert_true(str_starts(database_problem(w, held_note(w)), STR("the key of entry ")));
}

static void
changed_values_are_noticed(void **state)
{
	struct world *w = *state;
	static const char *const attacks[] = {
		"UPDATE audit_value SET key_id = 'x'",
		"DELETE FROM audit_value",
	};
	str id = add_change(w, 1, STR("ann"));

	seal(w);
	assert_true(attack_unguarded(w, "audit_value",
		w->database.postgres
			? "UPDATE audit_value SET sealed = set_byte(sealed, 30, get_byte(sealed, 30) # 1)"
			: "UPDATE audit_value SET sealed = zeroblob(length(sealed))"));
	assert_int_equal(get(w, id).values.state, VAULT_BROKEN);
	assert_true(str_starts(database_problem(w, held_note(w)), STR("the values of entry ")));
	for (size_t i = 0; i < 2; i++) {
		assert_true(attack_unguarded(w, "audit_value", attacks[i]));
		assert_int_not_equal(get(w, id).values.state, VAULT_OPEN);
		assert_int_not_equal(database_problem(w, held_note(w)).len, 0);
	}
}

static void
another_key_file_opens_nothing(void **state)
{
	struct world *w = *state;
	struct keys other;
	struct audit_report r;
	str id = add_change(w, 1, STR("ann"));

	assert_status(keys_create(&w->cx, arena_printf(&w->arena, "%s/other", w->dir.path).ptr, &other), OK);
	w->cx.keys = &other;
	assert_int_equal(get(w, id).values.state, VAULT_BROKEN);
	assert_int_not_equal(tx_run(&w->cx, add_tx,
				     &(struct add){ .entry = { .action = AUDIT_RECORD_CREATED,
							    .after = parse(w, "1"),
							    .subject = STR("ann") } }),
		OK);
	w->cx.keys = NULL; /* without keys, the public key must be said, and values are not looked at */
	assert_status(audit_verify_database(&w->cx, w->org, STR(""), STR(""), &r), E_INVALID);
	assert_status(audit_verify_database(&w->cx, w->org, public_key(w), STR(""), &r), OK);
	assert_str(r.problem, "");
	assert_int_equal(r.values, 0);
	assert_status(audit_verify_database(&w->cx, STR("org-2"), public_key(w), STR(""), &r), E_INVALID);
	w->cx.keys = &w->keys;
}

/* --- changes past the triggers, and what the verification says --- */

static void
what_was_changed_past_the_triggers_is_named(void **state)
{
	static const struct {
		const char *table, *sql, *problem;
	} cases[] = {
		{ "audit_entry", "UPDATE audit_entry SET actor_id = 'mallory' WHERE tool = 'note.update'",
			"the entry " },
		{ "audit_entry", "UPDATE audit_entry SET version = version + 1", "the entry " },
		{ "audit_entry", "DELETE FROM audit_entry WHERE tool = 'note.update'", "the entry " },
		{ "audit_leaf", "DELETE FROM audit_leaf WHERE leaf_index = 3", "the leaf 3 is missing" },
		{ "audit_leaf", "DELETE FROM audit_leaf WHERE leaf_index >= 5",
			"there are stored hashes that no entry gives" },
		{ "audit_node", "DELETE FROM audit_node WHERE last_leaf = 7 AND level = 2",
			"a stored hash above entry 7" },
		{ "audit_node", "DELETE FROM audit_node", "a stored hash above entry 1" },
		{ "audit_node", "UPDATE audit_node SET level = 9 WHERE level = 1",
			"a stored hash above entry 1" },
		{ "audit_checkpoint", "UPDATE audit_checkpoint SET note = 'x'",
			"the stored checkpoint of 9 entries" },
		{ "audit_checkpoint", "UPDATE audit_checkpoint SET size = 8", "entries were changed" },
		{ "audit_head", "UPDATE audit_head SET size = 8", "the head of the audit log was changed" },
		{ "audit_pending",
			"INSERT INTO audit_pending (org_id, entry_id) SELECT org_id, 'zzz' FROM audit_head",
			"entries were added or removed" },
	};
	struct world *w = *state;
	const char *clean = arena_printf(&w->arena, "%s/clean", w->dir.path).ptr;
	str held;

	if (w->database.postgres) {
		print_message("skipped on PostgreSQL: the clean state is restored by a copy of files\n");
		skip();
	}
	for (int i = 0; i < 9; i++)
		add_change(w, i, STR(""));
	seal(w);
	held = held_note(w);
	world_close(w);
	CHECK(mkdir(clean, 0700) == 0);
	copy_database(w, w->database.dir.path, clean);
	world_open(w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		str found;

		assert_true(attack_unguarded(w, cases[i].table, cases[i].sql));
		found = database_problem(w, held);
		if (!str_starts(found, str_of(cases[i].problem)))
			print_error("%s: %.*s\n", cases[i].sql, STR_ARG(found));
		assert_true(str_starts(found, str_of(cases[i].problem)));
		world_close(w);
		copy_database(w, clean, w->database.dir.path);
		world_open(w);
		assert_str(database_problem(w, held), "");
	}
}

/* --- lists --- */

struct listing {
	str org;
	struct audit_filter filter;
	struct audit_page page;
};

static status
list_read(struct ctx *cx, void *arg)
{
	struct listing *l = arg;

	return audit_list(cx, l->org, &l->filter, &l->page);
}

/* How many entries all pages have together; ids must come strictly newest first. */
static size_t
list_all(struct world *w, struct audit_filter f)
{
	struct listing l = { .org = w->org, .filter = f };
	str before = STR("z");
	size_t total = 0;

	do {
		assert_status(db_read(&w->cx, list_read, &l), OK);
		for (size_t i = 0; i < l.page.count; i++) {
			assert_true(str_cmp(l.page.rows[i].id, before) < 0);
			before = l.page.rows[i].id;
		}
		total += l.page.count;
		l.filter.cursor = l.page.next;
	} while (l.page.next.len);
	return total;
}

static void
a_list_pages_through_everything_once(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 47; i++)
		add_plain(w, i);
	for (int64_t limit = 1; limit <= 50; limit += 7)
		assert_int_equal(list_all(w, (struct audit_filter){ .limit = limit }), 47);
	assert_status(
		db_read(&w->cx, list_read,
			&(struct listing){ .org = w->org, .filter = { .limit = 5, .cursor = STR("x'--") } }),
		E_INVALID);
	assert_int_equal(
		list_all(w, (struct audit_filter){ .limit = 5, .want = { .org_id = STR("other") } }), 0);
}

static void
every_column_filters(void **state)
{
	struct world *w = *state;
	struct audit_entry e = { .action = AUDIT_PROPOSAL_DENIED,
		.resource_type = STR("rt"),
		.resource_key = STR("rk"),
		.resource_id = STR("ri"),
		.reason = STR("why"),
		.proposal_id = STR("pr"),
		.tool = STR("to"),
		.tool_call_id = STR("tc"),
		.args_hash = STR("ah"),
		.risk = STR("low"),
		.decision = STR("denied"),
		.outcome = STR("ou"),
		.approvers = STR("[\"p1\",\"p2\"]"),
		.applier_id = STR("ap"),
		.agent_id = STR("ag"),
		.chat_id = STR("ch"),
		.prompt_version = STR("pv"),
		.prompt_hash = STR("ph"),
		.model = STR("mo"),
		.provider = STR("pv"),
		.with_override = true,
		.version = 4,
		.before = parse(w, "1"),
		.after = parse(w, "2"),
		.subject = STR("su") };
	struct audit_chain chain = { .proposal_id = e.proposal_id, .number = 1 };
	struct audit_row full;
	str id;

	e.chain = &chain;
	w->caller.via_token = true;
	w->caller.token_id = STR("ti");
	w->caller.delegator_id = STR("de");
	w->caller.principal_id = STR("unique");
	w->caller.transport = "mcp";
	id = add_entry(w, &e);
	w->caller = (struct caller){ .org_id = w->org, .kind = PRINCIPAL_USER, .principal_id = STR("p") };
	for (int i = 0; i < 10; i++)
		add_plain(w, i);
	full = get(w, id).row;
#define WANT_TEXT(member) (struct audit_row){ .member = full.member }
#define WANT_INT(member)                                                                                     \
	(struct audit_row)                                                                                   \
	{                                                                                                    \
		.member = full.member                                                                        \
	}
#define WANT_BOOL(member)                                                                                    \
	(struct audit_row)                                                                                   \
	{                                                                                                    \
		.member = full.member                                                                        \
	}
#define WANT_JSON(member)                                                                                    \
	(struct audit_row)                                                                                   \
	{                                                                                                    \
		.member = STR("p2")                                                                          \
	}
#define X(type, member, key, doc)                                                                            \
	if (strcmp(key, "orgId") != 0)                                                                       \
		assert_int_equal(                                                                            \
			list_all(w, (struct audit_filter){ .limit = 3, .want = WANT_##type(member) }), 1);
	AUDIT_COLUMNS(X)
#undef X
	assert_int_equal(
		list_all(w, (struct audit_filter){ .limit = 3, .want = { .approvers = STR("p") } }), 0);
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 3, .not_via_token = true }), 10);
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 3, .not_with_override = true }), 10);
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 3,
					     .want = { .tool = STR("to"), .actor_id = STR("nobody") } }),
		0);
}

static void
a_list_knows_time(void **state)
{
	struct world *w = *state;
	int64_t first, last;
	str id;

	id = add_plain(w, 0);
	first = get(w, id).row.at;
	id = add_plain(w, 1);
	last = get(w, id).row.at;
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 9, .from_us = first }), 2);
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 9, .from_us = last + 1 }), 0);
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 9, .to_us = last + 1 }), 2);
	assert_int_equal(list_all(w, (struct audit_filter){ .limit = 9, .to_us = first }), 0);
}

/* A filter that matches nothing may not walk the whole history in one request. */
static void
a_list_looks_at_a_bounded_number_of_entries(void **state)
{
	struct world *w = *state;
	struct listing l = { .org = w->org, .filter = { .limit = 500, .want = { .model = STR("none") } } };

	add_plain_many(w, 6000);
	assert_status(db_read(&w->cx, list_read, &l), OK);
	assert_int_equal(l.page.count, 0);
	assert_int_not_equal(l.page.next.len, 0);
	l.filter.cursor = l.page.next;
	assert_status(db_read(&w->cx, list_read, &l), OK);
	assert_int_equal(l.page.next.len, 0);
}

static void
another_organization_has_nothing_of_ours(void **state)
{
	struct world *w = *state;
	struct listing l = { .org = STR("other"), .filter = { .limit = 500 } };
	str id = add_change(w, 1, STR(""));

	assert_status(get_status(w, STR("other"), id), E_NOT_FOUND);
	assert_status(db_read(&w->cx, list_read, &l), OK);
	assert_int_equal(l.page.count, 0);
	assert_int_equal(l.page.next.len, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(an_entry_has_everything_that_was_said_and_who_said_it),
		ON_WORLD(the_actor_is_told_by_the_caller),
		ON_WORLD(what_is_rolled_back_leaves_no_entry),
		ON_WORLD(an_entry_that_cannot_be_written_fails_the_transaction),
		ON_WORLD(without_the_log_nothing_happens),
		ON_WORLD(the_database_itself_refuses_changes_to_the_log),
		ON_WORLD(the_leaf_is_canonical_json_of_the_columns),
		ON_WORLD(all_columns_stand_in_canonical_order),
		ON_WORLD(an_outsider_gets_the_signed_root_from_the_lines),
		ON_WORLD(entries_become_leaves_in_order_and_a_checkpoint_is_signed),
		ON_WORLD(every_entry_has_a_proof_against_the_newest_checkpoint),
		ON_WORLD(sizes_are_consistent_and_wrong_sizes_are_refused),
		ON_WORLD(who_signs_waits_for_who_has_the_folder),
#ifdef COUNTERSIGN_FAULTS
		ON_WORLD(a_stop_between_sealing_and_publishing_is_made_up_for),
#endif
		ON_WORLD(writers_and_sealers_at_once_leave_one_log),
		ON_WORLD(the_sealer_signs_by_itself),
		ON_WORLD(one_round_signs_for_everything_that_was_there),
		ON_WORLD(a_log_that_never_rests_is_signed_all_the_same),
		ON_WORLD(a_restored_backup_is_noticed_and_never_signed),
		ON_WORLD(a_refusing_sealer_says_so),
		ON_WORLD(a_held_checkpoint_that_was_changed_stops_the_signer),
		ON_WORLD(erased_values_are_unreadable_and_every_proof_stays_valid),
		ON_WORLD(values_and_hashes_say_nothing_to_who_reads_the_files),
		ON_WORLD(a_key_that_vanishes_without_an_entry_is_noticed),
		ON_WORLD(changed_values_are_noticed),
		ON_WORLD(another_key_file_opens_nothing),
		ON_WORLD(what_was_changed_past_the_triggers_is_named),
		ON_WORLD(a_list_pages_through_everything_once),
		ON_WORLD(every_column_filters),
		ON_WORLD(a_list_knows_time),
		ON_WORLD(a_list_looks_at_a_bounded_number_of_entries),
		ON_WORLD(another_organization_has_nothing_of_ours),
	};

	return on_every_engine("audit", tests, sizeof(tests) / sizeof(tests[0]));
}
