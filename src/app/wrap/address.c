/* SPDX-License-Identifier: Apache-2.0 */
#include "app/wrap/address.h"

#include "app/app.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#define LOOK_MS	       20
#define LOOKS	       1500u /* 30 s: a start migrates the schema first */
#define PATIENT_LOOKS  50u   /* a second: then people hear what is waited for */
#define LINE_MAX_BYTES 512u
#define WRAPS	       "wrap"

static const char *
path_of(struct ctx *cx, str dir)
{
	return arena_printf(cx->arena, "%.*s/address", STR_ARG(dir)).ptr;
}

void
address_publish(struct ctx *cx, str url)
{
	const struct config *c = &cx->app->config;
	str text = arena_printf(cx->arena, "%.*s\n%.*s\n%s\n", STR_ARG(url), STR_ARG(c->stdio_upstreams),
		cx->app->needed_fd > 0 ? WRAPS : "serve");
	int fd;

	if (c->database.len)
		return;
	fd = open(path_of(cx, c->data), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* who looks holds it for a moment; another server does not, because the database is ours */
	if (fd < 0 || flock(fd, LOCK_EX) != 0 || ftruncate(fd, 0) != 0 ||
		pwrite(fd, text.ptr, text.len, 0) != (ssize_t)text.len) {
		LOG(LOG_WARN, "address.unpublished", LOG_STR("why", str_of(strerror(errno))));
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	cx->app->address_fd = fd;
}

void
address_withdraw(struct ctx *cx)
{
	if (cx->app->address_fd <= 0)
		return;
	if (ftruncate(cx->app->address_fd, 0) != 0) /* the lock says it, too */
		LOG(LOG_WARN, "address.left", LOG_STR("why", str_of(strerror(errno))));
	(void)close(cx->app->address_fd);
	cx->app->address_fd = 0;
}

static bool
read_address(struct ctx *cx, int fd, struct address *out)
{
	char room[LINE_MAX_BYTES];
	ssize_t n = pread(fd, room, sizeof(room), 0);
	str text = arena_str(cx->arena, (str){ room, n > 0 ? (size_t)n : 0 });
	struct address a;

	if (!str_cut(text, '\n', &a.url, &text) || !str_cut(text, '\n', &a.programs, &text))
		return false;
	a.wraps = str_eq(text, STR(WRAPS "\n"));
	*out = a;
	return true;
}

static bool
is_free(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) != 0)
		return false;
	(void)flock(fd, LOCK_UN);
	return true;
}

/* Is the database of the directory open in another process? */
static bool
in_use(struct ctx *cx, str dir)
{
	const char *path = arena_printf(cx->arena, "%.*s/countersign.lock", STR_ARG(dir)).ptr;
	scoped_fd fd = open(path, O_RDWR | O_CLOEXEC);

	return fd >= 0 && !is_free(fd);
}

void
address_say_waiting(struct ctx *cx, str dir, const char *what)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_ERROR_MESSAGE);
	buf_printf(&b, PROGRAM ": %.*s: waiting for %s\n", STR_ARG(dir), what);
	if (app_print_to(cx, STDERR_FILENO, &b) != OK)
		ctx_clear(cx); /* nobody reads it */
}

status
address_find(struct ctx *cx, str dir, struct address *out, bool *out_found)
{
	scoped_fd fd = open(path_of(cx, dir), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return fail(cx, E_UNAVAILABLE, "%s cannot be opened: %s", path_of(cx, dir), strerror(errno));
	for (unsigned i = 0; i < LOOKS; i++) {
		if (!is_free(fd) && read_address(cx, fd, out)) {
			*out_found = true;
			return OK;
		}
		if (!in_use(cx, dir)) {
			*out_found = false;
			return OK;
		}
		if (i == PATIENT_LOOKS)
			address_say_waiting(cx, dir,
				"the process that has it open: a server on its way, or another command");
		(void)poll(NULL, 0, LOOK_MS); /* it is starting, or another command is at work */
	}
	return fail(cx, E_UNAVAILABLE,
		"the data directory %.*s is open in another process, which serves at no address",
		STR_ARG(dir));
}
