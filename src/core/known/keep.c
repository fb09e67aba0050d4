/* SPDX-License-Identifier: Apache-2.0 */
#include "core/known/keep.h"

#include "base/check.h"

#include <sodium.h>

_Static_assert(KEEP_SECRET == crypto_shorthash_siphashx24_KEYBYTES, "the secret is the hash's key");
_Static_assert(KEEP_KEY == crypto_shorthash_siphashx24_BYTES, "the key is the whole hash");

void
keep_key(const unsigned char secret[KEEP_SECRET], str bearer, unsigned char key[KEEP_KEY])
{
	CHECK(crypto_shorthash_siphashx24(key, (const unsigned char *)bearer.ptr, bearer.len, secret) == 0);
}

/* The same walk counts the bytes first (NULL), then takes them: lists first, then texts. */
struct copier {
	char *lists, *texts; /* where the next goes */
	size_t list_bytes, text_bytes;
};

static void
copy_text(struct copier *c, str *text)
{
	c->text_bytes += text->len;
	if (!c->texts)
		return;
	if (text->len)
		memcpy(c->texts, text->ptr, text->len);
	*text = (str){ c->texts, text->len };
	c->texts += text->len;
}

static void
copy_list(struct copier *c, const str **list, size_t count)
{
	str *own = (str *)(void *)c->lists;

	c->list_bytes += count * sizeof(str);
	for (size_t i = 0; i < count; i++) {
		str text = (*list)[i];

		copy_text(c, &text);
		if (own)
			own[i] = text;
	}
	if (own) {
		*list = own;
		c->lists += count * sizeof(str);
	}
}

static void
copy_tiers(struct copier *c, struct caller *it)
{
	struct caller_tier *own = (struct caller_tier *)(void *)c->lists;

	c->list_bytes += it->tier_count * sizeof(*own);
	for (size_t i = 0; i < it->tier_count; i++) {
		struct caller_tier tier = it->tiers[i];

		copy_text(c, &tier.tool);
		copy_text(c, &tier.tier);
		if (own)
			own[i] = tier;
	}
	if (own) {
		it->tiers = own;
		c->lists += it->tier_count * sizeof(*own);
	}
}

static void
walk(struct copier *c, struct caller *it)
{
	str *texts[] = { &it->org_id, &it->org_slug, &it->principal_id, &it->name, &it->token_id,
		&it->audience, &it->session_id, &it->delegator_id, &it->settings };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		copy_text(c, texts[i]);
	copy_list(c, &it->rules.items, it->rules.count);
	copy_list(c, &it->delegator.items, it->delegator.count);
	copy_list(c, &it->scope.environments, it->scope.environment_count);
	copy_list(c, &it->scope.keys, it->scope.key_count);
	copy_list(c, &it->cidrs, it->cidr_count);
	copy_tiers(c, it);
}

static struct copier
count(const struct caller *caller)
{
	struct caller counted = *caller;
	struct copier c = { 0 };

	walk(&c, &counted);
	return c;
}

size_t
keep_room(const struct caller *c)
{
	struct copier needs = count(c);

	return needs.list_bytes + needs.text_bytes;
}

void
keep_copy(const struct caller *c, void *room, struct caller *out)
{
	struct copier to = { .lists = room, .texts = (char *)room + count(c).list_bytes };
	struct caller copy = *c;

	walk(&to, &copy);
	*out = copy;
}
