-- min_compatible: 13
-- Where approved commands go by webhook (EX-1, EX-2).

CREATE TABLE connection (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	connection_id TEXT NOT NULL,
	name TEXT NOT NULL,
	url TEXT NOT NULL,
	created_by TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	disabled_at BIGINT,
	PRIMARY KEY (org_id, connection_id),
	UNIQUE (org_id, name)
);
