/* SPDX-License-Identifier: Apache-2.0 */
/* A person at the command line: signs in once, and every request of the command is in that session. */
#include "app/client/client.h"

#include "base/limits.h"
#include "http/client.h"
#include "json/out.h"

#include <termios.h>
#include <unistd.h>

#define SESSION "/api/v1/session"

/* --- the password --- */

static status
read_line(struct ctx *cx, str *out)
{
	char *text = arena_alloc(cx->arena, LIMIT_PASSWORD_BYTES + 1);
	ssize_t n = read(STDIN_FILENO, text, LIMIT_PASSWORD_BYTES + 1);

	if (n <= 0)
		return fail(cx, E_INVALID, "no password was typed");
	*out = (str){ text, (size_t)n - (text[n - 1] == '\n') };
	return OK;
}

/* What is typed is not shown. */
static status
ask_password(struct ctx *cx, str *out)
{
	struct termios was, quiet;
	struct buf b;
	status s;

	if (tcgetattr(STDIN_FILENO, &was) != 0)
		return fail(cx, E_INVALID,
			"there is no password; put it into COUNTERSIGN_PASSWORD, or run this on a terminal");
	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_printf(&b, "Password of %.*s: ", STR_ARG(shown_line(cx->arena, cx->app->config.email)));
	TRY(client_print(cx, STDERR_FILENO, &b));
	quiet = was;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	s = read_line(cx, out);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_add_char(&b, '\n');
	TRY(client_print(cx, STDERR_FILENO, &b));
	return s;
}

/* --- the session --- */

static status
begin(struct ctx *cx, str password)
{
	struct http_client_answer got;
	struct client_answer answer;
	struct json_out o;
	struct buf b;
	str body;

	buf_init(&b, cx->arena, LIMIT_HTTP_BODY);
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "email", cx->app->config.email);
	json_out_str(&o, "password", password);
	json_out_end(&o);
	TRY(buf_finish(&b, &body));
	TRY(client_send(cx, "POST", STR(SESSION), body, NULL, 0, &got));
	TRY(client_answered(cx, &got, &answer));
	cx->app->session_cookie = got.cookie;
	cx->app->session_csrf = text_of(answer.doc, "csrfToken");
	return OK;
}

status
client_sign_in(struct ctx *cx, struct http_client_field *out, size_t *out_count)
{
	struct app *app = cx->app;
	str password = app->config.password;

	*out_count = 0;
	if (!app->config.email.len)
		return OK;
	if (!app->session_cookie.len) {
		if (!password.len)
			TRY(ask_password(cx, &password));
		TRY(begin(cx, password));
	}
	out[0] = (struct http_client_field){ STR("Cookie"), app->session_cookie };
	out[1] = (struct http_client_field){ STR("X-CSRF-Token"), app->session_csrf };
	out[2] = (struct http_client_field){ STR("Sec-Fetch-Site"),
		STR("same-origin") }; /* no other page is here */
	*out_count = CLIENT_FIELDS;
	return OK;
}
