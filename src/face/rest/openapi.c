/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operation table as an OpenAPI 3.1 document. Built as a tree of our own JSON;
 * schemas come from the same field tables that read and write the structs.
 */
#include "face/rest/rest.h"

#include "base/limits.h"
#include "json/bind.h"

/* What is being built, and with which memory. */
struct api {
	struct arena *arena;
	const struct op *const *tables;
};

static struct json *
text(const struct api *api, const char *s)
{
	return json_new_string(api->arena, str_of(s));
}

static void
add(struct json *object, const char *key, struct json *value)
{
	json_add_member(object, str_of(key), value);
}

static void
add_text(const struct api *api, struct json *object, const char *key, const char *s)
{
	add(object, key, text(api, s));
}

/* A new object as object's member key. */
static struct json *
add_object(const struct api *api, struct json *object, const char *key)
{
	struct json *value = json_new_object(api->arena);

	add(object, key, value);
	return value;
}

static struct json *
add_array(const struct api *api, struct json *object, const char *key)
{
	struct json *value = json_new_array(api->arena);

	add(object, key, value);
	return value;
}

/* --- components --- */

static struct json *
codes(const struct api *api)
{
	struct json *list = json_new_array(api->arena);

	for (status s = E_BAD_REQUEST; s < STATUS_COUNT; s++)
		json_add_item(list, text(api, status_info(s)->code));
	return list;
}

static struct json *
text_schema(const struct api *api, const char *doc)
{
	struct json *schema = json_new_object(api->arena);

	add_text(api, schema, "type", "string");
	add_text(api, schema, "description", doc);
	return schema;
}

/* {type: object, additionalProperties: false, required: [...], properties: {}} */
static struct json *
object_schema(const struct api *api, const char *const *required, struct json **out_properties)
{
	struct json *schema = json_new_object(api->arena), *names;

	add_text(api, schema, "type", "object");
	add(schema, "additionalProperties", json_new_bool(api->arena, false));
	names = add_array(api, schema, "required");
	for (; *required; required++)
		json_add_item(names, text(api, *required));
	*out_properties = add_object(api, schema, "properties");
	return schema;
}

static struct json *
issue_schema(const struct api *api)
{
	static const char *const required[] = { "path", "message", NULL };
	struct json *properties, *schema = object_schema(api, required, &properties);

	add(properties, "path", text_schema(api, "Which part of the input, as a JSON Pointer."));
	add(properties, "message", text_schema(api, "What is wrong with it, for a person."));
	return schema;
}

static struct json *
error_schema(const struct api *api)
{
	static const char *const required[] = { "code", "message", NULL };
	struct json *properties, *schema = object_schema(api, required, &properties), *code, *fields,
				 *details;

	code = text_schema(api, "What kind of error it is, for a program.");
	add(code, "enum", codes(api));
	add(properties, "code", code);
	add(properties, "message", text_schema(api, "What went wrong, for a person."));
	details = add_object(api, properties, "details");
	add_text(api, details, "type", "object");
	add_text(api, details, "description", "What else a program should know: a proposal's real state.");
	fields = add_object(api, properties, "fields");
	add_text(api, fields, "type", "array");
	add_text(api, fields, "description", "The parts of the input that are wrong.");
	add(fields, "items", issue_schema(api));
	return schema;
}

static void
add_components(const struct api *api, struct json *root)
{
	struct json *components = add_object(api, root, "components");
	struct json *schemes = add_object(api, components, "securitySchemes");
	struct json *bearer = add_object(api, schemes, "token");

	add_text(api, bearer, "type", "http");
	add_text(api, bearer, "scheme", "bearer");
	add_text(api, bearer, "description", "A personal, service or agent token.");
	add(add_object(api, components, "schemas"), "Error", error_schema(api));
}

/* --- one operation --- */

static bool
is_path_key(const struct op *op, str key)
{
	str path = str_of(op->path), found;

	while (op_path_key(&path, &found))
		if (str_eq(found, key))
			return true;
	return false;
}

static void
add_parameter(const struct api *api, struct json *list, const struct op *op, const struct field *f)
{
	const struct field one[] = { *f, FIELD_END };
	const struct json *properties = json_get(field_schema(api->arena, one), STR("properties"));
	str key = field_key(api->arena, f->name);
	bool in_path = is_path_key(op, key);
	struct json *parameter;

	if (!in_path && op_takes_body(op))
		return;
	parameter = json_new_object(api->arena);
	add(parameter, "name", json_new_string(api->arena, key));
	add_text(api, parameter, "in", in_path ? "path" : "query");
	add(parameter, "required", json_new_bool(api->arena, in_path || f->need));
	if (f->doc)
		add_text(api, parameter, "description", f->doc);
	add(parameter, "schema", json_share(api->arena, json_get(properties, key)));
	json_add_item(list, parameter);
}

static void
add_parameters(const struct api *api, struct json *operation, const struct op *op)
{
	struct json *list = json_new_array(api->arena);

	for (const struct field *f = op->in; f && f->type != FIELD_TYPE_END; f++)
		add_parameter(api, list, op, f);
	if (list->count)
		add(operation, "parameters", list);
}

/* {content_type: {schema: ...}} as object's member "content". */
static void
add_content(const struct api *api, struct json *object, const char *content_type, struct json *schema)
{
	struct json *content = add_object(api, object, "content");

	add(add_object(api, content, content_type), "schema", schema);
}

static void
add_body(const struct api *api, struct json *operation, const struct op *op)
{
	struct field others[64] = { 0 };
	struct json *body;
	size_t n = 0;

	if (!op_takes_body(op))
		return;
	for (const struct field *f = op->in; f->type != FIELD_TYPE_END && n < 63; f++)
		if (!is_path_key(op, field_key(api->arena, f->name)))
			others[n++] = *f;
	body = add_object(api, operation, "requestBody");
	if (op->whole_body) {
		struct json *any = json_new_object(api->arena);

		add_text(api, any, "type", "object");
		add(body, "required", json_new_bool(api->arena, true));
		add_content(api, body, "application/json", any);
		return;
	}
	add(body, "required", json_new_bool(api->arena, true));
	add_content(api, body, "application/json", field_schema(api->arena, others));
}

/* Can op answer with s? What run says, and what stands before run. */
static bool
can_fail(const struct op *op, status s)
{
	bool is_public = strcmp(op->rule, RULE_PUBLIC) == 0;

	for (const status *e = op->errors; e && *e != OK; e++)
		if (*e == s)
			return true;
	switch (s) {
	case E_BAD_REQUEST: /* framing */
	case E_INVALID:	    /* a parameter that is not one */
	case E_TIMEOUT:
	case E_HEAD_TOO_LARGE:
	case E_INTERNAL:
		return true;
	case E_BUSY: /* no worker is free */
		return op->where == OP_WORKER;
	case E_BAD_JSON:
	case E_MEDIA_TYPE:
	case E_TOO_LARGE:
		return op_takes_body(op);
	case E_UNAUTHENTICATED:
	case E_FORBIDDEN:
		return !is_public;
	case E_STEP_UP:
	case E_APPROVAL:
		return op->authority;
	case E_TAMPERED: /* the count of changes of rights (core/audit/seal/chain.h) */
		return op->tx == OP_TX_RIGHTS;
	default:
		return false;
	}
}

/* All codes that share one HTTP status, as one documented answer. */
static void
add_error(const struct api *api, struct json *responses, const struct op *op, int http)
{
	struct json *response, *schema;
	struct buf doc;

	buf_init(&doc, api->arena, LIMIT_HTTP_ANSWER);
	for (status s = E_BAD_REQUEST; s < STATUS_COUNT; s++) {
		const struct status_info *info = status_info(s);

		if (info->http == http && can_fail(op, s))
			buf_printf(&doc, "%s`%s`: %s", doc.len ? "; " : "", info->code, info->sentence);
	}
	if (!doc.len)
		return;
	response = json_new_object(api->arena);
	json_add_member(responses, arena_printf(api->arena, "%d", http), response);
	add(response, "description",
		json_new_string(api->arena, arena_printf(api->arena, "%.*s.", STR_ARG(buf_str(&doc)))));
	schema = json_new_object(api->arena);
	add_text(api, schema, "$ref", "#/components/schemas/Error");
	add_content(api, response, "application/json", schema);
}

static void
add_responses(const struct api *api, struct json *operation, const struct op *op)
{
	struct json *responses = add_object(api, operation, "responses"), *success;
	struct json *schema;

	success = json_new_object(api->arena);
	json_add_member(responses, arena_printf(api->arena, "%d", op->success ? op->success : 200), success);
	add_text(api, success, "description",
		op->success == 303 ? "Done; go on where Location says." : "Done.");
	if (op->out) {
		schema = field_schema(api->arena, op->out);
	} else {
		schema = json_new_object(api->arena);
		if (strcmp(op->content_type, "application/json") != 0)
			add_text(api, schema, "type", "string");
	}
	add_content(api, success, op->content_type ? op->content_type : "application/json", schema);
	for (int http = 400; http < 600; http++)
		add_error(api, responses, op, http);
}

static void
add_security(const struct api *api, struct json *operation, const struct op *op)
{
	struct json *security = add_array(api, operation, "security");
	struct json *need;

	add_text(api, operation, "x-rule", op->rule);
	if (op->authority) /* only in a session that has authenticated recently */
		add(operation, "x-authority", json_new_bool(api->arena, true));
	if (strcmp(op->rule, RULE_PUBLIC) == 0)
		return;
	need = json_new_object(api->arena);
	(void)add_array(api, need, "token");
	json_add_item(security, need);
}

/* The doc up to its first full stop that ends a sentence. */
static str
summary(const char *doc)
{
	str all = str_of(doc);

	for (size_t i = 0; i + 1 < all.len; i++)
		if (all.ptr[i] == '.' && all.ptr[i + 1] == ' ')
			return (str){ all.ptr, i };
	return (str){ all.ptr, all.len - 1 };
}

/* The word before the first '_': the room an operation belongs to. */
static str
tag(const char *name)
{
	str all = str_of(name);

	return (str){ all.ptr, str_find(all, '_') };
}

static struct json *
describe(const struct api *api, const struct op *op)
{
	struct json *operation = json_new_object(api->arena);

	add_text(api, operation, "operationId", op->name);
	json_add_item(add_array(api, operation, "tags"), json_new_string(api->arena, tag(op->name)));
	add(operation, "summary", json_new_string(api->arena, summary(op->doc)));
	add_text(api, operation, "description", op->doc);
	add_security(api, operation, op);
	add_parameters(api, operation, op);
	add_body(api, operation, op);
	add_responses(api, operation, op);
	return operation;
}

/* --- all of them --- */

static const char *
method_key(const struct api *api, const char *method)
{
	char *key = arena_alloc(api->arena, strlen(method) + 1);

	for (size_t i = 0; method[i]; i++)
		key[i] = (char)(method[i] - 'A' + 'a');
	return key;
}

/* The object of a path; operations that share one stand in it together. */
static struct json *
path_item(const struct api *api, struct json *paths, const char *path)
{
	for (struct json *p = paths->child; p; p = p->next)
		if (str_eq(p->key, str_of(path)))
			return p;
	return add_object(api, paths, path);
}

static void
add_paths(const struct api *api, struct json *root)
{
	struct json *paths = add_object(api, root, "paths");

	for (const struct op *const *t = api->tables; *t; t++)
		OP_EACH (op, *t)
			add(path_item(api, paths, op->path), method_key(api, op->method), describe(api, op));
}

static void
add_info(const struct api *api, struct json *root)
{
	struct json *info = add_object(api, root, "info"), *license;

	add_text(api, info, "title", "Countersign");
	add_text(api, info, "version", COUNTERSIGN_VERSION);
	add_text(api, info, "description",
		"Agents propose, people and policy decide, every decision is on record. Every error is "
		"{code, message, fields}: code for programs, message for people, fields for what is wrong "
		"with the input.");
	license = add_object(api, info, "license");
	add_text(api, license, "name", "Apache-2.0");
	add_text(api, license, "identifier", "Apache-2.0");
}

status
rest_openapi(struct ctx *cx, const struct op *const *tables, str *out_text)
{
	const struct api api = { cx->arena, tables };
	struct json *root = json_new_object(cx->arena), *server;

	add_text(&api, root, "openapi", "3.1.0");
	add_info(&api, root);
	server = json_new_object(cx->arena);
	add_text(&api, server, "url", "/");
	json_add_item(add_array(&api, root, "servers"), server);
	add_paths(&api, root);
	add_components(&api, root);
	return json_text(cx, root, out_text);
}
