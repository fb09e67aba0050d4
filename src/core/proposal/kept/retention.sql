-- How many proposals somebody has open, and how long what closed ones say is kept (docs/decisions/0040).

-- name: retention_open
-- No more are counted than matter. What is overdue is open until the sweeper has been there, a moment later.
SELECT COUNT(*) FROM (SELECT proposal_id FROM proposal
	WHERE org_id = $1 AND proposer_id = $2 AND state IN ('pending', 'approved') LIMIT $3) o

-- name: retention_old
SELECT proposal_id FROM proposal
WHERE org_id = $1 AND resolved_at IS NOT NULL AND erased IS NULL AND resolved_at <= $2
	AND state IN ('applied', 'failed', 'denied', 'cancelled', 'expired')
ORDER BY resolved_at LIMIT 100

-- name: retention_of_subject
SELECT proposal_id FROM proposal
WHERE org_id = $1 AND subject = $2 AND subject IS NOT NULL AND erased IS NULL ORDER BY proposal_id LIMIT $3

-- name: retention_of_entries
-- Proposals from before they named their subject: the log does. And what a person asked for themselves: it has their name and
-- words. Both are read from the beginning, outside of a transaction.
SELECT e.proposal_id AS found FROM audit_entry e
JOIN proposal p ON p.org_id = e.org_id AND p.proposal_id = e.proposal_id AND p.subject IS NULL AND p.erased IS NULL
WHERE e.org_id = $1 AND e.subject = $2 AND e.proposal_id <> ''
UNION
SELECT proposal_id FROM proposal
WHERE org_id = $1 AND proposer_id = $2 AND proposer_kind = 'user' AND erased IS NULL
ORDER BY found LIMIT $3

-- name: retention_erase
UPDATE proposal SET payload = $3, card = $4, summary = $5, result = NULL, error = NULL, erased = $6, mac = $7
WHERE org_id = $1 AND proposal_id = $2 AND erased IS NULL

-- name: retention_orgs
SELECT org_id FROM org ORDER BY org_id
