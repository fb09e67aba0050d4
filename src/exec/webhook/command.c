/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/command.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/gate/tool.h"
#include "core/outside/source.h"
#include "db/db.h"
#include "exec/webhook/callback.h"
#include "exec/webhook/post.h"
#include "json/mend.h"
#include "json/out.h"

struct sending {
	const struct outside_call *call;
	struct hook connection;
	struct hook_secrets secrets;
	str callback_url; /* empty: none */
};

static bool
is_read(const struct outside_call *c)
{
	return !c->proposal_id.len;
}

/* --- what is sent --- */

/* Of what was claimed nothing goes to another address, or with another credential. */
static status
open_connection(struct ctx *cx, void *arg)
{
	struct sending *s = arg;
	struct outside_source now;

	TRY(hook_get(cx, s->call->org_id, s->call->tool->outside->source_id, &s->connection));
	hook_source(cx, &s->connection, &now);
	if (!source_same(s->call, &now))
		return fail(cx, E_DRIFT, SOURCE_MOVED);
	return hook_open(cx, s->call->org_id, &s->connection, &s->secrets);
}

static status
offer_callback(struct ctx *cx, void *arg)
{
	struct sending *s = arg;

	return callback_offer(cx, s->call->org_id, s->call->command_id, s->connection.id, &s->callback_url);
}

static bool
wants_callback(const struct sending *s)
{
	return str_eq(s->connection.mode, STR("callback"));
}

/* Why it cannot be sent at all; NULL: it can. */
static const char *
hindrance(struct ctx *cx, const struct sending *s)
{
	if (s->connection.disabled)
		return "the connection is disabled";
	if (hook_lacks_secret(&s->connection))
		return HOOK_LACKS_SECRET;
	if (str_eq(s->connection.mode, STR("events")))
		return "the connection takes notifications only";
	if (wants_callback(s) && is_read(s->call))
		return "a read needs an answer at once, and this connection tells it later";
	if (wants_callback(s) && !cx->public_url.len)
		return "the setting public-url says where callbacks go, and is not set";
	return NULL;
}

static status
prepare(struct ctx *cx, struct sending *s, const char **out_why)
{
	TRY(db_read(cx, open_connection, s));
	*out_why = hindrance(cx, s);
	return !*out_why && wants_callback(s) ? tx_run(cx, offer_callback, s) : OK;
}

static status
print_body(struct ctx *cx, const struct sending *s, str *out)
{
	const struct outside_call *c = s->call;
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "type", is_read(c) ? STR("read") : STR("command"));
	json_out_str(&o, "commandId", c->command_id);
	if (c->proposal_id.len)
		json_out_str(&o, "proposalId", c->proposal_id);
	json_out_str(&o, "tool", c->tool->outside->remote);
	json_out_int(&o, "toolVersion", c->tool->version);
	json_out_raw(&o, "parameters", c->input);
	if (c->approvals.len)
		json_out_raw(&o, "approvals", c->approvals);
	if (c->key.len)
		json_out_str(&o, "idempotencyKey", c->key);
	json_out_str(&o, "correlationId", c->correlation_id);
	if (s->callback_url.len)
		json_out_str(&o, "callbackUrl", s->callback_url);
	json_out_end(&o);
	return buf_finish(&b, out);
}

/* --- what came back --- */

static bool
is_text(const struct json *v)
{
	return !v || v->type == JSON_STRING;
}

bool
command_reply_read(const struct json *doc, struct command_reply *out)
{
	const struct json *id = json_get(doc, STR("commandId")), *state = json_get(doc, STR("status")),
			  *message = json_get(doc, STR("message"));

	if (!id || !is_text(id) || !is_text(state) || !is_text(message))
		return false;
	if (state && !str_eq(state->text, STR("done")) && !str_eq(state->text, STR("refused")))
		return false;
	*out = (struct command_reply){ .command_id = id->text,
		.status = state ? state->text : STR("done"),
		.message = message ? message->text : (str){ 0 },
		.result = json_get(doc, STR("result")) };
	return true;
}

static struct outside_answer
lost(const char *why)
{
	return (struct outside_answer){ .end = OUTSIDE_LOST, .why = str_of(why) };
}

/* The body is the result, as it came where it can be. */
static void
keep_body(struct ctx *cx, str body, const struct json *doc, const struct mended *mended,
	struct outside_answer *out)
{
	out->result = body;
	if (mended->top_only || body.len > LIMIT_WEBHOOK_KEPT) {
		out->result = arena_printf(
			cx->arena, "\"Its answer of %zu bytes is larger than is kept.\"", body.len);
		return;
	}
	if (!mended->what)
		return;
	out->mended = mended->what;
	out->raw = body;
	if (json_text(cx, doc, &out->result) != OK)
		ctx_clear(cx); /* it is kept as the text that it is */
}

/* A 2xx of a connection whose answer is the outcome. */
static struct outside_answer
read_outcome(struct ctx *cx, const struct sending *s, const struct http_client_answer *a)
{
	struct outside_answer done = { .end = OUTSIDE_DONE };
	struct command_reply reply;
	struct mended mended;
	struct json *doc;

	if (a->status == 202)
		return lost("it has accepted the command, but does not tell the outcome here");
	if (a->status == 204 && !str_eq(s->connection.answer, STR("command")))
		return (struct outside_answer){ .end = OUTSIDE_DONE };
	if (json_parse_mended(cx, a->body, &doc, &mended) != OK) {
		ctx_clear(cx);
		return lost("its answer is not JSON, so it is none: it may be starting, or a page stands in "
			    "its place");
	}
	keep_body(cx, a->body, doc, &mended, &done);
	if (!str_eq(s->connection.answer, STR("command")))
		return done;
	if (!command_reply_read(doc, &reply) || !str_eq(reply.command_id, s->call->command_id))
		return lost("its answer does not name the command, so it is none");
	if (str_eq(reply.status, STR("done")))
		return done;
	done.end = OUTSIDE_REFUSED;
	done.why = reply.message.len ? reply.message : STR("it says that it did not do it");
	return done;
}

/* A 2xx of one that tells it later. */
static struct outside_answer
read_receipt(struct ctx *cx, const struct http_client_answer *a)
{
	struct mended mended;
	struct json *doc;

	if (a->body.len && json_parse_mended(cx, a->body, &doc, &mended) != OK) {
		ctx_clear(cx);
		return lost("its answer is not JSON, so it is none: it may be starting, or a page stands in "
			    "its place");
	}
	if (!a->body.len && a->status == 200)
		return lost("its answer is empty, so it is none");
	return (struct outside_answer){ .end = OUTSIDE_WAITING, .result = a->body };
}

static bool
server_error_refuses(struct ctx *cx, const struct outside_call *c)
{
	const struct json *said;
	struct json *doc;

	if (is_read(c))
		return true;
	if (!c->tool->outside->options.len || json_parse(cx, c->tool->outside->options, &doc) != OK) {
		ctx_clear(cx);
		return false;
	}
	said = json_get(doc, STR("serverError"));
	return said && said->type == JSON_STRING && str_eq(said->text, STR("refused"));
}

static bool
is_refusal(struct ctx *cx, const struct outside_call *c, int number)
{
	if (number >= 500)
		return server_error_refuses(cx, c);
	if (is_read(c))
		return true;
	if (c->tool->contract == TOOL_KEYED && (number == 409 || number == 422))
		return false;
	return number != 302 && number != 303;
}

static struct outside_answer
classify(struct ctx *cx, const struct sending *s, const struct http_client_answer *a)
{
	struct outside_answer out;

	if (a->status >= 200 && a->status < 300)
		out = wants_callback(s) ? read_receipt(cx, a) : read_outcome(cx, s, a);
	else
		out = (struct outside_answer){ .end = is_refusal(cx, s->call, a->status) ? OUTSIDE_REFUSED
											 : OUTSIDE_LOST,
			.result = a->body,
			.why = arena_printf(cx->arena, "it answered with status %d", a->status) };
	out.http_status = a->status;
	return out;
}

/* --- the provider --- */

static status
send_it(struct ctx *cx, struct sending *s, struct outside_answer *out)
{
	const struct outside_call *c = s->call;
	int64_t left_ms = (c->deadline_us - clock_mono_us()) / 1000, sent_bytes = 0;
	struct http_client_request r;
	struct http_client_answer a;
	status sent;
	str body;

	TRY(print_body(cx, s, &body));
	post_make(cx,
		&(struct post){ .connection = &s->connection,
			.secrets = &s->secrets,
			.id = c->command_id,
			.key = c->key,
			.body = body },
		&r);
	r.send_by_us = c->send_by_us;
	r.timeout_ms = left_ms < 1			   ? 1
		       : left_ms > LIMIT_WEBHOOK_ANSWER_MS ? LIMIT_WEBHOOK_ANSWER_MS
							   : left_ms;
	r.out_sent = &sent_bytes;
	sent = http_client_run(cx, &r, &a);
	if (sent == OK)
		*out = classify(cx, s, &a);
	else
		*out = (struct outside_answer){ .end = sent_bytes ? OUTSIDE_LOST : OUTSIDE_NOT_SENT,
			.why = ctx_message(cx, sent) };
	out->sent = sent_bytes;
	ctx_clear(cx);
	return OK;
}

status
command_call(struct ctx *cx, void *arg, const struct outside_call *call, struct outside_answer *out)
{
	struct sending s = { .call = call };
	const char *why = NULL;
	status done = prepare(cx, &s, &why);

	(void)arg;
	if (done == OK && !why) {
		done = send_it(cx, &s, out);
	} else {
		*out = (struct outside_answer){ .end = OUTSIDE_NOT_SENT,
			.why = why ? str_of(why) : ctx_message(cx, done) };
		ctx_clear(cx);
		done = OK;
	}
	hook_close(&s.secrets);
	return done;
}
