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
	struct json *allow_listed;
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
	FIELD_END,
};

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
