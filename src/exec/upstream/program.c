/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/program.h"

#include "base/limits.h"
#include "exec/sandbox/walls.h"
#include "json/bind.h"
#include "json/out.h"

static status
invalid(struct ctx *cx, const char *path, const char *what)
{
	fail_issue(cx, str_of(path), str_of(what));
	return fail(cx, E_INVALID, "%s %s", path, what);
}

static status
check_paths(struct ctx *cx, const struct json *paths)
{
	if (!paths)
		return OK;
	if (paths->type != JSON_ARRAY || paths->count > LIMIT_SOURCE_WORDS)
		return invalid(cx, "/program/paths", "must be a list of {path, writable}");
	JSON_EACH (p, paths) {
		const struct json *path = json_get(p, STR("path")), *writable = json_get(p, STR("writable"));

		if (!path || path->type != JSON_STRING || !str_starts(path->text, STR("/")))
			return invalid(cx, "/program/paths", "must have absolute paths");
		if (writable && writable->type != JSON_BOOL)
			return invalid(cx, "/program/paths", "says writable: true or false");
	}
	return OK;
}

status
program_read(struct ctx *cx, const struct json *p, str *out)
{
	static const char *const known[] = { "argv", "paths", "directory", "network" };
	const struct json *directory = json_get(p, STR("directory")), *network = json_get(p, STR("network"));
	const str *argv;
	size_t argc;

	if (p->type != JSON_OBJECT)
		return invalid(cx, "/program", "must be {argv, paths?, directory?, network?}");
	JSON_EACH (m, p) {
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found = found || str_eq(m->key, str_of(known[i]));
		if (!found)
			return invalid(cx, "/program", "must be {argv, paths?, directory?, network?}");
	}
	TRY(json_bind_strings(
		cx, json_get(p, STR("argv")), STR("/program/argv"), LIMIT_SOURCE_WORDS, &argv, &argc));
	if (!argc || !str_starts(argv[0], STR("/")))
		return invalid(cx, "/program/argv", "must begin with the absolute path of a program");
	if ((directory && (directory->type != JSON_STRING || !str_starts(directory->text, STR("/")))) ||
		(network && network->type != JSON_BOOL))
		return invalid(cx, "/program", "must be {argv, paths?, directory?, network?}");
	TRY(check_paths(cx, json_get(p, STR("paths"))));
	return json_text(cx, p, out);
}

status
program_check(struct ctx *cx, const struct walls *walls, const struct json *p)
{
	str text;

	TRY(program_read(cx, p, &text));
	if (!json_get(p, STR("paths")))
		return OK;
	JSON_EACH (path, json_get(p, STR("paths"))) {
		const struct json *writable = json_get(path, STR("writable"));

		TRY(walls_check(cx, walls, json_get(path, STR("path"))->text, writable && writable->truth));
	}
	return OK;
}
