-- min_compatible: 13
-- What a proposal in one round trip needs of PostgreSQL, and what it need not do for each row.

-- engine: sqlite
SELECT 1; -- it has one writer: nothing changes meanwhile, and a trigger there is no call of a function

-- engine: postgres
-- A statement that was sent along with what depends on it says so where it does not hold (caller_unmoved): the transaction fails as it
-- would for any other that came at the same moment, and is run again.
CREATE FUNCTION moved() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'what was taken for granted has changed' USING ERRCODE = 'serialization_failure';
END
$$;

-- Entries come several in one INSERT (docs/decisions/0026): they are noted as to be sealed in one as well.
CREATE OR REPLACE FUNCTION audit_to_pending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit_pending (org_id, entry_id) SELECT org_id, entry_id FROM fresh;
	RETURN NULL;
END
$$;
DROP TRIGGER audit_entry_to_pending ON audit_entry;
CREATE TRIGGER audit_entry_to_pending AFTER INSERT ON audit_entry REFERENCING NEW TABLE AS fresh
	FOR EACH STATEMENT EXECUTE FUNCTION audit_to_pending();

-- So do proposals, and whether anybody wants to be told is asked once for all of them.
CREATE OR REPLACE FUNCTION delivery_of_new_proposal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM fresh f JOIN connection c ON c.org_id = f.org_id
			WHERE c.disabled = 0 AND (c.wants_proposals = 1 OR c.wants_calls = 1)) THEN
		PERFORM delivery_tell_call(k) FROM fresh f JOIN call k ON k.org_id = f.org_id AND k.call_id = f.call_id;
		PERFORM delivery_tell_proposal(p) FROM fresh f JOIN proposal p ON p.org_id = f.org_id AND p.proposal_id = f.proposal_id;
	END IF;
	RETURN NULL;
END
$$;
DROP TRIGGER delivery_proposal_insert ON proposal;
CREATE TRIGGER delivery_proposal_insert AFTER INSERT ON proposal REFERENCING NEW TABLE AS fresh
	FOR EACH STATEMENT EXECUTE FUNCTION delivery_of_new_proposal();
