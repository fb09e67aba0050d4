/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/upstream/program.h"

#include "base/limits.h"
#include "exec/sandbox/walls.h"
#include "json/bind.h"
#include "json/canon.h"
#include "json/out.h"

#include <stdio.h>
#include <stdlib.h>

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

/* --- the operator's own --- */

status
program_digest(struct ctx *cx, const struct json *program, const struct json *env, str *out)
{
	struct json *both = json_new_object(cx->arena);

	json_add_member(both, STR("program"), json_share(cx->arena, program));
	json_add_member(both, STR("env"), env ? json_share(cx->arena, env) : json_new_object(cx->arena));
	return canon_hash(cx, both, out);
}

/* What cannot be read lists nothing. */
static bool
stands_in(const char *file, str digest)
{
	FILE *f = fopen(file, "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;
	ssize_t n;

	while (f && !found && (n = getline(&line, &room, f)) > 0)
		found = (size_t)n == digest.len + 1 && str_starts((str){ line, (size_t)n }, digest);
	free(line);
	if (f)
		(void)fclose(f);
	return found;
}

bool
program_is_listed(struct ctx *cx, const char *file, const struct json *program, const struct json *env)
{
	str digest;

	if (!file)
		return false;
	if (program_digest(cx, program, env, &digest) != OK) {
		ctx_clear(cx);
		return false;
	}
	return stands_in(file, digest);
}
