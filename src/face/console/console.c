/* SPDX-License-Identifier: Apache-2.0 */
#include "face/console/console.h"

/* Every page is the index; which one it shows is the script's business. */
static void
serve_index(struct http_exchange *x, void *arg)
{
	x->req.params[0] = (str){ 0 };
	http_files_serve(x, arg);
}

#define PATHS(name) "/" #name, "/" #name "/{*}",
static const char *const paths[] = { "/proposals/{id}", CONSOLE_PAGES(PATHS) };
_Static_assert(2 + sizeof(paths) / sizeof(*paths) == CONSOLE_ROUTES, "one route each, and two for the files");

status
console_routes(struct ctx *cx, const struct http_file *plain, struct http_route out[CONSOLE_ROUTES])
{
	bool built = console_file_count > 0;
	struct http_files *files;

	TRY(http_files_new(cx, built ? console_files : plain, built ? console_file_count : 1, &files));
	out[0] = (struct http_route){
		.method = HTTP_GET_, .path = "/", .handler = http_files_serve, .arg = files
	};
	out[1] = (struct http_route){
		.method = HTTP_GET_, .path = "/console/{*}", .handler = http_files_serve, .arg = files
	};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		out[2 + i] = (struct http_route){
			.method = HTTP_GET_, .path = paths[i], .handler = serve_index, .arg = files
		};
	return OK;
}
