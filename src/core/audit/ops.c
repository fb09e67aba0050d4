/* SPDX-License-Identifier: Apache-2.0 */
/* The log over REST. Another organization's log is not there: the answer is the same as for one that does not
 * exist. */
#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/audit/export.h"
#include "core/audit/query.h"
#include "core/audit/seal/seal.h"
#include "core/proposal/kept/retention.h"
#include "db/db.h"

/* The caller's organization, if that is the one in the path. */
static status
find_org(struct ctx *cx, str slug, str *out_org_id)
{
	if (!cx->caller)
		return fail(cx, E_UNAUTHENTICATED, "%s", status_info(E_UNAUTHENTICATED)->sentence);
	if (!str_eq(cx->caller->org_slug, slug))
		return fail(cx, E_NOT_FOUND, "there is no such organization");
	*out_org_id = cx->caller->org_id;
	return OK;
}

#define SLUG_FIELD(st) FIELD_TEXT(st, slug, .need = true, .min = 1, .max = 100, .doc = "The organization.")
#define ID_FIELD(st)   FIELD_TEXT(st, id, .need = true, .min = 1, .max = 64, .doc = "The entry.")

/* What was given as signed is held against the log from then on. */
static void
gives(struct ctx *cx, str org_id, const struct tree_checkpoint *c)
{
	if (cx->sealer)
		sealer_gives(cx->sealer, org_id, c);
}

/* --- list --- */

static const char *const yes_no[] = { "true", "false", NULL };

struct list_in {
	str slug, cursor;
	int64_t limit, from, to;
	str action, actor_id, actor_type, agent_id, applier_id, approver, args_hash, chat_id, decision,
		delegator_id, model, outcome, prompt_hash, prompt_version, proposal_id, provider, reason,
		resource_id, resource_key, resource_type, risk, subject, token_id, tool, tool_call_id,
		transport, via_token, with_override, after_hash, before_hash, diff_hash;
	int64_t number, version;
};

#define LIST_TEXT(member, text) FIELD_TEXT(struct list_in, member, .max = LIMIT_AUDIT_TEXT, .doc = text)
static const struct field list_in[] = {
	SLUG_FIELD(struct list_in),
	LIST_TEXT(cursor, "Where the page before ended: its nextCursor."),
	FIELD_INT(struct list_in, limit, .min = 1, .max = LIMIT_AUDIT_PAGE,
		.doc = "Entries on a page; 50 if not said."),
	FIELD_INT(struct list_in, from, .doc = "Not before this moment (microseconds since 1970)."),
	FIELD_INT(struct list_in, to, .doc = "Before this moment (microseconds since 1970)."),
	LIST_TEXT(action, "Only this action."),
	LIST_TEXT(actor_id, "Only by this principal."),
	LIST_TEXT(actor_type, "Only by this kind: user, api_token, agent_token or system."),
	LIST_TEXT(agent_id, "Only of this agent."),
	LIST_TEXT(applier_id, "Only applied by this principal."),
	LIST_TEXT(approver, "Only approved by this person."),
	LIST_TEXT(args_hash, "Only with these arguments, by hash."),
	LIST_TEXT(chat_id, "Only in this conversation."),
	LIST_TEXT(decision, "Only with this decision."),
	LIST_TEXT(delegator_id, "Only on this person's authority."),
	LIST_TEXT(model, "Only by this model."),
	LIST_TEXT(outcome, "Only with this outcome."),
	LIST_TEXT(prompt_hash, "Only with this prompt, by hash."),
	LIST_TEXT(prompt_version, "Only with this version of the prompt."),
	LIST_TEXT(proposal_id, "Only of this proposal."),
	LIST_TEXT(provider, "Only by a model of this provider."),
	LIST_TEXT(reason, "Only with this reason."),
	LIST_TEXT(resource_id, "Only about the thing of this id."),
	LIST_TEXT(resource_key, "Only about the thing of this name."),
	LIST_TEXT(resource_type, "Only about things of this kind."),
	LIST_TEXT(risk, "Only of this risk."),
	LIST_TEXT(subject, "Only with values under this subject's key."),
	LIST_TEXT(token_id, "Only with this token."),
	LIST_TEXT(tool, "Only with this tool."),
	LIST_TEXT(tool_call_id, "Only of this call."),
	LIST_TEXT(transport, "Only over this transport."),
	FIELD_TEXT(struct list_in, via_token, .choices = yes_no, .doc = "true: only with a token."),
	FIELD_TEXT(
		struct list_in, with_override, .choices = yes_no, .doc = "true: only approved for always."),
	LIST_TEXT(after_hash, "Only with this new value, by salted hash."),
	LIST_TEXT(before_hash, "Only with this previous value, by salted hash."),
	LIST_TEXT(diff_hash, "Only with this change, by salted hash."),
	FIELD_INT(struct list_in, number, .doc = "Only with this number in its chain."),
	FIELD_INT(struct list_in, version, .doc = "Only of this version."),
	FIELD_END,
};

struct list_out {
	struct json *entries;
	str next_cursor;
};
static const struct field list_out[] = {
	FIELD_JSON(struct list_out, entries, .doc = "The entries, newest first."),
	FIELD_TEXT(struct list_out, next_cursor, .doc = "The cursor of the next page; absent on the last."),
	FIELD_END,
};

static struct audit_filter
filter_of(const struct list_in *in)
{
	return (struct audit_filter){
		.cursor = in->cursor,
		.limit = in->limit ? in->limit : 50,
		.from_us = in->from,
		.to_us = in->to,
		.want = { .action = in->action,
			.actor_id = in->actor_id,
			.actor_type = in->actor_type,
			.after_hash = in->after_hash,
			.agent_id = in->agent_id,
			.applier_id = in->applier_id,
			.approvers = in->approver,
			.args_hash = in->args_hash,
			.before_hash = in->before_hash,
			.chat_id = in->chat_id,
			.decision = in->decision,
			.delegator_id = in->delegator_id,
			.diff_hash = in->diff_hash,
			.model = in->model,
			.number = in->number,
			.outcome = in->outcome,
			.prompt_hash = in->prompt_hash,
			.prompt_version = in->prompt_version,
			.proposal_id = in->proposal_id,
			.provider = in->provider,
			.reason = in->reason,
			.resource_id = in->resource_id,
			.resource_key = in->resource_key,
			.resource_type = in->resource_type,
			.risk = in->risk,
			.subject = in->subject,
			.token_id = in->token_id,
			.tool = in->tool,
			.tool_call_id = in->tool_call_id,
			.transport = in->transport,
			.version = in->version,
			.via_token = str_eq(in->via_token, STR("true")),
			.with_override = str_eq(in->with_override, STR("true")) },
		.not_via_token = str_eq(in->via_token, STR("false")),
		.not_with_override = str_eq(in->with_override, STR("false")),
	};
}

static status
run_list(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct list_in *in = arg;
	struct audit_filter f = filter_of(in);
	struct audit_page page;
	str org_id = { NULL, 0 };

	TRY(find_org(cx, in->slug, &org_id));
	TRY(visibility_of(cx, &f.visibility));
	TRY(audit_list(cx, org_id, &f, &page));
	json_out_array(out, "entries");
	for (size_t i = 0; i < page.count; i++) {
		json_out_object(out, NULL);
		audit_row_out(out, &page.rows[i]);
		json_out_end(out);
	}
	json_out_end(out);
	if (page.next.len)
		json_out_str(out, "nextCursor", page.next);
	return OK;
}

/* --- one entry --- */

struct one_in {
	str slug, id;
};
static const struct field one_in[] = { SLUG_FIELD(struct one_in), ID_FIELD(struct one_in), FIELD_END };

struct get_out {
	struct json *entry, *values;
	int64_t leaf_index;
};
static const struct field get_out[] = {
	FIELD_JSON(struct get_out, entry, .doc = "The entry: every column that is not empty."),
	FIELD_JSON(struct get_out, values,
		.doc = "What changed: {state, before, after, diff}; state is none, present, erased or "
		       "broken."),
	FIELD_INT(struct get_out, leaf_index, .doc = "Its place in the tree; absent until it is sealed."),
	FIELD_END,
};

static void
out_value(struct json_out *out, const char *key, const struct json *value)
{
	if (value)
		json_out_value(out, key, value);
}

static void
out_values(struct json_out *out, const struct vault_values *v)
{
	static const char *const names[] = { [VAULT_NONE] = "none",
		[VAULT_OPEN] = "present",
		[VAULT_ERASED] = "erased",
		[VAULT_BROKEN] = "broken" };

	json_out_object(out, "values");
	json_out_str(out, "state", str_of(names[v->state]));
	out_value(out, "before", v->before);
	out_value(out, "after", v->after);
	out_value(out, "diff", v->diff);
	json_out_end(out);
}

static status
run_get(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct one_in *in = arg;
	const struct visibility *v;
	struct audit_found found;
	str org_id = { NULL, 0 };

	TRY(find_org(cx, in->slug, &org_id));
	TRY(visibility_of(cx, &v));
	TRY(audit_get(cx, org_id, in->id, v, &found));
	json_out_object(out, "entry");
	audit_row_out(out, &found.row);
	json_out_end(out);
	out_values(out, &found.values);
	if (found.sealed && !v->narrowed)
		json_out_int(out, "leafIndex", found.leaf_index);
	return OK;
}

/* --- proofs --- */

/* The caller's organization, for who may see all of its log: a proof says how much there is. */
static status
find_whole(struct ctx *cx, str slug, str *out_org_id)
{
	TRY(find_org(cx, slug, out_org_id));
	if (!caller_is_narrowed(cx->caller))
		return OK;
	return fail(cx, E_FORBIDDEN,
		"Forbidden: proofs (your token is for some environments or keys only, so what it sees of the "
		"log is "
		"a selection, for which there is no proof)");
}

static void
out_hash(struct ctx *cx, struct json_out *out, const char *key, const struct merkle_hash *h)
{
	json_out_str(out, key, base64_text(cx->arena, h->bytes, MERKLE_HASH));
}

static void
out_path(struct ctx *cx, struct json_out *out, const struct merkle_proof *p)
{
	json_out_array(out, "path");
	for (size_t i = 0; i < p->count; i++)
		out_hash(cx, out, NULL, &p->path[i]);
	json_out_end(out);
}

struct proof_out {
	int64_t leaf_index, size;
	str leaf, checkpoint;
	struct json *path;
};
static const struct field proof_out[] = {
	FIELD_INT(struct proof_out, leaf_index, .doc = "The entry's place in the tree."),
	FIELD_INT(struct proof_out, size,
		.doc = "The size of the tree that the proof leads to: the checkpoint's."),
	FIELD_TEXT(struct proof_out, leaf, .doc = "The bytes that are hashed as the leaf."),
	FIELD_JSON(struct proof_out, path, .doc = "The hashes from the leaf to the root, base64 (RFC 6962)."),
	FIELD_TEXT(struct proof_out, checkpoint, .doc = "The signed checkpoint."),
	FIELD_END,
};

static status
run_proof(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct one_in *in = arg;
	struct audit_inclusion found;
	str org_id = { NULL, 0 };

	TRY(find_whole(cx, in->slug, &org_id));
	TRY(audit_inclusion(cx, org_id, in->id, &found));
	gives(cx, org_id, &found.checkpoint);
	json_out_int(out, "leafIndex", found.leaf_index);
	json_out_int(out, "size", found.checkpoint.size);
	json_out_str(out, "leaf", found.leaf);
	out_path(cx, out, &found.proof);
	json_out_str(out, "checkpoint", found.checkpoint.note);
	return OK;
}

struct consistency_in {
	str slug;
	int64_t from, to;
};
static const struct field consistency_in[] = {
	SLUG_FIELD(struct consistency_in),
	FIELD_INT(struct consistency_in, from, .need = true, .min = 1, .max = 0,
		.doc = "The size of the older tree."),
	FIELD_INT(struct consistency_in, to, .min = 1, .max = 0,
		.doc = "The size of the newer tree; the newest checkpoint's if not said."),
	FIELD_END,
};

struct consistency_out {
	int64_t from, to;
	str from_root, to_root;
	struct json *path;
};
static const struct field consistency_out[] = {
	FIELD_INT(struct consistency_out, from, .doc = "The size of the older tree."),
	FIELD_INT(struct consistency_out, to, .doc = "The size of the newer tree."),
	FIELD_TEXT(struct consistency_out, from_root, .doc = "Its root, base64."),
	FIELD_TEXT(struct consistency_out, to_root, .doc = "Its root, base64."),
	FIELD_JSON(struct consistency_out, path, .doc = "The hashes that prove it, base64 (RFC 6962)."),
	FIELD_END,
};

static status
run_consistency(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct consistency_in *in = arg;
	struct audit_consistency found;
	str org_id = { NULL, 0 };

	TRY(find_whole(cx, in->slug, &org_id));
	TRY(audit_consistency(cx, org_id, in->from, in->to, &found));
	json_out_int(out, "from", found.from);
	json_out_int(out, "to", found.to);
	out_hash(cx, out, "fromRoot", &found.from_root);
	out_hash(cx, out, "toRoot", &found.to_root);
	out_path(cx, out, &found.proof);
	return OK;
}

struct org_in {
	str slug;
};
static const struct field org_in[] = { SLUG_FIELD(struct org_in), FIELD_END };

struct checkpoint_out {
	int64_t size;
	str checkpoint, key;
};
static const struct field checkpoint_out[] = {
	FIELD_INT(struct checkpoint_out, size, .doc = "How many entries it covers."),
	FIELD_TEXT(struct checkpoint_out, checkpoint,
		.doc = "The signed checkpoint. Keep it: it is what you verify against."),
	FIELD_TEXT(
		struct checkpoint_out, key, .doc = "The public key. Keep it once, from a source you trust."),
	FIELD_END,
};

static status
run_checkpoint(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct org_in *in = arg;
	struct tree_checkpoint found;
	str org_id = { NULL, 0 };

	TRY(find_whole(cx, in->slug, &org_id));
	if (!cx->keys)
		return fail(cx, E_UNAVAILABLE, "this server has no key file");
	TRY(tree_checkpoint(cx, org_id, &found));
	gives(cx, org_id, &found);
	json_out_int(out, "size", found.size);
	json_out_str(out, "checkpoint", found.note);
	json_out_str(out, "key",
		checkpoint_key_text(cx->arena, checkpoint_origin(cx->arena, org_id), cx->keys->sign_public));
	return OK;
}

/* --- export --- */

static const char *const formats[] = { "jsonl", "csv", NULL };

struct export_in {
	str slug, format;
	int64_t size, from, limit;
};
static const struct field export_in[] = {
	SLUG_FIELD(struct export_in),
	FIELD_TEXT(struct export_in, format, .choices = formats,
		.doc = "jsonl (can be verified) or csv; jsonl if not said."),
	FIELD_INT(struct export_in, size, .min = 0, .max = -1,
		.doc = "How far: the size of a checkpoint, as the first line has it; the newest if not "
		       "said."),
	FIELD_INT(struct export_in, from, .min = 0, .max = -1,
		.doc = "The first entry of this page, counted from 0."),
	FIELD_INT(struct export_in, limit, .min = 1, .max = LIMIT_AUDIT_EXPORT,
		.doc = "Entries of this page at most."),
	FIELD_END,
};

static status
run_export(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct export_in *in = arg;
	struct audit_export e = {
		.size = in->size, .from = in->from, .limit = in->limit ? in->limit : LIMIT_AUDIT_EXPORT
	};
	struct audit_exported at;
	struct buf b;

	TRY(find_org(cx, in->slug, &e.org_id));
	if (visibility_selects(cx->caller))
		TRY(visibility_of(cx, &e.selection));
	if (!cx->keys)
		return fail(cx, E_UNAVAILABLE, "this server has no key file");
	e.format = str_eq(in->format, STR("csv")) ? AUDIT_CSV : AUDIT_JSONL;
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	TRY(audit_export_page(cx, &e, &b, &at));
	gives(cx, e.org_id, &at.checkpoint);
	json_out_raw(out, NULL, buf_str(&b));
	return OK;
}

/* --- erasure --- */

struct erase_in {
	str slug, subject;
	struct retention_ids found; /* by prepare_erase */
};
static const struct field erase_in[] = {
	SLUG_FIELD(struct erase_in),
	FIELD_TEXT(struct erase_in, subject, .need = true, .min = 1, .max = LIMIT_AUDIT_TEXT,
		.doc = "Whose values are made unreadable, for ever."),
	FIELD_END,
};

struct erase_out {
	str audit_id;
	int64_t proposals, proposals_left;
	bool more;
};
static const struct field erase_out[] = {
	FIELD_TEXT(struct erase_out, audit_id,
		.doc = "The entry that says so; absent where the key had been destroyed before."),
	FIELD_INT(struct erase_out, proposals, .need = true, .doc = "How many proposals were erased."),
	FIELD_INT(struct erase_out, proposals_left, .need = true,
		.doc = "Those that are being carried out: erase again when their outcome is known."),
	FIELD_BOOL(struct erase_out, more, .need = true, .doc = "There are more proposals: erase again."),
	FIELD_END,
};

static status
find_erasable(struct ctx *cx, void *arg)
{
	struct erase_in *in = arg;

	return retention_find(cx, cx->caller->org_id, in->subject, &in->found);
}

/* The log is read from its beginning: that is not for the transaction. */
static status
prepare_erase(struct ctx *cx, void *in)
{
	return db_read(cx, find_erasable, in);
}

static status
run_erase(struct ctx *cx, const void *arg, struct json_out *out)
{
	const struct erase_in *in = arg;
	str org_id = { NULL, 0 }, id;

	struct retention_erased proposals;
	status s;

	TRY(find_org(cx, in->slug, &org_id));
	TRY(retention_erase_subject(cx, org_id, in->subject, &in->found, &proposals));
	s = audit_erase(cx, org_id, in->subject, &id);
	if (s == E_NOT_FOUND && proposals.erased + proposals.left > 0)
		ctx_clear(cx); /* the rest of what was erased before */
	else
		TRY(s);
	if (s == OK)
		json_out_str(out, "auditId", id);
	json_out_int(out, "proposals", proposals.erased);
	json_out_int(out, "proposalsLeft", proposals.left);
	json_out_bool(out, "more", proposals.more);
	return OK;
}

#define AUDIT_PATH "/api/v1/orgs/{slug}/audit"

const struct op audit_ops[] = {
	[AUDIT_OP_LIST] = { .name = "audit_list",
		.method = "GET",
		.path = AUDIT_PATH,
		.doc = "List audit entries, newest first. Every column is a filter; a page may be short and "
		       "still have a next "
		       "one.",
		.rule = "audit.entry.read",
		.tx = OP_TX_READ,
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = list_out,
		.errors = OP_ERRORS(E_INVALID, E_NOT_FOUND),
		.run = run_list },
	[AUDIT_OP_CHECKPOINT] = { .name = "audit_checkpoint",
		.method = "GET",
		.path = AUDIT_PATH "/checkpoint",
		.doc = "Give the newest signed checkpoint and the public key.",
		.rule = "audit.entry.read",
		.tx = OP_TX_READ,
		.in = org_in,
		.in_size = sizeof(struct org_in),
		.out = checkpoint_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_checkpoint },
	[AUDIT_OP_CONSISTENCY] = { .name = "audit_consistency",
		.method = "GET",
		.path = AUDIT_PATH "/consistency",
		.doc = "Prove that the log only grew between two sizes.",
		.rule = "audit.entry.read",
		.tx = OP_TX_READ,
		.in = consistency_in,
		.in_size = sizeof(struct consistency_in),
		.out = consistency_out,
		.errors = OP_ERRORS(E_INVALID, E_NOT_FOUND, E_CONFLICT),
		.run = run_consistency },
	[AUDIT_OP_EXPORT] = { .name = "audit_export",
		.method = "GET",
		.path = AUDIT_PATH "/export",
		.doc = "Export a page of the log. The pages one after the other are the file that "
		       "`countersign audit verify` reads. An agent, or a token for some environments or keys "
		       "only, gets a selection, which says so and cannot be verified.",
		.rule = "audit.entry.read",
		.tx = OP_TX_READ,
		.in = export_in,
		.in_size = sizeof(struct export_in),
		.content_type = "application/octet-stream",
		.errors = OP_ERRORS(E_INVALID, E_NOT_FOUND, E_CONFLICT, E_TOO_LARGE, E_UNAVAILABLE),
		.run = run_export },
	[AUDIT_OP_ERASE] = { .name = "audit_erase",
		.method = "POST",
		.path = AUDIT_PATH "/erase",
		.doc = "Destroy a subject's key. Their recorded values can never be read again; hashes and "
		       "proofs stay valid. Proposals about the subject lose payload, card and result; open "
		       "ones "
		       "are cancelled.",
		.rule = "audit.subject.manage",
		.effect = OP_DESTRUCTIVE,
		.authority = true,
		.alone = true,
		.tx = OP_TX_DECIDE,
		.in = erase_in,
		.in_size = sizeof(struct erase_in),
		.out = erase_out,
		.errors = OP_ERRORS(E_INVALID, E_NOT_FOUND, E_TAMPERED),
		.prepare = prepare_erase,
		.run = run_erase },
	[AUDIT_OP_GET] = { .name = "audit_get",
		.method = "GET",
		.path = AUDIT_PATH "/{id}",
		.doc = "Give one audit entry with what it changed.",
		.rule = "audit.entry.read",
		.tx = OP_TX_READ,
		.in = one_in,
		.in_size = sizeof(struct one_in),
		.out = get_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_get },
	[AUDIT_OP_PROOF] = { .name = "audit_proof",
		.method = "GET",
		.path = AUDIT_PATH "/{id}/proof",
		.doc = "Prove that an entry is in the log, against the newest checkpoint.",
		.rule = "audit.entry.read",
		.tx = OP_TX_READ,
		.in = one_in,
		.in_size = sizeof(struct one_in),
		.out = proof_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT, E_UNAVAILABLE),
		.run = run_proof },
	{ 0 },
};
