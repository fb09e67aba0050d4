/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/change/impl.h"

#include "base/limits.h"
#include "core/audit/audit.h"
#include "db/db.h"
#include "domain/flag/reservoir/survey.h"

str
input_text(const struct json *input, const char *key)
{
	const struct json *value = json_get(input, str_of(key));

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

status
change_in_scope(struct ctx *cx, const struct tool_call *call, str environment_id, str key)
{
	if (!caller_in_scope(cx->caller, environment_id, (str){ 0 }))
		return fail(cx, E_SCOPE, "Forbidden: %s (the environment %.*s is outside the token's scope)",
			call->tool->name, STR_ARG(environment_id));
	if (!caller_in_scope(cx->caller, environment_id, key))
		return fail(cx, E_SCOPE, "Forbidden: %s (the key %.*s is outside the token's scope)",
			call->tool->name, STR_ARG(key));
	return OK;
}

/* --- entries --- */

struct json *
change_with(struct ctx *cx, const struct json *entry, const char *key, const struct json *value)
{
	struct json *out = json_new_object(cx->arena);
	bool there = false;

	JSON_EACH (member, entry) {
		bool is = str_eq(member->key, str_of(key));

		there = there || is;
		json_add_member(out, member->key, json_share(cx->arena, is ? value : member));
	}
	if (!there)
		json_add_member(out, str_of(key), json_share(cx->arena, value));
	return out;
}

static void
show(struct ctx *cx, struct json *out, const struct json *entry, const char *key)
{
	const struct json *value = json_get(entry, str_of(key));

	json_add_member(out, str_of(key), value ? json_share(cx->arena, value) : json_new_array(cx->arena));
}

struct json *
change_shown(struct ctx *cx, enum resource r, const struct json *entry)
{
	struct json *out = json_new_object(cx->arena);

	if (r != RESOURCE_SEGMENT)
		show(cx, out, entry, "defaultValue");
	show(cx, out, entry, "rules");
	if (r == RESOURCE_SEGMENT) {
		show(cx, out, entry, "allowList");
		show(cx, out, entry, "denyList");
	}
	return out;
}

str
change_path(struct ctx *cx, enum resource r, str key)
{
	return arena_printf(cx->arena, "/%s/%.*s", resource_plural(r), STR_ARG(key));
}

status
change_paths(struct ctx *cx, str from, const char *to, status s)
{
	for (size_t i = 0; s == E_INVALID && i < cx->error.issue_count; i++) {
		str path = cx->error.issues[i].path;

		if (str_starts(path, from))
			cx->error.issues[i].path =
				arena_printf(cx->arena, "%s%.*s", to, STR_ARG(str_skip(path, from.len)));
	}
	return s;
}

/* --- the blast radius --- */

str
change_words(struct ctx *cx, const struct impact_pair *p, const struct impact *i)
{
	str left = p->depending > p->key_count
			   ? arena_printf(cx->arena, " (of %zu flags and configs the first %zu)",
				     p->depending, p->key_count)
			   : (str){ 0 };

	return arena_printf(
		cx->arena, "; %zu of %zu spot checks change%.*s", i->changed, i->contexts, STR_ARG(left));
}

status
change_impact(struct ctx *cx, const struct tool_call *call, const struct json *doc,
	const struct store_edit *edits, size_t count, struct impact *out, str *out_words)
{
	const struct json *contexts = json_get(call->input, STR("spotCheck"));
	struct impact_pair pair;
	status s;

	*out = (struct impact){ 0 };
	*out_words = (str){ 0 };
	if (!contexts || !contexts->count)
		return OK;
	TRY(impact_open(cx, doc, edits, count, &pair));
	s = impact_make(cx, &pair, contexts, out);
	if (s == OK)
		*out_words = change_words(cx, &pair, out);
	impact_close(&pair);
	return s;
}

/* --- one change, from its beginning to its end --- */

status
change_begin(struct ctx *cx, const struct tool_call *call, bool lock, enum resource r, struct change *out)
{
	str environment_id = input_text(call->input, "envId"), key = input_text(call->input, "resourceKey");
	struct change c = { .edit = { .resource = r, .key = key } };

	TRY(change_in_scope(cx, call, environment_id, key));
	TRY(lock ? environment_lock(cx, environment_id, &c.e) : environment_get(cx, environment_id, &c.e));
	TRY(tool_check_version(cx, call, c.e.version));
	TRY(store_find(cx, &c.e, r, key, &c.item));
	TRY(store_document(cx, &c.e, 0, &c.doc));
	c.seen = c.e.version;
	*out = c;
	return OK;
}

struct looking {
	const struct tool_call *call;
	change_plan *plan;
	struct change c;
	bool on;
};

static status
look(struct ctx *cx, void *arg)
{
	struct looking *l = arg;

	TRY(survey_is_on(cx, cx->caller->org_id, input_text(l->call->input, "envId"), &l->on));
	return l->on ? l->plan(cx, l->call, false, &l->c) : OK;
}

status
change_survey_edits(struct ctx *cx, const struct environment *e, const struct json *doc,
	const struct store_edit *edits, size_t count, const struct json **out)
{
	struct impact_pair pair;
	status s;

	TRY(impact_open(cx, doc, edits, count, &pair));
	s = survey_make(cx, cx->caller->org_id, e->id, &pair, out);
	impact_close(&pair);
	return s;
}

status
change_survey(struct ctx *cx, const struct tool_call *call, change_plan *plan, const struct json **out)
{
	struct looking l = { .call = call, .plan = plan };

	TRY(db_read(cx, look, &l));
	return l.on ? change_survey_edits(cx, &l.c.e, l.c.doc, &l.c.edit, 1, out) : OK;
}

static struct json *
value_of(struct ctx *cx, const struct change *c)
{
	struct json *value = json_new_object(cx->arena);
	const char *type = resource_name(c->edit.resource);

	json_add_member(value, STR("envId"), json_new_string(cx->arena, c->e.id));
	json_add_member(value, STR("version"), json_new_int(cx->arena, c->e.version));
	json_add_member(value, STR("resourceType"), json_new_string(cx->arena, str_of(type)));
	json_add_member(value, STR("resourceKey"), json_new_string(cx->arena, c->edit.key));
	json_add_member(value, STR("state"), change_shown(cx, c->edit.resource, c->edit.state));
	return value;
}

status
change_write(struct ctx *cx, const struct tool_call *call, struct change *c, const char *verb, const char *at,
	struct tool_result *out)
{
	enum resource r = c->edit.resource;
	const char *what = resource_name(r);
	struct impact impact;
	int64_t now_us;
	str words;

	TRY(tx_now_us(cx, &now_us));
	TRY(change_paths(
		cx, change_path(cx, r, c->edit.key), at, store_write(cx, &c->e, &c->edit, 1, now_us)));
	TRY(change_impact(cx, call, c->doc, &c->edit, 1, &impact, &words));
	*out = (struct tool_result){ .summary = arena_printf(cx->arena, "%s the %s %.*s in %.*s", verb, what,
					     STR_ARG(c->edit.key), STR_ARG(c->e.slug)),
		.resource_type = str_of(what),
		.resource_key = c->edit.key,
		.resource_id = c->item.id,
		.environment_id = c->e.id,
		.live_version = c->seen,
		.affected = arena_printf(cx->arena, "%s %.*s in %.*s%.*s", what, STR_ARG(c->edit.key),
			STR_ARG(c->e.slug), STR_ARG(words)),
		.before = change_shown(cx, r, c->item.state),
		.after = change_shown(cx, r, c->edit.state),
		.impact = impact.radius,
		.value = value_of(cx, c),
		.version = c->e.version };
	return OK;
}

/* --- many at once --- */

static enum audit_action
action_of(const struct json *before, const struct json *after)
{
	if (!before)
		return AUDIT_RECORD_CREATED;
	return after ? AUDIT_RECORD_CHANGED : AUDIT_RECORD_DELETED;
}

status
change_record_each(struct ctx *cx, const struct tool_call *call, const struct environment *e,
	const struct json *doc, const struct store_edit *edits, size_t count)
{
	for (size_t i = 0; call->proposal_id.len && i < count; i++) {
		enum resource r = edits[i].resource;
		const struct json *before = json_get(json_get(doc, str_of(resource_plural(r))), edits[i].key);
		struct audit_entry entry = { .action = action_of(before, edits[i].state),
			.resource_type = str_of(resource_name(r)),
			.resource_key = edits[i].key,
			.reason = arena_printf(cx->arena, "proposal:%.*s", STR_ARG(call->proposal_id)),
			.proposal_id = call->proposal_id,
			.tool = str_of(call->tool->name),
			.applier_id = cx->caller->principal_id,
			.version = e->version,
			.before = before ? change_shown(cx, r, before) : NULL,
			.after = edits[i].state ? change_shown(cx, r, edits[i].state) : NULL };

		TRY(audit_add(cx, &entry, NULL));
	}
	return OK;
}
