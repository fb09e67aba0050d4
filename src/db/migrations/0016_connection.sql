-- min_compatible: 13
-- Where approved commands and notifications go by webhook (EX-1, EX-2, TL-10).

CREATE TABLE connection (
	org_id TEXT NOT NULL REFERENCES org (org_id),
	connection_id TEXT NOT NULL,
	name TEXT NOT NULL,
	url TEXT NOT NULL,
	mode TEXT NOT NULL CHECK (mode IN ('sync', 'callback', 'events')),
	answer TEXT NOT NULL CHECK (answer IN ('json', 'command')), -- what an answer looks like
	auth TEXT NOT NULL CHECK (auth IN ('none', 'header', 'bearer', 'basic')),
	auth_name TEXT NOT NULL, -- the header, or who; '': none
	auth_secret_id TEXT NOT NULL, -- '': none
	key_id TEXT NOT NULL, -- the secret that signs, both ways
	old_key_id TEXT NOT NULL, -- the one before it, ''
	old_until BIGINT NOT NULL, -- how long that is good, too
	allow TEXT NOT NULL, -- networks that are not public and may be reached, separated by spaces
	deadline_ms BIGINT NOT NULL,
	wants_proposals BIGINT NOT NULL CHECK (wants_proposals IN (0, 1)),
	wants_decisions BIGINT NOT NULL CHECK (wants_decisions IN (0, 1)),
	wants_calls BIGINT NOT NULL CHECK (wants_calls IN (0, 1)),
	disabled BIGINT NOT NULL CHECK (disabled IN (0, 1)),
	created_by TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	changed_at BIGINT NOT NULL,
	PRIMARY KEY (org_id, connection_id),
	UNIQUE (org_id, name)
);

-- A one-time address to which an outcome is told. Only its hash: who reads the database cannot tell one.
CREATE TABLE callback (
	callback_hash TEXT NOT NULL PRIMARY KEY,
	org_id TEXT NOT NULL,
	attempt_id TEXT NOT NULL,
	fence BIGINT NOT NULL,
	connection_id TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	used_at BIGINT NOT NULL -- 0: not yet
);

-- What is still to be told to whom. A row is made in the transaction that it tells of, by trigger, so that nothing is
-- told that did not happen and nothing that happened is left out; what was taken is deleted.
CREATE TABLE delivery (
	org_id TEXT NOT NULL,
	connection_id TEXT NOT NULL,
	event_id TEXT NOT NULL, -- the same whenever the same is told
	type TEXT NOT NULL,
	subject TEXT NOT NULL,
	happened_at BIGINT NOT NULL,
	tool TEXT NOT NULL, -- metadata only; '' where the type has none
	word TEXT NOT NULL, -- the state, the decision, the call's status
	risk TEXT NOT NULL,
	principal_id TEXT NOT NULL,
	transport TEXT NOT NULL,
	effect TEXT NOT NULL,
	state TEXT NOT NULL CHECK (state IN ('waiting', 'dead')),
	tries BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	last_status BIGINT NOT NULL,
	last_error TEXT NOT NULL,
	PRIMARY KEY (org_id, connection_id, event_id),
	FOREIGN KEY (org_id, connection_id) REFERENCES connection (org_id, connection_id)
);
CREATE INDEX delivery_due ON delivery (state, due_at);

-- engine: sqlite
CREATE TRIGGER delivery_proposal_insert AFTER INSERT ON proposal
BEGIN INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
SELECT c.org_id, c.connection_id, NEW.proposal_id || '-' || NEW.state || '-' || NEW.changed_at, 'proposal.' || NEW.state, NEW.proposal_id, NEW.changed_at,
NEW.tool, NEW.state, NEW.risk, '', '', '', 'waiting', 0, NEW.changed_at, 0, ''
FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_proposals = 1 AND c.disabled = 0; END;
CREATE TRIGGER delivery_proposal_update AFTER UPDATE OF state ON proposal WHEN OLD.state <> NEW.state
BEGIN INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
SELECT c.org_id, c.connection_id, NEW.proposal_id || '-' || NEW.state || '-' || NEW.changed_at, 'proposal.' || NEW.state, NEW.proposal_id, NEW.changed_at,
NEW.tool, NEW.state, NEW.risk, '', '', '', 'waiting', 0, NEW.changed_at, 0, ''
FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_proposals = 1 AND c.disabled = 0 ON CONFLICT DO NOTHING; END;
CREATE TRIGGER delivery_vote AFTER INSERT ON vote
BEGIN INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
SELECT c.org_id, c.connection_id, NEW.proposal_id || '-' || NEW.person_id || '-' || NEW.voted_at, 'approval.decided', NEW.proposal_id, NEW.voted_at,
'', NEW.decision, '', '', '', '', 'waiting', 0, NEW.voted_at, 0, ''
FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_decisions = 1 AND c.disabled = 0; END;
CREATE TRIGGER delivery_call AFTER INSERT ON call
BEGIN INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
SELECT c.org_id, c.connection_id, NEW.call_id, 'tool.called', NEW.call_id, NEW.called_at,
NEW.tool, NEW.status, '', NEW.principal_id, NEW.transport, NEW.effect, 'waiting', 0, NEW.called_at, 0, ''
FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_calls = 1 AND c.disabled = 0; END;

-- engine: postgres
CREATE FUNCTION delivery_of_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
	SELECT c.org_id, c.connection_id, NEW.proposal_id || '-' || NEW.state || '-' || NEW.changed_at, 'proposal.' || NEW.state, NEW.proposal_id, NEW.changed_at,
		NEW.tool, NEW.state, NEW.risk, '', '', '', 'waiting', 0, NEW.changed_at, 0, ''
	FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_proposals = 1 AND c.disabled = 0 ON CONFLICT DO NOTHING;
	RETURN NULL;
END
$$;
CREATE FUNCTION delivery_of_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
	SELECT c.org_id, c.connection_id, NEW.proposal_id || '-' || NEW.person_id || '-' || NEW.voted_at, 'approval.decided', NEW.proposal_id, NEW.voted_at,
		'', NEW.decision, '', '', '', '', 'waiting', 0, NEW.voted_at, 0, ''
	FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_decisions = 1 AND c.disabled = 0;
	RETURN NULL;
END
$$;
CREATE FUNCTION delivery_of_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
	SELECT c.org_id, c.connection_id, NEW.call_id, 'tool.called', NEW.call_id, NEW.called_at,
		NEW.tool, NEW.status, '', NEW.principal_id, NEW.transport, NEW.effect,
		'waiting', 0, NEW.called_at, 0, ''
	FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_calls = 1 AND c.disabled = 0;
	RETURN NULL;
END
$$;
CREATE TRIGGER delivery_proposal_insert AFTER INSERT ON proposal FOR EACH ROW EXECUTE FUNCTION delivery_of_proposal();
CREATE TRIGGER delivery_proposal_update AFTER UPDATE OF state ON proposal FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION delivery_of_proposal();
CREATE TRIGGER delivery_vote AFTER INSERT ON vote FOR EACH ROW EXECUTE FUNCTION delivery_of_vote();
CREATE TRIGGER delivery_call AFTER INSERT ON call FOR EACH ROW EXECUTE FUNCTION delivery_of_call();
