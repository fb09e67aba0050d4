/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate_ops: POST /api/v1/envs/{id}/evaluate, .../preview and .../history (FL-4). They store nothing. */
#ifndef DOMAIN_FLAG_LIVE_EVALUATE_OPS_H
#define DOMAIN_FLAG_LIVE_EVALUATE_OPS_H

#include "core/op.h"

extern const struct op evaluate_ops[];

/* --- preview.c --- */
struct preview_in {
	str id;
	struct json *spot_check, *ruleset;
	bool verbose_reason;
	str as_of; /* only to be refused */
};
status preview_run(struct ctx *cx, const void *in, struct json_out *out);

/* --- history.c --- */
struct history_in {
	str id;
	struct json *context, *keys;
	str since, until;
};
status history_run(struct ctx *cx, const void *in, struct json_out *out);

#endif
