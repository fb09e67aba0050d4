/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/seal/begin.h"

#include "base/log.h"
#include "base/scoped.h"
#include "core/audit/seal/seal.h"
#include "core/keys.h"
#include "db/db.h"

#include "core/audit/audit.sql.h" /* SQL_AUDIT_*, generated from audit.sql */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PAGE 1000

struct begun {
	str installation, mac;
};
static const struct field begun_fields[] = {
	FIELD_TEXT(struct begun, installation),
	FIELD_TEXT(struct begun, mac),
	FIELD_END,
};

struct waiting {
	str org_id;
};
static const struct field waiting_fields[] = { FIELD_TEXT(struct waiting, org_id), FIELD_END };

struct beginning {
	bool installed; /* there is something to mark */
	struct begun begun;
	struct waiting *orgs;
	size_t count;
	str mac; /* what the mark must be */
};

static status
look(struct ctx *cx, void *arg)
{
	struct beginning *b = arg;
	status s = db_one(cx, SQL_AUDIT_BEGUN, begun_fields, &b->begun);

	b->installed = s == OK;
	if (s == E_NOT_FOUND) {
		ctx_clear(cx);
		return OK;
	}
	return s;
}

static status
find_waiting(struct ctx *cx, void *arg)
{
	struct beginning *b = arg;

	return db_all(
		cx, SQL_AUDIT_WAITING, waiting_fields, sizeof(*b->orgs), &b->orgs, &b->count, INT(PAGE));
}

static status
mark(struct ctx *cx, void *arg)
{
	const struct beginning *b = arg;

	return db_run(cx, SQL_AUDIT_BEGIN, TEXT(b->mac));
}

/* --- the note beside the key --- */

static const char *
note_path(struct ctx *cx, const char *held_dir)
{
	return arena_printf(cx->arena, "%s/numbered", held_dir).ptr;
}

static status
note_write(struct ctx *cx, const char *held_dir)
{
	const char *path = note_path(cx, held_dir);
	scoped_fd fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	scoped_fd dir = open(held_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && fsync(fd) == 0 && dir >= 0 && fsync(dir) == 0)
		return OK;
	return fail(cx, E_UNAVAILABLE, "%s cannot be written: %s", path, strerror(errno));
}

/* --- all of it --- */

static str
mark_of(struct ctx *cx, str installation)
{
	const str parts[] = { STR("numbered"), installation };

	return keys_mac_hex(cx->arena, cx->keys, parts, 2);
}

/* Until no organization has anything that waits. One that has an entry with a wrong MAC keeps the sealer's attention. */
static status
seal_those_of_before(struct ctx *cx, struct beginning *b)
{
	size_t sealed;

	do {
		sealed = 0;
		TRY(db_read(cx, find_waiting, b));
		for (size_t i = 0; i < b->count; i++) {
			status s = audit_seal_before(cx, b->orgs[i].org_id);

			if (s != OK && s != E_CONFLICT)
				return s;
			sealed += s == OK;
			ctx_clear(cx);
		}
	} while (b->count == PAGE && sealed);
	return OK;
}

status
audit_begin(struct ctx *cx, const char *held_dir)
{
	bool noted = access(note_path(cx, held_dir), F_OK) == 0, marked = false;
	struct beginning b = { .count = 0 };

	TRY(db_read(cx, look, &b));
	if (b.installed) {
		b.mac = mark_of(cx, b.begun.installation);
		marked = str_eq_secret(b.begun.mac, b.mac);
	}
	if (!marked && !noted && !b.begun.mac.len)
		TRY(seal_those_of_before(cx, &b));
	else if (b.installed && !marked)
		LOG(LOG_ERROR, "audit.refused",
			LOG_STR("message", STR("the mark since when entries carry a MAC was changed outside "
					       "of Countersign")));
	if (b.installed && !marked)
		TRY(tx_run(cx, mark, &b));
	return noted ? OK : note_write(cx, held_dir);
}
