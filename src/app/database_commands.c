/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that open the database, do one thing and end: init, migrate, recover. */
#include "app/app.h"

#include "app/store.h"
#include "base/clock.h"
#include "base/limits.h"
#include "core/ident/org.h"
#include "core/installation.h"
#include "core/people/link/recover.h"
#include "db/db.h"
#include "face/rest/rest.h"

#include <inttypes.h>

/* --- init --- */

static status
create(struct ctx *cx, const struct cli_call *call, struct org_first *out)
{
	struct org_wish wish = { .admin_email = STR("admin@localhost") };
	bool exists;
	int applied;

	(void)cli_given(call, "name", &wish.name);
	(void)cli_given(call, "email", &wish.admin_email);
	TRY(db_migrate(cx, &applied));
	TRY(db_prepare(cx));
	TRY(org_exists(cx, &exists)); /* before a key file is made */
	if (exists)
		return fail(cx, E_EXISTS, "this installation has been set up before; nothing was changed");
	TRY(store_keys(cx, STR(INSTALLATION_NAME)));
	return org_begin(cx, &wish, out);
}

void
app_write_first(struct buf *b, const struct org_first *f)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o, NULL);
	json_out_str(&o, "adminEmail", f->admin_email);
	json_out_str(&o, "adminPassword", f->admin_password);
	json_out_str(&o, "adminToken", f->admin_token);
	json_out_str(&o, "agentToken", f->agent_token);
	json_out_str(&o, "orgId", f->org_id);
	json_out_str(&o, "projectId", f->project_id);
	json_out_object(&o, "environments");
	json_out_str(&o, "production", f->production_id);
	json_out_str(&o, "staging", f->staging_id);
	json_out_end(&o);
	json_out_end(&o);
	buf_add_char(b, '\n');
}

/* Can it be typed as it is? */
static bool
is_plain(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-",
			    text.ptr[i]))
			return false;
	return text.len > 0;
}

/* The command that serves what was just made. An address of a database may hold a password: it is not said. */
static void
tell_start(struct buf *b, const struct cli_call *call)
{
	bool others = cli_given(call, "database", NULL) || cli_given(call, "keys", NULL) ||
		      cli_given(call, "config", NULL);
	bool here;
	str dir;

	here = cli_given(call, "data", &dir);
	if (others || (here && !is_plain(dir)))
		buf_add(b, STR("Start it with `countersign serve` and the same settings.\n"));
	else if (here)
		buf_printf(b, "Start it with `countersign serve --data %.*s`.\n", STR_ARG(dir));
	else
		buf_add(b, STR("Start it with `countersign serve`.\n"));
}

static void
tell_first(struct buf *b, const struct cli_call *call, const struct org_first *f)
{
	buf_printf(b,
		"Countersign has been set up. These are shown once; keep them somewhere safe.\n"
		"\n"
		"  Sign in       %.*s\n"
		"  Password      %.*s\n"
		"  Admin token   %.*s\n"
		"                may approve for an hour, and act for the admin for 7 days\n"
		"  Agent token   %.*s\n"
		"                reads and proposes in production, for 7 days\n"
		"\n"
		"Keep a copy of the key file as well: without it the database cannot be trusted again.\n",
		STR_ARG(f->admin_email), STR_ARG(f->admin_password), STR_ARG(f->admin_token),
		STR_ARG(f->agent_token));
	tell_start(b, call);
}

/* With --json there is one object on standard output whatever happens; the sentence is on standard error too.
 */
static status
print_error(struct ctx *cx, status s)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	rest_envelope(&o, cx, s);
	json_out_end(&o);
	buf_add_char(&b, '\n');
	TRY(app_print(cx, &b));
	return s;
}

status
run_init(struct ctx *cx, const struct cli_call *call)
{
	bool json = cli_given(call, "json", NULL);
	struct org_first first;
	struct buf b;
	status s = store_open(cx, true);

	if (s == OK) {
		s = create(cx, call, &first);
		store_close(cx);
	}
	if (s != OK)
		return json ? print_error(cx, s) : s;
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (json)
		app_write_first(&b, &first);
	else
		tell_first(&b, call, &first);
	return app_print(cx, &b);
}

/* --- migrate --- */

static status
migrate(struct ctx *cx)
{
	struct db_schema before, after;
	struct buf b;
	int applied;

	TRY(db_schema(cx, &before));
	TRY(db_migrate(cx, &applied));
	TRY(db_schema(cx, &after));
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (applied)
		buf_printf(&b, "The schema went from version %" PRId64 " to %" PRId64 ".\n", before.version,
			after.version);
	else
		buf_printf(&b, "The schema is at version %" PRId64 "; there was nothing to do.\n",
			after.version);
	return app_print(cx, &b);
}

status
run_migrate(struct ctx *cx, const struct cli_call *call)
{
	status s;

	(void)call;
	TRY(store_open(cx, true));
	s = migrate(cx);
	store_close(cx);
	return s;
}

/* --- recover --- */

/* Without the key that belongs to the database no entry of ours would be believed. */
static status
join_with_key(struct ctx *cx)
{
	struct installation in;
	str ours;

	TRY(store_look_keys(cx));
	if (!cx->keys)
		return fail(
			cx, E_NOT_FOUND, "there is no key file here; give the installation's with --keys");
	TRY(installation_get(cx, &in));
	ours = keys_fingerprint(cx->arena, cx->keys);
	if (!str_eq(in.keys, ours))
		return fail(cx, E_CONFLICT,
			"this key file (%.*s) does not belong to the database (%.*s); give the right one "
			"with --keys",
			STR_ARG(ours), STR_ARG(in.keys));
	return OK;
}

static void
recovered_json(struct buf *b, const struct recovered *r)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o, NULL);
	json_out_str(&o, "org", r->org_slug);
	if (r->link.url.len) {
		json_out_str(&o, "email", r->email);
		json_out_str(&o, "link", r->link.url);
		json_out_time(&o, "linkExpiresAt", r->link.expires_at);
	}
	json_out_bool(&o, "madeAdmin", r->made_admin);
	json_out_bool(&o, "policyChanged", r->policy_changed);
	json_out_end(&o);
	buf_add_char(b, '\n');
}

static void
tell_link(struct ctx *cx, struct buf *b, const struct recovered *r)
{
	if (r->made_admin)
		buf_printf(b, "Nobody was admin any more: %.*s is now.\n", STR_ARG(r->email));
	buf_printf(b,
		"This link sets the password of %.*s, once, until %.*s. It is shown this once:\n"
		"  %.*s\n",
		STR_ARG(r->email), STR_ARG(clock_text(cx->arena, r->link.expires_at)), STR_ARG(r->link.url));
	if (!cx->public_url.len)
		buf_add(b, STR("Open it at your server's address: what stands here is the path.\n"));
}

static void
tell_recovered(struct ctx *cx, struct buf *b, const struct cli_call *call, const struct recovered *r)
{
	if (r->link.url.len)
		tell_link(cx, b, r);
	if (r->policy_changed)
		buf_add(b,
			STR("Four eyes and quorum are switched off: one person who may vote is enough.\n"));
	else if (cli_given(call, "switch-off-four-eyes", NULL))
		buf_add(b, STR("Neither four eyes nor a quorum was on.\n"));
	buf_printf(b,
		"This is on record, and everybody in \"%.*s\" is shown for 30 days that access was "
		"recovered.\n",
		STR_ARG(r->org_slug));
}

static status
recover_here(struct ctx *cx, const struct cli_call *call)
{
	struct recover_wish wish = { .switch_off_four_eyes = cli_given(call, "switch-off-four-eyes", NULL) };
	struct recovered done;
	struct buf b;

	(void)cli_given(call, "email", &wish.email);
	(void)cli_given(call, "org", &wish.org);
	TRY(db_prepare(cx));
	TRY(join_with_key(cx));
	cx->public_url = cx->app->config.public_url;
	TRY(recover(cx, &wish, &done));
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (cli_given(call, "json", NULL))
		recovered_json(&b, &done);
	else
		tell_recovered(cx, &b, call, &done);
	return app_print(cx, &b);
}

/* On SQLite this takes the lock of the data directory: no server runs meanwhile. On PostgreSQL servers may. */
status
run_recover(struct ctx *cx, const struct cli_call *call)
{
	status s;

	TRY(store_open(cx, false));
	s = recover_here(cx, call);
	store_close(cx);
	return s;
}
