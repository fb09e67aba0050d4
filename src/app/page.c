/* SPDX-License-Identifier: Apache-2.0 */
#include "app/page.h"

#include "core/people/link/link.h"

/* clang-format off */
static const char html[] =
"<!doctype html>\n"
"<html lang=\"en\">\n"
"<head>\n"
"<meta charset=\"utf-8\">\n"
"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
"<meta name=\"color-scheme\" content=\"light dark\">\n"
"<title>Countersign</title>\n"
"<link rel=\"stylesheet\" href=\"/assets/page.css\">\n"
"</head>\n"
"<body>\n"
"<main>\n"
"<h1>Countersign</h1>\n"
"<p>Agents propose, people and policy decide, and every decision is on record.</p>\n"
"<p>This server is running, version " COUNTERSIGN_VERSION ". It was built without\n"
"the console; the API is what there is.</p>\n"
"<h2>Where to go</h2>\n"
"<ul>\n"
"<li><a href=\"/openapi.json\">The API</a>, as an OpenAPI document</li>\n"
"<li><a href=\"/readyz\">Ready?</a> Whether it can do work</li>\n"
"<li><a href=\"/metrics\">Figures</a> for Prometheus</li>\n"
"</ul>\n"
"<p>Settings and commands: <code>countersign help</code> in a terminal, and\n"
"<code>docs/</code> in the source.</p>\n"
"</main>\n"
"</body>\n"
"</html>\n";

static const char css[] =
":root { color-scheme: light dark; --text: #1d1c1a; --back: #f7f6f2; --link: #3d44b8; --line: #8b877e; }\n"
"@media (prefers-color-scheme: dark) {\n"
"	:root { --text: #e9e7e2; --back: #131416; --link: #aab1ff; --line: #6d7077; }\n"
"}\n"
"body { margin: 0; background: var(--back); color: var(--text);\n"
"	font: 1.0625rem/1.6 system-ui, sans-serif; }\n"
"main { max-width: 38rem; margin: 0 auto; padding: 4rem 1.5rem; }\n"
"h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }\n"
"h2 { font-size: 1.125rem; margin: 2rem 0 0.5rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }\n"
"ul { padding-left: 1.25rem; }\n"
"a { color: var(--link); }\n"
"a:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; border-radius: 2px; }\n"
"code { font-size: 0.95em; overflow-wrap: anywhere; }\n"
"label { display: block; }\n"
"input { font: inherit; width: 100%; box-sizing: border-box; padding: 0.4rem; border: 1px solid var(--line); border-radius: 6px; }\n"
"button { font: inherit; font-weight: 600; padding: 0.5rem 1.2rem; border: 0; border-radius: 6px; background: var(--link); color: var(--back); cursor: pointer; }\n"
"button:disabled { opacity: 0.6; }\n"
"dd { margin: 0 0 1rem; }\n"
".go { display: inline-block; padding: 0.6rem 1.2rem; border-radius: 6px; background: var(--link); color: var(--back);\n"
"	text-decoration: none; font-weight: 600; }\n";
/* clang-format on */

const struct http_file plain_page = {
	.path = "", .content_type = "text/html; charset=utf-8", .body = { html, sizeof(html) - 1 }
};
static const struct http_file style = {
	.path = "page.css", .content_type = "text/css; charset=utf-8", .body = { css, sizeof(css) - 1 }
};

static status
route(struct ctx *cx, const char *path, const struct http_file *files, size_t count, struct http_route *out)
{
	struct http_files *served;

	TRY(http_files_new(cx, files, count, &served));
	*out = (struct http_route){
		.method = HTTP_GET_, .path = path, .handler = http_files_serve, .arg = served
	};
	return OK;
}

status
page_routes(struct ctx *cx, struct http_route out[PAGE_ROUTES])
{
	struct http_file *assets = arena_alloc(cx->arena, 3 * sizeof(*assets));

	assets[0] = style;
	assets[1] = setup_script;
	assets[2] = link_script;
	TRY(route(cx, SETUP_PATH, &setup_page, 1, &out[0]));
	TRY(route(cx, LINK_PATH, &link_page, 1, &out[1]));
	return route(cx, "/assets/{*}", assets, 3, &out[2]);
}
