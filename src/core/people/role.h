/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role: a named bundle of rules for people (ID-3, ID-4). The five levels are built in and stay as they are.
 *
 * A change holds at once for everybody who has the role. Nobody makes a role that holds more than they do.
 */
#ifndef CORE_PEOPLE_ROLE_H
#define CORE_PEOPLE_ROLE_H

#include "core/op.h"

extern const struct op role_ops[];

#endif
