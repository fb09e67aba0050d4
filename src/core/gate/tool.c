/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/tool.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/hash/sha256.h"
#include "base/scoped.h"
#include "core/ident/caller.h"
#include "core/ident/rule.h"
#include "json/bind.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MODEL_NAME 64u
#define MODEL_HASH 8u

struct registered {
	const struct tool *tool;
	struct schema *schema;
	str model_name, in_text, out_text;
	struct late *late; /* NULL: the schema is there */
	bool lent;	   /* of the base: the schema is freed there */
	bool inspectable;  /* its input schema says something */
};

/* The schema of a tool that is not ours, compiled at the first need: a registry is made in transactions, where there is no
 * time for the schemas of all. */
struct late {
	pthread_mutex_t lock;
	struct schema *_Atomic schema;
};

/* What is kept with it and can be added to a registry that is otherwise constant. */
struct extra {
	pthread_mutex_t lock;
	void *thing;
	void (*free_fn)(void *);
};

struct registry {
	struct arena arena;
	struct registered *tools; /* sorted by name */
	size_t count;
	atomic_uint users;
	struct extra *extra;
};

/* --- names --- */

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-';
}

static bool
is_name(str name)
{
	size_t dots = 0;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (c == '.')
			dots++;
		else if (!is_word(c))
			return false;
	}
	return name.len > 0 && name.len <= LIMIT_TOOL_NAME && (dots == 1 || str_starts(name, STR("mcp__")));
}

static bool
is_model_name(str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!is_word(name.ptr[i]))
			return false;
	return name.len > 0 && name.len <= MODEL_NAME;
}

str
tool_model_name(struct arena *a, const struct tool *t)
{
	str name = str_of(t->name);
	char *text;

	if (t->model)
		return str_of(t->model);
	text = arena_alloc(a, MODEL_NAME + 1);
	for (size_t i = 0; i < name.len && i < MODEL_NAME; i++)
		text[i] = name.ptr[i] == '.' ? '_' : name.ptr[i];
	if (name.len <= MODEL_NAME)
		return (str){ text, name.len };
	text[MODEL_NAME - MODEL_HASH - 1] = '_';
	memcpy(text + MODEL_NAME - MODEL_HASH, sha256_hex(a, name).ptr, MODEL_HASH);
	return (str){ text, MODEL_NAME };
}

/* --- is a declaration complete? --- */

/* A kind has no dot, so it is never a tool's name. */
static bool
is_kind(const char *kind)
{
	for (const char *c = kind; *c; c++)
		if (!(*c >= 'a' && *c <= 'z') && *c != '_')
			return false;
	return *kind;
}

static const char *
problem_of_form(const struct tool *t)
{
	if (t->op)
		return t->in || t->in_schema || t->out || t->out_schema
			       ? "it is an operation's, and has a form of its own"
		       : t->op->effect != OP_READ || !t->op->out ? "its operation is not a read"
		       : strcmp(t->op->rule, t->rules[0]) != 0	 ? "its rule is not its operation's"
								 : NULL;
	if (!t->in == !t->in_schema)
		return "it needs either in or in_schema";
	return !t->out == !t->out_schema ? "it needs either out or out_schema" : NULL;
}

static const char *
problem(const struct tool *t)
{
	if (!t->name || !is_name(str_of(t->name)))
		return "its name is not plugin.verbNoun";
	if (t->model && !is_model_name(str_of(t->model)))
		return "models cannot call it that";
	if (t->version < 1)
		return "it has no version";
	if (!t->title || !t->doc || !t->target || !t->domain)
		return "it has no title, doc, target or domain";
	if (!t->rules || !t->rules[0])
		return "it has no rules";
	if (t->kind && !is_kind(t->kind))
		return "its kind is not a word";
	if (t->direct && (t->effect != OP_MUTATE || t->category == TOOL_CATEGORY_C || !t->rollback))
		return "only a small change that can be undone is direct";
	if (t->effect != OP_READ && !t->failure)
		return "it does not say what its failure means";
	if (t->provider == TOOL_BUILTIN && !t->run)
		return "it does not run anything";
	if (t->effect == OP_READ && t->category != TOOL_CATEGORY_A)
		return "a read is of category A";
	for (size_t i = 0; t->rules[i]; i++)
		if (!rule_valid(str_of(t->rules[i])))
			return "one of its rules is not a rule";
	return problem_of_form(t);
}

/* --- what it takes and gives, as JSON Schema --- */

#define ORGANIZATION "slug" /* who calls a tool is of one organization: it is not asked for */

static bool
asks_organization(const struct field *fields)
{
	return fields->type != FIELD_TYPE_END && strcmp(fields->name, ORGANIZATION) == 0; /* as path: first */
}

static const struct field *
fields_in(const struct tool *t)
{
	static const struct field none[] = { FIELD_END };

	if (!t->op)
		return t->in;
	if (!t->op->in)
		return none;
	return asks_organization(t->op->in) ? t->op->in + 1 : t->op->in;
}

static status
form(struct ctx *cx, const struct field *fields, const char *text, struct json **out)
{
	if (!fields)
		return json_parse(cx, str_of(text), out);
	*out = field_schema(cx->arena, fields);
	return OK;
}

static status
keep_text(struct ctx *cx, struct registry *r, const struct json *doc, str *out)
{
	str text;

	TRY(json_text(cx, doc, &text));
	*out = arena_str(&r->arena, text);
	return OK;
}

/* Whether it bounds what may be sent at all: {} and {"type":"object"} do not. */
static bool
says_something(const struct json *schema)
{
	static const char *const words[] = { "$ref", "allOf", "anyOf", "oneOf", "enum", "const",
		"maxProperties", "patternProperties", "propertyNames" };
	const struct json *properties = json_get(schema, STR("properties")),
			  *more = json_get(schema, STR("additionalProperties"));

	if (properties && properties->count)
		return true;
	if (more && more->type == JSON_BOOL && !more->truth)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (json_get(schema, str_of(words[i])))
			return true;
	return false;
}

static status
compile_text(struct ctx *cx, str text, struct schema **out)
{
	const struct schema_options options = { .assert_format = true };
	struct json *doc;

	TRY(json_parse(cx, text, &doc));
	return schema_new(cx, doc, &options, out);
}

/* Both of its forms, as text. */
static status
write_forms(struct ctx *cx, struct registry *r, const struct tool *t, struct registered *out)
{
	struct json *doc;

	TRY(form(cx, t->op ? t->op->out : t->out, t->out_schema, &doc));
	TRY(keep_text(cx, r, doc, &out->out_text));
	TRY(form(cx, fields_in(t), t->in_schema, &doc));
	TRY(keep_text(cx, r, doc, &out->in_text));
	out->inspectable = says_something(doc);
	return OK;
}

/* Are both of its forms schemas? */
static status
compile(struct ctx *cx, const struct registered *of, struct schema **out)
{
	struct schema *gives;

	TRY(compile_text(cx, of->out_text, &gives));
	schema_free(gives);
	return compile_text(cx, of->in_text, out);
}

static int
by_name(const void *a, const void *b)
{
	const struct registered *x = a, *y = b;

	return strcmp(x->tool->name, y->tool->name);
}

/* What one does with a proposal: every face has it, and no tool is called so (MCP-2). */
static const char *const reserved[] = { "apply_proposal", "cancel_proposal", "describe_proposal",
	"wait_proposal", "list_proposals" };

static bool
is_reserved(str model_name)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (str_eq(model_name, str_of(reserved[i])))
			return true;
	return false;
}

static status
check_collisions(struct ctx *cx, const struct registry *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (is_reserved(r->tools[i].model_name))
			return fail(cx, E_INVALID, "tool %s would be called %.*s, which is taken",
				r->tools[i].tool->name, STR_ARG(r->tools[i].model_name));
	for (size_t i = 0; i < r->count; i++)
		for (size_t j = 0; j < i; j++)
			if (str_eq(r->tools[i].model_name, r->tools[j].model_name))
				return fail(cx, E_INVALID,
					"tools %s and %s would have the same name for a model",
					r->tools[j].tool->name, r->tools[i].tool->name);
	return OK;
}

static status
fill(struct ctx *cx, struct registry *r, const struct tool *const *tables)
{
	for (; *tables; tables++) {
		for (const struct tool *t = *tables; t->name; t++) {
			const char *wrong = problem(t);
			struct registered *slot = &r->tools[r->count];

			if (wrong)
				return fail(cx, E_INVALID, "tool %s: %s", t->name, wrong);
			TRY(write_forms(cx, r, t, slot));
			TRY(compile(cx, slot, &slot->schema));
			slot->tool = t;
			slot->model_name = tool_model_name(&r->arena, t);
			r->count++;
		}
	}
	qsort(r->tools, r->count, sizeof(*r->tools), by_name);
	return check_collisions(cx, r);
}

static struct registry *
make(size_t most)
{
	struct registry *r = calloc(1, sizeof(*r));

	CHECK(r != NULL);
	r->extra = calloc(1, sizeof(*r->extra));
	CHECK(r->extra != NULL && pthread_mutex_init(&r->extra->lock, NULL) == 0);
	atomic_init(&r->users, 1);
	arena_init(&r->arena, LIMIT_REQUEST_ARENA);
	r->tools = arena_alloc(&r->arena, (most + 1) * sizeof(*r->tools));
	return r;
}

status
registry_new(struct ctx *cx, const struct tool *const *tables, struct registry **out_registry)
{
	struct registry *r;
	size_t most = 0;
	status s;

	for (const struct tool *const *table = tables; *table; table++)
		for (const struct tool *t = *table; t->name; t++)
			most++;
	r = make(most);
	s = fill(cx, r, tables);
	if (s != OK) {
		registry_free(r);
		return s;
	}
	*out_registry = r;
	return OK;
}

void
registry_free(struct registry *r)
{
	if (!r)
		return;
	if (r->extra->thing)
		r->extra->free_fn(r->extra->thing);
	CHECK(pthread_mutex_destroy(&r->extra->lock) == 0);
	free(r->extra);
	for (size_t i = 0; i < r->count; i++) {
		struct late *late = r->tools[i].late;

		if (!r->tools[i].lent)
			schema_free(late ? atomic_load(&late->schema) : r->tools[i].schema);
		if (late)
			CHECK(pthread_mutex_destroy(&late->lock) == 0);
	}
	arena_done(&r->arena);
	free(r);
}

/* --- more than the built-in ones --- */

struct registry *
registry_over(const struct registry *base, size_t most)
{
	struct registry *r = make(base->count + most);

	for (size_t i = 0; i < base->count; i++) {
		r->tools[i] = base->tools[i];
		r->tools[i].lent = true;
	}
	r->count = base->count;
	return r;
}

struct arena *
registry_room(struct registry *r)
{
	return &r->arena;
}

static bool
is_taken(const struct registry *r, const struct tool *t, str model_name)
{
	for (size_t i = 0; i < r->count; i++)
		if (str_eq(r->tools[i].model_name, model_name) ||
			strcmp(r->tools[i].tool->name, t->name) == 0)
			return true;
	return is_reserved(model_name);
}

static str
misunderstood(struct ctx *cx)
{
	str why = arena_printf(cx->arena, "its schema is not one we understand: %.*s",
		STR_ARG(ctx_message(cx, cx->error.code)));

	ctx_clear(cx);
	return why;
}

/* Why it cannot be offered; empty: it was added behind the others. */
static str
add(struct ctx *cx, struct registry *r, const struct tool *t)
{
	const char *wrong = problem(t);
	struct registered slot = { .tool = t };

	if (wrong)
		return str_of(wrong);
	slot.model_name = tool_model_name(&r->arena, t);
	if (is_taken(r, t, slot.model_name))
		return STR("models call another tool so already");
	if (write_forms(cx, r, t, &slot) != OK)
		return misunderstood(cx);
	slot.late = ARENA_NEW(&r->arena, struct late);
	CHECK(pthread_mutex_init(&slot.late->lock, NULL) == 0);
	r->tools[r->count++] = slot;
	return (str){ 0 };
}

void
registry_add(struct ctx *cx, struct registry *r, const struct tool *tools, size_t count, str *problems)
{
	for (size_t i = 0; i < count; i++)
		problems[i] = add(cx, r, &tools[i]);
	qsort(r->tools, r->count, sizeof(*r->tools), by_name);
}

void
registry_hold(struct registry *r)
{
	(void)atomic_fetch_add(&r->users, 1);
}

void
registry_release(struct registry *r)
{
	if (r && atomic_fetch_sub(&r->users, 1) == 1)
		registry_free(r);
}

void *
registry_extra(const struct registry *r, void *(*make_fn)(void), void (*free_fn)(void *))
{
	scoped_lock held = lock(&r->extra->lock);

	if (!r->extra->thing) {
		r->extra->thing = make_fn();
		r->extra->free_fn = free_fn;
	}
	return r->extra->thing;
}

/* --- looking up --- */

static const struct registered *
find(const struct registry *r, str name)
{
	for (size_t lo = 0, hi = r->count; lo < hi;) {
		size_t middle = (lo + hi) / 2;
		int order = str_cmp(name, str_of(r->tools[middle].tool->name));

		if (order == 0)
			return &r->tools[middle];
		if (order < 0)
			hi = middle;
		else
			lo = middle + 1;
	}
	return NULL;
}

const struct tool *
tool_of_model(const struct registry *r, str model_name)
{
	for (size_t i = 0; i < r->count; i++)
		if (str_eq(r->tools[i].model_name, model_name))
			return r->tools[i].tool;
	return NULL;
}

const struct tool *
tool_of_kind(const struct registry *r, str kind)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->tools[i].tool->kind && str_eq(kind, str_of(r->tools[i].tool->kind)))
			return r->tools[i].tool;
	return NULL;
}

const struct tool *
tool_find(const struct registry *r, str name)
{
	const struct registered *found = find(r, name);

	return found ? found->tool : NULL;
}

str
tool_problem(struct ctx *cx, const struct registry *r, const struct tool *t)
{
	const struct registered *found = find(r, str_of(t->name));
	struct schema *takes;

	CHECK(found != NULL);
	if (compile(cx, found, &takes) != OK)
		return misunderstood(cx);
	schema_free(takes);
	return (str){ 0 };
}

const struct schema *
tool_schema(const struct registry *r, const struct tool *t)
{
	const struct registered *found = find(r, str_of(t->name));

	CHECK(found != NULL);
	return found->late ? atomic_load(&found->late->schema) : found->schema;
}

/* One thread compiles; others that need it wait for it. */
static status
compile_late(struct ctx *cx, const struct registered *of)
{
	scoped_lock held = lock(&of->late->lock);
	struct schema *made = NULL;

	if (atomic_load(&of->late->schema))
		return OK;
	TRY(compile_text(cx, of->in_text, &made));
	atomic_store(&of->late->schema, made);
	return OK;
}

status
tool_schema_made(struct ctx *cx, const struct registry *r, const struct tool *t, const struct schema **out)
{
	const struct registered *found = find(r, str_of(t->name));
	status s = OK;

	CHECK(found != NULL);
	if (found->late)
		s = compile_late(cx, found);
	if (s != OK)
		return fail(cx, s, "the schema of %s is not one we understand: %.*s", t->name,
			STR_ARG(ctx_message(cx, s)));
	*out = tool_schema(r, t);
	return OK;
}

str
tool_in_text(const struct registry *r, const struct tool *t)
{
	const struct registered *found = find(r, str_of(t->name));

	CHECK(found != NULL);
	return found->in_text;
}

str
tool_out_text(const struct registry *r, const struct tool *t)
{
	const struct registered *found = find(r, str_of(t->name));

	CHECK(found != NULL);
	return found->out_text;
}

bool
tool_inspectable(const struct registry *r, const struct tool *t)
{
	const struct registered *found = find(r, str_of(t->name));

	return found && found->inspectable;
}

size_t
registry_count(const struct registry *r)
{
	return r->count;
}

const struct tool *
registry_at(const struct registry *r, size_t index)
{
	CHECK(index < r->count);
	return r->tools[index].tool;
}

/* --- for handlers --- */

status
tool_value(struct ctx *cx, status (*run)(struct ctx *cx, const void *in, struct json_out *out),
	const void *in, const struct json **out)
{
	struct json_out o;
	struct json *value;
	struct buf b;
	str text;

	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	TRY(run(cx, in, &o));
	json_out_end(&o);
	TRY(buf_finish(&b, &text));
	TRY(json_parse(cx, text, &value));
	*out = value;
	return OK;
}

static const struct json *
with_organization(struct ctx *cx, const struct json *input)
{
	struct json *o = json_new_object(cx->arena);

	json_add_member(o, STR(ORGANIZATION), json_new_string(cx->arena, cx->caller->org_slug));
	JSON_EACH (member, input)
		json_add_member(o, member->key, json_share(cx->arena, member));
	return o;
}

status
tool_run_op(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	const struct op *op = call->tool->op;
	struct tool_result r = { .summary = str_of(call->tool->title), .affected = STR("nothing") };
	void *in = NULL;

	if (op->in) {
		in = arena_alloc(cx->arena, op->in_size);
		TRY(json_bind(cx,
			asks_organization(op->in) ? with_organization(cx, call->input) : call->input, op->in,
			op->in_size, in));
	}
	TRY(tool_value(cx, op->run, in, &r.value));
	*out = r;
	return OK;
}

status
tool_check_version(struct ctx *cx, const struct tool_call *call, int64_t live_version)
{
	status s;

	if (!call->seen_version || call->seen_version == live_version)
		return OK;
	s = fail(cx, E_DRIFT,
		"the environment has version %" PRId64 " now, and it was proposed at %" PRId64
		"; propose it again (proposals/{id}/repropose)",
		live_version, call->seen_version);
	fail_details(
		cx, arena_printf(cx->arena, "{\"liveVersion\":%" PRId64 ",\"proposedVersion\":%" PRId64 "}",
			    live_version, call->seen_version));
	return s;
}

/* --- words for the faces --- */

const char *
effect_name(enum op_effect e)
{
	static const char *const names[] = {
		[OP_READ] = "read", [OP_MUTATE] = "mutate", [OP_DESTRUCTIVE] = "destructive"
	};

	return names[e];
}

const char *
category_name(enum tool_category c)
{
	static const char *const names[] = {
		[TOOL_CATEGORY_A] = "A", [TOOL_CATEGORY_B] = "B", [TOOL_CATEGORY_C] = "C"
	};

	return names[c];
}

const char *
contract_name(enum tool_contract c)
{
	static const char *const names[] = { [TOOL_TRANSACTIONAL] = "transactional",
		[TOOL_IDEMPOTENT] = "idempotent",
		[TOOL_KEYED] = "keyed",
		[TOOL_PROBE] = "probe",
		[TOOL_BLIND] = "blind" };

	return names[c];
}

const char *
provider_name(enum tool_provider p)
{
	static const char *const names[] = {
		[TOOL_BUILTIN] = "builtin", [TOOL_MCP] = "mcp", [TOOL_WEBHOOK] = "webhook"
	};

	return names[p];
}
