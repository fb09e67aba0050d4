/* SPDX-License-Identifier: Apache-2.0 */
/* page: what a browser sees until the console is there: at / what this is, at /setup the first admin. */
#ifndef APP_PAGE_H
#define APP_PAGE_H

#include "http/http.h"

#define PAGE_ROUTES 3u
#define SETUP_PATH  "/setup"

/* setup_page.c: the page behind the link of a first start, and its script. */
extern const struct http_file setup_page, setup_script;

/* The page's routes; the arena outlives the server. */
status page_routes(struct ctx *cx, struct http_route out[PAGE_ROUTES]) MUST_USE;

#endif
