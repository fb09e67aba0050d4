/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokens of wraps. One registers programs, on the authority of the first admin, and can do nothing else; it cannot
 * vote. One is the agent's: tools of other MCP servers, and nothing of Countersign's own.
 */
#include "app/app.h"
#include "app/client/client.h"
#include "app/wrap/place.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/scoped.h"
#include "core/audit/audit.h"
#include "core/ident/org.h"
#include "core/ident/token.h"
#include "db/db.h"
#include "json/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define RATE 6000 /* calls a minute: the client is on this machine, and starts again and again */

static str
path_of(struct ctx *cx, str dir, const char *name)
{
	return arena_printf(cx->arena, "%.*s/%s", STR_ARG(dir), name);
}

/* --- the files --- */

/* Whole or not at all, and for its owner only. */
static status
write_file(struct ctx *cx, str path, str text)
{
	const char *to = arena_cstr(cx->arena, path);
	const char *draft = arena_printf(cx->arena, "%s.%.*s", to, STR_ARG(random_hex(cx->arena, 8))).ptr;
	scoped_fd fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int wrong;

	if (fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len && fsync(fd) == 0 &&
		rename(draft, to) == 0)
		return OK;
	wrong = errno;
	(void)unlink(draft);
	return fail(cx, E_UNAVAILABLE, "%s cannot be written: %s", to, strerror(wrong));
}

static status
write_first(struct ctx *cx, str dir, const struct org_first *f)
{
	struct buf b;
	str text;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	app_write_first(&b, f);
	TRY(buf_finish(&b, &text));
	return write_file(cx, path_of(cx, dir, "first.json"), text);
}

static status
save(struct ctx *cx, str dir, const struct tokens *t)
{
	struct json_out o;
	struct buf b;
	str text;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "orgId", t->org_id);
	json_out_str(&o, "adminId", t->admin_id);
	json_out_str(&o, "agentId", t->agent_id);
	json_out_str(&o, "adminTokenId", t->admin_token_id);
	json_out_str(&o, "adminToken", t->admin_token);
	json_out_str(&o, "agentTokenId", t->agent_token_id);
	json_out_str(&o, "agentToken", t->agent_token);
	json_out_int(&o, "expiresAt", t->expires_at);
	json_out_end(&o);
	buf_add_char(&b, '\n');
	TRY(buf_finish(&b, &text));
	return write_file(cx, path_of(cx, dir, "wrap.json"), text);
}

status
tokens_load(struct ctx *cx, str dir, struct tokens *out)
{
	const char *path = path_of(cx, dir, "wrap.json").ptr;
	const struct json *until;
	struct json *doc;
	struct tokens t;
	str text;

	if (access(path, F_OK) != 0)
		return fail(cx, E_NOT_FOUND, "there is no %s", path);
	TRY(client_read(cx, path, LIMIT_HTTP_BODY, &text));
	if (json_parse(cx, text, &doc) != OK)
		return fail(cx, E_UNAVAILABLE, "%s is not a file of wrap's", path);
	t = (struct tokens){ .org_id = text_of(doc, "orgId"),
		.admin_id = text_of(doc, "adminId"),
		.agent_id = text_of(doc, "agentId"),
		.admin_token_id = text_of(doc, "adminTokenId"),
		.admin_token = text_of(doc, "adminToken"),
		.agent_token_id = text_of(doc, "agentTokenId"),
		.agent_token = text_of(doc, "agentToken") };
	until = part_of(doc, "expiresAt");
	if (!until || !json_to_int(until, &t.expires_at) || !t.admin_token.len || !t.agent_token.len)
		return fail(cx, E_UNAVAILABLE, "%s is not a file of wrap's", path);
	*out = t;
	return OK;
}

/* --- minting --- */

/* With what it had before ended, if there was one. */
static status
mint(struct ctx *cx, const struct tokens *t, enum principal_kind kind, struct token_new *new, str old_id,
	struct token_minted *out)
{
	int64_t count;

	if (old_id.len && token_revoke(cx, t->org_id, old_id, &count) != OK)
		ctx_clear(cx); /* it has ended already */
	new->all_environments = new->all_keys = true;
	new->rate_per_minute = RATE;
	new->ttl_us = TOKEN_TTL_MOST_US;
	TRY(token_mint(cx, t->org_id, kind, new, out));
	return audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_TOKEN_MINTED,
			.org_id = t->org_id,
			.resource_type = STR("token"),
			.resource_key = new->name,
			.resource_id = out->token_id,
			.reason = STR("countersign wrap") },
		NULL);
}

static status /* inside one transaction */
mint_tx(struct ctx *cx, void *arg)
{
	static const str admin_rules[] = { { "mcp.upstream.manage", 19 } };
	static const str agent_rules[] = { { "mcp.tool.read", 13 }, { "mcp.tool.propose", 16 },
		{ "mcp.tool.write", 14 }, { "mcp.tool.delete", 15 } };
	struct tokens *t = arg;
	struct token_new admin = { .name = STR("wrap: adds programs"),
		.principal_id = t->admin_id,
		.rules = admin_rules,
		.rule_count = 1 };
	struct token_new agent = { .name = STR("wrap: the agent"),
		.principal_id = t->agent_id,
		.delegator_id = t->admin_id,
		.rules = agent_rules,
		.rule_count = sizeof(agent_rules) / sizeof(agent_rules[0]) };
	struct token_minted minted;
	struct tokens next = *t;

	TRY(mint(cx, t, PRINCIPAL_USER, &admin, t->admin_token_id, &minted));
	next.admin_token_id = minted.token_id;
	next.admin_token = minted.secret;
	TRY(mint(cx, t, PRINCIPAL_AGENT, &agent, t->agent_token_id, &minted));
	next.agent_token_id = minted.token_id;
	next.agent_token = minted.secret;
	next.expires_at = minted.expires_at;
	*t = next;
	return OK;
}

static status
begin(struct ctx *cx, str dir, struct tokens *out)
{
	struct org_wish wish = { .admin_email = STR("admin@localhost") };
	struct org_first first;
	bool exists;

	TRY(org_exists(cx, &exists));
	if (exists)
		return fail(cx, E_CONFLICT,
			"%.*s was set up without wrap, so there is no token in it: start the server with "
			"`countersign serve --data %.*s --stdio-upstreams sandboxed` and give wrap an "
			"agent's "
			"token in COUNTERSIGN_TOKEN, or choose another directory with --data",
			STR_ARG(dir), STR_ARG(dir));
	TRY(org_begin(cx, &wish, &first));
	TRY(write_first(cx, dir, &first));
	*out = (struct tokens){
		.org_id = first.org_id, .admin_id = first.admin_id, .agent_id = first.agent_id
	};
	return OK;
}

status
tokens_prepare(struct ctx *cx, str dir)
{
	struct tokens t = { 0 };
	status s = tokens_load(cx, dir, &t);

	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		TRY(begin(cx, dir, &t));
	} else if (s != OK) {
		return s;
	}
	if (t.expires_at - clock_now_us() > TOKEN_TTL_MOST_US / 2)
		return OK;
	TRY(tx_run(cx, mint_tx, &t));
	return save(cx, dir, &t);
}
