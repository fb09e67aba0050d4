-- min_compatible: 3
-- Who there is and what they may do (PRODUCT section 1). Every row has an organization, and
-- every key begins with it: a row of another tenant cannot be reached by forgetting a condition.

-- Which key file the servers of this database share (core/keys.h); empty until the first of them starts.
ALTER TABLE installation ADD COLUMN keys TEXT NOT NULL DEFAULT '';
-- The set-up link of a first start, by hash, and until when it opens something.
ALTER TABLE installation ADD COLUMN setup_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE installation ADD COLUMN setup_until BIGINT NOT NULL DEFAULT 0;

CREATE TABLE org (
	org_id TEXT NOT NULL PRIMARY KEY,
	slug TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	settings TEXT NOT NULL, -- JSON: policy rules, compliance modes
	policy_version BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE TABLE project (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	project_id TEXT NOT NULL,
	slug TEXT NOT NULL,
	name TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, project_id),
	UNIQUE (org_id, slug)
);

CREATE TABLE environment (
	org_id TEXT NOT NULL,
	environment_id TEXT NOT NULL,
	project_id TEXT NOT NULL,
	slug TEXT NOT NULL,
	name TEXT NOT NULL,
	production BIGINT NOT NULL CHECK (production IN (0, 1)),
	approval_gate BIGINT NOT NULL CHECK (approval_gate IN (0, 1)),
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, environment_id),
	UNIQUE (org_id, project_id, slug),
	FOREIGN KEY (org_id, project_id) REFERENCES project (org_id, project_id)
);

CREATE TABLE principal (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	principal_id TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('user', 'agent', 'service')),
	name TEXT NOT NULL,
	email TEXT, -- people only; lower case
	domain TEXT NOT NULL, -- agents: the S3 domain they propose in; '' otherwise
	password TEXT, -- Argon2id; NULL: no password sign-in
	disabled_at BIGINT,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, principal_id),
	UNIQUE (org_id, email)
);

CREATE TABLE role (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	role_id TEXT NOT NULL,
	name TEXT NOT NULL,
	level TEXT NOT NULL, -- '' or one of the five levels: the whole template
	rules TEXT NOT NULL, -- JSON array of rules
	builtin BIGINT NOT NULL CHECK (builtin IN (0, 1)),
	PRIMARY KEY (org_id, role_id),
	UNIQUE (org_id, name)
);

CREATE TABLE principal_role (
	org_id TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	role_id TEXT NOT NULL,
	PRIMARY KEY (org_id, principal_id, role_id),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, role_id) REFERENCES role (org_id, role_id)
);

CREATE TABLE team (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	team_id TEXT NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (org_id, team_id),
	UNIQUE (org_id, name)
);

CREATE TABLE team_member (
	org_id TEXT NOT NULL,
	team_id TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	PRIMARY KEY (org_id, team_id, principal_id),
	FOREIGN KEY (org_id, team_id) REFERENCES team (org_id, team_id),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id)
);

-- What a team may do with one resource; team_only resources are closed to global rules.
CREATE TABLE team_grant (
	org_id TEXT NOT NULL,
	team_id TEXT NOT NULL,
	resource_type TEXT NOT NULL,
	resource_id TEXT NOT NULL,
	verb TEXT NOT NULL CHECK (verb IN ('read', 'manage')),
	PRIMARY KEY (org_id, resource_type, resource_id, team_id),
	FOREIGN KEY (org_id, team_id) REFERENCES team (org_id, team_id)
);

CREATE TABLE team_only (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	resource_type TEXT NOT NULL,
	resource_id TEXT NOT NULL,
	PRIMARY KEY (org_id, resource_type, resource_id)
);

-- Only the hash is stored (ID-5). A token that was delegated names the person and dies with them.
CREATE TABLE token (
	org_id TEXT NOT NULL,
	token_id TEXT NOT NULL,
	hash TEXT NOT NULL UNIQUE, -- SHA-256, hex
	hint TEXT NOT NULL, -- kind and the last four characters, for lists
	name TEXT NOT NULL,
	principal_id TEXT NOT NULL, -- whose actions these are
	delegator_id TEXT, -- the person who minted it for an agent
	parent_id TEXT, -- the token it was minted with
	level TEXT NOT NULL,
	rules TEXT NOT NULL, -- JSON array, expanded; never '*'
	environments TEXT NOT NULL, -- JSON array of ids, or '"all"'
	keys TEXT NOT NULL, -- JSON array of patterns, or '"all"'
	verbs BIGINT NOT NULL, -- bits; 0: those of the rules
	production_verbs BIGINT NOT NULL, -- the same in production environments; 0: as verbs (ID-7)
	rate_per_minute BIGINT NOT NULL CHECK (rate_per_minute BETWEEN 1 AND 100000),
	approval_required BIGINT NOT NULL CHECK (approval_required IN (0, 1)),
	auto_mode BIGINT NOT NULL CHECK (auto_mode IN (0, 1)),
	cidrs TEXT NOT NULL, -- JSON array; empty: any address
	vote_until BIGINT, -- a personal token that may vote (AP-3)
	ttl_us BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT,
	last_used_at BIGINT,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, token_id),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, delegator_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, parent_id) REFERENCES token (org_id, token_id)
);
CREATE INDEX token_by_delegator ON token (org_id, delegator_id);
CREATE INDEX token_by_principal ON token (org_id, principal_id);
CREATE INDEX token_by_parent ON token (org_id, parent_id);

CREATE TABLE session (
	org_id TEXT NOT NULL,
	session_id TEXT NOT NULL,
	hash TEXT NOT NULL UNIQUE,
	csrf_hash TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	ended_at BIGINT,
	PRIMARY KEY (org_id, session_id),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id)
);
-- Tries to sign in, by a hash of address and person: not a tenant's, since nobody is known yet.
CREATE TABLE signin (
	who TEXT NOT NULL PRIMARY KEY, -- SHA-256, hex
	tries BIGINT NOT NULL,
	since BIGINT NOT NULL
);
CREATE INDEX session_by_principal ON session (org_id, principal_id);
