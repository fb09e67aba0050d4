/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: asserts that stay on. They are for our own bugs, never for input,
 * disk, network or database content.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

/* Writes where and what to standard error and aborts. */
__attribute__((noreturn)) void check_failed(const char *file, int line, const char *what);

#define CHECK(cond) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))

#endif
