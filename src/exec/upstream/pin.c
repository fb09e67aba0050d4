/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/pin.h"

#include "base/hash/sha256.h"
#include "base/limits.h"
#include "core/card/visible.h"
#include "json/canon.h"
#include "json/out.h"

#define NAME_MOST 128u /* as MCP has it */
#define HASH_PART 8u

/* --- names --- */

static bool
is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '-' || c == '.';
}

static bool
is_name(str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!is_plain(name.ptr[i]) && name.ptr[i] != '/')
			return false;
	return name.len > 0 && name.len <= NAME_MOST;
}

/* A slash does not stand in a name of ours: what had one gets a hash, so that two never become one. */
static str
our_name(struct arena *a, str upstream, str remote)
{
	char *text = arena_alloc(a, NAME_MOST + 1);
	bool changed = !is_name(remote);
	size_t n = 0;

	for (; n < remote.len && n < NAME_MOST; n++) {
		text[n] = is_plain(remote.ptr[n]) ? remote.ptr[n] : '_';
		changed = changed || text[n] != remote.ptr[n];
	}
	if (!changed)
		return arena_printf(a, "mcp__%.*s__%.*s", STR_ARG(upstream), (int)n, text);
	return arena_printf(a, "mcp__%.*s__%.*s_%.*s", STR_ARG(upstream), (int)(n > 100 ? 100 : n), text,
		(int)HASH_PART, sha256_hex(a, remote).ptr);
}

/* One letter for all that look like it (after UTS 39, for ASCII), in any case. */
static str
skeleton(struct arena *a, str name)
{
	char *text = arena_alloc(a, 2 * name.len + 1);
	size_t n = 0;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (c == '1' || c == 'I' || c == '|')
			c = 'l';
		if (c == '0')
			c = 'o';
		if (c == '-' || c == '.' || c == '/')
			c = '_';
		if (c >= 'A' && c <= 'Z')
			c = (char)(c + ('a' - 'A'));
		if (c == 'm' || c == 'w') { /* "rn" and "vv" are read as these */
			text[n++] = c == 'm' ? 'r' : 'v';
			c = c == 'm' ? 'n' : 'v';
		}
		text[n++] = c;
	}
	return (str){ text, n };
}

bool
pin_alike(struct arena *a, str name, str other)
{
	return !str_eq(name, other) && str_eq(skeleton(a, name), skeleton(a, other));
}

/* --- the definition --- */

static str
text_of(const struct json *o, const char *key)
{
	const struct json *value = o ? json_get(o, str_of(key)) : NULL;

	return value && value->type == JSON_STRING ? value->text : (str){ 0 };
}

static str
hidden(struct ctx *cx, const struct json *definition)
{
	unsigned found = 0;

	(void)visible_json(cx->arena, definition, &found);
	for (unsigned bit = 0; visible_sentence(bit); bit++)
		if (found & 1u << bit)
			return arena_printf(cx->arena, "its definition could deceive who reads it: %s",
				visible_sentence(bit));
	return (str){ 0 };
}

static str
problem(struct ctx *cx, const struct pin *p)
{
	const struct json *schema = json_get(p->definition, STR("inputSchema"));

	if (!is_name(p->remote))
		return STR("its name is not 1 to 128 letters, digits, _ - . or /");
	if (!str_eq(text_of(p->definition, "name"), p->remote))
		return STR("its definition has another name");
	if (!schema || schema->type != JSON_OBJECT)
		return STR("it has no input schema");
	return hidden(cx, p->definition);
}

static status
canonical(struct ctx *cx, struct pin *p, str text)
{
	struct json *doc;

	TRY(json_parse(cx, text, &doc));
	if (doc->type != JSON_OBJECT)
		return fail(cx, E_INVALID, "it is not an object");
	TRY(canon_text(cx, doc, &p->text));
	p->definition = doc;
	return OK;
}

status
pin_read(struct ctx *cx, str upstream, str remote, str text, struct pin *out)
{
	struct pin p = { .remote = remote, .text = text, .name = our_name(cx->arena, upstream, remote) };
	status s = text.len > LIMIT_TOOL_DEFINITION ? E_TOO_LARGE : canonical(cx, &p, text);

	if (s == E_TOO_LARGE) {
		p.refused = STR("its definition is too large");
		p.text = STR("{}");
	} else if (s != OK) {
		p.refused = arena_printf(
			cx->arena, "its definition cannot be read: %.*s", STR_ARG(ctx_message(cx, s)));
		p.text = STR("{}");
	} else {
		p.refused = problem(cx, &p);
	}
	ctx_clear(cx);
	p.hash = sha256_hex(cx->arena, p.definition ? p.text : text);
	*out = p;
	return OK;
}

str
pin_title(const struct pin *p)
{
	str title = text_of(p->definition, "title");

	if (!title.len && p->definition)
		title = text_of(json_get(p->definition, STR("annotations")), "title");
	return title.len ? title : p->remote;
}

str
pin_doc(const struct pin *p)
{
	str doc = text_of(p->definition, "description");

	return doc.len ? doc : STR("It has no description.");
}

status
pin_in_schema(struct ctx *cx, const struct pin *p, str *out)
{
	return json_text(cx, json_get(p->definition, STR("inputSchema")), out);
}

/* A reference would lead elsewhere in a schema that stands in another one. */
static bool
has_reference(const struct json *doc)
{
	if (json_get(doc, STR("$ref")) || json_get(doc, STR("$dynamicRef")))
		return true;
	JSON_EACH (child, doc)
		if (has_reference(child))
			return true;
	return false;
}

/* What a call gives is the server's result as a whole. */
status
pin_out_schema(struct ctx *cx, const struct pin *p, str *out)
{
	const struct json *theirs = json_get(p->definition, STR("outputSchema"));
	str text = STR("{\"type\":\"object\"}");

	if (theirs && theirs->type == JSON_OBJECT && !has_reference(theirs))
		TRY(json_text(cx, theirs, &text));
	*out = arena_printf(cx->arena,
		"{\"type\":\"object\",\"properties\":{\"content\":{\"type\":\"array\"},\"isError\":{\"type\":"
		"\"boolean\"}%s%.*s}}",
		theirs ? ",\"structuredContent\":" : "", theirs ? (int)text.len : 0, text.ptr);
	return OK;
}

static status
nameless(struct ctx *cx, str text, str *out)
{
	struct json *doc, *rest = json_new_object(cx->arena);

	TRY(json_parse(cx, text, &doc));
	JSON_EACH (member, doc)
		if (!str_eq(member->key, STR("name")))
			json_add_member(rest, member->key, json_share(cx->arena, member));
	return canon_text(cx, rest, out);
}

status
pin_renamed(struct ctx *cx, str text, str other, bool *out)
{
	str mine, theirs;

	TRY(nameless(cx, text, &mine));
	TRY(nameless(cx, other, &theirs));
	*out = str_eq(mine, theirs) && mine.len > 2;
	return OK;
}
