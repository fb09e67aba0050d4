/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pgproxy: stands between libpq and the server and breaks the connection at a
 * chosen moment of the protocol.
 *
 *	pgproxy_start -> pgproxy_arm -> ... -> pgproxy_stop
 *
 * It is armed with a needle, some bytes the client sends (the name of a prepared
 * statement between two NULs is what a Bind message holds). The first message with
 * it sets the action off, once.
 */
#ifndef TESTS_PGPROXY_H
#define TESTS_PGPROXY_H

#include <stdbool.h>
#include <stddef.h>

enum pgproxy_action {
	PGPROXY_NONE,
	PGPROXY_CUT,	    /* the server never hears it */
	PGPROXY_CUT_ANSWER, /* the server does it, the client never hears of it */
	PGPROXY_CUT_AFTER,  /* the client hears the answer, then both lose the connection */
	PGPROXY_HOLD,	    /* the client loses the connection; the server hears it only later */
	PGPROXY_WARN,	    /* the answer has a WARNING before it */
};

struct pgproxy;

/* Listens on 127.0.0.1, leads to host (a name, an address or a socket's directory) and port. */
struct pgproxy *pgproxy_start(const char *host, const char *port);
void pgproxy_stop(struct pgproxy *p);
int pgproxy_port(const struct pgproxy *p);

void pgproxy_arm(struct pgproxy *p, enum pgproxy_action action, const char *needle, size_t len);

/* The same for the n-th message from now on, whatever it says. */
void pgproxy_arm_nth(struct pgproxy *p, enum pgproxy_action action, int nth);

/* Has the armed action been set off? */
bool pgproxy_fired(struct pgproxy *p);

/* While refusing, new connections are closed at once, as by a server that starts up. */
void pgproxy_refuse(struct pgproxy *p, bool refuse);

/* Cuts every connection that is open now; they are cut when it returns. */
void pgproxy_cut_all(struct pgproxy *p);

#endif
