/* SPDX-License-Identifier: Apache-2.0 */
/* What other MCP servers offer, and what an admin says of it (EX-3). */
#include "base/limits.h"
#include "core/visibility.h"
#include "core/gate/permission.h"
#include "core/gate/toolset.h"
#include "core/people/change.h"
#include "db/db.h"
#include "exec/upstream/look.h"
#include "exec/upstream/clients.h"
#include "exec/upstream/pin.h"
#include "exec/upstream/preview.h"
#include "json/bind.h"
#include "json/diff.h"

/* --- as they are shown --- */

struct tools_out {
	struct json *tools;
};
static const struct field tools_out[] = {
	FIELD_JSON(struct tools_out, tools, .need = true,
		.doc = "By name: {name, remote, state, definition, definitionHash, diff?, renamedFrom?, "
		       "refused?, "
		       "problem?, effect, "
		       "tier, category, ...}. definition is what the server says now, and definitionHash "
		       "what "
		       "accepting it must name."),
	FIELD_END,
};

static status
renamed_from(
	struct ctx *cx, const struct toolset_tool *all, size_t count, const struct toolset_tool *t, str *out)
{
	bool same;

	for (size_t i = 0; i < count; i++) {
		if (!str_eq(all[i].state, STR("gone")) || !all[i].definition.len)
			continue;
		TRY(pin_renamed(cx, t->seen, all[i].definition, &same));
		if (same)
			*out = all[i].remote;
	}
	return OK;
}

/* Another one of the organization, accepted or older, that people would take it for. */
static str
look_alike(struct ctx *cx, const struct toolset_tool *all, size_t count, const struct toolset_tool *t)
{
	for (size_t i = 0; i < count; i++)
		if (pin_alike(cx->arena, all[i].name, t->name) &&
			(all[i].definition.len || str_cmp(all[i].name, t->name) < 0))
			return arena_printf(cx->arena, "people would take it for %.*s", STR_ARG(all[i].name));
	return (str){ 0 };
}

/* Why it can never be accepted as it is; empty: it can. */
static status
refusal(struct ctx *cx, const struct toolset_tool *all, size_t count, const struct toolset_tool *t,
	struct pin *out_pin, str *out)
{
	TRY(pin_read(cx, t->source, t->remote, t->seen, out_pin));
	*out = out_pin->refused.len ? out_pin->refused : look_alike(cx, all, count, t);
	return OK;
}

static status
write_diff(struct ctx *cx, const struct toolset_tool *t, struct json_out *o)
{
	struct json *before, *after;
	struct diff d;

	if (!t->definition.len || str_eq(t->definition_hash, t->seen_hash))
		return OK;
	TRY(json_parse(cx, t->definition, &before));
	TRY(json_parse(cx, t->seen, &after));
	TRY(diff_make(cx, before, after, &d));
	diff_out(o, "diff", &d);
	return OK;
}

static void
write_said(const struct toolset_tool *t, struct json_out *o)
{
	json_out_str(o, "effect", t->effect);
	json_out_str(o, "tier", t->tier);
	json_out_str(o, "category", t->category);
	json_out_str(o, "domain", t->domain);
	json_out_bool(o, "rollbackSupported", t->rollback);
	json_out_bool(o, "financial", t->financial);
	json_out_bool(o, "personalData", t->personal_data);
	json_out_bool(o, "phi", t->phi);
	json_out_str(o, "failure", t->failure);
	json_out_str(o, "contract", t->contract);
	json_out_int(o, "deadlineMs", t->deadline_ms);
	json_out_raw(o, "options", t->options);
}

/* A tool that agents are offered, that reads, and whose own words do not send one elsewhere. */
static bool
could_read(const struct toolset_tool *t, str source_id)
{
	return str_eq(t->source_id, source_id) && str_eq(t->state, STR("accepted")) &&
	       str_eq(t->effect, STR("read")) && !str_has_nocase(t->doc, STR("deprecated"));
}

/* How what it changes could be read before: for an admin to confirm. */
static status
write_suggestion(struct ctx *cx, const struct toolset_tool *all, size_t count, const struct toolset_tool *t,
	const struct json *definition, struct json_out *o)
{
	const struct json **others = arena_alloc(cx->arena, (count + 1) * sizeof(struct json *));
	struct json *doc, *before;
	size_t n = 0;

	if (!definition)
		return OK;
	for (size_t i = 0; i < count; i++) {
		if (!could_read(&all[i], t->source_id))
			continue;
		TRY(json_parse(cx, all[i].seen, &doc));
		others[n++] = doc;
	}
	before = preview_suggest(cx, definition, others, n);
	if (before) {
		json_out_object(o, "suggested");
		json_out_value(o, "before", before);
		json_out_end(o);
	}
	return OK;
}

static status
write_tool(struct ctx *cx, const struct toolset_tool *all, size_t count, const struct toolset_tool *t,
	struct json_out *o)
{
	bool accepted = str_eq(t->state, STR("accepted"));
	str refused, renamed = { 0 }, problem = { 0 };
	struct pin p;

	TRY(refusal(cx, all, count, t, &p, &refused));
	if (!t->definition.len)
		TRY(renamed_from(cx, all, count, t, &renamed));
	if (accepted)
		TRY(toolset_problem(cx, cx->caller->org_id, t, &problem));
	json_out_object(o, NULL);
	json_out_str(o, "name", t->name);
	json_out_str(o, "remote", t->remote);
	json_out_str(o, "state", t->state);
	json_out_int(o, "version", t->version);
	json_out_raw(o, "definition", t->seen);
	json_out_str(o, "definitionHash", t->seen_hash);
	json_out_time(o, "seenAt", t->seen_at);
	TRY(write_diff(cx, t, o));
	if (renamed.len)
		json_out_str(o, "renamedFrom", renamed);
	if (refused.len)
		json_out_str(o, "refused", refused);
	if (problem.len)
		json_out_str(o, "problem", problem);
	TRY(write_suggestion(cx, all, count, t, p.definition, o));
	write_said(t, o);
	json_out_end(o);
	return OK;
}

static status
write_tools(struct ctx *cx, const struct upstream *u, struct json_out *out)
{
	const struct visibility *v;
	struct toolset_tool *all;
	size_t count;

	TRY(visibility_of(cx, &v));
	TRY(toolset_list(cx, u->org_id, (str){ 0 }, &all, &count));
	json_out_array(out, "tools");
	for (size_t i = 0; i < count; i++)
		if (str_eq(all[i].source_id, u->id) && visibility_has_tool(v, all[i].name))
			TRY(write_tool(cx, all, count, &all[i], out));
	json_out_end(out);
	return OK;
}

struct id_in {
	str id;
	struct upstream *of;	 /* prepared */
	struct mcp_tools *tools; /* prepared */
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which server."),
	FIELD_END,
};

static status
run_tools(struct ctx *cx, const void *in, struct json_out *out)
{
	struct upstream u;

	TRY(upstream_get(cx, cx->caller->org_id, ((const struct id_in *)in)->id, &u));
	return write_tools(cx, &u, out);
}

/* --- look now --- */

struct finding {
	str org_id, id;
	struct upstream *of;
};

static status
find(struct ctx *cx, void *arg)
{
	const struct finding *f = arg;

	return upstream_get(cx, f->org_id, f->id, f->of);
}

static status
prepare_refresh(struct ctx *cx, void *in)
{
	struct id_in *i = in;
	struct finding f = {
		.org_id = cx->caller->org_id, .id = i->id, .of = ARENA_NEW(cx->arena, struct upstream)
	};
	struct mcp_tools *tools = ARENA_NEW(cx->arena, struct mcp_tools);

	TRY(db_read(cx, find, &f));
	TRY(upstreams_list(cx, f.of, tools));
	i->of = f.of;
	i->tools = tools;
	return OK;
}

static status
run_refresh(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct id_in *i = in;
	struct look_found found;

	TRY(look_store(cx, i->of, i->tools, &found));
	return write_tools(cx, i->of, out);
}

/* --- accept --- */

static const char *const effects[] = { "read", "mutate", "destructive", NULL };
static const char *const categories[] = { "A", "B", "C", NULL };
static const char *const contracts[] = { "idempotent", "keyed", "probe", "blind", NULL };

struct said {
	str name, definition_hash, effect, tier, category, domain, failure, contract;
	bool rollback_supported, financial, personal_data, phi;
	int64_t deadline_ms;
	struct json *options;
};
static const struct field said[] = {
	FIELD_TEXT(struct said, name, .need = true, .min = 1, .max = LIMIT_TOOL_NAME, .doc = "The tool."),
	FIELD_TEXT(struct said, definition_hash, .need = true, .min = 64, .max = 64,
		.doc = "The definition that was read."),
	FIELD_TEXT(struct said, effect, .choices = effects, .doc = "destructive unless said."),
	FIELD_TEXT(struct said, tier, .choices = permission_tiers, .doc = "needs_approval unless said."),
	FIELD_TEXT(struct said, category, .choices = categories, .doc = "C unless said; a read is A."),
	FIELD_TEXT(struct said, domain, .max = LIMIT_NAME),
	FIELD_TEXT(struct said, failure, .max = 500),
	FIELD_TEXT(struct said, contract, .choices = contracts, .doc = "blind unless said."),
	FIELD_BOOL(struct said, rollback_supported),
	FIELD_BOOL(struct said, financial),
	FIELD_BOOL(struct said, personal_data),
	FIELD_BOOL(struct said, phi),
	FIELD_INT(struct said, deadline_ms, .min = 100, .max = LIMIT_UPSTREAM_DEADLINE_MOST_MS),
	FIELD_JSON(struct said, options),
	FIELD_END,
};

struct accept_in {
	str id;
	struct json *tools;
};
static const struct field accept_in[] = {
	FIELD_TEXT(struct accept_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which server."),
	FIELD_JSON(struct accept_in, tools, .need = true,
		.doc = "[{name, definitionHash, effect?, tier?, category?, domain?, rollbackSupported?, "
		       "financial?, "
		       "personalData?, "
		       "phi?, failure?, contract?, deadlineMs?, options?}]: each with exactly the definition "
		       "that was "
		       "read."),
	FIELD_END,
};

static str
or_else(str said_, const char *usual)
{
	return said_.len ? said_ : str_of(usual);
}

static status
apply_said(struct ctx *cx, const struct said *i, const struct pin *p, struct toolset_tool *t)
{
	t->state = STR("accepted");
	t->version++;
	t->title = pin_title(p);
	t->doc = pin_doc(p);
	t->effect = or_else(i->effect, "destructive");
	t->tier = or_else(i->tier, "needs_approval");
	t->category = or_else(i->category, str_eq(t->effect, STR("read")) ? "A" : "C");
	t->domain = or_else(i->domain, "operations");
	t->failure = or_else(i->failure, "What it had done until then stays done.");
	t->contract = or_else(i->contract, "blind");
	t->rollback = i->rollback_supported;
	t->financial = i->financial;
	t->personal_data = i->personal_data;
	t->phi = i->phi;
	t->deadline_ms = i->deadline_ms ? i->deadline_ms : LIMIT_UPSTREAM_DEADLINE_MS;
	t->definition = t->seen;
	t->definition_hash = t->seen_hash;
	TRY(pin_in_schema(cx, p, &t->in_schema));
	TRY(pin_out_schema(cx, p, &t->out_schema));
	t->options = STR("{}");
	if (!i->options)
		return OK;
	TRY(preview_check(cx, i->options, p->definition));
	return json_text(cx, i->options, &t->options);
}

static const struct toolset_tool *
find_tool(const struct toolset_tool *all, size_t count, str name, str source_id)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(all[i].name, name) && str_eq(all[i].source_id, source_id))
			return &all[i];
	return NULL;
}

static status
record(struct ctx *cx, enum audit_action action, const struct toolset_tool *t, const char *reason)
{
	struct json *after = json_new_object(cx->arena);
	struct audit_entry e = { .action = action,
		.resource_type = STR("outside_tool"),
		.resource_id = t->name,
		.resource_key = t->name,
		.reason = str_of(reason),
		.args_hash = t->seen_hash,
		.version = t->version,
		.after = after };

	change_text(cx->arena, after, "state", t->state);
	change_text(cx->arena, after, "effect", t->effect);
	change_text(cx->arena, after, "tier", t->tier);
	change_text(cx->arena, after, "contract", t->contract);
	change_text(cx->arena, after, "definitionHash", t->seen_hash);
	return audit_add(cx, &e, NULL);
}

/* An outcome that nobody knows is asked for there: then it must be said where. */
static status
check_probe(struct ctx *cx, const struct said *i, const struct toolset_tool *all, size_t count)
{
	const struct json *probe = i->options ? json_get(i->options, STR("probe")) : NULL;
	const char *what = "names no tool that is known here";

	if (!probe && !str_eq(i->contract, STR("probe")))
		return OK;
	for (size_t n = 0; probe && n < count; n++)
		if (str_eq(all[n].name, probe->text))
			return OK;
	if (!probe)
		what = "is needed where the contract is probe: the name of the tool (mcp__SERVER__TOOL) that "
		       "tells "
		       "whether it was done";
	fail_issue(cx, STR("/options/probe"), str_of(what));
	return fail(cx, E_INVALID, "/options/probe %s", what);
}

/* What it would change is read by another tool of the same server. */
static status
check_before(struct ctx *cx, const struct upstream *u, const struct said *i, const struct toolset_tool *all,
	size_t count)
{
	const struct json *before = i->options ? json_get(i->options, STR("before")) : NULL,
			  *tool = before ? json_get(before, STR("tool")) : NULL;

	if (!tool)
		return OK;
	for (size_t n = 0; n < count; n++)
		if (str_eq(all[n].source_id, u->id) && str_eq(all[n].remote, tool->text))
			return OK;
	fail_issue(cx, STR("/options/before/tool"), STR("names no tool of this server"));
	return fail(cx, E_INVALID, "/options/before/tool names no tool of this server");
}

static status
check_options(struct ctx *cx, const struct upstream *u, const struct said *i, const struct toolset_tool *all,
	size_t count)
{
	TRY(check_probe(cx, i, all, count));
	return check_before(cx, u, i, all, count);
}

static status
take_it(struct ctx *cx, const struct upstream *u, const struct toolset_tool *all, size_t count,
	const struct said *i)
{
	const struct toolset_tool *found = find_tool(all, count, i->name, u->id);
	struct toolset_tool t;
	str refused, why;
	struct pin p;

	if (!found)
		return fail(cx, E_NOT_FOUND, "%.*s has no tool called \"%.*s\"", STR_ARG(u->name),
			STR_ARG(i->name));
	t = *found;
	if (!str_eq(t.seen_hash, i->definition_hash))
		return fail(cx, E_CONFLICT, "%.*s is defined otherwise now; read it again", STR_ARG(t.name));
	TRY(refusal(cx, all, count, &t, &p, &refused));
	if (refused.len)
		return fail(
			cx, E_INVALID, "%.*s can never be accepted: %.*s", STR_ARG(t.name), STR_ARG(refused));
	TRY(apply_said(cx, i, &p, &t));
	TRY(toolset_problem(cx, u->org_id, &t, &why));
	if (why.len)
		return fail(cx, E_INVALID, "%.*s cannot be offered: %.*s", STR_ARG(t.name), STR_ARG(why));
	TRY(toolset_put(cx, u->org_id, &t));
	return record(cx, AUDIT_RECORD_CHANGED, &t, "accepted");
}

static status
read_said(struct ctx *cx, const struct json *item, struct said *out)
{
	TRY(json_bind(cx, item, said, sizeof(*out), out));
	return out->options ? fail_below(cx, STR("/options"), preview_check_members(cx, out->options)) : OK;
}

static status
run_accept(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct accept_in *i = in;
	struct toolset_tool *all;
	struct upstream u;
	size_t count, n = 0;

	if (i->tools->type != JSON_ARRAY || !i->tools->count || i->tools->count > LIMIT_SOURCE_TOOLS)
		return fail(cx, E_INVALID, "/tools must be a list of {name, definitionHash, ...}");
	TRY(upstream_lock(cx, cx->caller->org_id, i->id, &u));
	JSON_EACH (item, i->tools) {
		struct said one = { 0 };

		TRY(fail_below(cx, arena_printf(cx->arena, "/tools/%zu", n++), read_said(cx, item, &one)));
		TRY(toolset_list(
			cx, u.org_id, (str){ 0 }, &all, &count)); /* with what was accepted just before */
		TRY(fail_below(cx, arena_printf(cx->arena, "/tools/%zu", n - 1),
			check_options(cx, &u, &one, all, count)));
		TRY(take_it(cx, &u, all, count, &one));
	}
	return write_tools(cx, &u, out);
}

/* --- refuse --- */

struct refuse_in {
	str id, name;
};
static const struct field refuse_in[] = {
	FIELD_TEXT(struct refuse_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which server."),
	FIELD_TEXT(
		struct refuse_in, name, .need = true, .min = 1, .max = LIMIT_TOOL_NAME, .doc = "Which tool."),
	FIELD_END,
};

static status
run_refuse(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct refuse_in *i = in;
	struct toolset_tool t;
	struct upstream u;
	status s;

	TRY(upstream_lock(cx, cx->caller->org_id, i->id, &u));
	s = toolset_get(cx, u.org_id, i->name, &t);
	if (s == E_NOT_FOUND || (s == OK && !str_eq(t.source_id, u.id)))
		return fail(cx, E_NOT_FOUND, "%.*s has no tool called \"%.*s\"", STR_ARG(u.name),
			STR_ARG(i->name));
	TRY(s);
	t.state = STR("quarantined");
	t.definition = t.definition_hash = (str){ 0 };
	TRY(toolset_put(cx, u.org_id, &t));
	TRY(record(cx, AUDIT_RECORD_CHANGED, &t, "refused"));
	return write_tools(cx, &u, out);
}

#define MANAGE "mcp.upstream.manage"

const struct op upstream_tool_ops[] = {
	{ .name = "upstream_tools",
		.method = "GET",
		.path = "/api/v1/upstreams/{id}/tools",
		.rule = "mcp.upstream.read",
		.tx = OP_TX_READ,
		.doc = "Lists what another MCP server offers: accepted, quarantined with what has changed, "
		       "or gone.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = tools_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_tools },
	{ .name = "upstream_refresh",
		.method = "POST",
		.path = "/api/v1/upstreams/{id}/refresh",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Asks another MCP server for its tools now. What is new or other than accepted is "
		       "quarantined.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = tools_out,
		.errors = OP_ERRORS(
			E_NOT_FOUND, E_CONFLICT, E_BUSY, E_TOO_LARGE, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.prepare = prepare_refresh,
		.run = run_refresh },
	{ .name = "upstream_tools_accept",
		.method = "POST",
		.path = "/api/v1/upstreams/{id}/tools/accept",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.authority = true,
		.tx = OP_TX_RIGHTS,
		.doc = "Offers tools of another MCP server, exactly as they are defined there now, and says "
		       "what they do.",
		.in = accept_in,
		.in_size = sizeof(struct accept_in),
		.out = tools_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_CONFLICT, E_TOO_LARGE, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.run = run_accept },
	{ .name = "upstream_tools_refuse",
		.method = "POST",
		.path = "/api/v1/upstreams/{id}/tools/refuse",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Offers a tool of another MCP server no longer: back into quarantine.",
		.in = refuse_in,
		.in_size = sizeof(struct refuse_in),
		.out = tools_out,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.run = run_refuse },
	{ 0 },
};
