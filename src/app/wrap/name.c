/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is called, where nobody says: after the package or script that it runs. */
#include "app/wrap/name.h"

#include "base/limits.h"

#include <string.h>

static bool
is_one_of(str word, const char *const *list)
{
	for (; *list; list++)
		if (str_eq(word, str_of(*list)))
			return true;
	return false;
}

str
name_base(str path)
{
	while (str_ends(path, STR("/")))
		path.len--;
	for (size_t i = path.len; i > 0; i--)
		if (path.ptr[i - 1] == '/')
			return str_skip(path, i);
	return path;
}

str
name_folder(str path)
{
	str base = name_base(path);

	while (str_ends(path, STR("/")))
		path.len--;
	path.len -= base.len;
	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

bool
name_fetches(str program)
{
	static const char *const all[] = { "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx",
		NULL };

	return is_one_of(name_base(program), all);
}

/* Those that run something else, which then is what it is called after. */
static bool
is_runner(str program)
{
	static const char *const all[] = { "node", "nodejs", "bun", "deno", "ruby", "php", "java", "sh",
		"bash", "env", NULL };

	return name_fetches(program) || is_one_of(program, all) || str_starts(program, STR("python"));
}

/* Words that say nothing: `uv tool run x`, and the names that every script has. */
static const char *const verbs[] = { "exec", "x", "run", "dlx", "tool", NULL };
static const char *const stems[] = { "index", "main", "server", "cli", "app", "run", "start", "__main__",
	"dist", "build", "src", "lib", "bin", "out", NULL };

static str
without_end(str name)
{
	for (size_t i = name.len; i > 1; i--)
		if (name.ptr[i - 1] == '.')
			return (str){ name.ptr, i - 1 };
	return name;
}

/* "@scope/name@1.2" is called name; ".../server-x/dist/index.js" is called server-x. */
static str
tell(str word)
{
	str rest = word, base = name_base(word);
	size_t at = str_find(base, '@');

	if (!str_starts(word, STR("/"))) {
		if (at)
			base.len = at;
		return base;
	}
	while (rest.len > 1) {
		base = without_end(name_base(rest));
		if (!is_one_of(base, stems))
			return base;
		rest = name_folder(rest);
	}
	return base;
}

static str
choose(const str *argv, size_t argc)
{
	str program = name_base(argv[0]);

	for (size_t i = 1; is_runner(program) && i < argc; i++)
		if (argv[i].len && argv[i].ptr[0] != '-' && !is_one_of(argv[i], verbs))
			return tell(argv[i]);
	return program;
}

str
name_of(struct arena *a, const str *argv, size_t argc, size_t most)
{
	str word = choose(argv, argc);
	struct buf b;

	buf_init(&b, a, LIMIT_NAME);
	for (size_t i = 0; i < word.len && b.len < most; i++) {
		char c = word.ptr[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			buf_add_char(&b, c);
		else if (b.len && b.ptr[b.len - 1] != '-')
			buf_add_char(&b, '-');
	}
	while (b.len && b.ptr[b.len - 1] == '-')
		b.len--;
	return b.len ? buf_str(&b) : STR("server");
}
