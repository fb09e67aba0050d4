-- min_compatible: 1
-- One row for each migration that has been applied; db/migrate.c writes it in the migration's
-- own transaction. It has no history before this file: this one makes the table it is noted in.

CREATE TABLE schema_state (
	version BIGINT NOT NULL PRIMARY KEY,
	min_compatible BIGINT NOT NULL, -- the oldest schema version a binary may know and still work
	name TEXT NOT NULL,
	applied_at BIGINT NOT NULL -- microseconds since 1970
);
