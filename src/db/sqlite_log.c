/* SPDX-License-Identifier: Apache-2.0 */
#include "db/sqlite.h"

#define LOG_INDEX_VERSION 3007000
#define LOG_INDEX_BYTES	  32768 /* one region of it */
#define LOG_HEAD_BYTES	  32
#define FRAME_HEAD_BYTES  24

/* The first of the two is written last, so it is read first; they are equal when nobody is writing. */
static int
read_index(sqlite3_file *file, struct log_index *out)
{
	struct log_index second;
	const volatile uint32_t *from;
	volatile void *map = NULL;
	int rc = file->pMethods->xShmMap(file, 0, LOG_INDEX_BYTES, 0, &map);

	if (rc != SQLITE_OK || !map)
		return rc == SQLITE_OK ? SQLITE_PROTOCOL : rc;
	from = map;
	for (size_t i = 0; i < LOG_INDEX_WORDS; i++)
		out->words[i] = from[i];
	file->pMethods->xShmBarrier(file);
	for (size_t i = 0; i < LOG_INDEX_WORDS; i++)
		second.words[i] = from[LOG_INDEX_WORDS + i];
	return memcmp(out, &second, sizeof(second)) == 0 && out->ready && out->version == LOG_INDEX_VERSION
		       ? SQLITE_OK
		       : SQLITE_PROTOCOL;
}

int
connection_log(struct connection *c, struct log_index *out)
{
	sqlite3_file *file = NULL;
	int rc = sqlite3_file_control(c->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	return rc == SQLITE_OK ? read_index(file, out) : rc;
}

static int
cut(sqlite3_file *log, sqlite3_int64 length)
{
	sqlite3_int64 now;
	int rc = log->pMethods->xFileSize(log, &now);

	if (rc != SQLITE_OK || now <= length)
		return rc;
	rc = log->pMethods->xTruncate(log, length);
	return rc == SQLITE_OK ? log->pMethods->xSync(log, SQLITE_SYNC_FULL) : rc;
}

int
connection_cut_log(struct connection *c)
{
	sqlite3_file *log = NULL;
	struct log_index index;
	sqlite3_int64 frame;
	int rc = sqlite3_file_control(c->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);

	if (rc == SQLITE_OK)
		rc = connection_log(c, &index);
	if (rc != SQLITE_OK)
		return rc;
	frame = FRAME_HEAD_BYTES + (index.page_size == 1 ? 65536 : index.page_size);
	return cut(log, LOG_HEAD_BYTES + index.frames * frame);
}
