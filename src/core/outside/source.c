/* SPDX-License-Identifier: Apache-2.0 */
#include "core/outside/source.h"

#include "base/check.h"
#include "core/card/visible.h"
#include "core/gate/tool.h"
#include "core/keys.h"
#include "json/canon.h"

#include <sodium.h>

status
source_of(struct ctx *cx, str org_id, const struct tool *t, struct outside_source *out)
{
	const struct outside_provider *p = cx->outside ? &cx->outside->providers[t->provider] : NULL;

	if (!p || !p->source)
		return fail(cx, E_UNAVAILABLE, "nothing here can reach %.*s; nothing was sent",
			STR_ARG(t->outside->source));
	return p->source(cx, p->arg, org_id, t, out);
}

/* "https://hooks.example:8443" of an address; a program has none. */
static str
origin_of(struct arena *a, str address)
{
	size_t scheme = str_starts(address, STR("https://"))  ? 8
			: str_starts(address, STR("http://")) ? 7
							      : 0;
	str rest = str_skip(address, scheme), user, host;
	size_t end = 0;

	if (!scheme)
		return STR("a program on this server");
	while (end < rest.len && !strchr("/?#\\", rest.ptr[end]))
		end++;
	rest.len = end;
	while (str_cut(rest, '@', &user, &host)) /* who signs in is no part of it */
		rest = host;
	return arena_printf(a, "%.*s%.*s", (int)scheme, address.ptr, STR_ARG(rest));
}

static str
seal_address(struct ctx *cx, str org_id, const struct tool *t, str address)
{
	str parts[] = { STR("source address"), org_id, t->outside->source_id, address };
	char *text = arena_alloc(cx->arena, 65);
	unsigned char mac[32];

	CHECK(cx->keys != NULL);
	keys_mac(cx->keys, parts, sizeof(parts) / sizeof(parts[0]), mac);
	(void)sodium_bin2hex(text, 65, mac, sizeof(mac));
	return (str){ text, 64 };
}

static void
add_text(struct ctx *cx, struct json *o, const char *key, str text)
{
	unsigned found = 0;

	json_add_member(o, str_of(key), json_new_string(cx->arena, visible_text(cx->arena, text, &found)));
}

static void
add_bool(struct ctx *cx, struct json *o, const char *key, bool truth)
{
	json_add_member(o, str_of(key), json_new_bool(cx->arena, truth));
}

struct json *
source_card(struct ctx *cx, str org_id, const struct tool *t, const struct outside_source *s)
{
	struct json *o = json_new_object(cx->arena);

	add_text(cx, o, "id", t->outside->source_id);
	add_text(cx, o, "name", t->outside->source);
	add_text(cx, o, "kind", str_of(provider_name(t->provider)));
	add_text(cx, o, "address", origin_of(cx->arena, s->address));
	add_text(cx, o, "addressHash", seal_address(cx, org_id, t, s->address));
	add_text(cx, o, "credential", s->credential);
	add_text(cx, o, "remote", t->outside->remote);
	add_text(cx, o, "definitionHash", t->outside->definition_hash);
	json_add_member(o, STR("version"), json_new_int(cx->arena, t->version));
	add_text(cx, o, "effect", str_of(effect_name(t->effect)));
	add_text(cx, o, "category", str_of(category_name(t->category)));
	add_text(cx, o, "contract", str_of(contract_name(t->contract)));
	add_bool(cx, o, "rollbackSupported", t->rollback);
	add_bool(cx, o, "financial", t->financial);
	add_bool(cx, o, "personalData", t->personal_data);
	add_bool(cx, o, "phi", t->phi);
	return o;
}

status
source_is(struct ctx *cx, const struct json *shown, const struct json *now, bool *out)
{
	str was, is;

	*out = false;
	if (!shown)
		return OK;
	TRY(canon_text(cx, shown, &was));
	TRY(canon_text(cx, now, &is));
	*out = str_eq(was, is);
	return OK;
}

bool
source_same(const struct outside_call *call, const struct outside_source *now)
{
	return !call->source || (str_eq(call->source->address, now->address) &&
					str_eq(call->source->credential, now->credential));
}
