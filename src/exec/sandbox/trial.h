/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial: does the sandbox of programs work on this machine?
 */
#ifndef EXEC_SANDBOX_TRIAL_H
#define EXEC_SANDBOX_TRIAL_H

#include "base/ctx.h"

#define SANDBOX_PROGRAM "/usr/bin/bwrap"

/* Starts a program that does nothing, with all that every sandbox has. False: why. Only where there are no threads. */
bool sandbox_try(struct ctx *cx, str *out_why);

#endif
