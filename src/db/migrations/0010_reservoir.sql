-- min_compatible: 8
-- A sample of the contexts that environments evaluate, where they opted in (docs/flags.md): encrypted, bounded, and gone
-- when the row of its key is.

CREATE TABLE flag_sampling (
	org_id TEXT NOT NULL,
	environment_id TEXT NOT NULL,
	percent BIGINT NOT NULL CHECK (percent BETWEEN 1 AND 100),
	keep_fields TEXT NOT NULL, -- JSON: an array of names, or null: all
	wrapped BYTEA NOT NULL, -- the key of its samples, under the key file's
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, environment_id),
	FOREIGN KEY (org_id, environment_id) REFERENCES environment (org_id, environment_id)
);

-- slot is a keyed hash of the target, so it has one row however often it asks; without a target it is random. The rows
-- with the smallest slots are kept: a fair sample of all targets that were seen, and the same on every server.
CREATE TABLE flag_sample (
	org_id TEXT NOT NULL,
	environment_id TEXT NOT NULL,
	slot BIGINT NOT NULL,
	target TEXT NOT NULL, -- a keyed hash of who it is about, to erase it by; or empty
	taken_at BIGINT NOT NULL,
	body BYTEA NOT NULL,
	PRIMARY KEY (org_id, environment_id, slot),
	FOREIGN KEY (org_id, environment_id) REFERENCES flag_sampling (org_id, environment_id) ON DELETE CASCADE
);
