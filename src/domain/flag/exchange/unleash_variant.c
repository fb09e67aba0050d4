/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/unleash.h"

#define SEED 86028157 /* Unleash draws variants with this one, so that they do not follow the rollout */

/* --- the variants of a strategy --- */

struct variants {
	const struct json *list; /* NULL: there are none */
	const struct place *at;
	str group, stickiness;
	int64_t total;
};

static int64_t
weight_of(const struct json *variant)
{
	const struct json *weight = json_get(variant, STR("weight"));
	int64_t n;

	return weight && json_to_int(weight, &n) && n > 0 && n <= INT32_MAX ? n : 0;
}

static int64_t
weigh(const struct json *list)
{
	int64_t total = 0;

	if (list)
		JSON_EACH (variant, list)
			total += weight_of(variant);
	return total;
}

/* Those of the strategy, or else the feature's: also where the strategy's weigh nothing. */
static struct variants
variants_of(const struct feature *f, const struct strategy *s)
{
	const struct json *own = s->json ? unleash_list(s->json, STR("variants")) : NULL;
	const struct json *parameters = s->json ? json_get(s->json, STR("parameters")) : NULL;
	struct variants v = { .list = unleash_list(f->json, STR("variants")), .group = f->name };

	if (weigh(own)) {
		v.list = own;
		if (unleash_text(parameters, STR("groupId")).len)
			v.group = unleash_text(parameters, STR("groupId"));
	}
	if (v.list)
		v.stickiness = unleash_text(v.list->child, STR("stickiness"));
	if (weigh(own) && !v.stickiness.len)
		v.stickiness = unleash_text(parameters, STR("stickiness"));
	v.total = weigh(v.list);
	return v;
}

/* Is there more than one that somebody can get? Then it is said who gets which without an id. */
static bool
is_drawn(struct unleash *u, const struct place *at, const struct variants *v)
{
	size_t drawn = 0;

	JSON_EACH (variant, v->list)
		drawn += weight_of(variant) > 0;
	if (drawn > 1 && str_eq(v->stickiness, STR("random")))
		converter_refuse(
			u->c, at, "are drawn anew for each call; here everybody keeps their variant");
	else if (drawn > 1)
		converter_note(u->c, at,
			"give the last one to those without %.*s, for whom Unleash draws anew each time",
			STR_ARG(v->stickiness.len && !str_eq(v->stickiness, STR("default"))
					? v->stickiness
					: STR("userId, sessionId and remoteAddress")));
	return drawn > 1;
}

static struct draw_of
draw_below(struct unleash *u, const struct variants *v, int64_t below)
{
	return (struct draw_of){ .prefix = arena_printf(u->c->a, "%.*s:", STR_ARG(v->group)),
		.seed = SEED,
		.of = v->total,
		.below = below };
}

/* By default SDKs draw variants by a third field, too. */
static const struct json *
share(struct unleash *u, const struct variants *v, const struct draw_of *draw)
{
	static const char *const fields[] = { "userId", "sessionId", "remoteAddress", NULL };

	return unleash_share(u, v->at, v->stickiness, fields, draw);
}

/* --- as a config --- */

static struct json *
answer(struct unleash *u, const struct json *variant, bool enabled)
{
	struct json *value = json_new_object(u->c->a);
	const struct json *payload = variant ? json_get(variant, STR("payload")) : NULL;

	json_add_member(value, STR("name"),
		json_new_string(u->c->a, variant ? unleash_text(variant, STR("name")) : STR("disabled")));
	if (payload && payload->type == JSON_OBJECT)
		json_add_member(value, STR("payload"), json_share(u->c->a, payload));
	json_add_member(value, STR("enabled"), json_new_bool(u->c->a, variant != NULL));
	json_add_member(value, STR("feature_enabled"), json_new_bool(u->c->a, enabled));
	return value;
}

/* {"contextName": "userId", "values": ["132", "61"]}: who gets it whatever is drawn. */
static const struct json *
overridden(struct unleash *u, const struct json *variant)
{
	const struct json *overrides = unleash_list(variant, STR("overrides")), *clause = CLAUSE_NEVER;

	if (!overrides)
		return clause;
	JSON_EACH (o, overrides) {
		const struct json *values = unleash_list(o, STR("values"));
		struct list texts = list_begin(u->c->a, JSON_ARRAY);

		if (values)
			JSON_EACH (v, values)
				if (v->type == JSON_STRING)
					list_add(&texts, (str){ 0 }, json_share(u->c->a, v));
		if (texts.json->count && unleash_text(o, STR("contextName")).len)
			clause = clause_or(
				u->c, clause, unleash_in(u, unleash_text(o, STR("contextName")), &texts));
	}
	return clause;
}

static void
add_rules(struct unleash *u, const struct variants *v, struct list *rules, const struct json *when)
{
	int64_t below = 0;

	JSON_EACH (variant, v->list)
		converter_rule(u->c, rules, clause_and(u->c, when, overridden(u, variant)),
			answer(u, variant, true), (str){ 0 });
	JSON_EACH (variant, v->list) {
		const struct json *whom = when;
		struct draw_of draw;

		if (!weight_of(variant) || u->c->refused)
			continue;
		below += weight_of(variant);
		draw = draw_below(u, v, below);
		if (below < v->total)
			whom = clause_and(u->c, when, share(u, v, &draw));
		converter_rule(u->c, rules, whom, answer(u, variant, true), (str){ 0 });
	}
}

bool
unleash_has_variants(const struct feature *f)
{
	if (unleash_list(f->json, STR("variants")))
		return true;
	for (size_t i = 0; i < f->count; i++)
		if (f->strategies[i].json && unleash_list(f->strategies[i].json, STR("variants")))
			return true;
	return false;
}

static bool
has_weight(const struct json *variant)
{
	const struct json *weight = json_get(variant, STR("weight"));
	int64_t n;

	return weight && json_to_int(weight, &n) && n >= 0 && n <= INT32_MAX;
}

static bool
check_variants(struct unleash *u, const struct place *at, const struct variants *v)
{
	if (v->list)
		JSON_EACH (variant, v->list)
			if (!unleash_text(variant, STR("name")).len || !has_weight(variant))
				converter_refuse(u->c, at, "must have names, and integers as weights");
	if (v->total > INT32_MAX)
		converter_refuse(u->c, at, "must have weights of at most %d in all", INT32_MAX);
	return !u->c->refused;
}

void
unleash_keep_variants(
	struct unleash *u, const struct place *at, const struct feature *f, const struct json *when)
{
	struct list rules = list_begin(u->c->a, JSON_ARRAY);
	const struct json *off = answer(u, NULL, false);

	if (!f->enabled)
		converter_rule(u->c, &rules, CLAUSE_ALWAYS, off, STR("off in Unleash"));
	for (size_t i = 0; i < f->count && !u->c->refused; i++) {
		struct variants v = variants_of(f, &f->strategies[i]);
		const struct json *whom = clause_and(u->c, when, f->strategies[i].when);

		v.at = AT_NAME(at, "variants");
		if (!check_variants(u, v.at, &v) || whom == CLAUSE_NEVER)
			continue;
		if (v.total)
			(void)is_drawn(u, v.at, &v);
		if (v.total)
			add_rules(u, &v, &rules, whom);
		else
			converter_rule(u->c, &rules, whom, answer(u, NULL, true), (str){ 0 });
	}
	converter_keep(u->c, SECTION_CONFIGS, arena_printf(u->c->a, "%.*s:variant", STR_ARG(f->name)), at,
		converter_item(u->c, "json", off,
			arena_printf(
				u->c->a, "What getVariant of Unleash answers for %.*s.", STR_ARG(f->name)),
			&rules));
}

/* --- as a condition --- */

static bool
names_one(const struct json *names, str name)
{
	JSON_EACH (n, names)
		if (n->type == JSON_STRING && str_eq(n->text, name))
			return true;
	return false;
}

/* Those between where the variant begins and where it ends. */
static const struct json *
in_share(struct unleash *u, const struct variants *v, int64_t from, int64_t to)
{
	struct draw_of first = draw_below(u, v, from), last = draw_below(u, v, to);
	const struct json *clause = CLAUSE_ALWAYS;

	if (to < v->total)
		clause = share(u, v, &last);
	if (from > 0)
		clause = clause_and(u->c, clause, clause_not(u->c, share(u, v, &first)));
	return clause;
}

static const struct json *
gets_one(struct unleash *u, const struct variants *v, const struct json *names)
{
	const struct json *clause = CLAUSE_NEVER;
	int64_t from = 0;

	if (!v->total)
		return names_one(names, STR("disabled")) ? CLAUSE_ALWAYS : CLAUSE_NEVER;
	JSON_EACH (variant, v->list) {
		int64_t to = from + weight_of(variant);

		if (unleash_list(variant, STR("overrides")))
			converter_refuse(u->c, v->at,
				"is a dependency on variants with overrides, which cannot be expressed");
		if (to > from && names_one(names, unleash_text(variant, STR("name"))))
			clause = clause_or(u->c, clause, in_share(u, v, from, to));
		from = to;
	}
	return clause;
}

const struct json *
unleash_gets_variant(
	struct unleash *u, const struct place *at, const struct feature *f, const struct json *names)
{
	const struct json *clause = CLAUSE_NEVER, *none_before = CLAUSE_ALWAYS;

	for (size_t i = 0; i < f->count && !u->c->refused; i++) {
		const struct json *when = f->strategies[i].when;
		struct variants v = variants_of(f, &f->strategies[i]);

		v.at = at;
		if (!check_variants(u, at, &v))
			break;
		clause = clause_or(u->c, clause,
			clause_and(u->c, none_before, clause_and(u->c, when, gets_one(u, &v, names))));
		none_before = clause_and(u->c, none_before, clause_not(u->c, when));
	}
	return clause;
}
