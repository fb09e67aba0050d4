/* SPDX-License-Identifier: Apache-2.0 */
/* countersign audit: verify a file or the database, export the log, show its end. */
#include "app/app.h"

#include "app/store.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/scoped.h"
#include "core/audit/checkpoint.h"
#include "core/audit/export.h"
#include "core/audit/query.h"
#include "core/audit/seal/seal.h"
#include "core/audit/verify.h"
#include "db/db.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* --- what is said of a verification --- */

static void
tell(struct buf *b, const struct audit_report *r)
{
	if (r->problem.len) {
		buf_printf(b, "NOT VERIFIED: %.*s.\n", STR_ARG(r->problem));
		return;
	}
	buf_printf(b, "Verified: %" PRId64 " entries of %.*s, root %.*s, %" PRId64 " signature%s.\n",
		r->entries, STR_ARG(r->origin), STR_ARG(r->root), r->checkpoints,
		r->checkpoints == 1 ? "" : "s");
	if (r->pending)
		buf_printf(b, "%" PRId64 " newer entries are not in the tree yet.\n", r->pending);
	if (r->values || r->erased)
		buf_printf(b, "%" PRId64 " values match their hashes, %" PRId64 " erased.\n", r->values,
			r->erased);
	if (!r->key_given)
		buf_printf(b, "The file named its own key (%.*s): compare it with one you trust.\n",
			STR_ARG(r->key));
	if (!r->held_given)
		buf_add(b, STR("No checkpoint was given: a log that was rolled back or made anew is not "
			       "noticed.\n"));
}

static void
print_json(struct buf *b, const struct audit_report *r)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o, NULL);
	json_out_bool(&o, "verified", !r->problem.len);
	if (r->problem.len)
		json_out_str(&o, "problem", r->problem);
	json_out_str(&o, "origin", r->origin);
	json_out_str(&o, "key", r->key);
	json_out_str(&o, "root", r->root);
	json_out_int(&o, "entries", r->entries);
	json_out_int(&o, "pending", r->pending);
	json_out_int(&o, "checkpoints", r->checkpoints);
	json_out_int(&o, "values", r->values);
	json_out_int(&o, "erased", r->erased);
	json_out_bool(&o, "keyGiven", r->key_given);
	json_out_bool(&o, "checkpointGiven", r->held_given);
	json_out_end(&o);
	buf_add_char(b, '\n');
}

static status
print_report(struct ctx *cx, const struct cli_call *call, const struct audit_report *r)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (cli_given(call, "json", NULL))
		print_json(&b, r);
	else
		tell(&b, r);
	TRY(app_print(cx, &b));
	return r->problem.len ? fail(cx, E_CONFLICT, "the audit log is not what was signed") : OK;
}

/* --- verify --- */

/* The signed text: what was kept is that, or the answer of audit_checkpoint that has it as a member. */
static status
find_note(struct ctx *cx, str path, str kept, str *out)
{
	struct json *doc = NULL;
	const struct json *note = NULL;
	str text = kept;

	if (str_starts(kept, STR("{")) && json_parse(cx, kept, &doc) == OK)
		note = json_get(doc, STR("checkpoint"));
	if (note && note->type == JSON_STRING)
		text = note->text;
	while (str_ends(text, STR("\n\n"))) /* one line end more: whoever printed it added that */
		text.len--;
	if (!checkpoint_formed(text))
		return fail(cx, E_INVALID,
			"%.*s is not a checkpoint: give --checkpoint the answer of GET "
			"/api/v1/orgs/{slug}/audit/checkpoint, or its member `checkpoint`; nothing was "
			"verified",
			STR_ARG(path));
	*out = text;
	return OK;
}

/* The text of the file that --checkpoint names; empty without it. */
static status
read_checkpoint(struct ctx *cx, const struct cli_call *call, str *out)
{
	char *text;
	ssize_t n;
	str path;

	*out = (str){ NULL, 0 };
	if (!cli_given(call, "checkpoint", &path))
		return OK;
	scoped_fd fd = open(arena_cstr(cx->arena, path), O_RDONLY | O_CLOEXEC);
	text = arena_alloc(cx->arena, 2 * LIMIT_CHECKPOINT); /* as JSON it is a little longer */
	n = fd < 0 ? -1 : pread(fd, text, 2 * LIMIT_CHECKPOINT, 0);
	if (n < 0)
		return fail(cx, E_INVALID, "the checkpoint %.*s cannot be read: %s", STR_ARG(path),
			strerror(errno));
	if (n == 0) /* nothing would be held against the log */
		return fail(cx, E_INVALID, "the checkpoint %.*s is empty", STR_ARG(path));
	return find_note(cx, path, (str){ text, (size_t)n }, out);
}

static status
verify_file(struct ctx *cx, const struct cli_call *call)
{
	struct audit_report r;
	str key = { NULL, 0 }, held;

	(void)cli_given(call, "key", &key);
	TRY(read_checkpoint(cx, call, &held));
	TRY(audit_verify_file(cx, arena_cstr(cx->arena, call->arguments[1]), key, held, &r));
	return print_report(cx, call, &r);
}

/* One log: against the checkpoint that was given, or the one that is kept beside the key. */
static status
verify_log(struct ctx *cx, const struct cli_call *call, str org_id)
{
	struct audit_report r;
	str key = { NULL, 0 }, held;

	(void)cli_given(call, "key", &key);
	TRY(read_checkpoint(cx, call, &held));
	if (!held.len)
		TRY(held_read(cx, store_held_dir(cx), org_id, &held));
	TRY(audit_verify_database(cx, org_id, key, held, &r));
	return print_report(cx, call, &r);
}

static status
verify_all(struct ctx *cx, const struct cli_call *call)
{
	str after = { NULL, 0 }, only, *ids;
	status worst = OK;
	size_t count;

	if (cli_given(call, "org", &only)) {
		TRY(audit_verify_org(cx, only, &only));
		return verify_log(cx, call, only);
	}
	do {
		TRY(audit_verify_orgs(cx, after, &ids, &count));
		for (size_t i = 0; i < count; i++) {
			status s = verify_log(cx, call, ids[i]);

			if (s != OK && s != E_CONFLICT)
				return s;
			worst = s != OK ? s : worst;
		}
		after = count ? ids[count - 1] : after;
	} while (count == 1000);
	return worst;
}

/* --- export, tail --- */

/* The log that was meant: named, or the only one. */
static status
find_log(struct ctx *cx, const struct cli_call *call, str *out_org_id)
{
	size_t count;
	str *ids, name;

	if (cli_given(call, "org", &name))
		return audit_verify_org(cx, name, out_org_id);
	TRY(audit_verify_orgs(cx, STR(""), &ids, &count));
	if (count == 0)
		return fail(cx, E_NOT_FOUND, "there is no audit log yet");
	if (count > 1)
		return fail(cx, E_INVALID, "there are several logs; say which with --org");
	*out_org_id = ids[0];
	return OK;
}

static status
export_log(struct ctx *cx, const struct cli_call *call)
{
	struct audit_export e = { .format = cli_given(call, "csv", NULL) ? AUDIT_CSV : AUDIT_JSONL };
	struct audit_exported at;

	if (!cx->keys)
		return fail(cx, E_NOT_FOUND, "there is no key file; an export names the public key");
	TRY(find_log(cx, call, &e.org_id));
	return audit_export_file(cx, &e, STDOUT_FILENO, &at);
}

struct tail {
	str org_id;
	struct audit_filter filter;
	struct audit_page page;
};

static status
tail_read(struct ctx *cx, void *arg)
{
	struct tail *t = arg;

	return audit_list(cx, t->org_id, &t->filter, &t->page);
}

static void
tail_line(struct ctx *cx, struct buf *b, const struct audit_row *row)
{
	str what = row->tool.len ? row->tool : row->resource_type;

	buf_printf(b, "%.*s  %-20.*s %-20.*s %.*s%s%.*s\n", STR_ARG(clock_text(cx->arena, row->at)),
		STR_ARG(row->action), STR_ARG(what), STR_ARG(row->actor_type), row->actor_id.len ? " " : "",
		STR_ARG(row->actor_id));
}

static void
tail_json(struct buf *b, const struct audit_row *row)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o, NULL);
	audit_row_out(&o, row);
	json_out_end(&o);
	buf_add_char(b, '\n');
}

static status
tail_log(struct ctx *cx, const struct cli_call *call)
{
	struct tail t = { .filter = { .limit = 20 } };
	struct buf b;
	str limit;

	if (cli_given(call, "limit", &limit) && (!str_to_int(limit, &t.filter.limit) || t.filter.limit < 1 ||
							t.filter.limit > (int64_t)LIMIT_AUDIT_PAGE))
		return fail(cx, E_INVALID, "--limit is a number from 1 to %u", LIMIT_AUDIT_PAGE);
	TRY(find_log(cx, call, &t.org_id));
	TRY(db_read(cx, tail_read, &t));
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	for (size_t i = t.page.count; i-- > 0;) { /* the newest last, as tail does */
		if (cli_given(call, "json", NULL))
			tail_json(&b, &t.page.rows[i]);
		else
			tail_line(cx, &b, &t.page.rows[i]);
	}
	return app_print(cx, &b);
}

/* --- audit --- */

static status
run_on_database(
	struct ctx *cx, const struct cli_call *call, status (*run)(struct ctx *, const struct cli_call *))
{
	status s;

	TRY(store_open(cx, false));
	s = db_prepare(cx);
	if (s == OK)
		s = store_look_keys(cx);
	if (s == OK)
		s = run(cx, call);
	store_close(cx);
	return s;
}

status
run_audit(struct ctx *cx, const struct cli_call *call)
{
	str verb = call->argument_count ? call->arguments[0] : (str){ NULL, 0 };

	if (str_eq(verb, STR("verify")))
		return call->argument_count == 2 ? verify_file(cx, call)
						 : run_on_database(cx, call, verify_all);
	if (call->argument_count == 1 && str_eq(verb, STR("export")))
		return run_on_database(cx, call, export_log);
	if (call->argument_count == 1 && str_eq(verb, STR("tail")))
		return run_on_database(cx, call, tail_log);
	return fail(cx, E_INVALID, "audit what? `audit verify [FILE]`, `audit export` or `audit tail`");
}
