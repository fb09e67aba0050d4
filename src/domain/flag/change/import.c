/* SPDX-License-Identifier: Apache-2.0 */
/* Import: an environment becomes what a file says (docs/import.md). */
#include "domain/flag/change/change.h"
#include "domain/flag/change/impl.h"

#include "base/limits.h"
#include "db/db.h"
#include "domain/flag/exchange/exchange.h"
#include "domain/flag/scalar.h"

#define PAGE 500

struct import {
	struct project project; /* locked, with all its environments */
	struct environment *here;
	int64_t seen;
	struct json *doc;	   /* what is live */
	const struct json *wanted; /* what the file says */
	struct item_new *made;	   /* new in the project */
	struct store_edit *edits;  /* those, what changes, and what goes: only what differs */
	struct wording *words;	   /* descriptions that change: in the project, and in no ruleset */
	size_t made_count, count, gone, word_count;
};

struct wording {
	enum resource resource;
	str key, before, after;
};

static const struct json *
section(const struct json *doc, enum resource r)
{
	return json_get(doc, str_of(resource_plural(r)));
}

/* --- finding: a file may have thousands, so not by walking --- */

struct index {
	struct set keys;
	const struct json **at;
};

static status
make_index(struct ctx *cx, const struct json *items, struct index *out)
{
	uint32_t place;

	*out = (struct index){ .keys = { .arena = cx->arena } };
	out->at = (const struct json **)arena_try_array(
		cx->arena, (items ? items->count : 0) + (size_t)1, sizeof(const struct json *));
	if (!out->at)
		return fail(cx, E_TOO_LARGE, "that is too much to import at once");
	if (items)
		JSON_EACH (item, items) {
			TRY(set_add(&out->keys, scalar_text(item->key), &place));
			out->at[place] = item;
		}
	return OK;
}

static const struct json *
find(const struct index *index, str key)
{
	struct scalar wanted = scalar_text(key);
	uint32_t place = set_find(&index->keys, &wanted);

	return place == SET_NONE ? NULL : index->at[place];
}

/* --- what is to be done --- */

static status
begin(struct ctx *cx, const struct tool_call *call, struct import *w)
{
	str id = input_text(call->input, "envId");
	struct environment e;

	TRY(change_in_scope(cx, call, id, (str){ 0 }));
	TRY(environment_get(cx, id, &e));
	TRY(project_lock(cx, e.project_id, &w->project));
	for (size_t i = 0; i < w->project.environment_count; i++)
		if (str_eq(w->project.environments[i].id, id))
			w->here = &w->project.environments[i];
	if (!w->here)
		return fail(cx, E_NOT_FOUND, "there is no such environment");
	TRY(tool_check_version(cx, call, w->here->version));
	w->seen = w->here->version;
	return store_document(cx, w->here, 0, &w->doc);
}

static status
refuse(struct ctx *cx, str path, const char *why)
{
	ctx_clear(cx);
	fail_issue(cx, path, str_of(why));
	return fail(cx, E_INVALID, "%.*s %s", STR_ARG(path), why);
}

/* The file of `export`, and of an environment whose targets are found in the same field. */
static status
read_wanted(struct ctx *cx, const struct tool_call *call, struct import *w)
{
	struct exchange e;
	str field;

	TRY(fail_below(cx, STR("/ruleset"),
		exchange_read(
			cx, EXCHANGE_COUNTERSIGN, json_get(call->input, STR("ruleset")), (str){ 0 }, &e)));
	w->wanted = e.ruleset;
	field = input_text(w->wanted, "targetField");
	if (field.len && !str_eq(field, w->here->target_field))
		return refuse(cx, STR("/ruleset/targetField"),
			"is another one than the environment's; a project's targetIdField is changed by "
			"itself");
	return OK;
}

static struct item_new
describe(enum resource r, const struct json *entry)
{
	bool segment = r == RESOURCE_SEGMENT;

	return (struct item_new){ .resource = r,
		.key = entry->key,
		.type = input_text(entry, "type"),
		.description = input_text(entry, "description"),
		.schema = json_get(entry, STR("schema")),
		.state = { json_get(entry, segment ? STR("rules") : STR("defaultValue")),
			json_get(entry, segment ? STR("allowList") : STR("rules")),
			segment ? json_get(entry, STR("denyList")) : NULL } };
}

static bool
is_same(const struct json *a, const struct json *b, const char *member)
{
	const struct json *x = json_get(a, str_of(member)), *y = json_get(b, str_of(member));

	return x && y ? json_equal(x, y) : !x && !y;
}

/* Types and schemas are the project's: they are the same in all environments. */
static status
check_identity(struct ctx *cx, enum resource r, const struct json *entry, const struct json *live)
{
	str path = arena_printf(cx->arena, "/ruleset%.*s", STR_ARG(change_path(cx, r, live->key)));

	if (!is_same(entry, live, "type"))
		return refuse(cx, arena_printf(cx->arena, "%.*s/type", STR_ARG(path)),
			"is another type than it has in the project, and a type does not change");
	if (!is_same(entry, live, "schema"))
		return refuse(cx, arena_printf(cx->arena, "%.*s/schema", STR_ARG(path)),
			"is another schema than it has in the project; it is changed in all environments, by "
			"itself");
	return OK;
}

/* E_SCOPE: what is new, or goes, is so in every environment of the project. */
static status
check_everywhere(struct ctx *cx, const struct tool_call *call, const struct import *w, str key)
{
	for (size_t i = 0; i < w->project.environment_count; i++)
		TRY(change_in_scope(cx, call, w->project.environments[i].id, key));
	return OK;
}

static status
add(struct ctx *cx, const struct tool_call *call, struct import *w, enum resource r, const struct json *entry,
	const struct json *live)
{
	struct item_new n = describe(r, entry);
	struct store_edit edit = { .resource = r, .key = entry->key, .state = item_entry(cx, &n) };

	TRY(change_in_scope(cx, call, w->here->id, entry->key));
	if (!live) {
		TRY(check_everywhere(cx, call, w, entry->key));
		w->made[w->made_count++] = n;
	} else {
		TRY(check_identity(cx, r, edit.state, live));
		if (json_equal(edit.state, live))
			return OK;
	}
	w->edits[w->count++] = edit;
	return OK;
}

/* What the project has and the file has not goes, for who asks for exactly the file. */
static status
remove_others(struct ctx *cx, const struct tool_call *call, struct import *w, enum resource r)
{
	const struct json *items = section(w->doc, r);
	struct index wanted;

	TRY(make_index(cx, section(w->wanted, r), &wanted));
	JSON_EACH (item, items) {
		if (find(&wanted, item->key))
			continue;
		TRY(check_everywhere(cx, call, w, item->key));
		w->edits[w->count++] = (struct store_edit){ .resource = r, .key = item->key };
		w->gone++;
	}
	return OK;
}

/* Descriptions of what is there already; what the file does not describe keeps its own. */
static status
reword_page(struct ctx *cx, const struct tool_call *call, struct import *w, const struct index *wanted,
	const struct store_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct json *entry = find(wanted, items[i].key);
		str text = entry ? input_text(entry, "description") : (str){ 0 };

		if (!entry || !json_get(entry, STR("description")) || str_eq(text, items[i].description))
			continue;
		TRY(check_everywhere(cx, call, w, items[i].key));
		w->words[w->word_count++] =
			(struct wording){ items[i].resource, items[i].key, items[i].description, text };
	}
	return OK;
}

static status
reword(struct ctx *cx, const struct tool_call *call, struct import *w, enum resource r)
{
	struct index wanted;
	struct store_item *items;
	str after = { 0 };
	size_t count;

	TRY(make_index(cx, section(w->wanted, r), &wanted));
	do {
		TRY(store_page(cx, w->here, r, after, PAGE, &items, &count));
		TRY(reword_page(cx, call, w, &wanted, items, count));
		if (count)
			after = items[count - 1].key;
	} while (count == PAGE);
	return OK;
}

static bool
is_exact(const struct tool_call *call)
{
	return call->tool->effect == OP_DESTRUCTIVE;
}

static status
choose(struct ctx *cx, const struct tool_call *call, struct import *w)
{
	size_t most = 1;

	for (int r = 0; r < RESOURCES; r++) {
		const struct json *items = section(w->wanted, (enum resource)r);

		most += (items ? items->count : 0) + section(w->doc, (enum resource)r)->count;
	}
	w->made = ARENA_TRY_ARRAY(cx->arena, struct item_new, most);
	w->edits = ARENA_TRY_ARRAY(cx->arena, struct store_edit, most);
	w->words = ARENA_TRY_ARRAY(cx->arena, struct wording, most);
	if (!w->made || !w->edits || !w->words)
		return fail(cx, E_TOO_LARGE, "that is too much to import at once");
	for (int r = 0; r < RESOURCES; r++) {
		const struct json *items = section(w->wanted, (enum resource)r);
		struct index live;

		TRY(make_index(cx, section(w->doc, (enum resource)r), &live));
		for (const struct json *entry = items ? items->child : NULL; entry; entry = entry->next)
			TRY(add(cx, call, w, (enum resource)r, entry, find(&live, entry->key)));
		if (is_exact(call))
			TRY(remove_others(cx, call, w, (enum resource)r));
		TRY(reword(cx, call, w, (enum resource)r));
	}
	return w->count + w->word_count
		       ? OK
		       : fail(cx, E_CONFLICT, "there is nothing to import: %.*s says what the file says",
				 STR_ARG(w->here->slug));
}

/* --- what is said of it --- */

/* {"flag KEY": text} */
static struct json *
shown_words(struct ctx *cx, const struct import *w, bool live)
{
	struct json *out = json_new_object(cx->arena), **end = &out->child;

	for (size_t i = 0; i < w->word_count; i++) {
		const struct wording *one = &w->words[i];

		*end = json_new_string(cx->arena, live ? one->before : one->after);
		(*end)->key =
			arena_printf(cx->arena, "%s %.*s", resource_name(one->resource), STR_ARG(one->key));
		end = &(*end)->next;
		out->count++;
	}
	return out;
}

/* {"flags": {KEY: state}, ...} of what changes: as it was (live), or as it will be. */
static struct json *
shown(struct ctx *cx, const struct import *w, bool live)
{
	struct json *out = json_new_object(cx->arena);

	for (int r = 0; r < RESOURCES; r++) {
		struct json *some = json_new_object(cx->arena), **end = &some->child;
		const struct json *items = section(w->doc, (enum resource)r);
		struct index index;

		if (make_index(cx, items, &index) != OK)
			return out;
		for (size_t i = 0; i < w->count; i++) {
			const struct store_edit *edit = &w->edits[i];
			const struct json *entry = live ? find(&index, edit->key) : edit->state;
			struct json *one;

			if (edit->resource != (enum resource)r || !entry)
				continue;
			one = change_shown(cx, (enum resource)r, entry);
			one->key = edit->key;
			*end = one;
			end = &one->next;
			some->count++;
		}
		if (some->count)
			json_add_member(out, str_of(resource_plural((enum resource)r)), some);
	}
	if (w->word_count)
		json_add_member(out, STR("descriptions"), shown_words(cx, w, live));
	return out;
}

static str
counted(struct ctx *cx, const struct import *w)
{
	str described =
		w->word_count ? arena_printf(cx->arena, ", %zu described", w->word_count) : (str){ 0 };

	return arena_printf(cx->arena, "%zu new, %zu changed, %zu deleted%.*s", w->made_count,
		w->count - w->made_count - w->gone, w->gone, STR_ARG(described));
}

static struct json *
value_of(struct ctx *cx, const struct import *w)
{
	struct json *value = json_new_object(cx->arena);

	json_add_member(value, STR("envId"), json_new_string(cx->arena, w->here->id));
	json_add_member(value, STR("version"), json_new_int(cx->arena, w->here->version));
	json_add_member(value, STR("created"), json_new_int(cx->arena, (int64_t)w->made_count));
	json_add_member(value, STR("changed"),
		json_new_int(cx->arena, (int64_t)(w->count - w->made_count - w->gone)));
	json_add_member(value, STR("deleted"), json_new_int(cx->arena, (int64_t)w->gone));
	json_add_member(value, STR("described"), json_new_int(cx->arena, (int64_t)w->word_count));
	return value;
}

static const str *
ids_of(struct ctx *cx, const struct project *p)
{
	str *ids = arena_alloc(cx->arena, (p->environment_count + 1) * sizeof(*ids));

	for (size_t i = 0; i < p->environment_count; i++)
		ids[i] = p->environments[i].id;
	return ids;
}

static status
write_all(struct ctx *cx, struct import *w)
{
	struct item_many many = { w->made, w->made_count, w->edits, w->count };
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	if (w->count)
		TRY(fail_below(
			cx, STR("/ruleset"), item_write_many(cx, &w->project, w->here, &many, now_us)));
	for (size_t i = 0; i < w->word_count; i++)
		TRY(item_describe(
			cx, &w->project, w->words[i].resource, w->words[i].key, w->words[i].after, now_us));
	return OK;
}

static status
import(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct import w = { 0 };
	struct impact impact;
	str words, what;
	bool everywhere;

	TRY(begin(cx, call, &w));
	TRY(read_wanted(cx, call, &w));
	TRY(choose(cx, call, &w));
	TRY(write_all(cx, &w));
	TRY(change_record_each(cx, call, w.here, w.doc, w.edits, w.count));
	TRY(change_impact(cx, call, w.doc, w.edits, w.count, &impact, &words));
	what = counted(cx, &w);
	everywhere = w.made_count || w.gone || w.word_count;
	*out = (struct tool_result){ .summary = arena_printf(cx->arena, "Import a file into %.*s: %.*s",
					     STR_ARG(w.here->slug), STR_ARG(what)),
		.resource_type = STR("environment"),
		.resource_id = w.here->id,
		.environment_id = w.here->id,
		.environments = everywhere ? ids_of(cx, &w.project) : NULL,
		.environment_count = everywhere ? w.project.environment_count : 0,
		.live_version = w.seen,
		.affected = arena_printf(cx->arena, "%.*s in %.*s%s%.*s", STR_ARG(what),
			STR_ARG(w.here->slug),
			everywhere ? ", new, deleted and described ones in every environment of its project"
				   : "",
			STR_ARG(words)),
		.before = shown(cx, &w, true),
		.after = shown(cx, &w, false),
		.impact = impact.radius,
		.value = value_of(cx, &w),
		.version = w.here->version };
	return OK;
}

/* --- the declarations --- */

#define IMPORT_INPUT                                                                                         \
	SCHEMA_OBJECT(SCHEMA_ENV_ID ",\"ruleset\":{\"type\":\"object\",\"description\":\"The file of "       \
				    "export: docs/import.md.\"}," SCHEMA_SPOT_CHECK,                         \
		"\"envId\",\"ruleset\"")

#define IMPORT_OUTPUT                                                                                        \
	SCHEMA_OBJECT(GIVES_WHERE "," GIVES("created", "integer") "," GIVES("changed", "integer") "," GIVES( \
			      "deleted", "integer") "," GIVES("described", "integer"),                       \
		"\"envId\",\"version\",\"created\",\"changed\",\"deleted\",\"described\"")

#define WRITES                                                                                               \
	"flag.flag.write", "flag.config.write", "flag.segment.write", "flag.flag.create",                    \
		"flag.config.create", "flag.segment.create"
static const char *const writes[] = { WRITES, NULL };
static const char *const deletes[] = { WRITES, "flag.flag.delete", "flag.config.delete",
	"flag.segment.delete", NULL };

#define IMPORT                                                                                               \
	.version = 1, .in_schema = IMPORT_INPUT, .out_schema = IMPORT_OUTPUT,                                \
	.propose_rule = "flag.flag.propose", .domain = "operations", .target = CHANGE_TARGET, .spans = true, \
	.ttl_seconds = CHANGE_TTL_SECONDS, .failure = CHANGE_FAILURE, .run = import

const struct tool change_import_tools[] = {
	{ .name = "flag.import",
		.title = "Import a file",
		.doc = "Makes an environment say what a file says of its flags, configs and segments. What "
		       "is "
		       "new begins in the project's other environments with its default value; what the file "
		       "has not stays.",
		.effect = OP_MUTATE,
		.rules = writes,
		.category = TOOL_CATEGORY_B,
		.rollback = true,
		IMPORT },
	{ .name = "flag.import_exact",
		.title = "Import a file, and nothing else",
		.doc = "As flag.import; and what the file has not is deleted from the project.",
		.effect = OP_DESTRUCTIVE,
		.rules = deletes,
		IMPORT },
	{ 0 },
};
