/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/policy.h"

#include "base/check.h"

static const char *const risk_names[] = {
	[RISK_LOW] = "low", [RISK_MEDIUM] = "medium", [RISK_HIGH] = "high"
};
static const char *const consent_names[] = {
	[CONSENT_NONE] = "", [CONSENT_ASKING] = "asking", [CONSENT_CONFIRMING] = "confirming"
};
static const char *const tier_names[] = {
	[TIER_NEEDS_APPROVAL] = "needs_approval",
	[TIER_ALWAYS_ALLOW] = "always_allow",
	[TIER_BLOCKED] = "blocked",
};

/* One rule of a list: does it apply, and what is then to be said. */
struct rule_row {
	bool (*applies)(
		const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d);
	enum risk risk; /* raising rules: to this */
	const char *reason;
};

#define RULE(name)                                                                                           \
	static bool name(const struct policy_rules *r __attribute__((unused)),                               \
		const struct policy_facts *f __attribute__((unused)),                                        \
		const struct policy_decision *d __attribute__((unused)))

/* --- facts that several rules ask for --- */

static bool
listed(const struct policy_rules *r, const struct tool *t)
{
	for (size_t i = 0; i < r->allow_listed_count; i++)
		if (str_eq(r->allow_listed[i], str_of(t->name)))
			return true;
	return false;
}

static bool
changes(const struct policy_facts *f)
{
	return f->tool->effect != OP_READ;
}

/* Personal or regulated data under a mode that guards it. */
static bool
guarded(const struct policy_rules *r, const struct policy_facts *f)
{
	return ((r->gdpr || f->declared_gdpr) && f->tool->personal_data) ||
	       ((r->hipaa || f->declared_hipaa) && f->tool->phi);
}

/* Does this team have a say? Its rules are about changes. */
static bool
concerns(const struct policy_group *g, const struct policy_facts *f, const struct policy_decision *d)
{
	bool named = g->tool_count == 0;

	for (size_t i = 0; i < g->tool_count && !named; i++)
		named = str_eq(g->tools[i], str_of(f->tool->name));
	return named && changes(f) && d->risk >= g->risk &&
	       (g->effect == OP_READ || g->effect == f->tool->effect) && (!g->production || f->production);
}

/* A small helper for who may do the same by hand, where nobody asked to be asked (TL-5): that the gate is
 * off stands for the allow-list and for the opt-in. An admin's word about the tool still counts. */
static bool
at_once(const struct policy_facts *f)
{
	return f->tool->direct && f->has_verb && !f->token_requires && f->in_environment &&
	       !f->environment_gate;
}

/* Has the person opted in to no prompt? Never for what TL-7 excludes. */
static bool
opted_in(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	bool liftable = f->tool->effect != OP_DESTRUCTIVE && d->risk != RISK_HIGH && !guarded(r, f) &&
			(f->tool->category != TOOL_CATEGORY_C || !changes(f));

	if (f->override_ && r->overrides && liftable)
		return true;
	return f->tier == TIER_ALWAYS_ALLOW;
}

/* --- risk: each row raises it --- */

RULE(destroys)
{
	return f->tool->effect == OP_DESTRUCTIVE;
}
RULE(is_financial)
{
	return f->tool->financial;
}
RULE(is_phi)
{
	return f->tool->phi;
}
RULE(cannot_undo_in_production)
{
	return changes(f) && !f->tool->rollback && f->production;
}
RULE(deceives)
{
	return f->deceptive;
}
RULE(cannot_undo)
{
	return changes(f) && !f->tool->rollback && !f->production; /* there the row above says it */
}
RULE(is_personal)
{
	return f->tool->personal_data;
}
RULE(is_outside)
{
	return changes(f) && f->tool->provider != TOOL_BUILTIN;
}
RULE(is_blind)
{
	return changes(f) && f->tool->contract == TOOL_BLIND;
}
RULE(cannot_inspect)
{
	return !f->schema_known;
}

static const struct rule_row risks[] = {
	{ destroys, RISK_HIGH, "it destroys something" },
	{ is_financial, RISK_HIGH, "it concerns money" },
	{ is_phi, RISK_HIGH, "it concerns health data" },
	{ cannot_undo_in_production, RISK_HIGH, "it cannot be undone here, and this is production" },
	{ deceives, RISK_HIGH, "the input has characters that could deceive a reader" },
	{ cannot_undo, RISK_MEDIUM, "it cannot be undone here" },
	{ is_personal, RISK_MEDIUM, "it concerns personal data" },
	{ is_outside, RISK_MEDIUM, "it acts on another system" },
	{ is_blind, RISK_MEDIUM, "its outcome cannot be checked afterwards" },
	{ cannot_inspect, RISK_MEDIUM, "its input has no schema we know" },
};

/* --- refusals --- */

RULE(is_service)
{
	return f->principal == PRINCIPAL_SERVICE;
}
RULE(is_blocked)
{
	return f->tier == TIER_BLOCKED;
}
RULE(agent_and_money)
{
	return f->tool->financial && f->principal == PRINCIPAL_AGENT;
}
RULE(not_approved_for_phi)
{
	return (r->hipaa || f->declared_hipaa) && f->tool->phi && !listed(r, f->tool);
}

static const struct rule_row refusals[] = {
	{ is_service, RISK_LOW, "service principals cannot use tools" },
	{ is_blocked, RISK_LOW, "the tool is blocked for this agent" },
	{ agent_and_money, RISK_LOW, "agents cannot propose financial actions" },
	{ not_approved_for_phi, RISK_LOW, "in HIPAA mode only allow-listed tools may touch health data" },
};

/* --- questions: any one of them asks a person --- */

RULE(always_asks)
{
	return f->tool->effect == OP_DESTRUCTIVE;
}
RULE(is_category_c)
{
	return changes(f) && f->tool->category == TOOL_CATEGORY_C;
}
RULE(is_b_unlisted)
{
	return changes(f) && f->tool->category == TOOL_CATEGORY_B && !listed(r, f->tool) && !at_once(f);
}
RULE(is_not_automatic)
{
	return changes(f) && !r->auto_execute && !at_once(f);
}
RULE(is_risky)
{
	return changes(f) && d->risk != RISK_LOW;
}
RULE(is_guarded)
{
	return guarded(r, f);
}
RULE(token_asks)
{
	return f->token_requires;
}
RULE(environment_asks)
{
	return changes(f) && f->environment_gate;
}
RULE(only_proposes)
{
	return changes(f) && !f->has_verb;
}
RULE(tier_asks)
{
	if (opted_in(r, f, d) || f->tier != TIER_NEEDS_APPROVAL || (at_once(f) && !f->tier_stored))
		return false;
	/* auto mode is the person's word against a default, not against an admin's */
	return f->tier_stored || !changes(f) || !(f->auto_mode || f->wants_no_approval);
}

RULE(team_asks)
{
	for (size_t i = 0; i < r->group_count; i++)
		if (concerns(&r->groups[i], f, d))
			return true;
	return false;
}

static const struct rule_row questions[] = {
	{ always_asks, RISK_LOW, "what destroys always needs a person" },
	{ is_category_c, RISK_LOW, "category C tools always need a person" },
	{ is_b_unlisted, RISK_LOW, "the tool is not on the organization's allow-list" },
	{ is_not_automatic, RISK_LOW, "the organization does not allow automatic execution" },
	{ is_risky, RISK_LOW, "only low risk may run without a person" },
	{ is_guarded, RISK_LOW, "personal or health data needs a person in this compliance mode" },
	{ token_asks, RISK_LOW, "the token asks for approval" },
	{ environment_asks, RISK_LOW, "the environment asks for approval" },
	{ only_proposes, RISK_LOW, "the caller may propose this, not do it" },
	{ tier_asks, RISK_LOW, "the tool needs approval for this agent" },
	{ team_asks, RISK_LOW, "the organization asks a team about this" },
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
_Static_assert(
	COUNT(risks) < POLICY_REASONS && COUNT(questions) + COUNT(refusals) < POLICY_REASONS, "room for all");

static size_t
collect(const struct rule_row *rows, size_t count, const struct policy_rules *r, const struct policy_facts *f,
	const struct policy_decision *d, const char **out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].applies(r, f, d))
			out[n++] = rows[i].reason;
	return n;
}

static void
assess(const struct policy_rules *r, const struct policy_facts *f, struct policy_decision *d)
{
	d->risk = f->declared;
	for (size_t i = 0; i < COUNT(risks); i++)
		if (risks[i].applies(r, f, d) && risks[i].risk > d->risk)
			d->risk = risks[i].risk;
	(void)collect(risks, COUNT(risks), r, f, d, d->risk_reasons);
}

/* A token never agrees for its person (AP-3): they sign in, look at the card, and confirm it. What they may read asks for
 * nobody's vote but theirs. */
static enum policy_consent
consent_of(const struct policy_rules *r, const struct policy_facts *f)
{
	bool may_agree = f->has_verb && (f->may_vote || !changes(f));

	if (f->principal != PRINCIPAL_USER || !may_agree || f->token_requires || r->four_eyes)
		return CONSENT_NONE;
	if (!f->in_session || (changes(f) && f->tool->category == TOOL_CATEGORY_C))
		return CONSENT_CONFIRMING;
	return CONSENT_ASKING;
}

static int64_t
count_votes(const struct policy_rules *r, const struct policy_facts *f, const struct policy_decision *d)
{
	int64_t votes = d->risk == RISK_HIGH	 ? r->votes_high
			: d->risk == RISK_MEDIUM ? r->votes_medium
						 : r->votes_low;

	if (f->tool->effect == OP_DESTRUCTIVE && votes < r->votes_destructive)
		votes = r->votes_destructive;
	if (votes < 1)
		votes = 1;
	return d->consent == CONSENT_ASKING ? votes - 1 : votes;
}

/* Two rules for one team: the stricter one. */
static void
add_need(struct policy_decision *d, const struct policy_group *g)
{
	for (size_t i = 0; i < d->group_count; i++) {
		if (!str_eq(d->groups[i].team_id, g->team_id))
			continue;
		if (d->groups[i].votes < g->votes)
			d->groups[i].votes = g->votes;
		return;
	}
	d->groups[d->group_count++] = (struct policy_need){ g->team_id, g->votes };
}

static void
ask_teams(const struct policy_rules *r, const struct policy_facts *f, struct policy_decision *d)
{
	int64_t together = 0;

	CHECK(r->group_count <= POLICY_GROUPS);
	for (size_t i = 0; i < r->group_count; i++)
		if (concerns(&r->groups[i], f, d))
			add_need(d, &r->groups[i]);
	for (size_t i = 0; i < d->group_count; i++)
		together += d->groups[i].votes;
	if (d->votes < together)
		d->votes = together;
}

void
policy_decide(const struct policy_rules *r, const struct policy_facts *f, struct policy_decision *out)
{
	struct policy_decision d = { .verdict = VERDICT_RUN, .four_eyes = r->four_eyes };
	size_t refused;

	CHECK(f->tool != NULL);
	assess(r, f, &d);
	refused = collect(refusals, COUNT(refusals), r, f, &d, d.reasons);
	if (refused > 0) {
		d.verdict = VERDICT_REFUSE;
	} else if (collect(questions, COUNT(questions), r, f, &d, d.reasons) > 0) {
		d.consent = consent_of(r, f);
		d.votes = count_votes(r, f, &d);
		ask_teams(r, f, &d);
		d.verdict = VERDICT_ASK;
	}
	*out = d;
}

const char *
policy_never_lifted(const struct tool *t)
{
	if (t->effect == OP_DESTRUCTIVE)
		return "what destroys always needs a person";
	if (t->effect != OP_READ && t->category == TOOL_CATEGORY_C)
		return "category C tools always need a person";
	if (t->financial)
		return "agents cannot propose financial actions";
	return t->phi ? "what concerns health data is of high risk, and always needs a person" : NULL;
}

const char *
consent_name(enum policy_consent c)
{
	return consent_names[c];
}

const char *
risk_name(enum risk r)
{
	return risk_names[r];
}

bool
risk_of(str name, enum risk *out_risk)
{
	for (int i = RISK_LOW; i <= RISK_HIGH; i++) {
		if (str_eq(name, str_of(risk_names[i]))) {
			*out_risk = (enum risk)i;
			return true;
		}
	}
	return false;
}

const char *
tier_name(enum tier t)
{
	return tier_names[t];
}

bool
tier_of(str name, enum tier *out_tier)
{
	for (int i = TIER_NEEDS_APPROVAL; i <= TIER_BLOCKED; i++) {
		if (str_eq(name, str_of(tier_names[i]))) {
			*out_tier = (enum tier)i;
			return true;
		}
	}
	return false;
}
