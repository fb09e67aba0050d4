-- min_compatible: 1
-- This installation as a whole. One row, which the check on its key enforces.

CREATE TABLE installation (
	one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	created_at BIGINT NOT NULL -- microseconds since 1970
);
