/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random: unguessable bytes from the kernel. Tests can seed it, and then it is
 * the same sequence every time.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include "base/arena.h"

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *out, size_t n);

/* 2n lower-case hexadecimal digits made of n random bytes (n at most 64). */
str random_hex(struct arena *a, size_t n);

/* For tests: a fixed sequence from here on; 0 goes back to the kernel. */
void random_seed(uint64_t seed);

#endif
