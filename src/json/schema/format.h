/* SPDX-License-Identifier: Apache-2.0 */
/* format: the formats of JSON Schema 2020-12, each a question about a text. */
#ifndef JSON_SCHEMA_FORMAT_H
#define JSON_SCHEMA_FORMAT_H

#include "base/arena.h"

/* Is text of the format? What the arena gives may be given back afterwards. */
typedef bool format_check(struct arena *a, str text);

/* The check for a format's name, or NULL where it is not known. */
format_check *format_find(str name);

/* Those about hosts (host.c). */
format_check format_hostname, format_idn_hostname, format_email, format_idn_email;

#endif
