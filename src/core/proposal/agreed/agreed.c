/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/agreed/agreed.h"

#include "base/limits.h"
#include "core/gate/gate.h"
#include "json/bind.h"
#include "json/out.h"

/* One row for each fact that is kept. What was declared about compliance is kept as provenance. */
struct kept {
	str declared;
	bool auto_mode, token_requires, schema_known, no_approval, deceptive, several;
};
static const struct field kept_fields[] = {
	FIELD_TEXT(struct kept, declared, .need = true),
	FIELD_BOOL(struct kept, auto_mode),
	FIELD_BOOL(struct kept, token_requires),
	FIELD_BOOL(struct kept, schema_known),
	FIELD_BOOL(struct kept, no_approval),
	FIELD_BOOL(struct kept, deceptive),
	FIELD_BOOL(struct kept, several),
	FIELD_END,
};

status
agreed_facts(struct ctx *cx, const struct policy_facts *f, bool several, str *out)
{
	struct kept k = { .declared = str_of(risk_name(f->declared)),
		.auto_mode = f->auto_mode,
		.token_requires = f->token_requires,
		.schema_known = f->schema_known,
		.no_approval = f->wants_no_approval,
		.deceptive = f->deceptive,
		.several = several };
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_fields(&o, kept_fields, &k);
	json_out_end(&o);
	return buf_finish(&b, out);
}

/* From before facts were kept: the strictest that the row allows. What the risk was raised to is a floor that has every
 * reason in it. */
static struct kept
strictest(const struct proposal *p)
{
	return (struct kept){
		.declared = p->risk, .token_requires = p->token_id.len > 0, .schema_known = true
	};
}

static status
read_kept(struct ctx *cx, const struct proposal *p, struct kept *out)
{
	struct kept k = { 0 };
	struct json *doc;

	if (!p->facts.len) {
		*out = strictest(p);
		return OK;
	}
	TRY(json_parse(cx, p->facts, &doc));
	if (json_bind(cx, doc, kept_fields, sizeof(k), &k) != OK)
		return fail(cx, E_INTERNAL, "the facts of a proposal are none");
	*out = k;
	return OK;
}

status
agreed_several(struct ctx *cx, const struct proposal *p, bool *out)
{
	struct kept k;

	TRY(read_kept(cx, p, &k));
	*out = k.several;
	return OK;
}

static bool
declared(const struct json *provenance, const char *mode)
{
	const struct json *said = json_get(provenance, str_of(mode));

	return said && said->truth;
}

/* What was asked for, as the row has it. */
static status
begin(struct ctx *cx, const struct proposal *p, const struct kept *k, struct policy_facts *f)
{
	struct json *provenance;

	TRY(json_parse(cx, p->provenance, &provenance));
	f->declared_gdpr = declared(provenance, "gdpr");
	f->declared_hipaa = declared(provenance, "hipaa");
	f->wants_no_approval = k->no_approval;
	f->deceptive = k->deceptive;
	if (!risk_of(k->declared, &f->declared) || !principal_kind_of(p->proposer_kind, &f->principal))
		return fail(cx, E_INTERNAL, "the facts of a proposal are none");
	f->in_session = f->principal == PRINCIPAL_USER && !p->token_id.len;
	return OK;
}

status
agreed_again(
	struct ctx *cx, const struct proposal *p, const struct agreed_now *now, struct policy_decision *out)
{
	struct policy_facts f = { .tool = now->tool,
		.production = now->place.production,
		.environment_gate = now->place.gate,
		.in_environment = now->place.in_environment,
		.has_verb = now->place.may,
		.may_vote = gate_may_vote(cx, now->proposer, now->tool) };
	struct kept k;

	TRY(read_kept(cx, p, &k));
	TRY(begin(cx, p, &k, &f));
	f.tier = permission_tier(now->snapshot, now->tool, &f.tier_stored);
	f.override_ = permission_override(now->snapshot, now->tool);
	f.auto_mode = k.auto_mode && now->proposer->auto_mode;
	f.token_requires = k.token_requires || now->proposer->approval_required;
	f.schema_known = k.schema_known && tool_inspectable(cx->tools, now->tool);
	policy_decide(now->rules, &f, out);
	return OK;
}
