/* SPDX-License-Identifier: Apache-2.0 */
/* lines: cuts what a program writes into lines, of a bounded length. Private to exec/mcp. */
#ifndef EXEC_MCP_LINES_H
#define EXEC_MCP_LINES_H

#include "base/limits.h"
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

/*
 * What a program said of its end: of the lines of one outburst the first that names an error, which a stack trace may
 * bury under lines that help nobody; else the last one.
 */
struct last_words {
	char last[LIMIT_UPSTREAM_WORD + 1], telling[LIMIT_UPSTREAM_WORD + 1]; /* empty: nothing */
	int rank;							      /* of telling */
	int64_t heard_us;
};

/* Another line, as lines_show shows it, that came then. */
void last_words_hear(struct last_words *w, str line, int64_t now_us);

#endif
