/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: the documentation, and proposals and audit entries by the operations that show them. */
#include "core/ident/caller.h"
#include "face/mcp/own.h"

#include "face/docs.h" /* doc_pages, made of docs/ */

#define AUDIT "countersign://audit/"
#define DOCS  "countersign://docs/"
#define PAGES (sizeof(doc_pages) / sizeof(doc_pages[0]))

static struct json *
string_object(struct mcp_call *c, str key, str value)
{
	struct json *o = json_new_object(c->cx->arena);

	json_add_member(o, key, json_new_string(c->cx->arena, value));
	return o;
}

/* The proposals that wait, those that the caller may see. */
static status
pending(struct mcp_call *c, const struct json **out)
{
	struct json *answer;
	str text;

	TRY(own_run(c, own_op("proposal_list"), string_object(c, STR("status"), STR("pending")), &text));
	TRY(json_parse(c->cx, text, &answer));
	*out = json_get(answer, STR("proposals"));
	return OK;
}

static void
write_resource(struct json_out *o, str uri, str name, str title, str type)
{
	json_out_object(o, NULL);
	json_out_str(o, "uri", uri);
	json_out_str(o, "name", name);
	json_out_str(o, "title", title);
	json_out_str(o, "mimeType", type);
	json_out_end(o);
}

status
own_resources(struct mcp_call *c, struct json_out *o)
{
	const struct json *all;
	size_t from;

	TRY(own_cursor(c, &from));
	if (from)
		return rpc_fail(c, RPC_PARAMS, 200, "this cursor is not one of ours");
	TRY(pending(c, &all));
	json_out_array(o, "resources");
	for (size_t i = 0; i < PAGES; i++)
		write_resource(o, arena_printf(c->cx->arena, DOCS "%s", doc_pages[i].name),
			str_of(doc_pages[i].name), str_of(doc_pages[i].title), STR("text/markdown"));
	JSON_EACH (p, all) {
		str id = message_text(p, STR("proposalId"));

		write_resource(o, arena_printf(c->cx->arena, OWN_PROPOSALS "%.*s", STR_ARG(id)), id,
			message_text(p, STR("summary")), STR("application/json"));
	}
	json_out_end(o);
	return OK;
}

static void
write_template(struct json_out *o, str uri, str name, str title)
{
	json_out_object(o, NULL);
	json_out_str(o, "uriTemplate", uri);
	json_out_str(o, "name", name);
	json_out_str(o, "title", title);
	json_out_str(o, "mimeType", STR("application/json"));
	json_out_end(o);
}

static status
templates(struct ctx *cx, void *arg)
{
	struct json_out *o = arg;

	(void)cx;
	write_template(o, STR(OWN_PROPOSALS "{id}"), STR("proposal"),
		STR("A proposal: its card, its votes, its outcome"));
	write_template(o, STR(AUDIT "{id}"), STR("audit-entry"), STR("An entry of the audit log"));
	return OK;
}

status
own_templates(struct mcp_call *c, struct json_out *o)
{
	json_out_array(o, "resourceTemplates");
	TRY(mcp_enter(c, templates, o));
	json_out_end(o);
	return OK;
}

static status
find_slug(struct ctx *cx, void *arg)
{
	*(str *)arg = cx->caller->org_slug;
	return OK;
}

static status
read_page(struct mcp_call *c, str name, str *out_text)
{
	TRY(mcp_identify(c));
	for (size_t i = 0; i < PAGES; i++)
		if (str_eq(name, str_of(doc_pages[i].name))) {
			*out_text = str_of(doc_pages[i].text);
			return OK;
		}
	return fail(c->cx, E_NOT_FOUND, "there is no such page");
}

static status
read_text(struct mcp_call *c, str uri, str *out_text)
{
	struct json *input;
	str slug = { 0 };

	if (str_starts(uri, STR(DOCS)))
		return read_page(c, str_skip(uri, sizeof(DOCS) - 1), out_text);
	if (str_starts(uri, STR(OWN_PROPOSALS)))
		return own_run(c, own_op("proposal_get"),
			string_object(c, STR("id"), str_skip(uri, sizeof(OWN_PROPOSALS) - 1)), out_text);
	TRY(mcp_enter(c, find_slug, &slug));
	if (!str_starts(uri, STR(AUDIT)))
		return fail(c->cx, E_NOT_FOUND, "there is no such resource");
	input = string_object(c, STR("id"), str_skip(uri, sizeof(AUDIT) - 1));
	json_add_member(input, STR("slug"), json_new_string(c->cx->arena, slug));
	return own_run(c, own_op("audit_get"), input, out_text);
}

status
own_read(struct mcp_call *c, str uri, struct json_out *o)
{
	str text;
	status s = read_text(c, uri, &text);

	if (s == E_INVALID) /* what cannot be an id is nobody's */
		return fail(c->cx, E_NOT_FOUND, "there is no such resource");
	TRY(s);
	json_out_array(o, "contents");
	json_out_object(o, NULL);
	json_out_str(o, "uri", uri);
	json_out_str(
		o, "mimeType", str_starts(uri, STR(DOCS)) ? STR("text/markdown") : STR("application/json"));
	json_out_str(o, "text", text);
	json_out_end(o);
	json_out_end(o);
	return OK;
}

status
own_pending(struct mcp_call *c, str typed, struct json_out *o)
{
	const struct json *all;

	TRY(pending(c, &all));
	JSON_EACH (p, all)
		if (str_starts(message_text(p, STR("proposalId")), typed))
			json_out_str(o, NULL, message_text(p, STR("proposalId")));
	return OK;
}
