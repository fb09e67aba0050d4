/* SPDX-License-Identifier: Apache-2.0 */
#include <re2/re2.h>

extern "C" {
#include "base/limits.h"
#include "json/ecma.h"
#include "json/regex.h"
}

struct regex {
	RE2 re2;
	regex(str pattern, const RE2::Options &options)
	    : re2(re2::StringPiece(pattern.ptr, pattern.len), options)
	{
	}
};

static status
compile(struct ctx *cx, str pattern, struct regex **out_regex)
{
	RE2::Options options(RE2::Quiet); /* RE2 does not write to standard error */

	options.set_max_mem(LIMIT_REGEX_MEMORY);
	options.set_never_capture(true);
	struct regex *r = new regex(pattern, options);
	if (!r->re2.ok()) {
		status s = fail(cx, E_INVALID, "not a pattern that RE2 takes: %s", r->re2.error().c_str());
		delete r;
		return s;
	}
	*out_regex = r;
	return OK;
}

status
regex_new(struct ctx *cx, str pattern, enum regex_dialect dialect, struct regex **out_regex)
{
	struct ecma_text text;

	if (pattern.len > LIMIT_REGEX_BYTES)
		return fail(cx, E_INVALID, "the pattern is longer than %zu bytes", LIMIT_REGEX_BYTES);
	if (dialect == REGEX_RE2)
		return compile(cx, pattern, out_regex);
	TRY(ecma_translate(cx, pattern, &text));
	if (text.lacking)
		return fail(cx, E_INVALID, "the pattern needs %s, which RE2 does not have", text.lacking);
	return compile(cx, text.re2, out_regex);
}

void
regex_free(struct regex *r)
{
	delete r;
}

static bool
match(const struct regex *r, str text, RE2::Anchor anchor)
{
	re2::StringPiece piece(text.ptr, text.len);

	return r->re2.Match(piece, 0, text.len, anchor, nullptr, 0);
}

bool
regex_find(const struct regex *r, str text)
{
	return match(r, text, RE2::UNANCHORED);
}

bool
regex_full(const struct regex *r, str text)
{
	return match(r, text, RE2::ANCHOR_BOTH);
}

size_t
regex_program(const struct regex *r)
{
	return (size_t)r->re2.ProgramSize();
}
