/* SPDX-License-Identifier: Apache-2.0 */
/* name: what a program is called, where nobody says, and what its name says of it. Looks at text only. */
#ifndef APP_WRAP_NAME_H
#define APP_WRAP_NAME_H

#include "base/buf.h"

/* Lower-case letters, digits and single hyphens, at most `most`: after the package or script that it runs. */
str name_of(struct arena *a, const str *argv, size_t argc, size_t most);

/* Does a program of this name fetch what it runs? */
bool name_fetches(str program);

/* "/a/b" is b in the folder /a. */
str name_base(str path);
str name_folder(str path);

#endif
