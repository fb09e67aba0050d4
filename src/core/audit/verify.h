/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: is the log what was signed? Offline over an export, with only the public key; online over the
 * database.
 *
 * What a verification proves depends on what the asker brings. With the public key: nobody without the
 * signing key made this up. With a checkpoint they kept: nothing up to there was changed, and the log was not
 * forked or cut since. Without either, only that the file agrees with itself.
 */
#ifndef CORE_AUDIT_VERIFY_H
#define CORE_AUDIT_VERIFY_H

#include "core/audit/tree.h"

struct audit_report {
	str problem; /* a sentence; empty: verified */
	str origin;  /* whose log */
	str key;     /* the public key that was used */
	str root;    /* base64 */
	int64_t entries;
	int64_t pending;	/* database: not in the tree yet */
	int64_t checkpoints;	/* signatures that were checked, the held one included */
	int64_t values, erased; /* database: values that open, and those whose key was destroyed */
	bool key_given, held_given;
};

/*
 * Verifies an export. key (empty: the one in the file) is the public key's text, held (empty: none) a
 * checkpoint that the asker kept. Streams: memory does not grow with the file.
 *
 * OK             it could be read; report->problem says what is wrong, if anything is
 * E_NOT_FOUND    there is no such file
 * E_UNAVAILABLE  it cannot be read
 * E_INVALID      key is not a public key
 */
status
audit_verify_file(struct ctx *cx, const char *path, str key, str held, struct audit_report *report) MUST_USE;

/*
 * Verifies one organization's log in the database, in one read: every entry against its leaf, every leaf and
 * node against the root, every checkpoint against its signature and the tree, the values against their hashes
 * (where cx->keys is there; key is then taken from it), and held as above. Errors of the database.
 */
status
audit_verify_database(struct ctx *cx, str org_id, str key, str held, struct audit_report *report) MUST_USE;

/* The id of the organization with this id or slug. E_NOT_FOUND */
status audit_verify_org(struct ctx *cx, str name, str *out_org_id) MUST_USE;

/* The organizations that have a log, after the given one (empty: from the first); at most 1,000. */
status audit_verify_orgs(struct ctx *cx, str after, str **out_ids, size_t *out_count) MUST_USE;

#endif
