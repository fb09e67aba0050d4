/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name: may somebody or something be called that?
 *
 * People decide by names, so a name must show what it is: it is refused where nothing of it can be seen, or where
 * core/card would flag it on a card (invisible characters, a changed reading order, scripts that look alike in one
 * word). Names in any language pass. Names that exist stay as they are.
 */
#ifndef CORE_PEOPLE_NAME_H
#define CORE_PEOPLE_NAME_H

#include "base/ctx.h"

/* E_INVALID, with an issue at path ("/name") */
status name_check(struct ctx *cx, const char *path, str name) MUST_USE;

#endif
