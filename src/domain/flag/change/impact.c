/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/change/impact.h"

#include "base/limits.h"
#include "domain/flag/evaluate.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- which segments a condition names --- */

/* The segments of a document, sorted by key, each with a mark. */
struct mark {
	const struct json *segment;
	bool on;
};
struct marks {
	struct mark *all;
	size_t count;
};

static int
by_key(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return str_cmp(x->segment->key, y->segment->key);
}

static status
gather(struct ctx *cx, const struct json *doc, struct marks *out)
{
	const struct json *segments = json_get(doc, STR("segments"));
	struct marks m = { .all = ARENA_TRY_ARRAY(
				   cx->arena, struct mark, (segments ? segments->count : 0) + (size_t)1) };

	if (!m.all)
		return fail(cx, E_TOO_LARGE, "the environment has too many segments");
	for (const struct json *s = segments ? segments->child : NULL; s; s = s->next)
		m.all[m.count++] = (struct mark){ .segment = s };
	if (m.count)
		qsort(m.all, m.count, sizeof(*m.all), by_key);
	*out = m;
	return OK;
}

/* Its mark, or NULL where there is none of that name. */
static struct mark *
find(const struct marks *m, str key)
{
	struct json wanted = { .key = key };
	struct mark probe = { .segment = &wanted };

	return m->count ? bsearch(&probe, m->all, m->count, sizeof(probe), by_key) : NULL;
}

/* Calls fn for each segment that a condition names. As deep as JSON may be. */
typedef void named_fn(const struct marks *m, struct mark *mark, bool *found);

static void
each_named(const struct json *part, const struct marks *m, named_fn *fn, bool *found)
{
	JSON_EACH (child, part) {
		if (child->type == JSON_STRING && str_eq(child->key, STR("$segment"))) {
			struct mark *mark = find(m, child->text);

			if (mark)
				fn(m, mark, found);
		} else if (child->type == JSON_OBJECT || child->type == JSON_ARRAY) {
			each_named(child, m, fn, found);
		}
	}
}

/* The conditions of a flag, config or segment; a value may have any members. */
static void
each_named_by(const struct json *item, const struct marks *m, named_fn *fn, bool *found)
{
	const struct json *rules = json_get(item, STR("rules"));

	for (const struct json *rule = rules ? rules->child : NULL; rule; rule = rule->next) {
		const struct json *condition = json_get(rule, STR("if"));

		if (condition)
			each_named(condition, m, fn, found);
	}
}

static void
is_marked(const struct marks *m, struct mark *mark, bool *found)
{
	(void)m;
	*found = *found || mark->on;
}

static bool
names_marked(const struct json *item, const struct marks *m)
{
	bool found = false;

	each_named_by(item, m, is_marked, &found);
	return found;
}

/* Downwards: what it names, and what that names. Segments have no circles, and each is walked once. */
static void
mark_below(const struct marks *m, struct mark *mark, bool *found)
{
	if (mark->on)
		return;
	mark->on = true;
	each_named_by(mark->segment, m, mark_below, found);
}

/* Upwards: the segments that name a marked one, until there are no more. */
static void
mark_above(const struct marks *m)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < m->count; i++)
			if (!m->all[i].on && names_marked(m->all[i].segment, m))
				more = m->all[i].on = true;
	}
}

status
impact_users(struct ctx *cx, const struct json *doc, const str *segments, size_t count,
	void (*fn)(void *arg, str key), void *arg)
{
	struct marks m;

	TRY(gather(cx, doc, &m));
	for (size_t i = 0; i < count; i++) {
		struct mark *mark = find(&m, segments[i]);

		if (mark)
			mark->on = true;
	}
	mark_above(&m);
	for (int r = RESOURCE_FLAG; r <= RESOURCE_CONFIG; r++) {
		const struct json *items = json_get(doc, str_of(resource_plural((enum resource)r)));

		for (const struct json *item = items ? items->child : NULL; item; item = item->next)
			if (names_marked(item, &m))
				fn(arg, item->key);
	}
	return OK;
}

/* --- which flags and configs may be answered otherwise --- */

static bool
edits_item(const struct store_edit *edits, size_t count, str key)
{
	for (size_t i = 0; i < count; i++)
		if (edits[i].resource != RESOURCE_SEGMENT && str_eq(edits[i].key, key))
			return true;
	return false;
}

static void
add_key(struct impact_pair *p, str *keys, str key)
{
	if (p->key_count < LIMIT_IMPACT_ITEMS)
		keys[p->key_count++] = key;
	p->depending++;
}

static status
find_keys(struct ctx *cx, const struct json *doc, const struct store_edit *edits, size_t count,
	struct impact_pair *p)
{
	str *keys = arena_alloc(cx->arena, LIMIT_IMPACT_ITEMS * sizeof(*keys));
	bool segments = false;
	struct marks m;

	TRY(gather(cx, doc, &m));
	p->keys = keys;
	for (size_t i = 0; i < count; i++) {
		struct mark *mark = edits[i].resource == RESOURCE_SEGMENT ? find(&m, edits[i].key) : NULL;

		if (mark)
			segments = mark->on = true;
		if (edits[i].resource != RESOURCE_SEGMENT)
			add_key(p, keys, edits[i].key);
	}
	if (!segments)
		return OK;
	mark_above(&m);
	for (int r = RESOURCE_FLAG; r <= RESOURCE_CONFIG; r++) {
		const struct json *items = json_get(doc, str_of(resource_plural((enum resource)r)));

		for (const struct json *item = items ? items->child : NULL; item; item = item->next)
			if (!edits_item(edits, count, item->key) && names_marked(item, &m))
				add_key(p, keys, item->key);
	}
	return OK;
}

/* --- a document with nothing but these, and the segments below them --- */

static bool
is_wanted(const struct impact_pair *p, str key)
{
	for (size_t i = 0; i < p->key_count; i++)
		if (str_eq(p->keys[i], key))
			return true;
	return false;
}

/* The document of the marked segments. */
static struct json *
marked_segments(struct ctx *cx, const struct marks *m)
{
	struct json *out = json_new_object(cx->arena);

	for (size_t i = 0; i < m->count; i++)
		if (m->all[i].on)
			json_add_member(
				out, m->all[i].segment->key, json_share(cx->arena, m->all[i].segment));
	return out;
}

static status
cut(struct ctx *cx, const struct json *doc, const struct impact_pair *p, struct json **out)
{
	struct json *small = json_new_object(cx->arena);
	const struct json *target = json_get(doc, STR("targetField"));
	struct marks m;

	TRY(gather(cx, doc, &m));
	if (target)
		json_add_member(small, STR("targetField"), json_share(cx->arena, target));
	for (int r = RESOURCE_FLAG; r <= RESOURCE_CONFIG; r++) {
		str plural = str_of(resource_plural((enum resource)r));
		const struct json *items = json_get(doc, plural);
		struct json *kept = json_new_object(cx->arena);
		bool found = false;

		for (const struct json *item = items ? items->child : NULL; item; item = item->next) {
			if (!is_wanted(p, item->key))
				continue;
			json_add_member(kept, item->key, json_share(cx->arena, item));
			each_named_by(item, &m, mark_below, &found);
		}
		json_add_member(small, plural, kept);
	}
	json_add_member(small, STR("segments"), marked_segments(cx, &m));
	*out = small;
	return OK;
}

struct json *
impact_segments(struct ctx *cx, const struct json *doc, const struct store_edit *from, size_t count)
{
	struct marks m;
	bool found = false;

	if (gather(cx, doc, &m) != OK) {
		ctx_clear(cx);
		return json_new_object(cx->arena);
	}
	for (size_t i = 0; i < count; i++)
		if (from[i].state)
			each_named_by(from[i].state, &m, mark_below, &found);
	return marked_segments(cx, &m);
}

static status
compile_live(struct ctx *cx, const struct json *doc, struct ruleset **out)
{
	status s = ruleset_compile_stored(cx, doc, out);

	if (s != E_INVALID)
		return s;
	ctx_clear(cx);
	return fail(cx, E_NOT_CACHED, "the ruleset that is live cannot be loaded");
}

status
impact_open(struct ctx *cx, const struct json *doc, const struct store_edit *edits, size_t count,
	struct impact_pair *out)
{
	struct impact_pair p = { 0 };
	struct json *live, *preview;
	status s;

	TRY(find_keys(cx, doc, edits, count, &p));
	TRY(cut(cx, doc, &p, &live));
	TRY(cut(cx, store_overlay(cx, doc, edits, count), &p, &preview));
	TRY(compile_live(cx, live, &p.live));
	s = ruleset_compile_stored(cx, preview, &p.preview); /* the edits have been checked */
	if (s != OK) {
		ruleset_free(p.live);
		return s;
	}
	*out = p;
	return OK;
}

void
impact_close(struct impact_pair *p)
{
	ruleset_free(p->live);
	ruleset_free(p->preview);
	*p = (struct impact_pair){ 0 };
}

/* --- the spot checks --- */

static status
unusable(struct ctx *cx, size_t index, status s)
{
	str why = ctx_message(cx, s);

	ctx_clear(cx);
	fail_issue(cx, arena_printf(cx->arena, "/spotCheck/%zu", index), why);
	return fail(cx, s, "spot check %zu: %.*s", index, STR_ARG(why));
}

/* One side: what each key is answered. answers: its JSON texts, empty where there is no such item. */
static status
answer(struct ctx *cx, const struct ruleset *rs, const struct impact_pair *p, const struct json *context,
	const char *name, struct json_out *o, str *answers)
{
	struct subject *subject;

	TRY(subject_prepare(cx, rs, context, &subject));
	json_out_object(o, name);
	for (size_t i = 0; i < p->key_count; i++) {
		const struct item *item = ruleset_find(rs, p->keys[i]);
		struct evaluation e = { 0 };

		json_out_key(o, p->keys[i]);
		if (item)
			TRY(ruleset_evaluate(subject, item, &e));
		if (item)
			evaluation_out(o, NULL, subject, &e, false);
		else
			json_out_null(o, NULL);
		answers[i] = e.value;
	}
	json_out_end(o);
	return OK;
}

static status
check_one(struct ctx *cx, const struct impact_pair *p, const struct json *context, struct json_out *o,
	bool *out_changed)
{
	str live[LIMIT_IMPACT_ITEMS] = { 0 }, preview[LIMIT_IMPACT_ITEMS] = { 0 };
	bool changed = false;

	json_out_object(o, NULL);
	json_out_value(o, "context", context);
	TRY(answer(cx, p->live, p, context, "live", o, live));
	TRY(answer(cx, p->preview, p, context, "preview", o, preview));
	json_out_end(o);
	for (size_t i = 0; i < p->key_count; i++)
		changed = changed || !str_eq(live[i], preview[i]);
	*out_changed = changed;
	return OK;
}

status
impact_make(struct ctx *cx, const struct impact_pair *p, const struct json *contexts, struct impact *out)
{
	struct impact made = { 0 };
	struct json *radius;
	struct json_out o;
	struct buf b;
	str text;

	if (!contexts) {
		*out = made;
		return OK;
	}
	buf_init(&b, cx->arena, LIMIT_IMPACT_BYTES);
	json_out_init(&o, &b);
	json_out_array(&o, NULL);
	JSON_EACH (context, contexts) {
		bool changed = false;
		status s = check_one(cx, p, context, &o, &changed);

		if (s != OK)
			return unusable(cx, made.contexts, s);
		made.contexts++;
		made.changed += changed;
	}
	json_out_end(&o);
	TRY(buf_finish(&b, &text));
	TRY(json_parse(cx, text, &radius));
	made.radius = radius;
	*out = made;
	return OK;
}
