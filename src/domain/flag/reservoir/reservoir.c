/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/reservoir/impl.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "core/event.h"
#include "db/db.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "domain/flag/reservoir/reservoir.sql.h" /* SQL_RESERVOIR_*, generated from reservoir.sql */

#define NOISE	 256u		   /* draws between two calls of the kernel */
#define AGE_EACH INT64_C(10000000) /* how often old ones are deleted */

/* What the evaluating threads know of an environment that samples. */
struct watched {
	struct sampling setting;
	unsigned char key[KEYS_KEY];
	struct json *keep; /* an array of names, or NULL: all */
	int64_t last;	   /* the writer's own: slots beyond it are not kept */
	bool touched;
};

struct sample {
	char *environment_id, *text; /* on the heap, both one piece */
	size_t text_len;
	int64_t taken_at;
};

struct reservoir {
	struct ctx base;
	struct event_hub *bell;	  /* rings when it is time to end */
	atomic_bool stop, active; /* active: some environment samples */
	atomic_int surveys;
	pthread_t thread;

	pthread_mutex_t lock; /* of all below; offers only try it */
	struct arena settings_arena, scratch;
	struct watched *watched; /* sorted by environment */
	size_t watched_count;
	bool stale;	  /* somebody changed a setting: nothing is sampled by the old ones */
	uint64_t changes; /* how often somebody did */
	struct sample ring[LIMIT_SAMPLE_RING];
	size_t count;
	uint32_t noise[NOISE];
	size_t noise_left;

	int64_t aged_us; /* the thread's own */
};

/* --- offering --- */

static struct watched *
find(const struct reservoir *r, str environment_id)
{
	for (size_t lo = 0, hi = r->watched_count; lo < hi;) {
		size_t middle = (lo + hi) / 2;
		int order = str_cmp(environment_id, r->watched[middle].setting.environment_id);

		if (order == 0)
			return &r->watched[middle];
		if (order < 0)
			hi = middle;
		else
			lo = middle + 1;
	}
	return NULL;
}

/* Is it drawn? */
static bool
draw(struct reservoir *r, int64_t percent)
{
	if (!r->noise_left) {
		random_bytes(r->noise, sizeof(r->noise));
		r->noise_left = NOISE;
	}
	return r->noise[--r->noise_left] % 100 < (uint64_t)percent;
}

static bool
is_kept(const struct watched *w, str name)
{
	str target = w->setting.target_field, first, rest;

	if (!w->keep || str_eq(name, target))
		return true;
	if (str_cut(target, '.', &first, &rest) && str_eq(name, first))
		return true;
	JSON_EACH (field, w->keep)
		if (str_eq(field->text, name))
			return true;
	return false;
}

/* The fields that are to be kept, as text. False: too large. */
static bool
write_down(struct reservoir *r, const struct watched *w, const struct json *context, str *out)
{
	struct json_out o;
	struct buf b;

	arena_reset(&r->scratch);
	buf_init(&b, &r->scratch, LIMIT_SAMPLE_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	JSON_EACH (member, context) {
		if (!is_kept(w, member->key))
			continue;
		json_out_key(&o, member->key);
		json_out_value(&o, NULL, member);
	}
	json_out_end(&o);
	return buf_finish(&b, out) == OK;
}

static void
put(struct reservoir *r, str environment_id, str text)
{
	char *bytes = malloc(environment_id.len + 1 + text.len);

	CHECK(bytes != NULL);
	memcpy(bytes, environment_id.ptr, environment_id.len);
	bytes[environment_id.len] = '\0';
	memcpy(bytes + environment_id.len + 1, text.ptr, text.len);
	r->ring[r->count++] = (struct sample){ .environment_id = bytes,
		.text = bytes + environment_id.len + 1,
		.text_len = text.len,
		.taken_at = clock_now_us() };
}

void
reservoir_offer(struct reservoir *r, str environment_id, const struct json *context)
{
	const struct watched *w;
	str text;

	if (!r || !atomic_load_explicit(&r->active, memory_order_relaxed) || context->type != JSON_OBJECT)
		return;
	if (pthread_mutex_trylock(&r->lock) != 0)
		return;
	w = r->stale || r->count == LIMIT_SAMPLE_RING ? NULL : find(r, environment_id);
	if (w && draw(r, w->setting.percent) && write_down(r, w, context, &text))
		put(r, environment_id, text);
	CHECK(pthread_mutex_unlock(&r->lock) == 0);
}

static void
drop(struct sample *s)
{
	sodium_memzero(s->text, s->text_len);
	free(s->environment_id);
}

void
reservoir_forget(struct reservoir *r, str environment_id)
{
	size_t kept = 0;

	if (!r)
		return;
	CHECK(pthread_mutex_lock(&r->lock) == 0);
	r->stale = true;
	r->changes++;
	for (size_t i = 0; i < r->count; i++) {
		if (str_eq(environment_id, str_of(r->ring[i].environment_id)))
			drop(&r->ring[i]);
		else
			r->ring[kept++] = r->ring[i];
	}
	r->count = kept;
	CHECK(pthread_mutex_unlock(&r->lock) == 0);
	event_publish(r->bell, &(struct event){ .type = STR("changed") });
}

bool
reservoir_survey_begin(struct reservoir *r)
{
	if (!r || atomic_fetch_add(&r->surveys, 1) < LIMIT_SURVEYS)
		return true;
	atomic_fetch_sub(&r->surveys, 1);
	return false;
}

void
reservoir_survey_end(struct reservoir *r)
{
	if (r)
		atomic_fetch_sub(&r->surveys, 1);
}

/* --- the settings --- */

struct settings {
	struct sampling *rows;
	size_t count;
};

static status
read_settings(struct ctx *cx, void *arg)
{
	struct settings *s = arg;

	return db_all(cx, SQL_RESERVOIR_SETTINGS, sampling_row, sizeof(*s->rows), &s->rows, &s->count,
		INT(LIMIT_SAMPLED));
}

static int
by_environment(const void *a, const void *b)
{
	const struct watched *x = a, *y = b;

	return str_cmp(x->setting.environment_id, y->setting.environment_id);
}

/* One setting into memory that lives on. False: its key does not open; it is logged, and does not sample. */
static bool
take(struct ctx *cx, struct arena *a, const struct sampling *row, struct watched *out)
{
	struct ctx own = *cx;
	struct json *keep;
	struct watched w = { .setting = { .org_id = arena_str(a, row->org_id),
				     .environment_id = arena_str(a, row->environment_id),
				     .percent = row->percent,
				     .keep_fields = arena_str(a, row->keep_fields),
				     .wrapped = arena_str(a, row->wrapped),
				     .target_field = arena_str(a, row->target_field) } };

	own.arena = a;
	if (sampling_unwrap(cx, row, w.key) != OK || json_parse(&own, w.setting.keep_fields, &keep) != OK) {
		LOG(LOG_WARN, "reservoir.not_sampled", LOG_STR("environment", row->environment_id));
		ctx_clear(cx);
		return false;
	}
	w.keep = keep->type == JSON_ARRAY ? keep : NULL;
	*out = w;
	return true;
}

static status
load(struct reservoir *r, struct ctx *cx)
{
	struct settings s = { 0 };
	struct watched *all;
	size_t count = 0;
	uint64_t changes;
	struct arena a;

	CHECK(pthread_mutex_lock(&r->lock) == 0);
	changes = r->changes;
	CHECK(pthread_mutex_unlock(&r->lock) == 0);
	TRY(db_read(cx, read_settings, &s));
	arena_init(&a, LIMIT_REQUEST_ARENA);
	all = arena_alloc(&a, (s.count + 1) * sizeof(*all));
	for (size_t i = 0; i < s.count; i++)
		count += take(cx, &a, &s.rows[i], &all[count]);
	if (count)
		qsort(all, count, sizeof(*all), by_environment);
	CHECK(pthread_mutex_lock(&r->lock) == 0);
	arena_done(&r->settings_arena);
	r->settings_arena = a;
	r->watched = all;
	r->watched_count = count;
	r->stale = r->changes != changes; /* somebody has changed one since it was read */
	atomic_store(&r->active, count > 0);
	CHECK(pthread_mutex_unlock(&r->lock) == 0);
	return OK;
}

/* --- writing: by the thread alone, so what it has found stays where it is --- */

struct batch {
	struct reservoir *r;
	struct sample *samples;
	size_t count;
};

static status
write_one(struct ctx *cx, const struct watched *w, const struct sample *s)
{
	const struct sampling *of = &w->setting;
	str text = { s->text, s->text_len }, who, target, body;
	struct json *context;
	int64_t slot;

	if (json_parse(cx, text, &context) != OK) { /* it was read once; one sample is no loss */
		ctx_clear(cx);
		return OK;
	}
	who = sampling_who(cx->arena, context, of->target_field);
	target = sampling_target(cx, of->org_id, of->environment_id, who, &slot);
	if (slot > w->last)
		return OK; /* as many as may be have smaller ones */
	TRY(keys_box(
		cx, w->key, text, sampling_about(cx->arena, of->org_id, of->environment_id, slot), &body));
	return db_run(cx, SQL_RESERVOIR_PUT, TEXT(of->org_id), TEXT(of->environment_id), INT(slot),
		TEXT(target), INT(s->taken_at), BLOB(body), BLOB(of->wrapped));
}

struct last_row {
	int64_t slot;
};
static const struct field last_row[] = { FIELD_INT(struct last_row, slot), FIELD_END };

/* The last slot that may be kept: any, while there is room. */
static status
find_last(struct ctx *cx, struct watched *w)
{
	struct last_row last = { .slot = INT64_MAX };
	status s = db_one(cx, SQL_RESERVOIR_LAST, last_row, &last, TEXT(w->setting.org_id),
		TEXT(w->setting.environment_id), INT(LIMIT_RESERVOIR - 1));

	if (s != E_NOT_FOUND)
		TRY(s);
	ctx_clear(cx);
	w->last = last.slot;
	return OK;
}

static status /* in the same transaction: never more than may be */
trim(struct ctx *cx, struct watched *w)
{
	TRY(find_last(cx, w));
	return db_run(cx, SQL_RESERVOIR_TRIM, TEXT(w->setting.org_id), TEXT(w->setting.environment_id),
		INT(w->last));
}

static status
write_batch(struct ctx *cx, void *arg)
{
	struct batch *b = arg;

	for (size_t i = 0; i < b->r->watched_count; i++)
		b->r->watched[i].touched = false;
	for (size_t i = 0; i < b->count; i++) {
		struct watched *w = find(b->r, str_of(b->samples[i].environment_id));

		if (!w)
			continue;
		if (!w->touched)
			TRY(find_last(cx, w));
		w->touched = true;
		TRY(write_one(cx, w, &b->samples[i]));
	}
	for (size_t i = 0; i < b->r->watched_count; i++)
		if (b->r->watched[i].touched)
			TRY(trim(cx, &b->r->watched[i]));
	return OK;
}

static size_t
take_all(struct reservoir *r, struct sample *out)
{
	size_t count;

	CHECK(pthread_mutex_lock(&r->lock) == 0);
	count = r->count;
	memcpy(out, r->ring, count * sizeof(*out));
	r->count = 0;
	CHECK(pthread_mutex_unlock(&r->lock) == 0);
	return count;
}

static status
write_all(struct reservoir *r, struct ctx *cx)
{
	struct sample *samples = arena_alloc(cx->arena, LIMIT_SAMPLE_RING * sizeof(*samples));
	size_t count = take_all(r, samples);
	status s = OK;

	for (size_t at = 0; at < count && s == OK; at += LIMIT_SAMPLE_BATCH) {
		size_t left = count - at;
		struct batch b = { r, samples + at, left < LIMIT_SAMPLE_BATCH ? left : LIMIT_SAMPLE_BATCH };

		s = tx_run(cx, write_batch, &b);
	}
	for (size_t i = 0; i < count; i++)
		drop(&samples[i]);
	return s;
}

static status
age(struct ctx *cx, void *arg)
{
	struct reservoir *r = arg;
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	for (size_t i = 0; i < r->watched_count; i++)
		TRY(db_run(cx, SQL_RESERVOIR_AGE, TEXT(r->watched[i].setting.org_id),
			TEXT(r->watched[i].setting.environment_id), INT(now_us - LIMIT_SAMPLE_AGE_US)));
	return OK;
}

status
reservoir_flush(struct reservoir *r, struct ctx *cx)
{
	TRY(load(r, cx));
	if (!r->watched_count)
		return OK;
	TRY(write_all(r, cx));
	if (clock_mono_us() < r->aged_us)
		return OK;
	r->aged_us = clock_mono_us() + AGE_EACH;
	return tx_run(cx, age, r);
}

/* --- the thread --- */

static void
work(struct reservoir *r, struct arena *a)
{
	struct ctx cx = r->base;
	status s;

	cx.arena = a;
	s = reservoir_flush(r, &cx);
	if (s != OK)
		LOG(LOG_WARN, "reservoir.not_written", LOG_STR("why", ctx_message(&cx, s)));
	arena_reset(a);
}

static void *
run(void *arg)
{
	struct reservoir *r = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&r->stop)) {
		uint64_t seen = event_count(r->bell);

		work(r, &a);
		event_wait(r->bell, seen, LIMIT_SAMPLE_US);
	}
	arena_done(&a);
	return NULL;
}

struct reservoir *
reservoir_new(const struct ctx *base)
{
	struct reservoir *r = calloc(1, sizeof(*r));

	CHECK(r != NULL);
	r->base = *base;
	r->bell = event_hub_new(0);
	CHECK(pthread_mutex_init(&r->lock, NULL) == 0);
	arena_init(&r->settings_arena, LIMIT_REQUEST_ARENA);
	arena_init(&r->scratch, LIMIT_REQUEST_ARENA);
	CHECK(pthread_create(&r->thread, NULL, run, r) == 0);
	return r;
}

void
reservoir_free(struct reservoir *r)
{
	if (!r)
		return;
	atomic_store(&r->stop, true);
	event_publish(r->bell, &(struct event){ .type = STR("stop") });
	CHECK(pthread_join(r->thread, NULL) == 0);
	for (size_t i = 0; i < r->count; i++)
		drop(&r->ring[i]);
	event_hub_free(r->bell);
	arena_done(&r->settings_arena);
	arena_done(&r->scratch);
	CHECK(pthread_mutex_destroy(&r->lock) == 0);
	free(r);
}
