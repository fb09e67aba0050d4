/* SPDX-License-Identifier: Apache-2.0 */
/* endpoints: the handlers of oauth's routes; arg is `const bool *nameless` (oauth.h). Private to oauth. */
#ifndef FACE_OAUTH_ENDPOINTS_H
#define FACE_OAUTH_ENDPOINTS_H

#include "http/http.h"

/* --- token.c: what clients ask --- */
http_handler oauth_token, oauth_revoke, oauth_register;

/* --- authorize.c: what people see --- */
http_handler oauth_authorize, oauth_consent, oauth_sign_in;

/* --- comeback.c: where people come back to from other servers; arg is not looked at --- */
http_handler oauth_upstream;

#endif
