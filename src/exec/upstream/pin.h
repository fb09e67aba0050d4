/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pin: one definition of another server's tool, looked at before anybody can be asked to accept it (EX-3).
 *
 * All of the definition is hashed (RFC 8785, SHA-256): name, title, description, schemas, annotations, icons, _meta. An
 * admin accepts exactly one hash. What could deceive that admin can never be accepted: characters that are not seen,
 * names that nobody could tell apart. What a definition says of itself (annotations) is shown, and decides nothing.
 * Pure.
 */
#ifndef EXEC_UPSTREAM_PIN_H
#define EXEC_UPSTREAM_PIN_H

#include "json/json.h"

struct pin {
	str name;   /* mcp__<upstream>__<tool>: ours for it */
	str remote; /* the server's own */
	str text;   /* the definition, canonical; as it came where it has no such form */
	str hash;
	const struct json *definition; /* NULL where it is no object that we read */
	str refused;		       /* why it can never be accepted; empty: an admin decides */
};

/* remote and text live as long as *out. E_TOO_LARGE */
status pin_read(struct ctx *cx, str upstream, str remote, str text, struct pin *out) MUST_USE;

/* Two different names that a person could take for each other. Both ASCII. */
bool pin_alike(struct arena *a, str name, str other);

/* What is stored of one that is accepted: text of its definition, or what stands in for it. */
str pin_title(const struct pin *p);
str pin_doc(const struct pin *p);
status pin_in_schema(struct ctx *cx, const struct pin *p, str *out) MUST_USE;
status pin_out_schema(struct ctx *cx, const struct pin *p, str *out) MUST_USE;

/* Are they the same but for the name? Both canonical texts. */
status pin_renamed(struct ctx *cx, str text, str other, bool *out) MUST_USE;

#endif
