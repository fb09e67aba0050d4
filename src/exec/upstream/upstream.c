/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/upstream.h"

#include "base/limits.h"
#include "core/gate/toolset.h"
#include "core/id.h"
#include "core/outside/lane.h"
#include "core/outside/outside.h"
#include "core/people/change.h"
#include "db/db.h"
#include "exec/safe.h"
#include "exec/upstream/authorization.h"
#include "exec/upstream/clients.h"
#include "exec/upstream/pin.h"
#include "exec/upstream/program.h"
#include "http/client/guard.h"
#include "json/bind.h"

#include <inttypes.h>

#include "exec/upstream/upstream.sql.h" /* SQL_UPSTREAM_*, generated from upstream.sql */

#define NAME_MOST 32

static const struct field row[] = {
	FIELD_TEXT(struct upstream, org_id),
	FIELD_TEXT(struct upstream, id),
	FIELD_TEXT(struct upstream, name),
	FIELD_TEXT(struct upstream, kind),
	FIELD_TEXT(struct upstream, url),
	FIELD_TEXT(struct upstream, networks),
	FIELD_TEXT(struct upstream, program),
	FIELD_TEXT(struct upstream, secret_id),
	FIELD_TEXT(struct upstream, secret_names),
	FIELD_INT(struct upstream, version),
	FIELD_TEXT(struct upstream, created_by),
	FIELD_INT(struct upstream, created_at),
	FIELD_BOOL(struct upstream, disabled),
	FIELD_INT(struct upstream, looked_at),
	FIELD_TEXT(struct upstream, problem),
	FIELD_TEXT(struct upstream, oauth),
	FIELD_TEXT(struct upstream, auth_state),
	FIELD_INT(struct upstream, auth_given),
	FIELD_END,
};

static status
find(struct ctx *cx, const struct sql *how, str org_id, str id, struct upstream *out)
{
	status s = db_one(cx, how, row, out, TEXT(org_id), TEXT(id));

	return s == E_NOT_FOUND ? fail(cx, E_NOT_FOUND, "there is no upstream server with this id") : s;
}

status
upstream_get(struct ctx *cx, str org_id, str id, struct upstream *out)
{
	return find(cx, SQL_UPSTREAM_GET, org_id, id, out);
}

status
upstream_lock(struct ctx *cx, str org_id, str id, struct upstream *out)
{
	return find(cx, SQL_UPSTREAM_LOCK, org_id, id, out);
}

/* An address is never changed: another one is another server. What was authorized there belongs to it. */
void
upstream_source(struct ctx *cx, const struct upstream *u, struct outside_source *out)
{
	*out = (struct outside_source){ .address = u->url.len ? u->url : u->program,
		.credential = u->secret_id };
	if (u->auth_given)
		out->credential = arena_printf(cx->arena, "%.*s%sauthorization %" PRId64,
			STR_ARG(u->secret_id), u->secret_id.len ? " " : "", u->auth_given);
}

status
upstream_source_of(struct ctx *cx, void *arg, str org_id, const struct tool *t, struct outside_source *out)
{
	struct upstream u;

	(void)arg;
	TRY(upstream_get(cx, org_id, t->outside->source_id, &u));
	upstream_source(cx, &u, out);
	return OK;
}

status
upstream_due(struct ctx *cx, int64_t before_us, struct upstream **out, size_t *out_count)
{
	return db_all(cx, SQL_UPSTREAM_DUE, row, sizeof(**out), out, out_count, INT(before_us));
}

status
upstream_looked(struct ctx *cx, const struct upstream *u, str problem)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_run(cx, SQL_UPSTREAM_LOOKED, TEXT(u->org_id), TEXT(u->id), INT(now_us), TEXT(problem));
}

/* --- as it is shown --- */

struct shown {
	str id, name, kind, url, state, created_by, created_at, looked_at, problem, breaker, authorization;
	struct json *networks, *program, *secrets, *oauth;
	int64_t version, failures, calls;
};
const struct field upstream_shown[] = {
	FIELD_TEXT(struct shown, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct shown, name, .need = true, .doc = "Its name: its tools are mcp__<name>__<tool>."),
	FIELD_TEXT(struct shown, kind, .need = true, .doc = "http or stdio."),
	FIELD_TEXT(struct shown, url, .doc = "Where it is (http)."),
	FIELD_TEXT(struct shown, state, .need = true, .doc = "active or disabled."),
	FIELD_TEXT(struct shown, created_by, .need = true, .doc = "Who added it."),
	FIELD_TEXT(struct shown, created_at, .need = true, .doc = "When (RFC 3339)."),
	FIELD_TEXT(struct shown, looked_at, .doc = "When its tools were last asked for; absent: never."),
	FIELD_TEXT(struct shown, problem, .doc = "What was wrong then; absent: nothing."),
	FIELD_TEXT(struct shown, breaker, .need = true,
		.doc = "closed: all is well; open: it has not answered for a while and is not asked; "
		       "trying."),
	FIELD_TEXT(struct shown, authorization, .need = true,
		.doc = "none: it wants no OAuth, as far as we know; needed: nothing is sent before an admin "
		       "has authorized us there (upstream_authorize); given."),
	FIELD_JSON(struct shown, oauth,
		.doc = "Who we are at its authorization server, where an admin has said it: {clientId, "
		       "issuer, grant, scope}."),
	FIELD_JSON(struct shown, networks, .need = true,
		.doc = "Networks that are not public and that it may be in."),
	FIELD_JSON(struct shown, program,
		.doc = "What is started, and what it is granted (stdio): {argv, paths, directory, network}."),
	FIELD_JSON(struct shown, secrets, .need = true,
		.doc = "Names of the credentials that are kept for it; they are never shown."),
	FIELD_INT(struct shown, version, .need = true, .doc = "One more with each change."),
	FIELD_INT(struct shown, failures, .need = true, .doc = "Calls in a row that were not answered."),
	FIELD_INT(struct shown, calls, .need = true, .doc = "Calls that are under way now."),
	FIELD_END,
};

static void
write_words(struct json_out *o, const char *key, str words, char between)
{
	str one;

	json_out_array(o, key);
	while (words.len) {
		if (!str_cut(words, between, &one, &words)) {
			one = words;
			words = (str){ 0 };
		}
		json_out_str(o, NULL, one);
	}
	json_out_end(o);
}

void
upstream_write(struct ctx *cx, struct json_out *o, const struct upstream *u)
{
	struct lane_state lane =
		cx->lanes ? lane_look(cx, u->id) : (struct lane_state){ .breaker = "closed" };

	json_out_str(o, "id", u->id);
	json_out_str(o, "name", u->name);
	json_out_str(o, "kind", u->kind);
	if (u->url.len)
		json_out_str(o, "url", u->url);
	json_out_str(o, "state", u->disabled ? STR("disabled") : STR("active"));
	json_out_str(o, "createdBy", u->created_by);
	json_out_time(o, "createdAt", u->created_at);
	if (u->looked_at)
		json_out_time(o, "lookedAt", u->looked_at);
	if (u->problem.len)
		json_out_str(o, "problem", u->problem);
	json_out_str(o, "breaker", str_of(lane.breaker));
	json_out_str(o, "authorization", u->auth_state.len ? u->auth_state : STR("none"));
	if (u->oauth.len)
		json_out_raw(o, "oauth", u->oauth);
	write_words(o, "networks", u->networks, ' ');
	if (u->program.len)
		json_out_raw(o, "program", u->program);
	write_words(o, "secrets", u->secret_names, '\n');
	json_out_int(o, "version", u->version);
	json_out_int(o, "failures", lane.failures);
	json_out_int(o, "calls", lane.calls);
}

status
upstream_picture(struct ctx *cx, const struct upstream *u, struct json **out)
{
	struct json *o = json_new_object(cx->arena), *program;

	change_text(cx->arena, o, "name", u->name);
	change_text(cx->arena, o, "kind", u->kind);
	change_text(cx->arena, o, "url", u->url);
	change_text(cx->arena, o, "networks", u->networks);
	change_text(cx->arena, o, "secrets", u->secret_names);
	change_text(cx->arena, o, "state", u->disabled ? STR("disabled") : STR("active"));
	if (u->oauth.len)
		change_text(cx->arena, o, "oauth", u->oauth);
	if (u->auth_state.len)
		change_text(cx->arena, o, "authorization", u->auth_state);
	if (u->program.len) {
		TRY(json_parse(cx, u->program, &program));
		json_add_member(o, STR("program"), program);
	}
	*out = o;
	return OK;
}

/* --- list, get --- */

struct list_out {
	struct json *upstreams;
};
static const struct field list_out[] = {
	FIELD_JSON(struct list_out, upstreams, .need = true, .doc = "By name."),
	FIELD_END,
};

static status
load_all(struct ctx *cx, struct upstream **out, size_t *out_count)
{
	return db_all(cx, SQL_UPSTREAM_LIST, row, sizeof(**out), out, out_count, TEXT(cx->caller->org_id));
}

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	struct upstream *all;
	size_t count;

	(void)in;
	TRY(load_all(cx, &all, &count));
	json_out_array(out, "upstreams");
	for (size_t i = 0; i < count; i++) {
		json_out_object(out, NULL);
		upstream_write(cx, out, &all[i]);
		json_out_end(out);
	}
	json_out_end(out);
	return OK;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which server."),
	FIELD_END,
};

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	struct upstream u;

	TRY(upstream_get(cx, cx->caller->org_id, ((const struct id_in *)in)->id, &u));
	upstream_write(cx, out, &u);
	return OK;
}

/* --- create --- */

static const char *const kinds[] = { "http", "stdio", NULL };
struct create_in {
	str name, kind, url, bearer;
	struct json *headers, *networks, *program, *env, *oauth;
};
static const struct field create_in[] = {
	FIELD_TEXT(struct create_in, name, .need = true, .min = 1, .max = NAME_MOST,
		.doc = "Lower-case letters, digits and single hyphens; its tools are mcp__<name>__<tool>."),
	FIELD_TEXT(struct create_in, kind, .need = true, .choices = kinds, .doc = "How it is reached."),
	FIELD_TEXT(struct create_in, url, .max = 2000, .doc = "Of http: where it is."),
	FIELD_TEXT(struct create_in, bearer, .max = 8000,
		.doc = "Of http: a token for it. Kept encrypted, never shown again."),
	FIELD_JSON(struct create_in, headers,
		.doc = "Of http: {name: value} sent with each request. Kept as the token is."),
	FIELD_JSON(struct create_in, oauth,
		.doc = "Of http, where it wants OAuth and we are registered there by hand: {clientId, "
		       "clientSecret?, issuer (needed with a secret), grant?: authorization_code or "
		       "client_credentials, scope?}. The secret is kept as the token is."),
	FIELD_JSON(struct create_in, networks,
		.doc = "Of http: networks that are not public and that it may be in, as 10.1.0.0/16."),
	FIELD_JSON(struct create_in, program,
		.doc = "Of stdio: {argv, paths?: [{path, writable}], directory?, network?}: what is started, "
		       "and all "
		       "that it is granted."),
	FIELD_JSON(struct create_in, env,
		.doc = "Of stdio: {name: value} of its environment. Kept as a token is."),
	FIELD_END,
};

static status
invalid(struct ctx *cx, const char *path, const char *what)
{
	fail_issue(cx, str_of(path), str_of(what));
	return fail(cx, E_INVALID, "%s %s", path, what);
}

static bool
is_slug(str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
		bool hyphen = c == '-' && i > 0 && i + 1 < name.len && name.ptr[i - 1] != '-';

		if (!letter && !hyphen)
			return false;
	}
	return true;
}

/* {name: text}; its names go into *names. */
static status
check_texts(struct ctx *cx, const struct json *object, const char *path, const char *what, struct buf *names)
{
	if (!object)
		return OK;
	if (object->type != JSON_OBJECT || object->count > LIMIT_SOURCE_WORDS)
		return invalid(cx, path, "must be an object of texts");
	JSON_EACH (m, object) {
		if (m->type != JSON_STRING || !m->key.len)
			return invalid(cx, path, "must be an object of texts");
		for (size_t i = 0; i < m->key.len; i++)
			if (m->key.ptr[i] <= ' ' || m->key.ptr[i] == ':' || m->key.ptr[i] == '=' ||
				m->key.ptr[i] >= 0x7f)
				return invalid(cx, path, "has a name that is none");
		buf_printf(names, "%s%s %.*s", names->len ? "\n" : "", what, STR_ARG(m->key));
	}
	return OK;
}

static status
check_networks(struct ctx *cx, const struct json *list, str *out)
{
	const str *items;
	struct http_net net;
	struct buf b;
	size_t count;

	TRY(json_bind_strings(cx, list, STR("/networks"), LIMIT_UPSTREAM_NETS, &items, &count));
	buf_init(&b, cx->arena, LIMIT_JSON_BYTES);
	for (size_t i = 0; i < count; i++) {
		if (!http_net_read(items[i], &net))
			return invalid(cx, "/networks", "must be networks, such as 10.1.0.0/16 or fd00::/8");
		buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(items[i]));
	}
	return buf_finish(&b, out);
}

/* A program is started with our rights on this machine: that is for who runs it to allow. */
static status
check_kind(struct ctx *cx, const struct create_in *i)
{
	if (str_eq(i->kind, STR("http"))) {
		if (!str_starts(i->url, STR("https://")) && !str_starts(i->url, STR("http://")))
			return invalid(
				cx, "/url", "must be an address that begins with https:// (or http://)");
		if (i->oauth && i->bearer.len)
			return invalid(cx, "/oauth", "and a bearer token do not go together");
		return i->program || i->env ? invalid(cx, "/program", "is of stdio only") : OK;
	}
	if (upstreams_programs(upstreams_of(cx)) == UPSTREAM_NO_PROGRAMS)
		return fail(cx, E_FORBIDDEN,
			"Forbidden: this server starts no programs; start it with --stdio-upstreams "
			"sandboxed");
	if (i->url.len || i->bearer.len || i->headers || i->networks || i->oauth)
		return invalid(cx, "/url", "and credentials for it are of http only");
	return i->program ? OK : invalid(cx, "/program", "is needed");
}

static status
check_name(struct ctx *cx, str name)
{
	struct upstream *all;
	size_t count;

	if (!is_slug(name))
		return invalid(cx, "/name", "must be lower-case letters, digits and single hyphens");
	TRY(load_all(cx, &all, &count));
	if (count >= LIMIT_UPSTREAMS)
		return fail(cx, E_CONFLICT, "there are %u upstream servers already", LIMIT_UPSTREAMS);
	for (size_t i = 0; i < count; i++) {
		if (str_eq(all[i].name, name))
			return fail(
				cx, E_EXISTS, "there is an upstream server called \"%.*s\"", STR_ARG(name));
		if (pin_alike(cx->arena, all[i].name, name))
			return fail(cx, E_EXISTS, "people would take it for \"%.*s\"", STR_ARG(all[i].name));
	}
	return OK;
}

static status
keep_secrets(struct ctx *cx, const struct create_in *i, struct upstream *u)
{
	struct json *all = json_new_object(cx->arena);
	struct buf names;
	str text, secret = { 0 };

	buf_init(&names, cx->arena, LIMIT_JSON_BYTES);
	if (i->bearer.len) {
		json_add_member(all, STR("bearer"), json_new_string(cx->arena, i->bearer));
		buf_add(&names, STR("bearer"));
	}
	if (i->oauth)
		TRY(authorization_check(cx, i->oauth, &u->oauth, &secret));
	if (secret.len) {
		json_add_member(all, STR("client_secret"), json_new_string(cx->arena, secret));
		buf_add(&names, STR("oauth client secret"));
	}
	TRY(check_texts(cx, i->headers, "/headers", "header", &names));
	TRY(check_texts(cx, i->env, "/env", "env", &names));
	if (i->headers)
		json_add_member(all, STR("headers"), json_share(cx->arena, i->headers));
	if (i->env)
		json_add_member(all, STR("env"), json_share(cx->arena, i->env));
	TRY(buf_finish(&names, &u->secret_names));
	if (!all->count)
		return OK;
	TRY(json_text(cx, all, &text));
	return safe_put(cx, u->org_id, text, &u->secret_id);
}

/* Looks at files, so it is not for the transaction. It is looked at again at each start of the program. */
static status
prepare_create(struct ctx *cx, void *in)
{
	const struct create_in *i = in;

	if (!i->program || upstreams_programs(upstreams_of(cx)) != UPSTREAM_SANDBOXED)
		return OK;
	return program_check(cx, upstreams_walls(upstreams_of(cx)), i->program);
}

static status
run_create(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct create_in *i = in;
	struct upstream u = { .org_id = cx->caller->org_id, .name = i->name, .kind = i->kind, .url = i->url };
	struct json *after;

	TRY(check_name(cx, i->name));
	TRY(check_kind(cx, i));
	TRY(check_networks(cx, i->networks, &u.networks));
	if (!http_net_suits(u.url, u.networks))
		return invalid(cx, "/url", "must be https, unless networks names the network that it is in");
	if (i->program)
		TRY(program_read(cx, i->program, &u.program));
	TRY(keep_secrets(cx, i, &u));
	TRY(tx_now_us(cx, &u.created_at));
	u.id = id_at(cx->arena, u.created_at);
	u.created_by = cx->caller->principal_id;
	u.version = 1;
	TRY(db_run(cx, SQL_UPSTREAM_ADD, TEXT(u.org_id), TEXT(u.id), TEXT(u.name), TEXT(u.kind), TEXT(u.url),
		TEXT(u.networks), TEXT(u.program), TEXT(u.secret_id), TEXT(u.secret_names),
		TEXT(u.created_by), INT(u.created_at), TEXT(u.oauth)));
	TRY(upstream_picture(cx, &u, &after));
	TRY(change_record(cx, AUDIT_RECORD_CREATED, "upstream", u.id, u.name, NULL, after));
	upstream_write(cx, out, &u);
	return OK;
}

/* --- switch off, delete --- */

struct patch_in {
	str id;
	bool disabled;
};
static const struct field patch_in[] = {
	FIELD_TEXT(struct patch_in, id, .need = true, .min = 1, .max = LIMIT_NAME, .doc = "Which server."),
	FIELD_BOOL(struct patch_in, disabled, .need = true,
		.doc = "Whether it is switched off: then nothing is sent to it."),
	FIELD_END,
};

static status
run_patch(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct patch_in *i = in;
	struct json *before, *after;
	struct upstream u;

	TRY(upstream_lock(cx, cx->caller->org_id, i->id, &u));
	TRY(upstream_picture(cx, &u, &before));
	TRY(db_run(cx, SQL_UPSTREAM_DISABLE, TEXT(u.org_id), TEXT(u.id), INT(i->disabled)));
	TRY(upstream_get(cx, u.org_id, u.id, &u));
	TRY(upstream_picture(cx, &u, &after));
	TRY(change_record(cx, AUDIT_RECORD_CHANGED, "upstream", u.id, u.name, before, after));
	upstream_write(cx, out, &u);
	return OK;
}

static status
prepare_delete(struct ctx *cx, void *in)
{
	authorization_revoke(cx, cx->caller->org_id, ((const struct id_in *)in)->id);
	return OK;
}

static status
run_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	struct json *before;
	struct upstream u;

	TRY(upstream_lock(cx, cx->caller->org_id, ((const struct id_in *)in)->id, &u));
	TRY(upstream_picture(cx, &u, &before));
	TRY(toolset_drop(cx, u.org_id, u.id, (str){ 0 }));
	TRY(db_run(cx, SQL_UPSTREAM_DELETE, TEXT(u.org_id), TEXT(u.id)));
	TRY(safe_drop(cx, u.org_id, u.secret_id));
	TRY(authorization_drop(cx, &u));
	TRY(change_record(cx, AUDIT_RECORD_DELETED, "upstream", u.id, u.name, before, NULL));
	upstream_write(cx, out, &u); /* what it was */
	return OK;
}

#define MANAGE "mcp.upstream.manage"
#define READ   "mcp.upstream.read"

const struct op upstream_ops[] = {
	{ .name = "upstream_list",
		.method = "GET",
		.path = "/api/v1/upstreams",
		.rule = READ,
		.tx = OP_TX_READ,
		.doc = "Lists the other MCP servers whose tools can be offered here.",
		.out = list_out,
		.errors = OP_ERRORS(E_UNAVAILABLE),
		.run = run_list },
	{ .name = "upstream_get",
		.method = "GET",
		.path = "/api/v1/upstreams/{id}",
		.rule = READ,
		.tx = OP_TX_READ,
		.doc = "Shows another MCP server: where it is, what it is granted, whether it answers.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = upstream_shown,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE),
		.run = run_get },
	{ .name = "upstream_create",
		.method = "POST",
		.path = "/api/v1/upstreams",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Adds another MCP server. None of its tools can be called before an admin has "
		       "accepted it.",
		.in = create_in,
		.in_size = sizeof(struct create_in),
		.out = upstream_shown,
		.success = 201,
		.errors = OP_ERRORS(E_EXISTS, E_CONFLICT, E_TOO_LARGE, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.prepare = prepare_create,
		.run = run_create },
	{ .name = "upstream_patch",
		.method = "PATCH",
		.path = "/api/v1/upstreams/{id}",
		.rule = MANAGE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Switches another MCP server off, or on again.",
		.in = patch_in,
		.in_size = sizeof(struct patch_in),
		.out = upstream_shown,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.run = run_patch },
	{ .name = "upstream_delete",
		.method = "DELETE",
		.path = "/api/v1/upstreams/{id}",
		.rule = MANAGE,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Forgets another MCP server, its tools and its credentials.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = upstream_shown,
		.errors = OP_ERRORS(E_NOT_FOUND, E_UNAVAILABLE, E_COMMIT_UNKNOWN),
		.prepare = prepare_delete,
		.run = run_delete },
	{ 0 },
};
