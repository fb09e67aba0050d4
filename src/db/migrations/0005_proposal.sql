-- min_compatible: 3
-- Proposals and votes (PRODUCT sections 3 and 4). Small and mutable; each row carries a MAC under a key that is
-- not in this database, so a row that was edited by hand is noticed before it is acted on.

CREATE TABLE proposal (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	proposal_id TEXT NOT NULL,
	call_id TEXT NOT NULL,
	state TEXT NOT NULL,
	tool TEXT NOT NULL,
	tool_version BIGINT NOT NULL,
	effect TEXT NOT NULL,
	proposer_id TEXT NOT NULL,
	proposer_kind TEXT NOT NULL,
	delegator_id TEXT,
	token_id TEXT,
	agent_id TEXT,
	transport TEXT NOT NULL,
	payload TEXT NOT NULL, -- canonical JSON
	payload_hash TEXT NOT NULL,
	card TEXT NOT NULL, -- canonical JSON
	view_hash TEXT NOT NULL,
	summary TEXT NOT NULL,
	risk TEXT NOT NULL,
	environment_id TEXT,
	resource_type TEXT NOT NULL,
	resource_key TEXT NOT NULL,
	votes_needed BIGINT NOT NULL,
	four_eyes BIGINT NOT NULL CHECK (four_eyes IN (0, 1)),
	policy_version BIGINT NOT NULL,
	provenance TEXT NOT NULL, -- JSON: prompt version and hash, model, provider
	idempotency_key TEXT,
	request_hash TEXT NOT NULL, -- of the whole request, for idempotent replay
	salt TEXT NOT NULL, -- of the nonce
	minted_id TEXT NOT NULL,
	minted_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	fence BIGINT NOT NULL,
	deadline_at BIGINT,
	applier_id TEXT,
	applied_audit_id TEXT,
	applied_version BIGINT,
	result TEXT,
	error TEXT,
	resolved_at BIGINT,
	changed_at BIGINT NOT NULL, -- when its state last moved: for those who follow
	mac TEXT NOT NULL,
	PRIMARY KEY (org_id, proposal_id),
	UNIQUE (org_id, proposer_id, idempotency_key),
	FOREIGN KEY (org_id, proposer_id) REFERENCES principal (org_id, principal_id)
);
CREATE INDEX proposal_by_state ON proposal (org_id, state, proposal_id);
CREATE INDEX proposal_by_change ON proposal (org_id, changed_at);
CREATE INDEX proposal_by_expiry ON proposal (org_id, state, expires_at);

CREATE TABLE vote (
	org_id TEXT NOT NULL,
	proposal_id TEXT NOT NULL,
	person_id TEXT NOT NULL,
	decision TEXT NOT NULL CHECK (decision IN ('approved', 'denied', 'denied_with_reason')),
	reason TEXT,
	view_hash TEXT NOT NULL,
	via_token BIGINT NOT NULL CHECK (via_token IN (0, 1)),
	voted_at BIGINT NOT NULL,
	mac TEXT NOT NULL,
	PRIMARY KEY (org_id, proposal_id, person_id),
	FOREIGN KEY (org_id, proposal_id) REFERENCES proposal (org_id, proposal_id),
	FOREIGN KEY (org_id, person_id) REFERENCES principal (org_id, principal_id)
);

CREATE INDEX vote_by_time ON vote (org_id, voted_at);

CREATE TABLE note (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	note_id TEXT NOT NULL,
	title TEXT NOT NULL,
	text TEXT NOT NULL,
	version BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, note_id)
);
