/* SPDX-License-Identifier: Apache-2.0 */
/* reference: which rules of a ruleset document name a segment (FL-7). */
#ifndef DOMAIN_FLAG_STORE_REFERENCE_H
#define DOMAIN_FLAG_STORE_REFERENCE_H

#include "domain/flag/store/store.h"

/* One rule that names it. */
struct reference {
	enum resource resource;
	str key;
	size_t rule_index;
};

/* Calls fn for each, in the document's order: flags, configs, segments. How many steps that took (base/meter/meter.h). */
typedef void reference_fn(void *arg, const struct reference *r);
uint64_t reference_each(const struct json *doc, str segment, reference_fn *fn, void *arg);

#endif
