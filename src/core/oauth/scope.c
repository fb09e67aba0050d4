/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/scope.h"

#include "base/buf.h"
#include "base/limits.h"

static bool
is_among(const str *items, size_t count, str one)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(items[i], one))
			return true;
	return false;
}

static bool
is_grantable(str rule)
{
	enum verb verb;

	return rule_valid(rule) && rule_verb(rule, &verb) && verb != VERB_APPROVE;
}

struct reading {
	str *items;
	size_t count;
	enum level level;
};

static void
raise_level(struct reading *r, enum level l)
{
	if (l > r->level)
		r->level = l;
}

static status
add(struct ctx *cx, struct reading *r, str word)
{
	if (str_eq(word, STR("read"))) {
		raise_level(r, LEVEL_OBSERVER);
	} else if (str_eq(word, STR("propose"))) {
		raise_level(r, LEVEL_PROPOSER);
	} else if (!is_grantable(word)) {
		if (!str_eq(word, STR("offline_access"))) /* every consent can be refreshed */
			return fail(cx, E_INVALID,
				"a scope is read, propose or an access rule such as flag.flag.read, and "
				"never gives approve");
	} else if (!is_among(r->items, r->count, word)) {
		if (r->count == LIMIT_OAUTH_SCOPES)
			return fail(cx, E_INVALID, "at most %u scopes", LIMIT_OAUTH_SCOPES);
		r->items[r->count++] = word;
	}
	return OK;
}

status
scope_read(struct ctx *cx, str text, struct rules *out)
{
	struct reading r = { .items = arena_alloc(cx->arena, LIMIT_OAUTH_SCOPES * sizeof(str)) };
	str rest = str_trim(text), word;

	if (text.len > LIMIT_OAUTH_SCOPE_TEXT)
		return fail(cx, E_INVALID, "the scope is longer than %u bytes", LIMIT_OAUTH_SCOPE_TEXT);
	while (rest.len) {
		if (!str_cut(rest, ' ', &word, &rest)) {
			word = rest;
			rest = (str){ 0 };
		}
		if (word.len)
			TRY(add(cx, &r, word));
	}
	if (!r.count && r.level == LEVEL_NONE)
		return scope_read(cx, STR(SCOPE_DEFAULT), out);
	*out = (struct rules){ .level = r.level, .items = r.items, .count = r.count };
	return OK;
}

str
scope_text(struct arena *a, const struct rules *r)
{
	struct buf b;

	buf_init(&b, a, LIMIT_HTTP_BODY);
	if (r->level >= LEVEL_OBSERVER)
		buf_add(&b, STR("read"));
	if (r->level >= LEVEL_PROPOSER)
		buf_add(&b, STR(" propose"));
	for (size_t i = 0; i < r->count; i++)
		buf_printf(&b, "%s%.*s", b.len ? " " : "", STR_ARG(r->items[i]));
	return buf_str(&b);
}

void
scope_keep(struct arena *a, const struct caller *person, struct rules *r)
{
	str *kept = arena_alloc(a, (r->count + 1) * sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		if (caller_may(person, r->items[i]))
			kept[n++] = r->items[i];
	r->items = kept;
	r->count = n;
}

bool
scope_holds(const struct rules *granted, const struct rules *asked)
{
	if (asked->level > granted->level)
		return false;
	for (size_t i = 0; i < asked->count; i++)
		if (!is_among(granted->items, granted->count, asked->items[i]))
			return false;
	return true;
}

const char *
scope_verb_words(enum verb v)
{
	static const char *const words[VERBS] = {
		[VERB_READ] = "Read",
		[VERB_PROPOSE] = "Propose changes",
		[VERB_TOGGLE] = "Switch on and off, without asking where policy allows it",
		[VERB_WRITE] = "Change, without asking where policy allows it",
		[VERB_APPROVE] = "Approve",
		[VERB_CREATE] = "Create, without asking where policy allows it",
		[VERB_PROMOTE] = "Promote, without asking where policy allows it",
		[VERB_DELETE] = "Delete, without asking where policy allows it",
		[VERB_MANAGE] = "Do everything but approve",
	};

	return words[v];
}

void
scope_step_up(struct ctx *cx, const struct caller *c, const char *const *needed)
{
	struct rules more = c->rules;
	str *items = arena_alloc(cx->arena, (c->rules.count + LIMIT_OAUTH_SCOPES) * sizeof(*items));
	size_t n = 0;

	if (!c->audience.len)
		return;
	for (; n < c->rules.count; n++)
		items[n] = c->rules.items[n];
	for (size_t i = 0; needed[i]; i++) {
		str rule = str_of(needed[i]);

		if (!is_grantable(rule) || !rules_cover(&c->delegator, rule) ||
			n == c->rules.count + LIMIT_OAUTH_SCOPES)
			return;
		if (!rules_cover(&c->rules, rule))
			items[n++] = rule;
	}
	more.items = items;
	more.count = n;
	cx->step_up = scope_text(cx->arena, &more);
}
