/* SPDX-License-Identifier: Apache-2.0 */
/* nearest: which known name somebody probably meant. */
#ifndef FACE_CLI_NEAREST_H
#define FACE_CLI_NEAREST_H

#include "base/str.h"

/*
 * The better of two guesses for word: keeps *best where candidate is not nearer.
 * Start with { 0 }; `name` stays NULL where nothing is near enough to be worth saying
 * (more than a third of the letters differ).
 */
struct nearest {
	const char *name;
	size_t distance;
};

void nearest_try(struct nearest *best, str word, const char *candidate);

#endif
