/* SPDX-License-Identifier: Apache-2.0 */
/* The client against our own server, and against places where there is none. */
#include "fixture.h"

#include "base/clock.h"
#include "http/client.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define MUCH 4096u

/* What of a request the client decides, as JSON. */
static void
describe(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 200;
	x->content_type = "application/json";
	buf_printf(&x->body, "%.*s|%.*s|%.*s|%.*s", STR_ARG(http_header(x, STR("Authorization"))),
		STR_ARG(http_header(x, STR("Content-Type"))), STR_ARG(http_header(x, STR("Expect"))),
		STR_ARG(x->req.body));
}

static void
redirect(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 302;
	x->content_type = "application/json";
	http_add_header(x, STR("Location"), STR("/hello"));
	buf_add(&x->body, STR("\"elsewhere\""));
}

static void
say_much(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 200;
	x->content_type = "application/json";
	for (size_t i = 0; i < MUCH; i++)
		buf_add_char(&x->body, 'm');
}

static void
conflict(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 409;
	x->content_type = "application/json";
	buf_add(&x->body, STR("{\"code\":\"conflict\"}"));
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/hello", HTTP_INLINE, .handler = say_hello },
	{ HTTP_GET_, "/redirect", HTTP_INLINE, .handler = redirect },
	{ HTTP_GET_, "/much", HTTP_WORKER, .handler = say_much },
	{ HTTP_GET_, "/describe", HTTP_WORKER, .handler = describe },
	{ HTTP_GET_, "/block", HTTP_WORKER, .handler = block },
	{ HTTP_POST_, "/block", HTTP_WORKER, .takes_body = true, .handler = block },
	{ HTTP_POST_, "/describe", HTTP_WORKER, .takes_body = true, .handler = describe },
	{ HTTP_PUT_, "/describe", HTTP_WORKER, .takes_body = true, .handler = describe },
	{ HTTP_DELETE_, "/conflict", HTTP_WORKER, .handler = conflict },
};

static str
url(struct unit *u, const struct fixture *f, const char *scheme, const char *path)
{
	return arena_printf(&u->arena, "%s://127.0.0.1:%d%s", scheme, http_server_port(f->server), path);
}

#define RUN(u, f, answer, path, ...)                                                                         \
	http_client_run(&(u).cx,                                                                             \
		&(struct http_client_request){                                                               \
			.method = "GET", .url = url(&(u), &(f), "http", path), __VA_ARGS__ },                \
		&(answer))

static void
a_guarded_request_reaches_only_networks_that_it_names(void **state)
{
	struct http_client_answer answer;
	struct http_net nets[2];
	START(f, routes);
	UNIT(u);

	(void)state;
	assert_true(http_net_read(STR("10.0.0.0/8"), &nets[0]) && http_net_read(STR("127.0.0.1"), &nets[1]));
	assert_status(RUN(u, f, answer, "/hello", .public_only = true), E_UNAVAILABLE);
	assert_status(RUN(u, f, answer, "/hello", .public_only = true, .allow = nets, .allow_count = 1),
		E_UNAVAILABLE);
	assert_str(ctx_message(&u.cx, E_UNAVAILABLE), "its address is not public");
	assert_status(RUN(u, f, answer, "/hello", .public_only = true, .allow = nets, .allow_count = 1,
			      .allow_name = "nets"),
		E_UNAVAILABLE);
	assert_non_null(strstr(arena_cstr(&u.arena, u.cx.error.message), "not in its `nets`"));
	assert_status(http_client_run(&u.cx,
			      &(struct http_client_request){ .method = "GET",
				      .url = STR("http://127.0.0.1:1/"),
				      .public_only = true,
				      .allow = nets,
				      .allow_count = 2 },
			      &answer),
		E_UNAVAILABLE);
	assert_str(ctx_message(&u.cx, E_UNAVAILABLE), "it could not be reached: connection refused");
	assert_status(RUN(u, f, answer, "/hello", .public_only = true, .allow = nets, .allow_count = 2), OK);
	assert_int_equal(answer.status, 200);
}

static void
an_answer_is_its_status_and_its_body(void **state)
{
	struct http_client_answer a = { 0 };

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_status(RUN(u, f, a, "/hello", .timeout_ms = 0), OK);
	assert_int_equal(a.status, 200);
	assert_str(a.body, "\"hello\"");
	assert_status(
		RUN(u, f, a, "/nothing", .timeout_ms = 0), OK); /* an error of the server's is an answer */
	assert_int_equal(a.status, 404);
	assert_status(http_client_run(&u.cx,
			      &(struct http_client_request){
				      .method = "DELETE", .url = url(&u, &f, "http", "/conflict") },
			      &a),
		OK);
	assert_int_equal(a.status, 409);
	assert_str(a.body, "{\"code\":\"conflict\"}");
}

static void
a_form_goes_with_its_type_and_a_password(void **state)
{
	struct http_client_answer a = { 0 };

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_status(RUN(u, f, a, "/describe", .basic = STR("dTpw")), OK);
	assert_str(a.body, "Basic dTpw|||");
	assert_status(http_client_run(&u.cx,
			      &(struct http_client_request){ .method = "POST",
				      .url = url(&u, &f, "http", "/describe"),
				      .type = "application/x-www-form-urlencoded",
				      .body = STR("a=b") },
			      &a),
		OK);
	assert_int_equal(a.status, 415); /* our own server takes JSON only */
}

static void
body_and_token_arrive_as_they_are(void **state)
{
	struct http_client_request r = { .bearer = STR("cs_1"), .body = STR("{\"a\": 1.0}") };
	struct http_client_answer a = { 0 };

	(void)state;
	UNIT(u);
	START(f, routes);
	r.url = url(&u, &f, "http", "/describe");
	r.method = "POST";
	assert_status(http_client_run(&u.cx, &r, &a), OK);
	assert_str(a.body, "Bearer cs_1|application/json||{\"a\": 1.0}");
	r.method = "PUT";
	assert_status(http_client_run(&u.cx, &r, &a), OK);
	assert_str(a.body, "Bearer cs_1|application/json||{\"a\": 1.0}");
	assert_status(RUN(u, f, a, "/describe", .timeout_ms = 0), OK);
	assert_str(a.body, "|||");
}

static void
redirects_are_not_followed(void **state)
{
	struct http_client_answer a = { 0 };

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_status(RUN(u, f, a, "/redirect", .bearer = STR("secret")), OK);
	assert_int_equal(a.status, 302);
	assert_str(a.body, "\"elsewhere\"");
}

static void
the_environment_names_no_proxy(void **state)
{
	struct http_client_answer a = { 0 };

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
	assert_status(RUN(u, f, a, "/hello", .timeout_ms = 0), OK);
	assert_int_equal(a.status, 200);
	assert_int_equal(unsetenv("http_proxy"), 0);
	assert_int_equal(unsetenv("ALL_PROXY"), 0);
}

static void
an_answer_has_a_largest_size(void **state)
{
	struct http_client_answer a = { .status = 7 };

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_status(RUN(u, f, a, "/much", .max_answer = MUCH - 1), E_TOO_LARGE);
	assert_int_equal(a.status, 7);
	assert_status(RUN(u, f, a, "/much", .max_answer = MUCH), OK);
	assert_int_equal(a.body.len, MUCH);
}

static void
no_answer_in_time_is_a_timeout_and_a_change_may_have_happened(void **state)
{
	struct http_client_answer a = { .status = 7 };

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_status(RUN(u, f, a, "/block", .timeout_ms = 1500), E_TIMEOUT);
	assert_status(http_client_run(&u.cx,
			      &(struct http_client_request){ .method = "POST",
				      .url = url(&u, &f, "http", "/block"),
				      .body = STR("{}"),
				      .timeout_ms = 1500 },
			      &a),
		E_COMMIT_UNKNOWN);
	assert_int_equal(a.status, 7);
}

/* A listener that takes the request and hangs up. */
static void *
hang_up_on(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);
	char bytes[256];

	assert_true(fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0);
	(void)close(fd);
	return NULL;
}

static void
an_answer_that_breaks_off_leaves_it_unknown(void **state)
{
	struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct http_client_request r = { .method = "POST", .body = STR("{}") };
	scoped_fd listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct http_client_answer a = { .status = 7 };
	socklen_t size = sizeof(where);
	pthread_t thread;

	(void)state;
	UNIT(u);
	assert_int_equal(bind(listener, (struct sockaddr *)&where, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&where, &size), 0);
	assert_int_equal(pthread_create(&thread, NULL, hang_up_on, &listener), 0);
	r.url = arena_printf(&u.arena, "http://127.0.0.1:%d/", ntohs(where.sin_port));
	assert_status(http_client_run(&u.cx, &r, &a), E_COMMIT_UNKNOWN);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(a.status, 7);
}

static status
try_url(struct unit *u, const char *text)
{
	struct http_client_answer a;

	return http_client_run(
		&u->cx, &(struct http_client_request){ .method = "GET", .url = str_of(text) }, &a);
}

static void
where_nobody_listens_nothing_was_sent(void **state)
{
	(void)state;
	UNIT(u);
	assert_status(try_url(&u, "http://127.0.0.1:1/"), E_UNAVAILABLE);
	assert_non_null(strstr(arena_cstr(&u.arena, u.cx.error.message), "127.0.0.1"));
}

static void
after_its_time_nothing_is_sent_and_what_has_left_is_counted(void **state)
{
	struct http_client_request r = { .method = "POST", .body = STR("{}") };
	struct http_client_answer a = { .status = 7 };
	int64_t sent = -1;

	(void)state;
	UNIT(u);
	START(f, routes);
	r.url = url(&u, &f, "http", "/describe");
	r.out_sent = &sent;
	r.send_by_us = clock_mono_us() - 1; /* it is there, and connected to, but it is too late */
	assert_status(http_client_run(&u.cx, &r, &a), E_UNAVAILABLE);
	assert_int_equal(sent, 0);
	assert_int_equal(a.status, 7);
	r.send_by_us = clock_mono_us() + INT64_C(3600000000);
	assert_status(http_client_run(&u.cx, &r, &a), OK);
	assert_true(sent > (int64_t)r.body.len);
	sent = -1;
	r.url = STR("http://127.0.0.1:1/");
	assert_status(http_client_run(&u.cx, &r, &a), E_UNAVAILABLE);
	assert_int_equal(sent, 0);
}

static void
only_addresses_of_servers_are_taken(void **state)
{
	static const char *const wrong[] = { "", "127.0.0.1:1", "file:///etc/passwd", "ftp://127.0.0.1/",
		"http://a b/", "http://a\r\nX: y/", "http://me:secret@127.0.0.1:1/", "http://",
		"http://[::1" };

	(void)state;
	UNIT(u);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_status(try_url(&u, wrong[i]), E_INVALID);
}

static void
a_token_that_would_end_its_header_is_refused_and_not_repeated(void **state)
{
	struct http_client_answer a;

	(void)state;
	UNIT(u);
	START(f, routes);
	assert_status(RUN(u, f, a, "/hello", .basic = STR("geheim\r\nX: y")), E_INVALID);
	assert_status(RUN(u, f, a, "/hello", .bearer = STR("geheim\r\nX: y")), E_INVALID);
	assert_null(strstr(arena_cstr(&u.arena, u.cx.error.message), "geheim"));
}

/* --- TLS --- */

static char directory[] = "/tmp/countersign-client-XXXXXX";
static char certificate[64], key[64];

static void
write_pem(EVP_PKEY *pair, X509 *x)
{
	FILE *f = fopen(certificate, "w");

	assert_non_null(f);
	assert_int_equal(PEM_write_X509(f, x), 1);
	assert_int_equal(fclose(f), 0);
	f = fopen(key, "w");
	assert_non_null(f);
	assert_int_equal(PEM_write_PrivateKey(f, pair, NULL, NULL, 0, NULL, NULL), 1);
	assert_int_equal(fclose(f), 0);
}

/* One that has signed itself, for that name. */
static void
make_certificate(const char *name)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, name);

	assert_true(pair && x && extension);
	assert_int_equal(X509_set_version(x, 2), 1);
	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 1), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), -60));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), 3600));
	assert_int_equal(X509_set_pubkey(x, pair), 1);
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				 (const unsigned char *)"test", -1, -1, 0),
		1);
	assert_int_equal(X509_set_issuer_name(x, X509_get_subject_name(x)), 1);
	assert_int_equal(X509_add_ext(x, extension, -1), 1);
	assert_true(X509_sign(x, pair, EVP_sha256()) > 0);
	write_pem(pair, x);
	X509_EXTENSION_free(extension);
	X509_free(x);
	EVP_PKEY_free(pair);
}

static status
ask_tls(struct unit *u, const struct fixture *f, const char *ca_file)
{
	struct http_client_request r = { .method = "GET", .bearer = STR("secret"), .ca_file = ca_file };
	struct http_client_answer a;

	r.url = url(u, f, "https", "/hello");
	TRY(http_client_run(&u->cx, &r, &a));
	assert_int_equal(a.status, 200);
	return OK;
}

static void
only_a_certificate_that_is_trusted_for_that_name_is_talked_to(void **state)
{
	(void)state;
	UNIT(u);
	make_certificate("IP:127.0.0.1");
	{
		START(f, routes, .tls_certificate = certificate, .tls_key = key);
		assert_status(ask_tls(&u, &f, certificate), OK);
		assert_status(ask_tls(&u, &f, NULL), E_UNAVAILABLE);
		assert_non_null(strstr(arena_cstr(&u.arena, u.cx.error.message), "not trusted"));
		assert_status(ask_tls(&u, &f, "/nonexistent.pem"), E_INVALID);
	}
	make_certificate("DNS:elsewhere.example");
	{
		START(f, routes, .tls_certificate = certificate, .tls_key = key);
		assert_status(ask_tls(&u, &f, certificate), E_UNAVAILABLE);
	}
}

static int
make_directory(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	(void)snprintf(certificate, sizeof(certificate), "%s/c.pem", directory);
	(void)snprintf(key, sizeof(key), "%s/k.pem", directory);
	return 0;
}

static int
remove_directory(void **state)
{
	(void)state;
	(void)unlink(certificate);
	(void)unlink(key);
	return rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guarded_request_reaches_only_networks_that_it_names),
		cmocka_unit_test(an_answer_is_its_status_and_its_body),
		cmocka_unit_test(a_form_goes_with_its_type_and_a_password),
		cmocka_unit_test(body_and_token_arrive_as_they_are),
		cmocka_unit_test(redirects_are_not_followed),
		cmocka_unit_test(the_environment_names_no_proxy),
		cmocka_unit_test(an_answer_has_a_largest_size),
		cmocka_unit_test(no_answer_in_time_is_a_timeout_and_a_change_may_have_happened),
		cmocka_unit_test(an_answer_that_breaks_off_leaves_it_unknown),
		cmocka_unit_test(where_nobody_listens_nothing_was_sent),
		cmocka_unit_test(after_its_time_nothing_is_sent_and_what_has_left_is_counted),
		cmocka_unit_test(only_addresses_of_servers_are_taken),
		cmocka_unit_test(a_token_that_would_end_its_header_is_refused_and_not_repeated),
		cmocka_unit_test(only_a_certificate_that_is_trusted_for_that_name_is_talked_to),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
