/* SPDX-License-Identifier: Apache-2.0 */
/*
 * installation: this database as a whole: one row, made once by `countersign init`.
 */
#ifndef CORE_INSTALLATION_H
#define CORE_INSTALLATION_H

#include "base/ctx.h"

struct installation {
	str id; /* random, 32 hexadecimal digits; stays for the installation's life */
	str name;
	int64_t created_at_us;
};

/*
 * Makes the installation and gives it. The name is what people see, 1 to LIMIT_INSTALLATION_NAME bytes.
 *
 * E_EXISTS   it was made before; nothing is changed
 * E_INVALID  the name is empty or too long
 */
status installation_create(struct ctx *cx, str name, struct installation *out) MUST_USE;

/* E_NOT_FOUND  `countersign init` has not run */
status installation_get(struct ctx *cx, struct installation *out) MUST_USE;

#endif
