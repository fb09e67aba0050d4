-- min_compatible: 7
-- What a proposal need not write: indexes that no statement uses, and locks on a row that everybody shares.

-- A slot may stand for several calls (core/gate/budget.h); there are so few that they need no order.
ALTER TABLE budget_slot ADD COLUMN used BIGINT NOT NULL DEFAULT 1;
DROP INDEX budget_slot_by_age;

DROP INDEX call_by_principal;
DROP INDEX proposal_by_state;
-- Only what is open can expire.
DROP INDEX proposal_by_expiry;
CREATE INDEX proposal_by_expiry ON proposal (org_id, expires_at) WHERE state IN ('pending', 'approved');

-- engine: postgres
-- Each of these locked the organization's one row for every insert. Its id comes from a token or session that was read
-- in the same transaction, and nothing deletes an organization.
ALTER TABLE call DROP CONSTRAINT call_org_id_fkey;
ALTER TABLE proposal DROP CONSTRAINT proposal_org_id_fkey;
ALTER TABLE note DROP CONSTRAINT note_org_id_fkey;
-- It reads the text of a check anew for each insert, a twentieth of the time of a proposal; these values are an enum and
-- booleans of ours. And it would try to compress each proposal, to save less than half a kilobyte.
ALTER TABLE audit_entry DROP CONSTRAINT audit_entry_actor_type_check, DROP CONSTRAINT audit_entry_with_override_check,
	DROP CONSTRAINT audit_entry_via_token_check;
ALTER TABLE proposal DROP CONSTRAINT proposal_four_eyes_check;
ALTER TABLE proposal SET (toast_tuple_target = 4080);
