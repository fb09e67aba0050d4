/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/flagd.h"

/*
 * Targeting gives the name of a variant; a chain of ifs becomes rules in its order. What stands behind a
 * condition is converted for those for whom it holds, and always to its end: so the rules that follow
 * are for the others, and need not say so.
 */

static void emit(struct flagd *f, const struct place *at, const struct json *logic, const struct json *guard);

static void
emit_variant(struct flagd *f, const struct place *at, str name, const struct json *guard)
{
	const struct json *value = json_get(f->variants, name);

	if (!value)
		converter_refuse(
			f->c, at, "gives the variant %.*s, which the flag does not have", STR_ARG(name));
	else
		converter_rule(f->c, &f->rules, guard, value, arena_printf(f->c->a, "%.*s", STR_ARG(name)));
}

/* The default variant. For everybody it is the end of the rules. */
static void
emit_fallback(struct flagd *f, const struct json *guard)
{
	if (guard != CLAUSE_ALWAYS)
		converter_rule(f->c, &f->rules, guard, f->fallback, (str){ 0 });
}

static void
emit_if(struct flagd *f, const struct place *at, const struct json *op, const struct json *guard)
{
	const struct json *part = op->child;
	size_t i = 0;

	if (op->type != JSON_ARRAY || op->count < 2) {
		converter_refuse(f->c, at, "must be a list of a condition, a result, and maybe more of them");
		return;
	}
	for (; part && part->next && !f->c->refused; part = part->next->next, i += 2) {
		const struct json *when = flagd_condition(f, AT_INDEX(at, i), part);

		when = clause_and(f->c, guard, when);
		if (when != CLAUSE_NEVER)
			emit(f, AT_INDEX(at, i + 1), part->next, when);
		if (when == guard) /* for all of them: what follows is for nobody */
			return;
	}
	if (f->c->refused)
		return;
	if (part)
		emit(f, AT_INDEX(at, i), part, guard);
	else
		emit_fallback(f, guard);
}

/* --- fractional --- */

static bool
is_operator(const struct json *logic, const char *name)
{
	return logic->type == JSON_OBJECT && logic->count == 1 && str_eq(logic->child->key, str_of(name));
}

/* By what it draws: {"var": "email"}, or {"cat": [{"var": "$flagd.flagKey"}, {"var": "email"}]}: constants, and
 * a field at the end. */
static bool
read_bucket_by(
	struct flagd *f, const struct place *at, const struct json *by, str *out_prefix, str *out_field)
{
	struct flagd_operand operand = { 0 };
	struct buf prefix;
	size_t i = 0;

	buf_init(&prefix, f->c->a, LIMIT_FLAG_TEXT);
	if (!is_operator(by, "cat") || by->child->type != JSON_ARRAY) {
		if (!flagd_operand(f, at, by, &operand))
			return false;
	} else {
		JSON_EACH (part, by->child) {
			if (operand.is_field ||
				!flagd_operand(f, AT_INDEX(AT_NAME(at, "cat"), i++), part, &operand))
				break;
			if (!operand.is_field && operand.value->type == JSON_STRING)
				buf_add(&prefix, operand.value->text);
			else if (!operand.is_field)
				break;
			else if (part->next)
				operand.is_field = false; /* something follows it */
		}
		converter_note(f->c, at, "gives those without the field the last share here");
	}
	if (!operand.is_field)
		converter_refuse(f->c, at, "must be a field, or constants and then a field, to be drawn by");
	*out_prefix = buf_str(&prefix);
	*out_field = operand.field;
	return !f->c->refused && !prefix.overflow;
}

/* ["variant", 25]: its weight, 1 where there is none; what is below 0 counts as 0. */
static bool
read_share(struct flagd *f, const struct place *at, const struct json *share, int64_t *out_weight)
{
	const struct json *weight = json_at(share, 1);

	*out_weight = 1;
	if (share->type != JSON_ARRAY || !share->count || share->count > 2 ||
		(weight && !json_to_int(weight, out_weight)) || *out_weight > INT32_MAX) {
		converter_refuse(f->c, at, "must be a variant and an integer, its weight");
		return false;
	}
	if (*out_weight < 0)
		*out_weight = 0;
	return true;
}

static bool
sum_shares(struct flagd *f, const struct place *at, const struct json *first, size_t index, int64_t *out_sum)
{
	int64_t weight;

	*out_sum = 0;
	for (; first; first = first->next, index++) {
		if (!read_share(f, AT_INDEX(at, index), first, &weight))
			return false;
		*out_sum += weight;
		if (*out_sum > INT32_MAX)
			break;
	}
	if (*out_sum > 0 && *out_sum <= INT32_MAX)
		return true;
	converter_refuse(f->c, at, "must have weights of 1 to %d in all", INT32_MAX);
	return false;
}

/* Each share takes those below its end; those before it have taken theirs. The last is for the rest. */
static void
emit_shares(struct flagd *f, const struct place *at, const struct json *share, size_t index,
	const struct json *guard, struct draw_of draw, str field)
{
	int64_t weight = 0;

	for (; share && draw.below < draw.of && !f->c->refused; share = share->next, index++) {
		const struct json *when = guard;

		if (!read_share(f, AT_INDEX(at, index), share, &weight) || !weight)
			continue;
		draw.below += weight;
		if (draw.below < draw.of)
			when = clause_and(f->c, guard, clause_bucket(f->c, field, &draw));
		emit(f, AT_INDEX(AT_INDEX(at, index), 0), share->child, when);
	}
}

static void
emit_fractional(struct flagd *f, const struct place *at, const struct json *op, const struct json *guard)
{
	const struct json *first = op->child;
	struct draw_of draw = { .prefix = f->key, .scale = true };
	str field = f->c->target_field;
	bool joined = false;
	size_t index = 0;

	if (op->type != JSON_ARRAY || !first) {
		converter_refuse(f->c, at, "must be a list of shares");
		return;
	}
	if (first->type != JSON_ARRAY) {
		if (!read_bucket_by(f, AT_INDEX(at, 0), first, &draw.prefix, &field))
			return;
		joined = is_operator(first, "cat");
		first = first->next;
		index = 1;
	}
	if (!sum_shares(f, at, first, index, &draw.of))
		return;
	if (!joined) { /* nobody to draw for: flagd gives up */
		struct draw_of anybody = { .of = 1, .below = 1 };

		emit_fallback(
			f, clause_and(f->c, guard, clause_not(f->c, clause_bucket(f->c, field, &anybody))));
	}
	emit_shares(f, at, first, index, guard, draw, field);
}

/* --- any result --- */

/* true gives the variant "true", false "false". */
static void
emit_boolean(struct flagd *f, const struct place *at, const struct json *logic, const struct json *guard)
{
	const struct json *when;

	if (!flagd_is_boolean(f, at, logic)) {
		converter_refuse(f->c, at,
			"gives something of which nobody can say beforehand which variant it names");
		return;
	}
	when = clause_and(f->c, guard, flagd_condition(f, at, logic));
	if (when != CLAUSE_NEVER)
		emit_variant(f, at, STR("true"), when);
	if (when != guard)
		emit_variant(f, at, STR("false"), guard);
}

static void
emit(struct flagd *f, const struct place *at, const struct json *logic, const struct json *guard)
{
	const struct json *op = flagd_operator(f, at, &logic);

	if (f->c->refused)
		return;
	if (f->depth >= FLAGD_DEPTH) {
		converter_refuse(f->c, at, "is nested too deep");
		return;
	}
	f->depth++;
	if (logic->type == JSON_NULL)
		emit_fallback(f, guard);
	else if (logic->type == JSON_STRING || logic->type == JSON_NUMBER)
		emit_variant(f, at, logic->text, guard);
	else if (logic->type == JSON_BOOL)
		emit_variant(f, at, logic->truth ? STR("true") : STR("false"), guard);
	else if (!op)
		converter_refuse(f->c, at, "is not an operator and its arguments");
	else if (str_eq(op->key, STR("if")) || str_eq(op->key, STR("?:")))
		emit_if(f, AT_KEY(at, op->key), op, guard);
	else if (str_eq(op->key, STR("fractional")))
		emit_fractional(f, AT_KEY(at, op->key), op, guard);
	else
		emit_boolean(f, at, logic, guard);
	f->depth--;
}

/* --- flags --- */

/* The type that all variants have: what ours is called, and whether it is a config. */
static const char *
find_type(struct flagd *f, const struct place *at, enum section *out_section)
{
	static const char *const names[] = {
		[JSON_BOOL] = "boolean",
		[JSON_NUMBER] = "number",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "json",
		[JSON_OBJECT] = "json",
	};
	const struct json *first = f->variants->child;

	if (!first || first->type == JSON_NULL) {
		converter_refuse(f->c, at, "must be an object of variants with values");
		return NULL;
	}
	JSON_EACH (v, f->variants)
		if (v->type != first->type)
			converter_refuse(f->c, AT_KEY(at, v->key), "has another type than the first variant");
	if (f->c->refused)
		return NULL;
	*out_section =
		first->type == JSON_BOOL || first->type == JSON_STRING ? SECTION_FLAGS : SECTION_CONFIGS;
	return names[first->type];
}

static bool
read_flag(struct flagd *f, const struct place *at, const struct json *flag)
{
	static const char *const known[] = { "state", "variants", "defaultVariant", "targeting", NULL };
	const struct json *state = json_get(flag, STR("state"));
	const struct json *name = json_get(flag, STR("defaultVariant"));

	if (flag->type != JSON_OBJECT) {
		converter_refuse(f->c, at, "must be an object");
		return false;
	}
	converter_unknown(f->c, at, flag, known);
	f->variants = json_get(flag, STR("variants"));
	if (state && state->type == JSON_STRING && str_eq(state->text, STR("DISABLED")))
		converter_refuse(f->c, AT_NAME(at, "state"),
			"is DISABLED: flagd gives no value, so that the program's own default holds; left "
			"out, it does");
	else if (!state || state->type != JSON_STRING || !str_eq(state->text, STR("ENABLED")))
		converter_refuse(f->c, AT_NAME(at, "state"), "must be ENABLED or DISABLED");
	else if (!f->variants || f->variants->type != JSON_OBJECT)
		converter_refuse(f->c, AT_NAME(at, "variants"), "must be an object of variants with values");
	else if (!name || name->type != JSON_STRING)
		converter_refuse(f->c, AT_NAME(at, "defaultVariant"),
			"is not there: flagd gives no value, so that the program's own default holds; here "
			"is always a value");
	else if (!(f->fallback = json_get(f->variants, name->text)))
		converter_refuse(f->c, AT_NAME(at, "defaultVariant"), "is none of the variants");
	return !f->c->refused;
}

static void
convert_flag(struct flagd *f, const struct place *at, const struct json *flag)
{
	const struct json *targeting = json_get(flag, STR("targeting"));
	enum section section;
	const char *type;

	if (!read_flag(f, at, flag))
		return;
	type = find_type(f, AT_NAME(at, "variants"), &section);
	f->rules = list_begin(f->c->a, JSON_ARRAY);
	f->depth = 0;
	if (type && targeting && targeting->type != JSON_OBJECT)
		converter_refuse(f->c, AT_NAME(at, "targeting"), "must be an object");
	else if (type && targeting && targeting->count)
		emit(f, AT_NAME(at, "targeting"), targeting, CLAUSE_ALWAYS);
	if (type)
		converter_keep(f->c, section, f->key, at,
			converter_item(f->c, type, f->fallback, (str){ 0 }, &f->rules));
}

status
flagd_convert(struct converter *c, const struct json *file)
{
	static const char *const known[] = { "flags", "$evaluators", "$schema", NULL };
	const struct json *flags = json_get(file, STR("flags"));
	struct flagd f = { .c = c, .evaluators = json_get(file, STR("$evaluators")) };

	if (!flags || flags->type != JSON_OBJECT) {
		fail_issue(c->cx, STR("/flags"), STR("must be an object of flags"));
		return fail(
			c->cx, E_INVALID, "this is not a file of flagd: /flags must be an object of flags");
	}
	converter_unknown(c, NULL, file, known);
	JSON_EACH (flag, flags) {
		TRY(converter_begin(c, flag->key));
		f.key = flag->key;
		convert_flag(&f, AT_KEY(AT_NAME(NULL, "flags"), flag->key), flag);
	}
	return OK;
}
