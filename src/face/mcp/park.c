/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait, without a worker: the client has a stream, and the call is run again when something happened.
 *
 *	call --park_more--> follower --look--> not yet, progress ... --> answered | gone | cancelled
 *
 * Modern: a client that closes the stream has cancelled, and nothing goes on. Legacy: the stream begins with an id
 * that is the call itself, signed for its session, so the client goes on with it wherever it comes back; nothing
 * is kept for it. (What waits only reads, so running it again changes nothing.)
 */
#include "face/mcp/call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash/sha256.h"
#include "core/keys.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#define RETRY_MS    500
#define PROGRESS_US (5 * SECOND_US)
#define MAC	    32u
#define VARIANT	    sodium_base64_VARIANT_URLSAFE_NO_PADDING

struct wait {
	struct follower f;
	int64_t began_us, waits_us, told_us;
	str message;
	char text[];
};

bool
park_possible(const struct mcp_call *c)
{
	return c->again || (c->x && !c->answers_to && header_accepts_stream(c));
}

bool
park_more(struct mcp_call *c, int64_t us)
{
	int64_t now = clock_mono_us();

	if (!park_possible(c))
		return false;
	if (!c->began_us)
		c->began_us = now;
	if (now - c->began_us >= us)
		return false;
	if (!c->again && !c->slot && followers_reserve(c) != OK) {
		ctx_clear(c->cx); /* it is answered with what there is */
		return false;
	}
	c->waits_us = us;
	return true;
}

/* --- as a follower --- */

static void
run(struct wait *w, struct mcp_call *c, int64_t began_us)
{
	status s;

	c->again = true;
	c->began_us = began_us;
	c->stream = w->f.stream;
	s = message_read(c, w->message);
	if (s == OK)
		mcp_run(c);
	else
		mcp_answer(c, message_error(c, s)); /* it was one when it came */
	w->f.stream = c->stream;
}

static void
progress(struct mcp_call *c, int64_t waited_us)
{
	stream_progress(c, waited_us / SECOND_US, c->waits_us / SECOND_US, STR("nobody has decided yet"));
}

static bool
look(struct follower *f, struct mcp_call *c)
{
	struct wait *w = (struct wait *)f;
	int64_t waited_us;

	run(w, c, w->began_us);
	if (!c->stream)
		return false;
	waited_us = clock_mono_us() - w->began_us;
	if (waited_us - w->told_us >= PROGRESS_US) {
		w->told_us = waited_us;
		progress(c, waited_us);
	}
	return true;
}

/* With what there is. */
static void
end(struct follower *f, struct mcp_call *c)
{
	run((struct wait *)f, c, 1);
}

static const struct follower_calls calls = { look, end };

/* --- where a legacy client goes on: "w<began, seconds>.<message>.<MAC>" --- */

static str
mac_of(struct mcp_call *c, str front)
{
	unsigned char mac[SHA256_BYTES];
	char text[MAC + 1];

	keys_mac(c->cx->keys, (str[]){ STR("mcp wait"), c->principal, c->session, front }, 4, mac);
	(void)sodium_bin2hex(text, sizeof(text), mac, MAC / 2);
	return arena_str(c->cx->arena, str_of(text));
}

static str
event_id(struct mcp_call *c)
{
	int64_t began = (clock_now_us() - (clock_mono_us() - c->began_us)) / SECOND_US;
	char message[LIMIT_MCP_WAIT_TEXT * 4 / 3 + 4];
	str front;

	(void)sodium_bin2base64(
		message, sizeof(message), (const unsigned char *)c->text.ptr, c->text.len, VARIANT);
	front = arena_printf(c->cx->arena, "w%" PRId64 ".%s", began, message);
	return arena_printf(c->cx->arena, "%.*s.%.*s", STR_ARG(front), STR_ARG(mac_of(c, front)));
}

static bool
read_event_id(struct mcp_call *c, str id, int64_t *out_began_us, str *out_message)
{
	str seconds, rest, message, mac, front;
	int64_t began;
	size_t len;
	char *bytes;

	if (!str_starts(id, STR("w")) || !str_cut(id, '.', &seconds, &rest) ||
		!str_cut(rest, '.', &message, &mac))
		return false;
	front = (str){ id.ptr, seconds.len + 1 + message.len };
	if (!str_eq_secret(mac, mac_of(c, front)) || !str_to_int(str_skip(seconds, 1), &began))
		return false;
	bytes = arena_alloc(c->cx->arena, message.len + 1); /* of a header: small */
	if (sodium_base642bin((unsigned char *)bytes, message.len + 1, message.ptr, message.len, NULL, &len,
		    NULL, VARIANT))
		return false;
	*out_began_us = clock_mono_us() - (clock_now_us() - began * SECOND_US);
	*out_message = (str){ bytes, len };
	return true;
}

bool
park_resume(struct mcp_call *c, str last_event)
{
	struct mcp_call again = *c;
	str message;
	status s;

	if (!read_event_id(c, last_event, &again.began_us, &message))
		return false;
	again.stream = http_stream_open(c->x);
	s = message_read(&again, message);
	if (s == OK)
		mcp_run(&again);
	else
		mcp_answer(&again, message_error(&again, s));
	return true;
}

/* --- the beginning --- */

static struct wait *
new_wait(struct mcp_call *c, str request)
{
	size_t room = follower_room(c, request) + c->text.len;
	struct wait *w = calloc(1, sizeof(*w) + room + 1);
	char *at;

	CHECK(w != NULL);
	at = w->text;
	w->f.calls = &calls;
	follower_init(&w->f, c, request, &at);
	w->message = follower_keep(&at, c->text);
	w->began_us = c->began_us;
	w->waits_us = c->waits_us;
	return w;
}

status
park_begin(struct mcp_call *c)
{
	str request = { 0 };
	struct wait *w;

	if (json_text(c->cx, c->id, &request) != OK)
		ctx_clear(c->cx); /* too long to be named: then it cannot be cancelled by its name */
	if (!c->stream)
		c->stream = http_stream_open(c->x);
	if (!c->modern && strcmp(c->version, session_versions[0]) == 0 && c->text.len <= LIMIT_MCP_WAIT_TEXT)
		(void)http_stream_prime(c->stream, event_id(c), RETRY_MS);
	progress(c, clock_mono_us() - c->began_us);
	w = new_wait(c, request);
	w->f.stream = c->stream;
	w->told_us = clock_mono_us() - c->began_us;
	c->stream = NULL;
	c->holds = true;
	followers_add(c->mcp->followers, &w->f);
	return OK;
}
