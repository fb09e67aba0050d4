/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proposal/handler.h"

#include "base/limits.h"
#include "core/gate/gate.h"
#include "core/gate/toolset.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "json/out.h"

#include "core/proposal/proposal.sql.h" /* SQL_PROPOSAL_*, generated from proposal.sql */

status
handler_run(struct ctx *cx, void *arg)
{
	struct handler_run *run = arg;
	struct tool_result result = { 0 };
	status s;

	if (run->tool->changes_rights)
		TRY(op_need_rights(cx)); /* the dry-run, too: it may be applied in the same breath */
	cx->in_tool = true;
	run->call.tool = run->tool;
	s = run->tool->run(cx, &run->call, &result);
	cx->in_tool = false;
	TRY(s);
	run->result = result;
	return OK;
}

/* --- what is not ours to try --- */

/* "name: value, name: value" of an object's members, cut short: one line of a card that shows all of it below. */
static status
in_one_line(struct ctx *cx, const struct json *input, str *out)
{
	struct buf b;
	str text;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY + LIMIT_OUTSIDE_SUMMARY);
	for (const struct json *m = input->type == JSON_OBJECT ? input->child : NULL; m; m = m->next) {
		TRY(json_text(cx, m, &text));
		buf_printf(&b, "%s%.*s: %.*s", m == input->child ? "" : ", ", STR_ARG(m->key), STR_ARG(text));
		if (buf_str(&b).len > LIMIT_OUTSIDE_SUMMARY)
			break;
	}
	TRY(buf_finish(&b, &text));
	if (text.len > LIMIT_OUTSIDE_SUMMARY) {
		text.len = LIMIT_OUTSIDE_SUMMARY;
		while (text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
			text.len--;
		text = arena_printf(cx->arena, "%.*s…", STR_ARG(text));
	}
	*out = text;
	return OK;
}

/* What an admin has said that it touches (the option `affects`), or where it is. */
static status
affected(struct ctx *cx, const struct tool *t, str key, str *out)
{
	const struct json *affects;
	struct json *options;

	*out = key;
	if (!t->outside->options.len)
		return OK;
	TRY(json_parse(cx, t->outside->options, &options));
	affects = json_get(options, STR("affects"));
	if (affects && affects->type == JSON_STRING && affects->text.len)
		*out = affects->text;
	return OK;
}

status
handler_locate(struct ctx *cx, struct handler_run *run)
{
	const struct tool *t = run->tool;
	struct tool_result r = { .resource_type = STR("tool") };

	r.resource_key = arena_printf(
		cx->arena, "%.*s/%.*s", STR_ARG(t->outside->source), STR_ARG(t->outside->remote));
	r.resource_id = r.resource_key;
	TRY(affected(cx, t, r.resource_key, &r.affected));
	run->call.tool = t;
	run->result = r;
	return OK;
}

status
handler_foresee(struct ctx *cx, struct handler_run *run)
{
	const struct tool *t = run->tool;
	str input;

	TRY(handler_locate(cx, run));
	TRY(in_one_line(cx, run->call.input, &input));
	run->result.summary = arena_printf(cx->arena, "%s (%.*s)%s%.*s", t->title,
		STR_ARG(t->outside->source), input.len ? ": " : "", STR_ARG(input));
	return OK;
}

status
handler_alone(struct ctx *cx)
{
	return cx->in_tool ? fail(cx, E_INTERNAL, "a tool asked for a tool; nothing was done") : OK;
}

status
handler_outside(struct ctx *cx, const struct tool *t)
{
	return fail(cx, E_SCOPE, "Forbidden: %s (this environment or resource is outside the token's scope)",
		t->name);
}

/* Only what the caller sent is said back to them: the rest may be nothing they should know of. */
static bool
names(const struct json *input, str text)
{
	if (!input || input->type != JSON_OBJECT)
		return false;
	JSON_EACH (item, input)
		if (item->type == JSON_STRING && str_eq(item->text, text))
			return true;
	return false;
}

status
handler_in_scope(struct ctx *cx, const struct caller *who, const struct handler_run *run)
{
	const struct tool_result *r = &run->result;
	bool key = caller_in_scope(who, r->environment_id, (str){ 0 });
	const char *what = key ? "key" : "environment";
	str which = key ? r->resource_key : r->environment_id;

	for (size_t i = 0; i < r->environment_count; i++)
		if (!caller_in_scope(who, r->environments[i], r->resource_key))
			return handler_outside(cx, run->tool);
	if (caller_in_scope(who, r->environment_id, r->resource_key))
		return OK;
	if (names(run->call.input, which))
		return fail(cx, E_SCOPE, "Forbidden: %s (the %s %.*s is outside the token's scope)",
			run->tool->name, what, STR_ARG(which));
	return fail(cx, E_SCOPE, "Forbidden: %s (the %s of its resource is outside the token's scope)",
		run->tool->name, what);
}

struct environment_row {
	bool production, gate;
};
static const struct field environment_row[] = {
	FIELD_BOOL(struct environment_row, production),
	FIELD_BOOL(struct environment_row, gate),
	FIELD_END,
};

status
handler_environment(struct ctx *cx, str environment_id, bool *out_production, bool *out_gate)
{
	struct environment_row row = { .production = true, .gate = true };
	status s = db_one(cx, SQL_PROPOSAL_ENVIRONMENT, environment_row, &row, TEXT(cx->caller->org_id),
		TEXT(environment_id));

	if (s != E_NOT_FOUND)
		TRY(s);
	*out_production = row.production;
	*out_gate = row.gate;
	return OK;
}

static status
add_environment(struct ctx *cx, const struct caller *who, const struct handler_run *run, str id,
	struct handler_place *p)
{
	bool production = true, gate = false; /* an environment is production unless it says otherwise */

	if (id.len)
		TRY(handler_environment(cx, id, &production, &gate));
	p->production = p->production || production;
	p->gate = p->gate || gate;
	p->in_environment = p->in_environment || id.len > 0;
	p->may = p->may && gate_may(who, run->tool, production);
	p->may_propose = p->may_propose && gate_may_propose(who, run->tool, production);
	return OK;
}

status
handler_place(
	struct ctx *cx, const struct caller *who, const struct handler_run *run, struct handler_place *out)
{
	struct handler_place p = { .may = true, .may_propose = true };

	TRY(add_environment(cx, who, run, run->result.environment_id, &p));
	for (size_t i = 0; i < run->result.environment_count; i++)
		TRY(add_environment(cx, who, run, run->result.environments[i], &p));
	*out = p;
	return OK;
}

/* --- what is found out before --- */

bool
handler_surveys(const struct ctx *cx, str tool)
{
	const struct tool *t = gate_tool(cx, tool);

	return t ? t->survey != NULL
		 : toolset_names(tool); /* whose they are is not known before who asks is */
}

struct surveying {
	const struct tool *tool;
	bool may;
};

/* May the caller propose it, as far as that can be said without its environment? */
static status
may_survey(struct ctx *cx, void *arg)
{
	struct surveying *s = arg;
	struct permission_snapshot snapshot;

	TRY(permission_load(cx, cx->caller, &snapshot));
	s->may = gate_lists(cx->caller, &snapshot, s->tool);
	return OK;
}

const struct json *
handler_survey(struct ctx *cx, str tool, const struct json *input)
{
	struct surveying s = { .tool = gate_tool(cx, tool) };
	struct tool_call call = { .tool = s.tool, .input = input };
	const struct json *out = NULL;

	if (!s.tool || !s.tool->survey)
		return NULL;
	if (db_read(cx, may_survey, &s) != OK || !s.may || gate_check_input(cx, s.tool, input) != OK ||
		s.tool->survey(cx, &call, &out) != OK)
		out = NULL;
	ctx_clear(cx);
	return out;
}
