/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history: what a context got over time.
 *
 * The versions that were live between two times, oldest first: each is read, compiled and asked, and its answers
 * are compared with those before. Rulesets come and go in memory of their own; what is kept is what changed.
 */
#include "domain/flag/live/evaluate_ops.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/meter/meter.h"
#include "db/db.h"
#include "domain/flag/live/answers.h"
#include "domain/flag/live/past.h"
#include "domain/flag/live/visit.h"

#include "domain/flag/live/live.sql.h" /* SQL_LIVE_*, generated from live.sql */

/* A version and when it became live. */
struct era {
	int64_t version, at_us;
};
static const struct field era_row[] = {
	FIELD_INT(struct era, version),
	FIELD_INT(struct era, at_us),
	FIELD_END,
};

struct entry {
	struct entry *next;
	const struct era *era;
	str value, reason; /* JSON */
};

/* One flag or config, as long as it was there and after. */
struct track {
	struct track *next, *chain;
	str key;
	bool is_config;
	struct entry *first, *last;
	const struct era *seen; /* the last era that had it */
};

#define CHAINS 1024u

struct history {
	const struct history_in *in;
	const struct asked *asked;
	struct visit visit;
	int64_t since_us, until_us;
	struct era *eras;
	size_t count;
	bool truncated;
	int64_t next_us;
	size_t bytes;
	struct track *tracks, **end; /* in the order in which they were met */
	struct track *chains[CHAINS];
};

/* --- the versions --- */

static status
find_first(struct ctx *cx, const struct history *h, struct era *out)
{
	const struct environment *e = &h->visit.environment;
	int64_t at_us = h->since_us > e->created_at ? h->since_us : e->created_at;

	*out = (struct era){ .at_us = at_us };
	return store_version_at(cx, e, at_us, &out->version);
}

static status
find_eras(struct ctx *cx, struct history *h)
{
	const struct environment *e = &h->visit.environment;
	struct era first, *rest;
	int64_t last;
	size_t count;

	if (h->until_us < e->created_at)
		return OK; /* it was not there yet */
	TRY(find_first(cx, h, &first));
	TRY(store_version_at(cx, e, h->until_us, &last));
	TRY(db_all(cx, SQL_LIVE_VERSIONS_BETWEEN, era_row, sizeof(*rest), &rest, &count,
		TEXT(cx->caller->org_id), TEXT(e->id), INT(first.version), INT(last),
		INT(LIMIT_HISTORY_VERSIONS)));
	h->eras = arena_alloc(cx->arena, (count + 1) * sizeof(*h->eras));
	h->eras[0] = first;
	if (count)
		memcpy(h->eras + 1, rest, count * sizeof(*rest));
	h->count = count + 1;
	return OK;
}

static status
begin(struct ctx *cx, void *arg)
{
	struct history *h = arg;
	int64_t now_us;

	TRY(visit_begin(cx, h->in->id, &h->visit));
	TRY(asked_check(cx, h->asked, cx->caller, h->visit.environment.id));
	TRY(past_check(cx, STR("/since"), h->since_us));
	TRY(tx_now_us(cx, &now_us));
	if (h->until_us > now_us)
		h->until_us = now_us; /* what comes later has not happened */
	return find_eras(cx, h);
}

/* --- the answers of one version --- */

static struct track *
find_track(struct ctx *cx, struct history *h, str key)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	struct track **at, *t;

	for (size_t i = 0; i < key.len; i++)
		hash = (hash ^ (unsigned char)key.ptr[i]) * 16777619u;
	for (at = &h->chains[hash % CHAINS]; *at; at = &(*at)->chain)
		if (str_eq((*at)->key, key))
			return *at;
	t = arena_try(cx->arena, sizeof(*t));
	if (!t)
		return NULL;
	t->key = arena_str(cx->arena, key);
	*at = t;
	*h->end = t;
	h->end = &t->next;
	return t;
}

/* Writes it down where it is not what it was. False: there is no room. */
static bool
note(struct ctx *cx, struct track *t, const struct era *era, str value, str reason)
{
	struct entry *e;
	char *text;

	if (t->last && str_eq(t->last->value, value) && str_eq(t->last->reason, reason))
		return true;
	e = arena_try(cx->arena, sizeof(*e));
	text = arena_try_bytes(cx->arena, value.len + reason.len);
	if (!e || !text)
		return false;
	memcpy(text, value.ptr, value.len);
	memcpy(text + value.len, reason.ptr, reason.len);
	*e = (struct entry){ NULL, era, { text, value.len }, { text + value.len, reason.len } };
	*(t->last ? &t->last->next : &t->first) = e;
	t->last = e;
	return true;
}

static str
reason_of(struct arena *scratch, const struct evaluation *e)
{
	if (e->rule == EVALUATION_DEFAULT)
		return STR("{\"kind\":\"default\"}");
	return arena_printf(scratch, "{\"kind\":\"rule_match\",\"ruleIndex\":%d,\"matchedValue\":%.*s}",
		(int)e->rule, STR_ARG(e->value));
}

static status
ask_item(struct ctx *cx, struct ctx *scratch, struct history *h, const struct era *era, struct subject *s,
	const struct item *item)
{
	struct arena_mark before = arena_mark(scratch->arena);
	struct evaluation e;
	struct track *t;

	t = find_track(cx, h, item->key);
	TRY(ruleset_evaluate(s, item, &e));
	if (!t || !note(cx, t, era, e.value, reason_of(scratch->arena, &e)))
		return fail(cx, E_TOO_LARGE, "the history is too large; ask for fewer keys or less time");
	t->is_config = item->is_config;
	t->seen = era;
	arena_rewind(scratch->arena, before);
	return OK;
}

static status
ask_all(struct ctx *cx, struct ctx *scratch, struct history *h, const struct era *era,
	const struct ruleset *rules)
{
	struct subject *s;
	size_t count;

	TRY(subject_prepare(scratch, rules, h->in->context, &s));
	count = h->asked->all ? ruleset_count(rules) : h->asked->count;
	for (size_t i = 0; i < count; i++) {
		const struct item *item =
			h->asked->all ? ruleset_at(rules, i) : ruleset_find(rules, h->asked->keys[i]);

		if (item && caller_in_scope(&h->visit.caller, h->visit.environment.id, item->key))
			TRY(ask_item(cx, scratch, h, era, s, item));
	}
	for (struct track *t = h->tracks; t; t = t->next)
		if (t->seen != era && !note(cx, t, era, STR("null"), STR("null")))
			return fail(
				cx, E_TOO_LARGE, "the history is too large; ask for fewer keys or less time");
	return OK;
}

/* --- one version after the other --- */

struct version_read {
	const struct environment *environment;
	int64_t version;
	struct json *document;
};

static status
read_version(struct ctx *cx, void *arg)
{
	struct version_read *r = arg;

	return store_document(cx, r->environment, r->version, &r->document);
}

static status
ask_version(struct ctx *cx, struct ctx *scratch, struct history *h, const struct era *era)
{
	struct version_read r = { &h->visit.environment, era->version, NULL };
	struct ruleset *rules;
	status s;

	TRY(visit_read(scratch, &h->visit, read_version, &r));
	TRY(ruleset_compile_stored(scratch, r.document, &rules));
	h->bytes += ruleset_bytes(rules);
	s = ask_all(cx, scratch, h, era, rules);
	ruleset_free(rules);
	return s;
}

static status
ask_versions(struct ctx *cx, struct arena *memory, struct history *h)
{
	for (size_t i = 0; i < h->count; i++) {
		struct ctx scratch = *cx;
		status s;

		if (i >= LIMIT_HISTORY_VERSIONS || h->bytes > LIMIT_HISTORY_BYTES) {
			h->truncated = true;
			h->next_us = h->eras[i].at_us;
			return OK;
		}
		scratch.arena = memory;
		meter_share(&scratch, cx);
		s = ask_version(cx, &scratch, h, &h->eras[i]);
		if (s != OK && scratch.error.code == s &&
			cx->error.code != s) /* it was said in the scratch */
			s = fail(cx, s, "%.*s", STR_ARG(ctx_message(&scratch, s)));
		arena_reset(memory);
		TRY(s);
	}
	return OK;
}

/* --- writing --- */

static void
write_track(struct json_out *o, const struct track *t)
{
	json_out_key(o, t->key);
	json_out_object(o, NULL);
	json_out_str(o, "type", t->is_config ? STR("config") : STR("flag"));
	json_out_array(o, "entries");
	for (const struct entry *e = t->first; e; e = e->next) {
		json_out_object(o, NULL);
		json_out_time(o, "asOf", e->era->at_us);
		json_out_int(o, "version", e->era->version);
		json_out_raw(o, "value", e->value);
		json_out_raw(o, "reason", e->reason);
		json_out_end(o);
	}
	json_out_end(o);
	json_out_end(o);
}

static void
write(struct json_out *o, const struct history *h)
{
	json_out_value(o, "context", h->in->context);
	json_out_time(o, "since", h->since_us);
	json_out_time(o, "until", h->until_us);
	json_out_object(o, "primitives");
	for (const struct track *t = h->tracks; t; t = t->next)
		write_track(o, t);
	json_out_end(o);
	json_out_bool(o, "truncated", h->truncated);
	if (h->truncated)
		json_out_time(o, "next", h->next_us);
}

status
history_run(struct ctx *cx, const void *in, struct json_out *out)
{
	struct history *h = ARENA_NEW(cx->arena, struct history);
	struct asked asked;
	struct arena memory;
	status s;

	h->in = in;
	h->asked = &asked;
	h->end = &h->tracks;
	TRY(answers_check(cx, h->in->context, STR("/context")));
	TRY(asked_read(cx, h->in->keys, &asked));
	TRY(past_parse(cx, STR("/since"), h->in->since, &h->since_us));
	TRY(past_parse(cx, STR("/until"), h->in->until, &h->until_us));
	if (h->since_us > h->until_us)
		return visit_refuse(cx, STR("/until"), STR("must not be before since"));
	TRY(visit_enter(cx, begin, h, &h->visit));
	arena_init(&memory, LIMIT_REQUEST_ARENA);
	s = ask_versions(cx, &memory, h);
	arena_done(&memory);
	if (s == OK)
		write(out, h);
	return s;
}
