-- min_compatible: 8
-- Flags, configs and segments (PRODUCT section 7): what they are per project, what they say per environment.

ALTER TABLE project ADD COLUMN target_field TEXT NOT NULL DEFAULT ''; -- who a context is about; '': userId
ALTER TABLE project ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0; -- 0: never changed
-- Of the ruleset: every change of what it answers adds one.
ALTER TABLE environment ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE environment ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;

-- Flags and configs share their names, so their space is one; segments have another.
CREATE TABLE flag_item (
	org_id TEXT NOT NULL,
	project_id TEXT NOT NULL,
	space TEXT NOT NULL CHECK (space IN ('value', 'segment')),
	key TEXT COLLATE "C" NOT NULL, -- lists are in its order
	item_id TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('flag', 'config', 'segment')),
	type TEXT NOT NULL, -- '' for segments
	description TEXT NOT NULL,
	schema TEXT NOT NULL, -- JSON Schema of a config's values, or ''
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, project_id, space, key),
	FOREIGN KEY (org_id, project_id) REFERENCES project (org_id, project_id)
);

-- What an environment's ruleset says of one name, from a version until the next change of it: doc is the
-- entry as the ruleset document has it (domain/flag/ruleset.h), without what only the identity knows (its
-- description). The ruleset of any version is the rows that are valid then. until_version NULL: now. A kind
-- 'target' row (its key is '') has the name of the target field, as it is.
CREATE TABLE flag_state (
	org_id TEXT NOT NULL,
	environment_id TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('flag', 'config', 'segment', 'target')),
	key TEXT COLLATE "C" NOT NULL,
	version BIGINT NOT NULL,
	valid_from BIGINT NOT NULL,
	until_version BIGINT,
	valid_until BIGINT,
	doc TEXT NOT NULL,
	PRIMARY KEY (org_id, environment_id, kind, key, version),
	FOREIGN KEY (org_id, environment_id) REFERENCES environment (org_id, environment_id)
);
-- At most one state of a name is live, and the live ones are found without those that were.
CREATE UNIQUE INDEX flag_state_live ON flag_state (org_id, environment_id, kind, key) WHERE until_version IS NULL;
CREATE INDEX flag_state_by_version ON flag_state (org_id, environment_id, version);
CREATE INDEX flag_state_by_end ON flag_state (org_id, environment_id, until_version);
CREATE INDEX flag_state_by_age ON flag_state (valid_until);
