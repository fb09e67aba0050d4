/* SPDX-License-Identifier: Apache-2.0 */
/* page: what a browser sees at / until the console is there: what this is, and where to go on. */
#ifndef APP_PAGE_H
#define APP_PAGE_H

#include "http/http.h"

#define PAGE_ROUTES 2u

/* The page's routes; the arena outlives the server. */
status page_routes(struct ctx *cx, struct http_route out[PAGE_ROUTES]) MUST_USE;

#endif
