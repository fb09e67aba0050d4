/* SPDX-License-Identifier: Apache-2.0 */
/* Promote: what one environment says, to another one of the same project (FL-7). */
#include "domain/flag/change/change.h"
#include "domain/flag/change/impl.h"

#include "base/limits.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "domain/flag/reservoir/survey.h"

struct promotion {
	struct environment from, to;
	int64_t seen;
	struct json *source, *doc; /* what is live there, and here */
	struct store_edit *edits;  /* only what differs */
	size_t count, most;
};

static const struct json *
entry(const struct json *doc, enum resource r, str key)
{
	const struct json *items = json_get(doc, str_of(resource_plural(r)));

	return items ? json_get(items, key) : NULL;
}

/* Always in the order of their ids, so that two promotions cannot wait for each other. */
static status
find_both(struct ctx *cx, const struct tool_call *call, bool lock, struct promotion *p)
{
	status (*find)(struct ctx *, str, struct environment *) = lock ? environment_lock : environment_get;
	str from = input_text(call->input, "fromEnvId"), to = input_text(call->input, "toEnvId");
	bool first = str_cmp(from, to) < 0;

	if (str_eq(from, to)) {
		fail_issue(cx, STR("/toEnvId"), STR("must be another environment"));
		return fail(cx, E_INVALID, "an environment is not promoted to itself");
	}
	TRY(change_in_scope(cx, call, from, (str){ 0 }));
	TRY(change_in_scope(cx, call, to, (str){ 0 }));
	TRY(find(cx, first ? from : to, first ? &p->from : &p->to));
	TRY(find(cx, first ? to : from, first ? &p->to : &p->from));
	if (!str_eq(p->from.project_id, p->to.project_id)) {
		fail_issue(cx, STR("/toEnvId"), STR("must be of the same project"));
		return fail(cx, E_INVALID, "both environments must be of one project");
	}
	p->seen = p->to.version;
	return OK;
}

/* Reading the other one is a right of its own. */
static status
may_read(struct ctx *cx, const struct tool_call *call, const struct promotion *p)
{
	static const char *const reads[] = { "flag.flag.read", "flag.config.read", "flag.segment.read",
		NULL };

	return caller_require_in(cx, cx->caller, call->tool->name, reads, p->from.production);
}

/* --- which ones --- */

static status
add(struct ctx *cx, const struct tool_call *call, struct promotion *p, enum resource r, str key)
{
	const struct json *theirs = entry(p->source, r, key), *ours = entry(p->doc, r, key);

	TRY(change_in_scope(cx, call, p->to.id, key));
	if (!theirs || !ours)
		return fail(cx, E_NOT_FOUND, "there is no %s called %.*s", resource_name(r), STR_ARG(key));
	if (!json_equal(theirs, ours) && p->count < p->most)
		p->edits[p->count++] = (struct store_edit){ .resource = r, .key = key, .state = theirs };
	return OK;
}

static status
add_named(struct ctx *cx, const struct tool_call *call, struct promotion *p, const struct json *resources)
{
	JSON_EACH (one, resources) {
		str type = input_text(one, "type");

		for (int r = 0; r < RESOURCES; r++)
			if (str_eq(type, str_of(resource_name((enum resource)r))))
				TRY(add(cx, call, p, (enum resource)r, input_text(one, "key")));
	}
	return OK;
}

static status
add_all(struct ctx *cx, const struct tool_call *call, struct promotion *p)
{
	for (int r = 0; r < RESOURCES; r++) {
		const struct json *items = json_get(p->source, str_of(resource_plural((enum resource)r)));

		for (const struct json *item = items ? items->child : NULL; item; item = item->next)
			TRY(add(cx, call, p, (enum resource)r, item->key));
	}
	return OK;
}

static status
choose(struct ctx *cx, const struct tool_call *call, struct promotion *p)
{
	const struct json *resources = json_get(call->input, STR("resources"));

	p->most = resources ? resources->count : LIMIT_RULESET_ITEMS + LIMIT_RULESET_SEGMENTS;
	p->edits = ARENA_TRY_ARRAY(cx->arena, struct store_edit, p->most + 1);
	if (!p->edits)
		return fail(cx, E_TOO_LARGE, "that is too much to promote at once");
	TRY(resources ? add_named(cx, call, p, resources) : add_all(cx, call, p));
	return p->count ? OK
			: fail(cx, E_CONFLICT, "there is nothing to promote: %.*s says the same as %.*s",
				  STR_ARG(p->to.slug), STR_ARG(p->from.slug));
}

/* --- what is said of it --- */

static bool
is_promoted(const struct promotion *p, str segment)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->edits[i].resource == RESOURCE_SEGMENT && str_eq(p->edits[i].key, segment))
			return true;
	return false;
}

/* Segments that are looked into, are not promoted, and are not the same in both: so the answers may differ. */
static struct json *
differing(struct ctx *cx, const struct promotion *p)
{
	struct json *below = impact_segments(cx, p->source, p->edits, p->count);
	struct json *list = json_new_array(cx->arena);

	JSON_EACH (segment, below) {
		const struct json *ours = entry(p->doc, RESOURCE_SEGMENT, segment->key);

		if (!is_promoted(p, segment->key) && (!ours || !json_equal(segment, ours)))
			json_add_item(list, json_new_string(cx->arena, segment->key));
	}
	return list;
}

static str
differing_words(struct ctx *cx, const struct promotion *p, const struct json *list)
{
	struct buf b;
	bool more = false;

	if (!list->count)
		return (str){ 0 };
	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_printf(&b, "; not promoted, and not the same as in %.*s: segment%s ", STR_ARG(p->from.slug),
		list->count > 1 ? "s" : "");
	JSON_EACH (segment, list) {
		buf_printf(&b, "%s%.*s", more ? ", " : "", STR_ARG(segment->text));
		more = true;
	}
	return buf_str(&b);
}

/* {"flags": {KEY: state}, ...} of what changes, from one document or the other. */
static struct json *
shown(struct ctx *cx, const struct promotion *p, const struct json *doc)
{
	struct json *out = json_new_object(cx->arena);

	for (int r = 0; r < RESOURCES; r++) {
		struct json *some = json_new_object(cx->arena);
		struct json **end = &some->child; /* json_add_member walks, and there may be many */

		for (size_t i = 0; i < p->count; i++) {
			struct json *one;

			if (p->edits[i].resource != (enum resource)r)
				continue;
			one = change_shown(
				cx, (enum resource)r, entry(doc, (enum resource)r, p->edits[i].key));
			one->key = p->edits[i].key;
			*end = one;
			end = &one->next;
			some->count++;
		}
		if (some->count)
			json_add_member(out, str_of(resource_plural((enum resource)r)), some);
	}
	return out;
}

static str
what(struct ctx *cx, const struct promotion *p)
{
	size_t n[RESOURCES] = { 0 };

	if (p->count == 1)
		return arena_printf(cx->arena, "the %s %.*s", resource_name(p->edits[0].resource),
			STR_ARG(p->edits[0].key));
	for (size_t i = 0; i < p->count; i++)
		n[p->edits[i].resource]++;
	return arena_printf(cx->arena, "%zu flags, %zu configs and %zu segments", n[RESOURCE_FLAG],
		n[RESOURCE_CONFIG], n[RESOURCE_SEGMENT]);
}

static struct json *
value_of(struct ctx *cx, const struct promotion *p, struct json *differ)
{
	struct json *value = json_new_object(cx->arena);

	json_add_member(value, STR("envId"), json_new_string(cx->arena, p->to.id));
	json_add_member(value, STR("version"), json_new_int(cx->arena, p->to.version));
	json_add_member(value, STR("promoted"), json_new_int(cx->arena, (int64_t)p->count));
	json_add_member(value, STR("segmentsThatDiffer"), differ);
	return value;
}

static status
plan(struct ctx *cx, const struct tool_call *call, bool lock, struct promotion *p)
{
	TRY(find_both(cx, call, lock, p));
	TRY(may_read(cx, call, p));
	TRY(tool_check_version(cx, call, p->to.version));
	TRY(store_document(cx, &p->from, 0, &p->source));
	TRY(store_document(cx, &p->to, 0, &p->doc));
	return choose(cx, call, p);
}

struct looking {
	const struct tool_call *call;
	struct promotion p;
	bool on;
};

static status
look(struct ctx *cx, void *arg)
{
	struct looking *l = arg;

	TRY(survey_is_on(cx, cx->caller->org_id, input_text(l->call->input, "toEnvId"), &l->on));
	return l->on ? plan(cx, l->call, false, &l->p) : OK;
}

static status
survey(struct ctx *cx, const struct tool_call *call, const struct json **out)
{
	struct looking l = { .call = call };

	TRY(db_read(cx, look, &l));
	return l.on ? change_survey_edits(cx, &l.p.to, l.p.doc, l.p.edits, l.p.count, out) : OK;
}

static status
promote(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct promotion p = { 0 };
	int64_t now_us;
	bool one;
	struct impact impact;
	struct json *differ;
	str words, things;

	TRY(plan(cx, call, true, &p));
	TRY(tx_now_us(cx, &now_us));
	TRY(store_write(cx, &p.to, p.edits, p.count, now_us));
	if (p.count > 1) /* of one, the record of the change itself says it */
		TRY(change_record_each(cx, call, &p.to, p.doc, p.edits, p.count));
	TRY(change_impact(cx, call, p.doc, p.edits, p.count, &impact, &words));
	differ = differing(cx, &p);
	one = p.count == 1;
	things = what(cx, &p);
	*out = (struct tool_result){ .summary = arena_printf(cx->arena, "Promote %.*s from %.*s to %.*s",
					     STR_ARG(things), STR_ARG(p.from.slug), STR_ARG(p.to.slug)),
		.resource_type = one ? str_of(resource_name(p.edits[0].resource)) : STR("environment"),
		.resource_key = one ? p.edits[0].key : (str){ 0 },
		.resource_id = one ? STR("") : p.to.id,
		.environment_id = p.to.id,
		.live_version = p.seen,
		.affected = arena_printf(cx->arena, "%.*s in %.*s%.*s%.*s", STR_ARG(things),
			STR_ARG(p.to.slug), STR_ARG(words), STR_ARG(differing_words(cx, &p, differ))),
		.before = shown(cx, &p, p.doc),
		.after = shown(cx, &p, p.source),
		.impact = impact.radius,
		.value = value_of(cx, &p, differ),
		.version = p.to.version };
	return OK;
}

/* --- the declaration --- */

#define RESOURCES_SCHEMA                                                                                     \
	"\"resources\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":1000,\"uniqueItems\":true,"           \
	"\"items\":" SCHEMA_OBJECT(                                                                          \
		"\"type\":{\"enum\":[\"flag\",\"config\",\"segment\"]}," SCHEMA_ID("key", "Its key."),       \
		"\"type\",\"key\"") ",\"description\":\"What to promote; the whole environment unless "      \
				    "said.\"}"

static const char *const promotes[] = { "flag.flag.promote", "flag.config.promote", "flag.segment.promote",
	NULL };

const struct tool change_promote_tools[] = {
	{ .name = "flag.promote",
		.version = 1,
		.title = "Promote to an environment",
		.doc = "Makes an environment say what another one of its project says, of some flags, "
		       "configs and "
		       "segments or of all. Segments that are not named are not taken along: those that "
		       "differ are listed.",
		.effect = OP_MUTATE,
		.in_schema = SCHEMA_OBJECT(
			SCHEMA_ID("fromEnvId", "The environment that is as it should be.") "," SCHEMA_ID(
				"toEnvId", "The environment that changes.") "," RESOURCES_SCHEMA
									    "," SCHEMA_SPOT_CHECK,
			"\"fromEnvId\",\"toEnvId\""),
		.out_schema = SCHEMA_OBJECT(GIVES_WHERE
			"," GIVES("promoted", "integer") "," SCHEMA_TEXTS("segmentsThatDiffer"),
			"\"envId\",\"version\",\"promoted\""),
		.rules = promotes,
		.propose_rule = "flag.flag.propose",
		.category = TOOL_CATEGORY_B,
		.domain = "operations",
		.target = CHANGE_TARGET,
		.rollback = true,
		.spans = true,
		.ttl_seconds = CHANGE_TTL_SECONDS,
		.failure = CHANGE_FAILURE,
		.run = promote,
		.survey = survey },
	{ 0 },
};
