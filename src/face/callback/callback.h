/* SPDX-License-Identifier: Apache-2.0 */
/* callback: POST /callbacks/{id}, where other systems tell what became of a command (exec/webhook/callback.h). */
#ifndef FACE_CALLBACK_CALLBACK_H
#define FACE_CALLBACK_CALLBACK_H

#include "http/http.h"

#define CALLBACK_ROUTES 1u
void callback_routes(struct http_route out[CALLBACK_ROUTES]);

#endif
