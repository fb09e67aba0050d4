/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tls.h"

#include "base/check.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

struct http_tls_context {
	SSL_CTX *ssl;
};

struct http_tls {
	SSL *ssl;
	BIO *in, *out; /* owned by ssl */
};

/* The reason of the last error, for a person; OpenSSL's queue is empty afterwards. */
static const char *
reason(void)
{
	unsigned long e = ERR_peek_last_error();
	const char *text = e ? ERR_reason_error_string(e) : NULL;

	ERR_clear_error();
	return text ? text : "unknown error";
}

static status
load(struct ctx *cx, SSL_CTX *ssl, const char *certificate, const char *key)
{
	if (SSL_CTX_use_certificate_chain_file(ssl, certificate) != 1)
		return fail(cx, E_INVALID, "the certificate %s cannot be used: %s", certificate, reason());
	if (SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
		return fail(cx, E_INVALID, "the key %s cannot be used: %s", key, reason());
	if (SSL_CTX_check_private_key(ssl) != 1)
		return fail(
			cx, E_INVALID, "the key %s does not belong to %s: %s", key, certificate, reason());
	return OK;
}

/* Only HTTP/1.1 is spoken here: a client that offers nothing we have is told so in the handshake. */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
	unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

status
http_tls_context_new(
	struct ctx *cx, const char *certificate, const char *key, struct http_tls_context **out_context)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
	struct http_tls_context *t;
	status s;

	CHECK(ssl);
	CHECK(SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1);
	(void)SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	/* an idle connection gives its buffers back; a moved buffer is no error; tickets are enough to resume
	 */
	(void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	(void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
	s = load(cx, ssl, certificate, key);
	if (s != OK) {
		SSL_CTX_free(ssl);
		return s;
	}
	t = malloc(sizeof(*t));
	CHECK(t);
	t->ssl = ssl;
	*out_context = t;
	return OK;
}

void
http_tls_context_free(struct http_tls_context *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->ssl); /* connections hold their own reference */
	free(t);
}

struct http_tls *
http_tls_new(struct http_tls_context *context)
{
	struct http_tls *t = malloc(sizeof(*t));

	CHECK(t);
	t->ssl = SSL_new(context->ssl);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	CHECK(t->ssl && t->in && t->out);
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	return t;
}

void
http_tls_free(struct http_tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	free(t);
}

void
http_tls_feed(struct http_tls *t, str bytes)
{
	CHECK(bytes.len <= 1 << 20 && BIO_write(t->in, bytes.ptr, (int)bytes.len) == (int)bytes.len);
}

enum http_tls_event
http_tls_read(struct http_tls *t, char *out, size_t room, size_t *out_len)
{
	int error;

	ERR_clear_error();
	if (SSL_read_ex(t->ssl, out, room, out_len) == 1)
		return HTTP_TLS_TEXT;
	error = SSL_get_error(t->ssl, 0);
	ERR_clear_error();
	if (error == SSL_ERROR_WANT_READ)
		return HTTP_TLS_MORE;
	return error == SSL_ERROR_ZERO_RETURN ? HTTP_TLS_END : HTTP_TLS_BROKEN;
}

bool
http_tls_ready(const struct http_tls *t)
{
	return SSL_is_init_finished(t->ssl) == 1;
}

bool
http_tls_write(struct http_tls *t, str text)
{
	size_t written;
	bool ok;

	if (text.len == 0)
		return true;
	ERR_clear_error();
	ok = SSL_write_ex(t->ssl, text.ptr, text.len, &written) == 1 && written == text.len;
	ERR_clear_error();
	return ok;
}

void
http_tls_end(struct http_tls *t)
{
	ERR_clear_error();
	(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
}

char *
http_tls_take(struct http_tls *t, size_t *out_len)
{
	size_t n = BIO_ctrl_pending(t->out);
	char *bytes;

	if (n == 0)
		return NULL;
	bytes = malloc(n);
	CHECK(bytes && n < INT32_MAX && BIO_read(t->out, bytes, (int)n) == (int)n);
	*out_len = n;
	return bytes;
}
