-- min_compatible: 12
-- Our own authorization server (ID-5): clients, what people agreed to, and what came of it.

-- A token of a consent is good at one resource only, and an older binary would not look. '': a token as ever.
ALTER TABLE token ADD COLUMN audience TEXT NOT NULL DEFAULT '';
ALTER TABLE token ADD COLUMN client_id TEXT NOT NULL DEFAULT '';

-- Clients that registered themselves: not a tenant's, since nobody is known yet.
CREATE TABLE oauth_client (
	client_id TEXT NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	redirect_uris TEXT NOT NULL, -- JSON array
	created_at BIGINT NOT NULL,
	used_at BIGINT -- when somebody first agreed to it; NULL: forgotten after a day
);
CREATE INDEX oauth_client_unused ON oauth_client (created_at) WHERE used_at IS NULL;

-- Registrations, by a hash of the address.
CREATE TABLE oauth_try (
	who TEXT NOT NULL PRIMARY KEY, -- SHA-256, hex
	tries BIGINT NOT NULL,
	since BIGINT NOT NULL
);

-- The agent that a client is for a person.
CREATE TABLE oauth_agent (
	org_id TEXT NOT NULL,
	person_id TEXT NOT NULL,
	client_id TEXT NOT NULL,
	agent_id TEXT NOT NULL,
	PRIMARY KEY (org_id, person_id, client_id),
	FOREIGN KEY (org_id, person_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, agent_id) REFERENCES principal (org_id, principal_id)
);

-- One consent: the code it gave, and the one token that comes of it and changes its secret with each refresh.
CREATE TABLE oauth_grant (
	org_id TEXT NOT NULL,
	grant_id TEXT NOT NULL,
	person_id TEXT NOT NULL,
	agent_id TEXT NOT NULL,
	client_id TEXT NOT NULL,
	client_name TEXT NOT NULL,
	redirect_uri TEXT NOT NULL,
	resource TEXT NOT NULL,
	scope TEXT NOT NULL,
	code_hash TEXT NOT NULL UNIQUE, -- SHA-256, hex
	challenge TEXT NOT NULL, -- PKCE, S256
	code_until BIGINT NOT NULL,
	code_used_at BIGINT,
	token_id TEXT, -- NULL: the code was not used yet
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT,
	PRIMARY KEY (org_id, grant_id),
	FOREIGN KEY (org_id, person_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, agent_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, token_id) REFERENCES token (org_id, token_id)
);
CREATE INDEX oauth_grant_by_person ON oauth_grant (org_id, person_id);
CREATE INDEX oauth_grant_by_token ON oauth_grant (org_id, token_id);

-- Refresh tokens. A used one is kept as long as it would have lived: who brings it again has stolen it, or was robbed.
CREATE TABLE oauth_refresh (
	hash TEXT NOT NULL PRIMARY KEY, -- SHA-256, hex
	org_id TEXT NOT NULL,
	grant_id TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	used_at BIGINT,
	FOREIGN KEY (org_id, grant_id) REFERENCES oauth_grant (org_id, grant_id)
);
CREATE INDEX oauth_refresh_by_end ON oauth_refresh (org_id, expires_at);
