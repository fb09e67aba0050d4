/* SPDX-License-Identifier: Apache-2.0 */
/* form: what a client writes into an address, a form (application/x-www-form-urlencoded) or a Basic credential. */
#ifndef HTTP_CLIENT_FORM_H
#define HTTP_CLIENT_FORM_H

#include "base/buf.h"

/* Appends &key=value, escaped (the first one without the &). */
void form_add(struct buf *b, const char *key, str value);

/* Appends the text as a form has it. */
void form_escape(struct buf *b, str text);

/* "id:secret", both escaped before (RFC 6749, 2.3.1), in base64: what follows "Basic ". Empty: longer than one may be. */
str form_basic(struct arena *a, str id, str secret);

#endif
