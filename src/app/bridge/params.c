/* SPDX-License-Identifier: Apache-2.0 */
/* What tools/list said about headers (x-mcp-header), as it passed by; and how a header carries text. */
#include "app/bridge/bridge.h"

#include "base/check.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#define DEPTH 8u

struct repeated {
	str tool, header;
	str path[DEPTH];
	size_t depth;
};

struct params {
	struct arena arena;
	struct repeated all[LIMIT_BRIDGE_PARAMS];
	size_t count;
};

struct params *
params_new(void)
{
	struct params *p = calloc(1, sizeof(*p));

	CHECK(p);
	arena_init(&p->arena, LIMIT_REQUEST_ARENA);
	return p;
}

void
params_free(struct params *p)
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
params_encode(struct arena *a, str value)
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

/* --- learning --- */

static str
text_of(const struct json *o, str key)
{
	const struct json *v = json_get(o, key);

	return v && v->type == JSON_STRING ? v->text : (str){ 0 };
}

static void
remember(struct params *p, str tool, str header, const str *path, size_t depth)
{
	struct repeated *r;

	if (p->count == LIMIT_BRIDGE_PARAMS)
		return;
	r = &p->all[p->count++];
	*r = (struct repeated){ arena_str(&p->arena, tool), arena_str(&p->arena, header), .depth = depth };
	for (size_t i = 0; i < depth; i++)
		r->path[i] = arena_str(&p->arena, path[i]);
}

static void
learn(struct params *p, str tool, const struct json *schema, str *path, size_t depth)
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
params_learn(struct params *p, const struct json *result, bool first)
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

			if (schema)
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
		*out = params_encode(a, value->text);
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
params_add(const struct params *p, struct arena *a, const struct json *call, struct http_client_field *out,
	size_t most)
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
