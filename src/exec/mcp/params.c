/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/mcp/params.h"

#include "base/check.h"
#include "base/limits.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#define DEPTH 8u

struct repeated {
	str tool, header;
	str path[DEPTH];
	size_t depth;
};

struct mcp_params {
	struct arena arena;
	struct repeated all[LIMIT_MCP_PARAMS];
	size_t count;
};

struct mcp_params *
mcp_params_new(void)
{
	struct mcp_params *p = calloc(1, sizeof(*p));

	CHECK(p);
	arena_init(&p->arena, LIMIT_REQUEST_ARENA);
	return p;
}

void
mcp_params_free(struct mcp_params *p)
{
	arena_done(&p->arena);
	free(p);
}

/* --- text --- */

static bool
is_plain(str value)
{
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] > '~')
			return false;
	return str_eq(value, str_trim(value)) &&
	       !(str_starts(value, STR("=?base64?")) && str_ends(value, STR("?=")));
}

str
mcp_params_encode(struct arena *a, str value)
{
	size_t room = sodium_base64_encoded_len(value.len, sodium_base64_VARIANT_ORIGINAL);
	char *text;

	if (is_plain(value))
		return value;
	text = arena_try_bytes(a, room);
	if (!text)
		return (str){ 0 }; /* then it does not say what the body says, and the server refuses */
	(void)sodium_bin2base64(
		text, room, (const unsigned char *)value.ptr, value.len, sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(a, "=?base64?%s?=", text);
}

static str
text_of(const struct json *o, str key)
{
	const struct json *v = json_get(o, key);

	return v && v->type == JSON_STRING ? v->text : (str){ 0 };
}

/* --- the rules --- */

static bool
is_token(str text)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c && strchr(marks, c))))
			return false;
	}
	return text.len > 0;
}

static bool
is_type(const struct json *property)
{
	str type = text_of(property, STR("type"));

	return str_eq(type, STR("string")) || str_eq(type, STR("integer")) || str_eq(type, STR("boolean"));
}

struct names {
	str all[LIMIT_MCP_HEADERS];
	size_t count;
};

static bool
is_new(struct names *n, str name)
{
	for (size_t i = 0; i < n->count; i++)
		if (str_eq_nocase(n->all[i], name))
			return false;
	if (n->count == LIMIT_MCP_HEADERS)
		return false;
	n->all[n->count++] = name;
	return true;
}

/* Keywords whose members are schemas, by names that mean nothing to us; and those that hold values. */
static bool
is_one_of(str key, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (str_eq(key, str_of(words[i])))
			return true;
	return false;
}

static const char *const maps[] = { "properties", "patternProperties", "$defs", "definitions",
	"dependentSchemas", NULL };
static const char *const values[] = { "const", "enum", "default", "examples", NULL };

/* chain: it is a property of a property ... of the input. Documents are at most LIMIT_JSON_DEPTH deep. */
static bool
is_proper(const struct json *schema, bool chain, size_t depth, struct names *n)
{
	const struct json *header = json_get(schema, STR("x-mcp-header"));

	if (header && (!chain || depth == 0 || depth > DEPTH || header->type != JSON_STRING ||
			      !is_token(header->text) || !is_type(schema) || !is_new(n, header->text)))
		return false;
	JSON_EACH (part, schema) {
		bool down = chain && str_eq(part->key, STR("properties"));

		if (is_one_of(part->key, values))
			continue;
		if (!is_one_of(part->key, maps)) {
			if (!is_proper(part, false, depth, n))
				return false;
			continue;
		}
		JSON_EACH (one, part)
			if (!is_proper(one, down, depth + 1, n))
				return false;
	}
	return true;
}

bool
mcp_params_ok(const struct json *tool)
{
	const struct json *schema = json_get(tool, STR("inputSchema"));
	struct names n = { .count = 0 };

	return !schema || is_proper(schema, true, 0, &n);
}

/* --- learning --- */

static void
remember(struct mcp_params *p, str tool, str header, const str *path, size_t depth)
{
	struct repeated *r;

	if (p->count == LIMIT_MCP_PARAMS)
		return;
	r = &p->all[p->count++];
	*r = (struct repeated){ arena_str(&p->arena, tool), arena_str(&p->arena, header), .depth = depth };
	for (size_t i = 0; i < depth; i++)
		r->path[i] = arena_str(&p->arena, path[i]);
}

static void
learn(struct mcp_params *p, str tool, const struct json *schema, str *path, size_t depth)
{
	const struct json *properties = json_get(schema, STR("properties"));

	if (!properties || depth == DEPTH)
		return;
	JSON_EACH (property, properties) {
		str header = text_of(property, STR("x-mcp-header"));

		path[depth] = property->key;
		if (header.len)
			remember(p, tool, header, path, depth + 1);
		learn(p, tool, property, path, depth + 1);
	}
}

void
mcp_params_learn(struct mcp_params *p, const struct json *result, bool first)
{
	const struct json *tools = json_get(result, STR("tools"));
	str path[DEPTH];

	if (first) {
		arena_reset(&p->arena);
		p->count = 0;
	}
	if (tools)
		JSON_EACH (tool, tools) {
			const struct json *schema = json_get(tool, STR("inputSchema"));

			if (schema && mcp_params_ok(tool))
				learn(p, text_of(tool, STR("name")), schema, path, 0);
		}
}

/* --- saying --- */

static const struct json *
value_of(const struct repeated *r, const struct json *arguments)
{
	const struct json *at = arguments;

	for (size_t i = 0; at && i < r->depth; i++)
		at = json_get(at, r->path[i]);
	return at;
}

/* False: it has no form that a header carries. */
static bool
say(struct arena *a, const struct json *value, str *out)
{
	int64_t n;

	switch (value->type) {
	case JSON_STRING:
		*out = mcp_params_encode(a, value->text);
		return true;
	case JSON_BOOL:
		*out = value->truth ? STR("true") : STR("false");
		return true;
	case JSON_NUMBER:
		if (!json_to_int(value, &n))
			return false;
		*out = arena_int(a, n);
		return true;
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
	default:
		return false;
	}
}

size_t
mcp_params_add(const struct mcp_params *p, struct arena *a, const struct json *call,
	struct http_client_field *out, size_t most)
{
	const struct json *arguments = json_get(call, STR("arguments"));
	str tool = text_of(call, STR("name"));
	size_t n = 0;

	for (size_t i = 0; i < p->count && n < most; i++) {
		const struct repeated *r = &p->all[i];
		const struct json *value = arguments ? value_of(r, arguments) : NULL;

		if (!str_eq(r->tool, tool) || !value || !say(a, value, &out[n].value))
			continue;
		out[n++].name = arena_printf(a, "Mcp-Param-%.*s", STR_ARG(r->header));
	}
	return n;
}
