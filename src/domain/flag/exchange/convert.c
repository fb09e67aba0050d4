/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/exchange/convert.h"

#include "base/meter/meter.h"
#include "domain/flag/ruleset.h"
#include "json/pointer.h"

#define SENTENCE 500u /* bytes of a remark */
#define PASSES	 64   /* how often the result is compiled, each time without what was wrong in it */

struct list
list_begin(struct arena *a, enum json_type type)
{
	struct list l = { type == JSON_ARRAY ? json_new_array(a) : json_new_object(a), NULL };

	l.tail = &l.json->child;
	return l;
}

void
list_add(struct list *l, str key, struct json *value)
{
	value->key = key;
	*l->tail = value;
	l->tail = &value->next;
	l->json->count++;
}

/* --- remarks --- */

void
converter_init(struct converter *c, struct ctx *cx, str target_field)
{
	*c = (struct converter){ .cx = cx, .a = cx->arena, .target_field = target_field };
	c->last = &c->first;
	c->kept_last = c->kept_before = &c->kept;
}

status
converter_begin(struct converter *c, str item)
{
	if (c->a->used > c->a->cap)
		return fail(c->cx, E_TOO_LARGE, "the file is too large to be converted");
	c->item = item;
	c->kept_before = c->kept_last;
	c->refused = false;
	c->conditions = 0;
	return OK;
}

static void
write_place(struct buf *b, const struct place *at)
{
	if (!at)
		return;
	write_place(b, at->up);
	if (at->keyed)
		pointer_add_key(b, at->key);
	else
		buf_printf(b, "/%zu", at->index);
}

static str
path_of(struct converter *c, const struct place *at)
{
	struct buf b;

	buf_init(&b, c->a, LIMIT_ERROR_MESSAGE);
	write_place(&b, at);
	return buf_str(&b);
}

static void
add_remark(struct converter *c, str path, str message, bool refused)
{
	struct exchange_remark *r = ARENA_NEW(c->a, struct exchange_remark);

	*r = (struct exchange_remark){ c->item, path, message, refused, NULL };
	*c->last = r;
	c->last = &r->next;
	c->notes += !refused;
	c->refusals += refused;
}

/* Names of theirs stand in it: it is cut where it gets too long to be read. */
static str
cut(str text)
{
	if (text.len > SENTENCE)
		for (text.len = SENTENCE; text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80;)
			text.len--;
	return text;
}

void
converter_note(struct converter *c, const struct place *at, const char *format, ...)
{
	va_list args;

	if (c->quiet)
		return;
	va_start(args, format);
	add_remark(c, path_of(c, at), cut(arena_vprintf(c->a, format, args)), false);
	va_end(args);
}

/* One reason is enough: what follows from it would only be noise. What was kept of the item goes with it. */
void
converter_refuse(struct converter *c, const struct place *at, const char *format, ...)
{
	va_list args;

	if (c->refused)
		return;
	va_start(args, format);
	add_remark(c, path_of(c, at), cut(arena_vprintf(c->a, format, args)), true);
	va_end(args);
	c->refused = true;
	*c->kept_before = NULL;
	c->kept_last = c->kept_before;
}

void
converter_unknown(
	struct converter *c, const struct place *at, const struct json *object, const char *const *known)
{
	JSON_EACH (m, object) {
		size_t i = 0;

		while (known[i] && !str_eq(m->key, str_of(known[i])))
			i++;
		if (!known[i])
			converter_note(c, AT_KEY(at, m->key), "has no place here and is left out");
	}
}

/* --- what is kept --- */

void
converter_keep(struct converter *c, enum section section, str key, const struct place *at, struct json *json)
{
	struct kept *k;

	if (c->refused)
		return;
	k = ARENA_NEW(c->a, struct kept);
	*k = (struct kept){ section, key, c->item, path_of(c, at), json, false, NULL };
	*c->kept_last = k;
	c->kept_last = &k->next;
}

struct json *
converter_item(struct converter *c, const char *type, const struct json *fallback, str description,
	struct list *rules)
{
	struct json *item = json_new_object(c->a);

	json_add_member(item, STR("type"), json_new_string(c->a, str_of(type)));
	json_add_member(item, STR("defaultValue"), json_share(c->a, fallback));
	if (description.len)
		json_add_member(item, STR("description"), json_new_string(c->a, description));
	json_add_member(item, STR("rules"), rules->json);
	return item;
}

void
converter_rule(struct converter *c, struct list *rules, const struct json *when, const struct json *value,
	str description)
{
	struct json *rule;

	if (when == CLAUSE_NEVER)
		return;
	rule = json_new_object(c->a);
	if (when != CLAUSE_ALWAYS)
		json_add_member(rule, STR("if"), json_share(c->a, when));
	if (value)
		json_add_member(rule, STR("value"), json_share(c->a, value));
	if (description.len)
		json_add_member(rule, STR("description"), json_new_string(c->a, description));
	list_add(rules, (str){ 0 }, rule);
}

/* --- the whole --- */

static const char *const section_names[] = { "flags", "configs", "segments" };

static struct json *
assemble(struct converter *c)
{
	struct json *doc = json_new_object(c->a);
	struct list sections[SECTIONS];

	json_add_member(doc, STR("targetField"), json_new_string(c->a, c->target_field));
	for (size_t i = 0; i < SECTIONS; i++) {
		sections[i] = list_begin(c->a, JSON_OBJECT);
		json_add_member(doc, str_of(section_names[i]), sections[i].json);
	}
	for (struct kept *k = c->kept; k; k = k->next)
		if (!k->dropped)
			list_add(&sections[k->section], k->key, json_share(c->a, k->json));
	return doc;
}

/* Is the issue's path /SECTION/KEY, or below it? */
static bool
is_about(struct arena *a, const struct kept *k, str path)
{
	str root = pointer_key(a, pointer_key(a, (str){ 0 }, str_of(section_names[k->section])), k->key);

	return str_starts(path, root) && (path.len == root.len || path.ptr[root.len] == '/');
}

/* Leaves out what an issue is about, with all that has the same owner. False where it is about nothing of
 * ours. */
static bool
drop(struct converter *c, const struct issue *issue)
{
	struct arena_mark mark = arena_mark(c->a);
	struct kept *found = c->kept;

	while (found && (found->dropped || !is_about(c->a, found, issue->path)))
		found = found->next;
	arena_rewind(c->a, mark);
	if (!found)
		return false;
	c->item = found->owner;
	add_remark(c, found->path,
		arena_printf(
			c->a, "would become %.*s, which %.*s", STR_ARG(issue->path), STR_ARG(issue->message)),
		true);
	for (struct kept *k = c->kept; k; k = k->next)
		k->dropped |= str_eq(k->owner, found->owner);
	return true;
}

#define ROUND_STEPS 2 /* of a value: what has many faults is compiled many times */

static uint64_t
count_values(const struct json *v)
{
	uint64_t n = 1;

	JSON_EACH (child, v)
		n += count_values(child);
	return n;
}

/* Compiles, and leaves out what cannot stay. *out_done: there was nothing to leave out. */
static status
check(struct converter *c, const struct json *doc, bool *out_done)
{
	struct ruleset *rs = NULL;
	status s = ruleset_compile(c->cx, doc, &rs);
	struct error error = c->cx->error;
	bool dropped = false;

	ruleset_free(rs);
	TRY(meter_spend(c->cx, ROUND_STEPS * count_values(doc)));
	*out_done = s == OK;
	if (s != E_INVALID)
		return s;
	for (size_t i = 0; i < error.issue_count; i++)
		dropped |= drop(c, &error.issues[i]);
	if (!dropped)
		return s;
	ctx_clear(c->cx);
	return OK;
}

status
converter_finish(struct converter *c, struct exchange *out)
{
	bool done = false;
	struct json *doc = NULL;

	for (int pass = 0; pass < PASSES && !done; pass++) {
		TRY(converter_begin(c, (str){ 0 }));
		doc = assemble(c);
		TRY(check(c, doc, &done));
	}
	if (!done)
		return fail(c->cx, E_INVALID, "too much of the file does not fit a ruleset");
	*out = (struct exchange){ doc, c->first, c->notes, c->refusals };
	return OK;
}
