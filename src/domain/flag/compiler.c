/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/impl.h"

#include "base/limits.h"
#include "json/pointer.h"

static void
add_path(struct buf *b, const struct at *at)
{
	if (!at)
		return;
	add_path(b, at->up);
	if (at->index == AT_KEY)
		pointer_add_key(b, at->key);
	else
		buf_printf(b, "/%zu", at->index);
}

void
compiler_issue_below(struct compiler *c, const struct at *at, str below, str message)
{
	struct buf path;

	c->issues++;
	if (c->issues > COMPILER_ENOUGH)
		return;
	buf_init(&path, c->cx->arena, LIMIT_RULESET_BYTES);
	add_path(&path, at);
	buf_add(&path, below);
	if (message.len > LIMIT_ERROR_MESSAGE)
		message.len = LIMIT_ERROR_MESSAGE;
	fail_issue(c->cx, buf_str(&path), message);
}

void
compiler_issue(struct compiler *c, const struct at *at, const char *format, ...)
{
	va_list args;
	str message;

	if (c->issues < COMPILER_ENOUGH) {
		va_start(args, format);
		message = arena_vprintf(c->cx->arena, format, args);
		va_end(args);
		compiler_issue_below(c, at, STR(""), message);
	}
}

status
compiler_take(struct compiler *c, size_t n, size_t size, void *out)
{
	void *memory = arena_try_array(&c->rs->arena, n, size);

	if (!memory)
		return E_TOO_LARGE;
	memcpy(out, &memory, sizeof(memory));
	return OK;
}

status
compiler_copy(struct compiler *c, str text, str *out)
{
	char *copy = arena_try_bytes(&c->rs->arena, text.len);

	if (!copy)
		return E_TOO_LARGE;
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	*out = (str){ copy, text.len };
	return OK;
}

bool
compiler_text(struct compiler *c, const struct at *at, str text, size_t max)
{
	if (text.len > max)
		compiler_issue(c, at, "has %zu bytes; at most %zu are accepted", text.len, max);
	else if (str_find(text, '\0') < text.len)
		compiler_issue(c, at, "must not have the character U+0000");
	else
		return true;
	return false;
}

status
compiler_field(struct compiler *c, const struct at *at, str name, uint32_t *out_field)
{
	size_t steps = 1;

	for (size_t i = 0; i < name.len; i++)
		steps += name.ptr[i] == '.';
	if (!name.len || steps > LIMIT_FIELD_STEPS) {
		compiler_issue(c, at, "must be a name of 1 to %u steps with dots between", LIMIT_FIELD_STEPS);
		return OK;
	}
	if (!compiler_text(c, at, name, LIMIT_FLAG_TEXT))
		return OK;
	TRY(set_add(&c->rs->fields, scalar_text(name), out_field));
	if (c->rs->fields.count == LIMIT_RULESET_FIELDS + 1)
		compiler_issue(c, at, "is one field too many: rules may ask for %u different ones",
			LIMIT_RULESET_FIELDS);
	return OK;
}

/* --- objects with known members --- */

static const char *
article(enum json_type t)
{
	return t == JSON_ARRAY || t == JSON_OBJECT ? "an" : "a";
}

static struct member *
find_member(struct member *members, size_t n, str name)
{
	for (size_t i = 0; i < n; i++)
		if (members[i].name.len == name.len && str_eq(members[i].name, name))
			return &members[i];
	return NULL;
}

static void
complain_unknown(struct compiler *c, const struct at *at, const struct member *members, size_t n)
{
	struct buf known;

	buf_init(&known, c->cx->arena, LIMIT_ERROR_MESSAGE);
	for (size_t i = 0; i < n; i++)
		buf_printf(&known, "%s%.*s", i ? ", " : "", STR_ARG(members[i].name));
	compiler_issue(c, at, "is not a known member; known are: %.*s", STR_ARG(buf_str(&known)));
}

bool
compiler_members(
	struct compiler *c, const struct at *at, const struct json *json, struct member *members, size_t n)
{
	size_t before = c->issues;

	if (json->type != JSON_OBJECT) {
		compiler_issue(c, at, "must be an object");
		return false;
	}
	JSON_EACH (m, json) {
		struct member *known = find_member(members, n, m->key);

		if (!known)
			complain_unknown(c, AT_MEMBER(at, m->key), members, n);
		else if (!known->any && m->type != known->type)
			compiler_issue(c, AT_MEMBER(at, m->key), "must be %s %s", article(known->type),
				json_type_name(known->type));
		else
			known->found = m;
	}
	for (size_t i = 0; i < n; i++)
		if (members[i].need && !members[i].found && !json_get(json, members[i].name))
			compiler_issue(c, AT_MEMBER(at, members[i].name), "is missing");
	return c->issues == before;
}

void
compiler_description(struct compiler *c, const struct at *at, const struct json *description)
{
	if (description)
		(void)compiler_text(c, AT_NAME(at, "description"), description->text, LIMIT_FLAG_TEXT);
}

bool
key_valid(str key)
{
	for (size_t i = 0; i < key.len; i++) {
		char c = key.ptr[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!plain && (i == 0 || !c || !strchr("._:-", c)))
			return false;
	}
	return key.len > 0 && key.len <= LIMIT_FLAG_KEY;
}

status
compiler_key(struct compiler *c, const struct at *at, struct set *keys, str key, uint32_t *out_place,
	bool *out_new)
{
	uint32_t before = keys->count;

	*out_new = false;
	if (!key_valid(key)) {
		compiler_issue(c, at,
			"is not a key: it must begin with a letter or digit and have at most %u letters, "
			"digits, or "
			". _ : -",
			LIMIT_FLAG_KEY);
		return OK;
	}
	TRY(set_add(keys, scalar_text(key), out_place));
	*out_new = keys->count > before;
	return OK;
}
