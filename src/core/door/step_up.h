/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_up: a person in a session says again, with the password, that it is them (ID-8).
 *
 *	POST /session/step-up {password} --> the session is as fresh as after a sign-in
 *
 * Tries are counted with those of signing in. Who signs in at an identity provider does it there
 * (GET /session/oidc?stepUp=true).
 */
#ifndef CORE_DOOR_STEP_UP_H
#define CORE_DOOR_STEP_UP_H

#include "core/op.h"

extern const struct op step_up_ops[];

#endif
