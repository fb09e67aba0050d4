/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app: the program as a whole: its settings and what runs. One per process,
 * made by main, reached by cx->app. While the server runs only `draining` and
 * the figures change, and those are atomic.
 */
#ifndef APP_APP_H
#define APP_APP_H

#include "app/config.h"
#include "app/figures.h"
#include "core/keys.h"
#include "core/op.h"
#include "core/outside/outside.h"
#include "face/cli/cli.h"

#include <stdatomic.h>

#define PROGRAM "countersign"

struct courier;
struct event_hub;
struct feed;
struct http_server;
struct live;
struct mcp;
struct ofrep;
struct oauth;
struct oidc;
struct behind;
struct known;
struct leases;
struct recall;
struct registry;
struct reservoir;
struct sealer;
struct sweeper;
struct tool;
struct upstreams;

struct app {
	struct config config;
	int64_t started_us; /* clock_now_us when the process began */
	struct db *db;	    /* open while a command needs it */
	struct keys keys;   /* read by store_keys */

	/* a client command that has signed in (client/sign_in.c); empty: it has not */
	str session_cookie, session_csrf;

	/* while serving */
	struct http_server *server;
	struct ctx base; /* what each request's context begins with */
	str openapi;	 /* the text of /openapi.json: the table does not change */
	struct figures figures;
	atomic_bool draining; /* a stop has been asked for */
	int address_fd;	      /* where others find out where we are (wrap/address.h); 0: nowhere */
	int needed_fd; /* a file that whoever needs us has locked, shared: with the last of them we stop; 0: none */
	struct registry *tools;	     /* made of app_tools */
	struct toolsets *toolsets;   /* what organizations have besides */
	struct event_hub *events;    /* who wants to hear what happens */
	struct mcp *mcp;	     /* MCP's engine */
	struct feed *feed;	     /* sends events to who follows */
	struct sweeper *sweeper;     /* ends proposals whose time is over */
	struct oidc *oidc;	     /* the identity provider, or NULL */
	struct oauth *oauth;	     /* our own authorization server */
	bool nameless;		     /* others reach us, and no public-url says by which name */
	struct known *known;	     /* who tokens are */
	struct outside outside;	     /* who does what is not ours to do */
	struct upstreams *upstreams; /* other MCP servers */
	struct courier *courier;     /* tells others what has happened */
	struct leases *leases;	     /* calls of budgets */
	struct behind *behind;	     /* rows of reads */
	struct lanes *lanes;	     /* the ways to other systems */
	struct recall *recall;	     /* who asked a moment ago */
	struct sealer *sealer;	     /* seals and signs the audit log */
	struct live *live;	     /* compiled rulesets */
	struct reservoir *reservoir; /* samples of contexts */
	struct ofrep *ofrep;	     /* OpenFeature's way in */
};

/* All operations of the program, and all tools inside its own database (modules.c), ended by NULL. */
extern const struct op *const app_ops[];
extern const struct tool *const app_tools[];
extern status (*const app_sweeps[])(struct ctx *cx); /* what is tidied up now and then (sweeper.h) */

/* --- commands.c --- */

/*
 * Runs the command line (ended by NULL, without the program's name): finds the
 * command, reads its flags and settings, runs it. Errors as the command's; E_INVALID
 * where the command line or a setting is wrong.
 */
status command_run(struct ctx *cx, char *const *words, char *const *env) MUST_USE;

/* What `init --json` says of a new installation, as a line of JSON. */
struct org_first;
void app_write_first(struct buf *b, const struct org_first *f);

/* Writes all of the text to standard output. E_UNAVAILABLE where it cannot be written. */
status app_print(struct ctx *cx, const struct buf *b) MUST_USE;
status app_print_to(struct ctx *cx, int fd, const struct buf *b) MUST_USE; /* or to standard error */

/* --- the commands that have their own file --- */
status run_serve(struct ctx *cx, const struct cli_call *call);
status run_doctor(struct ctx *cx, const struct cli_call *call);
status run_init(struct ctx *cx, const struct cli_call *call);
status run_migrate(struct ctx *cx, const struct cli_call *call);
status run_audit(struct ctx *cx, const struct cli_call *call);
status run_recover(struct ctx *cx, const struct cli_call *call);
status run_wrap(struct ctx *cx, const struct cli_call *call); /* wrap/wrap.c */
extern const struct cli_flag wrap_flags[];

#endif
