/* SPDX-License-Identifier: Apache-2.0 */
/* callback: POST /callbacks/{id}, where other systems tell what became of a command (exec/webhook/callback.h). */
#ifndef FACE_CALLBACK_CALLBACK_H
#define FACE_CALLBACK_CALLBACK_H

#include "http/http.h"

#define CALLBACK_ROUTES 1u
void callback_routes(struct http_route out[CALLBACK_ROUTES]);

/* A request's path as a log may have it: who reads the log does not learn a one-time address. */
str callback_path_shown(str path);

#endif
