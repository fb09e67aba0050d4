/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ident/rule.h"

#include "base/buf.h"
#include "base/limits.h"

static const char *const level_names[] = {
	[LEVEL_NONE] = "none",
	[LEVEL_OBSERVER] = "observer",
	[LEVEL_PROPOSER] = "proposer",
	[LEVEL_OPERATOR] = "operator",
	[LEVEL_MAINTAINER] = "maintainer",
	[LEVEL_ADMIN] = "admin",
};

static const struct {
	const char *name;
	size_t len;	   /* of the name: a list of tools asks a thousand times */
	enum level lowest; /* the lowest level that has the verb */
} verbs[] = {
#define X(n, text, level) [VERB_##n] = { .name = text, .len = sizeof(text) - 1, .lowest = level },
	VERB_TABLE(X)
#undef X
};

/* What no level below admin may touch beyond reading and proposing (ID-4). */
static const char *const guarded[] = { "access.", "policy.", "server.", "audit.subject.", "mcp.upstream.",
	"webhook.connection." };

const char *
level_name(enum level l)
{
	return level_names[l];
}

bool
level_of(str name, enum level *out_level)
{
	for (int l = LEVEL_OBSERVER; l < LEVELS; l++) {
		if (str_eq(name, str_of(level_names[l]))) {
			*out_level = (enum level)l;
			return true;
		}
	}
	return false;
}

const char *
verb_name(enum verb v)
{
	return verbs[v].name;
}

/* Cuts a rule into what stands before its last dot and what stands after. */
static bool
split(str rule, str *out_resource, str *out_verb)
{
	for (size_t i = rule.len; i > 0; i--) {
		if (rule.ptr[i - 1] == '.') {
			*out_resource = (str){ rule.ptr, i - 1 };
			*out_verb = str_skip(rule, i);
			return true;
		}
	}
	return false;
}

bool
verb_of(str name, enum verb *out_verb)
{
	for (int v = 0; v < VERBS; v++) {
		if (str_eq(name, (str){ verbs[v].name, verbs[v].len })) {
			*out_verb = (enum verb)v;
			return true;
		}
	}
	return false;
}

uint32_t
level_verbs(enum level l)
{
	uint32_t bits = 0;

	for (int v = 0; v < VERBS; v++)
		if (l != LEVEL_NONE && verbs[v].lowest <= l)
			bits |= 1u << v;
	return bits;
}

bool
rule_verb(str rule, enum verb *out_verb)
{
	str resource, verb;

	return split(rule, &resource, &verb) && verb_of(verb, out_verb);
}

static bool
is_segment(str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_'))
			return false;
	}
	return s.len > 0;
}

bool
rule_valid(str rule)
{
	enum verb verb;
	str head, tail = rule;
	size_t segments = 1;

	if (str_eq(rule, STR(RULE_ALL)))
		return true;
	if (rule.len > LIMIT_RULE || !rule_verb(rule, &verb))
		return false;
	while (str_cut(tail, '.', &head, &tail)) {
		if (!is_segment(head))
			return false;
		segments++;
	}
	return segments >= 3;
}

bool
rule_guarded(str rule)
{
	for (size_t i = 0; i < sizeof(guarded) / sizeof(guarded[0]); i++)
		if (str_starts(rule, str_of(guarded[i])))
			return true;
	return false;
}

bool
level_covers(enum level l, str rule)
{
	enum verb verb;

	if (l == LEVEL_NONE || !rule_verb(rule, &verb))
		return false;
	if (l == LEVEL_ADMIN)
		return true;
	if (rule_guarded(rule) && verb != VERB_READ && verb != VERB_PROPOSE)
		return false;
	return verbs[verb].lowest <= l;
}

/* Does "x.y.manage" cover the rule: the same resource, or one below it? */
static bool
manages(str item, str rule)
{
	str resource, verb;

	if (!split(item, &resource, &verb) || !str_eq(verb, STR("manage")))
		return false;
	return str_starts(rule, resource) && rule.len > resource.len && rule.ptr[resource.len] == '.';
}

bool
rules_cover(const struct rules *set, str rule)
{
	if (level_covers(set->level, rule))
		return true;
	for (size_t i = 0; i < set->count; i++)
		if (str_eq(set->items[i], rule) || str_eq(set->items[i], STR(RULE_ALL)) ||
			manages(set->items[i], rule))
			return true;
	return false;
}

static bool
holds_everything(const struct rules *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (str_eq(set->items[i], STR(RULE_ALL)))
			return true;
	return set->level == LEVEL_ADMIN;
}

bool
rules_hold(const struct rules *have, const struct rules *want)
{
	if (holds_everything(have))
		return true;
	for (size_t i = 0; i < want->count; i++)
		if (!rules_cover(have, want->items[i]))
			return false;
	return have->level >= want->level;
}

bool
rules_cover_all(struct arena *a, const struct rules *set, const char *const *needed, str *out_missing)
{
	struct buf missing;

	buf_init(&missing, a, LIMIT_ERROR_MESSAGE);
	for (size_t i = 0; needed[i]; i++) {
		if (rules_cover(set, str_of(needed[i])))
			continue;
		if (missing.len)
			buf_add(&missing, STR(", "));
		buf_add(&missing, str_of(needed[i]));
	}
	if (out_missing)
		*out_missing = buf_str(&missing);
	return missing.len == 0;
}
