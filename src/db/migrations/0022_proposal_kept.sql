-- min_compatible: 22
-- What a closed proposal says can be taken out of it, and the row stays (docs/decisions/0040).

ALTER TABLE proposal ADD COLUMN subject TEXT; -- under whose key the audit keeps what it changed: erased with that (AP-8)
ALTER TABLE proposal ADD COLUMN erased TEXT; -- JSON: when payload, card and result were taken out, why, and their hashes

CREATE INDEX proposal_by_subject ON proposal (org_id, subject) WHERE subject IS NOT NULL AND erased IS NULL;
CREATE INDEX proposal_by_end ON proposal (org_id, resolved_at) WHERE resolved_at IS NOT NULL AND erased IS NULL;
-- How many somebody has open is asked with each proposal.
CREATE INDEX proposal_by_proposer ON proposal (org_id, proposer_id) WHERE state IN ('pending', 'approved');
