/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MCP server that costs next to nothing, to be measured through gateways (bench/gateway.py): one tool, `read_item`, which
 * answers at once. Legacy era, no sessions.
 *
 *	bench-upstream http	prints "ready PORT", serves /mcp
 *	bench-upstream stdio	a message a line
 *	bench-upstream relay TO	prints "ready PORT", copies bytes to and from port TO, one client at a time: the least that anything in
 *				between can add
 */
#include "base/check.h"
#include "http/http.h"
#include "json/out.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOOL                                                                                                 \
	"{\"name\":\"read_item\",\"description\":\"Reads an "                                                \
	"item.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"                                       \
	"{\"id\":{\"type\":\"string\"}},\"required\":[\"id\"],\"additionalProperties\":false},"              \
	"\"annotations\":{\"readOnlyHint\":true}}"

static void
write_call(struct json_out *o, const struct json *params)
{
	const struct json *id = json_get(json_get(params, STR("arguments")), STR("id"));

	json_out_array(o, "content");
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", id ? id->text : STR("?"));
	json_out_end(o);
	json_out_end(o);
}

static void
write_welcome(struct json_out *o, const struct json *params)
{
	json_out_value(o, "protocolVersion", json_get(params, STR("protocolVersion")));
	json_out_raw(o, "capabilities", STR("{\"tools\":{}}"));
	json_out_raw(o, "serverInfo", STR("{\"name\":\"bench\",\"version\":\"1\"}"));
}

static void
write_result(struct json_out *o, str method, const struct json *params)
{
	if (str_eq(method, STR("initialize")))
		write_welcome(o, params);
	else if (str_eq(method, STR("tools/list")))
		json_out_raw(o, "tools", STR("[" TOOL "]"));
	else
		write_call(o, params);
}

static bool
is_known(str method)
{
	return str_eq(method, STR("initialize")) || str_eq(method, STR("ping")) ||
	       str_starts(method, STR("tools/"));
}

/* False: nothing to say. */
static bool
answer(struct ctx *cx, str message, struct buf *b)
{
	const struct json *id, *method;
	struct json_out o;
	struct json *m;

	if (json_parse(cx, message, &m) != OK || !(id = json_get(m, STR("id"))) ||
		!(method = json_get(m, STR("method"))))
		return false;
	json_out_init(&o, b);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	json_out_value(&o, "id", id);
	if (is_known(method->text)) {
		json_out_object(&o, "result");
		write_result(&o, method->text, json_get(m, STR("params")));
		json_out_end(&o);
	} else {
		json_out_raw(&o, "error", STR("{\"code\":-32601,\"message\":\"no such method\"}"));
	}
	json_out_end(&o);
	return true;
}

/* --- over HTTP --- */

static void
serve(struct http_exchange *x, void *arg)
{
	(void)arg;
	x->status = 202;
	if (!answer(x->cx, x->req.body, &x->body))
		return;
	x->status = 200;
	x->content_type = "application/json";
}

static void
refuse(struct http_exchange *x, status s)
{
	x->status = status_info(s)->http;
}

static int
serve_http(struct ctx *cx)
{
	static const struct http_route routes[] = {
		{ HTTP_POST_, "/mcp", HTTP_INLINE, .takes_body = true, .handler = serve },
	};
	struct http_server *server;

	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK(http_server_new(cx,
		      &(struct http_options){ .host = "127.0.0.1", .workers = 1, .refuse = refuse }, routes,
		      1, &server) == OK);
	printf("ready %d\n", http_server_port(server));
	CHECK(fflush(stdout) == 0);
	http_server_run(server);
	return 0;
}

/* --- over standard input and output --- */

static int
serve_stdio(struct ctx *cx)
{
	size_t room = 0;
	char *line = NULL;
	ssize_t n;
	struct buf b;

	while ((n = getline(&line, &room, stdin)) > 0) {
		buf_init(&b, cx->arena, MIB);
		if (answer(cx, (str){ line, (size_t)n }, &b)) {
			str text = buf_str(&b);

			CHECK(fwrite(text.ptr, 1, text.len, stdout) == text.len &&
				fputc('\n', stdout) == '\n');
			CHECK(fflush(stdout) == 0);
		}
		arena_reset(cx->arena);
	}
	free(line);
	return 0;
}

/* --- the least there is --- */

static int
loopback(struct sockaddr_in *a, int port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	CHECK(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	*a = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	return fd;
}

/* False: this side has ended. */
static bool
copy(int from, int to)
{
	char bytes[16 * 1024];
	ssize_t n = read(from, bytes, sizeof(bytes));

	return n > 0 && write(to, bytes, (size_t)n) == n;
}

static void
relay(int client, int to)
{
	struct sockaddr_in a;
	int server = loopback(&a, to), on = 1;
	struct pollfd ends[2] = { { .fd = client, .events = POLLIN }, { .fd = server, .events = POLLIN } };
	bool going = setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
		     connect(server, (struct sockaddr *)&a, sizeof(a)) == 0;

	while (going && poll(ends, 2, -1) > 0) {
		if (ends[0].revents)
			going = copy(client, server);
		if (going && ends[1].revents)
			going = copy(server, client);
	}
	(void)close(server);
	(void)close(client);
}

static int
serve_relay(int to)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = loopback(&a, 0), client;

	CHECK(bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 8) == 0 &&
		getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	(void)printf("ready %d\n", ntohs(a.sin_port));
	(void)fflush(stdout);
	while ((client = accept(fd, NULL, NULL)) >= 0)
		relay(client, to);
	return 1;
}

int
main(int argc, char **argv)
{
	struct arena arena;
	struct ctx cx;

	arena_init(&arena, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &arena);
	if (argc == 2 && strcmp(argv[1], "http") == 0)
		return serve_http(&cx);
	if (argc == 3 && strcmp(argv[1], "relay") == 0)
		return serve_relay((int)strtol(argv[2], NULL, 10));
	return argc == 2 && strcmp(argv[1], "stdio") == 0 ? serve_stdio(&cx) : 2;
}
