/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file of Unleash has: {"features", "segments"}, or, from its delta interface, {"events"}, of which the
 * last about a feature or a segment counts.
 */
#include "domain/flag/exchange/unleash.h"

#include "base/random.h"

/* Something of the file, and its place there. */
static status
add(struct unleash *u, struct unleash_sources *s, const struct json *json, const struct place *at)
{
	struct unleash_source *source = arena_try(u->c->a, sizeof(*source));
	struct place *copy;

	if (!source)
		return fail(u->c->cx, E_TOO_LARGE, "the file is too large to be converted");
	*source = (struct unleash_source){ .json = json };
	/* /features/7, or /events/3/feature, or /events/0/features/7: at most four steps, copied to stay */
	copy = source->steps;
	for (; at; at = at->up, copy++) {
		*copy = *at;
		copy->up = at->up ? copy + 1 : NULL;
	}
	*s->last = source;
	s->last = &source->next;
	s->count++;
	return OK;
}

static status
add_all(struct unleash *u, struct unleash_sources *s, const struct json *object, const char *name,
	const struct place *at)
{
	const struct json *list = json_get(object, str_of(name));
	const struct place *here = AT_KEY(at, str_of(name));
	size_t i = 0;

	if (list)
		JSON_EACH (entry, list) {
			TRY(add(u, s, entry, AT_INDEX(here, i)));
			i++;
		}
	return OK;
}

static bool
has_id(const struct json *json, const struct json *id)
{
	const struct json *its = json_get(json, STR("id"));

	return its && id && json_equal(its, id);
}

/* What an event replaces or removes does not count any more. */
static void
remove_named(struct unleash_sources *s, str name)
{
	for (struct unleash_source *f = s->first; f; f = f->next)
		f->gone |= name.len && str_eq(unleash_text(f->json, STR("name")), name);
}

static void
remove_id(struct unleash_sources *s, const struct json *id)
{
	for (struct unleash_source *f = s->first; f; f = f->next)
		f->gone |= has_id(f->json, id);
}

static status
read_event(struct unleash *u, const struct json *event, const struct place *at)
{
	str type = unleash_text(event, STR("type"));
	const struct json *feature = json_get(event, STR("feature")),
			  *segment = json_get(event, STR("segment"));

	if (str_eq(type, STR("hydration"))) {
		TRY(add_all(u, &u->segments, event, "segments", at));
		return add_all(u, &u->features, event, "features", at);
	}
	if (str_eq(type, STR("feature-updated")) && feature) {
		remove_named(&u->features, unleash_text(feature, STR("name")));
		return add(u, &u->features, feature, AT_NAME(at, "feature"));
	}
	if (str_eq(type, STR("segment-updated")) && segment) {
		remove_id(&u->segments, json_get(segment, STR("id")));
		return add(u, &u->segments, segment, AT_NAME(at, "segment"));
	}
	if (str_eq(type, STR("feature-removed")))
		remove_named(&u->features, unleash_text(event, STR("featureName")));
	else if (str_eq(type, STR("segment-removed")))
		remove_id(&u->segments, json_get(event, STR("segmentId")));
	else
		converter_note(u->c, at, "is an event that is not known, and is left out");
	return OK;
}

static status
read_events(struct unleash *u, const struct json *events)
{
	const struct place *here = AT_NAME(NULL, "events");
	size_t i = 0;

	if (events->count > LIMIT_FLAG_RULES * 10)
		return fail(u->c->cx, E_INVALID,
			"this is not a file of Unleash: /events has more than %u of them",
			LIMIT_FLAG_RULES * 10);
	JSON_EACH (event, events) {
		TRY(read_event(u, event, AT_INDEX(here, i)));
		i++;
	}
	return OK;
}

/* Names are found by a hash: a file with many features is no reason to wait. */
static status
read_names(struct unleash *u)
{
	struct set names = { .arena = u->c->a }, parents;
	uint32_t place;

	random_bytes(&names.seed, sizeof(names.seed));
	parents = names;
	u->named = ARENA_TRY_ARRAY(u->c->a, const struct json *, u->features.count + 1);
	if (!u->named)
		return fail(u->c->cx, E_TOO_LARGE, "the file is too large to be converted");
	for (const struct unleash_source *f = u->features.first; f; f = f->next) {
		const struct json *dependencies = f->gone ? NULL : unleash_list(f->json, STR("dependencies"));

		if (f->gone)
			continue;
		TRY(set_add(&names, scalar_text(unleash_text(f->json, STR("name"))), &place));
		if (!u->named[place])
			u->named[place] = f->json;
		if (dependencies)
			JSON_EACH (d, dependencies)
				TRY(set_add(&parents, scalar_text(unleash_text(d, STR("feature"))), &place));
	}
	u->names = names;
	u->parents = parents;
	return OK;
}

static status
refuse(struct unleash *u, str path)
{
	fail_issue(u->c->cx, path, STR("must be an array"));
	return fail(
		u->c->cx, E_INVALID, "this is not a file of Unleash: %.*s must be an array", STR_ARG(path));
}

status
unleash_read(struct unleash *u, const struct json *file)
{
	static const char *const known[] = { "version", "features", "segments", "query", "meta", "events",
		NULL };
	const struct json *features = json_get(file, STR("features")),
			  *segments = json_get(file, STR("segments"));
	const struct json *events = json_get(file, STR("events"));

	u->features.last = &u->features.first;
	u->segments.last = &u->segments.first;
	if (segments && segments->type != JSON_ARRAY)
		return refuse(u, STR("/segments"));
	if (!events && (!features || features->type != JSON_ARRAY))
		return refuse(u, STR("/features"));
	if (events && events->type != JSON_ARRAY)
		return refuse(u, STR("/events"));
	converter_unknown(u->c, NULL, file, known);
	TRY(add_all(u, &u->segments, file, "segments", NULL));
	TRY(add_all(u, &u->features, file, "features", NULL));
	if (events)
		TRY(read_events(u, events));
	return read_names(u);
}

const struct json *
unleash_feature(const struct unleash *u, str name)
{
	struct scalar key = scalar_text(name);
	uint32_t place = set_find(&u->names, &key);

	return place == SET_NONE ? NULL : u->named[place];
}

bool
unleash_is_parent(const struct unleash *u, str name)
{
	struct scalar key = scalar_text(name);

	return set_find(&u->parents, &key) != SET_NONE;
}

const struct json *
unleash_segment(const struct unleash *u, const struct json *id)
{
	for (const struct unleash_source *s = u->segments.first; s; s = s->next)
		if (!s->gone && has_id(s->json, id))
			return s->json;
	return NULL;
}
