/* SPDX-License-Identifier: Apache-2.0 */
#include "core/document.h"

#include "json/canon.h"

struct canonicalize_in {
	struct json *document;
};
static const struct field canonicalize_in[] = {
	FIELD_JSON(struct canonicalize_in, document, .need = true, .doc = "Any JSON document."),
	FIELD_END,
};

struct canonicalize_out {
	str canonical, sha256;
};
static const struct field canonicalize_out[] = {
	FIELD_TEXT(struct canonicalize_out, canonical, .need = true,
		.doc = "The document in the canonical form of RFC 8785."),
	FIELD_TEXT(struct canonicalize_out, sha256, .need = true, .min = CANON_HASH_HEX,
		.max = CANON_HASH_HEX,
		.doc = "SHA-256 of the canonical form, in lower-case hexadecimal digits."),
	FIELD_END,
};

static status
run_canonicalize(struct ctx *cx, const void *in, struct json_out *out)
{
	const struct canonicalize_in *c = in;
	struct canonicalize_out answer;

	TRY(canon_text(cx, c->document, &answer.canonical));
	TRY(canon_hash(cx, c->document, &answer.sha256));
	json_out_fields(out, canonicalize_out, &answer);
	return OK;
}

const struct op document_ops[] = {
	{ .name = "json_canonicalize",
		.method = "POST",
		.path = "/api/v1/json/canonicalize",
		.rule = RULE_PUBLIC,
		.doc = "Gives the canonical form of a document and its hash. What Countersign hashes and "
		       "signs is "
		       "this form; with it anybody can check a hash without trusting us. A number that does "
		       "not survive being read as a double is refused with its path.",
		.in = canonicalize_in,
		.in_size = sizeof(struct canonicalize_in),
		.out = canonicalize_out,
		.errors = OP_ERRORS(E_INVALID, E_TOO_LARGE),
		.run = run_canonicalize },
	{ 0 },
};
