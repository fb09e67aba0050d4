/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place: the data directory that `wrap`s share, and the server on it that one of them has started.
 *
 *	place_enter --> place_serve --> place_take (a name) --> [bridge] --> place_leave, or the end of the process
 *
 *	DIR/wrap.lock	held, shared, by every wrap; its server stops when it gets it alone
 *	DIR/wrap.start	held by one that sets things up: two that begin at once start one server
 *	DIR/wrap.json	the tokens of wraps: who owns the directory owns the installation
 *	DIR/wrap.log	what that server logs
 *	DIR/first.json	how the first admin signs in, as `init --json` prints it
 *	DIR/wraps/NAME	held, shared, by the wraps of one program; says which
 *	DIR/wrap.paths	what their lines grant, as stdio-paths does (app/wrap/confines.h)
 *	DIR/homes/HASH	the home of a package runner
 *
 * Locks are the kernel's: whoever is killed has let go of them. The directory is for its owner only, and no wrapped
 * program gets to see it.
 */
#ifndef APP_WRAP_PLACE_H
#define APP_WRAP_PLACE_H

#include "app/wrap/address.h"
#include "app/app.h"
#include "app/wrap/line.h"

struct place {
	str dir; /* as it really is */
	int hold, start, name;
	struct address at;
	str admin_token, agent_token;
};

/* Makes the directory of the settings where it is missing, and waits for its turn. E_INVALID, E_UNAVAILABLE */
status place_enter(struct ctx *cx, struct place *out) MUST_USE;
void place_leave(struct place *p);

/*
 * Finds the server that runs there, or sets the installation up and starts one; and the tokens. In a new process: does
 * not return.
 *
 * E_CONFLICT  somebody else has set it up, so there are no tokens for us
 * others      of the server's start
 */
status place_serve(struct ctx *cx, struct place *p, bool unconfined) MUST_USE;

/*
 * The server has gone: finds the one that another wrap has started meanwhile, or starts it again as it was; *p has the
 * address and the tokens of now. One that no wrap had started is left to whoever runs it. Fails as place_serve, and
 * then *p is as before.
 */
status place_revive(struct ctx *cx, struct place *p) MUST_USE;

/* The home of this program, which stays. */
status place_home(struct ctx *cx, const struct place *p, str digest, str *out) MUST_USE;

/*
 * The file of a name: which program has it (a digest, or empty), and whether nobody else uses it now. It is ours from
 * here on (p->name), until the next one is opened.
 */
status place_name(struct ctx *cx, struct place *p, str name, str *out_digest, bool *out_alone) MUST_USE;
status place_keep_name(struct ctx *cx, struct place *p, str digest) MUST_USE;

/* The setting up is over: the next one may. */
void place_ready(struct place *p);

/* --- tokens.c --- */

struct tokens {
	str org_id, admin_id, agent_id;
	str admin_token_id, admin_token, agent_token_id, agent_token;
	int64_t expires_at;
};

/* E_NOT_FOUND  there is no such file; E_UNAVAILABLE  it is none of ours */
status tokens_load(struct ctx *cx, str dir, struct tokens *out) MUST_USE;

/* With the database of the settings open and its keys read: sets it up where nobody has, and renews what ends soon. */
status tokens_prepare(struct ctx *cx, str dir) MUST_USE;

#endif
