/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/many.h"

#include "base/check.h"
#include "base/limits.h"
#include "http/client/transfer.h"

#include <stdlib.h>

struct http_flight {
	struct http_flight *next;
	CURL *curl;
	struct curl_slist *headers;
	struct arena arena; /* what curl only borrows */
	struct ctx cx;
	struct transfer transfer;
	struct http_flight_calls calls;
	void *arg;
	bool enough;
	char why[CURL_ERROR_SIZE];
};

struct http_many {
	CURLM *multi;
	struct http_flight *flights;
	CURL *spare; /* the handle of a flight that is over, to use its memory again; or NULL */
};

struct http_many *
http_many_new(void)
{
	struct http_many *m = calloc(1, sizeof(*m));

	CHECK(m);
	m->multi = curl_multi_init();
	CHECK(m->multi); /* no memory */
	return m;
}

void
http_many_cancel(struct http_many *m, struct http_flight *f)
{
	struct http_flight **at = &m->flights;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	CHECK(curl_multi_remove_handle(m->multi, f->curl) == CURLM_OK);
	if (m->spare)
		curl_easy_cleanup(f->curl);
	else
		curl_easy_reset(m->spare = f->curl); /* connections are the multi's, and stay */
	curl_slist_free_all(f->headers);
	arena_done(&f->arena);
	free(f);
}

void
http_many_free(struct http_many *m)
{
	while (m->flights)
		http_many_cancel(m, m->flights);
	curl_easy_cleanup(m->spare); /* NULL is fine */
	CHECK(curl_multi_cleanup(m->multi) == CURLM_OK);
	free(m);
}

static size_t
take(char *bytes, size_t size, size_t count, void *arg)
{
	struct http_flight *f = arg;

	f->enough = !f->calls.piece(f->arg, (str){ bytes, size * count });
	return f->enough ? 0 : size * count; /* 0 ends the transfer */
}

static void
set_up(struct http_flight *f)
{
	struct http_client_request *r = &f->transfer.request;

	r->ca_file = r->ca_file ? arena_cstr(&f->arena, str_of(r->ca_file)) : NULL;
	transfer_set_up(&f->cx, f->curl, &f->transfer, &f->headers);
	SET(f->curl, CURLOPT_FRESH_CONNECT, r->keep ? 0L : 1L);
	SET(f->curl, CURLOPT_FORBID_REUSE, r->keep ? 0L : 1L);
	SET(f->curl, CURLOPT_TIMEOUT_MS, 0L);
	SET(f->curl, CURLOPT_ERRORBUFFER, f->why);
	SET(f->curl, CURLOPT_WRITEFUNCTION, take);
	SET(f->curl, CURLOPT_WRITEDATA, f);
	SET(f->curl, CURLOPT_PRIVATE, f);
	SET(f->curl, CURLOPT_QUICK_EXIT, 1L); /* a cancel does not wait for a name lookup to end */
}

status
http_many_begin(struct http_many *m, struct ctx *cx, const struct http_client_request *r,
	const struct http_flight_calls *calls, void *arg, struct http_flight **out_flight)
{
	struct http_flight *f;

	TRY(transfer_check(cx, r));
	f = calloc(1, sizeof(*f));
	CHECK(f);
	arena_init(&f->arena, LIMIT_REQUEST_ARENA);
	ctx_init(&f->cx, &f->arena);
	f->calls = *calls;
	f->arg = arg;
	f->transfer.request = *r;
	f->next = m->flights;
	m->flights = f;
	f->curl = m->spare ? m->spare : curl_easy_init();
	m->spare = NULL;
	CHECK(f->curl); /* no memory */
	set_up(f);
	CHECK(curl_multi_add_handle(m->multi, f->curl) == CURLM_OK);
	*out_flight = f;
	return OK;
}

static status
result_of(struct http_flight *f, CURLcode code)
{
	if (f->enough)
		return fail(&f->cx, E_TOO_LARGE, "the server's answer is too large");
	return code == CURLE_OK ? OK : transfer_refuse(&f->cx, f->curl, &f->transfer, code, f->why);
}

/* Says the end of all that have one. Were there any? */
static bool
land(struct http_many *m)
{
	CURLMsg *message;
	bool any = false;
	int left;

	while ((message = curl_multi_info_read(m->multi, &left))) {
		struct http_flight *f = NULL;
		char *private = NULL;
		status s;

		if (message->msg != CURLMSG_DONE)
			continue;
		any = true;
		CHECK(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private) == CURLE_OK);
		f = (struct http_flight *)(void *)private;
		s = result_of(f, message->data.result);
		f->calls.done(f->arg, f, s, s != OK ? ctx_message(&f->cx, s) : (str){ 0 });
		http_many_cancel(m, f);
	}
	return any;
}

bool
http_many_poll(struct http_many *m, int fd, int timeout_ms)
{
	struct curl_waitfd extra = { .fd = fd, .events = CURL_WAIT_POLLIN };
	int running = 0;

	CHECK(curl_multi_perform(m->multi, &running) == CURLM_OK);
	if (land(m))
		timeout_ms = 0; /* it answered at once: something has happened already */
	CHECK(curl_multi_poll(m->multi, fd < 0 ? NULL : &extra, fd < 0 ? 0 : 1, timeout_ms, NULL) ==
		CURLM_OK);
	CHECK(curl_multi_perform(m->multi, &running) == CURLM_OK);
	(void)land(m);
	return fd >= 0 && extra.revents;
}

int
http_flight_status(const struct http_flight *f)
{
	long number = 0;

	CHECK(curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &number) == CURLE_OK);
	return (int)number;
}

uint64_t
http_flight_sent(const struct http_flight *f)
{
	long head = 0;
	curl_off_t body = 0;

	CHECK(curl_easy_getinfo(f->curl, CURLINFO_REQUEST_SIZE, &head) == CURLE_OK);
	CHECK(curl_easy_getinfo(f->curl, CURLINFO_SIZE_UPLOAD_T, &body) == CURLE_OK);
	return (uint64_t)(head > body ? head : body);
}

str
http_flight_header_at(const struct http_flight *f, const char *name, size_t index)
{
	struct curl_header *h;

	if (curl_easy_header(f->curl, name, index, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return (str){ 0 };
	if (strcmp(h->value, "\r") == 0) /* what libcurl 7.88 leaves of a header without a value */
		return (str){ 0 };
	return str_of(h->value);
}

str
http_flight_header(const struct http_flight *f, const char *name)
{
	return http_flight_header_at(f, name, 0);
}
