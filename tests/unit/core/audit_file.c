/* SPDX-License-Identifier: Apache-2.0 */
/* AU-4, AU-5: exports, their verification, and the operations over REST. */
#include "tests/unit/core/audit_world.h"

#include "json/bind.h"
#include "json/canon.h"

#include <sodium.h>

static str
file_problem(struct world *w, const char *path, str key, str held)
{
	struct audit_report r;

	assert_status(audit_verify_file(&w->cx, path, key, held, &r), OK);
	return r.problem;
}

static void
an_export_verifies_with_only_the_public_key(void **state)
{
	struct world *w = *state;
	struct audit_report r;
	const char *path;

	for (int i = 0; i < 30; i++)
		i % 4 ? add_plain(w, i) : add_change(w, i, STR("ann"));
	seal(w);
	path = export_to(w, AUDIT_JSONL);
	assert_status(audit_verify_file(&w->cx, path, public_key(w), held_note(w), &r), OK);
	assert_str(r.problem, "");
	assert_int_equal(r.entries, 30);
	assert_int_equal(r.checkpoints, 2);
	assert_true(r.key_given && r.held_given);
	assert_true(str_eq(r.origin, checkpoint_origin(&w->arena, w->org)));
	assert_status(audit_verify_file(&w->cx, path, STR(""), STR(""), &r), OK);
	assert_str(r.problem, "");
	assert_false(r.key_given || r.held_given);
	assert_true(str_eq(r.key, public_key(w)));
}

static void
what_cannot_be_examined_is_an_error(void **state)
{
	struct world *w = *state;
	struct audit_report r = { .entries = 77 };

	assert_status(audit_verify_file(&w->cx, "/nowhere", STR(""), STR(""), &r), E_NOT_FOUND);
	assert_status(audit_verify_file(&w->cx, w->dir.path, STR(""), STR(""), &r), E_UNAVAILABLE);
	add_plain(w, 0);
	seal(w);
	assert_status(
		audit_verify_file(&w->cx, export_to(w, AUDIT_JSONL), STR("no key"), STR(""), &r), E_INVALID);
	assert_int_equal(r.entries, 77);
}

static void
a_file_that_is_no_export_is_said_to_be_none(void **state)
{
	static const char *const texts[] = { "", "\n", "x", "{}\n", "[]\n", "{\"checkpoint\":1,\"key\":2}\n",
		"{\"checkpoint\":\"\",\"countersign\":\"audit-export\",\"key\":\"\",\"version\":2}\n" };
	struct world *w = *state;
	const char *path = arena_printf(&w->arena, "%s/x", w->dir.path).ptr;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_text(path, str_of(texts[i]));
		assert_str(file_problem(w, path, STR(""), STR("")),
			"the file does not begin as an export of an audit log does");
	}
	write_text(path, audit_export_header(&w->arena, STR("k"), STR("n")));
	assert_str(file_problem(w, path, STR(""), STR("")), "the public key in the export is not one");
	write_text(path, audit_export_header(&w->arena, public_key(w), STR("n")));
	assert_str(
		file_problem(w, path, STR(""), STR("")), "the export's checkpoint: this is not a checkpoint");
}

/* Every single bit of the file. */
static void
every_flipped_bit_is_noticed(void **state)
{
	struct world *w = *state;
	str key, held, text;
	const char *path;
	char *copy;

	for (int i = 0; i < 3; i++)
		add_plain(w, i);
	seal(w);
	key = public_key(w);
	held = held_note(w);
	path = export_to(w, AUDIT_JSONL);
	text = read_text(w, path);
	copy = arena_alloc(&w->arena, text.len);
	for (size_t i = 0; i < text.len; i++) {
		struct arena_mark mark = arena_mark(&w->arena);

		memcpy(copy, text.ptr, text.len);
		copy[i] = (char)(copy[i] ^ (1 << (i % 8)));
		write_text(path, (str){ copy, text.len });
		if (!file_problem(w, path, key, held).len)
			print_error("byte %zu\n", i);
		assert_int_not_equal(file_problem(w, path, key, held).len, 0);
		arena_rewind(&w->arena, mark);
	}
	for (size_t n = 0; n < text.len; n += 3) { /* and every length */
		struct arena_mark mark = arena_mark(&w->arena);

		write_text(path, (str){ text.ptr, n });
		assert_int_not_equal(file_problem(w, path, key, held).len, 0);
		arena_rewind(&w->arena, mark);
	}
	write_text(path, arena_printf(&w->arena, "%.*s{}\n", STR_ARG(text)));
	assert_str(file_problem(w, path, key, held), "there are more entries than the checkpoint says (3)");
	write_text(path, arena_printf(&w->arena, "%.*s{}", STR_ARG(text)));
	assert_str(file_problem(w, path, key, held), "the last line is cut off");
	write_text(path, text);
	assert_str(file_problem(w, path, key, held), "");
}

static void
a_line_longer_than_any_entry_is_refused(void **state)
{
	struct world *w = *state;
	size_t length = 2 * MIB;
	char *longer;
	str text;

	add_plain(w, 0);
	seal(w);
	text = read_text(w, export_to(w, AUDIT_JSONL));
	longer = arena_alloc(&w->arena, text.len + length);
	memcpy(longer, text.ptr, text.len);
	memset(longer + text.len, 'x', length);
	write_text(arena_printf(&w->arena, "%s/export", w->dir.path).ptr, (str){ longer, text.len + length });
	assert_str(file_problem(w, arena_printf(&w->arena, "%s/export", w->dir.path).ptr, STR(""), STR("")),
		"a line is longer than any entry can be");
}

static void
a_held_checkpoint_catches_what_a_new_signature_hides(void **state)
{
	struct world *w = *state;
	struct world *forged = calloc(1, sizeof(*forged));
	struct audit_report r;
	str held;

	CHECK(forged != NULL);
	for (int i = 0; i < 5; i++)
		add_plain(w, i);
	seal(w);
	held = held_note(w);
	/* whoever has the signing key makes a history of the same length, and a shorter one */
	world_init(forged, on_postgres);
	forged->keys = w->keys;
	for (int i = 0; i < 5; i++) {
		add_plain(forged, 50 + i);
		seal(forged);
		assert_status(
			audit_verify_file(&w->cx, export_to(forged, AUDIT_JSONL), public_key(w), STR(""), &r),
			OK);
		assert_str(r.problem, "");
		assert_status(
			audit_verify_file(&w->cx, export_to(forged, AUDIT_JSONL), public_key(w), held, &r),
			OK);
		assert_true(str_starts(r.problem, i < 4 ? STR("the log was cut or rolled back")
							: STR("entries were changed: the first 5")));
	}
	world_done(forged);
	free(forged);
}

static void
keys_of_others_do_not_verify(void **state)
{
	struct world *w = *state;
	struct keys other;
	const char *path;
	str theirs;

	add_plain(w, 0);
	seal(w);
	path = export_to(w, AUDIT_JSONL);
	assert_status(keys_create(&w->cx, arena_printf(&w->arena, "%s/o", w->dir.path).ptr, &other), OK);
	theirs = checkpoint_key_text(&w->arena, checkpoint_origin(&w->arena, w->org), other.sign_public);
	assert_str(file_problem(w, path, theirs, STR("")),
		"the export names another public key than the one given");
	assert_true(str_starts(file_problem(w, path, STR(""), STR("x")), STR("the held checkpoint: ")));
}

/* --- pages --- */

struct paging {
	struct audit_export export;
	struct buf *out;
	struct audit_exported at;
};

static status
page_read(struct ctx *cx, void *arg)
{
	struct paging *p = arg;

	return audit_export_page(cx, &p->export, p->out, &p->at);
}

static void
pages_one_after_the_other_are_the_file(void **state)
{
	struct world *w = *state;
	struct paging p = { .export = { .org_id = w->org, .limit = 4 } };
	struct buf b;
	str whole;

	assert_status(
		db_read(&w->cx, page_read, &(struct paging){ .export = p.export, .out = &b }), E_NOT_FOUND);
	for (int i = 0; i < 10; i++)
		add_plain(w, i);
	seal(w);
	whole = read_text(w, export_to(w, AUDIT_JSONL));
	buf_init(&b, &w->arena, LIMIT_HTTP_ANSWER);
	p.out = &b;
	do {
		assert_status(db_read(&w->cx, page_read, &p), OK);
		p.export.size = p.at.size;
		p.export.from = p.at.next;
		add_plain(w, 99); /* the log grows meanwhile */
		seal(w);
	} while (p.at.next < p.at.size);
	assert_true(str_eq(buf_str(&b), whole));
	p.export.size = 9; /* no checkpoint was signed there */
	assert_status(db_read(&w->cx, page_read, &p), E_NOT_FOUND);
	p.export.size = 0;
	p.export.from = 1000;
	assert_status(db_read(&w->cx, page_read, &p), E_INVALID);
	p.export.from = 0;
	buf_init(&b, &w->arena, 100);
	assert_status(db_read(&w->cx, page_read, &p), E_TOO_LARGE);
	assert_true(attack_unguarded(w, "audit_entry", "DELETE FROM audit_entry"));
	buf_init(&b, &w->arena, LIMIT_HTTP_ANSWER);
	assert_status(db_read(&w->cx, page_read, &p), E_CONFLICT);
	assert_true(attack_unguarded(w, "audit_leaf", "DELETE FROM audit_leaf WHERE leaf_index = 1"));
	assert_status(db_read(&w->cx, page_read, &p), E_CONFLICT);
}

static void
csv_is_quoted_and_harmless_in_a_spreadsheet(void **state)
{
	struct world *w = *state;
	struct audit_entry e = { .action = AUDIT_REFUSED, .reason = STR("=1+\"2\",\n3"), .version = 5 };
	str text, line, rest;

	add_entry(w, &e);
	seal(w);
	text = read_text(w, export_to(w, AUDIT_CSV));
	assert_true(str_cut(text, '\n', &line, &rest));
	assert_true(str_starts(line, STR("leafIndex,action,actorId,actorType,")));
	assert_true(str_starts(rest, STR("0,\"request.refused\",\"person-1\",\"user\",")));
	assert_non_null(memmem(rest.ptr, rest.len, "\"'=1+\"\"2\"\",\n3\"", 14));
	assert_true(str_ends(rest, STR(",5,false,false\r\n")));
}

/* --- operations --- */

struct call {
	const struct op *op;
	const void *in;
	struct buf body;
};

static status
call_tx(struct ctx *cx, void *arg)
{
	struct call *c = arg;
	struct json_out o;

	buf_init(&c->body, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &c->body);
	if (c->op->content_type)
		return c->op->run(cx, c->in, &o);
	json_out_object(&o, NULL);
	TRY(c->op->run(cx, c->in, &o));
	json_out_end(&o);
	return OK;
}

static status
call(struct world *w, const char *name, const char *input, str *out)
{
	struct call c = { .op = NULL };
	void *in;

	OP_EACH (op, audit_ops)
		if (strcmp(op->name, name) == 0)
			c.op = op;
	assert_non_null(c.op);
	in = arena_alloc(&w->arena, c.op->in_size);
	TRY(json_bind(&w->cx, parse(w, input), c.op->in, c.op->in_size, in));
	c.in = in;
	TRY(c.op->tx == OP_TX_READ ? db_read(&w->cx, call_tx, &c) : tx_run(&w->cx, call_tx, &c));
	return buf_finish(&c.body, out);
}

static struct json *
answer(struct world *w, const char *name, const char *input)
{
	struct json *doc;
	str text;

	assert_status(call(w, name, input, &text), OK);
	assert_status(json_parse(&w->cx, text, &doc), OK);
	return doc;
}

static void
the_operations_are_complete(void **state)
{
	struct world *w = *state;
	const struct op *const all[] = { audit_ops, NULL };

	assert_status(op_check(&w->cx, all), OK);
}

static void
the_operations_tell_the_log(void **state)
{
	struct world *w = *state;
	const struct json *doc, *entry;
	str ids[5];

	for (int i = 0; i < 5; i++)
		ids[i] = add_change(w, i, STR("ann"));
	doc = answer(w, "audit_list", "{\"slug\":\"acme\",\"limit\":2,\"tool\":\"note.create\"}");
	assert_int_equal(json_get(doc, STR("entries"))->count, 2);
	assert_non_null(json_get(doc, STR("nextCursor")));
	entry = json_at(json_get(doc, STR("entries")), 0);
	assert_true(str_eq(json_get(entry, STR("id"))->text, ids[4]));
	assert_non_null(json_get(entry, STR("time")));
	doc = answer(w, "audit_list", "{\"slug\":\"acme\",\"viaToken\":\"false\",\"withOverride\":\"true\"}");
	assert_int_equal(json_get(doc, STR("entries"))->count, 0);

	doc = answer(w, "audit_get",
		arena_printf(&w->arena, "{\"slug\":\"acme\",\"id\":\"%.*s\"}", STR_ARG(ids[0])).ptr);
	assert_str(json_get(json_get(doc, STR("values")), STR("state"))->text, "present");
	assert_null(json_get(doc, STR("leafIndex")));
	seal(w);
	doc = answer(w, "audit_get",
		arena_printf(&w->arena, "{\"slug\":\"acme\",\"id\":\"%.*s\"}", STR_ARG(ids[0])).ptr);
	assert_str(json_get(doc, STR("leafIndex"))->text, "0");

	doc = answer(w, "audit_proof",
		arena_printf(&w->arena, "{\"slug\":\"acme\",\"id\":\"%.*s\"}", STR_ARG(ids[3])).ptr);
	assert_str(json_get(doc, STR("leafIndex"))->text, "3");
	assert_int_equal(json_get(doc, STR("path"))->count, 3);
	doc = answer(w, "audit_checkpoint", "{\"slug\":\"acme\"}");
	assert_true(str_eq(json_get(doc, STR("key"))->text, public_key(w)));
	doc = answer(w, "audit_consistency", "{\"slug\":\"acme\",\"from\":3}");
	assert_str(json_get(doc, STR("to"))->text, "5");
	doc = answer(w, "audit_erase", "{\"slug\":\"acme\",\"subject\":\"ann\"}");
	assert_int_equal(json_get(doc, STR("auditId"))->text.len, ID_LENGTH);
	doc = answer(w, "audit_get",
		arena_printf(&w->arena, "{\"slug\":\"acme\",\"id\":\"%.*s\"}", STR_ARG(ids[0])).ptr);
	assert_str(json_get(json_get(doc, STR("values")), STR("state"))->text, "erased");
}

static void
an_export_over_the_operation_is_the_file(void **state)
{
	struct world *w = *state;
	str got;

	for (int i = 0; i < 5; i++)
		add_plain(w, i);
	seal(w);
	assert_status(call(w, "audit_export", "{\"slug\":\"acme\"}", &got), OK);
	assert_true(str_eq(got, read_text(w, export_to(w, AUDIT_JSONL))));
	assert_status(call(w, "audit_export", "{\"slug\":\"acme\",\"format\":\"csv\"}", &got), OK);
	assert_true(str_starts(got, STR("leafIndex,")));
}

static void
nobody_reads_the_log_of_another_organization(void **state)
{
	static const char *const names[] = { "audit_list", "audit_checkpoint", "audit_export" };
	struct world *w = *state;
	str got;

	add_plain(w, 0);
	seal(w);
	for (size_t i = 0; i < 3; i++) {
		assert_status(call(w, names[i], "{\"slug\":\"other\"}", &got), E_NOT_FOUND);
		w->cx.caller = NULL;
		assert_status(call(w, names[i], "{\"slug\":\"acme\"}", &got), E_UNAUTHENTICATED);
		w->cx.caller = &w->caller;
	}
	assert_status(call(w, "audit_get", "{\"slug\":\"other\",\"id\":\"x\"}", &got), E_NOT_FOUND);
	assert_status(call(w, "audit_proof", "{\"slug\":\"other\",\"id\":\"x\"}", &got), E_NOT_FOUND);
	assert_status(call(w, "audit_erase", "{\"slug\":\"other\",\"subject\":\"x\"}", &got), E_NOT_FOUND);
	assert_status(call(w, "audit_consistency", "{\"slug\":\"other\",\"from\":1}", &got), E_NOT_FOUND);
	w->cx.keys = NULL;
	assert_status(call(w, "audit_checkpoint", "{\"slug\":\"acme\"}", &got), E_UNAVAILABLE);
	assert_status(call(w, "audit_export", "{\"slug\":\"acme\"}", &got), E_UNAVAILABLE);
	w->cx.keys = &w->keys;
}

static void
the_logs_of_a_database_are_listed(void **state)
{
	struct world *w = *state;
	str *ids;
	size_t count;

	assert_status(audit_verify_orgs(&w->cx, STR(""), &ids, &count), OK);
	assert_int_equal(count, 0);
	add_plain(w, 0);
	seal(w);
	assert_status(audit_verify_orgs(&w->cx, STR(""), &ids, &count), OK);
	assert_int_equal(count, 1);
	assert_true(str_eq(ids[0], w->org));
	assert_status(audit_verify_orgs(&w->cx, w->org, &ids, &count), OK);
	assert_int_equal(count, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_WORLD(an_export_verifies_with_only_the_public_key),
		ON_WORLD(what_cannot_be_examined_is_an_error),
		ON_WORLD(a_file_that_is_no_export_is_said_to_be_none),
		ON_WORLD(every_flipped_bit_is_noticed),
		ON_WORLD(a_line_longer_than_any_entry_is_refused),
		ON_WORLD(a_held_checkpoint_catches_what_a_new_signature_hides),
		ON_WORLD(keys_of_others_do_not_verify),
		ON_WORLD(pages_one_after_the_other_are_the_file),
		ON_WORLD(csv_is_quoted_and_harmless_in_a_spreadsheet),
		ON_WORLD(the_operations_are_complete),
		ON_WORLD(the_operations_tell_the_log),
		ON_WORLD(an_export_over_the_operation_is_the_file),
		ON_WORLD(nobody_reads_the_log_of_another_organization),
		ON_WORLD(the_logs_of_a_database_are_listed),
	};

	return on_every_engine("audit files", tests, sizeof(tests) / sizeof(tests[0]));
}
