/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

#include "base/check.h"
#include "base/limits.h"

static status
compile_targets(struct compiler *c, const struct at *at, const struct json *list, struct set *out)
{
	uint32_t place;
	size_t i = 0;
	char digits[24];
	str text;

	if (!list)
		return OK;
	if (list->count > LIMIT_FLAG_LIST) {
		compiler_issue(c, at, "has more than %u entries", LIMIT_FLAG_LIST);
		return OK;
	}
	TRY(set_reserve(out, list->count));
	JSON_EACH (entry, list) {
		const struct at *here = AT_ITEM(at, i++);

		if (!target_text(entry, digits, &text))
			compiler_issue(c, here, "must be the id of a target: a text, or an integer");
		else if (compiler_text(c, here, text, LIMIT_FLAG_TEXT))
			TRY(set_add(out, scalar_text(text), &place));
	}
	return OK;
}

static status
compile_segment(struct compiler *c, const struct at *at, const struct json *json, struct segment *seg)
{
	enum { RULES, ALLOW, DENY, DESCRIPTION, COUNT };
	struct member members[COUNT] = {
		[RULES] = { MEMBER("rules"), JSON_ARRAY },
		[ALLOW] = { MEMBER("allowList"), JSON_ARRAY },
		[DENY] = { MEMBER("denyList"), JSON_ARRAY },
		[DESCRIPTION] = { MEMBER("description"), JSON_STRING },
	};

	seg->allow = seg->deny = (struct set){ .arena = &c->rs->arena, .seed = c->rs->item_keys.seed };
	(void)compiler_members(c, at, json, members, COUNT);
	compiler_description(c, at, members[DESCRIPTION].found);
	TRY(compile_targets(c, AT_NAME(at, "allowList"), members[ALLOW].found, &seg->allow));
	TRY(compile_targets(c, AT_NAME(at, "denyList"), members[DENY].found, &seg->deny));
	return rules_compile(
		c, AT_NAME(at, "rules"), NULL, NULL, members[RULES].found, &seg->rules, &seg->rule_count);
}

/* All keys first: segments may refer to later ones. */
static status
compile_all(struct compiler *c, const struct at *at, const struct json *segments)
{
	struct ruleset *rs = c->rs;
	uint32_t place = 0;
	bool is_new;

	if (!segments)
		return OK;
	JSON_EACH (json, segments)
		TRY(compiler_key(c, AT_MEMBER(at, json->key), &rs->segment_keys, json->key, &place, &is_new));
	if (c->issues)
		return OK;
	place = 0;
	JSON_EACH (json, segments) {
		if (c->issues >= COMPILER_ENOUGH)
			return OK;
		rs->segments[place].key = rs->segment_keys.values[place].text;
		TRY(compile_segment(c, AT_MEMBER(at, json->key), json, &rs->segments[place]));
		place++;
	}
	return OK;
}

/* The segments from the one we began with to where we are. */
struct way {
	const struct way *up;
	const struct segment *segment;
	uint32_t depth;
};

static void
add_circle(struct buf *b, const struct way *way, const struct segment *begin)
{
	CHECK(way); /* begin is on it */
	if (way->segment != begin)
		add_circle(b, way->up, begin);
	buf_printf(b, "%.*s -> ", STR_ARG(way->segment->key));
}

static void
complain_circle(struct compiler *c, const struct at *at, const struct way *way, const struct segment *begin)
{
	struct buf circle;

	buf_init(&circle, c->cx->arena, LIMIT_ERROR_MESSAGE);
	add_circle(&circle, way, begin);
	buf_add(&circle, begin->key);
	compiler_issue(c, at, "the segments go round in a circle: %.*s", STR_ARG(buf_str(&circle)));
}

static void visit(struct compiler *c, const struct way *up, struct segment *seg);

static void
visit_condition(struct compiler *c, const struct way *way, const struct condition *cond, uint32_t *depth)
{
	struct segment *other;

	if (cond->kind == CONDITION_SEGMENT) {
		other = &c->rs->segments[cond->as.segment];
		visit(c, way, other);
		*depth = other->depth > *depth ? other->depth : *depth;
	} else if (cond->kind > CONDITION_SEGMENT) {
		for (uint32_t i = 0; i < cond->count; i++)
			visit_condition(c, way, &cond->as.children[i], depth);
	}
}

/* Walks to every segment that seg leads to; a circle, or too long a way, is an issue and ends the walk. */
static void
visit(struct compiler *c, const struct way *up, struct segment *seg)
{
	const struct at *at = AT_MEMBER(AT_NAME(NULL, "segments"), seg->key);
	struct way way = { up, seg, up ? up->depth + 1 : 1 };
	uint32_t below = 0;

	if (c->issues || seg->visited == 2)
		return;
	if (seg->visited == 1) {
		complain_circle(c, at, up, seg);
		return;
	}
	seg->visited = 1;
	for (uint32_t i = 0; i < seg->rule_count && way.depth <= LIMIT_SEGMENT_DEPTH; i++)
		visit_condition(c, &way, &seg->rules[i].condition, &below);
	seg->visited = 2;
	seg->depth = below + 1;
	if (!c->issues && (way.depth > LIMIT_SEGMENT_DEPTH || seg->depth > LIMIT_SEGMENT_DEPTH))
		compiler_issue(
			c, at, "is in a chain of more than %u segments in segments", LIMIT_SEGMENT_DEPTH);
}

status
segments_compile(struct compiler *c, const struct at *at, const struct json *segments)
{
	TRY(compile_all(c, at, segments));
	for (uint32_t i = 0; i < c->rs->segment_keys.count; i++)
		visit(c, NULL, &c->rs->segments[i]);
	return OK;
}
