/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/meter/meter.h"
#include "json/schema/impl.h"

void
check_stop(struct check *c)
{
	c->stopped = true;
}

bool
check_charge(struct check *c, uint64_t n)
{
	if (!meter_charge(c->cx, n))
		c->stopped = true;
	return !c->stopped;
}

bool
check_charge_regex(struct check *c, const struct regex *r, str text)
{
	return check_charge(c, regex_steps(r, text.len));
}

/* --- what has been evaluated --- */

static void
seen_init(struct check *c, struct seen *s, const struct json *value)
{
	*s = (struct seen){ .words = ((size_t)value->count + 63) / 64 };
	s->bits = &s->one;
	if (s->words <= 1)
		return;
	s->bits = check_charge(c, s->words) ? ARENA_TRY_ARRAY(&c->scratch, uint64_t, s->words) : NULL;
	if (!s->bits) {
		s->words = 0;
		check_stop(c);
	}
}

void
seen_mark(struct seen *s, size_t index)
{
	if (s && index / 64 < s->words)
		s->bits[index / 64] |= (uint64_t)1 << index % 64;
}

void
seen_mark_first(struct seen *s, size_t count)
{
	for (size_t i = 0; s && i < count && i / 64 < s->words; i++)
		seen_mark(s, i);
}

bool
seen_has(const struct seen *s, size_t index)
{
	return index / 64 < s->words && s->bits[index / 64] >> index % 64 & 1;
}

static void
seen_merge(struct seen *into, const struct seen *from)
{
	for (size_t i = 0; i < into->words && i < from->words; i++)
		into->bits[i] |= from->bits[i];
}

/* --- frames --- */

static bool
run_rules(struct check *c, struct frame *f)
{
	const struct node *n = f->node;
	unsigned type = 1u << f->value->type;
	bool valid = true;

	for (uint32_t i = 0; i < n->rule_count && !c->stopped; i++) {
		const struct rule *r = &n->rules[i];
		if (!(r->keyword->types & type))
			continue;
		if (!check_charge(c, 1))
			return false;
		if (!r->keyword->check(c, f, r)) {
			valid = false;
			if (!c->issues)
				return false;
		}
	}
	return valid && !c->stopped;
}

#define FRAME_STEPS 3 /* a schema that is applied to a value */

bool
check_frame(struct check *c, struct frame *f)
{
	struct seen own;

	if (!check_charge(c, FRAME_STEPS))
		return false;
	if (f->node->kind == NODE_TRUE)
		return true;
	if (f->node->kind == NODE_FALSE) {
		issue_add(c, f, ISSUE_OTHER, "is not allowed");
		return false;
	}
	if (f->depth > LIMIT_SCHEMA_NESTING || f->here > LIMIT_SCHEMA_DEPTH) {
		check_stop(c);
		return false;
	}
	if (f->node->unevaluated && !f->seen) {
		struct arena_mark before = arena_mark(&c->scratch);
		bool valid;
		seen_init(c, &own, f->value);
		f->seen = &own;
		valid = run_rules(c, f);
		f->seen = NULL;
		arena_rewind(&c->scratch, before);
		return valid;
	}
	return run_rules(c, f);
}

bool
check_here(struct check *c, struct frame *f, const struct node *n)
{
	struct frame inner = {
		.up = f, .node = n, .value = f->value, .depth = f->depth + 1, .here = f->here + 1
	};
	struct arena_mark before;
	struct seen seen;
	bool valid;

	if (!f->seen)
		return check_frame(c, &inner);
	/* What a subschema evaluates counts only where it is valid, and is its own until then. */
	before = arena_mark(&c->scratch);
	seen_init(c, &seen, f->value);
	inner.seen = &seen;
	valid = check_frame(c, &inner);
	if (valid)
		seen_merge(f->seen, &seen);
	arena_rewind(&c->scratch, before);
	return valid;
}

bool
check_child(struct check *c, struct frame *f, const struct node *n, const struct json *child, size_t index)
{
	struct frame inner = { .up = f, .node = n, .value = child, .index = index, .depth = f->depth + 1 };

	inner.step = f->value->type == JSON_OBJECT ? STEP_MEMBER : STEP_ITEM;
	return check_frame(c, &inner);
}

bool
check_quietly(struct check *c, struct frame *f, const struct node *n)
{
	struct found_list *issues = c->issues;
	bool valid;

	c->issues = NULL;
	valid = check_here(c, f, n);
	c->issues = issues;
	return valid;
}
