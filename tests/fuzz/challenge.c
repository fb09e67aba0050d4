/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz challenge: what a server says it wants (WWW-Authenticate), one line of input for one header, and the way back of a
 * browser.
 *
 * What is read lies within what was said, only of Bearer; the union of scopes has each word once, and all of them. A state
 * is read the same from an address as from its query.
 */
#include "base/check.h"
#include "exec/mcp/auth/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every word of it is in the other. */
static void
check_words(str words, str all)
{
	str one;

	while (words.len) {
		if (!str_cut(words, ' ', &one, &words)) {
			one = words;
			words = (str){ 0 };
		}
		CHECK(!one.len || scope_has(all, one));
	}
}

static void
check_scopes(struct arena *a, str one, str other)
{
	str all = scope_union(a, one, other);

	if (one.len + other.len + 1 >= LIMIT_OAUTH_SCOPE_TEXT)
		return; /* cut where the room ends */
	check_words(one, all);
	check_words(other, all);
	check_words(all, arena_printf(a, "%.*s %.*s", STR_ARG(one), STR_ARG(other)));
	CHECK(str_eq(scope_union(a, all, all), all));
}

static void
read_challenges(struct arena *a, str text)
{
	struct mcp_reply r = { 0 };
	struct challenge c;

	while (r.challenge_count < MCP_CHALLENGES &&
		str_cut(text, '\n', &r.challenges[r.challenge_count], &text))
		r.challenge_count++;
	challenge_read(a, &r, &c);
	CHECK(c.metadata_url.len <= 64 * KIB && c.scope.len <= 64 * KIB && c.error.len <= 64 * KIB);
	check_scopes(a, c.scope, c.error);
}

static void
read_back(struct ctx *cx, str text)
{
	str state = mcp_flow_state(cx, text);

	CHECK(state.len <= text.len);
	if (str_find(text, '?') == text.len)
		CHECK(str_eq(state,
			mcp_flow_state(cx, arena_printf(cx->arena, "https://x/y?%.*s", STR_ARG(text)))));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str text = { (const char *)data, size };
	struct arena a;
	struct ctx cx;

	if (size > 64 * KIB || memchr(data, 0, size))
		return 0; /* no header has it */
	arena_init(&a, LIMIT_REQUEST_ARENA);
	ctx_init(&cx, &a);
	read_challenges(&a, text);
	read_back(&cx, text);
	arena_done(&a);
	return 0;
}
