/* SPDX-License-Identifier: Apache-2.0 */
/* pointer: JSON Pointer (RFC 6901): "/a/0/b~1c". */
#ifndef JSON_POINTER_H
#define JSON_POINTER_H

#include "base/buf.h"
#include "json/json.h"

/* The value p points at, or NULL where there is none or p is not a pointer. */
const struct json *pointer_get(struct arena *a, const struct json *doc, str p);

/* parent + "/" + the escaped key, or + "/" + index. In the arena. */
str pointer_key(struct arena *a, str parent, str key);
str pointer_index(struct arena *a, str parent, size_t index);

/* Appends "/" and the escaped key to b. */
void pointer_add_key(struct buf *b, str key);

#endif
