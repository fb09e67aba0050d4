/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "json/schema/impl.h"

#include <inttypes.h>

#define NAME_STEPS 5 /* to look a name up among the properties */

/* --- references --- */

/* The outermost resource of the dynamic scope that has the $dynamicAnchor. */
static const struct node *
find_dynamic(struct check *c, const struct frame *f, const struct rule *r)
{
	const struct node *found = r->node;
	const struct resource *last = NULL;

	for (; f && check_charge(c, 1); f = f->up) {
		const struct anchor *a;
		if (f->node->resource == last)
			continue;
		last = f->node->resource;
		a = last->anchors ? ref_anchor(last, r->dynamic) : NULL;
		if (a && a->dynamic)
			found = a->node;
	}
	return found;
}

CHECKER(check_ref)
{
	return check_here(c, f, r->dynamic.len ? find_dynamic(c, f, r) : r->node);
}

/* --- arrays --- */

CHECKER(check_prefix)
{
	bool valid = true;
	uint32_t i = 0;

	JSON_EACH (item, f->value) {
		if (i == r->count || c->stopped)
			break;
		valid = check_child(c, f, r->entries[i].node, item, i) && valid;
		if (!valid && !c->issues)
			return false;
		i++;
	}
	seen_mark_first(f->seen, i);
	return valid;
}

/* How many items prefixItems of the same schema speaks of. */
static size_t
prefix_of(const struct node *n)
{
	for (uint32_t i = 0; i < n->rule_count; i++)
		if (n->rules[i].keyword->check == check_prefix)
			return n->rules[i].count;
	return 0;
}

CHECKER(check_items)
{
	size_t prefix = prefix_of(f->node), i = 0;
	bool valid = true;

	JSON_EACH (item, f->value) {
		if (c->stopped)
			return false;
		if (i >= prefix)
			valid = check_child(c, f, r->node, item, i) && valid;
		if (!valid && !c->issues)
			return false;
		i++;
	}
	seen_mark_first(f->seen, f->value->count);
	return valid;
}

static void
report_matches(struct check *c, struct frame *f, const struct rule *r, uint64_t matches)
{
	if (matches < r->limit && r->limit == 1)
		issue_add(c, f, ISSUE_OTHER, "must contain an item of the form that is asked for");
	else if (matches < r->limit)
		issue_add(c, f, ISSUE_OTHER,
			"must contain at least %" PRIu64
			" items of the form that is asked for (there are %" PRIu64 ")",
			r->limit, matches);
	else if (matches > r->max)
		issue_add(c, f, ISSUE_OTHER,
			"must contain at most %" PRIu64
			" items of the form that is asked for (there are %" PRIu64 ")",
			r->max, matches);
}

CHECKER(check_contains)
{
	struct found_list *issues = c->issues;
	uint64_t matches = 0;
	size_t i = 0;

	c->issues = NULL;
	JSON_EACH (item, f->value) {
		if (check_child(c, f, r->node, item, i)) {
			matches++;
			seen_mark(f->seen, i);
		}
		if (!f->seen && matches >= r->limit && matches > 0 && r->max == UINT64_MAX)
			break;
		i++;
	}
	c->issues = issues;
	report_matches(c, f, r, matches);
	return matches >= r->limit && matches <= r->max;
}

/* --- objects --- */

static const struct property *
find_property(const struct node *n, str name)
{
	size_t low = 0, high = n->property_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(name, n->properties[middle].name);
		if (order == 0)
			return &n->properties[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Which required names were there: a bit each, in words the frame's owner gave. */
static void
report_missing(struct check *c, struct frame *f, const struct seen *there)
{
	for (uint32_t number = 0; c->issues && number < f->node->required_count; number++) {
		if (seen_has(there, number))
			continue;
		if (c->issues->count >= LIMIT_SCHEMA_ISSUES || !check_charge(c, f->node->property_count))
			return;
		for (uint32_t i = 0; i < f->node->property_count; i++)
			if (f->node->properties[i].required == number + 1)
				issue_add_member(c, f, f->node->properties[i].name, "is required");
	}
}

static bool
walk_members(struct check *c, struct frame *f, struct seen *there, uint32_t *out_missing)
{
	bool valid = true;
	size_t i = 0;

	JSON_EACH (member, f->value) {
		const struct property *p = find_property(f->node, member->key);
		if (!check_charge(c, NAME_STEPS + member->key.len / 4))
			return false;
		if (p && p->required && !seen_has(there, p->required - 1)) {
			seen_mark(there, p->required - 1);
			--*out_missing;
		}
		if (p && p->node) {
			valid = check_child(c, f, p->node, member, i) && valid;
			seen_mark(f->seen, i);
		}
		if (!valid && !c->issues)
			return false;
		i++;
	}
	return valid;
}

/* properties and required together. */
CHECKER(check_members)
{
	struct arena_mark before = arena_mark(&c->scratch);
	struct seen there = { .words = ((size_t)f->node->required_count + 63) / 64 };
	uint32_t missing = f->node->required_count;
	bool valid;

	(void)r;
	if (!c->issues && missing > f->value->count)
		return false;
	there.bits = &there.one;
	if (there.words > 1)
		there.bits = ARENA_TRY_ARRAY(&c->scratch, uint64_t, there.words);
	if (!there.bits) {
		check_stop(c);
		return false;
	}
	valid = walk_members(c, f, &there, &missing);
	if (missing)
		report_missing(c, f, &there);
	arena_rewind(&c->scratch, before);
	return valid && !missing;
}

/* Does a pattern of patternProperties speak of the name? */
static bool
matches_pattern(struct check *c, const struct entry *e, str name)
{
	return check_charge_regex(c, e->regex, name) && regex_find(e->regex, name);
}

CHECKER(check_patterns)
{
	bool valid = true;
	size_t i = 0;

	JSON_EACH (member, f->value) {
		for (uint32_t j = 0; j < r->count; j++) {
			if (!matches_pattern(c, &r->entries[j], member->key))
				continue;
			valid = check_child(c, f, r->entries[j].node, member, i) && valid;
			seen_mark(f->seen, i);
		}
		if ((!valid && !c->issues) || c->stopped)
			return false;
		i++;
	}
	return valid;
}

static bool
is_named(struct check *c, const struct node *n, str name)
{
	const struct property *p = find_property(n, name);

	if (!check_charge(c, NAME_STEPS + name.len / 4))
		return false;
	if (p && p->node)
		return true;
	for (uint32_t i = 0; n->patterns && i < n->patterns->count; i++)
		if (matches_pattern(c, &n->patterns->entries[i], name))
			return true;
	return false;
}

static str
list_known(struct check *c, const struct node *n)
{
	str text = STR("");
	size_t shown = 0;

	for (uint32_t i = 0; i < n->property_count; i++) {
		if (!n->properties[i].node)
			continue;
		if (shown++ == 20 || text.len > 300)
			return arena_printf(c->cx->arena, "%.*s, ...", STR_ARG(text));
		text = arena_printf(c->cx->arena, "%.*s%s%.*s", STR_ARG(text), shown > 1 ? ", " : "",
			STR_ARG(issue_text(n->properties[i].name)));
	}
	return text;
}

/* A member that nothing else speaks of. Where it is refused outright, saying what is known helps most. */
static bool
check_rest(struct check *c, struct frame *f, const struct node *n, const struct json *member, size_t index)
{
	str known;

	if (n->kind != NODE_FALSE)
		return check_child(c, f, n, member, index);
	if (!issue_wanted(c))
		return false;
	known = list_known(c, f->node);
	issue_add_member(c, f, member->key, "is not a known property%s%.*s", known.len ? "; known are: " : "",
		STR_ARG(known));
	return false;
}

CHECKER(check_additional)
{
	bool valid = true;
	size_t i = 0;

	JSON_EACH (member, f->value) {
		if (!check_charge(c, 1))
			return false;
		if (!is_named(c, f->node, member->key)) {
			valid = check_rest(c, f, r->node, member, i) && valid;
			seen_mark(f->seen, i);
		}
		if (!valid && !c->issues)
			return false;
		i++;
	}
	return valid;
}

CHECKER(check_names)
{
	struct found_list *issues = c->issues;
	bool valid = true;
	size_t i = 0;

	JSON_EACH (member, f->value) {
		struct json name = { .type = JSON_STRING, .text = member->key, .key = member->key };
		bool good;
		c->issues =
			NULL; /* a sentence about the value would be read as one about the member's value */
		good = check_child(c, f, r->node, &name, i++);
		c->issues = issues;
		if (!good)
			issue_add_member(c, f, member->key, "is a name that is not allowed here");
		valid = good && valid;
		if ((!valid && !c->issues) || c->stopped)
			return false;
	}
	return valid;
}

static bool
has_member(struct check *c, const struct json *object, str name)
{
	return check_charge(c, object->count + 1u) && json_get(object, name);
}

static bool
has_all(struct check *c, struct frame *f, const struct entry *e)
{
	bool valid = true;

	JSON_EACH (name, e->names) {
		if (has_member(c, f->value, name->text))
			continue;
		issue_add_member(c, f, name->text, "is required because \"%.*s\" is there",
			STR_ARG(issue_text(e->name)));
		valid = false;
	}
	return valid;
}

CHECKER(check_dependent_names)
{
	bool valid = true;

	for (uint32_t i = 0; i < r->count && !c->stopped; i++)
		if (has_member(c, f->value, r->entries[i].name))
			valid = has_all(c, f, &r->entries[i]) && valid;
	return valid;
}

/* dependentSchemas, and the older dependencies */
CHECKER(check_dependent)
{
	bool valid = true;

	for (uint32_t i = 0; i < r->count && !c->stopped; i++) {
		if (!has_member(c, f->value, r->entries[i].name))
			continue;
		valid = (r->entries[i].node ? check_here(c, f, r->entries[i].node)
					    : has_all(c, f, &r->entries[i])) &&
			valid;
	}
	return valid;
}

/* --- combinations --- */

CHECKER(check_all)
{
	bool valid = true;

	for (uint32_t i = 0; i < r->count && !c->stopped; i++) {
		valid = check_here(c, f, r->entries[i].node) && valid;
		if (!valid && !c->issues)
			return false;
	}
	return valid;
}

CHECKER(check_any)
{
	bool valid = false;

	for (uint32_t i = 0; i < r->count && !c->stopped; i++) {
		valid = check_quietly(c, f, r->entries[i].node) || valid;
		if (valid && !f->seen)
			return true;
	}
	if (!valid && c->issues)
		issue_add_closest(c, f, r);
	return valid;
}

CHECKER(check_one)
{
	uint32_t matches = 0, first = 0;

	for (uint32_t i = 0; i < r->count && !c->stopped; i++) {
		if (!check_quietly(c, f, r->entries[i].node))
			continue;
		if (++matches == 1) {
			first = i;
			continue;
		}
		issue_add(c, f, ISSUE_OTHER,
			"must have one of the allowed forms only; it has the %u. and the %u.", first + 1,
			i + 1);
		return false;
	}
	if (!matches && c->issues)
		issue_add_closest(c, f, r);
	return matches == 1;
}

CHECKER(check_not)
{
	struct seen *seen = f->seen;
	bool valid;

	f->seen = NULL; /* a schema that must fail evaluates nothing */
	valid = !check_quietly(c, f, r->node);
	f->seen = seen;
	if (!valid)
		issue_add(c, f, ISSUE_OTHER, "has a form that is not allowed");
	return valid;
}

CHECKER(check_if)
{
	const struct node *next = r->entries[check_quietly(c, f, r->node) ? 0 : 1].node;

	return !next || check_here(c, f, next);
}

/* --- what nothing else has spoken of --- */

CHECKER(check_unevaluated_items)
{
	bool valid = true;
	size_t i = 0;

	JSON_EACH (item, f->value) {
		if (!check_charge(c, 1))
			return false;
		if (!seen_has(f->seen, i))
			valid = check_child(c, f, r->node, item, i) && valid;
		if (!valid && !c->issues)
			return false;
		i++;
	}
	seen_mark_first(f->seen, f->value->count);
	return valid;
}

CHECKER(check_unevaluated_members)
{
	bool valid = true;
	size_t i = 0;

	JSON_EACH (member, f->value) {
		if (!check_charge(c, 1))
			return false;
		if (!seen_has(f->seen, i))
			valid = check_rest(c, f, r->node, member, i) && valid;
		if (!valid && !c->issues)
			return false;
		i++;
	}
	seen_mark_first(f->seen, f->value->count);
	return valid;
}
