/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/unleash.h"

/*
 * A feature NAME becomes the flag NAME, with a rule for each strategy; if it has variants, also the config
 * NAME:variant; if others depend on it, also the segment NAME:enabled, which its rules and theirs name.
 */

const struct json *
unleash_list(const struct json *object, str name)
{
	const struct json *list = json_get(object, name);

	return list && list->type == JSON_ARRAY && list->count ? list : NULL;
}

str
unleash_text(const struct json *object, str name)
{
	const struct json *text = object ? json_get(object, name) : NULL;

	return text && text->type == JSON_STRING ? text->text : (str){ 0 };
}

/* --- segments --- */

/* Its name as a key: what a key cannot have becomes '-'. */
static str
segment_key(struct unleash *u, const struct json *segment, int64_t id)
{
	str name = unleash_text(segment, STR("name"));
	struct buf b;

	if (!name.len || name.len > LIMIT_FLAG_KEY)
		return arena_printf(u->c->a, "segment-%lld", (long long)id);
	buf_init(&b, u->c->a, LIMIT_FLAG_KEY);
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		buf_add_char(&b, word || (i && str_find(STR("._:-"), c) < 4) ? c : i ? '-' : 's');
	}
	return buf_str(&b);
}

static status
convert_segment(struct unleash *u, const struct place *at, const struct json *segment)
{
	static const char *const known[] = { "id", "name", "description", "constraints", "createdAt",
		"createdBy", "project", NULL };
	const struct json *id = json_get(segment, STR("id"));
	struct list rules = list_begin(u->c->a, JSON_ARRAY);
	struct json *kept = json_new_object(u->c->a);
	str name = unleash_text(segment, STR("name"));
	int64_t n = 0;

	TRY(converter_begin(u->c, arena_printf(u->c->a, "segment %.*s", STR_ARG(name))));
	if (!id || !json_to_int(id, &n))
		converter_refuse(u->c, AT_NAME(at, "id"), "must be an integer");
	converter_unknown(u->c, at, segment, known);
	converter_rule(u->c, &rules,
		unleash_constraints(u, AT_NAME(at, "constraints"), json_get(segment, STR("constraints"))),
		NULL, (str){ 0 });
	json_add_member(kept, STR("rules"), rules.json);
	if (name.len)
		json_add_member(kept, STR("description"), json_new_string(u->c->a, name));
	converter_keep(u->c, SECTION_SEGMENTS, segment_key(u, segment, n), at, kept);
	return OK;
}

/* Those who are in all segments that a strategy names. */
static const struct json *
in_segments(struct unleash *u, const struct place *at, const struct json *ids)
{
	const struct json *clause = CLAUSE_ALWAYS, *segment;
	size_t i = 0;
	int64_t id;

	if (!ids)
		return clause;
	JSON_EACH (entry, ids) {
		if (!json_to_int(entry, &id)) {
			converter_refuse(u->c, AT_INDEX(at, i), "must be the id of a segment");
			return CLAUSE_NEVER;
		}
		segment = unleash_segment(u, entry);
		if (!segment)
			converter_note(u->c, AT_INDEX(at, i),
				"is a segment that is not in the file, and so lets in nobody, as in Unleash");
		clause = clause_and(u->c, clause,
			segment ? clause_segment(u->c, segment_key(u, segment, id)) : CLAUSE_NEVER);
		i++;
	}
	return clause;
}

/* --- features --- */

static void
read_strategy(struct unleash *u, const struct place *at, struct feature *f, const struct json *json)
{
	struct strategy *s = &f->strategies[f->count++];
	const struct json *segments = unleash_list(json, STR("segments"));

	s->json = json;
	s->when = unleash_strategy(u, at, json, f->name);
	s->when = clause_and(u->c, in_segments(u, AT_NAME(at, "segments"), segments), s->when);
}

static status
read_feature(struct unleash *u, const struct place *at, const struct json *json, struct feature *out)
{
	const struct json *list = json_get(json, STR("strategies")),
			  *enabled = json_get(json, STR("enabled"));
	struct feature f = { .json = json, .name = unleash_text(json, STR("name")) };
	size_t i = 0;

	if (!enabled || enabled->type != JSON_BOOL)
		converter_refuse(u->c, AT_NAME(at, "enabled"), "must be true or false");
	if (!list || list->type != JSON_ARRAY) /* on for all, say some SDKs, off for all, say others */
		converter_refuse(u->c, AT_NAME(at, "strategies"), "must be an array");
	f.enabled = enabled && enabled->truth;
	f.strategies = ARENA_TRY_ARRAY(u->c->a, struct strategy, (list ? list->count : 0) + 1u);
	if (!f.strategies)
		return fail(u->c->cx, E_TOO_LARGE, "the file is too large to be converted");
	if (list && list->type == JSON_ARRAY)
		JSON_EACH (s, list) {
			if (u->c->refused)
				break;
			read_strategy(u, AT_INDEX(AT_NAME(at, "strategies"), i++), &f, s);
		}
	if (!f.count)
		f.strategies[f.count++] = (struct strategy){ NULL, CLAUSE_ALWAYS };
	*out = f;
	return OK;
}

/* --- dependencies --- */

static str
enabled_key(struct unleash *u, str name)
{
	return arena_printf(u->c->a, "%.*s:enabled", STR_ARG(name));
}

/* Does the parent give one of these variants? Its own remarks are made where it is converted. */
static status
has_variant(struct unleash *u, const struct place *at, const struct json *json, const struct json *names,
	const struct json **out)
{
	struct converter *c = u->c;
	struct feature parent;
	status s;

	c->quiet = true;
	s = read_feature(u, at, json, &parent);
	c->quiet = false;
	TRY(s);
	*out = clause_and(c, clause_segment(c, enabled_key(u, parent.name)),
		unleash_gets_variant(u, AT_NAME(at, "variants"), &parent, names));
	return OK;
}

static status
read_dependency(struct unleash *u, const struct place *at, const struct json *d, const struct json **out)
{
	const struct json *enabled = json_get(d, STR("enabled")), *names = unleash_list(d, STR("variants"));
	str name = unleash_text(d, STR("feature"));
	const struct json *parent = unleash_feature(u, name);

	*out = CLAUSE_NEVER;
	if (!parent || unleash_list(parent, STR("dependencies"))) {
		converter_note(u->c, at, "%s, and so the feature is off, as in Unleash",
			parent ? "is a feature with dependencies of its own"
			       : "is a feature that is not in the file");
		return OK;
	}
	if (enabled && enabled->type == JSON_BOOL && !enabled->truth) {
		*out = clause_not(u->c, clause_segment(u->c, enabled_key(u, name)));
		return OK;
	}
	if (names)
		return has_variant(u, at, parent, names, out);
	*out = clause_segment(u->c, enabled_key(u, name));
	return OK;
}

/* What all features that this one depends on must be. */
static status
read_dependencies(struct unleash *u, const struct place *at, const struct json *json, const struct json **out)
{
	const struct json *dependencies = unleash_list(json, STR("dependencies")), *clause;
	size_t i = 0;

	*out = CLAUSE_ALWAYS;
	if (!dependencies)
		return OK;
	JSON_EACH (d, dependencies) {
		TRY(read_dependency(u, AT_INDEX(AT_NAME(at, "dependencies"), i++), d, &clause));
		*out = clause_and(u->c, *out, clause);
	}
	return OK;
}

/* --- flags --- */

/* As a segment, so that who depends on it follows a later change. */
static void
keep_segment(struct unleash *u, const struct place *at, struct feature *f)
{
	struct list rules = list_begin(u->c->a, JSON_ARRAY);
	struct json *segment = json_new_object(u->c->a);

	for (size_t i = 0; f->enabled && i < f->count; i++)
		converter_rule(u->c, &rules, f->strategies[i].when, NULL, (str){ 0 });
	json_add_member(segment, STR("rules"), rules.json);
	json_add_member(segment, STR("description"),
		json_new_string(
			u->c->a, arena_printf(u->c->a, "Those for whom %.*s is on: others depend on it.",
					 STR_ARG(f->name))));
	converter_keep(u->c, SECTION_SEGMENTS, enabled_key(u, f->name), at, segment);
}

static void
keep_flag(struct unleash *u, const struct place *at, struct feature *f, const struct json *when, bool parent)
{
	struct list rules = list_begin(u->c->a, JSON_ARRAY);
	struct json *on = json_new_bool(u->c->a, true), *off = json_new_bool(u->c->a, false);

	if (!f->enabled)
		converter_rule(u->c, &rules, CLAUSE_ALWAYS, off, STR("off in Unleash"));
	if (parent && f->enabled)
		converter_rule(u->c, &rules,
			clause_and(u->c, when, clause_segment(u->c, enabled_key(u, f->name))), on,
			(str){ 0 });
	for (size_t i = 0; !(parent && f->enabled) && i < f->count; i++)
		converter_rule(u->c, &rules, clause_and(u->c, when, f->strategies[i].when), on,
			unleash_text(f->strategies[i].json, STR("title")));
	converter_keep(u->c, SECTION_FLAGS, f->name, at,
		converter_item(u->c, "boolean", off, unleash_text(f->json, STR("description")), &rules));
}

static status
convert_feature(struct unleash *u, const struct place *at, const struct json *json)
{
	static const char *const known[] = { "name", "enabled", "strategies", "variants", "dependencies",
		"description", /* without an effect on the answer: */ "type", "project", "stale",
		"impressionData", "createdAt", "lastSeenAt", "archived", "favorite", NULL };
	struct feature f;
	const struct json *when;
	bool parent;

	TRY(converter_begin(u->c, unleash_text(json, STR("name"))));
	if (json->type != JSON_OBJECT || !u->c->item.len) {
		converter_refuse(u->c, AT_NAME(at, "name"), "must be the name of a feature");
		return OK;
	}
	converter_unknown(u->c, at, json, known);
	TRY(read_feature(u, at, json, &f));
	TRY(read_dependencies(u, at, json, &when));
	parent = unleash_is_parent(u, f.name) && !unleash_list(json, STR("dependencies"));
	if (parent)
		keep_segment(u, at, &f);
	keep_flag(u, at, &f, when, parent);
	if (unleash_has_variants(&f))
		unleash_keep_variants(u, at, &f, when);
	return OK;
}

status
unleash_convert(struct converter *c, const struct json *file)
{
	struct unleash u = { .c = c };

	TRY(unleash_read(&u, file));
	for (const struct unleash_source *s = u.segments.first; s; s = s->next)
		if (!s->gone)
			TRY(convert_segment(&u, s->steps, s->json));
	for (const struct unleash_source *f = u.features.first; f; f = f->next)
		if (!f->gone)
			TRY(convert_feature(&u, f->steps, f->json));
	return OK;
}
