/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walls: which paths of this machine a program that we start may see (docs/decisions/0036).
 *
 * The operator lists them: by the setting stdio-paths, and by the line of `countersign wrap`, which adds its own to a
 * file in the data directory. A caller of the API chooses among those. Whatever is listed, nothing is shown that holds
 * our data, keys, configuration or program, or that lies within them.
 *
 * A path is opened once (O_PATH), looked at through that descriptor, and bound through it: a link that is exchanged
 * between the look and the mount changes nothing.
 */
#ifndef EXEC_SANDBOX_WALLS_H
#define EXEC_SANDBOX_WALLS_H

#include "base/ctx.h"

struct walls_path {
	str path;
	bool writable;
};

struct walls {
	const struct walls_path *listed; /* without links (walls_real) */
	size_t listed_count;
	const char *list_file; /* more of them: lines of "ro PATH" or "rw PATH"; NULL, or not there: none */
	const char *
		program_file; /* digests of the operator's own programs (exec/upstream/program.h); NULL: none */
	str data;	      /* one of the secrets; empty: there is none */
	str homes;	      /* of package runners, in data: what is below it may be listed all the same */
	str program;	      /* ours, one of the secrets; what of the system shows it may */
	const str *secrets;   /* absolute: data, keys, configuration, checkpoints, sockets, our program */
	size_t secret_count;
};

/* "/srv/files,/srv/letters:rw", as it is written. False: it is no such list, or has more than `most`. */
bool walls_read_list(str text, struct walls_path *out, size_t most, size_t *out_count);

/*
 * A descriptor (O_PATH, O_CLOEXEC) of what a program may see at path; -1: every sandbox has it anyway. w NULL: nothing
 * is listed. Looks at files: not for a transaction.
 *
 * E_FORBIDDEN  it is not listed, not to be written, or would show what is ours
 * E_INVALID    it is listed, but not there
 */
status walls_open(struct ctx *cx, const struct walls *w, str path, bool writable, int *out_fd) MUST_USE;

/* The same, only to know. */
status walls_check(struct ctx *cx, const struct walls *w, str path, bool writable) MUST_USE;

/* Without links, as far as it exists. */
str walls_real(struct arena *a, str path);

/* Is it dir, or below it? */
bool walls_within(str path, str dir);

/* The directories of the system that every sandbox has, read-only; ended by NULL. */
extern const char *const walls_system[];

#endif
