/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/wire.h"

#include "base/clock.h"
#include "core/card/card.h"
#include "core/proposal/kept/retention.h"
#include "core/proposal/row.h"
#include "core/proposal/run/attempt.h"
#include "core/proposal/sight.h"
#include "core/proposal/tally.h"
#include "db/db.h"
#include "json/bind.h"

#define KEY_BYTES	200
#define WORD_BYTES	200
#define SUMMARY_BYTES	500
#define REASONING_BYTES 4000

/* --- parts that the forms have --- */

struct intent_in {
	str summary, reasoning;
};
static const struct field intent_in[] = {
	FIELD_TEXT(struct intent_in, summary, .max = SUMMARY_BYTES, .doc = "What for, in a sentence."),
	FIELD_TEXT(struct intent_in, reasoning, .max = REASONING_BYTES, .doc = "Why."),
	FIELD_END,
};

struct compliance_in {
	bool gdpr, hipaa;
};
static const struct field compliance_in[] = {
	FIELD_BOOL(struct compliance_in, gdpr, .doc = "Personal data is concerned."),
	FIELD_BOOL(struct compliance_in, hipaa, .doc = "Health data is concerned."),
	FIELD_END,
};

struct provenance_in {
	str prompt_version, prompt_hash, model, provider;
};
static const struct field provenance_in[] = {
	FIELD_TEXT(struct provenance_in, prompt_version, .max = WORD_BYTES),
	FIELD_TEXT(struct provenance_in, prompt_hash, .max = WORD_BYTES),
	FIELD_TEXT(struct provenance_in, model, .max = WORD_BYTES),
	FIELD_TEXT(struct provenance_in, provider, .max = WORD_BYTES),
	FIELD_END,
};

/* An object inside: its issues say where it stands. */
static status
bind_part(struct ctx *cx, const char *name, const struct json *part, const struct field *fields, size_t size,
	void *out)
{
	status s;

	if (!part)
		return OK;
	s = json_bind(cx, part, fields, size, out);
	for (size_t i = 0; s == E_INVALID && i < cx->error.issue_count; i++)
		cx->error.issues[i].path =
			arena_printf(cx->arena, "/%s%.*s", name, STR_ARG(cx->error.issues[i].path));
	return s;
}

status
wire_read_intent(struct ctx *cx, const struct json *intent, struct propose_in *out)
{
	struct intent_in says = { 0 };

	TRY(bind_part(cx, "intent", intent, intent_in, sizeof(says), &says));
	out->intent_summary = says.summary;
	out->intent_reasoning = says.reasoning;
	return OK;
}

static status
read_parts(struct ctx *cx, const struct json *intent, const struct json *compliance,
	const char *compliance_name, struct propose_in *out)
{
	struct compliance_in modes = { 0 };

	TRY(wire_read_intent(cx, intent, out));
	TRY(bind_part(cx, compliance_name, compliance, compliance_in, sizeof(modes), &modes));
	out->gdpr = modes.gdpr;
	out->hipaa = modes.hipaa;
	return OK;
}

static status
read_provenance(struct ctx *cx, const struct json *part, struct propose_in *out)
{
	struct provenance_in from = { 0 };

	TRY(bind_part(cx, "provenance", part, provenance_in, sizeof(from), &from));
	out->prompt_version = from.prompt_version;
	out->prompt_hash = from.prompt_hash;
	out->model = from.model;
	out->provider = from.provider;
	return OK;
}

/* --- the tool form --- */

static const char *const risks[] = { "low", "medium", "high", NULL };

struct tool_form {
	str tool, idempotency_key, risk_level;
	struct json *input, *intent, *compliance, *provenance;
	int64_t expires_in_seconds;
};
static const struct field tool_form[] = {
	FIELD_TEXT(struct tool_form, tool, .need = true, .min = 1, .max = WORD_BYTES, .doc = "Its name."),
	FIELD_JSON(struct tool_form, input, .need = true, .doc = "What the tool takes."),
	FIELD_JSON(struct tool_form, intent),
	FIELD_TEXT(struct tool_form, idempotency_key, .min = 1, .max = KEY_BYTES),
	FIELD_INT(struct tool_form, expires_in_seconds, .min = 1, .max = PROPOSAL_TTL_MOST_SECONDS),
	FIELD_TEXT(struct tool_form, risk_level, .choices = risks),
	FIELD_JSON(struct tool_form, compliance),
	FIELD_JSON(struct tool_form, provenance),
	FIELD_END,
};

static status
read_tool_form(struct ctx *cx, const struct json *body, struct propose_in *out)
{
	struct tool_form f = { 0 };

	TRY(json_bind(cx, body, tool_form, sizeof(f), &f));
	out->tool = f.tool;
	out->input = f.input;
	out->idempotency_key = f.idempotency_key;
	out->expires_in_seconds = f.expires_in_seconds;
	out->risk_level = f.risk_level;
	TRY(read_parts(cx, f.intent, f.compliance, "compliance", out));
	return read_provenance(cx, f.provenance, out);
}

/* --- the kind form (FL-5) --- */

struct kind_form {
	str env_id, kind, resource_key, reason, idempotency_key, risk_level;
	struct json *diff, *spot_check, *compliance, *provenance;
	int64_t expires_in_seconds;
};
static const struct field kind_form[] = {
	FIELD_TEXT(struct kind_form, env_id, .need = true, .min = 1, .max = WORD_BYTES),
	FIELD_TEXT(struct kind_form, kind, .need = true, .min = 1, .max = WORD_BYTES),
	FIELD_TEXT(struct kind_form, resource_key, .need = true, .min = 1, .max = WORD_BYTES),
	FIELD_JSON(struct kind_form, diff, .need = true),
	FIELD_JSON(struct kind_form, spot_check),
	FIELD_TEXT(struct kind_form, reason, .max = SUMMARY_BYTES),
	FIELD_TEXT(struct kind_form, idempotency_key, .min = 1, .max = KEY_BYTES),
	FIELD_INT(struct kind_form, expires_in_seconds, .min = 1, .max = PROPOSAL_TTL_MOST_SECONDS),
	FIELD_TEXT(struct kind_form, risk_level, .choices = risks),
	FIELD_JSON(struct kind_form, compliance),
	FIELD_JSON(struct kind_form, provenance),
	FIELD_END,
};

static bool
is_kind_form(const struct json *body)
{
	return json_get(body, STR("kind")) && !json_get(body, STR("tool"));
}

/* The gate knows a tool by its kind, too: so an unknown kind and a blocked one are answered alike. */
static status
read_kind_form(struct ctx *cx, const struct json *body, struct propose_in *out)
{
	struct kind_form f = { 0 };
	struct json *input = json_new_object(cx->arena);

	TRY(json_bind(cx, body, kind_form, sizeof(f), &f));
	json_add_member(input, STR("envId"), json_new_string(cx->arena, f.env_id));
	json_add_member(input, STR("resourceKey"), json_new_string(cx->arena, f.resource_key));
	json_add_member(input, STR("diff"), json_share(cx->arena, f.diff));
	if (f.spot_check)
		json_add_member(input, STR("spotCheck"), json_share(cx->arena, f.spot_check));
	out->tool = f.kind;
	out->input = input;
	out->idempotency_key = f.idempotency_key;
	out->expires_in_seconds = f.expires_in_seconds;
	out->risk_level = f.risk_level;
	TRY(read_parts(cx, NULL, f.compliance, "compliance", out));
	out->intent_summary = f.reason;
	return read_provenance(cx, f.provenance, out);
}

/* --- the document (PA-11) --- */

static const char *const domains[] = { "chat", "sales", "accounting", "marketing", "project-management",
	"operations", NULL };

struct document {
	str proposal_id, proposed_by, timestamp, domain, risk_level, idempotency_key;
	struct json *tool, *intent, *parameters, *compliance_context, *provenance;
	bool approval_required, rollback_supported;
};
static const struct field document[] = {
	FIELD_TEXT(struct document, proposal_id, .need = true, .min = 1, .max = WORD_BYTES),
	FIELD_TEXT(struct document, proposed_by, .max = WORD_BYTES),
	FIELD_TEXT(struct document, timestamp, .max = WORD_BYTES),
	FIELD_TEXT(struct document, domain, .need = true, .choices = domains),
	FIELD_JSON(struct document, tool, .need = true),
	FIELD_JSON(struct document, intent, .need = true),
	FIELD_JSON(struct document, parameters, .need = true),
	FIELD_TEXT(struct document, risk_level, .need = true, .choices = risks),
	FIELD_BOOL(struct document, approval_required, .need = true),
	FIELD_JSON(struct document, compliance_context),
	FIELD_TEXT(struct document, idempotency_key, .need = true, .min = 1, .max = KEY_BYTES),
	FIELD_BOOL(struct document, rollback_supported),
	FIELD_JSON(struct document, provenance),
	FIELD_END,
};

struct document_tool {
	str name;
	struct json *version;
};
static const struct field document_tool[] = {
	FIELD_TEXT(struct document_tool, name, .need = true, .min = 1, .max = WORD_BYTES),
	FIELD_JSON(struct document_tool, version),
	FIELD_END,
};

static bool
is_document(const struct json *body)
{
	return json_get(body, STR("proposal_id")) || json_get(body, STR("parameters"));
}

/* The same members under the names that a field table has; a name that is not snake_case becomes none of
 * them. */
static struct json *
renamed(struct arena *a, const struct json *body)
{
	struct json *o = json_new_object(a);

	JSON_EACH (member, body) {
		str key = field_key(a, arena_cstr(a, member->key));
		bool camel = false;

		for (size_t i = 0; i < member->key.len; i++)
			camel = camel || (member->key.ptr[i] >= 'A' && member->key.ptr[i] <= 'Z');
		json_add_member(o, camel ? arena_printf(a, "%.*s?", STR_ARG(member->key)) : key,
			json_share(a, member));
	}
	return o;
}

/* /riskLevel -> /risk_level */
static void
rename_issues(struct ctx *cx)
{
	for (size_t i = 0; i < cx->error.issue_count; i++) {
		str path = cx->error.issues[i].path;
		struct buf b;

		buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
		for (size_t c = 0; c < path.len; c++) {
			if (path.ptr[c] >= 'A' && path.ptr[c] <= 'Z')
				buf_printf(&b, "_%c", path.ptr[c] - 'A' + 'a');
			else
				buf_add(&b, (str){ path.ptr + c, 1 });
		}
		cx->error.issues[i].path = buf_str(&b);
	}
}

/* 1, "1" or "1.0": the whole part counts. */
static status
read_version(struct ctx *cx, const struct json *version, int64_t *out)
{
	int64_t n = 0;

	if (!version || (version->type == JSON_NUMBER && json_to_int(version, out)))
		return OK;
	for (size_t i = 0; version->type == JSON_STRING && i < version->text.len && i < 9; i++) {
		char c = version->text.ptr[i];

		if (c == '.' && i > 0)
			break;
		if (c < '0' || c > '9') {
			n = 0;
			break;
		}
		n = n * 10 + (c - '0');
	}
	if (n > 0) {
		*out = n;
		return OK;
	}
	ctx_clear(cx);
	fail_issue(cx, STR("/tool/version"), STR("must be a version"));
	return fail(cx, E_INVALID, "/tool/version must be a version");
}

static status
read_document(struct ctx *cx, const struct json *body, struct propose_in *out)
{
	struct document d = { 0 };
	struct document_tool tool = { 0 };
	status s = json_bind(cx, renamed(cx->arena, body), document, sizeof(d), &d);

	if (s == E_INVALID)
		rename_issues(cx);
	TRY(s);
	TRY(bind_part(cx, "tool", d.tool, document_tool, sizeof(tool), &tool));
	TRY(read_version(cx, tool.version, &out->tool_version));
	out->tool = tool.name;
	out->input = d.parameters;
	out->domain = d.domain;
	out->risk_level = d.risk_level;
	out->no_approval = !d.approval_required;
	out->idempotency_key = d.idempotency_key;
	TRY(read_parts(cx, d.intent, d.compliance_context, "compliance_context", out));
	return read_provenance(cx, d.provenance, out);
}

status
wire_read(struct ctx *cx, const struct json *body, struct propose_in *out)
{
	struct propose_in in = { 0 };

	TRY(is_document(body)	     ? read_document(cx, body, &in)
		: is_kind_form(body) ? read_kind_form(cx, body, &in)
				     : read_tool_form(cx, body, &in));
	if (cx->idempotency_key.len > KEY_BYTES || !str_is_utf8(cx->idempotency_key))
		return fail(cx, E_INVALID, "the header Idempotency-Key is too long, or not text");
	if (cx->idempotency_key.len && in.idempotency_key.len &&
		!str_eq(cx->idempotency_key, in.idempotency_key))
		return fail(cx, E_INVALID, "the header Idempotency-Key and the body name different keys");
	if (!in.idempotency_key.len)
		in.idempotency_key = cx->idempotency_key;
	*out = in;
	return OK;
}

/* --- answers --- */

struct answer {
	str proposal_id, tool_call_id, token, status, state, tool, effect, summary, payload_hash, view_hash,
		expires_at, created_at, resolved_at, approve_url, error, applier_id, applied_audit_id, kind,
		env_id, resource_type, resource_key;
	struct json *payload, *card, *diff, *risk, *approvals, *proposer, *result, *reveal, *document, *apply,
		*blast_radius, *recent_contexts, *attempt, *erased;
	int64_t tool_version, applied_version, live_version;
	bool may_apply;
};
const struct field wire_out[] = {
	FIELD_TEXT(struct answer, proposal_id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct answer, tool_call_id, .need = true, .doc = "The call that asked for it."),
	FIELD_TEXT(struct answer, token,
		.doc = "Lets its holder apply what policy and votes allow; only for who proposed."),
	FIELD_TEXT(struct answer, state, .need = true,
		.doc = "pending, approved, executing, applied, failed, unknown, denied, cancelled or "
		       "expired."),
	FIELD_TEXT(struct answer, status, .need = true,
		.doc = "The state; in the answer to a propose or a call, awaiting_operator instead of "
		       "pending: it stands, people decide, do not propose it again."),
	FIELD_TEXT(struct answer, tool, .need = true, .doc = "The tool."),
	FIELD_INT(struct answer, tool_version, .need = true, .doc = "Its version."),
	FIELD_TEXT(struct answer, effect, .need = true, .doc = "read, mutate or destructive."),
	FIELD_TEXT(struct answer, summary, .need = true, .doc = "What would happen, in one line."),
	FIELD_JSON(struct answer, payload, .need = true, .doc = "What will be executed, exactly."),
	FIELD_TEXT(struct answer, payload_hash, .need = true, .doc = "SHA-256 of its canonical form."),
	FIELD_JSON(struct answer, card, .need = true, .doc = "What a person decides on."),
	FIELD_TEXT(struct answer, view_hash, .need = true, .doc = "SHA-256 of the card; a vote names it."),
	FIELD_JSON(struct answer, diff, .doc = "What an update changes, field by field."),
	FIELD_TEXT(struct answer, kind, .doc = "The kind of change, where the tool is one."),
	FIELD_TEXT(struct answer, env_id, .doc = "The environment that it changes, where there is one."),
	FIELD_TEXT(struct answer, resource_type, .doc = "What it changes: flag, config, segment, note ..."),
	FIELD_TEXT(struct answer, resource_key, .doc = "Which one."),
	FIELD_INT(struct answer, live_version,
		.doc = "The environment's version when it was proposed: another one is version_drift."),
	FIELD_JSON(struct answer, blast_radius,
		.doc = "The given spot checks: [{context, live, preview}], what each is answered now and "
		       "then."),
	FIELD_JSON(struct answer, recent_contexts,
		.doc = "How many of the contexts that were sampled of late would be answered otherwise, "
		       "and which groups of them; where the environment samples."),
	FIELD_JSON(struct answer, risk, .need = true, .doc = "Its level and the reasons."),
	FIELD_JSON(struct answer, approvals, .need = true,
		.doc = "How many are needed and there, of which teams, what is missing, and every vote."),
	FIELD_JSON(struct answer, proposer, .need = true, .doc = "Who asked, and for whom."),
	FIELD_TEXT(struct answer, created_at, .need = true, .doc = "When it was proposed."),
	FIELD_TEXT(
		struct answer, expires_at, .need = true, .doc = "Until when it can be decided and applied."),
	FIELD_TEXT(struct answer, approve_url, .need = true, .doc = "Where a person decides."),
	FIELD_BOOL(struct answer, may_apply,
		.doc = "Whether you hold the rights to apply it, once it is approved; while it is open."),
	FIELD_JSON(struct answer, document, .doc = "The canonical proposal document."),
	FIELD_JSON(struct answer, result, .doc = "What applying it gave, for whoever may see it."),
	FIELD_JSON(struct answer, reveal,
		.doc = "A secret that applying made. It is shown here, to who applied, and never again."),
	FIELD_TEXT(struct answer, error, .doc = "Why it failed, or the note of a cancellation."),
	FIELD_TEXT(struct answer, applier_id, .doc = "Who applied it."),
	FIELD_INT(struct answer, applied_version, .doc = "The version the change made."),
	FIELD_TEXT(struct answer, applied_audit_id, .doc = "The change in the audit log."),
	FIELD_TEXT(struct answer, resolved_at, .doc = "When it was resolved."),
	FIELD_JSON(struct answer, attempt,
		.doc = "Of what is done by another system: when it was claimed, how many bytes were sent, "
		       "what became of "
		       "it, what came too late, and who settled it and why."),
	FIELD_JSON(struct answer, erased,
		.doc = "When what it said was erased, and why: kept (it was older than proposals are kept) "
		       "or "
		       "subject (who it is about was erased). Its hashes stay; payload is null and the card "
		       "says "
		       "what is left."),
	FIELD_JSON(struct answer, apply, .doc = "Where it was to be applied at once and was not: why."),
	FIELD_END,
};

static void
out_proposer(const struct proposal *p, const struct json *card, struct json_out *o)
{
	json_out_object(o, "proposer");
	json_out_str(o, "id", p->proposer_id);
	json_out_str(o, "kind", p->proposer_kind);
	json_out_value(o, "name", json_get(json_get(card, STR("askedBy")), STR("name")));
	if (p->delegator_id.len)
		json_out_str(o, "onBehalfOf", p->delegator_id);
	json_out_end(o);
}

static void
out_vote(const struct vote *v, struct json_out *o)
{
	json_out_object(o, NULL);
	json_out_str(o, "personId", v->person_id);
	json_out_str(o, "name", v->name);
	json_out_str(o, "decision", v->decision);
	if (v->reason.len)
		json_out_str(o, "reason", v->reason);
	json_out_bool(o, "viaToken", v->via_token);
	json_out_bool(o, "counts", v->counts);
	if (v->why)
		json_out_str(o, "why", str_of(v->why));
	json_out_time(o, "at", v->voted_at);
	json_out_end(o);
}

static void
out_groups(const struct tally *t, struct json_out *o)
{
	json_out_array(o, "groups");
	for (size_t i = 0; i < t->group_count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "teamId", t->groups[i].team_id);
		json_out_str(o, "team", t->groups[i].team);
		json_out_int(o, "needed", t->groups[i].needed);
		json_out_int(o, "valid", t->groups[i].valid);
		json_out_end(o);
	}
	json_out_end(o);
}

static status
out_approvals(struct ctx *cx, const struct proposal *p, struct json_out *o)
{
	const struct tally *t = p->tally;
	struct tally now;

	if (!t) {
		TRY(tally_count(cx, p, &now));
		t = &now;
	}
	json_out_object(o, "approvals");
	json_out_int(o, "needed", t->needed);
	json_out_int(o, "valid", t->valid);
	json_out_bool(o, "fourEyes", p->four_eyes);
	json_out_bool(o, "proposerMayConfirm", t->confirms);
	out_groups(t, o);
	if (t->missing.len && !proposal_is_final(p->state))
		json_out_str(o, "missing", t->missing);
	json_out_array(o, "votes");
	for (size_t i = 0; i < t->count; i++)
		out_vote(&t->votes[i], o);
	json_out_end(o);
	json_out_end(o);
	return OK;
}

static void
out_outcome(struct ctx *cx, const struct proposal *p, struct json_out *o)
{
	if (p->result.len && sight_of_result(cx, p))
		json_out_raw(o, "result", p->result);
	if (p->reveal.len) /* only in the answer of the apply itself */
		json_out_raw(o, "reveal", p->reveal);
	if (p->error.len)
		json_out_str(o, "error", p->error);
	if (p->applier_id.len)
		json_out_str(o, "applierId", p->applier_id);
	if (p->applied_version)
		json_out_int(o, "appliedVersion", p->applied_version);
	if (p->applied_audit_id.len)
		json_out_str(o, "appliedAuditId", p->applied_audit_id);
	if (p->resolved_at)
		json_out_time(o, "resolvedAt", p->resolved_at);
}

static status
out_attempt(struct ctx *cx, const struct proposal *p, struct json_out *o)
{
	struct attempt a;

	if (!p->fence)
		return OK;
	TRY(attempt_get(cx, p, &a));
	json_out_object(o, "attempt");
	attempt_write(&a, sight_of_result(cx, p), o);
	json_out_end(o);
	return OK;
}

/* As far as the caller's rights go: the votes are not asked. */
static bool
may_apply(struct ctx *cx, const struct proposal *p)
{
	const struct tool *t = tool_find(cx->tools, p->tool);

	if (t && t->reveals && cx->caller->kind != PRINCIPAL_USER)
		return false;
	return p->fresh ? p->proposer_may : sight_may_apply(cx, p);
}

/* The document as it is emitted: what was asked for, in its own names. */
static status
out_document(struct ctx *cx, const struct proposal *p, const struct json *card, struct json_out *o)
{
	const struct tool *t = tool_find(cx->tools, p->tool);
	const struct json *says = json_get(card, STR("agentSays"));
	struct json *from;

	TRY(json_parse(cx, p->provenance, &from));
	json_out_object(o, "document");
	json_out_str(o, "proposal_id", p->id);
	json_out_str(o, "proposed_by", p->proposer_id);
	json_out_time(o, "timestamp", p->created_at);
	json_out_str(o, "domain", t ? str_of(t->domain) : STR("operations"));
	json_out_object(o, "tool");
	json_out_str(o, "name", p->tool);
	json_out_int(o, "version", p->tool_version);
	json_out_end(o);
	json_out_object(o, "intent");
	json_out_value(o, "summary", json_get(says, STR("summary")));
	json_out_value(o, "reasoning", json_get(says, STR("reasoning")));
	json_out_end(o);
	json_out_raw(o, "parameters", p->payload);
	json_out_str(o, "risk_level", p->risk);
	json_out_bool(o, "approval_required", p->votes_needed > 0);
	json_out_object(o, "compliance_context");
	json_out_value(o, "gdpr", json_get(from, STR("gdpr")));
	json_out_value(o, "hipaa", json_get(from, STR("hipaa")));
	json_out_end(o);
	json_out_str(o, "idempotency_key", p->idempotency_key.len ? p->idempotency_key : p->id);
	json_out_value(o, "rollback_supported", json_get(card, STR("rollbackSupported")));
	json_out_end(o);
	return OK;
}

str
wire_status(str state, bool asked)
{
	return asked && str_eq(state, STR("pending")) ? STR("awaiting_operator") : state;
}

static status
out_common(struct ctx *cx, const struct proposal *p, const struct json *card, bool asked, struct json_out *o)
{
	int64_t now_us;
	str state;

	TRY(tx_now_us(cx, &now_us));
	state = row_state_at(p, now_us);
	json_out_str(o, "proposalId", p->id);
	json_out_str(o, "status", wire_status(state, asked));
	json_out_str(o, "state", state);
	json_out_str(o, "tool", p->tool);
	json_out_str(o, "effect", p->effect);
	json_out_str(o, "summary", p->summary);
	json_out_value(o, "risk", json_get(card, STR("risk")));
	json_out_str(o, "viewHash", p->view_hash);
	out_proposer(p, card, o);
	json_out_time(o, "createdAt", p->created_at);
	json_out_time(o, "expiresAt", p->expires_at);
	return OK;
}

/* What a change of a flag says besides (FL-5). */
static void
out_change(const struct ctx *cx, const struct proposal *p, const struct json *card, struct json_out *o)
{
	const struct tool *t = tool_find(cx->tools, p->tool);
	const struct json *radius = json_get(card, STR("blastRadius")),
			  *recent = json_get(card, STR("recentContexts"));

	if (t && t->kind)
		json_out_str(o, "kind", str_of(t->kind));
	if (p->environment_id.len)
		json_out_str(o, "envId", p->environment_id);
	if (p->resource_type.len)
		json_out_str(o, "resourceType", p->resource_type);
	if (p->resource_key.len)
		json_out_str(o, "resourceKey", p->resource_key);
	if (card_version(card))
		json_out_int(o, "liveVersion", card_version(card));
	if (radius)
		json_out_value(o, "blastRadius", radius);
	if (recent)
		json_out_value(o, "recentContexts", recent);
}

static str
approve_url(struct ctx *cx, const struct proposal *p)
{
	return arena_printf(cx->arena, "%.*s/proposals/%.*s", STR_ARG(cx->public_url), STR_ARG(p->id));
}

/* For who took it back or applied it, and may not see what it is about: the members that are always there. */
static status
out_closed(struct ctx *cx, const struct proposal *p, struct json_out *o)
{
	static const char *const withheld[] = { "payload", "card", "risk", "approvals", NULL };
	int64_t now_us;
	str state;

	TRY(tx_now_us(cx, &now_us));
	state = row_state_at(p, now_us);
	json_out_str(o, "proposalId", p->id);
	json_out_str(o, "toolCallId", p->tool_call_id);
	json_out_str(o, "status", state);
	json_out_str(o, "state", state);
	json_out_str(o, "tool", p->tool);
	json_out_int(o, "toolVersion", p->tool_version);
	json_out_str(o, "effect", p->effect);
	json_out_str(o, "summary", STR("what it is about is outside the scope of your token"));
	for (size_t i = 0; withheld[i]; i++)
		json_out_null(o, withheld[i]);
	json_out_str(o, "payloadHash", (str){ 0 });
	json_out_str(o, "viewHash", (str){ 0 });
	json_out_object(o, "proposer");
	json_out_str(o, "id", p->proposer_id);
	json_out_str(o, "kind", p->proposer_kind);
	json_out_end(o);
	json_out_time(o, "createdAt", p->created_at);
	json_out_time(o, "expiresAt", p->expires_at);
	json_out_str(o, "approveUrl", approve_url(cx, p));
	return OK;
}

status
wire_whole(struct ctx *cx, const struct proposal *p, str token, struct json_out *o)
{
	const struct json *card, *diff;

	if (!p->fresh && !sight_of(cx, p))
		return out_closed(cx, p, o);
	TRY(row_card(cx, p, &card));
	TRY(out_common(cx, p, card, token.len > 0, o)); /* only who asks has the token */
	json_out_str(o, "toolCallId", p->tool_call_id);
	if (token.len)
		json_out_str(o, "token", token);
	json_out_int(o, "toolVersion", p->tool_version);
	if (p->erased.len)
		json_out_null(o, "payload");
	else
		json_out_raw(o, "payload", p->payload);
	json_out_str(o, "payloadHash", p->payload_hash);
	json_out_raw(o, "card", p->card);
	diff = json_get(json_get(card, STR("change")), STR("diff"));
	if (diff)
		json_out_value(o, "diff", diff);
	out_change(cx, p, card, o);
	TRY(out_approvals(cx, p, o));
	json_out_str(o, "approveUrl", approve_url(cx, p));
	if (!proposal_is_final(p->state))
		json_out_bool(o, "mayApply", may_apply(cx, p));
	if (!p->erased.len)
		TRY(out_document(cx, p, card, o));
	retention_write(cx, p, o);
	out_outcome(cx, p, o);
	return out_attempt(cx, p, o);
}

status
wire_short(struct ctx *cx, const struct proposal *p, struct json_out *o)
{
	const struct json *card;

	if (str_eq(p->state_name, STR("tampered"))) {
		json_out_str(o, "proposalId", p->id);
		json_out_str(o, "status", p->state_name);
		return OK;
	}
	TRY(row_card(cx, p, &card));
	TRY(out_common(cx, p, card, false, o));
	json_out_value(o, "targetSystem", json_get(card, STR("targetSystem")));
	json_out_value(o, "resource", json_get(card, STR("resource")));
	return OK;
}
