/* SPDX-License-Identifier: Apache-2.0 */
#include "core/oauth/client.h"

#include "base/limits.h"
#include "core/card/visible.h"
#include "core/oauth/document.h"
#include "core/oauth/redirect.h"
#include "db/db.h"

#include "core/oauth/client.sql.h" /* SQL_CLIENT_*, generated from client.sql */

/* At most so many bytes, no character cut in two. */
static str
cut(struct arena *a, str text, size_t most)
{
	size_t n = 0, next;

	if (text.len <= most)
		return text;
	while ((next = str_utf8_sequence(str_skip(text, n))) && n + next <= most)
		n += next;
	return arena_printf(a, "%.*s\u2026", (int)n, text.ptr);
}

str
client_name(struct arena *a, str said, bool *out_deceives)
{
	unsigned found = 0;
	str shown = visible_line(a, cut(a, str_trim(said), LIMIT_OAUTH_CLIENT_NAME), &found);

	*out_deceives = found != 0;
	return shown.len ? shown : STR("An application without a name");
}

/* Those of the array that we take; others are as good as not there. */
static void
read_redirects(struct ctx *cx, const struct json *array, struct client *c)
{
	str *items = arena_alloc(cx->arena, LIMIT_OAUTH_REDIRECTS * sizeof(*items));
	size_t n = 0;

	if (!array || array->type != JSON_ARRAY)
		return;
	JSON_EACH (item, array)
		if (item->type == JSON_STRING && redirect_valid(item->text) && n < LIMIT_OAUTH_REDIRECTS)
			items[n++] = item->text;
	c->redirects = items;
	c->redirect_count = n;
}

static status
describe(struct ctx *cx, str id, struct client *out)
{
	struct client c = { .id = id, .described = true };
	const struct json *name;
	struct json *doc;

	TRY(document_fetch(cx, id, &doc));
	name = json_get(doc, STR("client_name"));
	c.name = client_name(
		cx->arena, name && name->type == JSON_STRING ? name->text : (str){ 0 }, &c.deceives);
	read_redirects(cx, json_get(doc, STR("redirect_uris")), &c);
	*out = c;
	return OK;
}

struct row {
	str id, name, redirects;
};
static const struct field row[] = {
	FIELD_TEXT(struct row, id),
	FIELD_TEXT(struct row, name),
	FIELD_TEXT(struct row, redirects),
	FIELD_END,
};

static status
load(struct ctx *cx, void *arg)
{
	struct row *r = arg;

	return db_one(cx, SQL_CLIENT_GET, row, r, TEXT(r->id));
}

status
client_find(struct ctx *cx, str id, struct client *out)
{
	struct client c = { .id = id };
	struct row r = { .id = id };
	struct json *redirects;
	status s;

	if (document_is_id(id))
		return describe(cx, id, out);
	s = id.len <= LIMIT_OAUTH_URI ? db_read(cx, load, &r) : E_NOT_FOUND;
	if (s == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND,
			"there is no application with this client_id; it may register again");
	TRY(s);
	TRY(json_parse(cx, r.redirects, &redirects));
	c.name = client_name(cx->arena, r.name, &c.deceives);
	read_redirects(cx, redirects, &c);
	*out = c;
	return OK;
}

bool
client_redirects_to(const struct client *c, str uri)
{
	for (size_t i = 0; i < c->redirect_count; i++)
		if (redirect_matches(c->redirects[i], uri))
			return true;
	return false;
}
