/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/note/note.h"

#include "base/fault.h"
#include "core/ident/caller.h"
#include "db/db.h"
#include "json/bind.h"

#include <inttypes.h>

#include "domain/note/note.sql.h" /* SQL_NOTE_*, generated from note.sql */

#define PAGE	   50
#define PAGE_MOST  200
#define AFTER_LAST "~" /* greater than every id */

struct note {
	str id, title, text;
	int64_t version;
	str created_by;
	int64_t created_at, updated_at;
};
static const struct field row[] = {
	/* as it is stored, and as it is shown */
	FIELD_TEXT(struct note, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct note, title, .need = true, .doc = "One line."),
	FIELD_TEXT(struct note, text, .need = true, .doc = "What it says."),
	FIELD_INT(struct note, version, .need = true, .doc = "How often it was written."),
	FIELD_TEXT(struct note, created_by, .need = true, .doc = "Who wrote it first."),
	FIELD_INT(struct note, created_at, .need = true, .doc = "When (microseconds since 1970)."),
	FIELD_INT(struct note, updated_at, .need = true, .doc = "When it was changed last."),
	FIELD_END,
};

/* --- a note as others see it --- */

static void
add_text(struct ctx *cx, struct json *o, const char *key, str text)
{
	json_add_member(o, str_of(key), json_new_string(cx->arena, text));
}

static void
add_int(struct ctx *cx, struct json *o, const char *key, int64_t n)
{
	json_add_member(o, str_of(key), json_new_int(cx->arena, n));
}

static struct json *
show(struct ctx *cx, const struct note *n)
{
	struct json *o = json_new_object(cx->arena);

	add_text(cx, o, "id", n->id);
	add_text(cx, o, "title", n->title);
	add_text(cx, o, "text", n->text);
	add_int(cx, o, "version", n->version);
	add_text(cx, o, "createdBy", n->created_by);
	add_int(cx, o, "createdAt", n->created_at);
	add_int(cx, o, "updatedAt", n->updated_at);
	return o;
}

static status
find(struct ctx *cx, const struct sql *how, str id, struct note *out)
{
	status s = db_one(cx, how, row, out, TEXT(cx->caller->org_id), TEXT(id));

	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "there is no note with this id");
	return s;
}

/* To change it: nobody else does meanwhile. */
static status
find_locked(struct ctx *cx, str id, struct note *out)
{
	return find(cx, PLANTED(note_unlocked) ? SQL_NOTE_GET : SQL_NOTE_LOCK, id, out);
}

static struct tool_result
about(struct ctx *cx, const struct note *n, const char *what)
{
	return (struct tool_result){ .summary = arena_printf(
					     cx->arena, "%s the note \"%.*s\"", what, STR_ARG(n->title)),
		.resource_type = STR("note"),
		.resource_key = n->id,
		.resource_id = n->id,
		.affected = STR("1 note"),
		.subject = arena_printf(cx->arena, "note:%.*s", STR_ARG(n->id)) };
}

/* --- reading --- */

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = {
	FIELD_TEXT(struct list_in, after, .max = 64, .doc = "Go on behind the note of this id."),
	FIELD_INT(
		struct list_in, limit, .min = 1, .max = PAGE_MOST, .doc = "At most so many; 50 if not said."),
	FIELD_END,
};

struct list_out {
	struct json *notes;
	str next;
};
static const struct field list_out[] = {
	FIELD_JSON(struct list_out, notes, .need = true, .doc = "Newest first."),
	FIELD_TEXT(struct list_out, next, .doc = "What to give as `after` for the next page."),
	FIELD_END,
};

static status
list(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct list_in in = { .after = STR(AFTER_LAST), .limit = PAGE };
	struct json *value = json_new_object(cx->arena), *items = json_new_array(cx->arena);
	struct note *notes;
	size_t count;

	TRY(json_bind(cx, call->input, list_in, sizeof(in), &in));
	TRY(db_all(cx, SQL_NOTE_LIST, row, sizeof(*notes), &notes, &count, TEXT(cx->caller->org_id),
		TEXT(in.after), INT(in.limit)));
	for (size_t i = 0; i < count; i++)
		if (caller_in_scope(cx->caller, (str){ 0 }, notes[i].id))
			json_add_item(items, show(cx, &notes[i]));
	json_add_member(value, STR("notes"), items);
	if (count == (size_t)in.limit)
		add_text(cx, value, "next", notes[count - 1].id);
	*out = (struct tool_result){ .summary = STR("List notes"),
		.resource_type = STR("note"),
		.affected = STR("nothing"),
		.value = value };
	return OK;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = 64, .doc = "Which note."),
	FIELD_END,
};

static status
get(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct id_in in = { 0 };
	struct note n;

	TRY(json_bind(cx, call->input, id_in, sizeof(in), &in));
	TRY(find(cx, SQL_NOTE_GET, in.id, &n));
	*out = about(cx, &n, "Read");
	out->affected = STR("nothing");
	out->value = show(cx, &n);
	return OK;
}

/* --- changing --- */

struct create_in {
	str title, text;
};
static const struct field create_in[] = {
	FIELD_TEXT(
		struct create_in, title, .need = true, .min = 1, .max = NOTE_TITLE_BYTES, .doc = "One line."),
	FIELD_TEXT(struct create_in, text, .need = true, .min = 0, .max = NOTE_TEXT_BYTES,
		.doc = "What it says."),
	FIELD_END,
};

static status
create(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct create_in in = { 0 };
	struct note n;

	TRY(json_bind(cx, call->input, create_in, sizeof(in), &in));
	n = (struct note){ .id = call->id,
		.title = in.title,
		.text = in.text,
		.version = 1,
		.created_by = call->actor_id,
		.created_at = call->now_us,
		.updated_at = call->now_us };
	TRY(db_later(cx, SQL_NOTE_ADD, TEXT(cx->caller->org_id), TEXT(n.id), TEXT(n.title), TEXT(n.text),
		TEXT(n.created_by), INT(n.created_at)));
	*out = about(cx, &n, "Create");
	out->after = out->value = show(cx, &n);
	out->version = n.version;
	return OK;
}

struct update_in {
	str id, title, text;
};
static const struct field update_in[] = {
	FIELD_TEXT(struct update_in, id, .need = true, .min = 1, .max = 64, .doc = "Which note."),
	FIELD_TEXT(struct update_in, title, .min = 1, .max = NOTE_TITLE_BYTES, .doc = "Its new title."),
	FIELD_TEXT(struct update_in, text, .min = 0, .max = NOTE_TEXT_BYTES, .doc = "Its new text."),
	FIELD_END,
};

static status
update(struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct update_in in = { 0 };
	struct note before, after;

	TRY(json_bind(cx, call->input, update_in, sizeof(in), &in));
	if (!in.title.ptr && !in.text.ptr) {
		fail_issue(cx, STR(""), STR("say title, text or both"));
		return fail(cx, E_INVALID, "an update changes something: say title, text or both");
	}
	TRY(find_locked(cx, in.id, &before));
	after = before;
	after.title = in.title.ptr ? in.title : before.title;
	after.text = in.text.ptr ? in.text : before.text;
	after.version = before.version + 1;
	after.updated_at = call->now_us;
	TRY(db_later(cx, SQL_NOTE_CHANGE, TEXT(cx->caller->org_id), TEXT(after.id), TEXT(after.title),
		TEXT(after.text), INT(after.version), INT(after.updated_at)));
	*out = about(cx, &before, "Change");
	out->before = show(cx, &before);
	out->after = out->value = show(cx, &after);
	out->version = after.version;
	return OK;
}

struct delete_out {
	str deleted;
};
static const struct field delete_out[] = {
	FIELD_TEXT(struct delete_out, deleted, .need = true, .doc = "Its id."),
	FIELD_END,
};

static status delete (struct ctx *cx, const struct tool_call *call, struct tool_result *out)
{
	struct id_in in = { 0 };
	struct json *value = json_new_object(cx->arena);
	struct note n;

	TRY(json_bind(cx, call->input, id_in, sizeof(in), &in));
	TRY(find_locked(cx, in.id, &n));
	TRY(db_later(cx, SQL_NOTE_REMOVE, TEXT(cx->caller->org_id), TEXT(n.id)));
	*out = about(cx, &n, "Delete");
	add_text(cx, value, "deleted", n.id);
	out->before = show(cx, &n);
	out->value = value;
	return OK;
}

/* --- the declarations --- */

#define TARGET "Countersign's own notebook"

static const char *const reads[] = { "note.note.read", NULL };
static const char *const creates[] = { "note.note.create", NULL };
static const char *const writes[] = { "note.note.write", NULL };
static const char *const deletes[] = { "note.note.delete", NULL };

const struct tool note_tools[] = {
	{ .name = "note.list",
		.version = 1,
		.title = "List notes",
		.doc = "Lists the notes of the notebook, newest first.",
		.effect = OP_READ,
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = list_out,
		.rules = reads,
		.category = TOOL_CATEGORY_A,
		.domain = "operations",
		.target = TARGET,
		.rollback = true,
		.run = list },
	{ .name = "note.get",
		.version = 1,
		.title = "Read a note",
		.doc = "Gives one note.",
		.effect = OP_READ,
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = row,
		.rules = reads,
		.category = TOOL_CATEGORY_A,
		.domain = "operations",
		.target = TARGET,
		.rollback = true,
		.run = get },
	{ .name = "note.create",
		.version = 1,
		.title = "Create a note",
		.doc = "Writes a new note into the notebook.",
		.effect = OP_MUTATE,
		.in = create_in,
		.in_size = sizeof(struct create_in),
		.out = row,
		.rules = creates,
		.propose_rule = "note.note.propose",
		.category = TOOL_CATEGORY_B,
		.domain = "operations",
		.target = TARGET,
		.rollback = true,
		.failure = "The note is not created; nothing else is affected.",
		.run = create },
	{ .name = "note.update",
		.version = 1,
		.title = "Change a note",
		.doc = "Changes the title or the text of a note; what is not given stays as it is.",
		.effect = OP_MUTATE,
		.in = update_in,
		.in_size = sizeof(struct update_in),
		.out = row,
		.rules = writes,
		.propose_rule = "note.note.propose",
		.category = TOOL_CATEGORY_B,
		.domain = "operations",
		.target = TARGET,
		.rollback = true,
		.failure = "The note stays as it is; nothing else is affected.",
		.run = update },
	{ .name = "note.delete",
		.version = 1,
		.title = "Delete a note",
		.doc = "Deletes a note for good.",
		.effect = OP_DESTRUCTIVE,
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = delete_out,
		.rules = deletes,
		.propose_rule = "note.note.propose",
		.domain = "operations",
		.target = TARGET,
		.failure = "The note stays; nothing else is affected.",
		.run = delete },
	{ 0 },
};
