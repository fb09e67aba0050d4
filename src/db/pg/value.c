/* SPDX-License-Identifier: Apache-2.0 */
#include "db/pg/value.h"

#include "base/check.h"

#include <endian.h>

static const struct {
	Oid oid;
	enum pgkind kind;
} kinds[] = {
	{ 16, PGKIND_BOOL },
	{ 17, PGKIND_BYTES },
	{ 19, PGKIND_TEXT },
	{ PG_OID_INT8, PGKIND_INT },
	{ 21, PGKIND_INT },
	{ 23, PGKIND_INT },
	{ 25, PGKIND_TEXT },
	{ 1042, PGKIND_TEXT },
	{ 1043, PGKIND_TEXT },
	{ 2278, PGKIND_VOID },
};

enum pgkind
pgvalue_kind(Oid oid)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].oid == oid)
			return kinds[i].kind;
	}
	return PGKIND_NONE;
}

static bool
read_number(const char *bytes, int width, int64_t *out)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (width) {
	case 1:
		*out = bytes[0] != 0;
		return true;
	case 2:
		memcpy(&u16, bytes, sizeof(u16));
		*out = (int16_t)be16toh(u16);
		return true;
	case 4:
		memcpy(&u32, bytes, sizeof(u32));
		*out = (int32_t)be32toh(u32);
		return true;
	case 8:
		memcpy(&u64, bytes, sizeof(u64));
		*out = (int64_t)be64toh(u64);
		return true;
	default:
		return false;
	}
}

bool
pgvalue_read(const PGresult *r, int row, int column, struct db_value *out)
{
	const char *bytes = PQgetvalue(r, row, column);
	int length = PQgetlength(r, row, column);
	str text = { bytes, (size_t)length };

	*out = NIL;
	if (PQgetisnull(r, row, column))
		return true;
	switch (pgvalue_kind(PQftype(r, column))) {
	case PGKIND_INT:
	case PGKIND_BOOL:
		out->type = DB_INT;
		return read_number(bytes, length, &out->number);
	case PGKIND_TEXT:
		*out = TEXT(text);
		return true;
	case PGKIND_BYTES:
		*out = BLOB(text);
		return true;
	case PGKIND_VOID:
		return true;
	case PGKIND_NONE:
		break;
	}
	return false;
}

bool
pgvalue_bind(struct pgbinding *b, int i, enum pgkind kind, const struct db_value *v)
{
	switch (v->type) {
	case DB_NULL:
		b->values[i] = NULL;
		b->formats[i] = 0;
		return true;
	case DB_INT:
		b->digits[i][STR_INT_ROOM] = 0;
		b->values[i] = str_of_int(v->number, b->digits[i]).ptr;
		b->formats[i] = 0;
		return kind == PGKIND_INT || kind == PGKIND_BOOL;
	case DB_TEXT:
	case DB_BLOB:
		CHECK(v->bytes.len <= INT32_MAX);
		b->values[i] = v->bytes.len ? v->bytes.ptr : "";
		b->lengths[i] = (int)v->bytes.len;
		b->formats[i] = 1;
		return kind == (v->type == DB_TEXT ? PGKIND_TEXT : PGKIND_BYTES);
	}
	return false;
}
