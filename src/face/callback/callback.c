/* SPDX-License-Identifier: Apache-2.0 */
#include "face/callback/callback.h"

#include "exec/webhook/callback.h"
#include "json/out.h"

#define PATH "/callbacks/"

static void
take(struct http_exchange *x, void *arg)
{
	struct sign_parts signature = { .id = http_header(x, STR("webhook-id")),
		.timestamp = http_header(x, STR("webhook-timestamp")),
		.signature = http_header(x, STR("webhook-signature")) };
	struct json_out o;
	str state;
	status s = callback_take(x->cx, x->req.params[0], &signature, x->req.body, &state);

	(void)arg;
	if (s != OK) {
		http_refuse(x, s);
		return;
	}
	x->status = 200;
	x->content_type = "application/json";
	json_out_init(&o, &x->body);
	json_out_object(&o, NULL);
	json_out_str(&o, "status", state);
	json_out_end(&o);
}

void
callback_routes(struct http_route out[CALLBACK_ROUTES])
{
	out[0] = (struct http_route){ .method = HTTP_POST_,
		.path = PATH "{id}",
		.where = HTTP_WORKER,
		.takes_body = true,
		.handler = take };
}

str
callback_path_shown(str path)
{
	return str_starts(path, STR(PATH)) ? STR(PATH "{id}") : path;
}
