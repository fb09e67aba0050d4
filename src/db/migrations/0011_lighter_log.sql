-- min_compatible: 8
-- What an entry and a proposal need not write.

-- Most entries say one thing under several names: a proposal is the resource of its own entries, by id and by key, and
-- the agent that acts is the actor. An index holds only what another one does not have already.
DROP INDEX audit_entry_by_agent;
DROP INDEX audit_entry_by_proposal;
DROP INDEX audit_entry_by_resource_key;
CREATE INDEX audit_entry_by_agent ON audit_entry (org_id, agent_id, entry_id)
	WHERE agent_id <> '' AND agent_id <> actor_id;
CREATE INDEX audit_entry_by_proposal ON audit_entry (org_id, proposal_id, entry_id)
	WHERE proposal_id <> '' AND proposal_id <> resource_id;
CREATE INDEX audit_entry_by_resource_key ON audit_entry (org_id, resource_key, entry_id)
	WHERE resource_key <> '' AND resource_key <> resource_id;

-- engine: postgres
-- The proposer was read in the same transaction, and nothing deletes a principal.
ALTER TABLE proposal DROP CONSTRAINT proposal_org_id_proposer_id_fkey;
-- Few proposals have a key.
CREATE UNIQUE INDEX proposal_by_key ON proposal (org_id, proposer_id, idempotency_key)
	WHERE idempotency_key IS NOT NULL;
ALTER TABLE proposal DROP CONSTRAINT proposal_org_id_proposer_id_idempotency_key_key;
