/* SPDX-License-Identifier: Apache-2.0 */
/* flagd: what the two files of its importer share. Nobody else includes this. */
#ifndef DOMAIN_FLAG_EXCHANGE_FLAGD_H
#define DOMAIN_FLAG_EXCHANGE_FLAGD_H

#include "domain/flag/exchange/convert.h"

#define FLAGD_DEPTH 48u /* operators inside each other, references followed: one in a circle has no end */

struct flagd {
	struct converter *c;
	const struct json *evaluators; /* NULL: there are none */
	str key;		       /* of the flag at hand */
	const struct json *variants, *fallback;
	struct list rules;
	unsigned depth;
};

/* The operator of {"op": arguments}, whose key is its name; NULL where logic is none. A reference is
 * followed, as often as it takes; where it leads nowhere that is a refusal. */
const struct json *flagd_operator(struct flagd *f, const struct place *at, const struct json **logic);

/* Its arguments: an array's, or the one that stands there. At most max are taken; how many there are. */
size_t flagd_arguments(const struct json *op, const struct json **out, size_t max);

/* Whom the logic lets in: where it is true, or something that counts as true. */
const struct json *flagd_condition(struct flagd *f, const struct place *at, const struct json *logic);

/* Is its answer true or false, never null or a text? */
bool flagd_is_boolean(struct flagd *f, const struct place *at, const struct json *logic);

/* A part of a comparison: a field of the context, or a constant. False, and a refusal, where it is neither. */
struct flagd_operand {
	bool is_field;
	str field;
	const struct json *value;
};
bool
flagd_operand(struct flagd *f, const struct place *at, const struct json *logic, struct flagd_operand *out);

#endif
