/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests whose address somebody else chose reach nothing private: 300 ways to spell one, names that change their mind
 * between two lookups, and redirects. A trap listens on every address of this machine; who connects to it is counted.
 *
 * Nothing leaves the machine: getaddrinfo and connect are this file's, also for libcurl.
 */
#include "tests/unit/unit.h"

#include "base/check.h"
#include "http/client.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define PUBLIC "198.41.0.4" /* what leads there ends at `mirror`, where that is set */

static atomic_int lookups, trapped, outside;
static atomic_int mirror; /* a port of ours that stands for the public internet; 0: nobody answers there */

/* --- the network, as libcurl sees it --- */

static const char *
address_of(const char *name)
{
	int n = atomic_fetch_add(&lookups, 1);

	if (strstr(name, "localhost"))
		return n % 2 ? "::1" : "127.0.0.1";
	if (strncmp(name, "rebind", 6) == 0)
		return n % 2 ? "127.0.0.1" : PUBLIC;
	if (strncmp(name, "inward", 6) == 0)
		return "127.0.0.1";
	return strncmp(name, "public", 6) == 0 ? PUBLIC : NULL;
}

static int
ask_really(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = NULL;
	struct addrinfo numeric = hints ? *hints : (struct addrinfo){ 0 };
	void *found = dlsym(RTLD_NEXT, "getaddrinfo");

	CHECK(found != NULL);
	memcpy(&real, &found, sizeof(real));
	numeric.ai_flags |= AI_NUMERICHOST;
	return real(node, service, &numeric, out);
}

/* Names by our own table, everything else only where it is a number in some spelling: no resolver is asked. */
int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	const char *known = node ? address_of(node) : NULL;
	struct addrinfo any = hints ? *hints : (struct addrinfo){ 0 };

	any.ai_family = AF_UNSPEC;
	return ask_really(known ? known : node, service, known ? &any : hints, out);
}

static bool
is_local(const struct sockaddr *to)
{
	struct sockaddr_in v4;

	memcpy(&v4, to, sizeof(v4));
	return to->sa_family == AF_INET6 ||
	       (to->sa_family == AF_INET && ntohl(v4.sin_addr.s_addr) >> 24 == 127) ||
	       v4.sin_addr.s_addr == 0;
}

/* What is this machine's goes through; the rest of the world is the mirror, or is not there. */
int
connect(int fd, const struct sockaddr *to, socklen_t size)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)atomic_load(&mirror)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int (*real)(int, const struct sockaddr *, socklen_t) = NULL;
	void *found = dlsym(RTLD_NEXT, "connect");

	CHECK(found != NULL);
	memcpy(&real, &found, sizeof(real));
	if (to->sa_family == AF_UNIX || is_local(to))
		return real(fd, to, size);
	atomic_fetch_add(&outside, 1);
	if (!here.sin_port || to->sa_family != AF_INET) {
		errno = ECONNREFUSED;
		return -1;
	}
	return real(fd, (const struct sockaddr *)&here, sizeof(here));
}

/* --- the trap --- */

struct trap {
	int fd, port;
	char answer[256];
	pthread_t thread;
};

static void *
serve(void *arg)
{
	struct trap *t = arg;
	char head[4096];
	int fd;

	while ((fd = accept(t->fd, NULL, NULL)) >= 0) {
		if (!t->answer[0])
			atomic_fetch_add(&trapped, 1);
		if (recv(fd, head, sizeof(head), 0) > 0)
			(void)send(fd,
				t->answer[0] ? t->answer : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
				t->answer[0] ? strlen(t->answer) : 40, MSG_NOSIGNAL);
		(void)close(fd);
	}
	return NULL;
}

static void
trap_set(struct trap *t, const char *answer)
{
	struct sockaddr_in6 all = { .sin6_family = AF_INET6 };
	socklen_t size = sizeof(all);
	int off = 0;

	*t = (struct trap){ .fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	(void)snprintf(t->answer, sizeof(t->answer), "%s", answer);
	assert_true(t->fd >= 0);
	assert_int_equal(setsockopt(t->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
	assert_int_equal(bind(t->fd, (const struct sockaddr *)&all, sizeof(all)), 0);
	assert_int_equal(listen(t->fd, 16), 0);
	assert_int_equal(getsockname(t->fd, (struct sockaddr *)&all, &size), 0);
	t->port = ntohs(all.sin6_port);
	assert_int_equal(pthread_create(&t->thread, NULL, serve, t), 0);
}

static void
trap_end(struct trap *t)
{
	(void)shutdown(t->fd, SHUT_RDWR);
	assert_int_equal(pthread_join(t->thread, NULL), 0);
	(void)close(t->fd);
}

static status
try(struct ctx *cx, const char *url, const struct http_net *allow, size_t count, bool guarded)
{
	struct http_client_request r = { .method = "POST",
		.url = str_of(url),
		.body = STR("{}"),
		.timeout_ms = 5000,
		.public_only = guarded,
		.allow = allow,
		.allow_count = count };
	struct http_client_answer a;

	return http_client_run(cx, &r, &a);
}

/* --- spellings --- */

static const unsigned char targets[][4] = { { 127, 0, 0, 1 }, { 127, 1, 2, 3 }, { 0, 0, 0, 0 },
	{ 10, 0, 0, 1 }, { 169, 254, 169, 254 }, { 192, 168, 0, 1 }, { 172, 16, 0, 1 },
	{ 100, 100, 100, 200 }, { 192, 0, 0, 192 }, { 224, 0, 0, 1 }, { 255, 255, 255, 255 },
	{ 168, 63, 129, 16 } };

/* $1d to $4d are the four numbers, $5d all of them as one, $p the port. */
static const char *const forms[] = {
	"http://$1d.$2d.$3d.$4d:$p/",
	"http://$1d.$2d.$3d.$4d.:$p/",
	"HTTP://$1d.$2d.$3d.$4d:$p/",
	"http:/$1d.$2d.$3d.$4d:$p/",
	"http:///$1d.$2d.$3d.$4d:$p/",
	"http://$5d:$p/",
	"http://0x$5x:$p/",
	"http://0X$5X:$p/",
	"http://0$5o:$p/",
	"http://0000000$5o:$p/",
	"http://0$1o.0$2o.0$3o.0$4o:$p/",
	"http://000$1o.000$2o.000$3o.000$4o:$p/",
	"http://0x$1x.0x$2x.0x$3x.0x$4x:$p/",
	"http://0x$1x.0$2o.$3d.$4d:$p/",
	"http://$1d.0x$2x.0$3o.$4d:$p/",
	"http://$1d.$2d.$3d.$4d:$p#@public.test/",
	"http://public.test@$1d.$2d.$3d.$4d:$p/",
	"http://public.test:80@$1d.$2d.$3d.$4d:$p/",
	"http://public.test#@$1d.$2d.$3d.$4d:$p/",
	"http://public.test\\@$1d.$2d.$3d.$4d:$p/",
	"http://$1d.$2d.$3d.$4d:$p\\@public.test/",
	"http://$1d%2e$2d%2e$3d%2e$4d:$p/",
	"http://$1d.$2d.$3d.$4d%00.public.test:$p/",
	"http://[::ffff:$1d.$2d.$3d.$4d]:$p/",
	"http://[::ffff:$1h$2h:$3h$4h]:$p/",
	"http://[0:0:0:0:0:FFFF:$1H$2H:$3H$4H]:$p/",
	"http://[::$1d.$2d.$3d.$4d]:$p/",
	"http://[64:ff9b::$1d.$2d.$3d.$4d]:$p/",
	"http://[64:ff9b:1::$1h$2h:$3h$4h]:$p/",
	"http://[2002:$1h$2h:$3h$4h::1]:$p/",
	"http://[2001:0:0:0:0:0:$1h$2h:$3h$4h]:$p/",
	"http://[fe80::5efe:$1d.$2d.$3d.$4d%25lo]:$p/",
	"https://$1d.$2d.$3d.$4d:$p/",
};

static const char *const others[] = { "http://localhost:$p/", "http://LOCALHOST:$p/", "http://localhost.:$p/",
	"http://LocalHost.:$p/", "http://localhost.localdomain:$p/", "http://ip6-localhost:$p/",
	"http://a.localhost:$p/", "http://inward.test:$p/", "http://inward.test.:$p/", "http://[::1]:$p/",
	"http://[::]:$p/", "http://[0:0:0:0:0:0:0:1]:$p/", "http://[::1%25lo]:$p/",
	"http://[fe80::1%25lo]:$p/", "http://[fc00::1]:$p/", "http://[fd00:ec2::254]:$p/",
	"http://[fec0::1]:$p/", "http://[ff02::1]:$p/", "http://[100::1]:$p/", "http://[2001:db8::1]:$p/",
	"http://[3fff::1]:$p/", "http://[5f00::1]:$p/", "http://127.1:$p/", "http://127.0.1:$p/",
	"http://0:$p/", "http://0x0:$p/", "http://00:$p/", "http://0177.1:$p/", "http://0x7f.1:$p/",
	"http://xn--inward.test:$p/", "http://inward.test:$p@public.test/",
	"http://%6c%6f%63%61%6c%68%6f%73%74:$p/", "http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1:$p/",
	"http://127\u30020\u30020\u30021:$p/", "http://127.0.0.1:$p\t/", "http://127.0.0.1 :$p/",
	"http://\r\n127.0.0.1:$p/", "file:///etc/passwd", "gopher://127.0.0.1:$p/_x", "dict://127.0.0.1:$p/",
	"ftp://127.0.0.1:$p/", "unix:///run/x.sock", "http+unix://%2frun%2fx/", "//127.0.0.1:$p/" };

/* One number in one way of writing. */
static int
write_number(char *out, size_t size, char how, unsigned long n)
{
	switch (how) {
	case 'o':
		return snprintf(out, size, "%lo", n);
	case 'x':
		return snprintf(out, size, "%lx", n);
	case 'X':
		return snprintf(out, size, "%lX", n);
	case 'h':
		return snprintf(out, size, "%02lx", n);
	case 'H':
		return snprintf(out, size, "%02lX", n);
	default:
		return snprintf(out, size, "%lu", n);
	}
}

static void
spell(char *out, size_t size, const char *form, const unsigned char a[4], int port)
{
	unsigned long all =
		(unsigned long)a[0] << 24 | (unsigned long)a[1] << 16 | (unsigned long)a[2] << 8 | a[3];
	size_t n = 0;

	for (const char *c = form; *c; c++) {
		if (*c != '$')
			out[n++] = *c;
		else if (*++c == 'p')
			n += (size_t)snprintf(out + n, size - n, "%d", port);
		else {
			unsigned long number = *c == '5' ? all : a[*c - '1'];

			n += (size_t)write_number(out + n, size - n, *++c, number);
		}
	}
	out[n] = '\0';
}

static void
refuse_url(struct unit *u, const char *url)
{
	struct arena_mark m = arena_mark(&u->arena);
	status s;

	s = try(&u->cx, url, NULL, 0, true);
	if (s != E_INVALID && s != E_UNAVAILABLE)
		print_error("%s: %s\n", url, status_info(s)->name);
	assert_true(s == E_INVALID || s == E_UNAVAILABLE);
	ctx_clear(&u->cx);
	arena_rewind(&u->arena, m);
}

/* With https, too: plain HTTP reaches no public address either, so there the guard has no say. */
static void
refuse(struct unit *u, const char *form, const unsigned char a[4], int port)
{
	char url[512], secure[sizeof(url) + 8];

	spell(url, sizeof(url), form, a, port);
	refuse_url(u, url);
	if (strncasecmp(url, "http://", 7) != 0)
		return;
	(void)snprintf(secure, sizeof(secure), "https%s", url + 4);
	refuse_url(u, secure);
}

/* Plain HTTP goes only where a network was named: this one. */
static struct http_net
public_net(void)
{
	struct http_net net;

	assert_true(http_net_read(STR(PUBLIC "/32"), &net));
	return net;
}

static void
no_spelling_of_a_private_address_is_connected_to_EX_1(void **state)
{
	size_t tried = 0;
	struct trap t;
	UNIT(u);

	(void)state;
	trap_set(&t, "");
	atomic_store(&trapped, 0);
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++, tried++)
			refuse(&u, forms[f], targets[i], t.port);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++, tried++)
		refuse(&u, others[i], targets[0], t.port);
	assert_int_equal(atomic_load(&trapped), 0);
	print_message("%zu spellings, 0 connects\n", tried);
	assert_true(tried >= 300);

	/* the trap is one: without the guard, and with a network that somebody in charge has named, it is reached */
	{
		struct http_net loopback;
		char url[64];

		assert_true(http_net_read(STR("127.0.0.0/8"), &loopback));
		spell(url, sizeof(url), forms[0], targets[0], t.port);
		(void)try(&u.cx, url, NULL, 0, false);
		assert_int_equal(atomic_load(&trapped), 1);
		(void)try(&u.cx, url, &loopback, 1, true);
		assert_int_equal(atomic_load(&trapped), 2);
		spell(url, sizeof(url), "http://[::1]:$p/", targets[0], t.port);
		assert_status(try(&u.cx, url, &loopback, 1, true), E_UNAVAILABLE);
		assert_int_equal(atomic_load(&trapped), 2);
	}
	trap_end(&t);
}

static void
a_name_that_changes_its_mind_gains_nothing(void **state)
{
	struct http_net named = public_net();
	char url[64];
	struct trap t;
	UNIT(u);

	(void)state;
	trap_set(&t, "");
	atomic_store(&trapped, 0);
	atomic_store(&outside, 0);
	(void)snprintf(url, sizeof(url), "http://rebind.test:%d/", t.port);
	for (int i = 0; i < 200; i++) {
		struct arena_mark m = arena_mark(&u.arena);

		assert_status(try(&u.cx, url, &named, 1, true), E_UNAVAILABLE);
		ctx_clear(&u.cx);
		arena_rewind(&u.arena, m);
	}
	assert_int_equal(atomic_load(&trapped), 0);
	assert_true(atomic_load(&outside) >= 50); /* whenever it was public, it was tried */
	trap_end(&t);
}

static void
a_redirect_inwards_is_not_followed(void **state)
{
	struct http_net named = public_net();
	struct trap t, redirector;
	char location[128];
	UNIT(u);

	(void)state;
	trap_set(&t, "");
	(void)snprintf(location, sizeof(location),
		"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: "
		"0\r\n\r\n",
		t.port);
	trap_set(&redirector, location);
	atomic_store(&trapped, 0);
	atomic_store(&mirror, redirector.port);
	assert_status(try(&u.cx, "http://public.test/", &named, 1, true), OK);
	assert_int_equal(atomic_load(&trapped), 0);
	atomic_store(&mirror, 0);
	trap_end(&redirector);
	trap_end(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_spelling_of_a_private_address_is_connected_to_EX_1),
		cmocka_unit_test(a_name_that_changes_its_mind_gains_nothing),
		cmocka_unit_test(a_redirect_inwards_is_not_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
