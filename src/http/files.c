/* SPDX-License-Identifier: Apache-2.0 */
/* files: a table of static files, each with an ETag made of its content. */
#include "http/http.h"

#include "base/hash/sha256.h"
#include "http/server.h"

#include <sodium.h>
#include <stdlib.h>

struct entry {
	const struct http_file *file;
	str path, etag, gzip_etag; /* two sets of bytes have two tags (RFC 9110 8.8.3) */
};

struct http_files {
	size_t count;
	struct entry entries[]; /* sorted by path */
};

static int
compare(const void *a, const void *b)
{
	return str_cmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

/* "…": 128 bits of the content's hash; nobody attacks his own cache with more. */
static str
make_etag(struct arena *a, str body)
{
	unsigned char hash[SHA256_BYTES];
	char hex[2 * 16 + 1];

	sha256_of(body, hash);
	(void)sodium_bin2hex(hex, sizeof(hex), hash, 16);
	return arena_printf(a, "\"%s\"", hex);
}

status
http_files_new(struct ctx *cx, const struct http_file *files, size_t count, struct http_files **out_files)
{
	struct http_files *f = arena_alloc(cx->arena, sizeof(*f) + count * sizeof(f->entries[0]));

	f->count = count;
	for (size_t i = 0; i < count; i++)
		f->entries[i] = (struct entry){ .file = &files[i],
			.path = str_of(files[i].path),
			.etag = make_etag(cx->arena, files[i].body),
			.gzip_etag = make_etag(cx->arena, files[i].gzip) };
	if (count)
		qsort(f->entries, count, sizeof(f->entries[0]), compare);
	for (size_t i = 1; i < count; i++)
		if (str_eq(f->entries[i - 1].path, f->entries[i].path))
			return fail(cx, E_INVALID, "two files have the path %s", f->entries[i].file->path);
	*out_files = f;
	return OK;
}

/* If-None-Match: "*", or a list of tags; W/ does not matter here (RFC 9110 13.1.2). */
static bool
matches(str wanted, str etag)
{
	str one, rest = wanted;
	bool more = true;

	while (more) {
		more = str_cut(rest, ',', &one, &rest);
		one = str_trim(more ? one : rest);
		if (str_starts(one, STR("W/")))
			one = str_skip(one, 2);
		if (str_eq(one, etag) || str_eq(one, STR("*")))
			return true;
	}
	return false;
}

/* Accept-Encoding: gzip by name or by "*", unless its weight is 0 (RFC 9110 12.5.3). */
static bool
takes_gzip(str accepted)
{
	str one, coding, weight, rest = accepted;
	bool more = true;

	while (more) {
		more = str_cut(rest, ',', &one, &rest);
		if (!more)
			one = rest;
		if (!str_cut(one, ';', &coding, &weight)) {
			coding = one;
			weight = (str){ 0 };
		}
		coding = str_trim(coding);
		weight = str_trim(weight);
		if (str_eq(coding, STR("gzip")) || str_eq(coding, STR("*")))
			return !str_eq(weight, STR("q=0")) && !str_starts(weight, STR("q=0.0"));
	}
	return false;
}

/* The tag of what is sent; says which of the two it is. */
static str
choose(struct http_exchange *x, const struct entry *e, str *out_body)
{
	*out_body = e->file->body;
	if (!e->file->gzip.len)
		return e->etag;
	http_add_header(x, STR("Vary"), STR("Accept-Encoding"));
	if (!takes_gzip(http_header(x, STR("Accept-Encoding"))))
		return e->etag;
	http_add_header(x, STR("Content-Encoding"), STR("gzip"));
	*out_body = e->file->gzip;
	return e->gzip_etag;
}

void
http_files_serve(struct http_exchange *x, void *arg)
{
	const struct http_files *f = arg;
	struct entry key = { .path = x->req.params[0] };
	const struct entry *e = bsearch(&key, f->entries, f->count, sizeof(key), compare);
	str etag, body;

	if (!e) {
		status s = fail(x->cx, E_NOT_FOUND, "there is nothing here");

		http_refuse(x, s);
		return;
	}
	etag = choose(x, e, &body);
	http_add_header(x, STR("ETag"), etag);
	http_add_header(x, STR("Cache-Control"),
		e->file->immutable ? STR("public, max-age=31536000, immutable") : STR("no-cache"));
	x->status = matches(http_header(x, STR("If-None-Match")), etag) ? 304 : 200;
	http_answer_fixed(x, e->file->content_type, body);
}
