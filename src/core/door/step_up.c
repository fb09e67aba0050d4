/* SPDX-License-Identifier: Apache-2.0 */
#include "core/door/step_up.h"

#include "base/clock.h"
#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/door/tries.h"
#include "core/ident/caller.h"
#include "core/ident/secret.h"
#include "core/ident/session.h"
#include "db/db.h"

#include "core/door/step_up.sql.h" /* SQL_STEP_UP_*, generated from step_up.sql */

struct step_up_in {
	str password;
};
static const struct field step_up_in[] = {
	FIELD_TEXT(struct step_up_in, password, .need = true, .min = 1, .max = LIMIT_PASSWORD_BYTES,
		.doc = "One's own password."),
	FIELD_END,
};

struct step_up_out {
	str authenticated_at, fresh_until;
};
static const struct field step_up_out[] = {
	FIELD_TEXT(struct step_up_out, authenticated_at, .need = true, .doc = "Now (RFC 3339)."),
	FIELD_TEXT(struct step_up_out, fresh_until, .need = true,
		.doc = "Until when the session may change who may approve."),
	FIELD_END,
};

struct own {
	str email, password;
};
static const struct field own_row[] = {
	FIELD_TEXT(struct own, email),
	FIELD_TEXT(struct own, password),
	FIELD_END,
};

struct step_up {
	struct session_person who;
	str session_id;
	struct own own;
	struct tries tries;
	int64_t now_us;
};

static status
read_own(struct ctx *cx, const struct step_up *s, struct own *out)
{
	status found =
		db_one(cx, SQL_STEP_UP_OWN, own_row, out, TEXT(s->who.org_id), TEXT(s->who.principal_id));

	return found == E_NOT_FOUND ? fail(cx, E_UNAUTHENTICATED, "this session has ended; sign in") : found;
}

static status
own_tx(struct ctx *cx, void *arg)
{
	struct step_up *s = arg;

	return read_own(cx, s, &s->own);
}

/* On record once in each window, as it is of signing in. */
static status
count_tx(struct ctx *cx, void *arg)
{
	struct step_up *s = arg;

	TRY(tries_count(cx, &s->tries));
	if (!tries_just_over(&s->tries))
		return OK;
	return session_record(cx, &s->who,
		&(struct audit_entry){ .action = AUDIT_REFUSED,
			.resource_type = STR("member"),
			.resource_id = s->who.principal_id,
			.reason = STR("too many tries to step up"),
			.outcome = STR("refused") });
}

static status
refuse(struct ctx *cx)
{
	return fail(cx, E_FORBIDDEN,
		"this is not your password; who has none authenticates at the identity provider: GET "
		"/api/v1/session/oidc?stepUp=true");
}

static status /* the password may have been changed since it was checked */
done_tx(struct ctx *cx, void *arg)
{
	struct step_up *s = arg;
	struct own now;

	TRY(read_own(cx, s, &now));
	if (!str_eq(now.password, s->own.password))
		return refuse(cx);
	TRY(tx_now_us(cx, &s->now_us));
	TRY(tries_forget(cx, &s->tries));
	TRY(db_run(cx, SQL_STEP_UP_DONE, TEXT(s->who.org_id), TEXT(s->session_id), INT(s->now_us)));
	return session_record(cx, &s->who,
		&(struct audit_entry){ .action = AUDIT_SIGNED_IN,
			.resource_type = STR("session"),
			.resource_id = s->session_id,
			.reason = STR("step-up") });
}

static status
run_step_up(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct caller *c = cx->caller;
	struct step_up s = { .who = { c->org_id, c->org_slug, c->principal_id, c->name },
		.session_id = c->session_id };
	bool right;

	if (!s.session_id.len)
		return fail(cx, E_FORBIDDEN, "a token cannot step up; a person who has signed in does");
	TRY(db_read(cx, own_tx, &s));
	tries_begin(cx, s.own.email, &s.tries);
	TRY(tx_run(cx, count_tx, &s));
	TRY(tries_check(cx, &s.tries));
	TRY(password_matches(cx, ((const struct step_up_in *)in)->password, s.own.password, &right));
	if (!right)
		return refuse(cx);
	TRY(tx_run(cx, done_tx, &s));
	json_out_time(out, "authenticatedAt", s.now_us);
	json_out_time(out, "freshUntil", s.now_us + LIMIT_STEP_UP_US);
	return OK;
}

const struct op step_up_ops[] = {
	{ .name = "session_step_up",
		.method = "POST",
		.path = "/api/v1/session/step-up",
		.rule = RULE_ANYBODY,
		.effect = OP_MUTATE,
		.tx = OP_TX_OWN,
		.doc = "Authenticates the person of the session again. For ten minutes it may change "
		       "members, "
		       "roles, teams, policy and what else decides who may approve. Wrong passwords are "
		       "limited "
		       "as those of signing in are.",
		.in = step_up_in,
		.in_size = sizeof(struct step_up_in),
		.out = step_up_out,
		.errors =
			OP_ERRORS(E_RATE_LIMITED, E_UNAVAILABLE, E_DISK_FULL, E_READ_ONLY, E_COMMIT_UNKNOWN),
		.run = run_step_up },
	{ 0 },
};
