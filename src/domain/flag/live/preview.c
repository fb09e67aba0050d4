/* SPDX-License-Identifier: Apache-2.0 */
/* preview: live and hypothetical answers side by side. */
#include "domain/flag/live/evaluate_ops.h"

#include "base/limits.h"
#include "domain/flag/change/impact.h"
#include "domain/flag/live/answers.h"
#include "domain/flag/live/visit.h"
#include "json/pointer.h"

/* One entry of the ruleset that was given, and where it stood. */
struct given {
	enum resource resource;
	str key;
	size_t index;
	const struct json *entry;
};

struct preview {
	const struct preview_in *in;
	struct visit visit;
	struct json *document; /* live */
	struct given *given;
	size_t given_count;
	struct json *laid_over;
	struct ruleset *live, *then; /* compiled */
	str *keys;		     /* what is reported */
	struct asked asked;
};

/* --- reading the ruleset that was given --- */

static str
path_of(struct ctx *cx, const struct given *g)
{
	return arena_printf(cx->arena, "/ruleset/%s/%zu", resource_plural(g->resource), g->index);
}

static status
read_entry(struct ctx *cx, struct preview *p, struct given g)
{
	const struct json *key = json_get(g.entry, STR("key"));

	if (!key || key->type != JSON_STRING)
		return visit_refuse(cx, path_of(cx, &g), STR("must be an object with a key"));
	g.key = key->text;
	for (size_t i = 0; i < p->given_count; i++)
		if (p->given[i].resource == g.resource && str_eq(p->given[i].key, g.key))
			return visit_refuse(cx, path_of(cx, &g), STR("has a key that was there before"));
	p->given[p->given_count++] = g;
	return OK;
}

static bool
resource_of(str plural, enum resource *out)
{
	for (enum resource r = 0; r < RESOURCES; r++) {
		if (str_eq(plural, str_of(resource_plural(r)))) {
			*out = r;
			return true;
		}
	}
	return false;
}

static status
read_list(struct ctx *cx, struct preview *p, const struct json *list)
{
	str path = pointer_key(cx->arena, STR("/ruleset"), list->key);
	struct given g = { 0 };

	if (!resource_of(list->key, &g.resource))
		return visit_refuse(cx, path, STR("is not known here; accepted: flags, configs, segments"));
	if (list->type != JSON_ARRAY)
		return visit_refuse(cx, path, STR("must be an array"));
	if (p->given_count + list->count > LIMIT_PREVIEW_ENTRIES)
		return visit_refuse(cx, path, STR("has too many entries"));
	JSON_EACH (entry, list) {
		g.entry = entry;
		TRY(read_entry(cx, p, g));
		g.index++;
	}
	return OK;
}

static status
read_ruleset(struct ctx *cx, struct preview *p)
{
	const struct json *ruleset = p->in->ruleset;

	if (ruleset->type != JSON_OBJECT)
		return visit_refuse(cx, STR("/ruleset"), STR("must be an object"));
	p->given = arena_alloc(cx->arena, LIMIT_PREVIEW_ENTRIES * sizeof(*p->given));
	JSON_EACH (list, ruleset)
		TRY(read_list(cx, p, list));
	return p->given_count ? OK : visit_refuse(cx, STR("/ruleset"), STR("has nothing to preview"));
}

static status
read_contexts(struct ctx *cx, const struct json *list)
{
	size_t i = 0;

	if (list->type != JSON_ARRAY || !list->count || list->count > LIMIT_SPOT_CHECKS)
		return visit_refuse(cx, STR("/spotCheck"), STR("must be an array of 1 to 50 contexts"));
	JSON_EACH (context, list)
		TRY(answers_check(cx, context, arena_printf(cx->arena, "/spotCheck/%zu", i++)));
	return OK;
}

/* --- laying it over --- */

static const struct json *
live_entry(const struct preview *p, const struct given *g)
{
	return json_get(json_get(p->document, str_of(resource_plural(g->resource))), g->key);
}

/* What a thing is does not change with what it says: a save could not do it either. */
static status
check_type(struct ctx *cx, const struct given *g, const struct json *live)
{
	const struct json *was = live ? json_get(live, STR("type")) : NULL,
			  *is = json_get(g->entry, STR("type"));

	if (!was || !is || json_equal(was, is))
		return OK;
	return visit_refuse(cx, arena_printf(cx->arena, "%.*s/type", STR_ARG(path_of(cx, g))),
		STR("is not its type: a type does not change"));
}

/* The entry without its key, over the one that is live: what it leaves out stays. */
static struct json *
merge(struct arena *a, const struct json *live, const struct json *entry)
{
	struct json *merged = json_new_object(a);

	JSON_EACH (m, entry)
		if (!str_eq(m->key, STR("key")))
			json_add_member(merged, m->key, json_share(a, m));
	for (const struct json *m = live ? live->child : NULL; m; m = m->next)
		if (!json_get(entry, m->key))
			json_add_member(merged, m->key, json_share(a, m));
	return merged;
}

static status
lay_over(struct ctx *cx, struct preview *p)
{
	struct store_edit *edits = arena_alloc(cx->arena, p->given_count * sizeof(*edits));

	for (size_t i = 0; i < p->given_count; i++) {
		const struct given *g = &p->given[i];
		const struct json *live = live_entry(p, g);

		TRY(check_type(cx, g, live));
		edits[i] = (struct store_edit){ g->resource, g->key, merge(cx->arena, live, g->entry) };
	}
	p->laid_over = store_overlay(cx, p->document, edits, p->given_count);
	return OK;
}

/* --- what is wrong with it, in terms of the body --- */

/* /flags/KEY/rules/0 -> /ruleset/flags/INDEX/rules/0; what is wrong elsewhere is wrong because of the whole. */
static struct issue
translate(struct ctx *cx, const struct preview *p, struct issue issue)
{
	for (size_t i = 0; i < p->given_count; i++) {
		const struct given *g = &p->given[i];
		str own = pointer_key(
			cx->arena, arena_printf(cx->arena, "/%s", resource_plural(g->resource)), g->key);
		str rest = str_skip(issue.path, own.len);

		if (str_starts(issue.path, own) && (!rest.len || rest.ptr[0] == '/'))
			return (struct issue){ arena_printf(cx->arena, "%.*s%.*s", STR_ARG(path_of(cx, g)),
						       STR_ARG(rest)),
				issue.message };
	}
	return (struct issue){ STR("/ruleset"),
		arena_printf(cx->arena, "%.*s %.*s", STR_ARG(issue.path), STR_ARG(issue.message)) };
}

static status
blame(struct ctx *cx, const struct preview *p, status s)
{
	struct error found = cx->error;

	if (s != E_INVALID || !found.issue_count)
		return s;
	ctx_clear(cx);
	for (size_t i = 0; i < found.issue_count; i++) {
		struct issue issue = translate(cx, p, found.issues[i]);

		fail_issue(cx, issue.path, issue.message);
	}
	return fail(cx, E_INVALID, "%.*s %.*s", STR_ARG(cx->error.issues[0].path),
		STR_ARG(cx->error.issues[0].message));
}

/* --- which keys are reported --- */

static bool
is_among(const str *list, size_t count, str key)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(list[i], key))
			return true;
	return false;
}

static void
report(struct preview *p, str key)
{
	if (p->asked.count < LIMIT_EVALUATE_KEYS && !is_among(p->keys, p->asked.count, key))
		p->keys[p->asked.count++] = key;
}

static void
on_user(void *arg, str key)
{
	struct preview *p = arg;

	if (caller_in_scope(&p->visit.caller, p->visit.environment.id, key))
		report(p, key);
}

/* The flags and configs of a document that name one of the segments that were given, or one that names it. */
static status
report_users(struct ctx *cx, struct preview *p, const struct json *document)
{
	str *segments = arena_alloc(cx->arena, (p->given_count + 1) * sizeof(*segments));
	size_t count = 0;

	for (size_t i = 0; i < p->given_count; i++)
		if (p->given[i].resource == RESOURCE_SEGMENT)
			segments[count++] = p->given[i].key;
	return count ? impact_users(cx, document, segments, count, on_user, p) : OK;
}

static status
choose_keys(struct ctx *cx, struct preview *p)
{
	p->keys = arena_alloc(cx->arena, LIMIT_EVALUATE_KEYS * sizeof(*p->keys));
	for (size_t i = 0; i < p->given_count; i++)
		if (p->given[i].resource != RESOURCE_SEGMENT)
			report(p, p->given[i].key);
	TRY(report_users(cx, p, p->document));
	TRY(report_users(cx, p, p->laid_over));
	p->asked.keys = p->keys;
	return OK;
}

/* --- all of it --- */

static status
begin(struct ctx *cx, void *arg)
{
	struct preview *p = arg;
	str environment;

	TRY(visit_begin(cx, p->in->id, &p->visit));
	environment = p->visit.environment.id;
	for (size_t i = 0; i < p->given_count; i++)
		TRY(visit_key(cx, cx->caller, environment, p->given[i].key));
	return store_document(cx, &p->visit.environment, 0, &p->document);
}

static status
write_one(struct ctx *cx, struct json_out *o, const struct preview *p, const struct json *context)
{
	struct answers a = { .rules = p->live,
		.asked = &p->asked,
		.caller = &p->visit.caller,
		.environment_id = p->visit.environment.id,
		.verbose = p->in->verbose_reason };

	json_out_object(o, NULL);
	json_out_value(o, "context", context);
	TRY(answers_out(cx, o, "live", &a, context));
	a.rules = p->then;
	TRY(answers_out(cx, o, "preview", &a, context));
	json_out_end(o);
	return OK;
}

static status
write(struct ctx *cx, struct json_out *o, struct preview *p)
{
	TRY(choose_keys(cx, p));
	json_out_str(o, "environmentId", p->visit.environment.id);
	json_out_int(o, "liveVersion", p->visit.environment.version);
	json_out_array(o, "spotCheck");
	JSON_EACH (context, p->in->spot_check)
		TRY(write_one(cx, o, p, context));
	json_out_end(o);
	return OK;
}

/* What is given is held to its schema; what is live was. */
static status
compile_then(struct ctx *cx, struct preview *p)
{
	str *keys = arena_alloc(cx->arena, (p->given_count + 1) * sizeof(*keys));

	for (size_t i = 0; i < p->given_count; i++)
		keys[i] = p->given[i].key;
	return ruleset_compile_changed(cx, p->laid_over, keys, p->given_count, &p->then);
}

static status
compile_and_write(struct ctx *cx, struct json_out *o, struct preview *p)
{
	TRY(lay_over(cx, p));
	TRY(ruleset_compile_stored(cx, p->document, &p->live));
	TRY(blame(cx, p, compile_then(cx, p)));
	return write(cx, o, p);
}

status
preview_run(struct ctx *cx, const void *in, struct json_out *out)
{
	struct preview p = { .in = in };
	status s;

	if (p.in->as_of.len)
		return visit_refuse(cx, STR("/asOf"), STR("and ruleset exclude each other"));
	TRY(read_contexts(cx, p.in->spot_check));
	TRY(read_ruleset(cx, &p));
	TRY(visit_enter(cx, begin, &p, &p.visit));
	s = compile_and_write(cx, out, &p);
	ruleset_free(p.live);
	ruleset_free(p.then);
	return s;
}
