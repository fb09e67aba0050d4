/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that open the database, do one thing and end: init, migrate. */
#include "app/app.h"

#include "app/store.h"
#include "base/limits.h"
#include "core/installation.h"
#include "db/db.h"
#include "face/rest/rest.h"

#include <inttypes.h>

/* --- init --- */

static status
create(struct ctx *cx, const struct cli_call *call, struct installation *out)
{
	str name = STR("Countersign");
	int applied;

	(void)cli_given(call, "name", &name);
	TRY(db_migrate(cx, &applied));
	TRY(db_prepare(cx));
	return installation_create(cx, name, out);
}

static void
write_installation(struct buf *b, const struct installation *in)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o, NULL);
	json_out_str(&o, "installationId", in->id);
	json_out_time(&o, "createdAt", in->created_at_us);
	json_out_end(&o);
	buf_add_char(b, '\n');
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
	struct installation in;
	struct buf b;
	status s = store_open(cx, true);

	if (s == OK) {
		s = create(cx, call, &in);
		store_close(cx);
	}
	if (s != OK)
		return json ? print_error(cx, s) : s;
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (json)
		write_installation(&b, &in);
	else
		buf_printf(&b, "Installation %.*s has been made. Start it with `countersign serve`.\n",
			STR_ARG(in.id));
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
