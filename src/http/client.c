/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "http/client/transfer.h"

#include <sys/socket.h>

static void
handle_done(CURL *const *curl)
{
	curl_easy_cleanup(*curl);
}
#define scoped_curl __attribute__((cleanup(handle_done))) CURL *

static void
list_done(struct curl_slist *const *list)
{
	curl_slist_free_all(*list);
}
#define scoped_list __attribute__((cleanup(list_done))) struct curl_slist *

/* --- the request --- */

/* No spaces, no control characters: nothing that could end a header. */
static bool
is_word(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
			return false;
	return true;
}

/* A header's value: visible characters, and spaces between them. */
static bool
is_value(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] < ' ' || text.ptr[i] > '~')
			return false;
	return str_eq(text, str_trim(text));
}

static bool
is_name(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+.^_`|~",
			    text.ptr[i]) ||
			!text.ptr[i])
			return false;
	return text.len > 0;
}

static status
check(struct ctx *cx, const struct http_client_request *r)
{
	for (size_t i = 0; i < r->field_count; i++)
		if (!is_name(r->fields[i].name) || !is_value(r->fields[i].value))
			return fail(cx, E_INVALID, "a header of the request is not one");
	if ((!str_starts(r->url, STR("http://")) && !str_starts(r->url, STR("https://"))) ||
		!is_word(r->url) || r->url.len > LIMIT_HTTP_TARGET)
		return fail(cx, E_INVALID, "the address of a server begins with http:// or https://");
	if (!is_word(r->bearer) || r->bearer.len > LIMIT_CLIENT_CREDENTIAL || !is_word(r->basic) ||
		r->basic.len > LIMIT_CLIENT_CREDENTIAL)
		return fail(cx, E_INVALID, "the token is not one"); /* never repeated: it may be a secret */
	return OK;
}

static void
add_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	CHECK(longer); /* no memory */
	*list = longer;
}

/* curl's way to say a header without a value ends in a semicolon. */
static str
line_of(struct ctx *cx, const struct http_client_field *f)
{
	if (!f->value.len)
		return arena_printf(cx->arena, "%.*s;", STR_ARG(f->name));
	return arena_printf(cx->arena, "%.*s: %.*s", STR_ARG(f->name), STR_ARG(f->value));
}

static void
set_headers(struct ctx *cx, CURL *curl, const struct http_client_request *r, struct curl_slist **list)
{
	add_header(
		list, arena_printf(cx->arena, "Accept: %s", r->accept ? r->accept : "application/json").ptr);
	for (size_t i = 0; i < r->field_count; i++)
		add_header(list, line_of(cx, &r->fields[i]).ptr);
	add_header(list, "Expect:"); /* no waiting for 100 Continue */
	if (r->body.len)
		add_header(list,
			arena_printf(cx->arena, "Content-Type: %s", r->type ? r->type : "application/json")
				.ptr);
	if (r->bearer.len)
		add_header(
			list, arena_printf(cx->arena, "Authorization: Bearer %.*s", STR_ARG(r->bearer)).ptr);
	if (r->basic.len)
		add_header(list, arena_printf(cx->arena, "Authorization: Basic %.*s", STR_ARG(r->basic)).ptr);
	SET(curl, CURLOPT_HTTPHEADER, *list);
}

/* What we never want, whatever the environment of the process says. */
static void
set_rules(CURL *curl)
{
	SET(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(curl, CURLOPT_FOLLOWLOCATION, 0L);
	SET(curl, CURLOPT_PROXY, "");
	SET(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(curl, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	SET(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	SET(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(curl, CURLOPT_NOSIGNAL, 1L);
	SET(curl, CURLOPT_USERAGENT, "countersign/" COUNTERSIGN_VERSION);
	SET(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)LIMIT_CLIENT_CONNECT_MS);
}

static void
set_request(struct ctx *cx, CURL *curl, const struct http_client_request *r)
{
	SET(curl, CURLOPT_URL, arena_cstr(cx->arena, r->url));
	if (r->body.len || strcmp(r->method, "POST") == 0) {
		SET(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
		SET(curl, CURLOPT_POSTFIELDS, r->body.len ? r->body.ptr : "");
	}
	SET(curl, CURLOPT_CUSTOMREQUEST, r->method);
	SET(curl, CURLOPT_TIMEOUT_MS, (long)(r->timeout_ms ? r->timeout_ms : LIMIT_CLIENT_MS));
	if (r->ca_file)
		SET(curl, CURLOPT_CAINFO, r->ca_file);
}

/* After the name was looked up, before anything is sent: each address that is tried comes by here. */
static curl_socket_t
open_public(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	const struct http_client_request *r = arg;

	(void)purpose;
	return http_guard_public(&to->addr) || http_net_has(r->allow, r->allow_count, &to->addr)
		       ? socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol)
		       : CURL_SOCKET_BAD;
}

/* Connected, and about to send. */
static int
ask_time(void *arg, char *ip, char *own_ip, int port, int own_port)
{
	const struct http_client_request *r = arg;

	(void)ip;
	(void)own_ip;
	(void)port;
	(void)own_port;
	return clock_mono_us() > r->send_by_us ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void
set_guard(struct ctx *cx, CURL *curl, const struct http_client_request *r)
{
	struct http_client_request *kept = ARENA_NEW(cx->arena, struct http_client_request);

	*kept = *r;
	if (r->send_by_us) {
		SET(curl, CURLOPT_PREREQFUNCTION, ask_time);
		SET(curl, CURLOPT_PREREQDATA, kept);
	}
	if (!r->public_only)
		return;
	SET(curl, CURLOPT_OPENSOCKETFUNCTION, open_public);
	SET(curl, CURLOPT_OPENSOCKETDATA, kept);
}

status
transfer_set_up(struct ctx *cx, CURL *curl, const struct http_client_request *r, struct curl_slist **headers)
{
	TRY(check(cx, r));
	set_rules(curl);
	set_request(cx, curl, r);
	set_headers(cx, curl, r, headers);
	set_guard(cx, curl, r);
	return OK;
}

/* --- the answer --- */

static size_t
take(char *bytes, size_t size, size_t count, void *arg)
{
	struct buf *b = arg;

	buf_add(b, (str){ bytes, size * count });
	return b->overflow ? 0 : size * count; /* 0 ends the transfer */
}

/*
 * How much of the request has left this machine. Exact where it is 0: curl counts what the socket took; of what TLS took
 * at most one record, of which nobody reads a part.
 */
static int64_t
sent(CURL *curl)
{
	curl_off_t body = 0;
	long head = 0;

	CHECK(curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &head) == CURLE_OK);
	CHECK(curl_easy_getinfo(curl, CURLINFO_SIZE_UPLOAD_T, &body) == CURLE_OK);
	return head > body ? head : body;
}

status
transfer_refuse(
	struct ctx *cx, CURL *curl, const struct http_client_request *r, CURLcode code, const char *why)
{
	const char *reason = *why ? why : curl_easy_strerror(code);

	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_LOGIN_DENIED)
		return fail(cx, E_INVALID, "the address of the server is none: %s", reason);
	if (code == CURLE_SSL_CACERT_BADFILE)
		return fail(cx, E_INVALID, "%s is not a file of certificates",
			r->ca_file ? r->ca_file : "the system's file");
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return fail(cx, E_UNAVAILABLE, "the server's certificate is not trusted: %s", reason);
	if (r->public_only && code == CURLE_COULDNT_CONNECT)
		return fail(cx, E_UNAVAILABLE, "it cannot be reached at %s",
			r->allow_count ? "an address that is allowed" : "a public address");
	if (code == CURLE_ABORTED_BY_CALLBACK && !sent(curl))
		return fail(cx, E_UNAVAILABLE, "it took too long to connect: nothing was sent");
	if (!sent(curl))
		return fail(cx, E_UNAVAILABLE, "%s", reason);
	if (strcmp(r->method, "GET") == 0)
		return fail(cx, E_TIMEOUT, "no whole answer came: %s", reason);
	return fail(cx, E_COMMIT_UNKNOWN,
		"no whole answer came, and it is not known whether this took effect; look before you repeat "
		"it: %s",
		reason);
}

status
http_client_run(struct ctx *cx, const struct http_client_request *request, struct http_client_answer *out)
{
	scoped_list headers = NULL;
	scoped_curl curl = NULL;
	char why[CURL_ERROR_SIZE] = "";
	CURLcode code;
	struct buf body;
	long number = 0;
	curl_off_t wait = 0;

	curl = curl_easy_init();
	CHECK(curl); /* no memory */
	buf_init(&body, cx->arena, request->max_answer ? request->max_answer : LIMIT_HTTP_ANSWER);
	TRY(transfer_set_up(cx, curl, request, &headers));
	SET(curl, CURLOPT_ERRORBUFFER, why);
	SET(curl, CURLOPT_WRITEFUNCTION, take);
	SET(curl, CURLOPT_WRITEDATA, &body);
	code = curl_easy_perform(curl);
	if (request->out_sent)
		*request->out_sent = sent(curl);
	if (body.overflow)
		return fail(cx, E_TOO_LARGE, "the server's answer is larger than %zu bytes", body.max);
	if (code != CURLE_OK)
		return transfer_refuse(cx, curl, request, code, why);
	CHECK(curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &number) == CURLE_OK);
	CHECK(curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK);
	*out = (struct http_client_answer){ (int)number, buf_str(&body), wait };
	return OK;
}
