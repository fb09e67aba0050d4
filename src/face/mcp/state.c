/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host wants back with the answers to its questions, sealed: the client can keep it, not change it, not
 * use it for another call, and nobody else can use it. It is no secret and no permission: what is decided is
 * decided when the call comes again.
 *
 *	<expires, seconds, hex>.<text, hex>.<MAC, hex>
 */
#include "face/mcp/call.h"

#include "base/clock.h"
#include "base/hash/sha256.h"
#include "core/keys.h"

#include <inttypes.h>
#include <sodium.h>

static str
hex(struct arena *a, str bytes)
{
	char *text = arena_alloc(a, bytes.len * 2 + 1);

	(void)sodium_bin2hex(text, bytes.len * 2 + 1, (const unsigned char *)bytes.ptr, bytes.len);
	return (str){ text, bytes.len * 2 };
}

/* Over all that makes it this call of this principal. */
static str
mac_of(struct mcp_call *c, str front)
{
	const struct json *input = message_param(c, STR("arguments"));
	str name = message_text(c->params, STR("name")), arguments = { 0 };
	unsigned char mac[SHA256_BYTES];

	if (input && json_text(c->cx, input, &arguments) != OK)
		ctx_clear(c->cx); /* it came in a body of ours: it fits */
	keys_mac(c->cx->keys, (str[]){ STR("mcp state"), c->principal, c->method, name, arguments, front }, 6,
		mac);
	return hex(c->cx->arena, (str){ (const char *)mac, sizeof(mac) });
}

str
state_seal(struct mcp_call *c, str text)
{
	int64_t until = (clock_now_us() + LIMIT_MCP_STATE_US) / SECOND_US;
	str front = arena_printf(
		c->cx->arena, "%" PRIx64 ".%.*s", (uint64_t)until, STR_ARG(hex(c->cx->arena, text)));

	return arena_printf(c->cx->arena, "%.*s.%.*s", STR_ARG(front), STR_ARG(mac_of(c, front)));
}

static bool
expired(str seconds)
{
	uint64_t until = 0;

	for (size_t i = 0; i < seconds.len; i++)
		until = until * 16 +
			(uint64_t)(seconds.ptr[i] <= '9' ? seconds.ptr[i] - '0' : seconds.ptr[i] - 'a' + 10);
	return until < (uint64_t)(clock_now_us() / SECOND_US);
}

status
state_open(struct mcp_call *c, str sealed, str *out_text)
{
	str seconds, rest, text, mac, front;
	char *bytes;
	size_t len;

	if (!str_cut(sealed, '.', &seconds, &rest) || !str_cut(rest, '.', &text, &mac))
		return rpc_fail(c, RPC_PARAMS, 200, "requestState is not one of ours");
	front = (str){ sealed.ptr, seconds.len + 1 + text.len };
	/* the MAC first: what it covers was made by us */
	if (!str_eq_secret(mac, mac_of(c, front)) || expired(seconds))
		return rpc_fail(c, RPC_PARAMS, 200,
			"requestState was changed, is too old or belongs to another call; call again without "
			"it");
	bytes = arena_alloc(c->cx->arena, text.len / 2 + 1);
	if (sodium_hex2bin((unsigned char *)bytes, text.len / 2 + 1, text.ptr, text.len, NULL, &len, NULL))
		return rpc_fail(c, RPC_PARAMS, 200, "requestState is not one of ours");
	*out_text = (str){ bytes, len };
	return OK;
}
