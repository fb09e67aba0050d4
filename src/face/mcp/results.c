/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call answers. What ran is its result; what did not is a proposal, and that is a success (PA-8). What the
 * model can repair or should know is a tool error with its code (PA-7).
 */
#include "face/mcp/own.h"
#include "json/bind.h"

static void
write_text(struct json_out *o, str text)
{
	json_out_array(o, "content");
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", text);
	json_out_end(o);
	json_out_end(o);
}

status
own_write_value(struct mcp_call *c, const struct json *value, struct json_out *o)
{
	str text;

	TRY(json_text(c->cx, value, &text));
	write_text(o, text);
	if (value->type == JSON_OBJECT || c->modern) /* of the legacy era: objects only */
		json_out_raw(o, "structuredContent", text);
	return OK;
}

/* What a model says to a person about it, whose client shows only text. */
static str
describe(struct mcp_call *c, const struct json *p)
{
	str id = message_text(p, STR("proposalId")), state = message_text(p, STR("state"));
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	buf_printf(&b, "%.*s\nProposal %.*s is %.*s", STR_ARG(message_text(p, STR("summary"))), STR_ARG(id),
		STR_ARG(message_text(p, STR("status"))));
	if (str_eq(state, STR("pending")))
		buf_printf(&b,
			": nothing has been changed yet. A person decides at\n%.*s\nbefore %.*s. Call "
			"wait_proposal "
			"with {\"id\":\"%.*s\"} until it is approved, then apply_proposal with the same.",
			STR_ARG(message_text(p, STR("approveUrl"))),
			STR_ARG(message_text(p, STR("expiresAt"))), STR_ARG(id));
	else if (str_eq(state, STR("approved")))
		buf_printf(&b,
			": nothing has been changed yet. Call apply_proposal with {\"id\":\"%.*s\"} to "
			"execute it.",
			STR_ARG(id));
	else
		buf_add(&b, STR("."));
	return buf_str(&b);
}

status
own_write_proposal(struct mcp_call *c, const struct json *p, struct json_out *o)
{
	const struct json *result = json_get(p, STR("result"));
	str text = describe(c, p), more;

	if (result) {
		TRY(json_text(c->cx, result, &more));
		text = arena_printf(c->cx->arena, "%.*s\n%.*s", STR_ARG(text), STR_ARG(more));
	}
	write_text(o, text);
	TRY(json_text(c->cx, p, &more));
	json_out_raw(o, "structuredContent", more);
	if (str_eq(message_text(p, STR("state")), STR("failed")))
		json_out_bool(o, "isError", true);
	return OK;
}

/* --- refusals --- */

static void
write_issues(const struct error *e, struct json_out *o)
{
	json_out_array(o, "issues");
	for (size_t i = 0; i < e->issue_count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "path", e->issues[i].path);
		json_out_str(o, "message", e->issues[i].message);
		json_out_end(o);
	}
	json_out_end(o);
}

void
own_write_refusal(struct mcp_call *c, str name, status s, struct json_out *o)
{
	const struct error *e = &c->cx->error;
	struct json_out inner;
	struct buf b;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&inner, &b);
	json_out_object(&inner, NULL);
	json_out_str(&inner, "kind", s == E_INVALID ? STR("feedback") : STR("error"));
	json_out_str(&inner, "tool", name);
	json_out_str(&inner, "code", str_of(status_info(s)->code));
	json_out_str(&inner, "message", ctx_message(c->cx, s));
	if (s == E_INVALID)
		write_issues(e, &inner);
	if (e->code == s && e->details.len)
		json_out_raw(&inner, "details", e->details);
	json_out_end(&inner);
	write_text(o, buf_str(&b));
	json_out_bool(o, "isError", true);
}
