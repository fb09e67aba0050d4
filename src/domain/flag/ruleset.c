/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"

#include <stdlib.h>

static int
by_text(const void *a, const void *b)
{
	return str_cmp(*(const str *)a, *(const str *)b);
}

/* Is its value to be checked against its schema? */
static bool
is_fresh(const struct compiler *c, str key)
{
	return c->all_fresh ||
	       (c->fresh_count && bsearch(&key, c->fresh, c->fresh_count, sizeof(str), by_text));
}

static status
compile_items(struct compiler *c, const struct at *at, const struct json *items, bool is_config)
{
	struct ruleset *rs = c->rs;
	uint32_t place;
	bool is_new;

	if (!items)
		return OK;
	JSON_EACH (json, items) {
		const struct at *here = AT_MEMBER(at, json->key);

		if (c->issues >= COMPILER_ENOUGH)
			return OK;
		TRY(compiler_key(c, here, &rs->item_keys, json->key, &place, &is_new));
		if (!is_new) {
			/* keys of one object differ, so it is the other object's */
			if (key_valid(json->key))
				compiler_issue(c, here, "is a flag and a config; the two share their names");
			continue;
		}
		rs->items[place] = (struct item){ .is_config = is_config };
		rs->items[place].key = rs->item_keys.values[place].text;
		c->is_fresh = is_fresh(c, json->key);
		TRY(item_compile(c, here, json, &rs->items[place]));
	}
	return OK;
}

/* Room for everything that the document says how many there are of. */
static status
make_room(struct compiler *c, const struct member *flags, const struct member *configs,
	const struct member *segments)
{
	struct ruleset *rs = c->rs;
	size_t items = (flags->found ? flags->found->count : 0) +
		       (size_t)(configs->found ? configs->found->count : 0);
	size_t segs = segments->found ? segments->found->count : 0;

	if (items > LIMIT_RULESET_ITEMS)
		compiler_issue(c, NULL, "has more than %u flags and configs", LIMIT_RULESET_ITEMS);
	if (segs > LIMIT_RULESET_SEGMENTS)
		compiler_issue(c, NULL, "has more than %u segments", LIMIT_RULESET_SEGMENTS);
	if (c->issues)
		return OK;
	TRY(compiler_take(c, items, sizeof(*rs->items), &rs->items));
	TRY(compiler_take(c, segs, sizeof(*rs->segments), &rs->segments));
	TRY(compiler_take(c, LIMIT_RULESET_PATTERNS, sizeof(const struct regex *), &rs->regexes));
	TRY(set_reserve(&rs->item_keys, (uint32_t)items));
	return set_reserve(&rs->segment_keys, (uint32_t)segs);
}

static status
list_paths(struct compiler *c)
{
	struct ruleset *rs = c->rs;

	TRY(compiler_take(c, rs->fields.count, sizeof(*rs->paths), &rs->paths));
	for (uint32_t i = 0; i < rs->fields.count; i++)
		if (str_find(rs->fields.values[i].text, '.') < rs->fields.values[i].text.len)
			rs->paths[rs->path_count++] = i;
	return OK;
}

static status
compile(struct compiler *c, const struct json *doc)
{
	enum { TARGET, FLAGS, CONFIGS, SEGMENTS, COUNT };
	struct member members[COUNT] = {
		[TARGET] = { MEMBER("targetField"), JSON_STRING },
		[FLAGS] = { MEMBER("flags"), JSON_OBJECT },
		[CONFIGS] = { MEMBER("configs"), JSON_OBJECT },
		[SEGMENTS] = { MEMBER("segments"), JSON_OBJECT },
	};
	str target = STR("userId");

	if (!compiler_members(c, NULL, doc, members, COUNT))
		return OK;
	TRY(make_room(c, &members[FLAGS], &members[CONFIGS], &members[SEGMENTS]));
	if (members[TARGET].found)
		target = members[TARGET].found->text;
	TRY(compiler_field(c, AT_NAME(NULL, "targetField"), target, &c->rs->target));
	if (c->issues)
		return OK;
	TRY(segments_compile(c, AT_NAME(NULL, "segments"), members[SEGMENTS].found));
	TRY(compile_items(c, AT_NAME(NULL, "flags"), members[FLAGS].found, false));
	TRY(compile_items(c, AT_NAME(NULL, "configs"), members[CONFIGS].found, true));
	return list_paths(c);
}

static struct ruleset *
new_ruleset(void)
{
	struct arena arena;
	struct ruleset *rs;
	struct set empty = { 0 };

	arena_init(&arena, LIMIT_RULESET_BYTES);
	rs = ARENA_NEW(&arena, struct ruleset);
	rs->arena = arena;
	empty.arena = &rs->arena;
	random_bytes(&empty.seed, sizeof(empty.seed));
	rs->item_keys = rs->segment_keys = rs->fields = rs->patterns = empty;
	return rs;
}

static status
make(struct compiler c, const struct json *doc, struct ruleset **out_rs)
{
	struct ctx *cx = c.cx;
	status done;

	ctx_clear(cx);
	c.rs = new_ruleset();
	buf_init(&c.scratch, cx->arena, LIMIT_FLAG_VALUE);
	done = compile(&c, doc);
	if (done == OK && !c.issues) {
		ruleset_weigh(c.rs);
		*out_rs = c.rs;
		return OK;
	}
	ruleset_free(c.rs);
	if (done != OK)
		return fail(cx, done, "the ruleset takes more than %zu bytes", (size_t)LIMIT_RULESET_BYTES);
	CHECK(cx->error.issue_count > 0);
	return fail(cx, E_INVALID, "the ruleset is not valid: %.*s %.*s", STR_ARG(cx->error.issues[0].path),
		STR_ARG(cx->error.issues[0].message));
}

status
ruleset_compile(struct ctx *cx, const struct json *doc, struct ruleset **out_rs)
{
	return make((struct compiler){ .cx = cx, .all_fresh = true }, doc, out_rs);
}

status
ruleset_compile_changed(
	struct ctx *cx, const struct json *doc, const str *changed, size_t count, struct ruleset **out_rs)
{
	str *sorted = arena_try_array(cx->arena, count + 1, sizeof(*sorted));

	if (!sorted)
		return fail(cx, E_TOO_LARGE, "these are too many changes at once");
	if (count)
		memcpy(sorted, changed, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_text);
	return make((struct compiler){ .cx = cx, .fresh = sorted, .fresh_count = count }, doc, out_rs);
}

status
ruleset_compile_stored(struct ctx *cx, const struct json *doc, struct ruleset **out_rs)
{
	return make((struct compiler){ .cx = cx }, doc, out_rs);
}

void
ruleset_free(struct ruleset *rs)
{
	struct arena arena;

	if (!rs)
		return;
	for (struct pattern *p = rs->compiled; p; p = p->next)
		regex_free(p->regex);
	arena = rs->arena; /* the ruleset is in it */
	arena_done(&arena);
}

const struct item *
ruleset_find(const struct ruleset *rs, str key)
{
	struct scalar name;
	uint32_t place;

	scalar_set_text(&name, key);
	place = set_find(&rs->item_keys, &name);
	return place == SET_NONE ? NULL : &rs->items[place];
}

size_t
ruleset_count(const struct ruleset *rs)
{
	return rs->item_keys.count;
}

const struct item *
ruleset_at(const struct ruleset *rs, size_t index)
{
	CHECK(index < rs->item_keys.count);
	return &rs->items[index];
}

size_t
ruleset_bytes(const struct ruleset *rs)
{
	return rs->arena.used;
}
