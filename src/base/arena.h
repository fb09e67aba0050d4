/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena: the memory of one unit of work. Nothing in it is freed by itself; all
 * of it goes at once.
 *
 *	arena_init -> arena_alloc ... -> arena_reset -> arena_alloc ... -> arena_done
 *
 * The cap binds everything whose size somebody else decides: such a caller
 * asks with arena_try and turns NULL into E_TOO_LARGE. arena_alloc is for our
 * own small, fixed pieces and never fails; real out-of-memory aborts. In
 * AddressSanitizer builds unused bytes are poisoned.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stdarg.h>

struct arena_chunk;
struct arena_end;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	char *at, *end;		    /* free part of the newest chunk */
	size_t used, cap;	    /* bytes taken in all, and their maximum for arena_try */
	struct arena_end *ends;	    /* what else goes with it, newest first */
};

/* A mark of how full an arena was. */
struct arena_mark {
	struct arena_chunk *chunk;
	char *at;
	size_t used;
};

void arena_init(struct arena *a, size_t cap);
void arena_done(struct arena *a);

/* Empties the arena but keeps its first chunk for the next unit of work. */
void arena_reset(struct arena *a);

/* What is not memory but lasts as long: fn(arg) when the arena is emptied or done. A rewind leaves it. */
void arena_at_end(struct arena *a, void (*fn)(void *arg), void *arg);

/* Gives back what was taken since the mark. */
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark m);

/* Zeroed memory, aligned for anything. Never NULL. */
void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));

/* Zeroed memory, or NULL where it would pass the cap. */
void *arena_try(struct arena *a, size_t size);

/* Unzeroed memory with byte alignment, for text; NULL where it would pass the cap. */
char *arena_try_bytes(struct arena *a, size_t size);

/* Grows the newest piece in place where it can, else copies. NULL where it would pass the cap (old stays). */
char *arena_grow_bytes(struct arena *a, char *old, size_t old_size, size_t new_size);

#define ARENA_NEW(a, type)	    ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_TRY_ARRAY(a, type, n) ((type *)arena_try_array((a), (n), sizeof(type)))
void *arena_try_array(struct arena *a, size_t n, size_t size);

/* A copy of s, and printed text. Always terminated by a NUL that is not counted. Short text of our own
 * making. */
str arena_str(struct arena *a, str s);
str arena_int(struct arena *a, int64_t n); /* as "%PRId64", but quick */
str arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
str arena_vprintf(struct arena *a, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* s as a NUL-terminated string, copied. */
const char *arena_cstr(struct arena *a, str s);

#endif
