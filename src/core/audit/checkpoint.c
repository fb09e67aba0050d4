/* SPDX-License-Identifier: Apache-2.0 */
#include "core/audit/checkpoint.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/hash/sha256.h"

#include <inttypes.h>
#include <sodium.h>

#define BASE64_BYTES 128u /* more than anything here has */
#define KEY_ID	     4u
#define SIGNATURE    (KEY_ID + crypto_sign_BYTES)
#define ED25519	     1		     /* the algorithm's byte in key ids and key texts */
#define DASH	     "\xe2\x80\x94 " /* em dash, space: begins a signature's line */

str
base64_text(struct arena *a, const unsigned char *bytes, size_t count)
{
	size_t room = sodium_base64_ENCODED_LEN(count, sodium_base64_VARIANT_ORIGINAL);
	char *text = arena_alloc(a, room);

	(void)sodium_bin2base64(text, room, bytes, count, sodium_base64_VARIANT_ORIGINAL);
	return (str){ text, room - 1 };
}

bool
base64_bytes(str text, unsigned char *out, size_t count)
{
	char again[sodium_base64_ENCODED_LEN(BASE64_BYTES, sodium_base64_VARIANT_ORIGINAL)];
	size_t got;

	CHECK(count <= BASE64_BYTES);
	if (sodium_base642bin(
		    out, count, text.ptr, text.len, NULL, &got, NULL, sodium_base64_VARIANT_ORIGINAL) != 0 ||
		got != count)
		return false;
	/* libsodium 1.0.18 takes some bytes above 0x7f for letters; only the text we would write is right */
	(void)sodium_bin2base64(again, sizeof(again), out, count, sodium_base64_VARIANT_ORIGINAL);
	return str_eq(text, str_of(again));
}

/* --- keys --- */

static void
key_id(str name, const unsigned char public_key[32], unsigned char out[KEY_ID])
{
	const char between[2] = { '\n', ED25519 };
	unsigned char hash[SHA256_BYTES];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, name);
	sha256_add(&s, (str){ between, sizeof(between) });
	sha256_add(&s, (str){ (const char *)public_key, 32 });
	sha256_done(&s, hash);
	memcpy(out, hash, KEY_ID);
}

/* A key's name has no space and no plus (signed-note); ours are ASCII besides. */
static bool
name_valid(str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] <= ' ' || name.ptr[i] > '~' || name.ptr[i] == '+')
			return false;
	return name.len > 0;
}

str
checkpoint_key_text(struct arena *a, str name, const unsigned char public_key[32])
{
	unsigned char id[KEY_ID], typed[33] = { ED25519 };

	memcpy(typed + 1, public_key, 32);
	key_id(name, public_key, id);
	return arena_printf(a, "%.*s+%02x%02x%02x%02x+%.*s", STR_ARG(name), id[0], id[1], id[2], id[3],
		STR_ARG(base64_text(a, typed, sizeof(typed))));
}

status
checkpoint_key_parse(struct ctx *cx, str text, struct checkpoint_key *out)
{
	struct checkpoint_key key;
	unsigned char typed[33];
	str rest, id, base64;

	if (!str_cut(text, '+', &key.name, &rest) || !str_cut(rest, '+', &id, &base64) ||
		!name_valid(key.name) || !base64_bytes(base64, typed, sizeof(typed)) || typed[0] != ED25519)
		return fail(cx, E_INVALID,
			"the public key must have the form name+id+base64, as an export has it");
	memcpy(key.bytes, typed + 1, 32);
	if (!str_eq(checkpoint_key_text(cx->arena, key.name, key.bytes), text))
		return fail(cx, E_INVALID,
			"the public key's id does not fit its name and key: a character is wrong");
	*out = key;
	return OK;
}

/* --- making --- */

str
checkpoint_origin(struct arena *a, str org_id)
{
	return arena_printf(a, "countersign/%.*s", STR_ARG(org_id));
}

struct checkpoint_key
checkpoint_key_own(struct ctx *cx, str org_id)
{
	struct checkpoint_key key = { .name = checkpoint_origin(cx->arena, org_id) };

	CHECK(cx->keys != NULL);
	memcpy(key.bytes, cx->keys->sign_public, sizeof(key.bytes));
	return key;
}

static str
body(struct arena *a, const struct checkpoint *c)
{
	return arena_printf(a, "%.*s\n%" PRIu64 "\n%.*s\n", STR_ARG(c->origin), c->size,
		STR_ARG(base64_text(a, c->root.bytes, MERKLE_HASH)));
}

str
checkpoint_sign(struct arena *a, const struct keys *keys, const struct checkpoint *c)
{
	str text = body(a, c);
	unsigned char line[SIGNATURE];

	CHECK(name_valid(c->origin));
	key_id(c->origin, keys->sign_public, line);
	CHECK(crypto_sign_detached(line + KEY_ID, NULL, (const unsigned char *)text.ptr, text.len,
		      keys->sign_secret) == 0);
	return arena_printf(a, "%.*s\n" DASH "%.*s %.*s\n", STR_ARG(text), STR_ARG(c->origin),
		STR_ARG(base64_text(a, line, sizeof(line))));
}

/* --- reading --- */

static bool
parse_size(str text, uint64_t *out)
{
	int64_t n;

	if (!str_to_int(text, &n) || n < 0 || (text.ptr[0] == '0' && text.len > 1) || text.ptr[0] == '-')
		return false;
	*out = (uint64_t)n;
	return true;
}

static bool
parse_body(str text, struct checkpoint *out)
{
	str size, root;

	return str_cut(text, '\n', &out->origin, &text) && name_valid(out->origin) &&
	       str_cut(text, '\n', &size, &text) && parse_size(size, &out->size) &&
	       str_cut(text, '\n', &root, &text) && base64_bytes(root, out->root.bytes, MERKLE_HASH) &&
	       text.len == 0;
}

enum signed_by { NOT_SIGNED, WRONG_SIGNATURE, SIGNED };

/* One line, without its end: is it this key's, and right? */
static enum signed_by
check_line(str line, str text, const struct checkpoint_key *key)
{
	unsigned char bytes[SIGNATURE], id[KEY_ID];
	str name, base64;

	if (!str_cut(str_skip(line, sizeof(DASH) - 1), ' ', &name, &base64) || !str_eq(name, key->name) ||
		!base64_bytes(base64, bytes, sizeof(bytes)))
		return NOT_SIGNED;
	key_id(key->name, key->bytes, id);
	if (memcmp(id, bytes, KEY_ID) != 0)
		return NOT_SIGNED;
	return crypto_sign_verify_detached(
		       bytes + KEY_ID, (const unsigned char *)text.ptr, text.len, key->bytes) == 0
		       ? SIGNED
		       : WRONG_SIGNATURE;
}

/* All lines must have the form of a signature; one must be the key's. */
static bool
check_lines(str lines, str text, const struct checkpoint_key *key, enum signed_by *out)
{
	enum signed_by found = NOT_SIGNED;
	str line;

	while (lines.len) {
		if (!str_starts(lines, STR(DASH)) || !str_cut(lines, '\n', &line, &lines))
			return false;
		if (found == NOT_SIGNED)
			found = check_line(line, text, key);
	}
	*out = found;
	return true;
}

/* Where the blank line between text and signatures stands: the text with its last line's end, and what
 * follows. */
static bool
cut_note(str note, str *out_text, str *out_lines)
{
	for (size_t i = 0; i + 1 < note.len; i++) {
		if (note.ptr[i] == '\n' && note.ptr[i + 1] == '\n') {
			*out_text = (str){ note.ptr, i + 1 };
			*out_lines = str_skip(note, i + 2);
			return true;
		}
	}
	return false;
}

bool
checkpoint_formed(str note)
{
	struct checkpoint c;
	str text, lines, line;

	if (note.len > LIMIT_CHECKPOINT || !cut_note(note, &text, &lines) || !parse_body(text, &c) ||
		!lines.len)
		return false;
	while (lines.len)
		if (!str_starts(lines, STR(DASH)) || !str_cut(lines, '\n', &line, &lines))
			return false;
	return true;
}

status
checkpoint_open(struct ctx *cx, str note, const struct checkpoint_key *key, struct checkpoint *out)
{
	struct checkpoint c;
	enum signed_by by;
	str text, lines;

	if (note.len > LIMIT_CHECKPOINT || !cut_note(note, &text, &lines) || !parse_body(text, &c) ||
		!check_lines(lines, text, key, &by))
		return fail(cx, E_INVALID, "this is not a checkpoint");
	if (!str_eq(c.origin, key->name))
		return fail(cx, E_INVALID, "the checkpoint is of another log: %.*s", STR_ARG(c.origin));
	if (by == NOT_SIGNED)
		return fail(cx, E_INVALID, "the checkpoint is not signed by the key %.*s",
			STR_ARG(checkpoint_key_text(cx->arena, key->name, key->bytes)));
	if (by == WRONG_SIGNATURE)
		return fail(cx, E_INVALID,
			"the checkpoint's signature is wrong: it was changed after it was signed");
	*out = c;
	return OK;
}
