/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/meter/meter.h"

#include <inttypes.h>
#include <math.h>

/*
 * Each operator is a row of the table below: a function that reads its comparand,
 * and one that says whether it holds. The latter is false wherever the value is missing or not of a type
 * that it knows; $notEquals and $notIn are the exact opposites of $equals and
 * $in, and so hold there. docs/flags.md has the table of all cells.
 */

/* --- reading comparands --- */

/* A string, number or boolean that we keep. */
static bool
is_scalar(struct compiler *c, const struct at *at, const struct json *v)
{
	if (v->type == JSON_NULL)
		compiler_issue(c, at, "must not be null; ask with $exists whether a field is there");
	else if (v->type == JSON_ARRAY || v->type == JSON_OBJECT)
		compiler_issue(c, at, "must be a string, a number or a boolean");
	else if (v->type == JSON_NUMBER && !isfinite(json_to_double(v)))
		compiler_issue(c, at, "is a number too large to be compared with");
	else
		return v->type != JSON_STRING || compiler_text(c, at, v->text, LIMIT_FLAG_TEXT);
	return false;
}

static bool
is_string(struct compiler *c, const struct at *at, const struct json *v)
{
	if (v->type != JSON_STRING) {
		compiler_issue(c, at, "must be a string");
		return false;
	}
	return compiler_text(c, at, v->text, LIMIT_FLAG_TEXT);
}

static status
keep_scalar(struct compiler *c, const struct json *v, struct condition *out)
{
	struct scalar *kept;

	TRY(compiler_take(c, 1, sizeof(*kept), &kept));
	*kept = scalar_of(v);
	TRY(compiler_copy(c, v->text, &kept->text));
	out->as.value = kept;
	return OK;
}

static status
read_scalar(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	return is_scalar(c, at, v) ? keep_scalar(c, v, out) : OK;
}

static status
read_ordered(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	if (v->type == JSON_NUMBER || v->type == JSON_STRING)
		return read_scalar(c, at, v, out);
	compiler_issue(c, at, "must be a number or a string");
	return OK;
}

static status
read_number(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	if (v->type == JSON_NUMBER)
		return read_scalar(c, at, v, out);
	compiler_issue(c, at, "must be a number");
	return OK;
}

static status
read_text(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	if (!is_string(c, at, v))
		return OK;
	if (!v->text.len) {
		compiler_issue(c, at, "must not be empty: every text has it");
		return OK;
	}
	return keep_scalar(c, v, out);
}

static status
read_list(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	struct set *set;
	size_t i = 0;
	uint32_t place;

	if (v->type != JSON_ARRAY || v->count > LIMIT_FLAG_LIST) {
		compiler_issue(c, at, "must be an array of at most %u values", LIMIT_FLAG_LIST);
		return OK;
	}
	TRY(compiler_take(c, 1, sizeof(*set), &set));
	*set = (struct set){ .arena = &c->rs->arena, .seed = c->rs->item_keys.seed };
	TRY(set_reserve(set, v->count));
	JSON_EACH (entry, v)
		if (is_scalar(c, AT_ITEM(at, i++), entry))
			TRY(set_add(set, scalar_of(entry), &place));
	out->as.set = set;
	return OK;
}

static status
read_truth(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	if (v->type != JSON_BOOL)
		compiler_issue(c, at, "must be true or false");
	out->as.truth = v->truth;
	return OK;
}

/* What a pattern is known by: the field belongs to it, since the answer is kept for both together. */
static struct scalar
name_pattern(struct compiler *c, uint32_t field, str pattern)
{
	str name = c->rs->fields.values[field].text;

	return scalar_text(arena_printf(c->cx->arena, "%.*s%c%.*s", STR_ARG(name), '\0', STR_ARG(pattern)));
}

static status
compile_pattern(struct compiler *c, const struct at *at, str pattern, struct scalar name)
{
	struct pattern *p;
	struct ctx sub;
	uint32_t place;

	TRY(compiler_take(c, 1, sizeof(*p), &p));
	ctx_init(&sub, c->cx->arena);
	if (regex_new(&sub, pattern, REGEX_RE2, &p->regex) != OK) {
		compiler_issue(c, at, "%.*s", STR_ARG(sub.error.message));
		/* work for nothing; of those that fit there are few, the ruleset's limits see to it */
		if (!meter_charge(c->cx, 2 * sub.work.outside))
			c->issues += COMPILER_ENOUGH;
		return OK;
	}
	p->next = c->rs->compiled;
	c->rs->compiled = p;
	c->program += regex_program(p->regex);
	if (c->program > LIMIT_RULESET_PROGRAM)
		compiler_issue(c, at, "is too much work: all patterns together have more than %u steps",
			LIMIT_RULESET_PROGRAM);
	TRY(set_add(&c->rs->patterns, name, &place));
	c->rs->regexes[place] = p->regex;
	return OK;
}

/* Patterns are compiled once, however many rules have them. */
static status
read_pattern(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	struct ruleset *rs = c->rs;
	struct scalar name;

	if (!is_string(c, at, v))
		return OK;
	name = name_pattern(c, out->field, v->text);
	out->kind = CONDITION_MATCH;
	out->count = set_find(&rs->patterns, &name);
	if (out->count == SET_NONE && rs->patterns.count >= LIMIT_RULESET_PATTERNS) {
		compiler_issue(c, at, "is one pattern too many: a ruleset has at most %u different ones",
			LIMIT_RULESET_PATTERNS);
		return OK;
	}
	if (out->count == SET_NONE)
		TRY(compile_pattern(c, at, v->text, name));
	out->count = set_find(&rs->patterns, &name);
	out->as.regex = out->count == SET_NONE ? NULL : rs->regexes[out->count];
	return OK;
}

static status
read_version(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	struct semver *kept, probe;
	str text;

	if (!is_string(c, at, v))
		return OK;
	if (!semver_parse(v->text, &probe)) {
		compiler_issue(c, at, "must be a version such as 1.2.3 or 1.2.3-rc.1");
		return OK;
	}
	TRY(compiler_take(c, 1, sizeof(*kept), &kept));
	TRY(compiler_copy(c, v->text, &text));
	(void)semver_parse(text, kept);
	out->as.version = kept;
	return OK;
}

static status
read_time(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	if (v->type != JSON_STRING || !clock_parse(v->text, &out->as.time_us))
		compiler_issue(c, at, "must be a time such as 2026-11-15T22:51:44Z");
	return OK;
}

static status
read_blocks(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	const struct json *first = v->type == JSON_ARRAY ? v->child : v;
	struct cidr *blocks;

	if (!first || (v->type == JSON_ARRAY && v->count > LIMIT_FLAG_BLOCKS)) {
		compiler_issue(c, at, "must be a block or an array of 1 to %u blocks", LIMIT_FLAG_BLOCKS);
		return OK;
	}
	out->count = v->type == JSON_ARRAY ? v->count : 1;
	TRY(compiler_take(c, out->count, sizeof(*blocks), &blocks));
	for (uint32_t i = 0; i < out->count; i++, first = first->next)
		if (first->type != JSON_STRING || !cidr_parse(first->text, &blocks[i]))
			compiler_issue(c, v->type == JSON_ARRAY ? AT_ITEM(at, i) : at,
				"must be an address or a block such as 10.0.0.0/8 or 2001:db8::/32");
	out->as.blocks = blocks;
	return OK;
}

/* An integer from least to most; where there is none, what stands in *out. */
static bool
read_count(struct compiler *c, const struct at *at, const struct json *v, int64_t least, int64_t most,
	uint32_t *out)
{
	int64_t n;

	if (!v)
		return true;
	if (!json_to_int(v, &n) || n < least || n > most) {
		compiler_issue(c, at, "must be an integer from %" PRId64 " to %" PRId64, least, most);
		return false;
	}
	*out = (uint32_t)n;
	return true;
}

/* {"prefix": "group:", "seed": 0, "of": 100, "below": 25, "method": "modulo"} */
static status
read_draw(struct compiler *c, const struct at *at, const struct json *v, struct condition *out)
{
	enum { OF, BELOW, PREFIX, SEED, METHOD, COUNT };
	struct member members[COUNT] = {
		[OF] = { MEMBER("of"), JSON_NUMBER, .need = true },
		[BELOW] = { MEMBER("below"), JSON_NUMBER, .need = true },
		[PREFIX] = { MEMBER("prefix"), JSON_STRING },
		[SEED] = { MEMBER("seed"), JSON_NUMBER },
		[METHOD] = { MEMBER("method"), JSON_STRING },
	};
	str method = STR("modulo");
	struct draw *draw;

	TRY(compiler_take(c, 1, sizeof(*draw), &draw));
	out->as.draw = draw;
	if (!compiler_members(c, at, v, members, COUNT) ||
		!read_count(c, AT_NAME(at, "of"), members[OF].found, 1, INT32_MAX, &draw->of) ||
		!read_count(c, AT_NAME(at, "below"), members[BELOW].found, 0, draw->of, &draw->below) ||
		!read_count(c, AT_NAME(at, "seed"), members[SEED].found, 0, UINT32_MAX, &draw->bucket.hash))
		return OK;
	if (members[METHOD].found)
		method = members[METHOD].found->text;
	draw->scale = str_eq(method, STR("scale"));
	if (!draw->scale && !str_eq(method, STR("modulo")))
		compiler_issue(c, AT_NAME(at, "method"), "must be modulo or scale");
	if (members[PREFIX].found &&
		compiler_text(c, AT_NAME(at, "prefix"), members[PREFIX].found->text, LIMIT_FLAG_TEXT))
		bucket_add(&draw->bucket, members[PREFIX].found->text);
	return OK;
}

/* --- holding --- */

static bool
is_ordered(const struct condition *c, int order)
{
	unsigned as_bit = order < 0 ? ORDER_LESS : order > 0 ? ORDER_GREATER : ORDER_EQUAL;

	return (c->op->orders & as_bit) != 0;
}

static bool
equals(const struct condition *c, const struct value *v)
{
	return scalar_equal(c->as.value, &v->scalar);
}

static bool
is_in(const struct condition *c, const struct value *v)
{
	/* what a set cannot hold is not looked for */
	return v->scalar.type >= SCALAR_BOOL && v->scalar.type <= SCALAR_TEXT &&
	       set_find(c->as.set, &v->scalar) != SET_NONE;
}

static bool
compares(const struct condition *c, const struct value *v)
{
	const struct scalar *than = c->as.value;

	if (v->scalar.type != than->type)
		return false;
	return is_ordered(c, than->type == SCALAR_NUMBER ? scalar_order(&v->scalar, than)
							 : str_cmp(v->scalar.text, than->text));
}

/* The same for numbers, also those that came as text. */
static bool
compares_number(const struct condition *c, const struct value *v)
{
	struct scalar number;

	if (v->scalar.type == SCALAR_NUMBER)
		return is_ordered(c, scalar_order(&v->scalar, c->as.value));
	return v->scalar.type == SCALAR_TEXT && scalar_number(v->scalar.text, &number) &&
	       is_ordered(c, scalar_order(&number, c->as.value));
}

/* Does part, which is not empty, stand in text at a place? */
static inline bool
has_at(str text, size_t at, str part)
{
	return text.len >= part.len && memcmp(text.ptr + at, part.ptr, part.len) == 0;
}

static bool
starts(const struct condition *c, const struct value *v)
{
	return v->scalar.type == SCALAR_TEXT && has_at(v->scalar.text, 0, c->as.value->text);
}

static bool
ends(const struct condition *c, const struct value *v)
{
	return v->scalar.type == SCALAR_TEXT &&
	       has_at(v->scalar.text, v->scalar.text.len - c->as.value->text.len, c->as.value->text);
}

static bool
contains(const struct condition *c, const struct value *v)
{
	str part = c->as.value->text;

	if (v->scalar.type == SCALAR_TEXT)
		return v->scalar.text.len >= part.len &&
		       memmem(v->scalar.text.ptr, v->scalar.text.len, part.ptr, part.len) != NULL;
	if (v->scalar.type != SCALAR_ARRAY)
		return false;
	JSON_EACH (entry, v->json)
		if (entry->type == JSON_STRING && str_eq(entry->text, part))
			return true;
	return false;
}

static bool
matches(const struct condition *c, const struct value *v)
{
	return v->scalar.type == SCALAR_TEXT && regex_full(c->as.regex, v->scalar.text);
}

static bool
exists(const struct condition *c, const struct value *v)
{
	return (v->scalar.type != SCALAR_NONE) == c->as.truth;
}

static bool
compares_version(const struct condition *c, const struct value *v)
{
	struct semver version;

	return v->scalar.type == SCALAR_TEXT && semver_parse(v->scalar.text, &version) &&
	       is_ordered(c, semver_cmp(&version, c->as.version));
}

static bool
is_inside(const struct condition *c, const struct value *v)
{
	struct cidr address;

	if (v->scalar.type != SCALAR_TEXT || !cidr_parse_address(v->scalar.text, &address))
		return false;
	for (uint32_t i = 0; i < c->count; i++)
		if (cidr_inside(&c->as.blocks[i], &address))
			return true;
	return false;
}

/* RFC 3339, or milliseconds since 1970 as Date.now() gives them. */
static bool
compares_time(const struct condition *c, const struct value *v)
{
	int64_t us;

	if (v->scalar.type == SCALAR_NUMBER) {
		double than = (double)c->as.time_us / 1000;

		return is_ordered(c, (v->scalar.number > than) - (v->scalar.number < than));
	}
	return v->scalar.type == SCALAR_TEXT && clock_parse(v->scalar.text, &us) &&
	       is_ordered(c, (us > c->as.time_us) - (us < c->as.time_us));
}

/* Whom another system would draw: docs/decisions/0009-other-peoples-buckets.md */
static bool
is_drawn(const struct condition *c, const struct value *v)
{
	struct bucket whole = c->as.draw->bucket;
	char digits[24];
	uint32_t hash;
	str id;

	if (!target_text(v->json, digits, &id))
		return false;
	bucket_add(&whole, id);
	hash = bucket_hash(&whole);
	return (c->as.draw->scale ? (uint32_t)((uint64_t)hash * c->as.draw->of >> 32)
				  : hash % c->as.draw->of) < c->as.draw->below;
}

/* --- the table --- */

/* clang-format off */
#define OP(word, ...) { .name = { word, sizeof(word) - 1 }, __VA_ARGS__ }
static const struct predicate predicates[] = {
	OP("$equals", read_scalar, equals),
	OP("$notEquals", read_scalar, equals, .negate = true),
	OP("$in", read_list, is_in),
	OP("$notIn", read_list, is_in, .negate = true),
	OP("$gt", read_ordered, compares, .orders = ORDER_GREATER),
	OP("$gte", read_ordered, compares, .orders = ORDER_GREATER | ORDER_EQUAL),
	OP("$lt", read_ordered, compares, .orders = ORDER_LESS),
	OP("$lte", read_ordered, compares, .orders = ORDER_LESS | ORDER_EQUAL),
	OP("$numEq", read_number, compares_number, .orders = ORDER_EQUAL),
	OP("$numGt", read_number, compares_number, .orders = ORDER_GREATER),
	OP("$numGte", read_number, compares_number, .orders = ORDER_GREATER | ORDER_EQUAL),
	OP("$numLt", read_number, compares_number, .orders = ORDER_LESS),
	OP("$numLte", read_number, compares_number, .orders = ORDER_LESS | ORDER_EQUAL),
	OP("$startsWith", read_text, starts),
	OP("$endsWith", read_text, ends),
	OP("$contains", read_text, contains),
	OP("$matches", read_pattern, matches),
	OP("$exists", read_truth, exists),
	OP("$semverEq", read_version, compares_version, .orders = ORDER_EQUAL),
	OP("$semverGt", read_version, compares_version, .orders = ORDER_GREATER),
	OP("$semverGte", read_version, compares_version, .orders = ORDER_GREATER | ORDER_EQUAL),
	OP("$semverLt", read_version, compares_version, .orders = ORDER_LESS),
	OP("$semverLte", read_version, compares_version, .orders = ORDER_LESS | ORDER_EQUAL),
	OP("$cidr", read_blocks, is_inside),
	OP("$before", read_time, compares_time, .orders = ORDER_LESS),
	OP("$after", read_time, compares_time, .orders = ORDER_GREATER),
	OP("$bucket", read_draw, is_drawn),
};
/* clang-format on */
#define COUNT (sizeof(predicates) / sizeof(predicates[0]))

const struct predicate *
predicate_find(str name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (predicates[i].name.len == name.len && str_eq(predicates[i].name, name))
			return &predicates[i];
	return NULL;
}

str
predicate_names(struct arena *a)
{
	struct buf b;

	buf_init(&b, a, LIMIT_ERROR_MESSAGE);
	for (size_t i = 0; i < COUNT; i++) {
		buf_add(&b, predicates[i].name);
		buf_add(&b, STR(", "));
	}
	buf_add(&b, STR("$segment, $and, $or, $not"));
	return buf_str(&b);
}
