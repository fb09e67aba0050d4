/* SPDX-License-Identifier: Apache-2.0 */
#include "app/bridge/bridge.h"

#include "base/check.h"
#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- saying things --- */

void
bridge_say(struct bridge *b, const char *format, ...)
{
	va_list args;

	(void)b;
	va_start(args, format);
	(void)fputs(PROGRAM " mcp: ", stderr);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
	va_end(args);
}

static void
write_all(struct bridge *b, str text)
{
	while (text.len && !b->deserted) {
		ssize_t n = write(STDOUT_FILENO, text.ptr, text.len);

		if (n < 0 && errno != EINTR)
			b->deserted = true;
		text = str_skip(text, n > 0 ? (size_t)n : 0);
	}
}

/* A line break in JSON is never inside a string, so a space says the same. */
void
bridge_write(struct bridge *b, str message)
{
	char *line = malloc(message.len + 1);

	CHECK(line);
	for (size_t i = 0; i < message.len; i++)
		line[i] = message.ptr[i] == '\n' || message.ptr[i] == '\r' ? ' ' : message.ptr[i];
	line[message.len] = '\n';
	write_all(b, (str){ line, message.len + 1 });
	free(line);
}

void
bridge_error(struct bridge *b, str id, int code, str sentence)
{
	struct arena a;
	struct json_out o;
	struct buf text;

	arena_init(&a, LIMIT_REQUEST_ARENA);
	buf_init(&text, &a, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &text);
	json_out_object(&o, NULL);
	json_out_str(&o, "jsonrpc", STR("2.0"));
	if (id.len)
		json_out_raw(&o, "id", id);
	json_out_object(&o, "error");
	json_out_int(&o, "code", code);
	json_out_str(&o, "message", sentence);
	json_out_end(&o);
	json_out_end(&o);
	bridge_write(b, buf_str(&text));
	arena_done(&a);
}

struct ctx *
bridge_scratch(struct bridge *b)
{
	arena_reset(&b->scratch);
	ctx_init(&b->scratch_cx, &b->scratch);
	return &b->scratch_cx;
}

struct json *
bridge_parse(struct bridge *b, str text)
{
	struct json *doc;

	return json_parse_stored(bridge_scratch(b), text, &doc) == OK ? doc : NULL;
}

/* --- lines --- */

struct lines {
	struct arena arena;
	struct buf line;
	bool ended;
};

static void
end_line(struct bridge *b, struct lines *in)
{
	if (in->line.overflow) {
		bridge_error(b, (str){ 0 }, -32600, STR("a line has at most 1 MiB")); /* LIMIT_HTTP_BODY */
	} else {
		letter_take(b, buf_str(&in->line));
	}
	arena_reset(&in->arena);
	buf_init(&in->line, &in->arena, LIMIT_HTTP_BODY);
}

static void
read_lines(struct bridge *b, struct lines *in)
{
	char piece[16 * KIB];
	ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));
	str rest = { piece, n > 0 ? (size_t)n : 0 }, line;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	while (str_cut(rest, '\n', &line, &rest)) {
		buf_add(&in->line, line);
		end_line(b, in);
	}
	buf_add(&in->line, rest);
	if (n <= 0) {
		in->ended = true;
		end_line(b, in); /* the last one may end with the input */
	}
}

/* --- the loop --- */

/* A stream says something every 15 seconds, and an answer is there in time. What is fetched is there at once. */
static bool
is_lost(const struct letter *l, int64_t now)
{
	return now - l->heard_us > LIMIT_CLIENT_MS * INT64_C(1000) ||
	       (l->resumed_us && now - l->resumed_us > LIMIT_CLIENT_MS * INT64_C(1000));
}

/* Sends what is due, and gives up what has been silent for too long. */
static int64_t
look_after(struct bridge *b, int64_t now)
{
	int64_t wake = now + SECOND_US;
	struct letter *next;

	for (struct letter *l = b->letters; l; l = next) {
		next = l->next;
		if (l->due_us && l->due_us <= now)
			letter_send(l);
		else if (l->due_us && l->due_us < wake)
			wake = l->due_us;
		else if (l->flight && is_lost(l, now))
			letter_lost(l);
	}
	return wake;
}

static bool
turn(struct bridge *b, int fd)
{
	int64_t now = clock_mono_us(), wake = look_after(b, now);

	return http_many_poll(b->many, fd, (int)((wake - now) / 1000) + 1);
}

static void
serve(struct bridge *b, struct lines *in)
{
	while (!in->ended && !b->deserted)
		if (turn(b, STDIN_FILENO))
			read_lines(b, in);
}

/* What was asked before the input ended is answered, where that does not take long. */
static void
drain(struct bridge *b)
{
	int64_t until = clock_mono_us() + LIMIT_BRIDGE_DRAIN_US;

	while (!b->deserted && letter_owes(b) && clock_mono_us() < until)
		(void)turn(b, -1);
	while (b->letters)
		letter_drop(b->letters);
}

static void
end_session(struct bridge *b)
{
	struct http_client_field field = { STR("Mcp-Session-Id"), b->session };
	struct http_client_request r = { .method = "DELETE",
		.url = b->url,
		.bearer = b->cx->app->config.token,
		.ca_file = b->ca_file,
		.fields = &field,
		.field_count = 1,
		.timeout_ms = LIMIT_BRIDGE_FAREWELL_MS };
	struct http_client_answer answer;

	if (b->session.len && !b->away && http_client_run(b->cx, &r, &answer) != OK)
		ctx_clear(b->cx); /* it ends by itself in a day */
}

/* --- the command --- */

/* "http://name:1/path" is called name; of "http://[::1]:1" it is ::1. */
static str
host_of(str authority)
{
	str host, rest;

	if (str_cut(authority, '/', &host, &rest))
		authority = host;
	if (str_starts(authority, STR("[")))
		return str_cut(str_skip(authority, 1), ']', &host, &rest) ? host : authority;
	return str_cut(authority, ':', &host, &rest) ? host : authority;
}

/* The token is in every request. */
static void
warn(struct bridge *b, str server)
{
	if (str_starts(server, STR("http://")) && !config_is_loopback(host_of(str_skip(server, 7))))
		bridge_say(b, "%.*s is not https: whoever is on the way there can read the token and use it",
			STR_ARG(server));
}

/* Where the server is; the address of its MCP, which clients that speak HTTP are given, says that, too. */
static str
server_of(const struct config *c)
{
	str server = c->server;

	while (str_ends(server, STR("/")))
		server.len--;
	if (str_ends(server, STR("/mcp")))
		server.len -= strlen("/mcp");
	return server;
}

/* What is under way has its own copy. */
void
bridge_aim(struct bridge *b)
{
	str server = server_of(&b->cx->app->config);

	if (!str_starts(b->url, server) || b->url.len != server.len + strlen("/mcp"))
		b->url = arena_printf(b->cx->arena, "%.*s/mcp", STR_ARG(server));
}

static status
begin(struct ctx *cx, struct bridge *b)
{
	const struct config *c = &cx->app->config;

	if (!c->token.len)
		return fail(cx, E_INVALID,
			"there is no token; put one into COUNTERSIGN_TOKEN (`init` shows the agent's, "
			"`token mint --for` makes more)");
	b->cx = cx;
	bridge_aim(b);
	b->ca_file = c->server_ca.len ? arena_cstr(cx->arena, c->server_ca) : NULL;
	warn(b, server_of(c));
	b->many = http_many_new();
	b->params = mcp_params_new();
	arena_init(&b->scratch, LIMIT_REQUEST_ARENA);
	arena_init(&b->session_arena, LIMIT_REQUEST_ARENA);
	return OK;
}

status
bridge_run(struct ctx *cx, const struct bridge_options *options)
{
	struct bridge b = { .options = *options };
	struct lines in = { 0 };

	TRY(begin(cx, &b));
	arena_init(&in.arena, LIMIT_REQUEST_ARENA);
	buf_init(&in.line, &in.arena, LIMIT_HTTP_BODY);
	serve(&b, &in);
	drain(&b);
	end_session(&b);
	http_many_free(b.many);
	mcp_params_free(b.params);
	arena_done(&in.arena);
	arena_done(&b.scratch);
	arena_done(&b.session_arena);
	return OK;
}

status
run_mcp(struct ctx *cx, const struct cli_call *call)
{
	(void)call;
	return bridge_run(cx, &(struct bridge_options){ 0 });
}
