/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers: the last number of each chain (chain.h) that this server has seen, outside the database.
 *
 * Who can write to the database can put a row back together with everything that says so: its votes, its entries, their
 * leaves. What this server has seen decided it remembers, in memory and in a file beside the key, and refuses a row that
 * knows less. It sees what it decides itself about a proposal at once, every other number when it seals it, and what other
 * servers seal when it holds their checkpoint. A proposal is remembered for as long as it could still be decided.
 *
 * Safe for any thread.
 */
#ifndef CORE_AUDIT_SEAL_NUMBERS_H
#define CORE_AUDIT_SEAL_NUMBERS_H

#include "base/ctx.h"

struct numbers;

/* Reads what was written before; the folder must exist. E_UNAVAILABLE  the file cannot be read */
status numbers_open(struct ctx *cx, const char *dir, struct numbers **out) MUST_USE;
void numbers_free(struct numbers *n);

/* chain: a proposal's id, or empty for an organization's changes of rights. until_us: how long it matters; 0: for ever. */
void numbers_see(struct numbers *n, str org_id, str chain, int64_t number, int64_t until_us);

/* Inside tx_run: the same once it has committed. Nothing where cx->numbers is NULL. */
void numbers_see_later(struct ctx *cx, str org_id, str chain, int64_t number, int64_t until_us);

/* Was a higher number seen? False where n is NULL. */
bool numbers_behind(struct numbers *n, str org_id, str chain, int64_t number) MUST_USE;

/* Writes what is new. E_UNAVAILABLE  it cannot be written */
status numbers_write(struct ctx *cx, struct numbers *n) MUST_USE;

#endif
