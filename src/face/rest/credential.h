/* SPDX-License-Identifier: Apache-2.0 */
/* credential: what came with the request to say who it is. Private to rest. */
#ifndef FACE_REST_CREDENTIAL_H
#define FACE_REST_CREDENTIAL_H

#include "core/ident/session.h"
#include "core/oidc/oidc.h"
#include "core/ident/caller.h"
#include "http/http.h"

/* In the exchange's arena. Nothing is checked here, only found. */
const struct credential *credential_of(const struct http_exchange *x);

#endif
