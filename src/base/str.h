/* SPDX-License-Identifier: Apache-2.0 */
/*
 * str: a piece of text that somebody else owns: a pointer and a length.
 *
 * Not terminated by NUL, passed by value, never freed. The empty str is
 * {NULL, 0} or any pointer with length 0; both compare equal.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct str {
	const char *ptr;
	size_t len;
} str;

/* A str from a string literal. */
#define STR(literal) ((str){ .ptr = "" literal, .len = sizeof(literal) - 1 })

/* For printf: "%.*s", STR_ARG(s). Longer than INT_MAX prints nothing. */
#define STR_ARG(s) ((s).len <= 0x7fffffff ? (int)(s).len : 0), ((s).len ? (s).ptr : "")

/* A str over a NUL-terminated string; NULL gives the empty str. */
str str_of(const char *cstr);

bool str_eq(str a, str b);
bool str_eq_nocase(str a, str b);     /* ASCII letters only */
bool str_has_nocase(str s, str part); /* somewhere in it; part is not empty */
int str_cmp(str a, str b);	      /* by bytes, shorter first */
bool str_starts(str s, str prefix);

/* Has a path a step that is "." or ".."? */
bool str_has_dots(str path);
bool str_ends(str s, str suffix);

/* Where byte c stands in s, or s.len. */
size_t str_find(str s, char c);

/* s without its first n bytes; n beyond the end gives the empty str. */
str str_skip(str s, size_t n);

/* s without leading and trailing spaces and tabs. */
str str_trim(str s);

/* Cuts s at the first c: *head before it, *tail after it. False, and nothing is set, where s has no c. */
bool str_cut(str s, char c, str *out_head, str *out_tail);

/* The decimal number that s is, all of it: optional '-', digits, in range. False otherwise, *out_n untouched.
 */
bool str_to_int(str s, int64_t *out_n);

/* n in decimal digits, written into the room. */
#define STR_INT_ROOM 24
str str_of_int(int64_t n, char room[STR_INT_ROOM]);

/* Is s valid UTF-8 (no overlong forms, no surrogates, at most U+10FFFF)? */
bool str_is_utf8(str s);

/* The length (1 to 4) of the UTF-8 sequence that s begins with, 0 where it begins with none. */
size_t str_utf8_sequence(str s);

/* Compares in a time that depends on the lengths only. */
bool str_eq_secret(str a, str b);

#endif
