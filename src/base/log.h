/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: one line per event on standard error, key=value.
 *
 *	time=2026-11-15T22:51:44.123456Z level=info event=http.request id=4f… method=GET status=200
 *
 * A value with a space, a quote, '=' or a control character is quoted and
 * escaped, so one event is always one line. Secrets (tokens, passwords, bodies,
 * query strings) are never given to it: the caller chooses the fields. A token of
 * ours that comes with a path all the same is starred out.
 * Library code does not log; an error is logged once, where it becomes an answer.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
	const char *key;
	str text; /* or, where is_int, */
	int64_t number;
	bool is_int;
};

#define LOG_STR(k, s) ((struct log_field){ .key = (k), .text = (s) })
#define LOG_INT(k, n) ((struct log_field){ .key = (k), .number = (int64_t)(n), .is_int = true })

/* LOG(LOG_INFO, "server.ready", LOG_STR("url", url), LOG_INT("port", port)) */
#define LOG(level, event, ...)                                                                               \
	log_write((level), (event), (struct log_field[]){ { 0 }, ##__VA_ARGS__, { 0 } } + 1)

void log_write(enum log_level level, const char *event, const struct log_field *fields);

/* Events below this level are dropped. LOG_INFO at the start. */
void log_set_level(enum log_level level);

/* Would an event of this level be written? For who would have to gather much for it. */
bool log_wants(enum log_level level);

/* "debug", "info", "warn", "error". False where the text is none of them. */
bool log_level_of(str text, enum log_level *out_level);

/* For tests: lines go to fd instead of standard error. */
void log_set_fd(int fd);

#endif
