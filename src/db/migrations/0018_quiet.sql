-- min_compatible: 13
-- What a proposal need not do while nobody listens, and what the sweeper need not read.

-- What is being done outside, and by when: few of all the proposals there are, which were all read once a second.
CREATE INDEX proposal_by_deadline ON proposal (org_id, deadline_at) WHERE state = 'executing';

-- engine: postgres
-- An INSERT ... SELECT that finds nobody costs more than to ask whether there is anybody, so that is asked first. And of a
-- proposal and its call, which are made in one transaction and the call first (core/proposal), it is asked once: the
-- proposal's trigger tells of both.
CREATE FUNCTION delivery_tell_call(k call) RETURNS void LANGUAGE sql AS $$
	INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
	SELECT c.org_id, c.connection_id, k.call_id, 'tool.called', k.call_id, k.called_at,
		k.tool, k.status, '', k.principal_id, k.transport, k.effect,
		'waiting', 0, k.called_at, 0, ''
	FROM connection c WHERE c.org_id = k.org_id AND c.wants_calls = 1 AND c.disabled = 0
$$;
CREATE FUNCTION delivery_tell_proposal(p proposal) RETURNS void LANGUAGE sql AS $$
	INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
	SELECT c.org_id, c.connection_id, p.proposal_id || '-' || p.state || '-' || p.changed_at, 'proposal.' || p.state, p.proposal_id, p.changed_at,
		p.tool, p.state, p.risk, '', '', '', 'waiting', 0, p.changed_at, 0, ''
	FROM connection c WHERE c.org_id = p.org_id AND c.wants_proposals = 1 AND c.disabled = 0 ON CONFLICT DO NOTHING
$$;
CREATE FUNCTION delivery_of_new_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM connection c WHERE c.org_id = NEW.org_id AND c.disabled = 0 AND (c.wants_proposals = 1 OR c.wants_calls = 1)) THEN
		PERFORM delivery_tell_call(k) FROM call k WHERE k.org_id = NEW.org_id AND k.call_id = NEW.call_id;
		PERFORM delivery_tell_proposal(NEW);
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION delivery_of_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM connection c WHERE c.org_id = NEW.org_id AND c.disabled = 0 AND c.wants_proposals = 1) THEN
		PERFORM delivery_tell_proposal(NEW);
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION delivery_of_vote() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM connection c WHERE c.org_id = NEW.org_id AND c.disabled = 0 AND c.wants_decisions = 1) THEN
		INSERT INTO delivery (org_id, connection_id, event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, state, tries, due_at, last_status, last_error)
		SELECT c.org_id, c.connection_id, NEW.proposal_id || '-' || NEW.person_id || '-' || NEW.voted_at, 'approval.decided', NEW.proposal_id, NEW.voted_at,
			'', NEW.decision, '', '', '', '', 'waiting', 0, NEW.voted_at, 0, ''
		FROM connection c WHERE c.org_id = NEW.org_id AND c.wants_decisions = 1 AND c.disabled = 0;
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION delivery_of_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM connection c WHERE c.org_id = NEW.org_id AND c.disabled = 0 AND c.wants_calls = 1) THEN
		PERFORM delivery_tell_call(NEW);
	END IF;
	RETURN NULL;
END
$$;
DROP TRIGGER delivery_proposal_insert ON proposal;
DROP TRIGGER delivery_call ON call;
CREATE TRIGGER delivery_proposal_insert AFTER INSERT ON proposal FOR EACH ROW EXECUTE FUNCTION delivery_of_new_proposal();
CREATE TRIGGER delivery_call AFTER INSERT ON call FOR EACH ROW WHEN (NEW.proposal_id IS NULL) EXECUTE FUNCTION delivery_of_call();
