/* SPDX-License-Identifier: Apache-2.0 */
/* tempdir: a directory of a test's own, gone at the end with the files in it. */
#ifndef TESTS_TEMPDIR_H
#define TESTS_TEMPDIR_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

struct tempdir {
	char path[64];
};

static inline int
tempdir_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void
tempdir_done(struct tempdir *t)
{
	(void)nftw(t->path, tempdir_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void
tempdir_make(struct tempdir *t)
{
	(void)snprintf(t->path, sizeof(t->path), "/tmp/countersign-test-XXXXXX");
	CHECK(mkdtemp(t->path) != NULL);
}

/* TEMPDIR(d); d.path exists until the end of the block. */
#define TEMPDIR(d)                                                                                           \
	__attribute__((cleanup(tempdir_done))) struct tempdir d;                                             \
	tempdir_make(&d)

#endif
