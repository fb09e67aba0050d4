/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: the database that the settings name, opened for a command.
 *
 *	store_open -> cx->db -> store_close
 */
#ifndef APP_STORE_H
#define APP_STORE_H

#include "base/ctx.h"

#define INSTALLATION_NAME "Countersign" /* unless init says otherwise */

/*
 * Opens it into cx->db and cx->app->db. With create, a missing data directory is made (0700) and so
 * is SQLite's file; without, nothing is. Errors as db_open, and
 *
 * E_UNAVAILABLE  the data directory is missing or cannot be made
 */
status store_open(struct ctx *cx, bool create) MUST_USE;

/*
 * After store_open and db_prepare: reads the key file that the settings name, or makes it, and joins
 * the database with it. Sets cx->keys. Errors as keys_load, keys_create and installation_join.
 */
status store_keys(struct ctx *cx, str installation_name) MUST_USE;

/*
 * Reads the key file where there is one, and makes nothing: for commands that only look. Sets cx->keys, or
 * leaves it NULL. Errors as keys_load, but for E_NOT_FOUND.
 */
status store_look_keys(struct ctx *cx) MUST_USE;

/* The folder in which the last checkpoints of audit logs are kept: beside the key file. */
const char *store_held_dir(struct ctx *cx);

void store_close(struct ctx *cx);

/* "SQLite 3.40.1 in data" or "PostgreSQL 15.3 at postgres://host/name": for a person. */
status store_describe(struct ctx *cx, str *out_text) MUST_USE;

#endif
