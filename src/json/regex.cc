/* SPDX-License-Identifier: Apache-2.0 */
#include <re2/re2.h>

extern "C" {
#include "base/limits.h"
#include "base/meter/meter.h"
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

/* Steps of compiling: of the object, of each byte that is read, of each instruction. */
#define COMPILE_STEPS	  3000u
#define BYTE_STEPS	  20u
#define INSTRUCTION_STEPS 120u

/* RE2 gives up where the program takes a quarter of its memory, 16 bytes for an instruction. */
#define TOO_LARGE (LIMIT_REGEX_MEMORY / 64)

/*
 * Steps of a match: of the call, and of each byte. At worst RE2 makes a new state of its automaton for each byte: that takes as long as
 * 150 steps, and three quarters of one for each instruction, as measured. A small program has few states.
 */
#define CALL_STEPS  100u
#define STATE_STEPS 150u
#define SMALL	    12u

/* Is its program one that we run? What was compiled in order to know is charged in any case. */
static status
check_program(struct ctx *cx, const struct regex *r, size_t most)
{
	bool too_large = r->re2.error_code() == RE2::ErrorPatternTooLarge;
	size_t program = too_large ? TOO_LARGE : r->re2.ok() ? (size_t)r->re2.ProgramSize() : 0;

	TRY(meter_spend(
		cx, COMPILE_STEPS + BYTE_STEPS * r->re2.pattern().size() + INSTRUCTION_STEPS * program));
	if (!r->re2.ok() && !too_large)
		return fail(cx, E_INVALID, "not a pattern that RE2 takes: %s", r->re2.error().c_str());
	if (too_large || program > most)
		return fail(cx, E_INVALID,
			"is too much work: the pattern has %zu steps%s, at most %zu are accepted; shorten "
			"its repetitions",
			program, too_large ? " or more" : "", most);
	return OK;
}

static status
compile(struct ctx *cx, str pattern, size_t most, struct regex **out_regex)
{
	RE2::Options options(RE2::Quiet); /* RE2 does not write to standard error */
	struct regex *r;
	status s;

	options.set_max_mem(most == SIZE_MAX ? LIMIT_REGEX_OURS : LIMIT_REGEX_MEMORY);
	options.set_never_capture(true);
	r = new regex(pattern, options);
	s = check_program(cx, r, most);
	if (s != OK) {
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
		return compile(cx, pattern, LIMIT_PATTERN_PROGRAM, out_regex);
	if (dialect == REGEX_OURS)
		return compile(cx, pattern, SIZE_MAX, out_regex);
	TRY(ecma_translate(cx, pattern, &text));
	if (text.lacking)
		return fail(cx, E_INVALID, "the pattern needs %s, which RE2 does not have", text.lacking);
	return compile(cx, text.re2, LIMIT_REGEX_PROGRAM, out_regex);
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

uint64_t
regex_steps(const struct regex *r, size_t length)
{
	uint64_t program = regex_program(r);

	return CALL_STEPS + length * (program <= SMALL ? 2 * program : STATE_STEPS + program * 3 / 4);
}
