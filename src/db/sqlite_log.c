/* SPDX-License-Identifier: Apache-2.0 */
#include "db/sqlite.h"

/* The head of the log's index (sqlite.org/walformat.html). */
struct log_index {
	uint32_t version, unused, change;
	uint8_t ready, big_endian;
	uint16_t page_size; /* 1: 65536 */
	uint32_t frames;    /* of committed transactions */
	uint32_t rest[7];
};
_Static_assert(sizeof(struct log_index) == 48, "the head of the log's index has 48 bytes");

#define LOG_INDEX_WORDS	  (sizeof(struct log_index) / sizeof(uint32_t))
#define LOG_INDEX_VERSION 3007000
#define LOG_INDEX_BYTES	  32768 /* one region of it */
#define LOG_HEAD_BYTES	  32
#define FRAME_HEAD_BYTES  24

/* The head is there twice, and the two copies are equal when nobody is writing. The first is written last, so it is read
 * first. SQLITE_PROTOCOL: somebody is writing, or the format is another one. */
static int
read_index(sqlite3_file *file, struct log_index *out)
{
	uint32_t first[LOG_INDEX_WORDS], second[LOG_INDEX_WORDS];
	const volatile uint32_t *from;
	volatile void *map = NULL;
	int rc = file->pMethods->xShmMap(file, 0, LOG_INDEX_BYTES, 0, &map);

	if (rc != SQLITE_OK || !map)
		return rc == SQLITE_OK ? SQLITE_PROTOCOL : rc;
	from = map;
	for (size_t i = 0; i < LOG_INDEX_WORDS; i++)
		first[i] = from[i];
	file->pMethods->xShmBarrier(file);
	for (size_t i = 0; i < LOG_INDEX_WORDS; i++)
		second[i] = from[LOG_INDEX_WORDS + i];
	memcpy(out, first, sizeof(*out));
	return memcmp(first, second, sizeof(second)) == 0 && out->ready && out->version == LOG_INDEX_VERSION
		       ? SQLITE_OK
		       : SQLITE_PROTOCOL;
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
	sqlite3_file *file = NULL, *log = NULL;
	struct log_index index;
	sqlite3_int64 frame;
	int rc = sqlite3_file_control(c->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(c->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (rc == SQLITE_OK)
		rc = read_index(file, &index);
	if (rc != SQLITE_OK)
		return rc;
	frame = FRAME_HEAD_BYTES + (index.page_size == 1 ? 65536 : index.page_size);
	return cut(log, LOG_HEAD_BYTES + index.frames * frame);
}
