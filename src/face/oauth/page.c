/* SPDX-License-Identifier: Apache-2.0 */
#include "face/oauth/page.h"

#include "base/limits.h"
#include "core/oauth/document.h"
#include "core/oauth/redirect.h"
#include "core/oauth/scope.h"
#include "core/oidc/flow.h"
#include "http/client/form.h"

/* clang-format off */
static const char css[] =
":root { color-scheme: light dark; --text: #1c2024; --soft: #5b6168; --back: #f4f4f2; --card: #ffffff;\n"
"	--line: #dcdcd8; --link: #0b5cad; --main: #0b5cad; --on-main: #ffffff; --warn: #8a4b00; --warn-back: #fff4e0; }\n"
"@media (prefers-color-scheme: dark) {\n"
"	:root { --text: #e8e6e3; --soft: #a2a7ad; --back: #121416; --card: #1b1e21; --line: #353a3f; --link: #7db8f0;\n"
"		--main: #7db8f0; --on-main: #0d1a26; --warn: #f0c07d; --warn-back: #33270f; }\n"
"}\n"
"* { box-sizing: border-box; }\n"
"body { margin: 0; padding: 1rem; background: var(--back); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }\n"
"main { max-width: 30rem; margin: 6vh auto 2rem; padding: 2rem; background: var(--card);\n"
"	border: 1px solid var(--line); border-radius: 0.75rem; }\n"
".brand { margin: 0 0 1.25rem; color: var(--soft); font-weight: 600; letter-spacing: 0.02em; }\n"
"h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 1.25rem; overflow-wrap: anywhere; }\n"
"h2 { font-size: 1rem; margin: 1.5rem 0 0.4rem; }\n"
"ul { margin: 0; padding-left: 1.2rem; }\n"
"li { margin: 0.25rem 0; }\n"
"dl { margin: 0; display: grid; grid-template-columns: auto 1fr; gap: 0.4rem 1rem; }\n"
"dt { color: var(--soft); }\n"
"dd { margin: 0; overflow-wrap: anywhere; }\n"
"a { color: var(--link); }\n"
"code { font-size: 0.9em; overflow-wrap: anywhere; }\n"
".soft { color: var(--soft); font-size: 0.9rem; }\n"
".warn { margin: 1rem 0; padding: 0.6rem 0.8rem; border-radius: 0.5rem; background: var(--warn-back); color: var(--warn); }\n"
"label { display: block; margin: 0 0 0.25rem; }\n"
"input { font: inherit; width: 100%; padding: 0.55rem 0.65rem; margin: 0 0 1rem; color: inherit; background: var(--back);\n"
"	border: 1px solid var(--line); border-radius: 0.5rem; }\n"
".choice { display: flex; gap: 0.75rem; margin-top: 1.75rem; }\n"
"button { flex: 1; font: inherit; font-weight: 600; padding: 0.65rem 1rem; border-radius: 0.5rem; cursor: pointer;\n"
"	border: 1px solid var(--line); background: transparent; color: var(--text); }\n"
"button.main { background: var(--main); border-color: var(--main); color: var(--on-main); }\n"
"a:focus-visible, button:focus-visible, input:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }\n"
"@media (max-width: 30rem) {\n"
"	body { padding: 0; background: var(--card); }\n"
"	main { margin: 0; padding: 1.25rem; border: 0; border-radius: 0; }\n"
"	dl { grid-template-columns: 1fr; gap: 0; }\n"
"	dd { margin-bottom: 0.6rem; }\n"
"}\n";
/* clang-format on */

static const struct http_file style = {
	.path = "", .content_type = "text/css; charset=utf-8", .body = { css, sizeof(css) - 1 }
};

status
page_style(struct ctx *cx, struct http_route *out)
{
	struct http_files *files;

	TRY(http_files_new(cx, &style, 1, &files));
	*out = (struct http_route){
		.method = HTTP_GET_, .path = "/oauth/style.css", .handler = http_files_serve, .arg = files
	};
	return OK;
}

/* --- HTML --- */

/* As text, or inside quotes. */
static void
add_text(struct buf *b, str text)
{
	for (size_t i = 0; i < text.len; i++) {
		switch (text.ptr[i]) {
		case '&':
			buf_add(b, STR("&amp;"));
			break;
		case '<':
			buf_add(b, STR("&lt;"));
			break;
		case '>':
			buf_add(b, STR("&gt;"));
			break;
		case '"':
			buf_add(b, STR("&quot;"));
			break;
		case '\'':
			buf_add(b, STR("&#39;"));
			break;
		default:
			buf_add_char(b, text.ptr[i]);
		}
	}
}

static void
add_between(struct buf *b, const char *before, str text, const char *after)
{
	buf_add(b, str_of(before));
	add_text(b, text);
	buf_add(b, str_of(after));
}

static struct buf *
begin(struct http_exchange *x, int http, const char *title)
{
	x->status = http;
	x->content_type = "text/html; charset=utf-8";
	http_add_header(x, STR("Content-Security-Policy"),
		STR("default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
		    "frame-ancestors 'none'"));
	http_add_header(x, STR("X-Frame-Options"), STR("DENY"));
	buf_init(&x->body, x->cx->arena, LIMIT_HTTP_ANSWER);
	buf_printf(&x->body,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s</title>\n"
		"<link rel=\"stylesheet\" href=\"/oauth/style.css\">\n",
		title);
	return &x->body;
}

static void
begin_main(struct buf *b)
{
	buf_add(b, STR("</head>\n<body>\n<main>\n<p class=\"brand\">Countersign</p>\n"));
}

static void
end(struct buf *b)
{
	buf_add(b, STR("</main>\n</body>\n</html>\n"));
}

/* --- agreeing --- */

static void
add_who(struct buf *b, struct arena *a, const struct page_consent *p)
{
	const struct client *c = p->client;

	buf_add(b, STR("<dl>\n<dt>You are</dt><dd>"));
	add_text(b, p->person.name);
	add_between(b, " (", p->person.email, ")</dd>\n");
	add_between(b, "<dt>Organization</dt><dd>", p->person.org, "</dd>\n");
	if (c->described)
		add_between(b, "<dt>Application</dt><dd>described at <strong>", document_host(c->id),
			"</strong></dd>\n");
	else
		buf_add(b,
			STR("<dt>Application</dt><dd>introduced itself; nobody has checked its name</dd>\n"));
	add_between(b, "<dt>Goes back to</dt><dd><strong>", redirect_where(a, p->redirect_uri),
		"</strong></dd>\n</dl>\n");
	if (c->deceives)
		buf_add(b, STR("<p class=\"warn\">Its name has characters in it that deceive. Be "
			       "careful.</p>\n"));
}

static void
add_scope(struct buf *b, const struct rules *r)
{
	buf_add(b, STR("<h2>It will be able to</h2>\n<ul>\n"));
	if (r->level >= LEVEL_OBSERVER)
		buf_add(b, STR("<li>Read what you may read</li>\n"));
	if (r->level >= LEVEL_PROPOSER)
		buf_add(b, STR("<li>Propose what you may propose. Nothing happens before people or your "
			       "organization\u2019s policy have decided</li>\n"));
	for (size_t i = 0; i < r->count; i++) {
		enum verb verb = VERB_READ;

		(void)rule_verb(r->items[i], &verb);
		buf_printf(b, "<li>%s: ", scope_verb_words(verb));
		add_between(b, "<code>", r->items[i], "</code></li>\n");
	}
	buf_add(b, STR("</ul>\n<h2>It will never be able to</h2>\n<ul>\n"
		       "<li>Approve or deny anything</li>\n"
		       "<li>Do more than you may do yourself, at that moment</li>\n</ul>\n"
		       "<p class=\"soft\">For 90 days at most, 30 without use. You can end it at any time: "
		       "it is "
		       "in your list of tokens. All it does is on record as done for you.</p>\n"));
}

void
page_consent(struct http_exchange *x, const struct page_consent *p)
{
	struct arena *a = x->cx->arena;
	struct buf *b = begin(x, 200, "Let an application in?");

	begin_main(b);
	add_between(b, "<h1>Let \u201c", p->client->name, "\u201d act for you?</h1>\n");
	add_who(b, a, p);
	add_scope(b, &p->scope);
	add_between(b, "<form method=\"post\" action=\"/oauth/authorize?", p->query, "\">\n");
	add_between(b, "<input type=\"hidden\" name=\"csrf\" value=\"", p->csrf, "\">\n");
	buf_add(b, STR("<p class=\"choice\"><button name=\"decision\" value=\"deny\">Deny</button>\n"
		       "<button class=\"main\" name=\"decision\" value=\"allow\">Allow</button></p>\n"
		       "</form>\n"));
	end(b);
}

/* --- signing in --- */

static void
add_provider(struct buf *b, struct arena *a, str query)
{
	str back = arena_printf(a, "/oauth/authorize?%.*s", STR_ARG(query));
	struct buf link;

	if (!flow_return_ok(back)) /* too long for a cookie */
		return;
	buf_init(&link, a, LIMIT_HTTP_HEAD);
	form_add(&link, "returnTo", back);
	add_between(b, "<p><a href=\"/api/v1/session/oidc?", buf_str(&link),
		"\">Sign in with your organization\u2019s account</a></p>\n");
}

void
page_sign_in(struct http_exchange *x, int http, str query, str said)
{
	struct buf *b = begin(x, http, "Sign in");

	begin_main(b);
	buf_add(b, STR("<h1>Sign in to let an application in</h1>\n"));
	if (said.len)
		add_between(b, "<p class=\"warn\" role=\"alert\">", said, "</p>\n");
	if (x->cx->oidc)
		add_provider(b, x->cx->arena, query);
	add_between(b, "<form method=\"post\" action=\"/oauth/sign-in?", query, "\">\n");
	buf_add(b, STR("<label for=\"email\">E-mail address</label>\n"
		       "<input id=\"email\" name=\"email\" type=\"email\" autocomplete=\"username\" required "
		       "autofocus>\n"
		       "<label for=\"password\">Password</label>\n"
		       "<input id=\"password\" name=\"password\" type=\"password\" "
		       "autocomplete=\"current-password\" required>\n"
		       "<label for=\"org\">Organization, where you are in several</label>\n"
		       "<input id=\"org\" name=\"org\" type=\"text\" autocomplete=\"organization\">\n"
		       "<p class=\"choice\"><button class=\"main\">Sign in</button></p>\n</form>\n"));
	end(b);
}

/* --- going on --- */

/* By itself, and where a browser does not want to, by a link. */
static struct buf *
begin_going(struct http_exchange *x, const char *title, str where)
{
	struct buf *b = begin(x, 200, title);

	add_between(b, "<meta http-equiv=\"refresh\" content=\"0; url=", where, "\">\n");
	begin_main(b);
	return b;
}

void
page_again(struct http_exchange *x, const char *path)
{
	str where = arena_printf(x->cx->arena, "%s?%.*s", path, STR_ARG(x->req.query));
	struct buf *b = begin_going(x, "Countersign", where);

	add_between(b, "<p><a href=\"", where, "\">Go on</a></p>\n");
	end(b);
}

static void
add_link_back(struct buf *b, struct arena *a, str where)
{
	str uri = { where.ptr, str_find(where, '?') };

	add_between(b, "<p><a href=\"", where, "\">");
	add_between(b, "Go back to ", redirect_where(a, uri), "</a></p>\n");
}

void
page_back(struct http_exchange *x, str where)
{
	struct buf *b = begin_going(x, "Going back", where);

	buf_add(b, STR("<h1>Back to the application</h1>\n"));
	add_link_back(b, x->cx->arena, where);
	buf_add(b, STR("<p class=\"soft\">If nothing happens, follow the link. Then you can close this "
		       "page.</p>\n"));
	end(b);
}

/* --- the end --- */

void
page_upstream(struct http_exchange *x, int http, const char *title, str said)
{
	struct buf *b = begin(x, http, title);

	begin_main(b);
	add_between(b, "<h1>", str_of(title), "</h1>\n");
	add_between(b, "<p>", said, "</p>\n");
	buf_add(b, STR("<p><a href=\"/\">Go on to Countersign</a></p>\n"));
	end(b);
}

void
page_problem(struct http_exchange *x, status s, str back)
{
	int http = status_info(s)->http;
	struct buf *b;

	if (x->cx->error.code != s)
		x->cx->error = (struct error){ .code = s }; /* for the log */
	b = begin(x, http, "This does not work");
	begin_main(b);
	buf_add(b, STR("<h1>This does not work</h1>\n"));
	add_between(b, "<p>", s == E_INTERNAL ? str_of(status_info(s)->sentence) : ctx_message(x->cx, s),
		".</p>\n");
	buf_add(b, STR("<p class=\"soft\">Nothing was given to the application. Go back to it and begin "
		       "again.</p>\n"));
	if (back.len)
		add_link_back(b, x->cx->arena, back);
	end(b);
}
