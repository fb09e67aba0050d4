/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/post.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/id.h"
#include "core/outside/lane.h"
#include "exec/webhook/sign.h"
#include "json/out.h"

#include <sodium.h>

#define FIELDS 6u

/* Ours, or such as would change what the request is. */
static const char *const taken[] = { "webhook-id", "webhook-timestamp", "webhook-signature",
	"idempotency-key", "host", "content-length", "content-type", "transfer-encoding", "connection",
	"expect", "accept", "te", "upgrade", "trailer", "authorization", "proxy-authorization", "cookie",
	"user-agent", NULL };

bool
post_header_valid(str name)
{
	for (size_t i = 0; taken[i]; i++)
		if (str_eq_nocase(name, str_of(taken[i])))
			return false;
	for (size_t i = 0; i < name.len; i++)
		if (!((name.ptr[i] >= 'a' && name.ptr[i] <= 'z') ||
			    (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z') ||
			    (name.ptr[i] >= '0' && name.ptr[i] <= '9') || name.ptr[i] == '-'))
			return false;
	return name.len > 0;
}

static str
basic(struct ctx *cx, str user, str password)
{
	str pair = arena_printf(cx->arena, "%.*s:%.*s", STR_ARG(user), STR_ARG(password));
	size_t size = sodium_base64_ENCODED_LEN(pair.len, sodium_base64_VARIANT_ORIGINAL);
	char *text = arena_alloc(cx->arena, size);

	(void)sodium_bin2base64(
		text, size, (const unsigned char *)pair.ptr, pair.len, sodium_base64_VARIANT_ORIGINAL);
	sodium_memzero((char *)(uintptr_t)pair.ptr, pair.len);
	return str_of(text);
}

static void
add(struct http_client_field *fields, size_t *n, str name, str value)
{
	fields[(*n)++] = (struct http_client_field){ name, value };
}

void
post_make(struct ctx *cx, const struct post *p, struct http_client_request *out)
{
	const struct hook *c = p->connection;
	struct http_client_field *fields = arena_alloc(cx->arena, FIELDS * sizeof(*fields));
	const str keys[] = { p->secrets->key.text, p->secrets->old.text };
	int64_t seconds = clock_now_us() / SECOND_US;
	size_t n = 0;

	*out = (struct http_client_request){ .method = "POST",
		.url = c->url,
		.body = p->body,
		.type = p->type,
		.accept = "application/json",
		.fields = fields,
		.public_only = true,
		.allow_name = "allow",
		.max_answer = LIMIT_WEBHOOK_ANSWER };
	out->allow_count = hook_nets(cx, c, &out->allow);
	add(fields, &n, STR("webhook-id"), p->id);
	add(fields, &n, STR("webhook-timestamp"), arena_int(cx->arena, seconds));
	add(fields, &n, STR("webhook-signature"), sign_header(cx->arena, keys, 2, p->id, seconds, p->body));
	if (p->key.len)
		add(fields, &n, STR("Idempotency-Key"), arena_printf(cx->arena, "\"%.*s\"", STR_ARG(p->key)));
	if (str_eq(c->auth, STR("header")))
		add(fields, &n, c->auth_name, p->secrets->auth.text);
	else if (str_eq(c->auth, STR("bearer")))
		out->bearer = p->secrets->auth.text;
	else if (str_eq(c->auth, STR("basic")))
		out->basic = basic(cx, c->auth_name, p->secrets->auth.text);
	out->field_count = n;
}

status
post_ping(struct ctx *cx, str org_id, const struct hook *c, const struct hook_secrets *s,
	struct http_client_answer *out)
{
	struct http_client_request r;
	struct json_out o;
	struct buf b;
	status sent;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "type", STR("ping"));
	json_out_time(&o, "timestamp", clock_now_us());
	json_out_object(&o, "data");
	json_out_str(&o, "connectionId", c->id);
	json_out_end(&o);
	json_out_end(&o);
	post_make(cx,
		&(struct post){ .connection = c, .secrets = s, .id = id_new(cx->arena), .body = buf_str(&b) },
		&r);
	r.timeout_ms = LIMIT_WEBHOOK_PING_MS;
	TRY(lane_enter(cx, org_id, c->id));
	sent = http_client_run(cx, &r, out);
	lane_leave(cx, c->id, sent == OK);
	return sent;
}
