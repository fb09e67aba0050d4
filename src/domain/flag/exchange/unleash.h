/* SPDX-License-Identifier: Apache-2.0 */
/* unleash: what the files of its importer share. Nobody else includes this. */
#ifndef DOMAIN_FLAG_EXCHANGE_UNLEASH_H
#define DOMAIN_FLAG_EXCHANGE_UNLEASH_H

#include "domain/flag/exchange/convert.h"
#include "domain/flag/scalar.h"

#define UNLEASH_STEPS 4 /* of a path to a feature or a segment: /events/0/features/7 */

/* A feature or a segment as the file has it; steps[0] is its place there. */
struct unleash_source {
	const struct json *json;
	struct place steps[UNLEASH_STEPS];
	bool gone; /* another event has replaced or removed it */
	struct unleash_source *next;
};
struct unleash_sources {
	struct unleash_source *first, **last;
	size_t count;
};

struct unleash {
	struct converter *c;
	struct unleash_sources features, segments;
	struct set names;	   /* of features, in their order ... */
	const struct json **named; /* ... and which have them */
	struct set parents;	   /* names of features on which others depend */
};

/* The strategies of a feature, each as the condition under which it passes. One that always passes where the
 * feature has none. */
struct strategy {
	const struct json *json; /* NULL: there are none */
	const struct json *when;
};
struct feature {
	const struct json *json;
	str name;
	bool enabled;
	struct strategy *strategies;
	size_t count;
};

/* An array's member of that name that is one and has something in it, or NULL. */
const struct json *unleash_list(const struct json *object, str name);

/* The text that the object has under name, or "". */
str unleash_text(const struct json *object, str name);

/* --- unleash_file.c --- */

/* E_INVALID  not a file of Unleash; E_TOO_LARGE  the arena's cap */
status unleash_read(struct unleash *u, const struct json *file) MUST_USE;

/* NULL where the file has none. */
const struct json *unleash_feature(const struct unleash *u, str name);
const struct json *unleash_segment(const struct unleash *u, const struct json *id);

/* Does a feature depend on the one of this name? */
bool unleash_is_parent(const struct unleash *u, str name);

/* --- unleash_strategy.c --- */

/* Whom all constraints of a list let in; NULL: everybody. */
const struct json *
unleash_constraints(struct unleash *u, const struct place *at, const struct json *constraints);

/* Whom a strategy lets in. */
const struct json *
unleash_strategy(struct unleash *u, const struct place *at, const struct json *strategy, str feature);

/*
 * Those whom a share of stickiness takes: below of so many parts. stickiness is a field, or "default": the first
 * of these fields (ended by NULL) that has an id. "random" is a refusal.
 */
const struct json *unleash_share(struct unleash *u, const struct place *at, str stickiness,
	const char *const *fields, const struct draw_of *draw);

/* The field has one of the texts, or a number that is written so. */
const struct json *unleash_in(struct unleash *u, str field, const struct list *texts);

/* --- unleash_variant.c --- */

/* Does the feature, or a strategy of it, have variants? */
bool unleash_has_variants(const struct feature *f);

/* Keeps "NAME:variant": what getVariant answers, as a json config. when: what the feature depends on. */
void unleash_keep_variants(
	struct unleash *u, const struct place *at, const struct feature *f, const struct json *when);

/* Those who get one of the named variants of an enabled feature. */
const struct json *unleash_gets_variant(
	struct unleash *u, const struct place *at, const struct feature *f, const struct json *names);

#endif
