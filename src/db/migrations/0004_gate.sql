-- min_compatible: 3
-- What an agent may call, how often, and what was called (PRODUCT section 2).

CREATE TABLE agent_tool (
	org_id TEXT NOT NULL,
	agent_id TEXT NOT NULL,
	tool TEXT NOT NULL,
	provider TEXT NOT NULL,
	tier TEXT NOT NULL CHECK (tier IN ('always_allow', 'needs_approval', 'blocked')),
	PRIMARY KEY (org_id, agent_id, tool),
	FOREIGN KEY (org_id, agent_id) REFERENCES principal (org_id, principal_id)
);

CREATE TABLE tool_override (
	org_id TEXT NOT NULL,
	user_id TEXT NOT NULL,
	agent_id TEXT NOT NULL,
	tool TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, user_id, agent_id, tool),
	FOREIGN KEY (org_id, user_id) REFERENCES principal (org_id, principal_id),
	FOREIGN KEY (org_id, agent_id) REFERENCES principal (org_id, principal_id)
);

-- `cap` rows per principal; taking one moves taken_at. There is no sum to race on (TL-9).
CREATE TABLE budget_slot (
	org_id TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	slot BIGINT NOT NULL,
	taken_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, principal_id, slot),
	FOREIGN KEY (org_id, principal_id) REFERENCES principal (org_id, principal_id)
);
CREATE INDEX budget_slot_by_age ON budget_slot (org_id, principal_id, taken_at);

-- Every call, arguments by hash only (AU-3).
CREATE TABLE call (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	call_id TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	token_id TEXT,
	transport TEXT NOT NULL,
	tool TEXT NOT NULL,
	effect TEXT NOT NULL,
	status TEXT NOT NULL, -- executed, failed, proposed
	args_hash TEXT NOT NULL,
	proposal_id TEXT,
	called_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, call_id)
);
CREATE INDEX call_by_principal ON call (org_id, principal_id, call_id);
