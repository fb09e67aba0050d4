/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: what the commands that talk to a running server share: one question. Text as it may be printed is
 * face/shown's.
 *
 * What comes from the server is not ours: it goes to a terminal only as shown_* gives it, so that nothing in
 * it moves the cursor, hides, or looks like a line that we wrote. The token is never printed, but by
 * `token mint`, whose purpose it is.
 */
#ifndef APP_CLIENT_CLIENT_H
#define APP_CLIENT_CLIENT_H

#include "app/app.h"
#include "face/shown/shown.h"

/* --- ask.c --- */

struct client_answer {
	str text;	  /* as it came */
	struct json *doc; /* an object */
};

/* "/api/v1/proposals/" and id, escaped. after (maybe NULL) follows as it is. */
str client_path(struct arena *a, const char *before, str id, const char *after);

/*
 * Asks the server of the settings. body is JSON, or empty.
 *
 * E_INVALID      there is no token
 * E_UNAVAILABLE  nobody answers, or not as Countersign does; the sentence says what to do
 * others         as the server said, in one sentence (its E_INVALID is E_BAD_REQUEST here: the command line
 *                was right). With --json the envelope is printed, too.
 */
status client_ask(struct ctx *cx, const struct cli_call *call, const char *method, str path, str body,
	struct client_answer *out) MUST_USE;

/* --- sign_in.c --- */

/*
 * Where the settings name a person (email): signs them in, once, and gives the headers of the session in *out; else
 * *out_count is 0. E_INVALID  there is no password; others as the server said
 */
#define CLIENT_FIELDS 3
struct http_client_field;
status client_sign_in(struct ctx *cx, struct http_client_field *out, size_t *out_count) MUST_USE;

/* One request, with the token or with these headers; whatever the server answers is OK. ask.c */
struct http_client_answer;
status client_send(struct ctx *cx, const char *method, str path, str body,
	const struct http_client_field *fields, size_t field_count, struct http_client_answer *out) MUST_USE;

/* What the answer says, as client_ask gives it. ask.c */
status
client_answered(struct ctx *cx, const struct http_client_answer *got, struct client_answer *out) MUST_USE;

/* A file, or standard input where its name is "-". E_UNAVAILABLE; E_INVALID  larger than most */
status client_read(struct ctx *cx, const char *name, size_t most, str *out) MUST_USE;

/* Prints the answer as it came; on a terminal what would harm it is made visible. */
status client_print_json(struct ctx *cx, const struct client_answer *answer) MUST_USE;

/* Prints text of ours with theirs in it. E_TOO_LARGE: it does not fit, and nothing was printed. */
status client_print(struct ctx *cx, int fd, const struct buf *b) MUST_USE;

/* Asks on the terminal; anything but a clear yes is a no. E_CONFLICT  nothing was decided */
status client_confirm(struct ctx *cx, const char *question) MUST_USE;

/* --- the commands --- */

/* After a proposal was made: says so, or prints the answer. E_CONFLICT  it was applied at once, and failed */
status
client_proposed(struct ctx *cx, const struct cli_call *call, const struct client_answer *answer) MUST_USE;

extern const struct cli_flag export_flags[], import_flags[], token_flags[], propose_flags[],
	proposals_flags[], approve_flags[], deny_flags[], apply_flags[], upstream_flags[];
status run_export(struct ctx *cx, const struct cli_call *call);
status run_import(struct ctx *cx, const struct cli_call *call);
status run_token(struct ctx *cx, const struct cli_call *call);
status run_propose(struct ctx *cx, const struct cli_call *call);
status run_proposals(struct ctx *cx, const struct cli_call *call);
status run_approve(struct ctx *cx, const struct cli_call *call);
status run_deny(struct ctx *cx, const struct cli_call *call);
status run_apply(struct ctx *cx, const struct cli_call *call);
status run_upstream(struct ctx *cx, const struct cli_call *call);

#endif
