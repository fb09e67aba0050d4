/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/unleash.h"

#include "base/clock.h"
#include "base/meter/meter.h"
#include "core/ident/cidr.h"
#include "domain/flag/scalar.h"
#include "domain/flag/semver.h"
#include "json/canon.h"
#include "json/regex.h"

/* --- lists of texts --- */

/* "a, b" */
static struct list
split(struct arena *a, str text)
{
	struct list l = list_begin(a, JSON_ARRAY);
	str part;
	bool more = true;

	while (more) {
		more = str_cut(text, ',', &part, &text);
		part = str_trim(more ? part : text);
		if (part.len)
			list_add(&l, (str){ 0 }, json_new_string(a, part));
	}
	return l;
}

/* The texts of "values"; empty ones do not count over there. */
static struct list
values_of(struct unleash *u, const struct place *at, const struct json *constraint)
{
	struct list l = list_begin(u->c->a, JSON_ARRAY);
	const struct json *values = json_get(constraint, STR("values"));

	if (values && values->type != JSON_ARRAY)
		converter_refuse(u->c, AT_NAME(at, "values"), "must be an array");
	if (values && values->type == JSON_ARRAY)
		JSON_EACH (v, values) {
			if (v->type != JSON_STRING)
				converter_refuse(u->c, AT_NAME(at, "values"), "must be texts");
			else if (v->text.len)
				list_add(&l, (str){ 0 }, json_share(u->c->a, v));
		}
	return l;
}

/* The number that is printed as text, over there: 42 of "42", but none of "42.0". */
static struct json *
number_of(struct arena *a, str text)
{
	struct scalar number;
	struct json *n;
	char printed[32];
	size_t len;

	if (!scalar_number(text, &number) || number.number > 1e300 || number.number < -1e300)
		return NULL;
	len = canon_double(number.number, printed);
	if (!str_eq(text, (str){ printed, len }))
		return NULL;
	n = json_new_int(a, 0);
	n->text = text;
	return n;
}

const struct json *
unleash_in(struct unleash *u, str field, const struct list *texts)
{
	struct list all = list_begin(u->c->a, JSON_ARRAY);

	JSON_EACH (t, texts->json) {
		struct json *number = number_of(u->c->a, t->text);

		list_add(&all, (str){ 0 }, json_share(u->c->a, t));
		if (number)
			list_add(&all, (str){ 0 }, number);
		else if (str_eq(t->text, STR("true")) || str_eq(t->text, STR("false")))
			list_add(&all, (str){ 0 }, json_new_bool(u->c->a, t->text.ptr[0] == 't'));
	}
	if (all.json->count == 1)
		return clause_leaf(u->c, field, "$equals", json_share(u->c->a, all.json->child));
	return clause_leaf(u->c, field, "$in", all.json);
}

/* --- constraints: each operator as the condition it is --- */

struct constraint {
	struct unleash *u;
	const struct place *at;
	const struct json *json;
	str field, op;
	bool any_case, inverted;
};

/* Nobody, as over there: something is wrong with it. Turned round, SDKs do not agree. */
static const struct json *
nobody(const struct constraint *k, const char *why)
{
	if (k->inverted)
		converter_refuse(
			k->u->c, k->at, "%s, and is inverted: what that means depends on the SDK", why);
	else
		converter_note(k->u->c, k->at, "%s, and so lets in nobody, as in Unleash", why);
	return CLAUSE_NEVER;
}

static const struct json *
convert_in(const struct constraint *k)
{
	struct list texts = values_of(k->u, k->at, k->json);

	if (k->any_case)
		converter_note(
			k->u->c, k->at, "is caseInsensitive, which does not count for %.*s", STR_ARG(k->op));
	if (texts.json->count)
		return unleash_in(k->u, k->field, &texts);
	converter_note(k->u->c, k->at, "has no values");
	return CLAUSE_NEVER;
}

static const struct json *
convert_not_in(const struct constraint *k)
{
	return clause_not(k->u->c, convert_in(k));
}

static void
quote(struct buf *b, str text)
{
	static const str special = { "\\.+*?()|[]{}^$", 14 };

	for (size_t i = 0; i < text.len; i++) {
		if (str_find(special, text.ptr[i]) < special.len)
			buf_add_char(b, '\\');
		buf_add_char(b, text.ptr[i]);
	}
}

/* One pattern for all of them: (?is).*(?:one|other) */
static const struct json *
in_any_case(const struct constraint *k, const struct json *texts)
{
	bool starts = str_ends(k->op, STR("STARTS_WITH")), ends = str_ends(k->op, STR("ENDS_WITH"));
	struct buf b;

	buf_init(&b, k->u->c->a, LIMIT_FLAG_TEXT);
	buf_add(&b, starts ? STR("(?is)(?:") : STR("(?is).*(?:"));
	JSON_EACH (t, texts) {
		if (t != texts->child)
			buf_add_char(&b, '|');
		quote(&b, t->text);
	}
	buf_add(&b, ends ? STR(")") : STR(").*"));
	if (b.overflow)
		converter_refuse(k->u->c, k->at, "has more text than a pattern may have");
	return clause_leaf(k->u->c, k->field, "$matches", json_new_string(k->u->c->a, buf_str(&b)));
}

static const struct json *
convert_text(const struct constraint *k)
{
	static const char *const ours[] = { "$contains", "$endsWith", "$startsWith" };
	size_t which = str_ends(k->op, STR("STARTS_WITH")) ? 2 : str_ends(k->op, STR("ENDS_WITH")) ? 1 : 0;
	struct list texts = values_of(k->u, k->at, k->json);
	const struct json *clause = CLAUSE_NEVER;

	if (!texts.json->count)
		return nobody(k, "has no values");
	if (k->any_case)
		return in_any_case(k, texts.json);
	JSON_EACH (t, texts.json)
		if (!k->u->c->refused)
			clause = clause_or(k->u->c, clause,
				clause_leaf(k->u->c, k->field, ours[which], json_share(k->u->c->a, t)));
	return clause;
}

static const struct json *
convert_number(const struct constraint *k)
{
	static const char *const names[][2] = { { "NUM_EQ", "$numEq" }, { "NUM_GT", "$numGt" },
		{ "NUM_GTE", "$numGte" }, { "NUM_LT", "$numLt" }, { "NUM_LTE", "$numLte" } };
	str text = str_trim(unleash_text(k->json, STR("value")));
	struct scalar number;
	struct json *than;
	size_t i = 0;

	if (!scalar_number(text, &number))
		return nobody(k, "has a value that is no number");
	while (!str_eq(k->op, str_of(names[i][0])))
		i++;
	than = json_new_int(k->u->c->a, 0);
	than->text = text;
	return clause_leaf(k->u->c, k->field, names[i][1], than);
}

static const struct json *
convert_date(const struct constraint *k)
{
	str text = unleash_text(k->json, STR("value"));
	int64_t us;

	if (!clock_parse(text, &us)) {
		converter_refuse(
			k->u->c, AT_NAME(k->at, "value"), "must be a time such as 2026-11-15T22:51:44Z");
		return CLAUSE_NEVER;
	}
	if (str_eq(k->field, STR("currentTime")))
		converter_note(k->u->c, k->at,
			"asks for currentTime, which SDKs of Unleash fill in: here the context must have it");
	return clause_leaf(k->u->c, k->field, str_eq(k->op, STR("DATE_AFTER")) ? "$after" : "$before",
		json_new_string(k->u->c->a, text));
}

static const struct json *
convert_version(const struct constraint *k)
{
	static const char *const names[][2] = { { "SEMVER_EQ", "$semverEq" }, { "SEMVER_GT", "$semverGt" },
		{ "SEMVER_GTE", "$semverGte" }, { "SEMVER_LT", "$semverLt" },
		{ "SEMVER_LTE", "$semverLte" } };
	str text = unleash_text(k->json, STR("value"));
	struct semver version;
	size_t i = 0;

	if (!semver_parse(text, &version))
		return nobody(k, "has a value that is no version");
	while (!str_eq(k->op, str_of(names[i][0])))
		i++;
	return clause_leaf(k->u->c, k->field, names[i][1], json_new_string(k->u->c->a, text));
}

/* It searches over there; here a pattern is for the whole text. How large it may be the ruleset's compiler says. */
static const struct json *
convert_regex(const struct constraint *k)
{
	str text = unleash_text(k->json, STR("value"));
	struct regex *regex = NULL;
	struct ctx sub;
	status s;

	ctx_init(&sub, k->u->c->a);
	meter_share(&sub, k->u->c->cx);
	s = text.len > LIMIT_FLAG_TEXT ? E_INVALID : regex_new(&sub, text, REGEX_OURS, &regex);
	regex_free(regex);
	if (s != OK)
		return nobody(k, "has a value that is no pattern of RE2");
	return clause_leaf(k->u->c, k->field, "$matches",
		json_new_string(k->u->c->a, arena_printf(k->u->c->a, "(?s:.*)(?%s:%.*s)(?s:.*)",
						    k->any_case ? "i" : "", STR_ARG(text))));
}

/* Those of the texts that are blocks; of others it says so. */
static const struct json *
in_blocks(struct unleash *u, const struct place *at, str field, const struct list *texts)
{
	struct list blocks = list_begin(u->c->a, JSON_ARRAY);
	struct cidr block;

	JSON_EACH (t, texts->json) {
		if (cidr_parse(t->text, &block))
			list_add(&blocks, (str){ 0 }, json_share(u->c->a, t));
		else
			converter_note(u->c, at, "has %.*s, which is no address and does not count",
				STR_ARG(t->text));
	}
	return blocks.json->count ? clause_leaf(u->c, field, "$cidr", blocks.json) : CLAUSE_NEVER;
}

static const struct json *
convert_blocks(const struct constraint *k)
{
	struct list texts = values_of(k->u, k->at, k->json);
	const struct json *clause = in_blocks(k->u, k->at, k->field, &texts);

	return clause == CLAUSE_NEVER ? nobody(k, "has no address among its values") : clause;
}

static const struct {
	const char *name;
	const struct json *(*convert)(const struct constraint *k);
} operators[] = {
	{ "IN", convert_in },
	{ "NOT_IN", convert_not_in },
	{ "STR_STARTS_WITH", convert_text },
	{ "STR_ENDS_WITH", convert_text },
	{ "STR_CONTAINS", convert_text },
	{ "NUM_EQ", convert_number },
	{ "NUM_GT", convert_number },
	{ "NUM_GTE", convert_number },
	{ "NUM_LT", convert_number },
	{ "NUM_LTE", convert_number },
	{ "DATE_AFTER", convert_date },
	{ "DATE_BEFORE", convert_date },
	{ "SEMVER_EQ", convert_version },
	{ "SEMVER_GT", convert_version },
	{ "SEMVER_GTE", convert_version },
	{ "SEMVER_LT", convert_version },
	{ "SEMVER_LTE", convert_version },
	{ "REGEX", convert_regex },
	{ "IN_CIDR", convert_blocks },
};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static bool
is_true(const struct json *object, const char *name)
{
	const struct json *found = json_get(object, str_of(name));

	return found && found->type == JSON_BOOL && found->truth;
}

static const struct json *
convert_constraint(struct unleash *u, const struct place *at, const struct json *json)
{
	static const char *const known[] = { "contextName", "operator", "values", "value", "inverted",
		"caseInsensitive", NULL };
	struct constraint k = { .u = u,
		.at = at,
		.json = json,
		.field = unleash_text(json, STR("contextName")),
		.op = unleash_text(json, STR("operator")),
		.any_case = is_true(json, "caseInsensitive"),
		.inverted = is_true(json, "inverted") };
	const struct json *clause;
	size_t i = 0;

	if (json->type != JSON_OBJECT || !k.field.len) {
		converter_refuse(u->c, AT_NAME(at, "contextName"), "must be the name of a field");
		return CLAUSE_NEVER;
	}
	converter_unknown(u->c, at, json, known);
	while (i < OPERATORS && !str_eq(k.op, str_of(operators[i].name)))
		i++;
	if (i == OPERATORS) {
		converter_note(u->c, AT_NAME(at, "operator"),
			"is none that is known, and so lets in nobody, as in Unleash");
		return CLAUSE_NEVER;
	}
	clause = operators[i].convert(&k);
	return k.inverted ? clause_not(u->c, clause) : clause;
}

const struct json *
unleash_constraints(struct unleash *u, const struct place *at, const struct json *constraints)
{
	const struct json *clause = CLAUSE_ALWAYS;
	size_t i = 0;

	if (!constraints || constraints->type == JSON_NULL)
		return clause;
	if (constraints->type != JSON_ARRAY)
		converter_refuse(u->c, at, "must be an array");
	JSON_EACH (k, constraints) {
		if (u->c->refused)
			break;
		clause = clause_and(u->c, clause, convert_constraint(u, AT_INDEX(at, i), k));
		i++;
	}
	return clause;
}

/* --- shares --- */

/* 0 to 100, as a text or a number; what stands behind the point does not count over there either. */
static bool
read_percent(struct unleash *u, const struct place *at, const struct json *parameters, const char *name,
	int64_t *out)
{
	const struct json *percent = parameters ? json_get(parameters, str_of(name)) : NULL;
	struct scalar number;

	if (percent && (percent->type == JSON_NUMBER || percent->type == JSON_STRING) &&
		scalar_number(percent->text, &number) && number.number >= 0 && number.number <= 100) {
		*out = (int64_t)number.number;
		return true;
	}
	converter_refuse(u->c, AT_KEY(at, str_of(name)), "must be a percentage, from 0 to 100");
	return false;
}

/* By the first field that has an id: drawn by it, or it has none and it is the next one's turn. */
static const struct json *
share_by_first(struct unleash *u, const char *const *fields, const struct draw_of *draw)
{
	struct draw_of anybody = { .of = 1, .below = 1 };
	const struct json *drawn = clause_bucket(u->c, str_of(fields[0]), draw), *none;

	if (!fields[1])
		return drawn;
	none = clause_not(u->c, clause_bucket(u->c, str_of(fields[0]), &anybody));
	return clause_or(u->c, drawn, clause_and(u->c, none, share_by_first(u, fields + 1, draw)));
}

const struct json *
unleash_share(struct unleash *u, const struct place *at, str stickiness, const char *const *fields,
	const struct draw_of *draw)
{
	if (str_eq(stickiness, STR("random"))) {
		converter_refuse(u->c, at, "is drawn anew for each call; here everybody keeps their share");
		return CLAUSE_NEVER;
	}
	if (stickiness.len && !str_eq(stickiness, STR("default")))
		return clause_bucket(u->c, stickiness, draw);
	return share_by_first(u, fields, draw);
}

static const struct json *
draw_randomly(struct unleash *u, const struct place *at, int64_t percent)
{
	if (percent > 0 && percent < 100)
		converter_refuse(u->c, at, "is drawn anew for each call; here everybody keeps their share");
	else if (!percent)
		converter_note(u->c, at, "lets in nobody: 0 %%");
	return percent == 100 ? CLAUSE_ALWAYS : CLAUSE_NEVER;
}

static const struct json *
draw_by(struct unleash *u, const struct place *at, const struct json *parameters, str field)
{
	struct draw_of draw = { .of = 100,
		.prefix = arena_printf(u->c->a, "%.*s:", STR_ARG(unleash_text(parameters, STR("groupId")))) };

	if (!read_percent(u, at, parameters, "percentage", &draw.below))
		return CLAUSE_NEVER;
	return clause_bucket(u->c, field, &draw);
}

static const struct json *
draw_flexibly(struct unleash *u, const struct place *at, const struct json *parameters, str feature)
{
	static const char *const fields[] = { "userId", "sessionId", NULL };
	str group = unleash_text(parameters, STR("groupId")),
	    by = unleash_text(parameters, STR("stickiness"));
	struct draw_of draw = { .of = 100 };

	if (!read_percent(u, at, parameters, "rollout", &draw.below))
		return CLAUSE_NEVER;
	if (str_eq(by, STR("random")))
		return draw_randomly(u, at, draw.below);
	if (!by.len || str_eq(by, STR("default"))) {
		if (draw.below == 100)
			return CLAUSE_ALWAYS; /* also those who have neither */
		if (draw.below)
			converter_note(u->c, at,
				"lets nobody in who has neither userId nor sessionId, for whom Unleash draws "
				"anew each time");
	}
	draw.prefix = arena_printf(u->c->a, "%.*s:", STR_ARG(group.len ? group : feature));
	return unleash_share(u, at, by, fields, &draw);
}

/* --- strategies --- */

static const struct json *
by_user(struct unleash *u, const struct place *at, const struct json *parameters)
{
	struct list ids = split(u->c->a, unleash_text(parameters, STR("userIds")));

	if (ids.json->count)
		return unleash_in(u, STR("userId"), &ids);
	converter_note(u->c, AT_NAME(at, "userIds"), "has nobody in it");
	return CLAUSE_NEVER;
}

static const struct json *
by_address(struct unleash *u, const struct place *at, const struct json *parameters)
{
	struct list blocks = split(u->c->a, unleash_text(parameters, STR("IPs")));
	const struct json *clause = in_blocks(u, AT_NAME(at, "IPs"), STR("remoteAddress"), &blocks);

	if (clause == CLAUSE_NEVER)
		converter_note(u->c, AT_NAME(at, "IPs"), "has no address in it");
	return clause;
}

static const struct json *
by_name(struct unleash *u, const struct place *at, str name, const struct json *parameters, str feature)
{
	int64_t percent;

	if (str_eq(name, STR("default")))
		return CLAUSE_ALWAYS;
	if (str_eq(name, STR("userWithId")))
		return by_user(u, at, parameters);
	if (str_eq(name, STR("flexibleRollout")))
		return draw_flexibly(u, at, parameters, feature);
	if (str_eq(name, STR("gradualRolloutUserId")))
		return draw_by(u, at, parameters, STR("userId"));
	if (str_eq(name, STR("gradualRolloutSessionId")))
		return draw_by(u, at, parameters, STR("sessionId"));
	if (str_eq(name, STR("gradualRolloutRandom")))
		return read_percent(u, at, parameters, "percentage", &percent) ? draw_randomly(u, at, percent)
									       : CLAUSE_NEVER;
	if (str_eq(name, STR("remoteAddress")))
		return by_address(u, at, parameters);
	converter_refuse(u->c, at,
		"belong to the strategy %.*s, which is code of the SDK and cannot be expressed",
		STR_ARG(name));
	return CLAUSE_NEVER;
}

const struct json *
unleash_strategy(struct unleash *u, const struct place *at, const struct json *strategy, str feature)
{
	static const char *const known[] = { "name", "parameters", "constraints", "segments", "variants",
		"id", "title", "sortOrder", "disabled", "featureName", NULL };
	const struct json *parameters = json_get(strategy, STR("parameters")), *clause;

	if (strategy->type != JSON_OBJECT || !unleash_text(strategy, STR("name")).len) {
		converter_refuse(u->c, AT_NAME(at, "name"), "must be the name of a strategy");
		return CLAUSE_NEVER;
	}
	converter_unknown(u->c, at, strategy, known);
	if (is_true(strategy, "disabled")) {
		converter_note(u->c, at, "is disabled and left out");
		return CLAUSE_NEVER;
	}
	clause = by_name(
		u, AT_NAME(at, "parameters"), unleash_text(strategy, STR("name")), parameters, feature);
	return clause_and(u->c,
		unleash_constraints(u, AT_NAME(at, "constraints"), json_get(strategy, STR("constraints"))),
		clause);
}
