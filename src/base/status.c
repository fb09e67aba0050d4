/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include "base/check.h"

static const struct status_info table[] = {
#define X(n, c, h, r, a, s) [n] = { .name = #n, .code = c, .http = h, .rpc = r, .again = a, .sentence = s },
	STATUS_TABLE(X)
#undef X
};

const struct status_info *
status_info(status s)
{
	CHECK((unsigned)s < STATUS_COUNT);
	return &table[s];
}
