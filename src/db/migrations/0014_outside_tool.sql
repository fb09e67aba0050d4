-- min_compatible: 13
-- Tools that are not ours: what others offer, and what an admin has said about it (PRODUCT section 5).

-- What a credential is, under a key outside the database: boxed is keys_box(keys.seal), bound to organization and id.
CREATE TABLE secret (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	secret_id TEXT NOT NULL,
	boxed BYTEA NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, secret_id)
);

-- Another MCP server whose tools are offered here.
CREATE TABLE upstream (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	upstream_id TEXT NOT NULL,
	name TEXT NOT NULL, -- the middle of its tools' names
	kind TEXT NOT NULL CHECK (kind IN ('http', 'stdio')),
	url TEXT NOT NULL, -- of http
	networks TEXT NOT NULL, -- that it may be in besides the public one, separated by spaces
	program TEXT NOT NULL, -- of stdio, JSON: {argv, paths, directory, network}
	secret_id TEXT NOT NULL, -- JSON {bearer, headers, env}; '' where it needs none
	secret_names TEXT NOT NULL, -- what is in it, for people: "bearer", "header X-Key", "env TOKEN"
	version BIGINT NOT NULL,
	created_by TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	disabled BIGINT NOT NULL CHECK (disabled IN (0, 1)),
	looked_at BIGINT NOT NULL, -- when its tools were last asked for; 0: never
	problem TEXT NOT NULL, -- why that failed; '' where it did not
	PRIMARY KEY (org_id, upstream_id),
	UNIQUE (org_id, name)
);
CREATE INDEX upstream_by_look ON upstream (disabled, looked_at);

CREATE TABLE outside_tool (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	name TEXT NOT NULL, -- mcp__files__write_file, webhook.sendInvoice
	provider TEXT NOT NULL CHECK (provider IN ('mcp', 'webhook')),
	source_id TEXT NOT NULL, -- the upstream's or the connection's
	source TEXT NOT NULL, -- its name
	remote TEXT NOT NULL, -- what the tool is called there
	state TEXT NOT NULL CHECK (state IN ('quarantined', 'accepted', 'gone')), -- offered only when accepted
	version BIGINT NOT NULL, -- one more each time an admin accepts another definition or says something else of it
	title TEXT NOT NULL,
	doc TEXT NOT NULL,
	effect TEXT NOT NULL CHECK (effect IN ('read', 'mutate', 'destructive')),
	category TEXT NOT NULL CHECK (category IN ('A', 'B', 'C')),
	domain TEXT NOT NULL,
	target TEXT NOT NULL,
	in_schema TEXT NOT NULL,
	out_schema TEXT NOT NULL,
	rollback BIGINT NOT NULL CHECK (rollback IN (0, 1)),
	financial BIGINT NOT NULL CHECK (financial IN (0, 1)),
	personal_data BIGINT NOT NULL CHECK (personal_data IN (0, 1)),
	phi BIGINT NOT NULL CHECK (phi IN (0, 1)),
	failure TEXT NOT NULL,
	contract TEXT NOT NULL CHECK (contract IN ('idempotent', 'keyed', 'probe', 'blind')),
	tier TEXT NOT NULL CHECK (tier IN ('always_allow', 'needs_approval', 'blocked')), -- of agents for which nothing is said
	deadline_ms BIGINT NOT NULL,
	options TEXT NOT NULL, -- JSON, of the provider
	definition TEXT NOT NULL, -- as it was accepted, canonical JSON; '' before
	definition_hash TEXT NOT NULL,
	seen TEXT NOT NULL, -- as it was last seen
	seen_hash TEXT NOT NULL,
	seen_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, name)
);
-- How much the last calls of such a tool named.
CREATE INDEX proposal_by_outside_tool ON proposal (org_id, tool, proposal_id) WHERE substr(tool, 1, 5) = 'mcp__';

CREATE INDEX outside_tool_by_source ON outside_tool (org_id, source_id, name);

-- What can be asked for is remembered with the rights of who asks, under the same epoch (0013).
-- engine: sqlite
CREATE TRIGGER rights_outside_tool_insert AFTER INSERT ON outside_tool
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = NEW.org_id; END;
CREATE TRIGGER rights_outside_tool_update AFTER UPDATE ON outside_tool
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id IN (OLD.org_id, NEW.org_id); END;
CREATE TRIGGER rights_outside_tool_delete AFTER DELETE ON outside_tool
BEGIN UPDATE rights_epoch SET epoch = random() WHERE org_id = OLD.org_id; END;

-- engine: postgres
CREATE TRIGGER rights_outside_tool AFTER INSERT OR UPDATE OR DELETE ON outside_tool FOR EACH ROW EXECUTE FUNCTION rights_change();
