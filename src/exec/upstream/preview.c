/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/preview.h"

#include "base/clock.h"
#include "base/hash/sha256.h"
#include "base/limits.h"
#include "core/gate/gate.h"
#include "core/id.h"
#include "core/outside/lane.h"
#include "db/db.h"
#include "exec/upstream/clients.h"
#include "json/bind.h"
#include "json/canon.h"
#include "json/out.h"

#include <inttypes.h>

#include "exec/upstream/preview.sql.h" /* SQL_PREVIEW_*, generated from preview.sql */

static bool
is_text(const struct json *value)
{
	return value && value->type == JSON_STRING;
}

/* --- asking the server --- */

/* Once, in its lane; what it said, or a failure. Nobody has approved anything yet: only what an admin called a read. */
static status
ask(struct ctx *cx, void *arg, const struct tool *t, const struct json *input, struct json **out)
{
	struct outside_answer answer = { .end = OUTSIDE_NOT_SENT };
	struct outside_call call = {
		.tool = t, .org_id = cx->caller->org_id, .command_id = id_new(cx->arena)
	};
	int64_t now_us = clock_mono_us();
	status s;

	TRY(canon_text(cx, input, &call.input));
	TRY(lane_enter(cx, call.org_id, t->outside->source_id));
	call.send_by_us = now_us + LIMIT_PREVIEW_US;
	call.deadline_us = call.send_by_us;
	s = upstreams_call(cx, arg, &call, &answer);
	lane_leave(cx, t->outside->source_id,
		s == OK && answer.end != OUTSIDE_LOST && answer.end != OUTSIDE_NOT_SENT);
	TRY(s);
	if (!answer.result.len)
		return fail(cx, E_UNAVAILABLE, "%.*s", STR_ARG(answer.why));
	return json_parse(cx, answer.result, out);
}

/* --- before --- */

struct before {
	const struct tool *tool; /* that reads it */
	struct json *input;
};

static const struct tool *
find_read(const struct ctx *cx, const struct tool *of, str remote)
{
	for (size_t i = 0; i < registry_count(cx->tools); i++) {
		const struct tool *t = registry_at(cx->tools, i);

		if (t->outside && t->effect == OP_READ &&
			str_eq(t->outside->source_id, of->outside->source_id) &&
			str_eq(t->outside->remote, remote))
			return t;
	}
	return NULL;
}

static status
read_options(struct ctx *cx, const struct tool *t, struct json **out)
{
	return json_parse(cx, t->outside->options.len ? t->outside->options : STR("{}"), out);
}

/* What is to be read for this call; tool NULL: nothing. */
static status
plan(struct ctx *cx, const struct tool_call *call, const struct json *options, struct before *out)
{
	const struct json *said = json_get(options, STR("before")),
			  *tool = said ? json_get(said, STR("tool")) : NULL;
	struct before b = { .input = json_new_object(cx->arena) };

	*out = (struct before){ 0 };
	if (!is_text(tool))
		return OK;
	b.tool = find_read(cx, call->tool, tool->text);
	if (!b.tool)
		return fail(cx, E_NOT_FOUND, "%.*s, which reads it, is not offered", STR_ARG(tool->text));
	JSON_EACH (argument, json_get(said, STR("arguments"))) {
		const struct json *value = json_get(call->input, argument->text);

		if (value)
			json_add_member(b.input, argument->key, json_share(cx->arena, value));
	}
	TRY(gate_check_input(cx, b.tool, b.input));
	*out = b;
	return OK;
}

struct asking {
	const struct tool *tool;
	bool may;
};

/* Who proposes sees the card: what they could not read at once by themselves is not on it. */
static status
may_read(struct ctx *cx, void *arg)
{
	struct asking *a = arg;
	struct permission_snapshot snapshot;
	bool stored;

	TRY(permission_load(cx, cx->caller, &snapshot));
	a->may = gate_lists(cx->caller, &snapshot, a->tool) && gate_may(cx->caller, a->tool, true) &&
		 (cx->caller->kind == PRINCIPAL_USER ||
			 permission_tier(&snapshot, a->tool, &stored) == TIER_ALWAYS_ALLOW);
	return OK;
}

/* What a person reads of a result: its structure, or its text. */
static struct json *
shown(struct ctx *cx, const struct json *result)
{
	const struct json *structure = json_get(result, STR("structuredContent")),
			  *content = json_get(result, STR("content")),
			  *first = content ? json_at(content, 0) : NULL,
			  *text = first ? json_get(first, STR("text")) : NULL;

	if (structure)
		return json_share(cx->arena, structure);
	if (content && content->count == 1 && is_text(text))
		return json_share(cx->arena, text);
	return json_share(cx->arena, content ? content : result);
}

/* The other server's own word that it did not do it. */
static bool
is_failure(const struct json *result)
{
	const struct json *said = json_get(result, STR("isError"));

	return said && said->type == JSON_BOOL && said->truth;
}

/* The first line of what a failure says, or as much of it as a sentence bears. */
static str
first_line(const struct json *result)
{
	const struct json *content = json_get(result, STR("content")),
			  *first = content ? json_at(content, 0) : NULL,
			  *text = first ? json_get(first, STR("text")) : NULL;
	str line = is_text(text) ? text->text : STR("");

	line.len = str_find(line, '\n');
	if (line.len > LIMIT_PREVIEW_WHY) {
		line.len = LIMIT_PREVIEW_WHY;
		while (line.len && (line.ptr[line.len] & 0xc0) == 0x80)
			line.len--; /* no half of a character */
	}
	return line.len ? line : STR("it does not say why");
}

/* Members of the input that the state has under the same name, and what the call would make of them. A state that is
 * one text is set against the one text that the call has besides the arguments that find it. */
static struct json *
changes(struct ctx *cx, const struct json *input, const struct json *found_by, const struct json *state)
{
	struct json *list = json_new_array(cx->arena);
	const struct json *only = NULL;
	size_t texts = 0;

	JSON_EACH (member, input) {
		const struct json *was = state->type == JSON_OBJECT ? json_get(state, member->key) : NULL;
		struct json *change = json_new_object(cx->arena);

		if (json_get(found_by, member->key))
			continue;
		texts += member->type == JSON_STRING;
		only = member->type == JSON_STRING ? member : only;
		if (!was || json_equal(was, member))
			continue;
		json_add_member(change, STR("path"),
			json_new_string(cx->arena, arena_printf(cx->arena, "/%.*s", STR_ARG(member->key))));
		json_add_member(change, STR("before"), json_share(cx->arena, was));
		json_add_member(change, STR("after"), json_share(cx->arena, member));
		json_add_item(list, change);
	}
	if (state->type == JSON_STRING && texts == 1) {
		struct json *change = json_new_object(cx->arena);

		json_add_member(change, STR("path"),
			json_new_string(cx->arena, arena_printf(cx->arena, "/%.*s", STR_ARG(only->key))));
		json_add_member(change, STR("before"), json_share(cx->arena, state));
		json_add_member(change, STR("after"), json_share(cx->arena, only));
		json_add_item(list, change);
	}
	return list;
}

/* A state that is too large for a card is there as its size and its hash: nothing of it is left out silently. */
static status
add_state(struct ctx *cx, struct json *preview, const struct tool_call *call, const struct before *b,
	const struct json *result)
{
	struct json *state = shown(cx, result);
	str digest, text;

	TRY(canon_hash(cx, result, &digest));
	TRY(json_text(cx, state, &text));
	json_add_member(preview, STR("digest"), json_new_string(cx->arena, digest));
	if (text.len > LIMIT_PREVIEW_BYTES) {
		json_add_member(preview, STR("beforeBytes"), json_new_int(cx->arena, (int64_t)text.len));
		json_add_member(
			preview, STR("beforeHash"), json_new_string(cx->arena, sha256_hex(cx->arena, text)));
		return OK;
	}
	json_add_member(preview, STR("before"), state);
	json_add_member(preview, STR("changes"), changes(cx, call->input, b->input, state));
	return OK;
}

static void
say(struct ctx *cx, struct json *preview, bool available, str sentence)
{
	json_add_member(preview, STR("available"), json_new_bool(cx->arena, available));
	json_add_member(preview, STR("says"), json_new_string(cx->arena, sentence));
}

static void
cannot(struct ctx *cx, struct json *preview, str why)
{
	say(cx, preview, false,
		arena_printf(cx->arena, "It cannot be previewed: %.*s", STR_ARG(arena_str(cx->arena, why))));
	ctx_clear(cx);
}

/* No state to show; but what it said is kept as a digest, so that it is noticed if there is one when it is applied. */
static status
add_failure(struct ctx *cx, struct json *preview, const struct before *b, const struct json *result)
{
	str digest;

	TRY(canon_hash(cx, result, &digest));
	cannot(cx, preview,
		arena_printf(cx->arena, "%.*s could not read it: %.*s", STR_ARG(b->tool->outside->remote),
			STR_ARG(first_line(result))));
	json_add_member(preview, STR("digest"), json_new_string(cx->arena, digest));
	return OK;
}

static status
survey_before(
	struct ctx *cx, void *arg, const struct tool_call *call, const struct before *b, struct json *preview)
{
	struct asking a = { .tool = b->tool };
	struct json *result;
	status s;

	TRY(db_read(cx, may_read, &a));
	if (!a.may) {
		cannot(cx, preview, STR("who proposes it may not read at once what it would change."));
		return OK;
	}
	s = ask(cx, arg, b->tool, b->input, &result);
	if (s != OK) {
		cannot(cx, preview, ctx_message(cx, s));
		return OK;
	}
	if (is_failure(result))
		return add_failure(cx, preview, b, result);
	say(cx, preview, true,
		arena_printf(cx->arena,
			"This is what %.*s said before. If it says something else when this is applied, "
			"nothing is "
			"sent.",
			STR_ARG(b->tool->outside->remote)));
	return add_state(cx, preview, call, b, result);
}

/* --- the tool's own dry-run --- */

static status
survey_dry(struct ctx *cx, void *arg, const struct tool_call *call, str argument, struct json *preview)
{
	struct json *input = json_new_object(cx->arena), *result;
	status s;

	JSON_EACH (member, call->input)
		if (!str_eq(member->key, argument))
			json_add_member(input, member->key, json_share(cx->arena, member));
	json_add_member(input, argument, json_new_bool(cx->arena, true));
	s = ask(cx, arg, call->tool, input, &result);
	if (s != OK) {
		cannot(cx, preview, ctx_message(cx, s));
		return OK;
	}
	if (is_failure(result)) {
		cannot(cx, preview,
			arena_printf(cx->arena, "its own dry-run failed: %.*s", STR_ARG(first_line(result))));
		return OK;
	}
	say(cx, preview, true, STR("This is what the tool itself says it would do; nobody else has looked."));
	json_add_member(preview, STR("dryRun"), shown(cx, result));
	return OK;
}

/* --- history --- */

struct payload_row {
	str payload;
};
static const struct field payload_row[] = { FIELD_TEXT(struct payload_row, payload), FIELD_END };

struct past {
	const struct tool_call *call;
	struct payload_row *rows;
	size_t count;
};

static status
load_past(struct ctx *cx, void *arg)
{
	struct past *p = arg;

	return db_all(cx, SQL_PREVIEW_PAST, payload_row, sizeof(*p->rows), &p->rows, &p->count,
		TEXT(cx->caller->org_id), TEXT(str_of(p->call->tool->name)));
}

/* How many things an input names: the longest list in it; one, where it has none. */
static int64_t
names(const struct json *value)
{
	int64_t most = value->type == JSON_ARRAY ? value->count : 1;

	JSON_EACH (child, value) {
		int64_t n = names(child);

		most = n > most ? n : most;
	}
	return most;
}

static str
things(struct arena *a, int64_t least, int64_t most)
{
	if (least == most)
		return arena_printf(a, "%" PRId64 " %s", most, most == 1 ? "thing" : "things");
	return arena_printf(a, "%" PRId64 " to %" PRId64 " things", least, most);
}

static status
add_history(struct ctx *cx, const struct tool_call *call, struct json *preview)
{
	struct past p = { .call = call };
	int64_t least = INT64_MAX, most = 0, now = names(call->input);
	struct json *payload;

	TRY(db_read(cx, load_past, &p));
	for (size_t i = 0; i < p.count; i++) {
		int64_t n;

		TRY(json_parse(cx, p.rows[i].payload, &payload));
		n = names(payload);
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	if (!p.count)
		return OK;
	json_add_member(preview, STR("history"),
		json_new_string(cx->arena,
			arena_printf(cx->arena,
				"The last %zu %s like this named %.*s; this one names %" PRId64 ".", p.count,
				p.count == 1 ? "call" : "calls", STR_ARG(things(cx->arena, least, most)),
				now)));
	json_add_member(preview, STR("unusual"), json_new_bool(cx->arena, now > 10 * most));
	return OK;
}

/* --- all of it --- */

status
preview_survey(struct ctx *cx, void *arg, const struct tool_call *call, const struct json **out)
{
	struct json *preview = json_new_object(cx->arena), *options;
	const struct json *dry;
	struct before b;
	status s;

	if (call->tool->effect == OP_READ)
		return OK;
	TRY(read_options(cx, call->tool, &options));
	dry = json_get(options, STR("dryRun"));
	s = plan(cx, call, options, &b);
	if (s != OK)
		cannot(cx, preview, ctx_message(cx, s));
	else if (b.tool)
		TRY(survey_before(cx, arg, call, &b, preview));
	else if (is_text(dry))
		TRY(survey_dry(cx, arg, call, dry->text, preview));
	else
		cannot(cx, preview, STR("what it changes is known only when it has been done."));
	TRY(add_history(cx, call, preview));
	*out = preview;
	return OK;
}

status
preview_recheck(struct ctx *cx, void *arg, const struct tool_call *call, str *out_digest)
{
	struct json *options, *result;
	struct before b;

	TRY(read_options(cx, call->tool, &options));
	TRY(plan(cx, call, options, &b));
	if (!b.tool)
		return fail(cx, E_NOT_FOUND, "nobody says any more how it is read");
	TRY(ask(cx, arg, b.tool, b.input, &result));
	return canon_hash(cx, result, out_digest);
}

/* --- what an admin says, and what we suggest --- */

static const struct json *
properties_of(const struct json *definition)
{
	return json_get(json_get(definition, STR("inputSchema")), STR("properties"));
}

static bool
has_argument(const struct json *definition, str name)
{
	const struct json *properties = properties_of(definition);

	return properties && json_get(properties, name);
}

struct said_before {
	str tool;
	struct json *arguments;
};
static const struct field said_before[] = {
	FIELD_TEXT(struct said_before, tool, .need = true, .min = 1),
	FIELD_JSON(struct said_before, arguments, .need = true),
	FIELD_END,
};

struct said {
	str dry_run, probe;
	struct json *before;
};
static const struct field said[] = {
	FIELD_TEXT(struct said, dry_run),
	FIELD_JSON(struct said, before),
	FIELD_TEXT(struct said, probe),
	FIELD_END,
};

status
preview_check_members(struct ctx *cx, const struct json *options)
{
	struct said_before b = { 0 };
	struct said s = { 0 };

	TRY(json_bind(cx, options, said, sizeof(s), &s));
	return s.before ? fail_below(cx, STR("/before"), json_bind(cx, s.before, said_before, sizeof(b), &b))
			: OK;
}

static status
check_before(struct ctx *cx, const struct json *before, const struct json *definition)
{
	const struct json *arguments = json_get(before, STR("arguments"));

	if (!arguments || arguments->type != JSON_OBJECT)
		return fail(cx, E_INVALID,
			"options.before must be {tool, arguments: {its argument: this tool's}}");
	JSON_EACH (argument, arguments)
		if (!is_text(argument) || !has_argument(definition, argument->text))
			return fail(cx, E_INVALID,
				"options.before.arguments names an argument that this tool has not");
	return OK;
}

status
preview_check(struct ctx *cx, const struct json *options, const struct json *definition)
{
	const struct json *dry = json_get(options, STR("dryRun")), *before = json_get(options, STR("before"));

	if (dry && (!is_text(dry) || !has_argument(definition, dry->text)))
		return fail(
			cx, E_INVALID, "options.dryRun must be the name of an argument that this tool has");
	return before ? check_before(cx, before, definition) : OK;
}

/* The noun behind one of these verbs; empty: there is none. */
static str
noun_of(str name, const char *const *verbs)
{
	for (; *verbs; verbs++) {
		str verb = str_of(*verbs);

		if (name.len > verb.len + 1 && str_starts(name, verb) &&
			(name.ptr[verb.len] == '_' || name.ptr[verb.len] == '-'))
			return str_skip(name, verb.len + 1);
	}
	return (str){ 0 };
}

/* What the reading tool needs, from the same names of the other; NULL: it needs more, or nothing. */
static struct json *
map_arguments(struct ctx *cx, const struct json *reads, const struct json *writes)
{
	const struct json *needed = json_get(json_get(reads, STR("inputSchema")), STR("required"));
	struct json *map = json_new_object(cx->arena);

	if (!needed || !needed->count)
		return NULL;
	JSON_EACH (name, needed) {
		if (!is_text(name) || !has_argument(writes, name->text))
			return NULL;
		json_add_member(map, name->text, json_new_string(cx->arena, name->text));
	}
	return map;
}

struct json *
preview_suggest(struct ctx *cx, const struct json *definition, const struct json *const *others, size_t count)
{
	static const char *const changing[] = { "update", "write", "delete", "edit", "set", "patch", "remove",
		"replace", "put", "modify", NULL };
	static const char *const reading[] = { "get", "read", "describe", "show", "fetch", "view", NULL };
	const struct json *name = json_get(definition, STR("name"));
	str noun = is_text(name) ? noun_of(name->text, changing) : (str){ 0 };

	for (size_t i = 0; noun.len && i < count; i++) {
		const struct json *other = json_get(others[i], STR("name"));
		struct json *map, *before;

		if (!is_text(other) || !str_eq(noun_of(other->text, reading), noun))
			continue;
		map = map_arguments(cx, others[i], definition);
		if (!map)
			continue;
		before = json_new_object(cx->arena);
		json_add_member(before, STR("tool"), json_new_string(cx->arena, other->text));
		json_add_member(before, STR("arguments"), map);
		return before;
	}
	return NULL;
}
