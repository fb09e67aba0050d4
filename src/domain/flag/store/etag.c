/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/store/etag.h"

#include <inttypes.h>

void
etag_tell(struct ctx *cx, int64_t updated_at)
{
	ctx_header(cx, "ETag", arena_printf(cx->arena, "W/\"%" PRId64 "\"", updated_at));
}

/* One of the list. Whether it is said to be weak does not matter: there is one form of everything here. */
static bool
is(str tag, int64_t updated_at)
{
	int64_t n;

	tag = str_trim(tag);
	if (str_eq(tag, STR("*")))
		return true;
	if (str_starts(tag, STR("W/")))
		tag = str_skip(tag, 2);
	if (tag.len < 2 || tag.ptr[0] != '"' || tag.ptr[tag.len - 1] != '"')
		return false;
	return str_to_int((str){ tag.ptr + 1, tag.len - 2 }, &n) && n == updated_at;
}

bool
etag_matches(const struct ctx *cx, int64_t updated_at)
{
	str rest = cx->if_match, tag;

	while (str_cut(rest, ',', &tag, &rest))
		if (is(tag, updated_at))
			return true;
	return !cx->if_match.len || is(rest, updated_at);
}

status
etag_check(struct ctx *cx, int64_t updated_at)
{
	return etag_matches(cx, updated_at)
		       ? OK
		       : fail(cx, E_PRECONDITION, "it was changed since you read it; read it again");
}
