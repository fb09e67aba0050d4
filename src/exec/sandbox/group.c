/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sandbox/group.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT  "/sys/fs/cgroup"
#define NAME  "countersign-" /* and the holder's process id */
#define TRIES 100	     /* of 10 ms: the kernel needs a moment after the last process */

/* Of a file of the group's. */
static bool
put(const char *folder, const char *file, const char *value)
{
	char path[PATH_MAX + 64];
	size_t len = strlen(value);
	bool done;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, value, len) == (ssize_t)len;
	(void)close(fd);
	return done;
}

static bool
put_number(const char *folder, const char *file, uint64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return put(folder, file, text);
}

/* What holders left that were killed themselves: empty groups. A group that is in use cannot be removed. */
static void
sweep(const char *folder)
{
	char path[PATH_MAX + NAME_MAX + 2];
	DIR *all = opendir(folder);
	struct dirent *one;

	while (all && (one = readdir(all))) {
		int64_t pid;

		if (!str_starts(str_of(one->d_name), STR(NAME)) ||
			!str_to_int(str_skip(str_of(one->d_name), strlen(NAME)), &pid) ||
			kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, one->d_name);
		(void)rmdir(path);
	}
	if (all)
		(void)closedir(all);
}

/* folder/countersign-PID; in a container the path that the kernel names may not be there, then at the root. */
static char *
make(struct group *g, const char *root, const char *path)
{
	const char *const places[] = { path, "" };
	struct stat st;

	for (size_t i = 0; i < 2; i++) {
		char *made = g->paths[g->count];
		int n = snprintf(made, PATH_MAX, "%s%s", root, strcmp(places[i], "/") == 0 ? "" : places[i]);

		if (n < 0 || n > PATH_MAX - 32 || stat(made, &st) != 0)
			continue;
		sweep(made);
		(void)snprintf(made + n, 32, "/" NAME "%d", (int)getpid());
		if (mkdir(made, 0755) == 0 || errno == EEXIST)
			return made;
	}
	return NULL;
}

static void
keep_or_remove(struct group *g, char *made, bool memory, bool processes)
{
	if (!memory && !processes) {
		(void)rmdir(made);
		return;
	}
	g->count++;
	g->memory = g->memory || memory;
	g->processes = g->processes || processes;
}

/* Version 2: processes live in the leaves, so it is made beside our own. */
static void
make_unified(struct group *g, char *path, uint64_t memory, uint64_t processes)
{
	char *end = strrchr(path, '/'), *made;

	if (!end || end == path + (path[0] != '/')) /* the root has no neighbours */
		end = path;
	*end = '\0';
	made = make(g, ROOT, path);
	if (!made)
		return;
	(void)put(made, "memory.swap.max", "0");
	(void)put(made, "memory.oom.group", "1");
	keep_or_remove(
		g, made, put_number(made, "memory.max", memory), put_number(made, "pids.max", processes));
}

static void
make_old(struct group *g, const char *controller, const char *path, uint64_t memory, uint64_t processes)
{
	bool of_memory = strcmp(controller, "memory") == 0;
	char *made = make(g, of_memory ? ROOT "/memory" : ROOT "/pids", path);

	if (!made)
		return;
	if (!of_memory) {
		keep_or_remove(g, made, false, put_number(made, "pids.max", processes));
		return;
	}
	keep_or_remove(g, made, put_number(made, "memory.limit_in_bytes", memory), false);
	(void)put_number(made, "memory.memsw.limit_in_bytes", memory);
}

void
group_make(struct group *g, uint64_t memory, uint64_t processes)
{
	char line[PATH_MAX], *controllers, *path;
	FILE *f = fopen("/proc/self/cgroup", "re");

	*g = (struct group){ .count = 0 };
	while (f && g->count < 2 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*controllers++ = *path++ = '\0';
		if (strcmp(line, "0") == 0 && !*controllers)
			make_unified(g, path, memory, processes);
		else if (strcmp(controllers, "memory") == 0 || strcmp(controllers, "pids") == 0)
			make_old(g, controllers, path, memory, processes);
	}
	if (f)
		(void)fclose(f);
}

bool
group_enter(const struct group *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (!put(g->paths[i], "cgroup.procs", "0"))
			return false;
	return true;
}

void
group_remove(const struct group *g)
{
	for (size_t i = 0; i < g->count; i++)
		for (int tries = 0; tries < TRIES && rmdir(g->paths[i]) != 0 && errno == EBUSY; tries++)
			(void)poll(NULL, 0, 10);
}
