/* SPDX-License-Identifier: Apache-2.0 */
/* files: a table of static files, each with an ETag made of its content. */
#include "http/http.h"

#include "base/hash/sha256.h"
#include "http/server.h"

#include <sodium.h>
#include <stdlib.h>

struct entry {
	const struct http_file *file;
	str path, etag;
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
			.etag = make_etag(cx->arena, files[i].body) };
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

void
http_files_serve(struct http_exchange *x, void *arg)
{
	const struct http_files *f = arg;
	struct entry key = { .path = x->req.params[0] };
	const struct entry *e = bsearch(&key, f->entries, f->count, sizeof(key), compare);

	if (!e) {
		status s = fail(x->cx, E_NOT_FOUND, "there is nothing here");

		http_refuse(x, s);
		return;
	}
	http_add_header(x, STR("ETag"), e->etag);
	http_add_header(x, STR("Cache-Control"),
		e->file->immutable ? STR("public, max-age=31536000, immutable") : STR("no-cache"));
	x->status = matches(http_header(x, STR("If-None-Match")), e->etag) ? 304 : 200;
	http_answer_fixed(x, e->file->content_type, e->file->body);
}
