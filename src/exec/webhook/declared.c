/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/declared.h"

#include "base/limits.h"
#include "base/hash/sha256.h"
#include "core/visibility.h"
#include "core/gate/toolset.h"
#include "core/people/change.h"
#include "core/people/name.h"
#include "db/db.h"
#include "exec/webhook/hook.h"
#include "json/bind.h"
#include "json/canon.h"

#define PLUGIN "webhook."

/* --- as it is stored and shown --- */

static const char *const effects[] = { "read", "mutate", "destructive", NULL };
static const char *const categories[] = { "A", "B", "C", NULL };
static const char *const contracts[] = { "idempotent", "keyed", "probe", "blind", NULL };
static const char *const tiers[] = { "always_allow", "needs_approval", "blocked", NULL };
static const char *const ends[] = { "unknown", "refused", NULL };

/* What is said of one; and what is answered, with where it lives. */
struct wish {
	str id, name;
	str title, description, effect, category, domain, target, failure, contract, tier, server_error,
		probe, affects;
	struct json *input_schema, *output_schema;
	bool rollback, financial, personal_data, phi;
	int64_t deadline_ms, version;
	str tool;
};

#define WISH_FIELDS                                                                                          \
	FIELD_TEXT(struct wish, title, .need = true, .min = 1, .max = LIMIT_NAME,                            \
		.doc = "A few words for people."),                                                           \
		FIELD_TEXT(struct wish, description, .need = true, .min = 1, .max = 4000,                    \
			.doc = "What it does, for models and people."),                                      \
		FIELD_TEXT(struct wish, effect, .need = true, .choices = effects,                            \
			.doc = "What it does to the world."),                                                \
		FIELD_JSON(struct wish, input_schema, .need = true,                                          \
			.doc = "JSON Schema (2020-12) of its parameters."),                                  \
		FIELD_JSON(struct wish, output_schema,                                                       \
			.doc = "JSON Schema of what it answers; anything unless said."),                     \
		FIELD_TEXT(struct wish, failure, .max = 1000,                                                \
			.doc = "What it means if it fails, for the card; needed unless it only reads."),     \
		FIELD_TEXT(struct wish, contract, .choices = contracts,                                      \
			.doc = "What happens if it is asked twice; blind unless said."),                     \
		FIELD_TEXT(struct wish, category, .choices = categories, .doc = "C unless said."),           \
		FIELD_TEXT(struct wish, domain, .max = LIMIT_NAME, .doc = "operations unless said."),        \
		FIELD_TEXT(struct wish, target, .max = LIMIT_NAME,                                           \
			.doc = "The system it acts on; the connection's name unless said."),                 \
		FIELD_BOOL(struct wish, rollback, .doc = "Whether it can be undone."),                       \
		FIELD_BOOL(struct wish, financial, .doc = "Whether money moves."),                           \
		FIELD_BOOL(struct wish, personal_data, .doc = "Whether it is about people."),                \
		FIELD_BOOL(struct wish, phi, .doc = "Whether it is about their health."),                    \
		FIELD_TEXT(struct wish, tier, .choices = tiers,                                              \
			.doc = "Of agents for which nothing is said; reads are allowed and changes need "    \
			       "approval unless said."),                                                     \
		FIELD_INT(struct wish, deadline_ms, .min = 1000, .max = LIMIT_WEBHOOK_DEADLINE_MS,           \
			.doc = "How long its outcome is waited for; the connection's unless said."),         \
		FIELD_TEXT(struct wish, server_error, .choices = ends,                                       \
			.doc = "What a status of 500 and more means: unknown, unless it promises that "      \
			       "nothing was done."),                                                         \
		FIELD_TEXT(struct wish, probe, .max = LIMIT_TOOL_NAME,                                       \
			.doc = "The read tool of another system that is asked whether it was done, by its "  \
			       "input idempotencyKey; needed where the contract is probe."),                 \
		FIELD_TEXT(struct wish, affects, .max = LIMIT_NAME,                                          \
			.doc = "What it touches, for the card: \"the customer's mailbox\".")

static const struct field put_in[] = {
	FIELD_TEXT(struct wish, id, .need = true, .max = LIMIT_NAME, .doc = "Which connection."),
	FIELD_TEXT(struct wish, name, .need = true, .min = 1, .max = 100,
		.doc = "verbNoun; the tool is webhook.<name>."),
	WISH_FIELDS,
	FIELD_END,
};
static const struct field shown[] = {
	FIELD_TEXT(struct wish, tool, .need = true, .doc = "What the tool is called."),
	FIELD_INT(struct wish, version, .need = true,
		.doc = "One more with every change, also after it was deleted."),
	WISH_FIELDS,
	FIELD_END,
};

/* A tool, and what its options say. */
struct declared {
	struct toolset_tool tool;
	str server_error, probe, affects;
};

static str
option(const struct json *options, const char *name, str otherwise)
{
	const struct json *said = json_get(options, str_of(name));

	return said && said->type == JSON_STRING ? said->text : otherwise;
}

static status
read_options(struct ctx *cx, const struct toolset_tool *t, struct declared *out)
{
	struct json *options;

	TRY(json_parse(cx, t->options, &options));
	*out = (struct declared){ .tool = *t,
		.server_error = option(options, "serverError", STR("unknown")),
		.probe = option(options, "probe", (str){ 0 }),
		.affects = option(options, "affects", (str){ 0 }) };
	return OK;
}

static status
print_options(struct ctx *cx, const struct declared *d, str *out)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	if (str_eq(d->server_error, STR("refused")))
		json_out_str(&o, "serverError", d->server_error);
	if (d->probe.len)
		json_out_str(&o, "probe", d->probe);
	if (d->affects.len)
		json_out_str(&o, "affects", d->affects);
	json_out_end(&o);
	return buf_finish(&b, out);
}

static void
write_declared(struct json_out *o, const void *from)
{
	const struct declared *all = from;
	const struct toolset_tool *d = &all->tool;

	json_out_str(o, "tool", d->name);
	json_out_int(o, "version", d->version);
	json_out_str(o, "title", d->title);
	json_out_str(o, "description", d->doc);
	json_out_str(o, "effect", d->effect);
	json_out_raw(o, "inputSchema", d->in_schema);
	json_out_raw(o, "outputSchema", d->out_schema);
	json_out_str(o, "failure", d->failure);
	json_out_str(o, "contract", d->contract);
	json_out_str(o, "category", d->category);
	json_out_str(o, "domain", d->domain);
	json_out_str(o, "target", d->target);
	json_out_bool(o, "rollback", d->rollback);
	json_out_bool(o, "financial", d->financial);
	json_out_bool(o, "personalData", d->personal_data);
	json_out_bool(o, "phi", d->phi);
	json_out_str(o, "tier", d->tier);
	json_out_int(o, "deadlineMs", d->deadline_ms);
	json_out_str(o, "serverError", all->server_error);
	if (all->probe.len)
		json_out_str(o, "probe", all->probe);
	if (all->affects.len)
		json_out_str(o, "affects", all->affects);
}

/* --- what is said of one --- */

static status
refuse(struct ctx *cx, const char *path, const char *message)
{
	ctx_clear(cx);
	fail_issue(cx, str_of(path), str_of(message));
	return fail(cx, E_INVALID, "%s %s", path, message);
}

static bool
is_word(str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
			return false;
	}
	return name.len > 0;
}

static str
or_else(str said, str otherwise)
{
	return said.ptr && said.len ? said : otherwise;
}

static status
read_wish(struct ctx *cx, const struct wish *w, const struct hook *c, struct declared *out)
{
	bool reads = str_eq(w->effect, STR("read"));
	struct toolset_tool *d = &out->tool;

	*out = (struct declared){ .server_error = or_else(w->server_error, STR("unknown")),
		.probe = w->probe,
		.affects = w->affects };
	*d = (struct toolset_tool){ .name = arena_printf(cx->arena, PLUGIN "%.*s", STR_ARG(w->name)),
		.provider = STR("webhook"),
		.source_id = c->id,
		.source = c->name,
		.remote = w->name,
		.state = STR("accepted"),
		.title = w->title,
		.doc = w->description,
		.effect = w->effect,
		.category = reads ? STR("A") : or_else(w->category, STR("C")),
		.domain = or_else(w->domain, STR("operations")),
		.target = or_else(w->target, c->name),
		.out_schema = STR("{}"),
		.rollback = w->rollback,
		.financial = w->financial,
		.personal_data = w->personal_data,
		.phi = w->phi,
		.failure = or_else(w->failure, STR("")),
		.contract = or_else(w->contract, STR("blind")),
		.tier = or_else(w->tier, reads ? STR("always_allow") : STR("needs_approval")),
		.deadline_ms = w->deadline_ms ? w->deadline_ms : c->deadline_ms };
	TRY(print_options(cx, out, &d->options));
	TRY(json_text(cx, w->input_schema, &d->in_schema));
	return w->output_schema ? json_text(cx, w->output_schema, &d->out_schema) : OK;
}

/* The one that is asked must be there when it is named, and take what it is asked by. */
static status
check_probe(struct ctx *cx, const struct declared *d)
{
	const struct json *takes;
	const struct tool *t;
	struct json *schema;

	if (!d->probe.len)
		return str_eq(d->tool.contract, STR("probe"))
			       ? refuse(cx, "/probe", "is needed: which tool tells whether it was done")
			       : OK;
	if (str_eq(d->tool.effect, STR("read")))
		return refuse(cx, "/probe", "is of what changes something");
	t = tool_find(cx->tools, d->probe);
	if (!t || !t->outside || t->effect != OP_READ)
		return refuse(cx, "/probe", "names no tool of another system that reads");
	TRY(json_parse(cx, tool_in_text(cx->tools, t), &schema));
	takes = json_get(schema, STR("properties"));
	if (!takes || !json_get(takes, STR("idempotencyKey")))
		return refuse(cx, "/probe", "names a tool that does not take idempotencyKey");
	return OK;
}

static status
check(struct ctx *cx, const struct hook *c, const struct toolset_tool *d)
{
	bool callback = str_eq(c->mode, STR("callback"));

	if (!is_word(d->remote))
		return refuse(cx, "/name", "has only letters, digits and _");
	TRY(name_check(cx, "/title", d->title));
	TRY(name_check(cx, "/target", d->target));
	if (str_eq(c->mode, STR("events")))
		return fail(cx, E_CONFLICT, "this connection takes notifications only");
	if (callback && str_eq(d->effect, STR("read")))
		return refuse(cx, "/effect", "is not read where the outcome is told later");
	if (!callback && d->deadline_ms > LIMIT_WEBHOOK_ANSWER_MS)
		return refuse(cx, "/deadlineMs", "is at most 300000 where the answer is waited for");
	if (!str_eq(d->effect, STR("read")) && !d->failure.len)
		return refuse(cx, "/failure", "is needed: what it means if it fails");
	return OK;
}

/* Offered at once: an admin wrote it. What cannot be offered (a schema that is none, a name for models that is taken) is
 * refused. */
static status
take_up(struct ctx *cx, const struct json *accepted, struct toolset_tool *d)
{
	str why;

	TRY(canon_text(cx, accepted, &d->definition));
	d->definition_hash = sha256_hex(cx->arena, d->definition);
	d->seen = d->definition;
	d->seen_hash = d->definition_hash;
	TRY(tx_now_us(cx, &d->seen_at));
	TRY(toolset_problem(cx, cx->caller->org_id, d, &why));
	if (why.len)
		return fail(cx, E_INVALID, "it cannot be offered: %.*s", STR_ARG(why));
	return toolset_put(cx, cx->caller->org_id, d);
}

/* --- operations --- */

/* *out is zero where there is none of this name. */
static status
find(struct ctx *cx, str name, struct declared *out)
{
	struct toolset_tool t;
	status s = toolset_get(cx, cx->caller->org_id, name, &t);

	if (s == OK)
		return read_options(cx, &t, out);
	if (s != E_NOT_FOUND)
		return s;
	ctx_clear(cx);
	*out = (struct declared){ 0 };
	return OK;
}

static status
run_put(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct wish *w = in;
	struct json *was = NULL, *is;
	struct declared before, d;
	struct hook c;

	TRY(hook_get(cx, cx->caller->org_id, w->id, &c));
	TRY(read_wish(cx, w, &c, &d));
	TRY(check(cx, &c, &d.tool));
	TRY(check_probe(cx, &d));
	TRY(find(cx, d.tool.name, &before));
	if (before.tool.name.len && !str_eq(before.tool.source_id, c.id))
		return fail(cx, E_EXISTS, "another connection has a tool of this name");
	if (!before.tool.name.len)
		TRY(toolset_past(cx, cx->caller->org_id, d.tool.name, &before.tool.version));
	d.tool.version = before.tool.version + 1;
	if (before.tool.name.len)
		TRY(op_item_value(cx, write_declared, &before, &was));
	TRY(op_item_value(cx, write_declared, &d, &is));
	TRY(take_up(cx, is, &d.tool));
	TRY(change_record(cx, was ? AUDIT_RECORD_CHANGED : AUDIT_RECORD_CREATED, "outside_tool", d.tool.name,
		d.tool.name, was, is));
	write_declared(out, &d);
	return OK;
}

struct list_in {
	str id;
};
static const struct field list_in[] = {
	FIELD_TEXT(struct list_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which connection."),
	FIELD_END,
};

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	struct toolset_tool *rows;
	struct declared d;
	const struct visibility *v;
	struct hook c;
	size_t count;

	TRY(hook_get(cx, cx->caller->org_id, ((const struct list_in *)in)->id, &c));
	TRY(visibility_of(cx, &v));
	TRY(toolset_list(cx, cx->caller->org_id, c.id, &rows, &count));
	json_out_array(out, "items");
	for (size_t i = 0; i < count; i++) {
		if (!visibility_has_tool(v, rows[i].name))
			continue;
		TRY(read_options(cx, &rows[i], &d));
		json_out_object(out, NULL);
		write_declared(out, &d);
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

struct name_in {
	str id, name;
};
static const struct field name_in[] = {
	FIELD_TEXT(struct name_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which connection."),
	FIELD_TEXT(
		struct name_in, name, .need = true, .max = LIMIT_NAME, .doc = "Which tool, without webhook."),
	FIELD_END,
};

static status
run_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct name_in *n = in;
	str name = arena_printf(cx->arena, PLUGIN "%.*s", STR_ARG(n->name));
	struct declared d;
	struct json *was;

	TRY(find(cx, name, &d));
	if (!d.tool.name.len || !str_eq(d.tool.source_id, n->id))
		return fail(cx, E_NOT_FOUND, "this connection has no such tool");
	TRY(op_item_value(cx, write_declared, &d, &was));
	TRY(toolset_drop(cx, cx->caller->org_id, d.tool.source_id, name));
	TRY(change_record(cx, AUDIT_RECORD_DELETED, "outside_tool", name, name, was, NULL));
	write_declared(out, &d);
	return OK;
}

#define RULE "webhook.connection.manage"

const struct op declared_ops[] = {
	{ .name = "connection_tool_list",
		.method = "GET",
		.path = "/api/v1/connections/{id}/tools",
		.rule = RULE,
		.tx = OP_TX_READ,
		.doc = "Lists the tools that were declared for a connection.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_list },
	{ .name = "connection_tool_put",
		.method = "PUT",
		.path = "/api/v1/connections/{id}/tools/{name}",
		.rule = RULE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Declares a tool of a connection, or says all of it anew; it is offered at once as "
		       "webhook.<name>.",
		.in = put_in,
		.in_size = sizeof(struct wish),
		.out = shown,
		.errors = OP_ERRORS(E_NOT_FOUND, E_EXISTS, E_CONFLICT, E_TOO_LARGE),
		.run = run_put },
	{ .name = "connection_tool_delete",
		.method = "DELETE",
		.path = "/api/v1/connections/{id}/tools/{name}",
		.rule = RULE,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Forgets a tool of a connection; proposals of it cannot be applied any more.",
		.in = name_in,
		.in_size = sizeof(struct name_in),
		.out = shown,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_delete },
	{ 0 },
};
