/* SPDX-License-Identifier: Apache-2.0 */
#include "pgproxy.h"

#include "base/check.h"
#include "base/scoped.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PAIRS 64

struct pair {
	int client, server;	    /* -1: closed */
	enum pgproxy_action action; /* what was set off on this connection */
	char *held;
	size_t held_len;
};

struct pgproxy {
	pthread_t thread;
	int listener, wake[2];
	int port;
	char host[200], upstream_port[16];

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t obeyed;
	bool stopping, refusing, cutting, fired;
	enum pgproxy_action action;
	char needle[64];
	size_t needle_len;
	int nth; /* how many messages with the needle are still to come, the last of them counts */

	/* the thread's own */
	struct pair pairs[PAIRS];
	int asks; /* how often somebody asked whether the old backend is gone */
};

static int
connect_unix(const struct pgproxy *p)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.80s/.s.PGSQL.%.10s", p->host, p->upstream_port);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static int
connect_tcp(const struct pgproxy *p)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
	int fd = -1;

	if (getaddrinfo(p->host, p->upstream_port, &hints, &list) != 0)
		return -1;
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) != 0) {
		(void)close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd;
}

static void
close_end(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static void
close_pair(struct pair *pair)
{
	close_end(&pair->client);
	close_end(&pair->server);
	free(pair->held);
	*pair = (struct pair){ .client = -1, .server = -1 };
}

static void
forward(struct pair *pair, int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0) {
			close_pair(pair);
			return;
		}
		bytes += n;
		len -= (size_t)n;
	}
}

static void
accept_one(struct pgproxy *p, bool refusing)
{
	int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	int server = client < 0 || refusing ? -1 : p->host[0] == '/' ? connect_unix(p) : connect_tcp(p);

	for (size_t i = 0; server >= 0 && i < PAIRS; i++) {
		if (p->pairs[i].server < 0) {
			p->pairs[i] = (struct pair){ .client = client, .server = server };
			return;
		}
	}
	close_end(&client);
	close_end(&server);
}

/* Does this message set the action off? */
static enum pgproxy_action
fire(struct pgproxy *p, const char *bytes, size_t len)
{
	scoped_lock held = lock(&p->mutex);

	if (p->action == PGPROXY_NONE || !memmem(bytes, len, p->needle, p->needle_len) || --p->nth > 0)
		return PGPROXY_NONE;
	enum pgproxy_action action = p->action;
	p->action = PGPROXY_NONE;
	p->fired = true;
	return action;
}

/*
 * The held message reaches the server when the client has asked twice whether
 * the old backend is gone: late enough that whoever does not wait is wrong.
 */
static void
release_held(struct pgproxy *p, const char *bytes, size_t len)
{
	static const char question[] = "FROM pg_stat_activity WHERE pid = $1";

	if (!memmem(bytes, len, question, sizeof(question) - 1) || ++p->asks != 3)
		return;
	for (size_t i = 0; i < PAIRS; i++) {
		struct pair *pair = &p->pairs[i];

		if (!pair->held)
			continue;
		forward(pair, pair->server, pair->held, pair->held_len);
		free(pair->held);
		pair->held = NULL;
		if (pair->server >= 0)
			(void)shutdown(pair->server, SHUT_WR);
	}
}

static void
from_client(struct pgproxy *p, struct pair *pair, const char *bytes, size_t len)
{
	enum pgproxy_action action = fire(p, bytes, len);

	release_held(p, bytes, len);
	if (action != PGPROXY_NONE)
		pair->action = action;
	if (action == PGPROXY_CUT) {
		close_pair(pair);
	} else if (action == PGPROXY_HOLD) {
		p->asks = 0;
		pair->held = malloc(len);
		CHECK(pair->held != NULL);
		memcpy(pair->held, bytes, len);
		pair->held_len = len;
		close_end(&pair->client);
	} else {
		forward(pair, pair->server, bytes, len);
	}
}

static void
warn(struct pair *pair)
{
	static const char fields[] =
		"SWARNING\0VWARNING\0C01000\0Mcanceling wait for synchronous replication\0";
	char message[sizeof(fields) + 5] = { 'N' };
	uint32_t len = htonl(sizeof(fields) + 4);

	memcpy(message + 1, &len, sizeof(len));
	memcpy(message + 5, fields, sizeof(fields));
	forward(pair, pair->client, message, sizeof(message));
}

static void
from_server(struct pair *pair, const char *bytes, size_t len)
{
	if (pair->client < 0)
		return; /* nobody listens any more */
	if (pair->action == PGPROXY_CUT_ANSWER) {
		close_pair(pair);
		return;
	}
	if (pair->action == PGPROXY_WARN) {
		pair->action = PGPROXY_NONE;
		warn(pair);
	}
	forward(pair, pair->client, bytes, len);
	if (pair->action == PGPROXY_CUT_AFTER)
		close_pair(pair);
}

static void
pump(struct pgproxy *p, struct pair *pair, bool client)
{
	char bytes[65536];
	ssize_t n = recv(client ? pair->client : pair->server, bytes, sizeof(bytes), 0);

	if (n <= 0)
		close_pair(pair);
	else if (client)
		from_client(p, pair, bytes, (size_t)n);
	else
		from_server(pair, bytes, (size_t)n);
}

/* False when it is time to stop. */
static bool
obey(struct pgproxy *p, bool *out_refusing)
{
	scoped_lock held = lock(&p->mutex);

	for (size_t i = 0; p->cutting && i < PAIRS; i++)
		close_pair(&p->pairs[i]);
	p->cutting = false;
	CHECK(pthread_cond_broadcast(&p->obeyed) == 0);
	*out_refusing = p->refusing;
	return !p->stopping;
}

static void *
serve(void *arg)
{
	struct pgproxy *p = arg;
	bool refusing = false;

	while (obey(p, &refusing)) {
		struct pollfd fds[2 + 2 * PAIRS] = {
			{ .fd = p->listener, .events = POLLIN },
			{ .fd = p->wake[0], .events = POLLIN },
		};
		char byte;

		for (size_t i = 0; i < PAIRS; i++) {
			fds[2 + 2 * i] = (struct pollfd){ .fd = p->pairs[i].client, .events = POLLIN };
			fds[3 + 2 * i] = (struct pollfd){ .fd = p->pairs[i].server, .events = POLLIN };
		}
		if (poll(fds, 2 + 2 * PAIRS, -1) < 0)
			continue;
		if (fds[1].revents && read(p->wake[0], &byte, 1) == 1)
			continue;
		for (size_t i = 0; i < PAIRS; i++) {
			if (fds[2 + 2 * i].revents && p->pairs[i].client == fds[2 + 2 * i].fd)
				pump(p, &p->pairs[i], true);
			if (fds[3 + 2 * i].revents && p->pairs[i].server == fds[3 + 2 * i].fd)
				pump(p, &p->pairs[i], false);
		}
		if (fds[0].revents)
			accept_one(p, refusing);
	}
	return NULL;
}

struct pgproxy *
pgproxy_start(const char *host, const char *port)
{
	struct pgproxy *p = calloc(1, sizeof(*p));
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);

	CHECK(p != NULL);
	(void)snprintf(p->host, sizeof(p->host), "%s", host);
	(void)snprintf(p->upstream_port, sizeof(p->upstream_port), "%s", port);
	for (size_t i = 0; i < PAIRS; i++)
		p->pairs[i] = (struct pair){ .client = -1, .server = -1 };
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(p->listener >= 0 && bind(p->listener, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(listen(p->listener, 16) == 0);
	CHECK(getsockname(p->listener, (struct sockaddr *)&a, &size) == 0);
	p->port = ntohs(a.sin_port);
	CHECK(pipe(p->wake) == 0);
	CHECK(pthread_mutex_init(&p->mutex, NULL) == 0);
	CHECK(pthread_cond_init(&p->obeyed, NULL) == 0);
	CHECK(pthread_create(&p->thread, NULL, serve, p) == 0);
	return p;
}

static void
wake(const struct pgproxy *p)
{
	CHECK(write(p->wake[1], "", 1) == 1);
}

void
pgproxy_stop(struct pgproxy *p)
{
	CHECK(pthread_mutex_lock(&p->mutex) == 0);
	p->stopping = p->cutting = true;
	CHECK(pthread_mutex_unlock(&p->mutex) == 0);
	wake(p);
	CHECK(pthread_join(p->thread, NULL) == 0);
	(void)close(p->listener);
	(void)close(p->wake[0]);
	(void)close(p->wake[1]);
	CHECK(pthread_cond_destroy(&p->obeyed) == 0);
	CHECK(pthread_mutex_destroy(&p->mutex) == 0);
	free(p);
}

int
pgproxy_port(const struct pgproxy *p)
{
	return p->port;
}

void
pgproxy_arm(struct pgproxy *p, enum pgproxy_action action, const char *needle, size_t len)
{
	scoped_lock held = lock(&p->mutex);

	CHECK(len <= sizeof(p->needle));
	memcpy(p->needle, needle, len);
	p->needle_len = len;
	p->action = action;
	p->nth = 1;
	p->fired = false;
}

void
pgproxy_arm_nth(struct pgproxy *p, enum pgproxy_action action, int nth)
{
	scoped_lock held = lock(&p->mutex);

	p->needle_len = 0;
	p->action = action;
	p->nth = nth;
	p->fired = false;
}

bool
pgproxy_fired(struct pgproxy *p)
{
	scoped_lock held = lock(&p->mutex);

	return p->fired;
}

void
pgproxy_refuse(struct pgproxy *p, bool refuse)
{
	scoped_lock held = lock(&p->mutex);

	p->refusing = refuse;
	wake(p);
}

void
pgproxy_cut_all(struct pgproxy *p)
{
	scoped_lock held = lock(&p->mutex);

	p->cutting = true;
	wake(p);
	while (p->cutting)
		CHECK(pthread_cond_wait(&p->obeyed, &p->mutex) == 0);
}
