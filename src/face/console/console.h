/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console: the pages of web/, which the build has put into the program (tools/console).
 *
 *	/  /proposals/{id}	the index, which is the same for every page: a script asks the API
 *	/agents  /agents/{*}	and so on, for each name of CONSOLE_PAGES
 *	/console/{*}		scripts and styles; their names change with their content
 *
 * A build without it (-Dconsole=false) has no files, and shows one plain page instead.
 */
#ifndef FACE_CONSOLE_CONSOLE_H
#define FACE_CONSOLE_CONSOLE_H

#include "http/http.h"

/* web/src/lib/route.ts knows the same */
#define CONSOLE_PAGES(X) X(agents) X(audit) X(flags) X(overview) X(settings) X(start) X(systems)

#define CONSOLE_ONE(name) +1u
#define CONSOLE_ROUTES	  (3u + 2u * (0u CONSOLE_PAGES(CONSOLE_ONE)))

/* Made by the build; the one with the path "" is the index. */
extern const struct http_file console_files[];
extern const size_t console_file_count;

/* The routes; the arena outlives the server. plain is the index of a build without a console. E_INVALID two files
 * have one path */
status
console_routes(struct ctx *cx, const struct http_file *plain, struct http_route out[CONSOLE_ROUTES]) MUST_USE;

#endif
