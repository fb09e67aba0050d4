/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/flagd.h"

#include "domain/flag/scalar.h"
#include "domain/flag/semver.h"

#define ARGUMENTS 3 /* of an operator that compares */

const struct json *
flagd_operator(struct flagd *f, const struct place *at, const struct json **logic)
{
	for (unsigned i = 0; i < FLAGD_DEPTH; i++) {
		const struct json *op = (*logic)->child, *found;

		if ((*logic)->type != JSON_OBJECT || (*logic)->count != 1)
			return NULL;
		if (!str_eq(op->key, STR("$ref")))
			return op;
		found = f->evaluators && op->type == JSON_STRING ? json_get(f->evaluators, op->text) : NULL;
		if (!found) {
			converter_refuse(f->c, AT_NAME(at, "$ref"), "names no entry of $evaluators");
			return NULL;
		}
		*logic = found;
	}
	converter_refuse(f->c, at, "refers to itself");
	return NULL;
}

size_t
flagd_arguments(const struct json *op, const struct json **out, size_t max)
{
	size_t n = 0;

	if (op->type != JSON_ARRAY) {
		out[0] = op;
		return 1;
	}
	JSON_EACH (argument, op) {
		if (n < max)
			out[n] = argument;
		n++;
	}
	return n;
}

/* --- operands --- */

static bool
is_index(str step)
{
	for (size_t i = 0; i < step.len; i++)
		if (step.ptr[i] < '0' || step.ptr[i] > '9')
			return false;
	return true;
}

/* a.0.b asks for an element of an array. */
static bool
has_index(str path)
{
	str step;

	while (str_cut(path, '.', &step, &path))
		if (is_index(step))
			return true;
	return is_index(path);
}

static bool
read_field(struct flagd *f, const struct place *at, const struct json *op, struct flagd_operand *out)
{
	const struct json *arguments[2];
	size_t n = flagd_arguments(op, arguments, 2);
	str name = n && arguments[0]->type == JSON_STRING ? arguments[0]->text : (str){ 0 };

	if (str_eq(name, STR("$flagd.flagKey"))) {
		*out = (struct flagd_operand){ .value = json_new_string(f->c->a, f->key) };
		return true;
	}
	if (str_starts(name, STR("$flagd.")))
		converter_refuse(f->c, at, "asks for the time, on which no answer depends here");
	else if (!name.len)
		converter_refuse(f->c, at, "is not the name of a field");
	else if (has_index(name))
		converter_refuse(f->c, at, "asks for an element of an array, which has no name here");
	else if (n > 1 && (n > 2 || arguments[1]->type != JSON_NULL))
		converter_refuse(f->c, at, "has a default for a missing field, which cannot be expressed");
	*out = (struct flagd_operand){ .is_field = true,
		.field = str_eq(name, STR("targetingKey")) ? f->c->target_field : name };
	return !f->c->refused;
}

bool
flagd_operand(struct flagd *f, const struct place *at, const struct json *logic, struct flagd_operand *out)
{
	const struct json *op = flagd_operator(f, at, &logic);

	if (op && str_eq(op->key, STR("var")))
		return read_field(f, AT_NAME(at, "var"), op, out);
	if (logic->type == JSON_OBJECT)
		converter_refuse(f->c, at, "is computed; only a field and a constant can be compared");
	*out = (struct flagd_operand){ .value = logic };
	return !f->c->refused;
}

/* A field and a constant, in either order. *out_turned: the constant comes first. */
static bool
read_pair(struct flagd *f, const struct place *at, const struct json *one, const struct json *other,
	struct flagd_operand *field, struct flagd_operand *value, bool *out_turned)
{
	if (!flagd_operand(f, AT_INDEX(at, 0), one, field) ||
		!flagd_operand(f, AT_INDEX(at, 1), other, value))
		return false;
	*out_turned = !field->is_field;
	if (*out_turned) {
		struct flagd_operand first = *field;

		*field = *value;
		*value = first;
	}
	if (field->is_field && !value->is_field)
		return true;
	converter_refuse(f->c, at, "compares two %s; only a field and a constant can be compared",
		field->is_field ? "fields" : "constants");
	return false;
}

static bool
has_arguments(struct flagd *f, const struct place *at, size_t n, size_t least, size_t most)
{
	if (n >= least && n <= most)
		return true;
	converter_refuse(f->c, at, "has %zu arguments, which flagd does not take", n);
	return false;
}

/* --- equality --- */

static struct json *
pair(struct converter *c, struct json *one, struct json *other)
{
	struct json *list = json_new_array(c->a);

	json_add_item(list, one);
	json_add_item(list, other);
	return list;
}

/* As == of JsonLogic: "5" is 5, true is 1. */
static const struct json *
equals_loosely(struct converter *c, str field, const struct json *value)
{
	struct scalar number;
	struct json *list;

	switch (value->type) {
	case JSON_NUMBER:
		return clause_leaf(c, field, "$numEq", json_share(c->a, value));
	case JSON_BOOL:
		list = pair(c, json_new_bool(c->a, value->truth), json_new_int(c->a, value->truth));
		json_add_item(list, json_new_string(c->a, value->truth ? STR("1") : STR("0")));
		if (!value->truth)
			json_add_item(list, json_new_string(c->a, STR("")));
		return clause_leaf(c, field, "$in", list);
	default:
		if (!scalar_number(value->text, &number))
			return clause_leaf(c, field, "$equals", json_share(c->a, value));
		list = pair(c, json_share(c->a, value), json_new_int(c->a, 0));
		list->child->next->text = value->text;
		return clause_leaf(c, field, "$in", list);
	}
}

static const struct json *
convert_equals(struct flagd *f, const struct place *at, const struct json *op)
{
	const struct json *arguments[ARGUMENTS];
	struct flagd_operand field, value;
	bool turned, negated = op->key.ptr[0] == '!', strict = op->key.len == 3;
	const struct json *clause;

	if (!has_arguments(f, at, flagd_arguments(op, arguments, ARGUMENTS), 2, 2) ||
		!read_pair(f, at, arguments[0], arguments[1], &field, &value, &turned))
		return CLAUSE_NEVER;
	if (value.value->type == JSON_ARRAY) {
		converter_refuse(f->c, at, "compares with an array; only texts, numbers and booleans can be");
		return CLAUSE_NEVER;
	}
	if (value.value->type == JSON_NULL)
		clause = clause_exists(f->c, field.field, false);
	else if (strict)
		clause = clause_leaf(f->c, field.field, "$equals", json_share(f->c->a, value.value));
	else
		clause = equals_loosely(f->c, field.field, value.value);
	return negated ? clause_not(f->c, clause) : clause;
}

/* --- order --- */

static bool
orders_zero(const char *name, double than)
{
	return (name[0] == '<' && 0 < than) || (name[0] == '>' && 0 > than) ||
	       (name[1] == '=' && !(0 < than || 0 > than));
}

/* name: <, <=, >, >=. A missing field counts as 0 there. */
static const struct json *
orders(struct flagd *f, const struct place *at, const char *name, str field, const struct json *than)
{
	static const char *const texts[] = { "$lt", "$lte", "$gt", "$gte" };
	static const char *const numbers[] = { "$numLt", "$numLte", "$numGt", "$numGte" };
	size_t which = (name[0] == '>' ? 2u : 0u) + (name[1] == '=' ? 1u : 0u);
	const struct json *clause;

	if (than->type == JSON_STRING)
		return clause_leaf(f->c, field, texts[which], json_share(f->c->a, than));
	if (than->type != JSON_NUMBER) {
		converter_refuse(
			f->c, at, "compares the order with something that is neither number nor text");
		return CLAUSE_NEVER;
	}
	clause = clause_leaf(f->c, field, numbers[which], json_share(f->c->a, than));
	if (orders_zero(name, json_to_double(than)))
		clause = clause_or(f->c, clause, clause_exists(f->c, field, false));
	return clause;
}

static const struct json *
order_pair(struct flagd *f, const struct place *at, const struct json *op, const struct json *one,
	const struct json *other)
{
	static const char *const turned_names[] = { "<", "<=", ">", ">=" };
	size_t which = (op->key.ptr[0] == '>' ? 0u : 2u) + (op->key.len == 2 ? 1u : 0u);
	struct flagd_operand field, value;
	bool turned;

	if (!read_pair(f, at, one, other, &field, &value, &turned))
		return CLAUSE_NEVER;
	return orders(f, at, turned_names[turned ? which : which ^ 2u], field.field, value.value);
}

static const struct json *
convert_order(struct flagd *f, const struct place *at, const struct json *op)
{
	const struct json *arguments[ARGUMENTS] = { 0 }, *clause;
	size_t n = flagd_arguments(op, arguments, ARGUMENTS);

	if (!has_arguments(f, at, n, 2, 3))
		return CLAUSE_NEVER;
	clause = order_pair(f, at, op, arguments[0], arguments[1]);
	return n == 2 ? clause : clause_and(f->c, clause, order_pair(f, at, op, arguments[1], arguments[2]));
}

/* --- texts and lists --- */

static const struct json *
in_list(struct flagd *f, const struct place *at, str field, const struct json *list)
{
	struct list entries = list_begin(f->c->a, JSON_ARRAY);
	const struct json *clause;
	bool has_null = false;

	JSON_EACH (entry, list) {
		if (entry->type == JSON_OBJECT || entry->type == JSON_ARRAY) {
			converter_refuse(f->c, at, "has something in its list that is no constant");
			return CLAUSE_NEVER;
		}
		has_null |= entry->type == JSON_NULL;
		if (entry->type != JSON_NULL)
			list_add(&entries, (str){ 0 }, json_share(f->c->a, entry));
	}
	clause = clause_leaf(f->c, field, "$in", entries.json);
	return has_null ? clause_or(f->c, clause, clause_exists(f->c, field, false)) : clause;
}

static const struct json *
convert_in(struct flagd *f, const struct place *at, const struct json *op)
{
	const struct json *arguments[ARGUMENTS];
	struct flagd_operand field, value;
	bool turned;

	if (!has_arguments(f, at, flagd_arguments(op, arguments, ARGUMENTS), 2, 2) ||
		!read_pair(f, at, arguments[0], arguments[1], &field, &value, &turned))
		return CLAUSE_NEVER;
	if (!turned && value.value->type == JSON_ARRAY)
		return in_list(f, at, field.field, value.value);
	if (turned && value.value->type == JSON_STRING && value.value->text.len)
		return clause_leaf(f->c, field.field, "$contains", json_share(f->c->a, value.value));
	converter_refuse(f->c, at, "can only look for a field in a list, or for a text in a field");
	return CLAUSE_NEVER;
}

static const struct json *
convert_affix(struct flagd *f, const struct place *at, const struct json *op)
{
	const struct json *arguments[ARGUMENTS];
	struct flagd_operand field, value;
	bool turned;

	if (!has_arguments(f, at, flagd_arguments(op, arguments, ARGUMENTS), 2, 2) ||
		!read_pair(f, at, arguments[0], arguments[1], &field, &value, &turned))
		return CLAUSE_NEVER;
	if (turned || value.value->type != JSON_STRING) {
		converter_refuse(f->c, at, "must compare a field with a text");
		return CLAUSE_NEVER;
	}
	if (!value.value->text.len) /* every text begins, and ends, with nothing */
		return clause_leaf(f->c, field.field, "$matches", json_new_string(f->c->a, STR("(?s).*")));
	return clause_leaf(f->c, field.field, op->key.ptr[0] == 's' ? "$startsWith" : "$endsWith",
		json_share(f->c->a, value.value));
}

/* --- versions --- */

/* flagd takes v1.2 for 1.2.0. The text is what our operators take. */
static bool
whole_version(struct arena *a, str text, str *out)
{
	struct semver probe;
	str whole = text.len && (text.ptr[0] == 'v' || text.ptr[0] == 'V') ? str_skip(text, 1) : text;

	for (int tries = 0; tries < 3; tries++) {
		if (semver_parse(whole, &probe)) {
			*out = whole;
			return true;
		}
		whole = arena_printf(a, "%.*s.0", STR_ARG(whole));
	}
	return false;
}

static const struct json *
version_leaf(struct flagd *f, str field, const char *op, str version)
{
	return clause_leaf(f->c, field, op, json_new_string(f->c->a, version));
}

/* ^: the same major; ~: the same major and minor. x.y.z-0 is the least of its versions. */
static const struct json *
same_version(struct flagd *f, str field, str version, bool minor)
{
	struct semver v;
	str least, beyond;
	int64_t next;

	if (!semver_parse(version, &v) || v.part[0].len > 15 || v.part[1].len > 15 ||
		!str_to_int(v.part[minor], &next))
		return CLAUSE_NEVER;
	if (minor) {
		least = arena_printf(f->c->a, "%.*s.%.*s.0-0", STR_ARG(v.part[0]), STR_ARG(v.part[1]));
		beyond = arena_printf(f->c->a, "%.*s.%lld.0-0", STR_ARG(v.part[0]), (long long)next + 1);
	} else {
		least = arena_printf(f->c->a, "%.*s.0.0-0", STR_ARG(v.part[0]));
		beyond = arena_printf(f->c->a, "%lld.0.0-0", (long long)next + 1);
	}
	return clause_and(f->c, version_leaf(f, field, "$semverGte", least),
		version_leaf(f, field, "$semverLt", beyond));
}

static const struct json *
compare_version(struct flagd *f, const struct place *at, str field, str op, str version)
{
	static const struct {
		const char *theirs, *ours;
	} operators[] = { { "=", "$semverEq" }, { "<", "$semverLt" }, { "<=", "$semverLte" },
		{ ">", "$semverGt" }, { ">=", "$semverGte" } };

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (str_eq(op, str_of(operators[i].theirs)))
			return version_leaf(f, field, operators[i].ours, version);
	if (str_eq(op, STR("!="))) /* a version, and another one */
		return clause_and(f->c, version_leaf(f, field, "$semverGte", STR("0.0.0-0")),
			clause_not(f->c, version_leaf(f, field, "$semverEq", version)));
	if (str_eq(op, STR("^")) || str_eq(op, STR("~")))
		return same_version(f, field, version, op.ptr[0] == '~');
	converter_refuse(f->c, at, "is no operator of sem_ver");
	return CLAUSE_NEVER;
}

static const struct json *
convert_version(struct flagd *f, const struct place *at, const struct json *op)
{
	const struct json *arguments[ARGUMENTS];
	struct flagd_operand field, value;
	bool turned;
	str version;

	if (!has_arguments(f, at, flagd_arguments(op, arguments, ARGUMENTS), 3, 3) ||
		!read_pair(f, at, arguments[0], arguments[2], &field, &value, &turned))
		return CLAUSE_NEVER;
	if (turned || value.value->type != JSON_STRING || arguments[1]->type != JSON_STRING ||
		!whole_version(f->c->a, value.value->text, &version)) {
		converter_refuse(f->c, at, "must compare a field with a version such as 1.2.3");
		return CLAUSE_NEVER;
	}
	converter_note(f->c, at,
		"takes only whole versions here, such as 1.2.3; v1.2.3 and 1.2 in a context are none");
	return compare_version(f, AT_INDEX(at, 1), field.field, arguments[1]->text, version);
}

/* --- joining --- */

static const struct json *
convert_joined(struct flagd *f, const struct place *at, const struct json *op)
{
	bool all = op->key.ptr[0] == 'a';
	const struct json *clause = all ? CLAUSE_ALWAYS : CLAUSE_NEVER;
	size_t i = 0;

	if (op->type != JSON_ARRAY)
		return flagd_condition(f, at, op);
	if (!op->count)
		return CLAUSE_NEVER; /* null */
	JSON_EACH (part, op) {
		const struct json *next = flagd_condition(f, AT_INDEX(at, i++), part);

		clause = all ? clause_and(f->c, clause, next) : clause_or(f->c, clause, next);
		if (f->c->refused)
			break;
	}
	return clause;
}

static const struct json *
convert_not(struct flagd *f, const struct place *at, const struct json *op)
{
	const struct json *arguments[1], *clause;

	if (!has_arguments(f, at, flagd_arguments(op, arguments, 1), 1, 1))
		return CLAUSE_NEVER;
	clause = flagd_condition(f, op->type == JSON_ARRAY ? AT_INDEX(at, 0) : at, arguments[0]);
	return op->key.len == 2 ? clause : clause_not(f->c, clause); /* !! and ! */
}

/* c ? a : b is (c and a) or (not c and b) */
static const struct json *
choose(struct flagd *f, const struct place *at, const struct json *from, size_t i)
{
	const struct json *when, *then;

	if (!from)
		return CLAUSE_NEVER;
	when = flagd_condition(f, AT_INDEX(at, i), from);
	if (!from->next || f->c->refused)
		return when;
	then = flagd_condition(f, AT_INDEX(at, i + 1), from->next);
	return clause_or(f->c, clause_and(f->c, when, then),
		clause_and(f->c, clause_not(f->c, when), choose(f, at, from->next->next, i + 2)));
}

static const struct json *
convert_if(struct flagd *f, const struct place *at, const struct json *op)
{
	if (op->type == JSON_ARRAY && op->count <= FLAGD_DEPTH)
		return choose(f, at, op->child, 0);
	converter_refuse(f->c, at, "must be a list of at most %u parts", FLAGD_DEPTH);
	return CLAUSE_NEVER;
}

/* Something is there, and it is none of what counts as false. */
static const struct json *
convert_field(struct flagd *f, const struct place *at, const struct json *op)
{
	struct flagd_operand field;
	struct json *empty;

	if (!read_field(f, at, op, &field))
		return CLAUSE_NEVER;
	if (!field.is_field)
		return CLAUSE_ALWAYS; /* the flag's key */
	empty = pair(f->c, json_new_bool(f->c->a, false), json_new_int(f->c->a, 0));
	json_add_item(empty, json_new_string(f->c->a, STR("")));
	return clause_and(f->c, clause_exists(f->c, field.field, true),
		clause_leaf(f->c, field.field, "$notIn", empty));
}

/* --- the table --- */

static const struct {
	const char *name;
	const struct json *(*convert)(struct flagd *f, const struct place *at, const struct json *op);
	bool boolean; /* true or false, whatever the context has */
} operators[] = {
	{ "==", convert_equals, true },
	{ "===", convert_equals, true },
	{ "!=", convert_equals, true },
	{ "!==", convert_equals, true },
	{ "<", convert_order, true },
	{ "<=", convert_order, true },
	{ ">", convert_order, true },
	{ ">=", convert_order, true },
	{ "in", convert_in, true },
	{ "!", convert_not, true },
	{ "!!", convert_not, true },
	{ "and", convert_joined, false },
	{ "or", convert_joined, false },
	{ "if", convert_if, false },
	{ "?:", convert_if, false },
	{ "var", convert_field, false },
	{ "starts_with", convert_affix, false },
	{ "ends_with", convert_affix, false },
	{ "sem_ver", convert_version, false },
};
#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static size_t
find(str name)
{
	size_t i = 0;

	while (i < OPERATORS && !str_eq(name, str_of(operators[i].name)))
		i++;
	return i;
}

static const struct json *
constant(const struct json *value)
{
	bool is_true = value->type == JSON_BOOL	    ? value->truth
		       : value->type == JSON_STRING ? value->text.len > 0
		       : value->type == JSON_NUMBER ? json_to_double(value) < 0 || json_to_double(value) > 0
						    : value->count > 0;

	return is_true ? CLAUSE_ALWAYS : CLAUSE_NEVER;
}

const struct json *
flagd_condition(struct flagd *f, const struct place *at, const struct json *logic)
{
	const struct json *op = flagd_operator(f, at, &logic), *clause = CLAUSE_NEVER;
	size_t i;

	if (f->c->refused)
		return clause;
	if (!op && logic->type == JSON_OBJECT)
		converter_refuse(f->c, at, "is not an operator and its arguments");
	if (!op)
		return constant(logic);
	i = find(op->key);
	if (i == OPERATORS)
		converter_refuse(
			f->c, AT_KEY(at, op->key), "is an operator that cannot be expressed in a condition");
	else if (f->depth >= FLAGD_DEPTH)
		converter_refuse(f->c, at, "is nested too deep");
	if (f->c->refused)
		return clause;
	f->depth++;
	clause = operators[i].convert(f, AT_KEY(at, op->key), op);
	f->depth--;
	return clause;
}

bool
flagd_is_boolean(struct flagd *f, const struct place *at, const struct json *logic)
{
	const struct json *op = flagd_operator(f, at, &logic);
	size_t i;

	if (!op)
		return logic->type == JSON_BOOL;
	if (!str_eq(op->key, STR("and")) && !str_eq(op->key, STR("or"))) {
		i = find(op->key);
		return i < OPERATORS && operators[i].boolean;
	}
	if (op->type != JSON_ARRAY || !op->count || ++f->depth > FLAGD_DEPTH)
		return false;
	JSON_EACH (part, op)
		if (!flagd_is_boolean(f, at, part))
			return false;
	f->depth--;
	return true;
}
