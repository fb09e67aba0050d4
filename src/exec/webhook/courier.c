/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/courier.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "core/event.h"
#include "db/db.h"
#include "exec/webhook/hook.h"
#include "exec/webhook/post.h"
#include "http/client/many.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "exec/webhook/delivery.sql.h" /* SQL_DELIVERY_*, generated from delivery.sql */

#define FIRST_US INT64_C(30000000)
#define MOST_US	 (INT64_C(8) * 3600 * 1000000)

/* One delivery under way. Its memory is its own: it outlives the round that took it. */
struct parcel {
	struct courier *courier;
	struct arena arena;
	bool busy;
	str org_id, connection_id, event_id;
	int64_t tries, deadline_us; /* clock_mono_us */
	struct http_flight *flight;
};

struct courier {
	struct courier_options options;
	struct event_hub *bell; /* rings when it is time to end */
	atomic_bool stop;
	pthread_t thread;
	struct http_many *many;
	struct parcel parcels[LIMIT_COURIER_FLIGHTS];
	size_t flying;
	int64_t look_us; /* when the next look is, clock_mono_us */
	bool more;	 /* the last look left something, because as much as may be was under way */
};

static void
begin(struct courier *c, struct ctx *cx, struct arena *a)
{
	ctx_init(cx, a);
	cx->db = c->options.db;
	cx->keys = c->options.keys;
}

/* --- what became of one --- */

int64_t
courier_pause_us(int64_t tries)
{
	int64_t us = FIRST_US;

	for (int64_t i = 1; i < tries && us < MOST_US; i++)
		us *= 2;
	return us < MOST_US ? us : MOST_US;
}

struct outcome {
	const struct parcel *parcel;
	int status;
	int64_t retry_after_s;
	str why;
};

static status
record_outcome(struct ctx *cx, void *arg)
{
	const struct outcome *o = arg;
	const struct parcel *p = o->parcel;
	int64_t now, pause = courier_pause_us(p->tries);
	bool dead = p->tries >= LIMIT_COURIER_TRIES || o->status == 410;

	if (o->status >= 200 && o->status < 300)
		return db_run(cx, SQL_DELIVERY_DONE, TEXT(p->org_id), TEXT(p->connection_id),
			TEXT(p->event_id), INT(p->tries));
	if (o->retry_after_s > 0 && o->retry_after_s < MOST_US / SECOND_US &&
		o->retry_after_s * SECOND_US > pause)
		pause = o->retry_after_s * SECOND_US;
	TRY(tx_now_us(cx, &now));
	return db_run(cx, SQL_DELIVERY_AGAIN, TEXT(p->org_id), TEXT(p->connection_id), TEXT(p->event_id),
		INT(p->tries), TEXT(dead ? STR("dead") : STR("waiting")), INT(now + pause), INT(o->status),
		TEXT(o->why));
}

static void
put_down(struct parcel *p, int number, int64_t retry_after_s, str why)
{
	struct outcome o = { p, number, retry_after_s, why };
	struct ctx cx;
	status s;

	begin(p->courier, &cx, &p->arena);
	s = tx_run(&cx, record_outcome, &o);
	if (s != OK) /* its lease ends, and it is told again */
		LOG(LOG_WARN, "delivery.not_recorded", LOG_STR("why", ctx_message(&cx, s)));
	p->busy = false;
	p->courier->flying--;
	if (p->courier->more) /* there is room again: who is quick is not told at the pace of a clock */
		p->courier->look_us = 0;
	arena_done(&p->arena);
}

static bool
take_piece(void *arg, str bytes)
{
	(void)arg;
	(void)bytes;
	return true; /* what they say is not kept */
}

static void
land(void *arg, const struct http_flight *f, status s, str why)
{
	struct parcel *p = arg;
	int number = http_flight_status(f);
	int64_t wait = 0;

	(void)str_to_int(http_flight_header(f, "Retry-After"), &wait);
	p->flight = NULL;
	put_down(p, s == OK ? number : 0, wait,
		s == OK ? arena_printf(&p->arena, "it answered with status %d", number)
			: arena_str(&p->arena, why));
}

static void
end_late(struct courier *c)
{
	int64_t now = clock_mono_us();

	for (size_t i = 0; i < LIMIT_COURIER_FLIGHTS; i++) {
		struct parcel *p = &c->parcels[i];

		if (!p->busy || !p->flight || now < p->deadline_us)
			continue;
		http_many_cancel(c->many, p->flight);
		p->flight = NULL;
		put_down(p, 0, 0, STR("no answer came in time"));
	}
}

/* --- taking them --- */

struct place {
	str org_id, connection_id;
};
static const struct field place_row[] = {
	FIELD_TEXT(struct place, org_id),
	FIELD_TEXT(struct place, connection_id),
	FIELD_END,
};

struct due {
	str event_id, type, subject;
	int64_t happened_at;
	str tool, word, risk, principal_id, transport, effect;
	int64_t tries;
};
static const struct field due_row[] = {
	FIELD_TEXT(struct due, event_id),
	FIELD_TEXT(struct due, type),
	FIELD_TEXT(struct due, subject),
	FIELD_INT(struct due, happened_at),
	FIELD_TEXT(struct due, tool),
	FIELD_TEXT(struct due, word),
	FIELD_TEXT(struct due, risk),
	FIELD_TEXT(struct due, principal_id),
	FIELD_TEXT(struct due, transport),
	FIELD_TEXT(struct due, effect),
	FIELD_INT(struct due, tries),
	FIELD_END,
};

struct places {
	struct place *items;
	size_t count;
};

static status
find_places(struct ctx *cx, void *arg)
{
	struct places *p = arg;
	int64_t now;

	TRY(tx_now_us(cx, &now));
	return db_all(cx, SQL_DELIVERY_PLACES, place_row, sizeof(*p->items), &p->items, &p->count, INT(now),
		INT(2 * LIMIT_COURIER_FLIGHTS));
}

struct taking {
	struct place place;
	size_t room;
	struct hook connection;
	struct hook_secrets secrets;
	struct due *items;
	size_t count;
};

static status
take(struct ctx *cx, void *arg)
{
	struct taking *t = arg;
	int64_t now;

	TRY(tx_now_us(cx, &now));
	TRY(hook_get(cx, t->place.org_id, t->place.connection_id, &t->connection));
	TRY(hook_open(cx, t->place.org_id, &t->connection, &t->secrets));
	return db_all(cx, SQL_DELIVERY_TAKE, due_row, sizeof(*t->items), &t->items, &t->count,
		TEXT(t->place.org_id), TEXT(t->place.connection_id), INT(now),
		INT(now + LIMIT_COURIER_LEASE_US), INT(t->room));
}

static void
write_data(struct json_out *o, const struct due *d)
{
	if (str_eq(d->type, STR("tool.called"))) {
		json_out_str(o, "principalId", d->principal_id);
		json_out_str(o, "transport", d->transport);
		json_out_str(o, "tool", d->tool);
		json_out_str(o, "effect", d->effect);
		json_out_str(o, "status", d->word);
	} else if (str_eq(d->type, STR("approval.decided"))) {
		json_out_str(o, "proposalId", d->subject);
		json_out_str(o, "decision", d->word);
	} else {
		json_out_str(o, "proposalId", d->subject);
		json_out_str(o, "tool", d->tool);
		json_out_str(o, "status", d->word);
		json_out_str(o, "risk", d->risk);
	}
}

static str
print_event(struct arena *a, str org_id, const struct due *d)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, a, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "specversion", STR("1.0"));
	json_out_str(&o, "id", d->event_id);
	json_out_str(&o, "source", arena_printf(a, "urn:countersign:%.*s", STR_ARG(org_id)));
	json_out_str(&o, "type", d->type);
	json_out_str(&o, "subject", d->subject);
	json_out_time(&o, "time", d->happened_at);
	json_out_str(&o, "datacontenttype", STR("application/json"));
	json_out_object(&o, "data");
	write_data(&o, d);
	json_out_end(&o);
	json_out_end(&o);
	return buf_str(&b);
}

static struct parcel *
free_parcel(struct courier *c)
{
	for (size_t i = 0; i < LIMIT_COURIER_FLIGHTS; i++)
		if (!c->parcels[i].busy)
			return &c->parcels[i];
	return NULL;
}

static void
fly(struct courier *c, const struct taking *t, const struct due *d)
{
	static const struct http_flight_calls calls = { take_piece, land };
	struct parcel *p = free_parcel(c);
	struct http_client_request r;
	struct ctx cx;
	status s;

	CHECK(p != NULL); /* no more were taken than there is room */
	*p = (struct parcel){ .courier = c, .busy = true, .tries = d->tries };
	c->flying++;
	arena_init(&p->arena, LIMIT_REQUEST_ARENA);
	begin(c, &cx, &p->arena);
	p->org_id = arena_str(&p->arena, t->place.org_id);
	p->connection_id = arena_str(&p->arena, t->place.connection_id);
	p->event_id = arena_str(&p->arena, d->event_id);
	p->deadline_us = clock_mono_us() + INT64_C(1000) * LIMIT_COURIER_MS;
	post_make(&cx,
		&(struct post){ .connection = &t->connection,
			.secrets = &t->secrets,
			.id = p->event_id,
			.type = "application/cloudevents+json; charset=utf-8",
			.body = print_event(&p->arena, p->org_id, d) },
		&r);
	s = http_many_begin(c->many, &cx, &r, &calls, p, &p->flight);
	if (s != OK)
		put_down(p, 0, 0, ctx_message(&cx, s));
}

static size_t
under_way(const struct courier *c, const struct place *place)
{
	size_t n = 0;

	for (size_t i = 0; i < LIMIT_COURIER_FLIGHTS; i++)
		n += c->parcels[i].busy && str_eq(c->parcels[i].connection_id, place->connection_id);
	return n;
}

static void
serve(struct courier *c, struct ctx *cx, const struct place *place)
{
	size_t here = under_way(c, place), room = LIMIT_COURIER_FLIGHTS - c->flying;
	struct taking t = { .place = *place };
	status s;

	if (here >= LIMIT_COURIER_PER_PLACE || !room) {
		c->more = true;
		return;
	}
	t.room = LIMIT_COURIER_PER_PLACE - here < room ? LIMIT_COURIER_PER_PLACE - here : room;
	s = tx_run(cx, take, &t);
	if (s != OK) {
		LOG(LOG_WARN, "delivery.not_taken", LOG_STR("connection", place->connection_id),
			LOG_STR("why", ctx_message(cx, s)));
		ctx_clear(cx);
	}
	c->more = c->more || (s == OK && t.count == t.room);
	for (size_t i = 0; s == OK && i < t.count; i++)
		fly(c, &t, &t.items[i]);
	hook_close(&t.secrets);
}

static void
round_of(struct courier *c, struct arena *a)
{
	struct places places = { 0 };
	struct ctx cx;
	status s;

	begin(c, &cx, a);
	c->more = false;
	c->look_us = clock_mono_us() + LIMIT_COURIER_US;
	s = db_read(&cx, find_places, &places);
	if (s != OK)
		LOG(LOG_WARN, "delivery.not_found", LOG_STR("why", ctx_message(&cx, s)));
	for (size_t i = 0; s == OK && i < places.count; i++)
		serve(c, &cx, &places.items[i]);
	arena_reset(a);
}

/* --- the thread --- */

static void *
run(void *arg)
{
	struct courier *c = arg;
	struct arena a;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	while (!atomic_load(&c->stop)) {
		if (clock_mono_us() >= c->look_us)
			round_of(c, &a);
		if (c->flying)
			(void)http_many_poll(c->many, -1, 100);
		else
			event_wait(c->bell, 0, LIMIT_COURIER_US);
		end_late(c);
	}
	arena_done(&a);
	return NULL;
}

struct courier *
courier_start(const struct courier_options *o)
{
	struct courier *c = calloc(1, sizeof(*c));

	CHECK(c != NULL);
	c->options = *o;
	c->bell = event_hub_new(0);
	c->many = http_many_new();
	CHECK(pthread_create(&c->thread, NULL, run, c) == 0);
	return c;
}

void
courier_stop(struct courier *c)
{
	if (!c)
		return;
	atomic_store(&c->stop, true);
	event_publish(c->bell, &(struct event){ .type = STR("stop") });
	CHECK(pthread_join(c->thread, NULL) == 0);
	http_many_free(c->many);
	for (size_t i = 0; i < LIMIT_COURIER_FLIGHTS; i++)
		if (c->parcels[i].busy)
			arena_done(&c->parcels[i].arena);
	event_hub_free(c->bell);
	free(c);
}

/* --- tidying up --- */

static status
forget(struct ctx *cx, void *arg)
{
	int64_t now;

	(void)arg;
	TRY(tx_now_us(cx, &now));
	return db_run(cx, SQL_DELIVERY_FORGET, INT(now - LIMIT_CALLBACK_KEPT_US));
}

status
courier_sweep(struct ctx *cx)
{
	return tx_run(cx, forget, NULL);
}
