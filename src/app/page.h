/* SPDX-License-Identifier: Apache-2.0 */
/* page: plain pages: what a build without a console shows, at /setup the first admin, at /link a person who sets a password. */
#ifndef APP_PAGE_H
#define APP_PAGE_H

#include "http/http.h"

#define PAGE_ROUTES 3u
#define SETUP_PATH  "/setup"

/* setup_page.c: the page behind the link of a first start, and its script. */
extern const struct http_file setup_page, setup_script;

/* link_page.c: the page behind a member's one-time link, and its script. */
extern const struct http_file link_page, link_script;

/* What a build without a console shows. */
extern const struct http_file plain_page;

/* The pages' routes; the arena outlives the server. */
status page_routes(struct ctx *cx, struct http_route out[PAGE_ROUTES]) MUST_USE;

#endif
