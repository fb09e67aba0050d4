/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group: one limit on the memory and one on the processes of a program and all that it starts, where this machine lets us
 * make a control group (v2 beside our own, v1 below our own).
 */
#ifndef EXEC_SANDBOX_GROUP_H
#define EXEC_SANDBOX_GROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct group {
	char paths[2][PATH_MAX];
	size_t count;
	bool memory, processes; /* which of them is limited */
};

/* Makes it, empty. What cannot be limited is not; it needs a group_remove in any case. */
void group_make(struct group *g, uint64_t memory, uint64_t processes);

/* The calling process moves in, with what it starts from now on. */
bool group_enter(const struct group *g);

/* When nobody is left in it. */
void group_remove(const struct group *g);

#endif
