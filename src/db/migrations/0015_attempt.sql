-- min_compatible: 13
-- What was tried outside (EX-4): one row for each claim of a proposal whose tool is not ours. It is there before anything
-- is sent, and says afterwards what is known. Like a proposal it carries a MAC under a key that is not in this database.

CREATE TABLE attempt (
	org_id TEXT NOT NULL,
	attempt_id TEXT NOT NULL, -- the command's id
	proposal_id TEXT NOT NULL,
	fence BIGINT NOT NULL,
	applier_id TEXT NOT NULL,
	approvals TEXT NOT NULL, -- JSON: who had agreed, and when
	claimed_at BIGINT NOT NULL,
	deadline_at BIGINT NOT NULL, -- after this and some slack it is unknown
	outcome TEXT NOT NULL CHECK (outcome IN ('open', 'waiting', 'done', 'refused', 'not_sent', 'lost')),
	sent BIGINT NOT NULL, -- bytes that may have left
	http_status BIGINT NOT NULL,
	result TEXT,
	why TEXT,
	ended_at BIGINT,
	evidence TEXT, -- JSON: what came too late, and what probes said
	settled_by TEXT,
	settled_reason TEXT,
	settled_at BIGINT,
	mac TEXT NOT NULL,
	PRIMARY KEY (org_id, attempt_id),
	UNIQUE (org_id, proposal_id, fence),
	FOREIGN KEY (org_id, proposal_id) REFERENCES proposal (org_id, proposal_id)
);
