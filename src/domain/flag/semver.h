/* SPDX-License-Identifier: Apache-2.0 */
/* semver: versions as Semantic Versioning 2.0.0 writes and orders them: 1.2.3, 1.2.3-rc.1+build. Pure. */
#ifndef DOMAIN_FLAG_SEMVER_H
#define DOMAIN_FLAG_SEMVER_H

#include "base/str.h"

struct semver {
	str part[3];	/* digits, without leading zeros */
	str prerelease; /* without '-'; empty where it is a release */
};

/* False where text is not a whole version (no v, no 1.2); *out is then without meaning. Borrows text. */
bool semver_parse(str text, struct semver *out);

/* By precedence; what stands behind '+' does not count. */
int semver_cmp(const struct semver *a, const struct semver *b);

#endif
