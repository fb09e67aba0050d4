/* SPDX-License-Identifier: Apache-2.0 */
#include "db/sqlite.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/scoped.h"
#include "db/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#define DEFAULT_READERS	   4
#define DEFAULT_CHECKPOINT 4000 /* frames, 16 MiB: docs/decisions/0001 */

struct reader {
	struct connection connection;
	struct reader *next; /* among the idle ones */
};

/* The engine's own state: db->self. */
struct sqlite {
	int lock_fd; /* held while we have the directory */
	struct writer writer;

	pthread_mutex_t mutex; /* over the idle list */
	pthread_cond_t returned;
	struct reader *readers, *idle;
	size_t reader_count;

	_Atomic int64_t newest_us; /* the highest time given out */
};

static struct sqlite *
self(const struct db *db)
{
	return db->self;
}

/* --- the directory --- */

static status
refuse(struct ctx *cx, int error, const char *what, const char *path)
{
	if (error == EACCES || error == EPERM || error == EROFS)
		return fail(cx, E_READ_ONLY, "%s cannot be %s: %s", path, what, strerror(error));
	if (error == ENOSPC || error == EDQUOT)
		return fail(cx, E_DISK_FULL, "%s cannot be %s: %s", path, what, strerror(error));
	return fail(cx, E_UNAVAILABLE, "%s cannot be %s: %s", path, what, strerror(error));
}

/* Makes a new name in dir survive a power cut. */
static status
sync_directory(struct ctx *cx, const char *dir)
{
	scoped_fd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) != 0)
		return refuse(cx, errno, "synced", dir);
	return OK;
}

static status
make_directory(struct ctx *cx, const char *dir)
{
	if (mkdir(dir, 0700) != 0)
		return errno == EEXIST ? OK : refuse(cx, errno, "made", dir);
	return sync_directory(cx, arena_printf(cx->arena, "%s/..", dir).ptr);
}

static status
lock_directory(struct ctx *cx, const char *dir, int *out_fd)
{
	const char *path = arena_printf(cx->arena, "%s/countersign.lock", dir).ptr;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int error;

	if (fd < 0)
		return errno == ENOENT ? fail(cx, E_UNAVAILABLE, "there is no directory %s", dir)
				       : refuse(cx, errno, "opened", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*out_fd = fd;
		return OK;
	}
	error = errno;
	(void)close(fd);
	if (error == EWOULDBLOCK)
		return fail(cx, E_BUSY,
			"the data directory \"%s\" is open in another process; stop it, or choose another "
			"with --data",
			dir);
	return refuse(cx, error, "locked", path);
}

/* Makes the file by ourselves, because SQLite would not make it private. It gives its mode to -wal and -shm.
 */
static status
make_file(struct ctx *cx, const char *dir, const char *path, bool create)
{
	scoped_fd fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);

	if (fd < 0 && errno == ENOENT)
		return fail(cx, E_UNAVAILABLE, "there is no database in %s", dir);
	if (fd < 0)
		return refuse(cx, errno, "opened for writing", path);
	return create ? sync_directory(cx, dir) : OK;
}

/* --- opening --- */

static void
free_self(struct sqlite *q)
{
	for (size_t i = 0; i < q->reader_count; i++)
		connection_close(&q->readers[i].connection);
	if (q->writer.connection.handle)
		connection_close(&q->writer.connection); /* last, so that it folds the log into the file */
	if (q->lock_fd >= 0)
		(void)close(q->lock_fd);
	free(q->readers);
	free(q);
}

static status
open_connections(struct ctx *cx, struct sqlite *q, const char *path, size_t readers, size_t statements)
{
	TRY(connection_open(cx, &q->writer.connection, path, true, statements));
	q->readers = calloc(readers, sizeof(*q->readers));
	CHECK(q->readers != NULL);
	for (; q->reader_count < readers; q->reader_count++) {
		struct reader *r = &q->readers[q->reader_count];

		TRY(connection_open(cx, &r->connection, path, false, statements));
		r->next = q->idle;
		q->idle = r;
	}
	return OK;
}

static status
open_files(struct ctx *cx, struct sqlite *q, const struct db_options *o, size_t statements)
{
	const char *path = arena_printf(cx->arena, "%s/countersign.db", o->sqlite_dir).ptr;
	size_t readers = o->connections > 0 ? (size_t)o->connections : DEFAULT_READERS;

	if (o->create)
		TRY(make_directory(cx, o->sqlite_dir));
	TRY(lock_directory(cx, o->sqlite_dir, &q->lock_fd));
	TRY(make_file(cx, o->sqlite_dir, path, o->create));
	return open_connections(cx, q, path, readers, statements);
}

static size_t
batch_max(const struct db_options *o)
{
	return o->batch > 0 && (unsigned)o->batch < LIMIT_TX_BATCH ? (size_t)o->batch : LIMIT_TX_BATCH;
}

static status
sqlite_open(struct ctx *cx, struct db *db, const struct db_options *o)
{
	struct sqlite *q = calloc(1, sizeof(*q));
	status s;

	CHECK(q != NULL);
	q->lock_fd = -1;
	(void)sqlite3_config(
		SQLITE_CONFIG_MEMSTATUS, 0); /* nobody asks how much it has; counting takes a lock */
	s = open_files(cx, q, o, db->catalog.sql_count);
	if (s != OK) {
		free_self(q);
		return s;
	}
	CHECK(pthread_mutex_init(&q->mutex, NULL) == 0);
	wait_init(&q->returned);
	db->self = q;
	q->writer.checkpoint_frames = o->checkpoint > 0 ? o->checkpoint : DEFAULT_CHECKPOINT;
	writer_start(&q->writer, db, batch_max(o));
	return OK;
}

static void
sqlite_close(struct db *db)
{
	struct sqlite *q = self(db);

	writer_stop(&q->writer);
	CHECK(pthread_cond_destroy(&q->returned) == 0);
	CHECK(pthread_mutex_destroy(&q->mutex) == 0);
	free_self(q);
}

static status
sqlite_version(struct ctx *cx, struct db *db, str *out_text)
{
	(void)cx;
	(void)db;
	*out_text = str_of(sqlite3_libversion());
	return OK;
}

/* --- transactions --- */

static status
sqlite_transact(struct ctx *cx, struct tx *tx)
{
	return writer_run(&self(tx->db)->writer, cx, tx);
}

/* An idle reader, or NULL where cx->deadline_us passed. */
static struct reader *
take_reader(struct ctx *cx, struct sqlite *q)
{
	scoped_lock held = lock(&q->mutex);
	struct reader *r;

	while (!(r = q->idle))
		if (!wait_for(cx, &q->returned, &q->mutex))
			return NULL;
	q->idle = r->next;
	return r;
}

static status
no_reader(struct ctx *cx)
{
	return fail(cx, E_BUSY, "every connection to the database was busy for too long");
}

static void
return_reader(struct sqlite *q, struct reader *r)
{
	scoped_lock held = lock(&q->mutex);

	r->next = q->idle;
	q->idle = r;
	CHECK(pthread_cond_signal(&q->returned) == 0);
}

static status
read_on(struct ctx *cx, struct tx *tx, struct connection *c)
{
	int rc = connection_do(c, VERB_BEGIN);
	status s;

	if (rc != SQLITE_OK)
		return connection_fail(cx, c, rc);
	s = tx_call(cx, tx, c);
	if (connection_lost_transaction(c))
		return s;
	rc = connection_do(c, VERB_ROLLBACK);
	return rc != SQLITE_OK && s == OK ? connection_fail(cx, c, rc) : s;
}

static status
sqlite_read(struct ctx *cx, struct tx *tx)
{
	struct sqlite *q = self(tx->db);
	struct reader *r = take_reader(cx, q);
	status s;

	if (!r)
		return no_reader(cx);
	s = read_on(cx, tx, &r->connection);
	return_reader(q, r);
	return s;
}

/* --- preparing --- */

static status
prepare_on(struct ctx *cx, const struct db *db, struct connection *c, bool writes)
{
	for (size_t i = 0; i < db->catalog.sql_count; i++)
		if (writes || !db->catalog.sql[i]->writes)
			TRY(connection_prepare(cx, c, db->catalog.sql[i]));
	return OK;
}

static status /* in the writer's thread, because the connection is its own */
prepare_tx(struct ctx *cx, void *arg)
{
	return prepare_on(cx, arg, cx->tx->connection, true);
}

static status
prepare_readers(struct ctx *cx, struct db *db, struct sqlite *q)
{
	struct reader *taken = NULL;
	status s = OK;

	for (size_t i = 0; s == OK && i < q->reader_count; i++) {
		struct reader *r = take_reader(cx, q);

		s = r ? prepare_on(cx, db, &r->connection, false) : no_reader(cx);
		if (!r)
			break;
		r->next = taken; /* kept until all are done, else we would meet the same one again */
		taken = r;
	}
	while (taken) {
		struct reader *next = taken->next;

		return_reader(q, taken);
		taken = next;
	}
	return s;
}

static status
sqlite_prepare(struct ctx *cx, struct db *db)
{
	TRY(tx_run(cx, prepare_tx, db));
	return prepare_readers(cx, db, self(db));
}

/* --- inside a transaction --- */

static status
sqlite_execute(struct ctx *cx, struct tx *tx, const struct sql *s, const struct db_value *args, size_t count,
	struct row_sink *sink)
{
	(void)count;
	return connection_execute(cx, tx->connection, s, args, sink);
}

static status
sqlite_savepoint(struct ctx *cx, struct tx *tx)
{
	struct connection *c = tx->connection;
	int rc = connection_do(c, VERB_SAVE);

	return rc == SQLITE_OK ? OK : connection_fail(cx, c, rc);
}

static status
sqlite_undo(struct ctx *cx, struct tx *tx)
{
	struct connection *c = tx->connection;
	int rc;

	if (connection_lost_transaction(c))
		return fail(cx, E_UNAVAILABLE, "the transaction was ended early");
	rc = connection_do(c, VERB_UNDO);
	if (rc == SQLITE_OK)
		rc = connection_do(c, VERB_RELEASE);
	return rc == SQLITE_OK ? OK : connection_fail(cx, c, rc);
}

static status
sqlite_keep(struct ctx *cx, struct tx *tx)
{
	struct connection *c = tx->connection;
	int rc = connection_do(c, VERB_RELEASE);

	return rc == SQLITE_OK ? OK : connection_fail(cx, c, rc);
}

/* The wall clock may jump back; what decides about expiry may not. */
static status
sqlite_now(struct ctx *cx, struct tx *tx, int64_t *out_us)
{
	_Atomic int64_t *newest = &self(tx->db)->newest_us;
	int64_t now_us = clock_now_us();
	int64_t seen_us = atomic_load(newest);

	(void)cx;
	while (seen_us < now_us && !atomic_compare_exchange_weak(newest, &seen_us, now_us))
		;
	*out_us = seen_us > now_us ? seen_us : now_us;
	return OK;
}

/* The directory's lock keeps other processes out and the writer runs one function at a time. */
static status
sqlite_migrate_lock(struct ctx *cx, struct tx *tx)
{
	(void)cx;
	(void)tx;
	return OK;
}

static status
sqlite_script(struct ctx *cx, struct tx *tx, const struct migration *m)
{
	struct connection *c = tx->connection;
	int rc = sqlite3_exec(c->handle, m->sqlite, NULL, NULL, NULL);

	if (rc == SQLITE_ERROR)
		return fail(cx, E_INTERNAL, "migration %d (%s): %s", m->version, m->name,
			sqlite3_errmsg(c->handle));
	return rc == SQLITE_OK ? OK : connection_fail(cx, c, rc);
}

struct writer *
sqlite_writer(struct db *db)
{
	return &self(db)->writer;
}

const struct engine engine_sqlite = {
	.name = "sqlite",
	.open = sqlite_open,
	.close = sqlite_close,
	.version = sqlite_version,
	.transact = sqlite_transact,
	.read = sqlite_read,
	.prepare = sqlite_prepare,
	.execute = sqlite_execute,
	.savepoint = sqlite_savepoint,
	.undo = sqlite_undo,
	.keep = sqlite_keep,
	.now = sqlite_now,
	.migrate_lock = sqlite_migrate_lock,
	.script = sqlite_script,
};
