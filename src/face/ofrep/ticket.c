/* SPDX-License-Identifier: Apache-2.0 */
#include "face/ofrep/ticket.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "core/keys.h"

#include <inttypes.h>
#include <sodium.h>

int64_t
ticket_end(void)
{
	return (clock_now_us() / LIMIT_OFREP_TICKET_US + 2) * LIMIT_OFREP_TICKET_US;
}

static str
mac(struct ctx *cx, const struct ticket *t)
{
	unsigned char hash[32];
	char *hex = arena_alloc(cx->arena, 2 * sizeof(hash) + 1);
	const str parts[] = { STR("ofrep stream"), t->org_id, t->token_id, t->environment_id,
		arena_printf(cx->arena, "%" PRId64, t->expires_us) };

	CHECK(cx->keys != NULL);
	keys_mac(cx->keys, parts, sizeof(parts) / sizeof(parts[0]), hash);
	(void)sodium_bin2hex(hex, 2 * sizeof(hash) + 1, hash, sizeof(hash));
	return (str){ hex, 2 * sizeof(hash) };
}

str
ticket_text(struct ctx *cx, const struct ticket *t)
{
	return arena_printf(cx->arena, "%.*s.%.*s.%.*s.%" PRId64 ".%.*s", STR_ARG(t->org_id),
		STR_ARG(t->token_id), STR_ARG(t->environment_id), t->expires_us, STR_ARG(mac(cx, t)));
}

static bool
take_apart(str text, struct ticket *out, str *out_mac)
{
	str end;

	return str_cut(text, '.', &out->org_id, &text) && str_cut(text, '.', &out->token_id, &text) &&
	       str_cut(text, '.', &out->environment_id, &text) && str_cut(text, '.', &end, out_mac) &&
	       str_to_int(end, &out->expires_us);
}

status
ticket_read(struct ctx *cx, str text, struct ticket *out)
{
	struct ticket t;
	str given;

	if (!take_apart(text, &t, &given) || !str_eq_secret(given, mac(cx, &t)) ||
		t.expires_us <= clock_now_us())
		return fail(cx, E_UNAUTHENTICATED,
			"the address of this stream is over; evaluate again for a new one");
	*out = t;
	return OK;
}
