/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call answers. What ran is its result; what did not is a proposal, and that is a success (PA-8). What the
 * model can repair or should know is a tool error with its code (PA-7).
 */
#include "core/gate/tool.h"
#include "face/mcp/own.h"
#include "face/shown/shown.h"
#include "json/bind.h"

/* content, and it stays open */
static void
begin_text(struct json_out *o, str text)
{
	json_out_array(o, "content");
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("text"));
	json_out_str(o, "text", text);
	json_out_end(o);
}

static void
write_text(struct json_out *o, str text)
{
	begin_text(o, text);
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

/* Another MCP server's own result: as it said it, and whose it is. */
status
own_write_theirs(struct mcp_call *c, const struct tool *t, const struct json *value, struct json_out *o)
{
	const struct json *content = json_get(value, STR("content")),
			  *error = json_get(value, STR("isError")),
			  *structured = json_get(value, STR("structuredContent"));

	if (!content || content->type != JSON_ARRAY)
		return own_write_value(c, value, o);
	json_out_value(o, "content", content);
	if (structured && (structured->type == JSON_OBJECT || c->modern))
		json_out_value(o, "structuredContent", structured);
	if (error && error->truth)
		json_out_bool(o, "isError", true);
	c->source = t->outside->source;
	return OK;
}

/* --- proposals --- */

static bool
is(const struct json *p, const char *state)
{
	return str_eq(message_text(p, STR("state")), str_of(state));
}

static bool
may_apply(const struct json *p)
{
	const struct json *may = json_get(p, STR("mayApply"));

	return may && may->truth;
}

/* Why it was denied, or taken back: in somebody's own words. */
static void
add_reason(struct buf *b, const struct json *p)
{
	const struct json *votes = json_get(json_get(p, STR("approvals")), STR("votes"));
	str reason = message_text(p, STR("error"));

	for (const struct json *vote = votes ? votes->child : NULL; vote; vote = vote->next)
		if (is(p, "denied") && str_starts(message_text(vote, STR("decision")), STR("denied")))
			reason = message_text(vote, STR("reason"));
	if (!reason.len)
		return;
	buf_add(b, STR(" The reason that was given: "));
	json_out_quoted(b, reason);
	buf_add_char(b, '.');
}

static void
add_pending(struct buf *b, const struct json *p, str id)
{
	buf_printf(b,
		": nothing has been changed yet. A person decides at\n%.*s\nbefore %.*s. Call wait_proposal "
		"with {\"id\":\"%.*s\"} until it is approved, ",
		STR_ARG(message_text(p, STR("approveUrl"))), STR_ARG(message_text(p, STR("expiresAt"))),
		STR_ARG(id));
	buf_add(b, may_apply(p) ? STR("then apply_proposal with the same;")
				: STR("and then until a person has applied it: your token may not apply it "
				      "itself;"));
	buf_add(b, STR(" do not propose it again."));
}

static void
add_approved(struct buf *b, const struct json *p, str id)
{
	buf_add(b, STR(": nothing has been changed yet. "));
	if (may_apply(p))
		buf_printf(b, "Call apply_proposal with {\"id\":\"%.*s\"} to execute it.", STR_ARG(id));
	else
		buf_printf(b,
			"Your token may not apply it: a person does, at\n%.*s\nCall wait_proposal with "
			"{\"id\":\"%.*s\",\"known\":\"approved\"} until it is applied.",
			STR_ARG(message_text(p, STR("approveUrl"))), STR_ARG(id));
}

/* What to do next, for a model: only what its token may do. */
static void
add_advice(struct buf *b, const struct json *p)
{
	str id = message_text(p, STR("proposalId"));

	if (is(p, "pending"))
		add_pending(b, p, id);
	else if (is(p, "approved"))
		add_approved(b, p, id);
	else if (is(p, "denied") || is(p, "expired") || is(p, "cancelled")) {
		buf_add(b,
			STR(": nothing has been changed. Do not propose it again unless you are asked to."));
		add_reason(b, p);
	} else if (is(p, "executing"))
		buf_printf(b,
			": another system is doing it. Call wait_proposal with "
			"{\"id\":\"%.*s\",\"known\":\"executing\"} "
			"until it is over; do not propose it again.",
			STR_ARG(id));
	else if (is(p, "unknown"))
		buf_add(b, STR(": whether it has happened is not known. A person settles it; do not try "
			       "again."));
	else
		buf_add(b, STR("."));
}

/* What a model says to a person about it, whose client shows only text: with the card while there is something to
 * decide, and with the result when it is there. */
static status
describe(struct mcp_call *c, const struct json *p, str note, str *out)
{
	const struct json *result = json_get(p, STR("result"));
	struct buf b;
	str text;

	buf_init(&b, c->cx->arena, LIMIT_HTTP_ANSWER);
	if (note.len)
		buf_printf(&b, "%.*s\n", STR_ARG(note));
	buf_printf(&b, "%.*s\nProposal %.*s is %.*s", STR_ARG(message_text(p, STR("summary"))),
		STR_ARG(message_text(p, STR("proposalId"))), STR_ARG(message_text(p, STR("status"))));
	add_advice(&b, p);
	if (is(p, "pending") && json_get(p, STR("card"))) {
		buf_add(&b, STR("\n\n"));
		card_show(c->cx, &b, p);
	}
	if (result) {
		TRY(json_text(c->cx, result, &text));
		buf_printf(&b, "\n%.*s", STR_ARG(text));
	}
	return buf_finish(&b, out);
}

static void
add_link(struct mcp_call *c, const struct json *p, struct json_out *o)
{
	str id = message_text(p, STR("proposalId"));

	if (str_eq(str_of(c->version), STR("2025-03-26")))
		return; /* it has no links */
	json_out_object(o, NULL);
	json_out_str(o, "type", STR("resource_link"));
	json_out_str(o, "uri", arena_printf(c->cx->arena, OWN_PROPOSALS "%.*s", STR_ARG(id)));
	json_out_str(o, "name", id);
	json_out_str(o, "title", message_text(p, STR("summary")));
	json_out_str(o, "mimeType", STR("application/json"));
	json_out_end(o);
}

static status
write(struct mcp_call *c, const struct json *p, str note, bool error, struct json_out *o)
{
	str text;

	TRY(describe(c, p, note, &text));
	begin_text(o, text);
	add_link(c, p, o);
	json_out_end(o);
	TRY(json_text(c->cx, p, &text));
	json_out_raw(o, "structuredContent", text);
	if (error || is(p, "failed"))
		json_out_bool(o, "isError", true);
	return OK;
}

status
own_write_proposal(struct mcp_call *c, const struct json *p, struct json_out *o)
{
	return write(c, p, (str){ 0 }, false, o);
}

status
own_write_outcome(struct mcp_call *c, const struct json *p, str note, struct json_out *o)
{
	bool undone = is(p, "denied") || is(p, "expired") || is(p, "cancelled") || is(p, "unknown");

	return write(c, p, note, undone, o);
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
