/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter: the system calls that no program of ours needs, as a seccomp filter (docs/decisions/0036). What is not named
 * stays allowed, so that node, python and shells run; system calls of another architecture end the program.
 */
#ifndef EXEC_SANDBOX_FILTER_H
#define EXEC_SANDBOX_FILTER_H

#include "base/ctx.h"

/* A file in memory (O_CLOEXEC) with the compiled filter, as `bwrap --seccomp` reads it. E_UNAVAILABLE */
status filter_open(struct ctx *cx, int *out_fd) MUST_USE;

#endif
