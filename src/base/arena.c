/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/check.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#	define POISONED 1
#elif defined(__has_feature)
#	if __has_feature(address_sanitizer)
#		define POISONED 1
#	endif
#endif
#ifdef POISONED
#	include <sanitizer/asan_interface.h>
#	define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#	define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#	define POISON(p, n)   ((void)(p), (void)(n))
#	define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define ALIGN _Alignof(max_align_t)

struct arena_chunk {
	struct arena_chunk *older;
	size_t size; /* of the bytes behind this header */
	max_align_t bytes[];
};

void
arena_init(struct arena *a, size_t cap)
{
	*a = (struct arena){ .cap = cap };
}

static void
free_chunk(struct arena_chunk *c)
{
	UNPOISON(c->bytes, c->size);
	free(c);
}

/* Points the free part at the newest chunk, which has been used up to at. */
static void
open_newest(struct arena *a, char *at)
{
	a->at = at;
	a->end = a->chunks ? (char *)a->chunks->bytes + a->chunks->size : NULL;
	if (a->chunks)
		POISON(a->at, (size_t)(a->end - a->at));
}

/* Not in the arena itself: a transaction that runs again rewinds it. */
struct arena_end {
	struct arena_end *older;
	void (*fn)(void *arg);
	void *arg;
};

void
arena_at_end(struct arena *a, void (*fn)(void *arg), void *arg)
{
	struct arena_end *end = malloc(sizeof(*end));

	CHECK(end != NULL);
	*end = (struct arena_end){ a->ends, fn, arg };
	a->ends = end;
}

static void
run_ends(struct arena *a)
{
	while (a->ends) {
		struct arena_end *end = a->ends;

		a->ends = end->older;
		end->fn(end->arg);
		free(end);
	}
}

void
arena_done(struct arena *a)
{
	run_ends(a);
	while (a->chunks) {
		struct arena_chunk *older = a->chunks->older;

		free_chunk(a->chunks);
		a->chunks = older;
	}
	*a = (struct arena){ .cap = a->cap };
}

void
arena_reset(struct arena *a)
{
	run_ends(a);
	/* only an ordinary first chunk is worth keeping: a large one would be a leak in a pool */
	while (a->chunks && (a->chunks->older || a->chunks->size > LIMIT_ARENA_CHUNK)) {
		struct arena_chunk *older = a->chunks->older;

		free_chunk(a->chunks);
		a->chunks = older;
	}
	a->used = 0;
	open_newest(a, a->chunks ? (char *)a->chunks->bytes : NULL);
}

struct arena_mark
arena_mark(const struct arena *a)
{
	return (struct arena_mark){ .chunk = a->chunks, .at = a->at, .used = a->used };
}

void
arena_rewind(struct arena *a, struct arena_mark m)
{
	while (a->chunks != m.chunk) {
		struct arena_chunk *older = a->chunks->older;

		free_chunk(a->chunks);
		a->chunks = older;
	}
	a->used = m.used;
	open_newest(a, m.at);
}

static void
add_chunk(struct arena *a, size_t need)
{
	size_t size = need > LIMIT_ARENA_CHUNK ? need : LIMIT_ARENA_CHUNK;
	struct arena_chunk *c;

	/* many small chunks cost more than a few that double */
	if (a->chunks && a->chunks->size >= size && a->chunks->size < 1 * MIB)
		size = a->chunks->size * 2;
	CHECK(size < SIZE_MAX - sizeof(*c));
	c = malloc(sizeof(*c) + size);
	CHECK(c != NULL);
	c->size = size;
	c->older = a->chunks;
	a->chunks = c;
	open_newest(a, (char *)c->bytes);
}

static char *
take(struct arena *a, size_t size, size_t align)
{
	size_t pad = a->at ? (size_t)(-(uintptr_t)a->at & (align - 1)) : 0;
	char *p;

	if (!a->at || (size_t)(a->end - a->at) < pad || (size_t)(a->end - a->at) - pad < size) {
		add_chunk(a, size);
		pad = 0;
	}
	p = a->at + pad;
	UNPOISON(p, size);
	a->at = p + size;
	a->used += size;
	return p;
}

static bool
fits(const struct arena *a, size_t size)
{
	return a->used <= a->cap && size <= a->cap - a->used;
}

void *
arena_alloc(struct arena *a, size_t size)
{
	return memset(take(a, size, ALIGN), 0, size);
}

void *
arena_try(struct arena *a, size_t size)
{
	return fits(a, size) ? arena_alloc(a, size) : NULL;
}

void *
arena_try_array(struct arena *a, size_t n, size_t size)
{
	size_t all;

	return __builtin_mul_overflow(n, size, &all) ? NULL : arena_try(a, all);
}

char *
arena_try_bytes(struct arena *a, size_t size)
{
	return fits(a, size) ? take(a, size, 1) : NULL;
}

char *
arena_grow_bytes(struct arena *a, char *old, size_t old_size, size_t new_size)
{
	size_t more = new_size - old_size;
	char *p;

	CHECK(new_size >= old_size);
	if (!fits(a, more))
		return NULL;
	if (old && old + old_size == a->at && (size_t)(a->end - a->at) >= more) {
		(void)take(a, more, 1);
		return old;
	}
	p = arena_try_bytes(a, new_size);
	if (p && old)
		memcpy(p, old, old_size);
	return p;
}

str
arena_str(struct arena *a, str s)
{
	char *p = take(a, s.len + 1, 1);

	if (s.len)
		memcpy(p, s.ptr, s.len);
	p[s.len] = '\0';
	return (str){ p, s.len };
}

const char *
arena_cstr(struct arena *a, str s)
{
	return arena_str(a, s).ptr;
}

str
arena_int(struct arena *a, int64_t n)
{
	char room[STR_INT_ROOM];

	return arena_str(a, str_of_int(n, room));
}

str
arena_vprintf(struct arena *a, const char *format, va_list args)
{
	char small[256]; /* what fits, and most does, is formatted only once */
	va_list again;
	int n;
	char *p;

	va_copy(again, args);
	n = vsnprintf(small, sizeof(small), format, again);
	va_end(again);
	CHECK(n >= 0);
	p = take(a, (size_t)n + 1, 1);
	if ((size_t)n < sizeof(small))
		memcpy(p, small, (size_t)n + 1);
	else
		CHECK(vsnprintf(p, (size_t)n + 1, format, args) == n);
	return (str){ p, (size_t)n };
}

str
arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	str s;

	va_start(args, format);
	s = arena_vprintf(a, format, args);
	va_end(args);
	return s;
}
