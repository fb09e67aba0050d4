/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confines: what programs that the server starts may see of this machine, by its settings (exec/sandbox/walls.h).
 */
#ifndef APP_WRAP_CONFINES_H
#define APP_WRAP_CONFINES_H

#include "exec/sandbox/walls.h"

/* In the data directory: what `countersign wrap` lists, one "ro PATH" or "rw PATH" a line. */
#define CONFINES_FILE "wrap.paths"

/* And there: digests of the programs on its lines, one a line (exec/upstream/program.h). */
#define CONFINES_PROGRAMS "wrap.programs"

/*
 * Of the settings of now: links in stdio-paths are followed here, once. *out and what it points to live in cx's arena.
 * The data directory exists.
 */
void confines_read(struct ctx *cx, struct walls *out);

/* Adds a path of the operator's own to the file in dir, unless it is there. E_INVALID, E_UNAVAILABLE */
status confines_list(struct ctx *cx, str dir, str path, bool writable) MUST_USE;

/* The same of the program that `body` adds (line_body). */
status confines_program(struct ctx *cx, str dir, str body) MUST_USE;

#endif
