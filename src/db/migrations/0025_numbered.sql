-- min_compatible: 25
-- Entries carry a MAC under the key outside the database, and where a lock is held anyway a number
-- (docs/decisions/0038-what-the-database-alone-cannot-rewrite.md). What was written before has neither: it is in the tree,
-- or goes there when a server starts for the first time with this schema.

ALTER TABLE audit_entry ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit_entry ADD COLUMN mac TEXT NOT NULL DEFAULT '';
-- The last entry of a chain, and that there are no two with one number. A chain is a proposal's or, where proposal_id is
-- empty, the organization's changes of rights. The first entry of a proposal is not in it: most proposals are made
-- and decided once, and making one is the most frequent thing.
CREATE UNIQUE INDEX audit_entry_by_number ON audit_entry (org_id, proposal_id, number) WHERE number > 1;

ALTER TABLE proposal ADD COLUMN entries BIGINT NOT NULL DEFAULT 0; -- the number of its last entry; 0: from before
ALTER TABLE rights_epoch ADD COLUMN entries BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rights_epoch ADD COLUMN entries_mac TEXT NOT NULL DEFAULT '';
ALTER TABLE installation ADD COLUMN numbered TEXT NOT NULL DEFAULT ''; -- a MAC: entries without one were sealed

-- engine: postgres
-- A server of before that is still running adds no entry without a number and a MAC: what it decides fails.
ALTER TABLE audit_entry ALTER COLUMN number DROP DEFAULT, ALTER COLUMN mac DROP DEFAULT;
ALTER TABLE proposal ALTER COLUMN entries DROP DEFAULT;
