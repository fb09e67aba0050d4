/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: clients that each keep one connection and ask one thing after another for some seconds.
 *
 *	bench-load propose PORT CLIENTS SECONDS TOKEN...
 *	bench-load flow    PORT CLIENTS SECONDS TOKEN... VOTER
 *	bench-load ask     PORT CLIENTS SECONDS TOKEN... FILE
 *
 * Clients take the tokens in turn. propose: one proposal of note.create each time. flow: that, then a
 * vote and an apply with the voter's token, three requests. ask: the request in FILE, with another token each
 * time; FILE has the text that every answer must contain, then the request's head, then its body, an empty line
 * (CR LF CR LF) between them; Authorization and Content-Length are added, and a TOKEN may have further header
 * lines behind it. Prints
 * "done microseconds p50_us p99_us" of whole turns. An answer that is not 2xx ends it with exit code 1.
 */
#include "base/check.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_CLIENTS 64
#define MOST_TURNS   400000 /* remembered, of one client */
#define ANSWER_BYTES (1 << 20)
#define ASKED_BYTES  16384 /* the file of ask */
#define ID_BYTES     128

/* What every client asks: one request for each token. */
struct asked {
	char text[ASKED_BYTES];
	const char *expected;
	char **requests;
	size_t count;
};

struct client {
	pthread_t thread;
	int fd, number;
	const char *token, *voter; /* voter: NULL where it only proposes */
	const struct asked *asked; /* NULL: it proposes */
	int64_t until_us, done;
	uint32_t *took_us;
	size_t have; /* of the answer */
	char answer[ANSWER_BYTES];
};

static void
die(const char *what, const char *more)
{
	(void)fprintf(stderr, "bench-load: %s\n%s\n", what, more);
	exit(1);
}

static int
dial(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	CHECK(fd >= 0 && inet_pton(AF_INET, "127.0.0.1", &to.sin_addr) == 1);
	CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) == 0);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
		die("cannot connect", "");
	return fd;
}

static void
say(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n <= 0)
			die("the server hung up", "");
		bytes += n;
		len -= (size_t)n;
	}
}

static void
hear_more(struct client *c)
{
	ssize_t n = read(c->fd, c->answer + c->have, sizeof(c->answer) - 1 - c->have);

	if (n <= 0)
		die("the server hung up", c->answer);
	c->have += (size_t)n;
	c->answer[c->have] = 0;
}

/* The value of a header, or NULL. The head ends with an empty line, which is followed by a 0 meanwhile. */
static const char *
header(const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	return at ? at + strlen(name) : NULL;
}

/* Chunks as they came, up to the last one, which is empty. */
static void
hear_chunks(struct client *c)
{
	while (c->have < 5 || memcmp(c->answer + c->have - 5, "0\r\n\r\n", 5) != 0)
		hear_more(c);
}

/* One whole answer; stays in c->answer. */
static void
hear(struct client *c)
{
	const char *length, *coding;
	char *body;

	c->have = 0;
	do
		hear_more(c);
	while (!(body = strstr(c->answer, "\r\n\r\n")));
	body += 4;
	char first = *body;

	*body = 0;
	length = header(c->answer, "\r\ncontent-length:");
	coding = header(c->answer, "\r\ntransfer-encoding: chunked");
	*body = first;
	if (!length && !coding)
		die("an answer of unknown length", c->answer);
	size_t whole = (size_t)(body - c->answer) + (length ? strtoul(length, NULL, 10) : 0);

	if (coding)
		hear_chunks(c);
	while (c->have < whole)
		hear_more(c);
	if (strncmp(c->answer, "HTTP/1.1 2", 10) != 0)
		die("not a success", c->answer);
}

static void
post(struct client *c, const char *path, const char *token, const char *body)
{
	char request[2048];
	int n = snprintf(request, sizeof(request),
		"POST %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		path, token, strlen(body), body);

	CHECK(n > 0 && (size_t)n < sizeof(request));
	say(c->fd, request, (size_t)n);
	hear(c);
}

/* The text of a member at the top of the answer. Enough for ids and hashes, which need no escapes. */
static void
member(const struct client *c, const char *key, char out[ID_BYTES])
{
	char quoted[64];
	const char *at, *end;

	(void)snprintf(quoted, sizeof(quoted), "\"%s\":\"", key);
	at = strstr(c->answer, quoted);
	end = at ? strchr(at + strlen(quoted), '"') : NULL;
	if (!end || (size_t)(end - at) >= ID_BYTES)
		die(key, c->answer);
	at += strlen(quoted);
	memcpy(out, at, (size_t)(end - at));
	out[end - at] = 0;
}

static void
ask(struct client *c)
{
	const struct asked *a = c->asked;
	const char *request = a->requests[((size_t)c->number + (size_t)c->done) % a->count];

	say(c->fd, request, strlen(request));
	hear(c);
	if (!strstr(c->answer, a->expected))
		die("not what was expected", c->answer);
}

static void
turn(struct client *c)
{
	char body[512], path[256], id[ID_BYTES], hash[ID_BYTES];

	(void)snprintf(body, sizeof(body),
		"{\"tool\":\"note.create\",\"input\":{\"title\":\"Note %d.%" PRId64 "\","
		"\"text\":\"What an agent would like to remember, in one sentence of ordinary length.\"}}",
		c->number, c->done);
	post(c, "/api/v1/proposals", c->token, body);
	if (!c->voter)
		return;
	member(c, "proposalId", id);
	member(c, "viewHash", hash);
	(void)snprintf(path, sizeof(path), "/api/v1/proposals/%s/approve", id);
	(void)snprintf(body, sizeof(body), "{\"viewHash\":\"%s\"}", hash);
	post(c, path, c->voter, body);
	(void)snprintf(path, sizeof(path), "/api/v1/proposals/%s/apply", id);
	post(c, path, c->voter, "{}");
}

static void *
drive(void *arg)
{
	struct client *c = arg;
	int64_t before = clock_mono_us();

	while (before < c->until_us && c->done < MOST_TURNS) {
		if (c->asked)
			ask(c);
		else
			turn(c);
		int64_t now = clock_mono_us();

		c->took_us[c->done++] = (uint32_t)(now - before);
		before = now;
	}
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
report(const struct client *clients, int count, int64_t us)
{
	size_t done = 0, at = 0;
	uint32_t *all;

	for (int i = 0; i < count; i++)
		done += (size_t)clients[i].done;
	if (done == 0)
		die("nothing was done", "");
	all = calloc(done, sizeof(*all));
	CHECK(all != NULL);
	for (int i = 0; i < count; i++) {
		memcpy(all + at, clients[i].took_us, (size_t)clients[i].done * sizeof(*all));
		at += (size_t)clients[i].done;
	}
	qsort(all, done, sizeof(*all), compare);
	(void)printf("%zu %" PRId64 " %u %u\n", done, us, all[done / 2], all[done * 99 / 100]);
	free(all);
}

/* Ends text at the next empty line; gives what follows it. */
static char *
cut(char *text)
{
	char *end = strstr(text, "\r\n\r\n");

	if (!end)
		die("the file has not three parts", text);
	*end = 0;
	return end + 4;
}

static void
read_asked(const char *path, char **tokens, size_t count, struct asked *a)
{
	FILE *f = fopen(path, "r");
	char *head, *body;

	if (!f || fread(a->text, 1, sizeof(a->text) - 1, f) == 0)
		die("cannot read", path);
	(void)fclose(f);
	a->expected = a->text;
	head = cut(a->text);
	body = cut(head);
	a->requests = calloc(count, sizeof(*a->requests));
	CHECK(a->requests != NULL);
	a->count = count;
	for (size_t i = 0; i < count; i++)
		CHECK(asprintf(&a->requests[i],
			      "%s\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s", head,
			      tokens[i], strlen(body), body) > 0);
}

int
main(int argc, char **argv)
{
	static struct client clients[MOST_CLIENTS];
	static struct asked asked;
	bool flow = argc > 1 && strcmp(argv[1], "flow") == 0, asks = argc > 1 && strcmp(argv[1], "ask") == 0;
	int count, tokens = argc - 5 - (flow || asks ? 1 : 0);

	if (tokens < 1 || (!flow && !asks && strcmp(argv[1], "propose") != 0))
		die("usage: bench-load propose|flow|ask PORT CLIENTS SECONDS TOKEN... [VOTER|FILE]", "");
	if (asks)
		read_asked(argv[argc - 1], argv + 5, (size_t)tokens, &asked);
	count = (int)strtol(argv[3], NULL, 10);
	CHECK(count >= 1 && count <= MOST_CLIENTS);
	int64_t start = clock_mono_us(), until = start + (int64_t)(strtod(argv[4], NULL) * 1e6);

	for (int i = 0; i < count; i++) {
		struct client *c = &clients[i];

		c->number = i;
		c->fd = dial((int)strtol(argv[2], NULL, 10));
		c->token = argv[5 + i % tokens];
		c->voter = flow ? argv[argc - 1] : NULL;
		c->asked = asks ? &asked : NULL;
		c->until_us = until;
		c->took_us = calloc(MOST_TURNS, sizeof(*c->took_us));
		CHECK(c->took_us != NULL && pthread_create(&c->thread, NULL, drive, c) == 0);
	}
	for (int i = 0; i < count; i++)
		CHECK(pthread_join(clients[i].thread, NULL) == 0);
	report(clients, count, clock_mono_us() - start);
	for (int i = 0; i < count; i++) {
		(void)close(clients[i].fd);
		free(clients[i].took_us);
	}
	return 0;
}
