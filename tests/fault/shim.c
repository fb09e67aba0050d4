/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim: stands between a program and its disk (LD_PRELOAD), counts the calls
 * that change files under one directory, and makes the n-th of them go wrong.
 *
 *	SHIM_DIR=dir          absolute; only files in it are looked at
 *	SHIM_COUNT=file       the running count, 8 bytes, there even after a kill
 *	SHIM_AT=n             the call that goes wrong, from 1; 0 or absent: none
 *	SHIM_MODE=mode        kill    SIGKILL instead of the call
 *	                      tear    half of a write, then SIGKILL
 *	                      eio     fails with EIO
 *	                      enospc  fails with ENOSPC (a write or a create; others go through)
 *	                      short   half of a write (others go through)
 *	                      tail    a write without its last bytes, then ENOSPC for every write
 *	SHIM_STICKY=1         from the n-th call on, not only that one
 *	SHIM_READS=1          counts reads instead
 *	SHIM_SYNC_DELAY_US=n  every fsync and fdatasync takes that much longer
 *	SHIM_LOG=file         every change, every sync and everything said on stdout, in
 *	                      order, for replaying a loss of power (tests/fault/power.py)
 *
 * Memory-mapped writes are not seen. In SQLite those are the -shm file, which is
 * rebuilt from the log whenever nobody has it open, so it holds nothing durable.
 */
#undef _FILE_OFFSET_BITS /* or open would be another name for open64 */
#undef _FORTIFY_SOURCE	 /* or open would be an inline function */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { NONE, KILL, TEAR, EIO_, ENOSPC_, SHORT, TAIL };
enum kind { READ, WRITE, CREATE, OTHER };
enum verdict { GO, REFUSE, HALF };

/* Set once by setup, before main; the count is the only thing that moves. */
static struct {
	const char *dir;
	size_t dir_len;
	enum mode mode;
	int64_t at;
	bool sticky, reads;
	bool watch; /* writes are counted, struck or logged; else they go through without a look at their file
		     */
	useconds_t sync_delay_us;
	int log_fd;
	_Atomic int64_t *count;
} shim = { .log_fd = -1 };
static _Atomic int64_t own_count;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

/* The function that we stand in front of. */
#define REAL(name)                                                                                           \
	static __typeof__(name) *real;                                                                       \
	if (!real)                                                                                           \
	real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static long
number(const char *name)
{
	const char *s = getenv(name);

	return s ? strtol(s, NULL, 10) : 0;
}

static enum mode
mode_of(const char *s)
{
	static const char *const names[] = {
		[KILL] = "kill",
		[TEAR] = "tear",
		[EIO_] = "eio",
		[ENOSPC_] = "enospc",
		[SHORT] = "short",
		[TAIL] = "tail",
	};
	for (size_t i = 1; s && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(s, names[i]) == 0)
			return (enum mode)i;
	}
	return NONE;
}

__attribute__((constructor)) static void
setup(void)
{
	const char *count = getenv("SHIM_COUNT"), *log = getenv("SHIM_LOG");
	int fd;

	shim.count = &own_count;
	if (count && (fd = open(count, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) >= 0) {
		void *map = ftruncate(fd, 8) == 0 ? mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
						  : MAP_FAILED;
		if (map != MAP_FAILED)
			shim.count = map;
		(void)close(fd);
	}
	if (log)
		shim.log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	shim.mode = mode_of(getenv("SHIM_MODE"));
	shim.at = number("SHIM_AT");
	shim.sticky = number("SHIM_STICKY") != 0 || shim.mode == TAIL;
	shim.reads = number("SHIM_READS") != 0;
	shim.sync_delay_us = (useconds_t)number("SHIM_SYNC_DELAY_US");
	shim.watch = count || log || shim.mode != NONE;
	shim.dir = getenv("SHIM_DIR"); /* last: without it nothing is ours */
	shim.dir_len = shim.dir ? strlen(shim.dir) : 0;
}

/* --- which files are ours --- */

/* The part of path below our directory ("" for the directory itself), or NULL. */
static const char *
below(const char *path)
{
	if (!shim.dir || strncmp(path, shim.dir, shim.dir_len) != 0)
		return NULL;
	if (path[shim.dir_len] == '\0')
		return path + shim.dir_len;
	return path[shim.dir_len] == '/' ? path + shim.dir_len + 1 : NULL;
}

struct name {
	char path[PATH_MAX + 64];
	const char *ours; /* into path; NULL: not ours */
};

static const char *
name_fd(struct name *n, int fd)
{
	char link[64];
	ssize_t len;

	n->ours = NULL;
	if (!shim.dir)
		return NULL;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, n->path, PATH_MAX);
	if (len < 0)
		return NULL;
	n->path[len] = '\0';
	n->ours = below(n->path);
	return n->ours;
}

static const char *
name_at(struct name *n, int dir_fd, const char *path)
{
	size_t len;

	n->ours = NULL;
	if (path[0] == '/' || dir_fd == AT_FDCWD) {
		(void)snprintf(n->path, sizeof(n->path), "%s", path);
		n->ours = below(n->path);
	} else if (name_fd(n, dir_fd)) {
		len = strlen(n->path);
		(void)snprintf(n->path + len, sizeof(n->path) - len, "/%s", path);
		n->ours = below(n->path);
	}
	return n->ours;
}

/* --- what goes wrong --- */

static void
die(void)
{
	(void)kill(getpid(), SIGKILL);
	for (;;)
		(void)pause();
}

static enum verdict
refuse(int error)
{
	errno = error;
	return REFUSE;
}

/* Counts a call on a file of ours and says what becomes of it. */
static enum verdict
strike(enum kind kind)
{
	int64_t n;

	if ((kind == READ) != shim.reads)
		return GO;
	n = atomic_fetch_add(shim.count, 1) + 1;
	if (shim.at == 0 || n < shim.at || (n > shim.at && !shim.sticky))
		return GO;
	switch (shim.mode) {
	case KILL:
		die();
		return GO;
	case TEAR:
		if (kind != WRITE)
			die();
		return HALF;
	case EIO_:
		return refuse(EIO);
	case ENOSPC_:
		return kind == WRITE || kind == CREATE ? refuse(ENOSPC) : GO;
	case SHORT:
		return kind == WRITE ? HALF : GO;
	case TAIL:
		return kind != WRITE ? GO : n == shim.at ? HALF : refuse(ENOSPC);
	case NONE:
		break;
	}
	return GO;
}

/* --- the log --- */

static void
put(const void *bytes, size_t len)
{
	REAL(write);

	for (size_t done = 0; done < len;) {
		ssize_t n = real(shim.log_fd, (const char *)bytes + done, len - done);
		if (n <= 0)
			abort(); /* a log with a hole proves nothing */
		done += (size_t)n;
	}
}

__attribute__((format(printf, 1, 2))) static void
note(const char *format, ...)
{
	char line[PATH_MAX * 2 + 64];
	va_list ap;
	int len;

	if (shim.log_fd < 0)
		return;
	va_start(ap, format);
	len = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	put(line, (size_t)len);
}

/* A call and its line in the log happen as one, so that the log's order is the disk's. */
static void
enter(void)
{
	if (shim.log_fd >= 0)
		(void)pthread_mutex_lock(&log_lock);
}

static void
leave(void)
{
	int kept = errno;

	if (shim.log_fd >= 0)
		(void)pthread_mutex_unlock(&log_lock);
	errno = kept;
}

static void
note_write(const char *name, off_t at, const void *bytes, ssize_t len)
{
	if (shim.log_fd < 0 || len <= 0)
		return;
	note("W %s %lld %zd\n", name, (long long)at, len);
	put(bytes, (size_t)len);
}

/* --- writes --- */

static size_t
halve(enum verdict v, size_t len)
{
	if (v != HALF)
		return len;
	return shim.mode == TAIL && len > 8 ? len - 8 : len / 2;
}

static void
die_torn(enum verdict v)
{
	if (v == HALF && shim.mode == TEAR)
		die();
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
	REAL(write);
	struct name n;
	enum verdict v;
	ssize_t done;
	off_t at;

	if (fd == STDOUT_FILENO && shim.log_fd >= 0) {
		enter();
		note("A %zu\n", len);
		put(bytes, len);
		leave();
	}
	if (!shim.watch || !name_fd(&n, fd))
		return real(fd, bytes, len);
	v = strike(WRITE);
	if (v == REFUSE)
		return -1;
	enter();
	at = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
	done = real(fd, bytes, halve(v, len));
	note_write(n.ours, at, bytes, done);
	leave();
	die_torn(v);
	return done;
}

ssize_t
pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	REAL(pwrite64);
	struct name n;
	enum verdict v;
	ssize_t done;

	if (!shim.watch || !name_fd(&n, fd))
		return real(fd, bytes, len, at);
	v = strike(WRITE);
	if (v == REFUSE)
		return -1;
	enter();
	done = real(fd, bytes, halve(v, len), at);
	note_write(n.ours, at, bytes, done);
	leave();
	die_torn(v);
	return done;
}

ssize_t
pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	return pwrite64(fd, bytes, len, at);
}

/* Our files get a vector as single writes: a short one may end it, as the kernel may. */
ssize_t
writev(int fd, const struct iovec *parts, int count)
{
	REAL(writev);
	struct name n;
	ssize_t sum = 0;

	if (!shim.watch || !name_fd(&n, fd))
		return real(fd, parts, count);
	for (int i = 0; i < count; i++) {
		ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
		if (done < 0)
			return sum ? sum : -1;
		sum += done;
		if ((size_t)done < parts[i].iov_len)
			break;
	}
	return sum;
}

/* --- reads --- */

ssize_t
read(int fd, void *bytes, size_t len)
{
	REAL(read);
	struct name n;

	if (shim.reads && name_fd(&n, fd) && strike(READ) == REFUSE)
		return -1;
	return real(fd, bytes, len);
}

ssize_t
pread64(int fd, void *bytes, size_t len, off64_t at)
{
	REAL(pread64);
	struct name n;

	if (shim.reads && name_fd(&n, fd) && strike(READ) == REFUSE)
		return -1;
	return real(fd, bytes, len, at);
}

ssize_t
pread(int fd, void *bytes, size_t len, off_t at)
{
	return pread64(fd, bytes, len, at);
}

/* --- syncs --- */

static int
sync_file(int fd, int (*real)(int))
{
	struct name n;
	int rc;

	if (!name_fd(&n, fd))
		return real(fd);
	if (strike(OTHER) == REFUSE)
		return -1;
	enter();
	rc = real(fd);
	if (rc == 0)
		note("S %s\n", n.ours);
	leave();
	if (shim.sync_delay_us)
		(void)usleep(shim.sync_delay_us);
	return rc;
}

int
fsync(int fd)
{
	REAL(fsync);
	return sync_file(fd, real);
}

int
fdatasync(int fd)
{
	REAL(fdatasync);
	return sync_file(fd, real);
}

/* --- length and names --- */

int
ftruncate64(int fd, off64_t len)
{
	REAL(ftruncate64);
	struct name n;
	int rc;

	if (!name_fd(&n, fd))
		return real(fd, len);
	if (strike(OTHER) == REFUSE)
		return -1;
	enter();
	rc = real(fd, len);
	if (rc == 0)
		note("T %s %lld\n", n.ours, (long long)len);
	leave();
	return rc;
}

int
ftruncate(int fd, off_t len)
{
	return ftruncate64(fd, len);
}

int
unlinkat(int dir_fd, const char *path, int flags)
{
	REAL(unlinkat);
	struct name n;
	int rc;

	if (!name_at(&n, dir_fd, path))
		return real(dir_fd, path, flags);
	if (strike(OTHER) == REFUSE)
		return -1;
	enter();
	rc = real(dir_fd, path, flags);
	if (rc == 0)
		note("U %s\n", n.ours);
	leave();
	return rc;
}

int
unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	REAL(renameat);
	struct name a, b;
	int rc;

	if (!name_at(&a, from_fd, from) || !name_at(&b, to_fd, to))
		return real(from_fd, from, to_fd, to);
	if (strike(OTHER) == REFUSE)
		return -1;
	enter();
	rc = real(from_fd, from, to_fd, to);
	if (rc == 0)
		note("R %s %s\n", a.ours, b.ours);
	leave();
	return rc;
}

int
rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* --- creating --- */

static int
open_file(int dir_fd, const char *path, int flags, mode_t mode)
{
	REAL(openat);
	struct name n;
	bool fresh;
	int fd;

	if (!(flags & O_CREAT) || !name_at(&n, dir_fd, path))
		return real(dir_fd, path, flags, mode);
	if (strike(CREATE) == REFUSE)
		return -1;
	enter();
	fresh = access(n.path, F_OK) != 0;
	fd = real(dir_fd, path, flags, mode);
	if (fd >= 0 && fresh)
		note("C %s\n", n.ours);
	else if (fd >= 0 && flags & O_TRUNC)
		note("T %s 0\n", n.ours);
	leave();
	return fd;
}

#define MODE_ARG(flags, mode)                                                                                \
	mode_t mode = 0;                                                                                     \
	if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                                           \
		va_list ap;                                                                                  \
		va_start(ap, flags);                                                                         \
		mode = va_arg(ap, mode_t);                                                                   \
		va_end(ap);                                                                                  \
	}

int
open(const char *path, int flags, ...)
{
	MODE_ARG(flags, mode)
	return open_file(AT_FDCWD, path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
	MODE_ARG(flags, mode)
	return open_file(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int
openat(int dir_fd, const char *path, int flags, ...)
{
	MODE_ARG(flags, mode)
	return open_file(dir_fd, path, flags, mode);
}

int
openat64(int dir_fd, const char *path, int flags, ...)
{
	MODE_ARG(flags, mode)
	return open_file(dir_fd, path, flags | O_LARGEFILE, mode);
}
