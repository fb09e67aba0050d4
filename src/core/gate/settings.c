/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/settings.h"

#include "base/limits.h"
#include "core/ident/org.h"
#include "json/bind.h"

#define VOTES_MOST 20

/* The rules as they are written, before the list has become an array. */
struct written {
	int64_t votes_low, votes_medium, votes_high, votes_destructive;
	bool four_eyes, overrides, auto_execute, gdpr, hipaa;
	struct json *allow_listed, *groups;
};
static const struct field written[] = {
	FIELD_INT(struct written, votes_low, .min = 1, .max = VOTES_MOST,
		.doc = "People who must agree at low risk."),
	FIELD_INT(struct written, votes_medium, .min = 1, .max = VOTES_MOST, .doc = "At medium risk."),
	FIELD_INT(struct written, votes_high, .min = 1, .max = VOTES_MOST, .doc = "At high risk."),
	FIELD_INT(struct written, votes_destructive, .min = 1, .max = VOTES_MOST,
		.doc = "At least, for what destroys."),
	FIELD_BOOL(struct written, four_eyes, .doc = "The person an agent proposes for cannot vote on it."),
	FIELD_BOOL(struct written, overrides, .doc = "People may choose \"approve always\"."),
	FIELD_BOOL(
		struct written, auto_execute, .doc = "Low-risk reversible changes may run without a person."),
	FIELD_BOOL(struct written, gdpr, .doc = "Personal data always needs a person."),
	FIELD_BOOL(struct written, hipaa,
		.doc = "Health data only by allow-listed tools, always with a person."),
	FIELD_JSON(struct written, allow_listed, .doc = "Category B tools that may run without a person."),
	FIELD_JSON(
		struct written, groups, .doc = "Teams some of whose people must be among those who agree."),
	FIELD_END,
};

static const char *const risks[] = { "low", "medium", "high", NULL };
static const char *const effects[] = { "mutate", "destructive", NULL };
struct written_group {
	str team_id, risk, effect;
	int64_t votes;
	bool production;
	struct json *tools;
};
static const struct field written_group[] = {
	FIELD_TEXT(struct written_group, team_id, .need = true, .min = 1, .max = LIMIT_NAME,
		.doc = "The team that is asked."),
	FIELD_INT(struct written_group, votes, .min = 1, .max = VOTES_MOST,
		.doc = "People of it who must agree; 1 unless said."),
	FIELD_TEXT(struct written_group, risk, .choices = risks, .doc = "Only at this risk or above."),
	FIELD_TEXT(struct written_group, effect, .choices = effects, .doc = "Only for this effect."),
	FIELD_BOOL(struct written_group, production, .doc = "Only in production."),
	FIELD_JSON(struct written_group, tools, .doc = "Only for these tools."),
	FIELD_END,
};

static status
read_group(struct ctx *cx, const struct json *item, struct policy_group *out)
{
	struct written_group w = { .votes = 1 };
	struct policy_group g = { .risk = RISK_LOW, .effect = OP_READ };

	TRY(json_bind(cx, item, written_group, sizeof(w), &w));
	TRY(json_bind_strings(cx, w.tools, STR("/tools"), LIMIT_RULES, &g.tools, &g.tool_count));
	g.team_id = w.team_id;
	g.votes = w.votes;
	g.production = w.production;
	(void)risk_of(w.risk, &g.risk); /* the field's choices; empty: low */
	if (w.effect.len)
		g.effect = str_eq(w.effect, STR("mutate")) ? OP_MUTATE : OP_DESTRUCTIVE;
	*out = g;
	return OK;
}

/* An issue of the i-th group is at /groups/i. */
static status
read_groups(struct ctx *cx, const struct json *list, struct policy_rules *rules)
{
	struct policy_group *groups = arena_alloc(cx->arena, POLICY_GROUPS * sizeof(*groups));

	if (list && (list->type != JSON_ARRAY || list->count > POLICY_GROUPS)) {
		fail_issue(cx, STR("/groups"), STR("must be an array of at most 8"));
		return fail(cx, E_INVALID, "/groups must be an array of at most %d", POLICY_GROUPS);
	}
	rules->groups = groups;
	for (const struct json *item = list ? list->child : NULL; item; item = item->next) {
		str part = arena_printf(cx->arena, "/groups/%zu", rules->group_count);

		TRY(fail_below(cx, part, read_group(cx, item, &groups[rules->group_count])));
		rules->group_count++;
	}
	return OK;
}

status
policy_rules_read(struct ctx *cx, const struct json *policy, struct policy_rules *out)
{
	struct written w = { .votes_low = 1,
		.votes_medium = 1,
		.votes_high = 1,
		.votes_destructive = 1,
		.overrides = true,
		.auto_execute = true };
	struct policy_rules rules = { 0 };

	TRY(json_bind(cx, policy, written, sizeof(w), &w));
	rules = (struct policy_rules){ .votes_low = w.votes_low,
		.votes_medium = w.votes_medium,
		.votes_high = w.votes_high,
		.votes_destructive = w.votes_destructive,
		.four_eyes = w.four_eyes,
		.overrides = w.overrides,
		.auto_execute = w.auto_execute,
		.gdpr = w.gdpr,
		.hipaa = w.hipaa };
	TRY(json_bind_strings(cx, w.allow_listed, STR("/allowListed"), LIMIT_RULES, &rules.allow_listed,
		&rules.allow_listed_count));
	TRY(read_groups(cx, w.groups, &rules));
	*out = rules;
	return OK;
}

static status
read_settings(struct ctx *cx, str settings, int64_t version, struct policy_rules *out)
{
	const struct json *policy;
	struct json *doc;

	TRY(json_parse(cx, settings, &doc));
	policy = json_get(doc, STR("policy"));
	TRY(policy_rules_read(cx, policy ? policy : json_new_object(cx->arena), out));
	out->version = version;
	return OK;
}

status
policy_rules_load(struct ctx *cx, str org_id, struct policy_rules *out)
{
	struct org_settings stored;

	TRY(org_settings(cx, org_id, &stored));
	return read_settings(cx, stored.settings, stored.policy_version, out);
}

status
policy_rules_of(struct ctx *cx, const struct caller *c, struct policy_rules *out)
{
	return read_settings(cx, c->settings, c->policy_version, out);
}
