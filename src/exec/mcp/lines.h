/* SPDX-License-Identifier: Apache-2.0 */
/* lines: cuts what a program writes into lines, of a bounded length. Private to exec/mcp. */
#ifndef EXEC_MCP_LINES_H
#define EXEC_MCP_LINES_H

#include "http/client.h"

typedef void lines_fn(void *arg, str line); /* without its end; never empty */

struct lines {
	char *bytes;
	size_t len, room, max;
	bool cuts;  /* a line that is too long is cut there; else that is the end */
	bool skips; /* the rest of one that was cut */
	lines_fn *fn;
	void *arg;
};

/* Again after lines_done, or with what an earlier init has left. */
void lines_init(struct lines *l, size_t max, bool cuts, lines_fn *fn, void *arg);
void lines_done(struct lines *l);

/* False: a line is too long. */
bool lines_feed(struct lines *l, str bytes);

/* A line as it may be shown: one line of valid text, without the secrets' values, cut where the room ends. */
void lines_show(str line, const struct http_client_field *secrets, size_t count, char *room, size_t size);

#endif
