/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health: how the other systems are, all of them in one answer, for people (EX-5).
 *
 * What the database knows (what was found wrong, what waits for an admin, what could not be told) beside what this
 * process knows of the ways to them (core/outside/lane): another server may know otherwise. Two statements, however many
 * systems there are.
 */
#ifndef EXEC_HEALTH_H
#define EXEC_HEALTH_H

#include "core/op.h"

extern const struct op health_ops[];

#endif
