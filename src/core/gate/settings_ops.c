/* SPDX-License-Identifier: Apache-2.0 */
/* An organization's settings as operations: what policy goes by (AP-4, AP-8, TL-7). */
#include "core/gate/settings.h"
#include "core/people/change.h"
#include "core/people/team.h"
#include "db/db.h"

#include "core/gate/settings.sql.h" /* SQL_SETTINGS_*, generated from settings.sql */

struct settings_out {
	int64_t policy_version;
	struct json *policy;
};
static const struct field settings_out[] = {
	FIELD_INT(struct settings_out, policy_version, .need = true, .min = 1,
		.doc = "Grows with every change."),
	FIELD_JSON(struct settings_out, policy, .need = true,
		.doc = "votesLow, votesMedium, votesHigh, votesDestructive (1 to 20), fourEyes, overrides, "
		       "autoExecute, gdpr, hipaa (true or false), allowListed (names of tools), groups "
		       "(objects {teamId, votes, risk?, effect?, production?, tools?})."),
	FIELD_END,
};

static void
add_int(struct arena *a, struct json *o, const char *key, int64_t n)
{
	json_add_member(o, str_of(key), json_new_int(a, n));
}

static void
add_bool(struct arena *a, struct json *o, const char *key, bool truth)
{
	json_add_member(o, str_of(key), json_new_bool(a, truth));
}

static struct json *
describe_group(struct arena *a, const struct policy_group *g)
{
	struct json *o = change_text(a, json_new_object(a), "teamId", g->team_id);

	add_int(a, o, "votes", g->votes);
	if (g->risk != RISK_LOW)
		(void)change_text(a, o, "risk", str_of(risk_name(g->risk)));
	if (g->effect != OP_READ)
		(void)change_text(a, o, "effect", str_of(effect_name(g->effect)));
	if (g->production)
		add_bool(a, o, "production", true);
	if (g->tool_count)
		json_add_member(o, STR("tools"), change_strings(a, g->tools, g->tool_count));
	return o;
}

static struct json *
describe_groups(struct arena *a, const struct policy_rules *r)
{
	struct json *list = json_new_array(a);

	for (size_t i = 0; i < r->group_count; i++)
		json_add_item(list, describe_group(a, &r->groups[i]));
	return list;
}

/* All of it, defaults written out. */
static struct json *
describe(struct arena *a, const struct policy_rules *r)
{
	struct json *o = json_new_object(a);

	add_int(a, o, "votesLow", r->votes_low);
	add_int(a, o, "votesMedium", r->votes_medium);
	add_int(a, o, "votesHigh", r->votes_high);
	add_int(a, o, "votesDestructive", r->votes_destructive);
	add_bool(a, o, "fourEyes", r->four_eyes);
	add_bool(a, o, "overrides", r->overrides);
	add_bool(a, o, "autoExecute", r->auto_execute);
	add_bool(a, o, "gdpr", r->gdpr);
	add_bool(a, o, "hipaa", r->hipaa);
	json_add_member(o, STR("allowListed"), change_strings(a, r->allow_listed, r->allow_listed_count));
	json_add_member(o, STR("groups"), describe_groups(a, r));
	return o;
}

static void
answer(struct ctx *cx, const struct policy_rules *r, struct json_out *out)
{
	json_out_int(out, "policyVersion", r->version);
	json_out_value(out, "policy", describe(cx->arena, r));
}

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	struct policy_rules rules;

	(void)in;
	TRY(policy_rules_load(cx, cx->caller->org_id, &rules));
	answer(cx, &rules, out);
	return OK;
}

struct put_in {
	struct json *policy;
	int64_t policy_version;
};
static const struct field put_in[] = {
	FIELD_JSON(struct put_in, policy, .need = true,
		.doc = "All of the policy; what is absent gets its default."),
	FIELD_INT(struct put_in, policy_version, .min = 1, .max = INT64_MAX,
		.doc = "The version that was changed; another one now is a conflict. Absent: whatever there "
		       "is."),
	FIELD_END,
};

/* An issue of the policy is an issue of the body: its path begins with /policy. */
static status
read_policy(struct ctx *cx, const struct json *policy, struct policy_rules *out)
{
	return fail_below(cx, STR("/policy"), policy_rules_read(cx, policy, out));
}

static status
refuse(struct ctx *cx, str path, const char *message)
{
	ctx_clear(cx);
	fail_issue(cx, path, str_of(message));
	return fail(cx, E_INVALID, "%.*s %s", STR_ARG(path), message);
}

/* A name with a slip in it would stand for nothing: a team would silently not be asked. */
static status
check_tools(struct ctx *cx, str path, const str *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!tool_find(cx->tools, names[i]))
			return refuse(cx, arena_printf(cx->arena, "%.*s/%zu", STR_ARG(path), i),
				"names a tool that there is not");
	return OK;
}

/* A team that is not there, or has fewer people than are asked for, could never agree. */
static status
check_names(struct ctx *cx, const struct policy_rules *r)
{
	for (size_t i = 0; i < r->group_count; i++) {
		const struct policy_group *g = &r->groups[i];
		str path = arena_printf(cx->arena, "/policy/groups/%zu", i);
		int64_t people;
		status s = team_size(cx, g->team_id, &people);

		if (s == E_NOT_FOUND)
			return refuse(cx, path, "is no team");
		TRY(s);
		if (people < g->votes)
			return refuse(cx, path, "asks for more people than the team has");
		TRY(check_tools(
			cx, arena_printf(cx->arena, "%.*s/tools", STR_ARG(path)), g->tools, g->tool_count));
	}
	return check_tools(cx, STR("/policy/allowListed"), r->allow_listed, r->allow_listed_count);
}

status
policy_rules_store(struct ctx *cx, str org_id, const struct policy_rules *was, struct policy_rules *now)
{
	struct json *doc = json_new_object(cx->arena);
	str text;

	now->version = was->version + 1;
	json_add_member(doc, STR("policy"), describe(cx->arena, now));
	TRY(json_text(cx, doc, &text));
	TRY(db_run(cx, SQL_SETTINGS_PUT, TEXT(org_id), TEXT(text), INT(now->version)));
	return audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_SETTINGS_CHANGED,
			.org_id = org_id,
			.resource_type = STR("settings"),
			.resource_id = org_id,
			.resource_key = STR("policy"),
			.before = describe(cx->arena, was),
			.after = describe(cx->arena, now) },
		NULL);
}

static status
run_put(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct put_in *p = in;
	str org_id = cx->caller->org_id;
	struct policy_rules was, now;

	TRY(policy_rules_load(cx, org_id, &was));
	if (p->policy_version && p->policy_version != was.version)
		return fail(cx, E_CONFLICT, "the policy has been changed meanwhile; look again");
	TRY(read_policy(cx, p->policy, &now));
	TRY(check_names(cx, &now));
	TRY(policy_rules_store(cx, org_id, &was, &now));
	answer(cx, &now, out);
	return OK;
}

const struct op settings_ops[] = {
	{ .name = "settings_get",
		.method = "GET",
		.path = "/api/v1/settings",
		.rule = "policy.settings.read",
		.tx = OP_TX_READ,
		.doc = "Shows what the organization's policy goes by.",
		.out = settings_out,
		.run = run_get },
	{ .name = "settings_put",
		.method = "PUT",
		.path = "/api/v1/settings",
		.rule = "policy.settings.manage",
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes what the organization's policy goes by. It holds for every decision from "
		       "this moment.",
		.in = put_in,
		.in_size = sizeof(struct put_in),
		.out = settings_out,
		.errors = OP_ERRORS(E_CONFLICT),
		.run = run_put },
	{ 0 },
};
