-- Attempts: what was tried outside. The proposal's row is locked before one is written.

-- name: attempt_add
INSERT INTO attempt (org_id, attempt_id, proposal_id, fence, applier_id, approvals, claimed_at, deadline_at, outcome,
	sent, http_status, mac)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, $10)

-- name: attempt_of
SELECT attempt_id, proposal_id, fence, applier_id, approvals, claimed_at, deadline_at, outcome, sent, http_status, result,
	why, ended_at, evidence, settled_by, settled_reason, settled_at, mac
FROM attempt WHERE org_id = $1 AND proposal_id = $2 AND fence = $3

-- name: attempt_proposal
SELECT proposal_id FROM attempt WHERE org_id = $1 AND attempt_id = $2

-- name: attempt_write
UPDATE attempt SET outcome = $3, sent = $4, http_status = $5, result = $6, why = $7, ended_at = $8, evidence = $9,
	settled_by = $10, settled_reason = $11, settled_at = $12, mac = $13
WHERE org_id = $1 AND attempt_id = $2
