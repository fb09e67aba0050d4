/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl: what the files of the reservoir share. Nobody else includes this.
 *
 *	reservoir.c  the ring and its thread
 *	sampling.c   the setting, its key, and single samples
 *	ops.c        who may switch it on, off, and erase
 *	survey.c     what a change would do to the sample
 */
#ifndef DOMAIN_FLAG_RESERVOIR_IMPL_H
#define DOMAIN_FLAG_RESERVOIR_IMPL_H

#include "core/keys.h"
#include "domain/flag/reservoir/reservoir.h"
#include "json/json.h"

/* The setting of an environment. */
struct sampling {
	str org_id, environment_id;
	int64_t percent;
	str keep_fields; /* JSON: an array of names, or null */
	str wrapped;
	str target_field;
};
extern const struct field sampling_row[];

/* Inside tx_run or db_read. E_NOT_FOUND  it does not sample */
status sampling_get(struct ctx *cx, str org_id, str environment_id, struct sampling *out) MUST_USE;

/* A new key, wrapped for this environment; and back. E_INTERNAL  it was made with another key file */
status sampling_wrap(struct ctx *cx, str org_id, str environment_id, str *out_wrapped) MUST_USE;
status sampling_unwrap(struct ctx *cx, const struct sampling *s, unsigned char out[KEYS_KEY]) MUST_USE;

/* What a sample is bound to. */
str sampling_about(struct arena *a, str org_id, str environment_id, int64_t slot);

/* A keyed hash of a target (empty: of nobody), and the slot that it has: nobody has a random one. */
str sampling_target(struct ctx *cx, str org_id, str environment_id, str target, int64_t *out_slot);

/* Who a context is about, as text; empty: nobody that one could name. */
str sampling_who(struct arena *a, const struct json *context, str target_field);

/* Forgets what waits of an environment, and reads the settings again before anything else is sampled. */
void reservoir_forget(struct reservoir *r, str environment_id);

/* At most LIMIT_SURVEYS at once. False: there are as many already. r may be NULL. */
bool reservoir_survey_begin(struct reservoir *r);
void reservoir_survey_end(struct reservoir *r);

#endif
