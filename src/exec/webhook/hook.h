/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook: another system that is reached by webhook (EX-1, EX-2): n8n, or anything that takes HTTP. People call it a
 * connection.
 *
 *	mode sync      takes commands, and its answer is the outcome
 *	mode callback  takes commands, and tells the outcome later at a one-time address (callback.h)
 *	mode events    takes notifications only (courier.h)
 *
 * What it says is signed both ways with one secret (sign.h); while that is being replaced, the old one is good, too.
 * Its credentials lie in the safe and are never answered; only who sends takes them out. They belong to its address: with
 * another one the credential is forgotten, and nothing is sent before a person has entered it again. It is reached at public
 * addresses, and inside networks that an admin has named for it.
 */
#ifndef EXEC_WEBHOOK_HOOK_H
#define EXEC_WEBHOOK_HOOK_H

#include "core/op.h"
#include "exec/safe.h"
#include "http/client/guard.h"

struct tool;

struct hook {
	str id, name, url, mode, answer, auth, auth_name, auth_secret_id, key_id, old_key_id;
	int64_t old_until;
	str allow;
	int64_t deadline_ms;
	bool wants_proposals, wants_decisions, wants_calls, disabled;
	str created_by;
	int64_t created_at, changed_at;
};

/* Inside tx_run or db_read. E_NOT_FOUND */
status hook_get(struct ctx *cx, str org_id, str id, struct hook *out) MUST_USE;

/* Where its commands go and what opens it, as the kernel compares it (core/outside/source.h). */
struct outside_source;
void hook_source(struct ctx *cx, const struct hook *c, struct outside_source *out);
/* The provider's `source`. arg is not used. */
status hook_source_of(struct ctx *cx, void *arg, str org_id, const struct tool *t, struct outside_source *out)
	MUST_USE;

/* Was its address changed, and the credential, which belonged to the old one, not entered again? Then nothing is sent. */
bool hook_lacks_secret(const struct hook *c);
#define HOOK_LACKS_SECRET                                                                                    \
	"its address was changed and its credential was not entered again (authSecret); nothing was sent"

/* What it needs to be spoken with; given back by hook_close. */
struct hook_secrets {
	struct safe_text auth, key, old;
};
void hook_close(struct hook_secrets *s);

/* Inside tx_run or db_read. *out is zero before. Errors as safe_get. */
status hook_open(struct ctx *cx, str org_id, const struct hook *c, struct hook_secrets *out) MUST_USE;

/* The networks of `allow`, in the arena. What is none (it was checked when it was said) is left out. */
size_t hook_nets(struct ctx *cx, const struct hook *c, const struct http_net **out);

extern const struct op hook_ops[];

#endif
