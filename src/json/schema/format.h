/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format: the formats of JSON Schema 2020-12, each a question about a text.
 *
 * A format is a pattern for RE2, and a function for what a pattern cannot say. The
 * patterns are compiled once, when the first format is asked for, and kept; they do not change
 * afterwards, so all threads share them. Internationalized names are libidn2's to judge.
 */
#ifndef JSON_SCHEMA_FORMAT_H
#define JSON_SCHEMA_FORMAT_H

#include "base/str.h"

struct format;

/* The format of this name, or NULL where it is not known. */
const struct format *format_find(str name);

bool format_matches(const struct format *f, str text);

#endif
