/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keys.h"

#include "base/check.h"
#include "base/random.h"
#include "base/scoped.h"
#include "base/hash/sha256.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>

/*
 * The file, four lines:
 *
 *	countersign-keys 1
 *	mac <64 hexadecimal digits>
 *	seal <64 hexadecimal digits>
 *	sign <64 hexadecimal digits: the seed>
 */
#define FIRST_LINE "countersign-keys 1\n"
#define FILE_BYTES (sizeof(FIRST_LINE) - 1 + 4 + 5 + 5 + (size_t)3 * 65)

static void
derive(struct keys *k, const unsigned char seed[32])
{
	CHECK(crypto_sign_seed_keypair(k->sign_public, k->sign_secret, seed) == 0);
}

/* --- reading --- */

/* "name " and 64 digits and the line's end, off the front of *text. */
static bool
take_line(str *text, str name, unsigned char out[32])
{
	size_t got;

	if (text->len < name.len + 65 || !str_starts(*text, name) || text->ptr[name.len + 64] != '\n')
		return false;
	if (sodium_hex2bin(out, 32, text->ptr + name.len, 64, NULL, &got, NULL) != 0 || got != 32)
		return false;
	*text = str_skip(*text, name.len + 65);
	return true;
}

static bool
parse(str text, struct keys *out)
{
	unsigned char seed[32];
	bool good;

	if (!str_starts(text, STR(FIRST_LINE)))
		return false;
	text = str_skip(text, sizeof(FIRST_LINE) - 1);
	good = take_line(&text, STR("mac "), out->mac) && take_line(&text, STR("seal "), out->seal) &&
	       take_line(&text, STR("sign "), seed) && text.len == 0;
	if (good)
		derive(out, seed);
	sodium_memzero(seed, sizeof(seed));
	return good;
}

static status
check_file(struct ctx *cx, int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return fail(cx, E_INVALID, "the key file %s cannot be read: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(cx, E_INVALID, "the key file %s is not a file", path);
	if (st.st_mode & 077)
		return fail(cx, E_INVALID,
			"the key file %s can be read by others (mode %04o); it holds secrets: chmod 600 %s",
			path, (unsigned)(st.st_mode & 07777), path);
	return OK;
}

status
keys_load(struct ctx *cx, const char *path, struct keys *out)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[FILE_BYTES + 1];
	struct keys k;
	ssize_t n;
	bool good;

	CHECK(sodium_init() >= 0);
	if (fd < 0 && errno == ENOENT)
		return fail(cx, E_NOT_FOUND, "there is no key file %s", path);
	if (fd < 0)
		return fail(cx, E_INVALID, "the key file %s cannot be opened: %s", path, strerror(errno));
	TRY(check_file(cx, fd, path));
	n = pread(fd, text, sizeof(text), 0);
	good = n == (ssize_t)FILE_BYTES && parse((str){ text, FILE_BYTES }, &k);
	sodium_memzero(text, sizeof(text));
	if (!good)
		return fail(cx, E_INVALID, "%s is not a key file of Countersign", path);
	*out = k;
	sodium_memzero(&k, sizeof(k));
	return OK;
}

/* --- making --- */

/* One line at the front of what is left of the text. */
static void
print_line(char **at, const char *name, const unsigned char bytes[32])
{
	char hex[65];

	(void)sodium_bin2hex(hex, sizeof(hex), bytes, 32);
	*at += snprintf(*at, strlen(name) + sizeof(hex) + 1, "%s%s\n", name, hex);
	sodium_memzero(hex, sizeof(hex));
}

/* A copy that dirname may write to. */
static char *
copy_of(struct arena *a, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = arena_alloc(a, size);

	memcpy(copy, text, size);
	return copy;
}

/* Writes it under a name of its own and links it: a crash leaves the whole file or none, and never replaces
 * one. */
static status
write_file(struct ctx *cx, const char *path, const char *text)
{
	const char *draft = arena_printf(cx->arena, "%s.%.*s", path, STR_ARG(random_hex(cx->arena, 8))).ptr;
	scoped_fd fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char *folder = dirname(copy_of(cx->arena, path));
	scoped_fd dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool written;
	int wrong;

	if (fd < 0)
		return fail(cx, E_UNAVAILABLE, "the key file %s cannot be made: %s", path, strerror(errno));
	written = write(fd, text, FILE_BYTES) == (ssize_t)FILE_BYTES && fsync(fd) == 0 &&
		  link(draft, path) == 0 && dir >= 0 && fsync(dir) == 0;
	wrong = errno;
	(void)unlink(draft);
	if (!written && wrong == EEXIST)
		return fail(cx, E_EXISTS, "there is a key file %s already", path);
	if (!written)
		return fail(cx, E_UNAVAILABLE, "the key file %s cannot be made: %s", path, strerror(wrong));
	return OK;
}

status
keys_create(struct ctx *cx, const char *path, struct keys *out)
{
	char text[FILE_BYTES + 1] = FIRST_LINE, *at = text + sizeof(FIRST_LINE) - 1;
	unsigned char seed[32];
	struct keys k;
	status s;

	CHECK(sodium_init() >= 0);
	random_bytes(k.mac, sizeof(k.mac));
	random_bytes(k.seal, sizeof(k.seal));
	random_bytes(seed, sizeof(seed));
	derive(&k, seed);
	print_line(&at, "mac ", k.mac);
	print_line(&at, "seal ", k.seal);
	print_line(&at, "sign ", seed);
	s = write_file(cx, path, text);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(seed, sizeof(seed));
	if (s == OK)
		*out = k;
	sodium_memzero(&k, sizeof(k));
	return s;
}

/* --- using --- */

static void
add_hashed(struct sha256 *all, const char *name, const unsigned char secret[32])
{
	unsigned char hash[SHA256_BYTES];
	struct sha256 one;

	sha256_init(&one);
	sha256_add(&one, str_of(name));
	sha256_add(&one, (str){ (const char *)secret, 32 });
	sha256_done(&one, hash);
	sha256_add(all, (str){ (const char *)hash, sizeof(hash) });
}

str
keys_fingerprint(struct arena *a, const struct keys *k)
{
	unsigned char hash[SHA256_BYTES];
	struct sha256 all;
	char hex[17];

	sha256_init(&all);
	add_hashed(&all, "mac", k->mac);
	add_hashed(&all, "seal", k->seal);
	sha256_add(&all, (str){ (const char *)k->sign_public, sizeof(k->sign_public) });
	sha256_done(&all, hash);
	(void)sodium_bin2hex(hex, sizeof(hex), hash, 8);
	return arena_str(a, str_of(hex));
}

void
keys_mac(const struct keys *k, const str *parts, size_t count, unsigned char out[32])
{
	struct hmac h;

	hmac_init(&h, k->mac);
	for (size_t i = 0; i < count; i++) {
		uint64_t length = htole64((uint64_t)parts[i].len);

		hmac_add(&h, (str){ (const char *)&length, sizeof(length) });
		hmac_add(&h, parts[i]);
	}
	hmac_done(&h, out);
}

str
keys_mac_hex(struct arena *a, const struct keys *k, const str *parts, size_t count)
{
	unsigned char mac[32];
	char *text = arena_alloc(a, 65);

	CHECK(k != NULL);
	keys_mac(k, parts, count, mac);
	(void)sodium_bin2hex(text, 65, mac, 32);
	return (str){ text, 64 };
}

/* --- boxes --- */

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG   crypto_aead_xchacha20poly1305_ietf_ABYTES
_Static_assert(KEYS_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "its key");

static const unsigned char *
bytes_of(str s)
{
	return (const unsigned char *)(s.len ? s.ptr : "");
}

status
keys_box(struct ctx *cx, const unsigned char key[KEYS_KEY], str plain, str about, str *out)
{
	unsigned char *p = arena_try(cx->arena, NONCE + plain.len + TAG);

	if (!p)
		return fail(cx, E_TOO_LARGE, "what is to be encrypted is too large");
	random_bytes(p, NONCE);
	CHECK(crypto_aead_xchacha20poly1305_ietf_encrypt(p + NONCE, NULL, bytes_of(plain), plain.len,
		      bytes_of(about), about.len, NULL, p, key) == 0);
	*out = (str){ (const char *)p, NONCE + plain.len + TAG };
	return OK;
}

str
keys_open(struct ctx *cx, const unsigned char key[KEYS_KEY], str boxed, str about)
{
	unsigned char *plain =
		boxed.len >= NONCE + TAG ? arena_try(cx->arena, boxed.len - NONCE - TAG + 1) : NULL;

	if (!plain || crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL, bytes_of(boxed) + NONCE,
			      boxed.len - NONCE, bytes_of(about), about.len, bytes_of(boxed), key) != 0)
		return (str){ NULL, 0 };
	return (str){ (const char *)plain, boxed.len - NONCE - TAG };
}
