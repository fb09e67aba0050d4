/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: what a person sees: sign in, agree, or why it goes no further. Server-rendered, no script at all, shown in no
 * frame; all text of strangers is escaped here. Private to oauth.
 */
#ifndef FACE_OAUTH_PAGE_H
#define FACE_OAUTH_PAGE_H

#include "core/oauth/client.h"
#include "core/oauth/grant.h"
#include "http/http.h"

/* The route of the style sheet. */
status page_style(struct ctx *cx, struct http_route *out) MUST_USE;

struct page_consent {
	const struct client *client;
	struct grant_person person;
	struct rules scope;
	str redirect_uri, csrf;
	str query; /* of the request as it came: the form goes to the same */
};
void page_consent(struct http_exchange *x, const struct page_consent *p);

/* said: why they see it again, or empty. */
void page_sign_in(struct http_exchange *x, int http, str query, str said);

/* Goes to the request once more by itself, at path: a browser that comes from elsewhere keeps our cookie back, and from
 * our own page it does not (SameSite=Strict). */
void page_again(struct http_exchange *x, const char *path);

/* Goes on to the client by itself: where is its redirect URI with what it hears. */
void page_back(struct http_exchange *x, str where);

/* How an authorization of ours at another server has ended: said is a sentence, or two. */
void page_upstream(struct http_exchange *x, int http, const char *title, str said);

/* back: where the client hears of it, for a link; or empty. */
void page_problem(struct http_exchange *x, status s, str back);

#endif
