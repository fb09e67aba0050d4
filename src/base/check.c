/* SPDX-License-Identifier: Apache-2.0 */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void
check_failed(const char *file, int line, const char *what)
{
	(void)fprintf(stderr, "level=fatal event=check.failed at=%s:%d what=\"%s\"\n", file, line, what);
	abort();
}
