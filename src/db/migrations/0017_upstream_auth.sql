-- min_compatible: 13
-- Other MCP servers that want OAuth (EX-3): who we are there, and what was authorized.

ALTER TABLE upstream ADD COLUMN oauth TEXT NOT NULL DEFAULT ''; -- JSON {clientId, issuer, grant, scope}, as an admin said; '': nothing
ALTER TABLE upstream ADD COLUMN auth_state TEXT NOT NULL DEFAULT '' CHECK (auth_state IN ('', 'needed', 'given'));

-- One row for a server that was asked for it. Secrets are in the safe; '' where there is none. Rows are read and changed
-- while the upstream's row is locked.
CREATE TABLE upstream_auth (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	upstream_id TEXT NOT NULL,
	client_secret_id TEXT NOT NULL, -- who we are at its authorization server
	tokens_secret_id TEXT NOT NULL,
	flow_secret_id TEXT NOT NULL, -- of somebody who is on the way
	flow_state TEXT NOT NULL, -- SHA-256, hex, of the state that they come back with
	flow_by TEXT NOT NULL,
	flow_until BIGINT NOT NULL,
	fence BIGINT NOT NULL, -- whose turn it is to change the tokens ...
	turn_until BIGINT NOT NULL, -- ... and until when; 0: nobody's
	PRIMARY KEY (org_id, upstream_id)
);
CREATE INDEX upstream_auth_by_state ON upstream_auth (org_id, flow_state);
