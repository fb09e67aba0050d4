/* SPDX-License-Identifier: Apache-2.0 */
#include "core/slot.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/scoped.h"

#include <inttypes.h>
#include <stdlib.h>

struct slot {
	struct slot *next;
	enum slot_kind kind;
	struct slot_owner owner; /* its texts follow this struct */
	char text[];
};

/* Of one kind. */
struct most {
	size_t holder, org, server;
	bool reserves; /* a quarter for people */
};

struct slots {
	pthread_mutex_t lock;
	struct slot *held; /* at most some thousands: walked where one is taken */
	struct most most[SLOT_KIND_COUNT];
	int64_t refused[SLOT_KIND_COUNT];
};

const char *
slot_kind_name(enum slot_kind k)
{
	static const char *const names[] = {
#define X(name, text) text,
		SLOT_KINDS(X)
#undef X
	};

	return names[k];
}

struct slot_owner
slot_owner_of(const struct caller *c)
{
	return (struct slot_owner){ c->org_id, c->principal_id, c->delegator_id, c->kind == PRINCIPAL_USER };
}

static size_t
at_least_one(size_t n)
{
	return n ? n : 1;
}

struct slots *
slots_new(int waits)
{
	struct slots *s = calloc(1, sizeof(*s));
	size_t all = waits > 0 ? (size_t)waits : 0;

	CHECK(s != NULL && pthread_mutex_init(&s->lock, NULL) == 0);
	s->most[SLOT_EVENTS] = s->most[SLOT_MCP] =
		(struct most){ LIMIT_STREAMS_HOLDER, LIMIT_STREAMS_ORG, LIMIT_FOLLOWERS, true };
	s->most[SLOT_OFREP] =
		(struct most){ LIMIT_OFREP_HOLDER, LIMIT_OFREP_ORG, LIMIT_OFREP_STREAMS, false };
	s->most[SLOT_WAIT] = (struct most){ at_least_one(all / 2), at_least_one(all * 3 / 4), all, true };
	return s;
}

void
slots_free(struct slots *s)
{
	CHECK(s->held == NULL);
	CHECK(pthread_mutex_destroy(&s->lock) == 0);
	free(s);
}

/* --- counting --- */

struct count {
	size_t holder, org, server, org_others, server_others; /* others: not people */
};

static bool
is_same(const struct slot_owner *a, const struct slot_owner *b)
{
	return str_eq(a->principal_id, b->principal_id) && str_eq(a->delegator_id, b->delegator_id);
}

static struct count
count(const struct slots *s, enum slot_kind kind, const struct slot_owner *o)
{
	struct count n = { 0 };

	for (const struct slot *one = s->held; one; one = one->next) {
		bool org = str_eq(one->owner.org_id, o->org_id);

		if (one->kind != kind)
			continue;
		n.server++;
		n.server_others += !one->owner.person;
		n.org += org;
		n.org_others += org && !one->owner.person;
		n.holder += org && is_same(&one->owner, o);
	}
	return n;
}

/* What agents and services may have of it. One alone is for whoever comes first. */
static size_t
without_reserve(size_t most)
{
	return most > 1 ? most - (most + 3) / 4 : most;
}

enum full { ROOM, FULL_HOLDER, FULL_ORG, FULL_SERVER };

static enum full
is_full(const struct most *m, const struct count *n, bool person)
{
	bool bound = m->reserves && !person;

	if (n->holder >= m->holder)
		return FULL_HOLDER;
	if (n->org >= m->org || (bound && n->org_others >= without_reserve(m->org)))
		return FULL_ORG;
	if (n->server >= m->server || (bound && n->server_others >= without_reserve(m->server)))
		return FULL_SERVER;
	return ROOM;
}

/* --- taking --- */

static str
keep(char **at, str text)
{
	char *begin = *at;

	if (text.len)
		memcpy(begin, text.ptr, text.len);
	*at += text.len;
	return (str){ begin, text.len };
}

static struct slot *
new_slot(enum slot_kind kind, const struct slot_owner *o)
{
	struct slot *one =
		calloc(1, sizeof(*one) + o->org_id.len + o->principal_id.len + o->delegator_id.len + 1);
	char *at;

	CHECK(one != NULL);
	at = one->text;
	one->kind = kind;
	one->owner = (struct slot_owner){ keep(&at, o->org_id), keep(&at, o->principal_id),
		keep(&at, o->delegator_id), o->person };
	return one;
}

static enum full
put(struct slots *s, struct slot *one)
{
	scoped_lock held = lock(&s->lock);
	struct count n = count(s, one->kind, &one->owner);
	enum full full = is_full(&s->most[one->kind], &n, one->owner.person);

	if (full != ROOM) {
		s->refused[one->kind]++;
		return full;
	}
	one->next = s->held;
	s->held = one;
	return ROOM;
}

static status
refuse(struct ctx *cx, const struct most *m, enum full full)
{
	ctx_header(cx, "Retry-After", STR("10"));
	if (full == FULL_SERVER)
		return fail(cx, E_UNAVAILABLE, "too many follow already; poll instead, or come later");
	return fail(cx, E_RATE_LIMITED,
		"%s may hold %zu of these streams at once, and %s; close one, or poll",
		full == FULL_ORG ? "one organization" : "one agent or person",
		full == FULL_ORG ? m->org : m->holder,
		full == FULL_ORG ? "yours has as many as agents or all may" : "you hold as many");
}

status
slot_take(struct ctx *cx, struct slots *s, enum slot_kind kind, const struct slot_owner *o, struct slot **out)
{
	struct slot *one = new_slot(kind, o);
	enum full full = put(s, one);

	if (full == ROOM) {
		*out = one;
		return OK;
	}
	free(one);
	return refuse(cx, &s->most[kind], full);
}

static void
take_out(struct slots *s, const struct slot *one)
{
	scoped_lock held = lock(&s->lock);
	struct slot **at = &s->held;

	while (*at && *at != one)
		at = &(*at)->next;
	CHECK(*at != NULL);
	*at = one->next;
}

void
slot_give_back(struct slots *s, struct slot *one)
{
	if (!one)
		return;
	take_out(s, one);
	free(one);
}

void
slot_stats(struct slots *s, struct slot_stats *out)
{
	scoped_lock held = lock(&s->lock);

	*out = (struct slot_stats){ 0 };
	for (const struct slot *one = s->held; one; one = one->next)
		out->held[one->kind]++;
	memcpy(out->refused, s->refused, sizeof(out->refused));
}
