/* SPDX-License-Identifier: Apache-2.0 */
#include "core/people/link/recover.h"

#include "base/limits.h"
#include "core/audit/audit.h"
#include "core/gate/settings.h"
#include "core/people/member.h"
#include "db/db.h"

#include "core/people/link/recover.sql.h" /* SQL_RECOVER_*, generated from recover.sql */

struct org_row {
	str id, slug;
};
static const struct field org_row[] = {
	FIELD_TEXT(struct org_row, id),
	FIELD_TEXT(struct org_row, slug),
	FIELD_END,
};

struct person {
	str id, name;
	int64_t disabled_at;
	bool is_admin;
};
static const struct field person_row[] = {
	FIELD_TEXT(struct person, id),
	FIELD_TEXT(struct person, name),
	FIELD_INT(struct person, disabled_at),
	FIELD_BOOL(struct person, is_admin),
	FIELD_END,
};

struct work {
	const struct recover_wish *wish;
	struct org_row org;
	struct person person;
	struct recovered done;
};

static status
find_org(struct ctx *cx, str name, struct org_row *out)
{
	struct org_row *rows;
	size_t count;

	TRY(db_all(cx, SQL_RECOVER_ORG, org_row, sizeof(*rows), &rows, &count, TEXT(name)));
	if (!count)
		return fail(cx, E_NOT_FOUND, "there is no such organization; nothing was changed");
	if (count > 1)
		return fail(cx, E_INVALID, "there are several organizations; say which with --org");
	*out = rows[0];
	return OK;
}

/* Nobody is admin any more: this person is from now on, whoever shut them out. */
static status
make_admin(struct ctx *cx, struct work *w)
{
	str org_id = w->org.id, id = w->person.id;
	int64_t admins;

	TRY(member_count_admins(cx, org_id, &admins));
	if (admins)
		return fail(cx, E_CONFLICT,
			"%.*s is not an admin, or is shut out, and there is another admin, who can help; "
			"nothing was "
			"changed",
			STR_ARG(w->done.email));
	TRY(db_run(cx, SQL_RECOVER_ENABLE, TEXT(org_id), TEXT(id)));
	TRY(db_run(cx, SQL_RECOVER_GIVE, TEXT(org_id), TEXT(id)));
	TRY(member_rights_widened(cx, org_id, id));
	w->done.made_admin = true;
	return OK;
}

static status
let_in(struct ctx *cx, struct work *w)
{
	status found;

	TRY(member_email(cx, w->wish->email, &w->done.email));
	found = db_one(cx, SQL_RECOVER_PERSON, person_row, &w->person, TEXT(w->org.id), TEXT(w->done.email));
	if (found == E_NOT_FOUND)
		return fail(cx, E_NOT_FOUND, "nobody signs in as %.*s; nothing was changed",
			STR_ARG(w->done.email));
	TRY(found);
	w->done.name = w->person.name;
	if (!w->person.is_admin || w->person.disabled_at)
		TRY(make_admin(cx, w));
	return link_make(cx, w->org.id, w->person.id, &w->done.link);
}

static status
switch_off(struct ctx *cx, struct work *w)
{
	struct policy_rules was, now;

	TRY(policy_rules_load(cx, w->org.id, &was));
	now = was;
	now.votes_low = now.votes_medium = now.votes_high = now.votes_destructive = 1;
	now.four_eyes = false;
	now.group_count = 0;
	w->done.policy_changed = was.four_eyes || was.group_count > 0 || was.votes_low > 1 ||
				 was.votes_medium > 1 || was.votes_high > 1 || was.votes_destructive > 1;
	return w->done.policy_changed ? policy_rules_store(cx, w->org.id, &was, &now) : OK;
}

static status
record(struct ctx *cx, const struct work *w)
{
	const struct recovered *d = &w->done;
	bool person = w->person.id.len > 0;

	return audit_add(cx,
		&(struct audit_entry){ .action = AUDIT_RECOVERED,
			.org_id = w->org.id,
			.resource_type = person ? STR("principal") : STR("org"),
			.resource_id = person ? w->person.id : w->org.id,
			.resource_key = person ? w->person.id : w->org.slug,
			.reason = arena_printf(cx->arena, "countersign recover:%s%s%s",
				person ? " a link" : "", d->made_admin ? ", made admin" : "",
				d->policy_changed ? " four eyes and quorum switched off" : "") },
		NULL);
}

static status
recover_tx(struct ctx *cx, void *arg)
{
	struct work *w = arg;
	int64_t now_us;

	w->done = (struct recovered){ 0 };
	TRY(find_org(cx, w->wish->org, &w->org));
	TRY(db_later(cx, SQL_RECOVER_LOCK, TEXT(w->org.id)));
	if (w->wish->email.len)
		TRY(let_in(cx, w));
	if (w->wish->switch_off_four_eyes)
		TRY(switch_off(cx, w));
	TRY(tx_now_us(cx, &now_us));
	TRY(db_run(cx, SQL_RECOVER_NOTE, TEXT(w->org.id), INT(now_us)));
	w->done.org_slug = w->org.slug;
	return record(cx, w);
}

status
recover(struct ctx *cx, const struct recover_wish *wish, struct recovered *out)
{
	struct work w = { .wish = wish };

	if (!wish->email.len && !wish->switch_off_four_eyes)
		return fail(cx, E_INVALID,
			"recover what? --email ADDRESS makes a link for that admin, --switch-off-four-eyes "
			"lets one "
			"person decide alone");
	TRY(tx_run(cx, recover_tx, &w));
	*out = w.done;
	return OK;
}

struct last_row {
	int64_t at;
};
static const struct field last_row[] = { FIELD_INT(struct last_row, at), FIELD_END };

static status
last_tx(struct ctx *cx, void *arg)
{
	int64_t now_us;

	TRY(tx_now_us(cx, &now_us));
	return db_one(cx, SQL_RECOVER_LAST, last_row, arg, INT(now_us - LIMIT_RECOVERED_US));
}

status
recover_last(struct ctx *cx, int64_t *out_us)
{
	struct last_row row;

	TRY(db_read(cx, last_tx, &row));
	*out_us = row.at;
	return OK;
}
