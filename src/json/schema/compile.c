/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/meter/meter.h"
#include "json/pointer.h"
#include "json/schema/impl.h"
#include "json/schema/uri.h"

#include <stdlib.h>

/* --- saying what is wrong --- */

/* The pointer to n in its document; keywords given by a pointer (like.keyword) are written as they are. */
static void
add_path(struct buf *b, const struct node *n)
{
	const struct node *chain[LIMIT_JSON_DEPTH + 1];
	size_t count = 0;

	for (; n && n->parent && count <= LIMIT_JSON_DEPTH; n = n->parent)
		chain[count++] = n;
	while (count--) {
		if (str_find(chain[count]->keyword, '/') < chain[count]->keyword.len) {
			buf_add_char(b, '/');
			buf_add(b, chain[count]->keyword);
		} else {
			pointer_add_key(b, chain[count]->keyword);
		}
		if (chain[count]->name.len)
			pointer_add_key(b, chain[count]->name);
	}
}

status
compile_fail(struct compile *k, const struct node *n, str keyword, const char *format, ...)
{
	struct buf path;
	va_list args;
	str message;

	buf_init(&path, k->cx->arena, LIMIT_ERROR_MESSAGE);
	add_path(&path, n);
	if (keyword.len)
		pointer_add_key(&path, keyword);
	va_start(args, format);
	message = arena_vprintf(k->cx->arena, format, args);
	va_end(args);
	if (message.len > LIMIT_ERROR_MESSAGE)
		message.len = LIMIT_ERROR_MESSAGE;
	fail_issue(k->cx, buf_str(&path), message);
	return fail(k->cx, E_INVALID, "the schema is not valid at \"%.*s\": %.*s", STR_ARG(buf_str(&path)),
		STR_ARG(message));
}

static status
expect(struct compile *k, const struct node *n, const struct json *value, enum json_type type)
{
	static const char *const names[] = { "null", "true or false", "a number", "a string", "an array",
		"an object" };

	return value->type == type ? OK : compile_fail(k, n, value->key, "must be %s", names[type]);
}

/* --- keywords that only have to be well formed --- */

COMPILER(compile_any)
{
	(void)k;
	(void)n;
	(void)value;
	(void)out;
	return OK;
}

COMPILER(compile_string)
{
	(void)out;
	return expect(k, n, value, JSON_STRING);
}

/* uniqueItems: false is no rule at all. */
COMPILER(compile_bool)
{
	TRY(expect(k, n, value, JSON_BOOL));
	if (!value->truth)
		out->keyword = NULL;
	return OK;
}

COMPILER(compile_array)
{
	(void)out;
	return expect(k, n, value, JSON_ARRAY);
}

COMPILER(compile_uri)
{
	struct uri u;

	(void)out;
	TRY(expect(k, n, value, JSON_STRING));
	u = uri_split(value->text);
	if (str_eq(value->key, STR("$id")) && u.fragment.len)
		return compile_fail(k, n, value->key, "must have no fragment; $anchor is for that");
	return OK;
}

COMPILER(compile_anchor)
{
	(void)out;
	TRY(expect(k, n, value, JSON_STRING));
	for (size_t i = 0; i < value->text.len; i++) {
		char c = value->text.ptr[i], lower = (char)(c | 0x20);
		bool letter = (lower >= 'a' && lower <= 'z') || c == '_';
		if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '.')))
			return compile_fail(
				k, n, value->key, "must be a letter or _, then letters, digits, - _ .");
	}
	return value->text.len ? OK : compile_fail(k, n, value->key, "must not be empty");
}

COMPILER(compile_vocabulary)
{
	(void)out;
	TRY(expect(k, n, value, JSON_OBJECT));
	JSON_EACH (v, value)
		if (v->type != JSON_BOOL)
			return compile_fail(k, n, value->key, "must say true or false of each vocabulary");
	return OK;
}

/* --- assertions --- */

static status
read_type(struct compile *k, const struct node *n, const struct json *name, uint32_t *types)
{
	static const struct {
		str name;
		uint32_t bit;
	} known[] = {
		{ { "null", 4 }, 1u << JSON_NULL },
		{ { "boolean", 7 }, 1u << JSON_BOOL },
		{ { "number", 6 }, 1u << JSON_NUMBER },
		{ { "string", 6 }, 1u << JSON_STRING },
		{ { "array", 5 }, 1u << JSON_ARRAY },
		{ { "object", 6 }, 1u << JSON_OBJECT },
		{ { "integer", 7 }, TYPE_INTEGER },
	};

	for (size_t i = 0; name->type == JSON_STRING && i < sizeof(known) / sizeof(known[0]); i++)
		if (str_eq(name->text, known[i].name) && !(*types & known[i].bit)) {
			*types |= known[i].bit;
			return OK;
		}
	return compile_fail(k, n, STR("type"),
		"must be one of null, boolean, integer, number, string, array, object, or a list of them "
		"without "
		"repetition");
}

COMPILER(compile_type)
{
	if (value->type != JSON_ARRAY)
		return read_type(k, n, value, &out->types);
	JSON_EACH (name, value)
		TRY(read_type(k, n, name, &out->types));
	return value->count ? OK : compile_fail(k, n, value->key, "must not be empty");
}

COMPILER(compile_number)
{
	(void)out;
	return expect(k, n, value, JSON_NUMBER);
}

COMPILER(compile_divisor)
{
	static const struct json zero = { .type = JSON_NUMBER, .text = { "0", 1 } };

	(void)out;
	TRY(expect(k, n, value, JSON_NUMBER));
	if (json_number_cmp(value, &zero) <= 0)
		return compile_fail(k, n, value->key, "must be greater than 0");
	if (!exact_can_divide(value))
		return compile_fail(
			k, n, value->key, "has more than %d significant digits", EXACT_DIVISOR_DIGITS);
	return OK;
}

static status
read_count(struct compile *k, const struct node *n, const struct json *value, uint64_t *out_count)
{
	int64_t count = -1;

	if (value->type == JSON_NUMBER && !json_to_int(value, &count) && exact_is_integer(value) &&
		value->text.ptr[0] != '-')
		count = INT64_MAX; /* larger than anything is long */
	if (count < 0)
		return compile_fail(k, n, value->key, "must be a whole number, 0 or more");
	*out_count = (uint64_t)count;
	return OK;
}

COMPILER(compile_count)
{
	return read_count(k, n, value, &out->limit);
}

static status
make_regex(struct compile *k, const struct node *n, str keyword, str pattern, struct regex **out)
{
	struct regex_link *link = arena_try(k->arena, sizeof(*link));
	status s;

	TRY(COMPILE_ROOM(k, link));
	if (++k->patterns > LIMIT_SCHEMA_PATTERNS)
		return fail(
			k->cx, E_TOO_LARGE, "the schema has more than %u patterns", LIMIT_SCHEMA_PATTERNS);
	s = regex_new(k->cx, pattern, REGEX_ECMA, out);
	if (s == E_TOO_LARGE)
		return s;
	if (s != OK)
		return compile_fail(k, n, keyword, "%.*s", STR_ARG(ctx_message(k->cx, s)));
	*link = (struct regex_link){ .regex = *out, .next = k->schema->regexes };
	k->schema->regexes = link;
	return OK;
}

COMPILER(compile_pattern)
{
	TRY(expect(k, n, value, JSON_STRING));
	return make_regex(k, n, value->key, value->text, &out->regex);
}

/* An unknown format is an annotation, always. */
COMPILER(compile_format)
{
	TRY(expect(k, n, value, JSON_STRING));
	if ((n->resource->vocabulary & VOCABULARY_FORMAT) || (k->options && k->options->assert_format))
		out->format = format_find(value->text);
	if (!out->format)
		out->keyword = NULL;
	return OK;
}

/* --- applicators --- */

COMPILER(compile_ref)
{
	TRY(expect(k, n, value, JSON_STRING));
	TRY(ref_resolve(k, n, value->key, value->text, &out->node, &out->dynamic));
	if (str_eq(value->key, STR("$ref")))
		out->dynamic = STR("");
	return OK;
}

COMPILER(compile_schema)
{
	(void)k;
	out->node = ref_node(value);
	if (str_starts(value->key, STR("unevaluated")))
		n->unevaluated = true;
	return OK;
}

static status
make_entries(struct compile *k, const struct json *value, struct rule *out)
{
	out->entries = ARENA_TRY_ARRAY(k->arena, struct entry, value->count);
	TRY(COMPILE_ROOM(k, out->entries));
	JSON_EACH (part, value)
		out->entries[out->count++] = (struct entry){ .name = part->key, .node = ref_node(part) };
	return OK;
}

COMPILER(compile_list)
{
	TRY(expect(k, n, value, JSON_ARRAY));
	if (!value->count)
		return compile_fail(k, n, value->key, "must not be empty");
	return make_entries(k, value, out);
}

COMPILER(compile_map)
{
	TRY(expect(k, n, value, JSON_OBJECT));
	return make_entries(k, value, out);
}

COMPILER(compile_patterns)
{
	TRY(compile_map(k, n, value, out));
	for (uint32_t i = 0; i < out->count; i++)
		TRY(make_regex(k, n, value->key, out->entries[i].name, &out->entries[i].regex));
	return OK;
}

COMPILER(compile_contains)
{
	const struct json *min = json_get(n->json, STR("minContains"));
	const struct json *max = json_get(n->json, STR("maxContains"));
	bool counted = n->resource->vocabulary & VOCABULARY_VALIDATION;

	out->node = ref_node(value);
	out->limit = 1;
	out->max = UINT64_MAX;
	if (min && counted)
		TRY(read_count(k, n, min, &out->limit));
	if (max && counted)
		TRY(read_count(k, n, max, &out->max));
	return OK;
}

COMPILER(compile_if)
{
	const struct json *yes = json_get(n->json, STR("then")), *no = json_get(n->json, STR("else"));

	out->node = ref_node(value);
	out->entries = ARENA_TRY_ARRAY(k->arena, struct entry, 2);
	TRY(COMPILE_ROOM(k, out->entries));
	out->count = 2;
	out->entries[0].node = yes ? ref_node(yes) : NULL;
	out->entries[1].node = no ? ref_node(no) : NULL;
	return OK;
}

/* --- members of objects --- */

static int
compare_text(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return str_cmp((*x)->text, (*y)->text);
}

/* An array of strings, each of them once. */
static status
expect_names(struct compile *k, const struct node *n, str keyword, const struct json *list)
{
	const struct json **sorted;
	size_t count = 0;

	if (list->type != JSON_ARRAY)
		return compile_fail(k, n, keyword, "must be an array of names");
	sorted = ARENA_TRY_ARRAY(k->cx->arena, const struct json *, list->count);
	TRY(COMPILE_ROOM(k, sorted));
	JSON_EACH (name, list) {
		if (name->type != JSON_STRING)
			return compile_fail(k, n, keyword, "must be an array of names");
		sorted[count++] = name;
	}
	if (count)
		qsort(sorted, count, sizeof(const struct json *), compare_text);
	for (size_t i = 1; i < count; i++)
		if (str_eq(sorted[i - 1]->text, sorted[i]->text))
			return compile_fail(k, n, keyword, "has a name twice: %.*s",
				STR_ARG(issue_text(sorted[i]->text)));
	return OK;
}

static int
compare_properties(const void *a, const void *b)
{
	const struct property *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

/* The same name from properties and from required becomes one entry. Both have each name once. */
static void
merge_properties(struct node *n)
{
	uint32_t kept = 0;

	qsort(n->properties, n->property_count, sizeof(struct property), compare_properties);
	for (uint32_t i = 0; i < n->property_count; i++) {
		struct property *p = &n->properties[i];
		struct property *last = kept ? &n->properties[kept - 1] : NULL;
		if (last && str_eq(last->name, p->name)) {
			last->node = last->node ? last->node : p->node;
			last->required = last->required ? last->required : p->required;
		} else {
			n->properties[kept++] = *p;
		}
	}
	n->property_count = kept;
}

/*
 * properties and required share one sorted table, so that one walk over an object answers
 * both. The first of the two to be compiled makes the table and the rule.
 */
COMPILER(compile_members)
{
	const struct json *named = json_get(n->json, STR("properties"));
	const struct json *required = json_get(n->json, STR("required"));
	uint32_t count = 0, number = 0;

	(void)value;
	if (n->properties) {
		out->keyword = NULL;
		return OK;
	}
	named = n->resource->vocabulary & VOCABULARY_APPLICATOR ? named : NULL;
	required = n->resource->vocabulary & VOCABULARY_VALIDATION ? required : NULL;
	if (named)
		TRY(expect(k, n, named, JSON_OBJECT));
	if (required)
		TRY(expect_names(k, n, required->key, required));
	n->required_count = required ? required->count : 0;
	n->properties = ARENA_TRY_ARRAY(
		k->arena, struct property, (named ? (size_t)named->count : 0) + n->required_count);
	TRY(COMPILE_ROOM(k, n->properties));
	if (named)
		JSON_EACH (p, named)
			n->properties[count++] = (struct property){ .name = p->key, .node = ref_node(p) };
	if (required)
		JSON_EACH (r, required)
			n->properties[count++] = (struct property){ .name = r->text, .required = ++number };
	n->property_count = count;
	if (count)
		merge_properties(n);
	return OK;
}

/* dependentRequired */
COMPILER(compile_names)
{
	TRY(expect(k, n, value, JSON_OBJECT));
	out->entries = ARENA_TRY_ARRAY(k->arena, struct entry, value->count);
	TRY(COMPILE_ROOM(k, out->entries));
	JSON_EACH (part, value) {
		TRY(expect_names(k, n, value->key, part));
		out->entries[out->count++] = (struct entry){ .name = part->key, .names = part };
	}
	return OK;
}

/* dependencies, from before 2020-12: names or a schema for each */
COMPILER(compile_dependencies)
{
	TRY(expect(k, n, value, JSON_OBJECT));
	TRY(make_entries(k, value, out));
	for (uint32_t i = 0; i < out->count; i++)
		if (!out->entries[i].node) {
			const struct json *names = json_get(value, out->entries[i].name);
			TRY(expect_names(k, n, value->key, names));
			out->entries[i].names = names;
		}
	return OK;
}

/* --- nodes --- */

static int
compare_rules(const void *a, const void *b)
{
	const struct rule *x = a, *y = b;

	return x->keyword < y->keyword ? -1 : x->keyword > y->keyword;
}

status
compile_node(struct compile *k, struct node *n)
{
	size_t checks = 0;

	TRY(meter_spend(k->cx, NODE_STEPS));
	if (n->kind != NODE_RULES)
		return OK;
	TRY(meter_spend(k->cx, KEYWORD_STEPS * (uint64_t)n->json->count));
	JSON_EACH (member, n->json) {
		const struct keyword *word = keyword_find(member->key);
		checks += word && word->check;
	}
	n->rules = ARENA_TRY_ARRAY(k->arena, struct rule, checks);
	TRY(COMPILE_ROOM(k, n->rules));
	JSON_EACH (member, n->json) {
		const struct keyword *word = keyword_find(member->key);
		struct rule r = { .keyword = word, .value = member };
		if (!word || !(word->vocabulary & n->resource->vocabulary))
			continue;
		TRY(word->compile(k, n, member, &r));
		if (r.keyword && r.keyword->check)
			n->rules[n->rule_count++] = r;
	}
	if (n->rule_count)
		qsort(n->rules, n->rule_count, sizeof(struct rule), compare_rules);
	for (uint32_t i = 0; i < n->rule_count; i++)
		if (n->rules[i].keyword->check == check_patterns)
			n->patterns = &n->rules[i];
	return OK;
}

/* --- the whole --- */

/*
 * A schema that leads back to itself on the same value would be applied for ever. $dynamicRef
 * is not known until it is used; the depth limit of checking stands for it.
 */
static status
refuse_loops(struct compile *k, struct node *n, uint32_t depth)
{
	if (n->visited == 1)
		return compile_fail(k, n, STR(""), "leads back to itself without going into the value");
	if (n->visited == 2)
		return OK;
	if (depth > LIMIT_SCHEMA_DEPTH)
		return compile_fail(
			k, n, STR(""), "stands behind more than %u references in a row", LIMIT_SCHEMA_DEPTH);
	n->visited = 1;
	for (uint32_t i = 0; i < n->rule_count; i++) {
		const struct rule *r = &n->rules[i];
		if (!r->keyword->here)
			continue;
		if (r->node)
			TRY(refuse_loops(k, r->node, depth + 1));
		for (uint32_t j = 0; j < r->count; j++)
			if (r->entries[j].node)
				TRY(refuse_loops(k, r->entries[j].node, depth + 1));
	}
	n->visited = 2;
	return OK;
}

status
compile_document(struct compile *k, const struct json *doc, str uri, struct node **out_root)
{
	struct node *root;

	k->last = &k->first;
	TRY(ref_load(k, doc, uri, &root));
	/* Compiling a reference may load a document: its nodes are put at the end, and their turn comes. */
	for (struct node *n = k->first; n; n = n->next)
		TRY(compile_node(k, n));
	for (struct node *n = k->first; n; n = n->next)
		TRY(refuse_loops(k, n, 0));
	*out_root = root;
	return OK;
}
