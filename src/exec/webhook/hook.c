/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/webhook/hook.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/gate/tool.h"
#include "core/id.h"
#include "core/outside/source.h"
#include "core/people/change.h"
#include "db/db.h"
#include "exec/webhook/post.h"
#include "exec/webhook/sign.h"
#include "http/client/guard.h"
#include "json/bind.h"

#include "exec/webhook/hook.sql.h" /* SQL_HOOK_*, generated from connection.sql */

#define NEEDED	   "is needed for header, bearer and basic, and only there"
#define KEEP_OLD_S 86400 /* how long the replaced secret is good unless said */

static const struct field row[] = {
	FIELD_TEXT(struct hook, id),
	FIELD_TEXT(struct hook, name),
	FIELD_TEXT(struct hook, url),
	FIELD_TEXT(struct hook, mode),
	FIELD_TEXT(struct hook, answer),
	FIELD_TEXT(struct hook, auth),
	FIELD_TEXT(struct hook, auth_name),
	FIELD_TEXT(struct hook, auth_secret_id),
	FIELD_TEXT(struct hook, key_id),
	FIELD_TEXT(struct hook, old_key_id),
	FIELD_INT(struct hook, old_until),
	FIELD_TEXT(struct hook, allow),
	FIELD_INT(struct hook, deadline_ms),
	FIELD_BOOL(struct hook, wants_proposals),
	FIELD_BOOL(struct hook, wants_decisions),
	FIELD_BOOL(struct hook, wants_calls),
	FIELD_BOOL(struct hook, disabled),
	FIELD_TEXT(struct hook, created_by),
	FIELD_INT(struct hook, created_at),
	FIELD_INT(struct hook, changed_at),
	FIELD_END,
};

status
hook_get(struct ctx *cx, str org_id, str id, struct hook *out)
{
	status s = db_one(cx, SQL_HOOK_GET, row, out, TEXT(org_id), TEXT(id));

	return s == E_NOT_FOUND ? fail(cx, E_NOT_FOUND, "there is no connection with this id") : s;
}

void
hook_close(struct hook_secrets *s)
{
	safe_done(&s->auth);
	safe_done(&s->key);
	safe_done(&s->old);
}

void
hook_source(struct ctx *cx, const struct hook *c, struct outside_source *out)
{
	*out = (struct outside_source){ .address = c->url };
	if (c->auth_secret_id.len) /* how it is presented is a part of it */
		out->credential = arena_printf(cx->arena, "%.*s %.*s %.*s", STR_ARG(c->auth_secret_id),
			STR_ARG(c->auth), STR_ARG(c->auth_name));
}

status
hook_source_of(struct ctx *cx, void *arg, str org_id, const struct tool *t, struct outside_source *out)
{
	struct hook c;

	(void)arg;
	TRY(hook_get(cx, org_id, t->outside->source_id, &c));
	hook_source(cx, &c, out);
	return OK;
}

bool
hook_lacks_secret(const struct hook *c)
{
	return !str_eq(c->auth, STR("none")) && !c->auth_secret_id.len;
}

static status
take_secrets(struct ctx *cx, str org_id, const struct hook *c, struct hook_secrets *out)
{
	int64_t now;

	TRY(tx_now_us(cx, &now));
	TRY(safe_get(cx, org_id, c->auth_secret_id, &out->auth));
	TRY(safe_get(cx, org_id, c->key_id, &out->key));
	return now < c->old_until ? safe_get(cx, org_id, c->old_key_id, &out->old) : OK;
}

status
hook_open(struct ctx *cx, str org_id, const struct hook *c, struct hook_secrets *out)
{
	status s;

	hook_close(out); /* a transaction may run more than once */
	s = take_secrets(cx, org_id, c, out);
	if (s != OK)
		hook_close(out);
	return s;
}

size_t
hook_nets(struct ctx *cx, const struct hook *c, const struct http_net **out)
{
	struct http_net *nets = arena_alloc(cx->arena, LIMIT_CONNECTION_NETS * sizeof(*nets));
	str one, rest = c->allow;
	size_t n = 0;

	while (rest.len && n < LIMIT_CONNECTION_NETS) {
		if (!str_cut(rest, ' ', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		n += http_net_read(one, &nets[n]);
	}
	*out = nets;
	return n;
}

/* --- as it is shown --- */

struct shown {
	str id, name, url, mode, answer, auth, auth_name, state, created_by, created_at, changed_at;
	bool has_secret, needs_secret, rotating;
	int64_t deadline_ms;
	struct json *allow, *events;
	str signing_secret;
};
static const struct field shown[] = {
	FIELD_TEXT(struct shown, id, .need = true, .doc = "Its id."),
	FIELD_TEXT(struct shown, name, .need = true, .doc = "Its name."),
	FIELD_TEXT(struct shown, url, .need = true, .doc = "Where commands go."),
	FIELD_TEXT(struct shown, mode, .need = true, .doc = "sync, callback or events."),
	FIELD_TEXT(struct shown, answer, .need = true, .doc = "json or command: what an answer looks like."),
	FIELD_TEXT(struct shown, auth, .need = true, .doc = "none, header, bearer or basic."),
	FIELD_TEXT(struct shown, auth_name, .need = true,
		.doc = "The header's name, or who signs in; may be empty."),
	FIELD_TEXT(struct shown, state, .need = true, .doc = "active or disabled."),
	FIELD_TEXT(struct shown, created_by, .need = true, .doc = "Who made it."),
	FIELD_TEXT(struct shown, created_at, .need = true, .doc = "When (RFC 3339)."),
	FIELD_TEXT(struct shown, changed_at, .need = true, .doc = "When it was changed last."),
	FIELD_BOOL(struct shown, has_secret, .need = true,
		.doc = "Whether a credential is stored; it is never shown."),
	FIELD_BOOL(struct shown, needs_secret, .need = true,
		.doc = "Whether its address was changed and nothing is sent before the credential is entered "
		       "again (authSecret)."),
	FIELD_BOOL(
		struct shown, rotating, .need = true, .doc = "Whether an older signing secret is good, too."),
	FIELD_INT(struct shown, deadline_ms, .need = true,
		.doc = "How long an outcome is waited for, unless a tool says."),
	FIELD_JSON(
		struct shown, allow, .need = true, .doc = "Networks that are not public and may be reached."),
	FIELD_JSON(struct shown, events, .need = true, .doc = "What it is told of."),
	FIELD_TEXT(struct shown, signing_secret,
		.doc = "Only when it was just made for you: it is shown this once (whsec_…)."),
	FIELD_END,
};

static const struct {
	const char *name;
	size_t offset;
} wants[] = {
	{ "proposal.*", offsetof(struct hook, wants_proposals) },
	{ "approval.decided", offsetof(struct hook, wants_decisions) },
	{ "tool.called", offsetof(struct hook, wants_calls) },
};
#define WANTS (sizeof(wants) / sizeof(wants[0]))

static void
write_lists(struct json_out *o, const struct hook *c)
{
	str one, rest = c->allow;

	json_out_array(o, "allow");
	while (rest.len) {
		if (!str_cut(rest, ' ', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		json_out_str(o, NULL, one);
	}
	json_out_end(o);
	json_out_array(o, "events");
	for (size_t i = 0; i < WANTS; i++)
		if (*(const bool *)((const char *)c + wants[i].offset))
			json_out_str(o, NULL, str_of(wants[i].name));
	json_out_end(o);
}

static void
write_hook(struct json_out *o, const void *from)
{
	const struct hook *c = from;

	json_out_str(o, "id", c->id);
	json_out_str(o, "name", c->name);
	json_out_str(o, "url", c->url);
	json_out_str(o, "mode", c->mode);
	json_out_str(o, "answer", c->answer);
	json_out_str(o, "auth", c->auth);
	json_out_str(o, "authName", c->auth_name);
	json_out_str(o, "state", c->disabled ? STR("disabled") : STR("active"));
	json_out_str(o, "createdBy", c->created_by);
	json_out_time(o, "createdAt", c->created_at);
	json_out_time(o, "changedAt", c->changed_at);
	json_out_bool(o, "hasSecret", c->auth_secret_id.len > 0);
	json_out_bool(o, "needsSecret", hook_lacks_secret(c));
	json_out_bool(o, "rotating", c->old_key_id.len > 0);
	json_out_int(o, "deadlineMs", c->deadline_ms);
	write_lists(o, c);
}

static status
record(struct ctx *cx, enum audit_action action, const struct hook *before, const struct hook *after)
{
	const struct hook *c = after ? after : before;
	struct json *was = NULL, *is = NULL;

	if (before)
		TRY(op_item_value(cx, write_hook, before, &was));
	if (after)
		TRY(op_item_value(cx, write_hook, after, &is));
	return change_record(cx, action, "connection", c->id, c->name, was, is);
}

/* --- what is said of one --- */

struct wish {
	str id, name, url, mode, answer, auth, auth_name, auth_secret, signing_secret, state;
	int64_t deadline_ms;
	struct json *allow, *events;
};
static const char *const modes[] = { "sync", "callback", "events", NULL };
static const char *const answers[] = { "json", "command", NULL };
static const char *const auths[] = { "none", "header", "bearer", "basic", NULL };
static const char *const states[] = { "active", "disabled", NULL };

#define WISH_FIELDS                                                                                          \
	FIELD_TEXT(struct wish, mode, .choices = modes,                                                      \
		.doc = "sync: its answer is the outcome; callback: it tells it later; events: "              \
		       "notifications only."),                                                               \
		FIELD_TEXT(struct wish, answer, .choices = answers,                                          \
			.doc = "json: any JSON is the outcome; command: {commandId, status, result} as a "   \
			       "callback's."),                                                               \
		FIELD_TEXT(struct wish, auth, .choices = auths, .doc = "How we identify ourselves to it."),  \
		FIELD_TEXT(struct wish, auth_name, .max = LIMIT_NAME,                                        \
			.doc = "For header: its name; for basic: the user."),                                \
		FIELD_TEXT(struct wish, auth_secret, .min = 1, .max = LIMIT_SAFE_BYTES,                      \
			.doc = "The header's value, the token or the password. Stored encrypted, never "     \
			       "shown again."),                                                              \
		FIELD_JSON(struct wish, allow,                                                               \
			.doc = "Networks besides the public internet that it may be in: "                    \
			       "[\"10.1.0.0/16\"]."),                                                        \
		FIELD_INT(struct wish, deadline_ms, .min = 1000, .max = LIMIT_WEBHOOK_DEADLINE_MS,           \
			.doc = "How long an outcome is waited for; 30,000 unless said."),                    \
		FIELD_JSON(struct wish, events,                                                              \
			.doc = "For mode events: any of proposal.*, approval.decided, tool.called.")

static const struct field create_in[] = {
	FIELD_TEXT(struct wish, name, .need = true, .min = 1, .max = 64, .doc = "Letters, digits, - and _."),
	FIELD_TEXT(struct wish, url, .need = true, .min = 1, .max = LIMIT_WEBHOOK_URL,
		.doc = "Where commands go: https://, or http:// into a network that is allowed."),
	FIELD_TEXT(struct wish, signing_secret, .min = 1, .max = 200,
		.doc = "whsec_ and base64 of 24 to 64 bytes; one is made where none is given, and shown "
		       "once."),
	WISH_FIELDS,
	FIELD_END,
};
static const struct field change_in[] = {
	FIELD_TEXT(struct wish, id, .need = true, .max = LIMIT_NAME, .doc = "Which connection."),
	FIELD_TEXT(struct wish, url, .min = 1, .max = LIMIT_WEBHOOK_URL,
		.doc = "Where commands go from now on."),
	FIELD_TEXT(struct wish, state, .choices = states, .doc = "A disabled one is sent nothing."),
	WISH_FIELDS,
	FIELD_END,
};

static status
refuse(struct ctx *cx, const char *path, const char *message)
{
	ctx_clear(cx);
	fail_issue(cx, str_of(path), str_of(message));
	return fail(cx, E_INVALID, "%s %s", path, message);
}

static bool
is_word(str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '-' || c == '_'))
			return false;
	}
	return name.len > 0;
}

/* Who may sign in, and where a password would stand, are not part of an address; nor is what a browser keeps. */
static bool
is_url(str url)
{
	str rest = str_starts(url, STR("https://"))  ? str_skip(url, 8)
		   : str_starts(url, STR("http://")) ? str_skip(url, 7)
						     : (str){ 0 };
	str authority = { rest.ptr, str_find(rest, '/') };

	for (size_t i = 0; i < rest.len; i++)
		if (rest.ptr[i] <= ' ' || rest.ptr[i] > '~' || rest.ptr[i] == '#' || rest.ptr[i] == '\\')
			return false;
	return authority.len && str_find(authority, '@') == authority.len;
}

static status
set_allow(struct ctx *cx, const struct json *wish, struct hook *c)
{
	struct http_net net;
	const str *items;
	size_t count;
	struct buf b;

	TRY(json_bind_strings(cx, wish, STR("/allow"), LIMIT_CONNECTION_NETS, &items, &count));
	buf_init(&b, cx->arena, (size_t)LIMIT_CONNECTION_NETS * 64);
	for (size_t i = 0; i < count; i++) {
		if (!http_net_read(items[i], &net))
			return refuse(cx, arena_printf(cx->arena, "/allow/%zu", i).ptr,
				"must be a network as 10.1.0.0/16, fd00::/8, or one address");
		buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(items[i]));
	}
	return buf_finish(&b, &c->allow);
}

static status
set_events(struct ctx *cx, const struct json *wish, struct hook *c)
{
	const str *items;
	size_t count;

	TRY(json_bind_strings(cx, wish, STR("/events"), WANTS, &items, &count));
	c->wants_proposals = c->wants_decisions = c->wants_calls = false;
	for (size_t i = 0; i < count; i++) {
		bool known = false;

		for (size_t w = 0; w < WANTS; w++)
			if (str_eq(items[i], str_of(wants[w].name)))
				known = *(bool *)((char *)c + wants[w].offset) = true;
		if (!known)
			return refuse(cx, arena_printf(cx->arena, "/events/%zu", i).ptr,
				"must be proposal.*, approval.decided or tool.called");
	}
	return OK;
}

/* Is all that is known of it of one piece? */
static status
check(struct ctx *cx, const struct hook *c)
{
	bool named = str_eq(c->auth, STR("header")) || str_eq(c->auth, STR("basic"));
	bool events = str_eq(c->mode, STR("events"));

	if (!is_url(c->url))
		return refuse(cx, "/url", "must be an http or https address without a user in it");
	if (!http_net_suits(c->url, c->allow))
		return refuse(cx, "/url", "must be https, unless allow names the network that it is in");
	if (named != (c->auth_name.len > 0))
		return refuse(cx, "/authName", "is needed for header and basic, and only there");
	if (str_eq(c->auth, STR("header")) && !post_header_valid(c->auth_name))
		return refuse(cx, "/authName", "must be a header that we do not set ourselves");
	if (str_eq(c->auth, STR("none")) && c->auth_secret_id.len)
		return refuse(cx, "/authSecret", NEEDED);
	if (events != (c->wants_proposals || c->wants_decisions || c->wants_calls))
		return refuse(cx, "/events", "is what mode events needs, and no other takes");
	if (!str_eq(c->mode, STR("callback")) && c->deadline_ms > LIMIT_WEBHOOK_ANSWER_MS)
		return refuse(cx, "/deadlineMs", "is at most 300000 where the answer is waited for");
	return OK;
}

static bool
is_value(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] < ' ' || text.ptr[i] > '~')
			return false;
	return str_eq(text, str_trim(text));
}

/* Everything but the name; what is not said stays as it is. */
static status
merge(struct ctx *cx, const struct wish *w, struct hook *c)
{
	if (w->url.ptr)
		c->url = w->url;
	if (w->mode.ptr)
		c->mode = w->mode;
	if (str_eq(w->mode, STR("callback")) && !cx->public_url.len)
		return refuse(
			cx, "/mode", "callback needs the setting public-url: it says where callbacks go");
	if (w->answer.ptr)
		c->answer = w->answer;
	if (w->auth_name.ptr)
		c->auth_name = w->auth_name;
	if (w->deadline_ms)
		c->deadline_ms = w->deadline_ms;
	if (w->state.ptr)
		c->disabled = str_eq(w->state, STR("disabled"));
	if (w->allow)
		TRY(set_allow(cx, w->allow, c));
	return w->events ? set_events(cx, w->events, c) : OK;
}

/* The credential: a new one where one is said, none where none is used any more. One that is there is for the address
 * that it was entered for: with another one it is forgotten. */
static status
merge_secret(struct ctx *cx, const struct wish *w, const struct hook *before, struct hook *c)
{
	str org_id = cx->caller->org_id;
	bool none = w->auth.ptr && str_eq(w->auth, STR("none"));
	bool moved = !str_eq(before->url, c->url);

	if (w->auth.ptr)
		c->auth = w->auth;
	if (none && !w->auth_name.ptr)
		c->auth_name = (str){ 0 };
	if (!none && !w->auth_secret.ptr && !moved)
		return w->auth.ptr && hook_lacks_secret(c) ? refuse(cx, "/authSecret", NEEDED) : OK;
	if (w->auth_secret.ptr && !is_value(w->auth_secret))
		return refuse(cx, "/authSecret", "has characters that no header carries");
	TRY(safe_drop(cx, org_id, c->auth_secret_id));
	c->auth_secret_id = (str){ 0 };
	if (w->auth_secret.ptr)
		return safe_put(cx, org_id, w->auth_secret, &c->auth_secret_id);
	return (w->auth.ptr || !before->id.len) && hook_lacks_secret(c) ? refuse(cx, "/authSecret", NEEDED)
									: OK;
}

/* --- operations --- */

static status
run_create(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct wish *w = in;
	str org_id = cx->caller->org_id,
	    secret = w->signing_secret.ptr ? w->signing_secret : sign_new(cx->arena);
	struct hook c = { .name = w->name,
		.mode = STR("sync"),
		.answer = STR("json"),
		.auth = STR("none"),
		.deadline_ms = LIMIT_WEBHOOK_MS,
		.created_by = cx->caller->principal_id };
	status s;

	TRY(tx_now_us(cx, &c.created_at));
	c.changed_at = c.created_at;
	c.id = id_at(cx->arena, c.created_at);
	if (!is_word(c.name))
		return refuse(cx, "/name", "has only letters, digits, - and _");
	if (!sign_valid(secret))
		return refuse(cx, "/signingSecret", "must be whsec_ and base64 of 24 to 64 bytes");
	TRY(merge(cx, w, &c));
	TRY(merge_secret(cx, w, &(struct hook){ 0 }, &c));
	TRY(check(cx, &c));
	TRY(safe_put(cx, org_id, secret, &c.key_id));
	s = db_run(cx, SQL_HOOK_ADD, TEXT(org_id), TEXT(c.id), TEXT(c.name), TEXT(c.url), TEXT(c.mode),
		TEXT(c.answer), TEXT(c.auth), TEXT(c.auth_name), TEXT(c.auth_secret_id), TEXT(c.key_id),
		TEXT(c.allow), INT(c.deadline_ms), INT(c.wants_proposals), INT(c.wants_decisions),
		INT(c.wants_calls), TEXT(c.created_by), INT(c.created_at));
	if (s == E_EXISTS)
		return fail(cx, E_EXISTS, "a connection of this name exists already");
	TRY(s);
	TRY(record(cx, AUDIT_RECORD_CREATED, NULL, &c));
	write_hook(out, &c);
	if (!w->signing_secret.ptr)
		json_out_str(out, "signingSecret", secret);
	return OK;
}

struct list_in {
	str after;
	int64_t limit;
};
static const struct field list_in[] = { OP_PAGE_FIELDS(struct list_in), FIELD_END };

static status
run_list(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct list_in *p = in;
	struct hook *rows;
	size_t count;

	TRY(db_all(cx, SQL_HOOK_LIST, row, sizeof(*rows), &rows, &count, TEXT(cx->caller->org_id),
		TEXT(p->after), INT(op_page_rows(p->limit))));
	op_list(out, rows, sizeof(*rows), count, p->limit, write_hook);
	return OK;
}

struct id_in {
	str id;
};
static const struct field id_in[] = {
	FIELD_TEXT(struct id_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which connection."),
	FIELD_END,
};

static status
run_get(struct ctx *cx, const void *in, struct json_out *out)
{
	struct hook c;

	TRY(hook_get(cx, cx->caller->org_id, ((const struct id_in *)in)->id, &c));
	write_hook(out, &c);
	return OK;
}

static status
run_change(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct wish *w = in;
	struct hook before, c;
	int64_t now;

	TRY(hook_get(cx, cx->caller->org_id, w->id, &before));
	c = before;
	TRY(tx_now_us(cx, &now));
	TRY(merge(cx, w, &c));
	TRY(merge_secret(cx, w, &before, &c));
	TRY(check(cx, &c));
	c.changed_at = now;
	TRY(db_run(cx, SQL_HOOK_CHANGE, TEXT(cx->caller->org_id), TEXT(c.id), TEXT(c.url), TEXT(c.mode),
		TEXT(c.answer), TEXT(c.auth), TEXT(c.auth_name), TEXT(c.auth_secret_id), TEXT(c.allow),
		INT(c.deadline_ms), INT(c.wants_proposals), INT(c.wants_decisions), INT(c.wants_calls),
		INT(c.disabled), INT(now)));
	TRY(record(cx, AUDIT_RECORD_CHANGED, &before, &c));
	write_hook(out, &c);
	return OK;
}

struct rotate_in {
	str id, signing_secret;
	int64_t keep_seconds;
};
static const struct field rotate_in[] = {
	FIELD_TEXT(struct rotate_in, id, .need = true, .max = LIMIT_NAME, .doc = "Which connection."),
	FIELD_TEXT(struct rotate_in, signing_secret, .min = 1, .max = 200,
		.doc = "The new one (whsec_…); made where none is given, and shown once."),
	FIELD_INT(struct rotate_in, keep_seconds, .min = 1, .max = INT64_C(30) * KEEP_OLD_S,
		.doc = "How long the old one is good, too; a day unless said."),
	FIELD_END,
};

static status
run_rotate(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct rotate_in *r = in;
	str org_id = cx->caller->org_id,
	    secret = r->signing_secret.ptr ? r->signing_secret : sign_new(cx->arena);
	struct hook before, c;

	if (!sign_valid(secret))
		return refuse(cx, "/signingSecret", "must be whsec_ and base64 of 24 to 64 bytes");
	TRY(hook_get(cx, org_id, r->id, &before));
	c = before;
	TRY(tx_now_us(cx, &c.changed_at));
	TRY(safe_drop(cx, org_id, before.old_key_id));
	c.old_key_id = before.key_id;
	c.old_until = c.changed_at + (r->keep_seconds ? r->keep_seconds : KEEP_OLD_S) * SECOND_US;
	TRY(safe_put(cx, org_id, secret, &c.key_id));
	TRY(db_run(cx, SQL_HOOK_ROTATE, TEXT(org_id), TEXT(c.id), TEXT(c.key_id), TEXT(c.old_key_id),
		INT(c.old_until), INT(c.changed_at)));
	TRY(record(cx, AUDIT_RECORD_CHANGED, &before, &c));
	write_hook(out, &c);
	if (!r->signing_secret.ptr)
		json_out_str(out, "signingSecret", secret);
	return OK;
}

struct count_row {
	int64_t count;
};
static const struct field count_row[] = { FIELD_INT(struct count_row, count), FIELD_END };

static status
run_delete(struct ctx *cx, const void *in, struct json_out *out)
{
	str org_id = cx->caller->org_id;
	struct count_row tools;
	struct hook c;

	TRY(hook_get(cx, org_id, ((const struct id_in *)in)->id, &c));
	TRY(db_one(cx, SQL_HOOK_TOOLS, count_row, &tools, TEXT(org_id), TEXT(c.id)));
	if (tools.count)
		return fail(cx, E_IN_USE, "tools use this connection; delete them first, or disable it");
	TRY(db_run(cx, SQL_HOOK_FORGET_DELIVERIES, TEXT(org_id), TEXT(c.id)));
	TRY(db_run(cx, SQL_HOOK_FORGET_CALLBACKS, TEXT(org_id), TEXT(c.id)));
	TRY(db_run(cx, SQL_HOOK_REMOVE, TEXT(org_id), TEXT(c.id)));
	TRY(safe_drop(cx, org_id, c.auth_secret_id));
	TRY(safe_drop(cx, org_id, c.key_id));
	TRY(safe_drop(cx, org_id, c.old_key_id));
	TRY(record(cx, AUDIT_RECORD_DELETED, &c, NULL));
	write_hook(out, &c);
	return OK;
}

/* --- trying one --- */

struct tried {
	bool reached;
	int64_t http_status;
	str why;
};
static const struct field tried[] = {
	FIELD_BOOL(struct tried, reached, .need = true, .doc = "Whether a whole answer came."),
	FIELD_INT(struct tried, http_status, .need = true, .doc = "Its status; 0: none came."),
	FIELD_TEXT(struct tried, why, .need = true, .doc = "What was wrong; empty: nothing."),
	FIELD_END,
};

struct ping {
	str org_id, id;
	struct hook connection;
	struct hook_secrets secrets;
};

static status
open_for_ping(struct ctx *cx, void *arg)
{
	struct ping *p = arg;

	TRY(hook_get(cx, p->org_id, p->id, &p->connection));
	if (hook_lacks_secret(&p->connection))
		return fail(cx, E_CONFLICT, HOOK_LACKS_SECRET);
	return hook_open(cx, p->org_id, &p->connection, &p->secrets);
}

static status /* after the commit: nobody holds a lock while we wait */
send_ping(struct ctx *cx, void *arg, struct json_out *out)
{
	struct ping *p = arg;
	struct http_client_answer a = { 0 };
	struct tried t = { 0 };
	status s = db_read(cx, open_for_ping, p);

	if (s == E_CONFLICT) {
		t = (struct tried){ .why = ctx_message(cx, s) };
		s = OK;
		ctx_clear(cx);
	} else if (s == OK) {
		s = post_ping(cx, p->org_id, &p->connection, &p->secrets, &a);
		t = (struct tried){ s == OK, a.status, s == OK ? STR("") : ctx_message(cx, s) };
		s = OK;
		ctx_clear(cx);
	}
	hook_close(&p->secrets);
	TRY(s);
	json_out_fields(out, tried, &t);
	return OK;
}

static status
run_test(struct ctx *cx, const void *in, struct json_out *out)
{
	struct ping *p = ARENA_NEW(cx->arena, struct ping);
	struct later *l = ARENA_NEW(cx->arena, struct later);
	struct hook c;

	(void)out;
	p->org_id = cx->caller->org_id;
	p->id = ((const struct id_in *)in)->id;
	TRY(hook_get(cx, p->org_id, p->id, &c));
	TRY(change_record(cx, AUDIT_RECORD_CHANGED, "connection", c.id, STR("test"), NULL, NULL));
	*l = (struct later){ send_ping, p };
	cx->later = l;
	return OK;
}

#define RULE "webhook.connection.manage"

const struct op hook_ops[] = {
	{ .name = "connection_list",
		.method = "GET",
		.path = "/api/v1/connections",
		.rule = RULE,
		.tx = OP_TX_READ,
		.doc = "Lists the systems that are reached by webhook.",
		.in = list_in,
		.in_size = sizeof(struct list_in),
		.out = op_list_out,
		.run = run_list },
	{ .name = "connection_get",
		.method = "GET",
		.path = "/api/v1/connections/{id}",
		.rule = RULE,
		.tx = OP_TX_READ,
		.doc = "Shows a connection; never its secrets.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = shown,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_get },
	{ .name = "connection_create",
		.method = "POST",
		.path = "/api/v1/connections",
		.rule = RULE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Connects a system that takes commands or notifications by webhook "
		       "(docs/webhooks.md).",
		.in = create_in,
		.in_size = sizeof(struct wish),
		.out = shown,
		.success = 201,
		.errors = OP_ERRORS(E_EXISTS),
		.run = run_create },
	{ .name = "connection_change",
		.method = "PATCH",
		.path = "/api/v1/connections/{id}",
		.rule = RULE,
		.effect = OP_MUTATE,
		.authority = true,
		.tx = OP_TX_RIGHTS,
		.doc = "Changes a connection; what is not said stays, but with another url the credential "
		       "is forgotten unless authSecret is said, too: nothing is sent before it is. A "
		       "disabled "
		       "one is sent nothing.",
		.in = change_in,
		.in_size = sizeof(struct wish),
		.out = shown,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_change },
	{ .name = "connection_rotate",
		.method = "POST",
		.path = "/api/v1/connections/{id}/rotate",
		.rule = RULE,
		.effect = OP_MUTATE,
		.tx = OP_TX_RIGHTS,
		.doc = "Replaces the signing secret; for a while both sign, and both are accepted.",
		.in = rotate_in,
		.in_size = sizeof(struct rotate_in),
		.out = shown,
		.errors = OP_ERRORS(E_NOT_FOUND),
		.run = run_rotate },
	{ .name = "connection_delete",
		.method = "DELETE",
		.path = "/api/v1/connections/{id}",
		.rule = RULE,
		.effect = OP_DESTRUCTIVE,
		.tx = OP_TX_RIGHTS,
		.doc = "Forgets a connection, its secrets and what was still to be told to it.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = shown,
		.errors = OP_ERRORS(E_NOT_FOUND, E_IN_USE),
		.run = run_delete },
	{ .name = "connection_test",
		.method = "POST",
		.path = "/api/v1/connections/{id}/test",
		.rule = RULE,
		.effect = OP_MUTATE,
		.tx = OP_TX_DECIDE,
		.doc = "Sends a signed ping, which is no command, and says what came back.",
		.in = id_in,
		.in_size = sizeof(struct id_in),
		.out = tried,
		.errors = OP_ERRORS(E_NOT_FOUND, E_TAMPERED, E_BUSY, E_UNAVAILABLE),
		.run = run_test },
	{ 0 },
};
