/* SPDX-License-Identifier: Apache-2.0 */
/* TLS and files: a certificate made here, a client of OpenSSL's. */
#include "fixture.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#define BIG (3u * MIB)

static void
say_much(struct http_exchange *x, void *arg)
{
	static char much[BIG];

	(void)arg;
	memset(much, 'm', sizeof(much));
	x->status = 200;
	http_answer_fixed(x, "application/json", (str){ much, sizeof(much) });
}

static void
open_stream(struct http_exchange *x, void *arg)
{
	scoped_lock held = lock(&world.lock);

	(void)arg;
	world.stream = http_stream_open(x);
	(void)http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("secret"));
}

static const struct http_route routes[] = {
	{ HTTP_GET_, "/", HTTP_INLINE, .handler = say_hello },
	{ HTTP_GET_, "/worker", HTTP_WORKER, .handler = say_hello },
	{ HTTP_GET_, "/much", HTTP_WORKER, .handler = say_much },
	{ HTTP_GET_, "/stream", HTTP_INLINE, .handler = open_stream },
	{ HTTP_POST_, "/echo", HTTP_WORKER, .takes_body = true, .handler = echo },
};

/* --- certificates --- */

static char directory[] = "/tmp/countersign-tls-XXXXXX";
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

static void
make_certificate(long serial)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	X509 *x = X509_new();

	assert_non_null(pair);
	assert_non_null(x);
	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), serial), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), -60));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), 3600));
	assert_int_equal(X509_set_pubkey(x, pair), 1);
	assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				 (const unsigned char *)"localhost", -1, -1, 0),
		1);
	assert_int_equal(X509_set_issuer_name(x, X509_get_subject_name(x)), 1);
	assert_true(X509_sign(x, pair, EVP_sha256()) > 0);
	write_pem(pair, x);
	X509_free(x);
	EVP_PKEY_free(pair);
}

static int
setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	(void)snprintf(certificate, sizeof(certificate), "%s/cert.pem", directory);
	(void)snprintf(key, sizeof(key), "%s/key.pem", directory);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)unlink(certificate);
	(void)unlink(key);
	return rmdir(directory);
}

/* --- a client --- */

struct secure {
	struct client plain;
	SSL_CTX *context;
	SSL *ssl;
	char text[BIG + 4096];
	size_t len;
};
static struct secure client;

/* False: there is no connection. */
static bool
shake(const struct fixture *f, int version, const char *protocol)
{
	client.len = 0;
	dial(&client.plain, f);
	client.context = SSL_CTX_new(TLS_client_method());
	assert_non_null(client.context);
	if (version)
		(void)SSL_CTX_set_max_proto_version(client.context, version);
	/* below TLS 1.2 the library itself has to be talked into offering it */
	(void)SSL_CTX_set_cipher_list(client.context, "DEFAULT:@SECLEVEL=0");
	if (protocol)
		assert_int_equal(SSL_CTX_set_alpn_protos(client.context, (const unsigned char *)protocol,
					 (unsigned)strlen(protocol)),
			0);
	client.ssl = SSL_new(client.context);
	assert_int_equal(SSL_set_fd(client.ssl, client.plain.fd), 1);
	return SSL_connect(client.ssl) == 1;
}

static void
leave(void)
{
	SSL_free(client.ssl);
	SSL_CTX_free(client.context);
	hang_up(&client.plain);
	ERR_clear_error();
}

static void
send_secure(str s)
{
	assert_int_equal(SSL_write(client.ssl, s.ptr, (int)s.len), (int)s.len);
}

/* Reads until there are n bytes, or text stands in it, or the end. */
static void
read_secure(const char *text, size_t n)
{
	size_t got;

	while (client.len < n && !(text && memmem(client.text, client.len, text, strlen(text)))) {
		if (SSL_read_ex(client.ssl, client.text + client.len, sizeof(client.text) - client.len,
			    &got) != 1)
			break;
		client.len += got;
	}
}

static long
serial(void)
{
	X509 *x = SSL_get1_peer_certificate(client.ssl);
	long n;

	assert_non_null(x);
	n = ASN1_INTEGER_get(X509_get_serialNumber(x));
	X509_free(x);
	return n;
}

#define SECURE .tls_certificate = certificate, .tls_key = key

static void
requests_are_answered_over_tls(void **state)
{
	(void)state;
	make_certificate(1);
	START(f, routes, SECURE);
	for (int i = 0; i < 3; i++) {
		static const int versions[] = { 0, TLS1_3_VERSION, TLS1_2_VERSION };

		assert_true(shake(&f, versions[i], "\x08http/1.1"));
		send_secure(
			STR(GET("/") "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
				     "Content-Length: 6\r\n\r\n\"e"));
		send_secure(STR("cho\"" GET("/worker")));
		read_secure("\"echo\"", sizeof(client.text));
		read_secure(NULL, client.len + 1); /* the third */
		assert_non_null(
			memmem(client.text, client.len, "Strict-Transport-Security: max-age=31536000", 43));
		assert_non_null(memmem(client.text, client.len, "\"hello\"", 7));
		leave();
	}
}

static void
old_versions_and_other_protocols_are_refused(void **state)
{
	(void)state;
	make_certificate(1);
	START(f, routes, SECURE);
	assert_false(shake(&f, TLS1_1_VERSION, NULL));
	leave();
	assert_false(shake(&f, 0, "\x02h2"));
	leave();
	/* plain HTTP is no handshake */
	DIAL(c, f);
	SAY(c, GET("/"));
	while (hear(&c))
		;
	assert_null(memmem(c.bytes, c.len, "HTTP/1.1", 8));
}

static void
a_large_answer_arrives_whole(void **state)
{
	const char *body;

	(void)state;
	make_certificate(1);
	START(f, routes, SECURE);
	assert_true(shake(&f, 0, NULL));
	send_secure(STR("GET /much HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
	read_secure(NULL, sizeof(client.text));
	assert_int_equal(SSL_get_error(client.ssl, 0), SSL_ERROR_ZERO_RETURN); /* it said goodbye */
	body = memmem(client.text, client.len, "\r\n\r\n", 4);
	assert_non_null(body);
	assert_int_equal(client.len - (size_t)(body + 4 - client.text), BIG);
	for (size_t i = 0; i < BIG; i++)
		assert_true(body[4 + i] == 'm');
	leave();
}

static void
streams_work_over_tls(void **state)
{
	(void)state;
	make_certificate(1);
	START(f, routes, SECURE);
	assert_true(shake(&f, 0, NULL));
	send_secure(STR(GET("/stream")));
	read_secure("data: secret\n\n", sizeof(client.text));
	assert_true(http_stream_send(world.stream, (str){ 0 }, (str){ 0 }, STR("more")));
	read_secure("data: more\n\n", sizeof(client.text));
	http_server_stop(f.server);
	read_secure(NULL, sizeof(client.text));
	leave();
	join(&f);
}

static void
a_client_that_says_goodbye_is_gone(void **state)
{
	struct http_stats s = { .connections = 1 };

	(void)state;
	make_certificate(1);
	START(f, routes, SECURE);
	assert_true(shake(&f, 0, NULL));
	send_secure(STR(GET("/")));
	read_secure("\"hello\"", sizeof(client.text));
	(void)SSL_shutdown(client.ssl);
	while (s.connections) {
		http_server_stats(f.server, &s);
		(void)poll(NULL, 0, 1);
	}
	leave();
}

static void
a_handshake_that_does_not_end_is_closed(void **state)
{
	(void)state;
	make_certificate(1);
	START(f, routes, SECURE, .head_ms = 50);
	DIAL(c, f);
	SAY(c, "\x16\x03\x01\x02");
	assert_true(closed(&c));
}

static void
a_reload_brings_the_new_certificate_and_a_bad_one_changes_nothing(void **state)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), before;
	long seen = 0;

	(void)state;
	make_certificate(1);
	START(f, routes, SECURE);
	assert_true(shake(&f, 0, NULL));
	assert_int_equal(serial(), 1);
	make_certificate(2);
	http_server_reload(f.server);
	/* who is connected stays */
	send_secure(STR(GET("/")));
	read_secure("\"hello\"", sizeof(client.text));
	assert_non_null(memmem(client.text, client.len, "\"hello\"", 7));
	leave();
	while (seen != 2) {
		assert_true(shake(&f, 0, NULL));
		seen = serial();
		leave();
	}
	/* a bad file: the old one goes on, and a good one after it is taken */
	before = open(certificate, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(before >= 0 && write(before, "no", 2) == 2 && close(before) == 0);
	log_set_fd(null);
	http_server_reload(f.server);
	for (int i = 0; i < 5; i++) {
		assert_true(shake(&f, 0, NULL));
		assert_int_equal(serial(), 2);
		leave();
	}
	make_certificate(3);
	http_server_reload(f.server);
	while (seen != 3) {
		assert_true(shake(&f, 0, NULL));
		seen = serial();
		leave();
	}
	log_set_fd(STDERR_FILENO);
	(void)close(null);
}

static void
a_certificate_that_cannot_be_used_is_said(void **state)
{
	struct http_options o = { .host = "127.0.0.1", SECURE };
	struct http_server *s = NULL;
	char kept[64];

	(void)state;
	UNIT(u);
	o.tls_certificate = "/no/such/file";
	assert_status(http_server_new(&u.cx, &o, routes, 1, &s), E_INVALID);
	assert_non_null(strstr(u.cx.error.message.ptr, "/no/such/file"));
	o.tls_certificate = certificate;
	o.tls_key = "/no/such/key";
	make_certificate(1);
	assert_status(http_server_new(&u.cx, &o, routes, 1, &s), E_INVALID);
	/* a key of somebody else */
	(void)snprintf(kept, sizeof(kept), "%s/other.pem", directory);
	assert_int_equal(rename(key, kept), 0);
	make_certificate(2);
	o.tls_key = kept;
	assert_status(http_server_new(&u.cx, &o, routes, 1, &s), E_INVALID);
	assert_int_equal(unlink(kept), 0);
	assert_null(s);
}

/* --- files --- */

static const struct http_file files[] = {
	{ "", "text/html; charset=utf-8", { "<p>index</p>", 12 }, false },
	{ "assets/app.1.js", "text/javascript", { "1", 1 }, true },
	{ "empty", "text/plain", { "", 0 }, false },
	{ "packed", "text/plain", { "as it is", 8 }, true, { "zip", 3 } },
};

static void
files_have_tags_and_rules(void **state)
{
	struct http_files *table;
	struct got g;
	char request[256];
	char tag[64];

	(void)state;
	UNIT(u);
	assert_status(http_files_new(&u.cx, files, 4, &table), OK);
	const struct http_route paths[] = {
		{ HTTP_GET_, "/", HTTP_INLINE, .handler = http_files_serve, .arg = table },
		{ HTTP_GET_, "/{*}", HTTP_INLINE, .handler = http_files_serve, .arg = table },
	};
	START(f, paths);
	ask(&f, STR(GET("/")), &g);
	assert_string_equal(g.body, "<p>index</p>");
	assert_string_equal(header(&g, "Cache-Control"), "no-cache");
	assert_non_null(strstr(header(&g, "Content-Security-Policy"), "frame-ancestors 'none'"));
	(void)snprintf(tag, sizeof(tag), "%s", header(&g, "ETag"));
	assert_int_equal(strlen(tag), 34);
	static const char *const same[] = { "%s", "W/%s", "\"x\", %s", "*", "W/\"y\" , W/%s ,\"z\"" };
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		char *at = strstr(same[i], "%s");
		int before = at ? (int)(at - same[i]) : (int)strlen(same[i]);

		(void)snprintf(request, sizeof(request),
			"GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: %.*s%s%s\r\n\r\n" GET("/empty"), before,
			same[i], at ? tag : "", at ? at + 2 : "");
		ask(&f, str_of(request), &g);
		assert_int_equal(g.status, 304);
		assert_int_equal(g.body_len, 0);
		assert_string_equal(header(&g, "ETag"), tag);
		assert_string_equal(header(&g, "Content-Length"), "");
	}
	ask(&f, STR("GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"other\"\r\n\r\n"), &g);
	assert_int_equal(g.status, 200);
	ask(&f, STR(GET("/assets/app.1.js")), &g);
	assert_string_equal(header(&g, "Cache-Control"), "public, max-age=31536000, immutable");
	assert_string_equal(header(&g, "Content-Type"), "text/javascript");
	assert_string_equal(g.body, "1");
	ask(&f, STR(GET("/empty")), &g);
	assert_int_equal(g.status, 200);
	assert_int_equal(g.body_len, 0);
	ask(&f, STR(GET("/assets/app.2.js")), &g);
	assert_int_equal(g.status, 404);
	assert_non_null(strstr(g.body, "not_found"));
	assert_string_equal(header(&g, "Cache-Control"), "no-store");
}

static void
who_takes_gzip_gets_it_with_a_tag_of_its_own(void **state)
{
	static const struct {
		const char *accept, *body;
	} cases[] = {
		{ "gzip", "zip" },
		{ "br, gzip;q=0.5", "zip" },
		{ "*", "zip" },
		{ "gzip;q=0", "as it is" },
		{ "gzip; q=0.000, br", "as it is" },
		{ "br", "as it is" },
		{ "", "as it is" },
	};
	struct http_files *table;
	struct got g;
	char request[256], plain[64], packed[64];

	(void)state;
	UNIT(u);
	assert_status(http_files_new(&u.cx, files, 4, &table), OK);
	const struct http_route paths[] = {
		{ HTTP_GET_, "/{*}", HTTP_INLINE, .handler = http_files_serve, .arg = table },
	};
	START(f, paths);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool zip = cases[i].body[0] == 'z';

		(void)snprintf(request, sizeof(request),
			"GET /packed HTTP/1.1\r\nHost: a\r\nAccept-Encoding: %s\r\n\r\n", cases[i].accept);
		ask(&f, str_of(request), &g);
		assert_string_equal(g.body, cases[i].body);
		assert_string_equal(header(&g, "Content-Encoding"), zip ? "gzip" : "");
		assert_string_equal(header(&g, "Vary"), "Accept-Encoding");
		(void)snprintf(zip ? packed : plain, sizeof(packed), "%s", header(&g, "ETag"));
	}
	assert_string_not_equal(plain, packed);
	(void)snprintf(request, sizeof(request),
		"GET /packed HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nIf-None-Match: %s\r\n\r\n",
		plain);
	ask(&f, str_of(request), &g);
	assert_int_equal(g.status, 200); /* the tag of the other bytes */
	(void)snprintf(request, sizeof(request),
		"GET /packed HTTP/1.1\r\nHost: a\r\nIf-None-Match: %s\r\n\r\n", plain);
	ask(&f, str_of(request), &g);
	assert_int_equal(g.status, 304);
	ask(&f, STR("GET /empty HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"), &g);
	assert_string_equal(header(&g, "Vary"), "");
}

static void
two_files_of_one_path_are_invalid(void **state)
{
	static const struct http_file same[] = { { "a", "", { "", 0 }, false }, { "b", "", { "", 0 }, false },
		{ "a", "", { "", 0 }, false } };
	struct http_files *table = NULL;

	(void)state;
	UNIT(u);
	assert_status(http_files_new(&u.cx, same, 3, &table), E_INVALID);
	assert_null(table);
	assert_status(http_files_new(&u.cx, NULL, 0, &table), OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_answered_over_tls),
		cmocka_unit_test(old_versions_and_other_protocols_are_refused),
		cmocka_unit_test(a_large_answer_arrives_whole),
		cmocka_unit_test(streams_work_over_tls),
		cmocka_unit_test(a_client_that_says_goodbye_is_gone),
		cmocka_unit_test(a_handshake_that_does_not_end_is_closed),
		cmocka_unit_test(a_reload_brings_the_new_certificate_and_a_bad_one_changes_nothing),
		cmocka_unit_test(a_certificate_that_cannot_be_used_is_said),
		cmocka_unit_test(files_have_tags_and_rules),
		cmocka_unit_test(two_files_of_one_path_are_invalid),
		cmocka_unit_test(who_takes_gzip_gets_it_with_a_tag_of_its_own),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
