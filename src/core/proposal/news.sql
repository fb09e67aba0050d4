-- What has happened since, for those who follow. Not the truth, only where to look: seals are not checked here.

-- name: news_proposals
SELECT proposal_id, state, tool, risk, proposer_id, delegator_id, token_id, environment_id, resource_key, changed_at FROM proposal
WHERE org_id = $1 AND changed_at > $2 ORDER BY changed_at LIMIT $3

-- name: news_votes
SELECT v.proposal_id, v.decision, p.tool, p.risk, p.proposer_id, p.delegator_id, p.token_id, p.environment_id, p.resource_key, v.voted_at
FROM vote v JOIN proposal p ON p.org_id = v.org_id AND p.proposal_id = v.proposal_id
WHERE v.org_id = $1 AND v.voted_at > $2 ORDER BY v.voted_at LIMIT $3

-- name: news_calls
-- Whose call it was, and on whose authority: an agent's token is one person's.
SELECT c.call_id, c.principal_id, c.token_id, t.delegator_id, c.transport, c.tool, c.effect, c.status, c.called_at
FROM call c LEFT JOIN token t ON t.org_id = c.org_id AND t.token_id = c.token_id
WHERE c.org_id = $1 AND c.call_id > $2 ORDER BY c.call_id LIMIT $3
