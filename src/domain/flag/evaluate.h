/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evaluate: what a ruleset answers for a context.
 *
 *	context (JSON) --subject_prepare--> subject --ruleset_evaluate, as often as one likes--> evaluation
 *
 * A subject is a context made ready for one ruleset: each field that rules ask for is looked up
 * once, each segment decided at most once. So many items cost little more than one. It borrows
 * from the ruleset and the context and belongs to one thread. Evaluating allocates nothing (RE2
 * keeps its own bounded caches). What it does is charged to the ctx it was prepared with (base/meter/meter.h), which
 * outlives it.
 */
#ifndef DOMAIN_FLAG_EVALUATE_H
#define DOMAIN_FLAG_EVALUATE_H

#include "domain/flag/ruleset.h"
#include "json/out.h"

struct subject;

#define EVALUATION_DEFAULT (-1)

struct evaluation {
	const struct item *item;
	str value;    /* JSON text; lives as long as the ruleset */
	int32_t rule; /* which rule matched, or EVALUATION_DEFAULT */
	bool split;   /* that rule has a rollout below 100 percent */
};

/*
 * E_INVALID    the context is not an object
 * E_TOO_LARGE  more members, or a longer text where a rule looks, than limits.h allows
 */
status subject_prepare(struct ctx *cx, const struct ruleset *rs, const struct json *context,
	struct subject **out_subject) MUST_USE;

/* What was done with it since the last evaluation, such as explaining that one, is charged. E_TOO_LARGE */
status subject_charge(struct subject *s) MUST_USE;

/* E_TOO_LARGE  it takes more work than the request may cause (base/meter/meter.h) */
status ruleset_evaluate(struct subject *s, const struct item *item, struct evaluation *out) MUST_USE;

/*
 * {"value":…, "defaultValue":…, "reason":{"kind":"default"}}, or
 * "reason":{"kind":"rule_match","ruleIndex":0,"matchedValue":…}. With verbose the reason has a "trace": each
 * rule up to the one that decided, as a tree of its conditions with their results. It names fields and
 * the types that were found, never what the context says.
 */
void evaluation_out(
	struct json_out *o, const char *key, struct subject *s, const struct evaluation *e, bool verbose);

#endif
