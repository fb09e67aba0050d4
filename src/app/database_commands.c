/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that open the database, do one thing and end: init, migrate. */
#include "app/app.h"

#include "app/store.h"
#include "base/limits.h"
#include "core/ident/org.h"
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
