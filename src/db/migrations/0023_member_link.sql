-- min_compatible: 22
-- One-time links by which a person sets their own password (ID-8), and when an operator last ran `countersign recover`.

-- At most one link for a person: a new one replaces the one before.
CREATE TABLE member_link (
	org_id TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	hash TEXT NOT NULL UNIQUE, -- SHA-256, hex
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, principal_id),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id)
);

-- Everybody is shown for 30 days that access was recovered. NULL: never.
ALTER TABLE org ADD COLUMN recovered_at BIGINT;
