-- min_compatible: 3
-- The record of what happened (PRODUCT section 6). Entries, leaves, nodes, values and checkpoints are only ever
-- added: the triggers below refuse everything else. No foreign keys: the log outlives what it speaks of.

CREATE TABLE audit_entry (
	org_id TEXT NOT NULL,
	entry_id TEXT COLLATE "C" NOT NULL, -- time-ordered
	at BIGINT NOT NULL,
	action TEXT NOT NULL,
	actor_type TEXT NOT NULL CHECK (actor_type IN ('user', 'api_token', 'agent_token', 'system')),
	actor_id TEXT NOT NULL,
	delegator_id TEXT NOT NULL,
	token_id TEXT NOT NULL,
	agent_id TEXT NOT NULL,
	applier_id TEXT NOT NULL,
	approvers TEXT NOT NULL, -- '' or a canonical JSON array of ids
	transport TEXT NOT NULL,
	chat_id TEXT NOT NULL,
	tool_call_id TEXT NOT NULL,
	proposal_id TEXT NOT NULL,
	tool TEXT NOT NULL,
	args_hash TEXT NOT NULL,
	resource_type TEXT NOT NULL,
	resource_key TEXT NOT NULL,
	resource_id TEXT NOT NULL,
	version BIGINT NOT NULL,
	reason TEXT NOT NULL,
	risk TEXT NOT NULL,
	decision TEXT NOT NULL,
	outcome TEXT NOT NULL,
	with_override BIGINT NOT NULL CHECK (with_override IN (0, 1)),
	via_token BIGINT NOT NULL CHECK (via_token IN (0, 1)),
	prompt_version TEXT NOT NULL,
	prompt_hash TEXT NOT NULL,
	model TEXT NOT NULL,
	provider TEXT NOT NULL,
	subject TEXT NOT NULL, -- whose key the values are under
	before_hash TEXT NOT NULL, -- salted; '' where there is no such value
	after_hash TEXT NOT NULL,
	diff_hash TEXT NOT NULL,
	PRIMARY KEY (org_id, entry_id)
);
-- Each filter that is worth an index begins a range that is read newest first and stops at the page's end.
CREATE INDEX audit_entry_by_action ON audit_entry (org_id, action, entry_id);
CREATE INDEX audit_entry_by_actor ON audit_entry (org_id, actor_id, entry_id);
CREATE INDEX audit_entry_by_agent ON audit_entry (org_id, agent_id, entry_id) WHERE agent_id <> '';
CREATE INDEX audit_entry_by_proposal ON audit_entry (org_id, proposal_id, entry_id) WHERE proposal_id <> '';
CREATE INDEX audit_entry_by_resource_id ON audit_entry (org_id, resource_id, entry_id) WHERE resource_id <> '';
CREATE INDEX audit_entry_by_resource_key ON audit_entry (org_id, resource_key, entry_id) WHERE resource_key <> '';
CREATE INDEX audit_entry_by_tool ON audit_entry (org_id, tool, entry_id) WHERE tool <> '';

-- Entries that are not in the tree yet: filled by a trigger, so that no entry can be forgotten and adding one is
-- one round trip; emptied by the sealer.
CREATE TABLE audit_pending (
	org_id TEXT NOT NULL,
	entry_id TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (org_id, entry_id)
);

-- What changed, encrypted under the subject's key (AU-5).
CREATE TABLE audit_value (
	org_id TEXT NOT NULL,
	entry_id TEXT COLLATE "C" NOT NULL,
	key_id TEXT NOT NULL,
	sealed BYTEA NOT NULL, -- nonce, then XChaCha20-Poly1305 of {salt, before, after, diff}
	PRIMARY KEY (org_id, entry_id)
);

-- A key per subject, itself encrypted under a key that is not in this database. Deleting the row is the erasure.
CREATE TABLE audit_subject_key (
	org_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	subject TEXT NOT NULL, -- '' is the organization itself
	wrapped BYTEA NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, key_id),
	UNIQUE (org_id, subject)
);

-- The tree: its leaves in order, and each perfect subtree (level 1 and up) by the last leaf it covers.
CREATE TABLE audit_leaf (
	org_id TEXT NOT NULL,
	leaf_index BIGINT NOT NULL,
	entry_id TEXT COLLATE "C" NOT NULL,
	hash BYTEA NOT NULL,
	PRIMARY KEY (org_id, leaf_index),
	UNIQUE (org_id, entry_id)
);
CREATE TABLE audit_node (
	org_id TEXT NOT NULL,
	last_leaf BIGINT NOT NULL,
	level BIGINT NOT NULL,
	hash BYTEA NOT NULL,
	PRIMARY KEY (org_id, last_leaf, level)
);

-- How far the tree goes; moved by compare-and-set only.
CREATE TABLE audit_head (
	org_id TEXT NOT NULL PRIMARY KEY,
	size BIGINT NOT NULL,
	root BYTEA NOT NULL,
	edge BYTEA NOT NULL, -- the roots of the perfect subtrees, largest first
	signed BIGINT NOT NULL -- size of the newest checkpoint
);

CREATE TABLE audit_checkpoint (
	org_id TEXT NOT NULL,
	size BIGINT NOT NULL,
	note TEXT NOT NULL, -- the signed text, as C2SP has it
	created_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, size)
);

-- engine: sqlite
-- REPLACE deletes the old row, and recursive_triggers=ON makes that fire the delete trigger.
CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'audit_entry is append-only'); END;
CREATE TRIGGER audit_entry_no_delete BEFORE DELETE ON audit_entry
BEGIN SELECT RAISE(ABORT, 'audit_entry is append-only'); END;
CREATE TRIGGER audit_value_no_update BEFORE UPDATE ON audit_value
BEGIN SELECT RAISE(ABORT, 'audit_value is append-only'); END;
CREATE TRIGGER audit_value_no_delete BEFORE DELETE ON audit_value
BEGIN SELECT RAISE(ABORT, 'audit_value is append-only'); END;
CREATE TRIGGER audit_leaf_no_update BEFORE UPDATE ON audit_leaf
BEGIN SELECT RAISE(ABORT, 'audit_leaf is append-only'); END;
CREATE TRIGGER audit_leaf_no_delete BEFORE DELETE ON audit_leaf
BEGIN SELECT RAISE(ABORT, 'audit_leaf is append-only'); END;
CREATE TRIGGER audit_node_no_update BEFORE UPDATE ON audit_node
BEGIN SELECT RAISE(ABORT, 'audit_node is append-only'); END;
CREATE TRIGGER audit_node_no_delete BEFORE DELETE ON audit_node
BEGIN SELECT RAISE(ABORT, 'audit_node is append-only'); END;
CREATE TRIGGER audit_checkpoint_no_update BEFORE UPDATE ON audit_checkpoint
BEGIN SELECT RAISE(ABORT, 'audit_checkpoint is append-only'); END;
CREATE TRIGGER audit_checkpoint_no_delete BEFORE DELETE ON audit_checkpoint
BEGIN SELECT RAISE(ABORT, 'audit_checkpoint is append-only'); END;
CREATE TRIGGER audit_entry_to_pending AFTER INSERT ON audit_entry
BEGIN INSERT INTO audit_pending (org_id, entry_id) VALUES (NEW.org_id, NEW.entry_id); END;

-- engine: postgres
CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE FUNCTION audit_to_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit_pending (org_id, entry_id) VALUES (NEW.org_id, NEW.entry_id);
	RETURN NULL;
END $$;
CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry
	FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_value_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_value
	FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_leaf_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_leaf
	FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_node_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_node
	FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_checkpoint_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_checkpoint
	FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_entry_to_pending AFTER INSERT ON audit_entry
	FOR EACH ROW EXECUTE FUNCTION audit_to_pending();
