/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket: who is in a rollout of so many percent: MurmurHash3 (x86, 32 bits, seed 0)
 * of the text "key/salt/target", as a number from 0 to 99,999. In a rollout
 * are those below percent times 1000. docs/flags.md has vectors; this never changes.
 */
#ifndef DOMAIN_FLAG_BUCKET_H
#define DOMAIN_FLAG_BUCKET_H

#include "base/str.h"

#define BUCKETS		  100000u
#define BUCKETS_A_PERCENT 1000 /* so a step is 0.001 percent */

/* The hash after some of its text. */
struct bucket {
	uint32_t hash, len;
	uint32_t tail; /* the last len % 4 bytes */
};

/* Adds text; a bucket begins as all zero. */
void bucket_add(struct bucket *b, str text);

uint32_t bucket_hash(const struct bucket *b);

/* 0 to BUCKETS - 1: what target gets when key and salt have been added to b. */
uint32_t bucket_of(const struct bucket *b, str target);

#endif
