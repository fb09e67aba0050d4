/* SPDX-License-Identifier: Apache-2.0 */
/* tally: what a survey counts. Pure, and bounded whatever the contexts say. Private to domain/flag/reservoir. */
#ifndef DOMAIN_FLAG_RESERVOIR_TALLY_H
#define DOMAIN_FLAG_RESERVOIR_TALLY_H

#include "base/limits.h"
#include "json/json.h"

#define TALLY_PAIRS  50u
#define TALLY_SHOWN  10u /* pairs on a card */
#define TALLY_GROUPS 3u

struct tally_pair {
	str key, before, after; /* JSON texts; empty: there is no such item */
	int64_t contexts;
};
struct tally_value {
	str value;
	int64_t contexts, changed;
};
struct tally_field {
	str name;
	bool many; /* too many values: no group */
	size_t count;
	struct tally_value values[LIMIT_SURVEY_VALUES];
};

struct tally {
	struct arena *arena; /* of the names and values that are kept */
	str target;	     /* the field by which nobody is counted */
	int64_t contexts, changed;
	struct tally_pair pairs[TALLY_PAIRS];
	size_t pair_count;
	struct tally_field fields[LIMIT_SURVEY_FIELDS];
	size_t field_count;
};

/* One context, and whether it is answered otherwise. */
void tally_context(struct tally *t, const struct json *context, bool changed);

/* One of its answers that is another one. */
void tally_pair(struct tally *t, str key, str before, str after);

struct json *tally_json(struct ctx *cx, struct tally *t);

#endif
