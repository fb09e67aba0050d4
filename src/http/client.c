/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "http/client/transfer.h"

#include <arpa/inet.h>
#include <errno.h>
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

status
transfer_check(struct ctx *cx, const struct http_client_request *r)
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

/* --- where it may go --- */

/* In plain HTTP only into a network that was named: everybody on the way to a public address reads along. */
static bool
allows(const struct transfer *t, const struct sockaddr *address)
{
	const struct http_client_request *r = &t->request;

	return !r->public_only || (t->secure && http_guard_public(address)) ||
	       http_net_has(r->allow, r->allow_count, address);
}

static void
keep_out(struct transfer *t, bool is_public)
{
	t->kept_out = true;
	t->kept_plain = is_public; /* so it was not for its address */
}

/* After the name was looked up, before anything is sent: each address that is tried comes by here. */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct transfer *t = arg;

	(void)purpose;
	if (!allows(t, &to->addr)) {
		keep_out(t, http_guard_public(&to->addr));
		return CURL_SOCKET_BAD;
	}
	t->tried = true;
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* The same for an address as text. */
static bool
allows_text(const struct transfer *t, const char *ip)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (!t->request.public_only)
		return true;
	if (inet_pton(AF_INET, ip, &v4.sin_addr) == 1)
		return allows(t, (const struct sockaddr *)&v4);
	return inet_pton(AF_INET6, ip, &v6.sin6_addr) == 1 && allows(t, (const struct sockaddr *)&v6);
}

/* Connected, and about to send. A kept connection was opened for an earlier request, which may have been allowed to reach other
 * networks, so its address is looked at again. */
static int
may_send(void *arg, char *ip, char *own_ip, int port, int own_port)
{
	struct transfer *t = arg;

	(void)own_ip;
	(void)port;
	(void)own_port;
	if (!t->tried && !allows_text(t, ip)) {
		t->kept_out = true;
		return CURL_PREREQFUNC_ABORT;
	}
	if (t->request.send_by_us && clock_mono_us() > t->request.send_by_us)
		return CURL_PREREQFUNC_ABORT;
	return CURL_PREREQFUNC_OK;
}

static void
set_guard(CURL *curl, struct transfer *t)
{
	SET(curl, CURLOPT_PREREQFUNCTION, may_send);
	SET(curl, CURLOPT_PREREQDATA, t);
	SET(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(curl, CURLOPT_OPENSOCKETDATA, t);
}

void
transfer_set_up(struct ctx *cx, CURL *curl, struct transfer *t, struct curl_slist **headers)
{
	t->secure = str_starts(t->request.url, STR("https://"));
	set_rules(curl);
	set_request(cx, curl, &t->request);
	set_headers(cx, curl, &t->request, headers);
	set_guard(curl, t);
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

/* What the system said of the connection last; 0: nothing. */
static long
system_error(CURL *curl)
{
	long number = 0;

	CHECK(curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number) == CURLE_OK);
	return number;
}

/* Why an address that was tried did not take us. Nobody guesses: else it is as curl says it. */
static const char *
name_refusal(CURL *curl, const char *reason)
{
	switch (system_error(curl)) {
	case ECONNREFUSED:
		return "connection refused";
	case ECONNRESET:
		return "connection reset";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "there is no way to its network";
	case ETIMEDOUT:
		return "nobody answered in time";
	default:
		return reason;
	}
}

static status
refuse_connection(struct ctx *cx, CURL *curl, const struct transfer *t, const char *reason)
{
	const char *list = t->request.allow_name;

	if (t->tried || !t->kept_out)
		return fail(cx, E_UNAVAILABLE, "it could not be reached: %s", name_refusal(curl, reason));
	if (t->kept_plain)
		return fail(cx, E_UNAVAILABLE,
			"its address is public, and to a public address only https is used");
	if (!list)
		return fail(cx, E_UNAVAILABLE, "its address is not public");
	return fail(cx, E_UNAVAILABLE,
		"its address is not public, and not in its `%s`; where it should be reached, add its network "
		"there",
		list);
}

/* Why there is no whole answer to what was sent. */
static const char *
name_loss(CURL *curl, CURLcode code, const char *reason)
{
	bool gone = code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
		    (code == CURLE_RECV_ERROR && system_error(curl) == ECONNRESET);

	return gone ? "it ended the connection before its answer was complete" : reason;
}

static bool
blames_address(CURLcode code)
{
	return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
	       code == CURLE_LOGIN_DENIED;
}

status
transfer_refuse(struct ctx *cx, CURL *curl, const struct transfer *t, CURLcode code, const char *why)
{
	const struct http_client_request *r = &t->request;
	const char *reason = *why ? why : curl_easy_strerror(code);

	if (blames_address(code) && !sent(curl)) /* an answer may be of an "unsupported protocol", too */
		return fail(cx, E_INVALID, "the address of the server is none: %s", reason);
	if (code == CURLE_SSL_CACERT_BADFILE)
		return fail(cx, E_INVALID, "%s is not a file of certificates",
			r->ca_file ? r->ca_file : "the system's file");
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return fail(cx, E_UNAVAILABLE, "the server's certificate is not trusted: %s", reason);
	if (r->public_only && (code == CURLE_COULDNT_CONNECT || (t->kept_out && !t->tried)))
		return refuse_connection(cx, curl, t, reason);
	if (code == CURLE_ABORTED_BY_CALLBACK && !sent(curl))
		return fail(cx, E_UNAVAILABLE, "it took too long to connect: nothing was sent");
	if (!sent(curl))
		return fail(cx, E_UNAVAILABLE, "%s", reason);
	reason = name_loss(curl, code, reason);
	if (strcmp(r->method, "GET") == 0)
		return fail(cx, E_TIMEOUT, "no whole answer came: %s", reason);
	return fail(cx, E_COMMIT_UNKNOWN,
		"no whole answer came, and it is not known whether this took effect; look before you repeat "
		"it: %s",
		reason);
}

static str
first_cookie(struct ctx *cx, CURL *curl)
{
	struct curl_header *h;
	str text;

	if (curl_easy_header(curl, "Set-Cookie", 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return (str){ 0 };
	text = arena_str(cx->arena, str_of(h->value));
	text.len = str_find(text, ';');
	return text;
}

status
http_client_run(struct ctx *cx, const struct http_client_request *request, struct http_client_answer *out)
{
	struct transfer t = { .request = *request };
	scoped_list headers = NULL;
	scoped_curl curl = NULL;
	char why[CURL_ERROR_SIZE] = "";
	CURLcode code;
	struct buf body;
	long number = 0;
	curl_off_t wait = 0;

	TRY(transfer_check(cx, request));
	curl = curl_easy_init();
	CHECK(curl); /* no memory */
	buf_init(&body, cx->arena, request->max_answer ? request->max_answer : LIMIT_HTTP_ANSWER);
	transfer_set_up(cx, curl, &t, &headers);
	SET(curl, CURLOPT_ERRORBUFFER, why);
	SET(curl, CURLOPT_WRITEFUNCTION, take);
	SET(curl, CURLOPT_WRITEDATA, &body);
	code = curl_easy_perform(curl);
	if (request->out_sent)
		*request->out_sent = sent(curl);
	if (body.overflow)
		return fail(cx, E_TOO_LARGE, "the server's answer is larger than %zu bytes", body.max);
	if (code != CURLE_OK)
		return transfer_refuse(cx, curl, &t, code, why);
	CHECK(curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &number) == CURLE_OK);
	CHECK(curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK);
	*out = (struct http_client_answer){ (int)number, buf_str(&body), wait, first_cookie(cx, curl) };
	return OK;
}
