-- Proposals and votes. The row is locked before anything about it is decided (DESIGN section 3).

-- name: proposal_add
INSERT INTO proposal (org_id, proposal_id, call_id, state, tool, tool_version, effect, proposer_id, proposer_kind,
	delegator_id, token_id, transport, payload, payload_hash, card, view_hash, summary, risk, environment_id,
	resource_type, resource_key, votes_needed, four_eyes, policy_version, provenance, idempotency_key, request_hash,
	salt, minted_id, minted_at, created_at, changed_at, expires_at, fence, mac, facts, subject, entries)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
	$25, $26, $27, $28, $29, $30, $31, $31, $32, 0, $33, $34, $35, $36)

-- name: proposal_get
-- With the number of its last entry in the log, which must be the one that it is sealed with.
SELECT p.proposal_id, p.call_id, p.state, p.tool, p.tool_version, p.effect, p.proposer_id, p.proposer_kind,
	p.delegator_id, p.token_id, p.transport, p.idempotency_key, p.payload, p.payload_hash, p.card, p.view_hash, p.summary, p.risk, p.environment_id,
	p.resource_type, p.resource_key, p.votes_needed, p.four_eyes, p.policy_version, p.request_hash, p.salt,
	p.minted_id, p.minted_at, p.created_at, p.expires_at, p.applier_id, p.applied_audit_id, p.applied_version,
	p.result, p.error, p.resolved_at, p.provenance, p.fence, p.deadline_at, p.facts, p.mac, p.subject, p.erased,
	p.entries,
	COALESCE((SELECT max(e.number) FROM audit_entry e
		WHERE e.org_id = p.org_id AND e.proposal_id = p.proposal_id AND e.number > 1), 0)
FROM proposal p WHERE p.org_id = $1 AND p.proposal_id = $2

-- name: proposal_lock sqlite
SELECT proposal_id FROM proposal WHERE org_id = $1 AND proposal_id = $2
-- name: proposal_lock postgres
SELECT proposal_id FROM proposal WHERE org_id = $1 AND proposal_id = $2 FOR UPDATE

-- name: proposal_by_key
SELECT proposal_id FROM proposal WHERE org_id = $1 AND proposer_id = $2 AND idempotency_key = $3

-- name: proposal_finish
UPDATE proposal SET state = $4, resolved_at = $5, applier_id = $6, applied_audit_id = $7, applied_version = $8,
	result = $9, error = $10, mac = $11, changed_at = $12, fence = $13, deadline_at = $14,
	votes_needed = $15, subject = $16, entries = $17
WHERE org_id = $1 AND proposal_id = $2 AND state = $3

-- name: proposal_entries
UPDATE proposal SET entries = $3, mac = $4 WHERE org_id = $1 AND proposal_id = $2

-- name: proposal_list
-- Newest first; a filter that is empty does not filter.
SELECT p.proposal_id, p.call_id, p.state, p.tool, p.tool_version, p.effect, p.proposer_id, p.proposer_kind,
	p.delegator_id, p.token_id, p.transport, p.idempotency_key, p.payload, p.payload_hash, p.card, p.view_hash,
	p.summary, p.risk, p.environment_id, p.resource_type, p.resource_key, p.votes_needed, p.four_eyes,
	p.policy_version, p.request_hash, p.salt, p.minted_id, p.minted_at, p.created_at, p.expires_at, p.applier_id,
	p.applied_audit_id, p.applied_version, p.result, p.error, p.resolved_at, p.provenance, p.fence,
	p.deadline_at, p.facts, p.mac, p.subject, p.erased, p.entries,
	COALESCE((SELECT max(e.number) FROM audit_entry e
		WHERE e.org_id = p.org_id AND e.proposal_id = p.proposal_id AND e.number > 1), 0)
FROM proposal p
WHERE p.org_id = $1 AND p.proposal_id < $2 AND ($3 = '' OR p.state = $3) AND ($4 = '' OR p.tool = $4)
	AND ($5 = '' OR p.proposer_id = $5)
ORDER BY p.proposal_id DESC LIMIT $6

-- name: proposal_scan
-- The same filters, and only what says who may see it.
SELECT proposal_id, tool, proposer_id, delegator_id, token_id, environment_id, resource_key FROM proposal
WHERE org_id = $1 AND proposal_id < $2 AND ($3 = '' OR state = $3) AND ($4 = '' OR tool = $4)
	AND ($5 = '' OR proposer_id = $5)
ORDER BY proposal_id DESC LIMIT $6

-- name: proposal_orgs
SELECT org_id FROM org ORDER BY org_id

-- name: proposal_overdue
SELECT proposal_id FROM proposal
WHERE org_id = $1 AND state IN ('pending', 'approved') AND expires_at <= $2 ORDER BY expires_at LIMIT 100

-- name: proposal_overrun
-- Claimed, and no outcome by then: nobody knows.
SELECT proposal_id FROM proposal
WHERE org_id = $1 AND state = 'executing' AND deadline_at <= $2 ORDER BY deadline_at LIMIT 100

-- name: proposal_proposer
-- Does the one who proposed still stand: the principal, the token it was done with, the person behind it?
SELECT CASE WHEN p.disabled_at IS NULL THEN 0 ELSE 1 END, CASE WHEN t.revoked_at IS NULL THEN 0 ELSE 1 END,
	CASE WHEN d.disabled_at IS NULL THEN 0 ELSE 1 END
FROM principal p
LEFT JOIN token t ON t.org_id = p.org_id AND t.token_id = $3
LEFT JOIN principal d ON d.org_id = p.org_id AND d.principal_id = $4
WHERE p.org_id = $1 AND p.principal_id = $2

-- name: proposal_domain
SELECT domain FROM principal WHERE org_id = $1 AND principal_id = $2

-- name: proposal_vote
INSERT INTO vote (org_id, proposal_id, person_id, decision, reason, view_hash, via_token, voted_at, mac)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: proposal_voter_teams
SELECT m.team_id, m.principal_id
FROM vote v JOIN team_member m ON m.org_id = v.org_id AND m.principal_id = v.person_id
WHERE v.org_id = $1 AND v.proposal_id = $2

-- name: proposal_votes
-- + 0: in the order of an expression, or SQLite would read every vote of the organization in the order of its index.
SELECT v.person_id, p.name, v.decision, v.reason, v.view_hash, v.via_token, v.voted_at, v.mac,
	CASE WHEN p.disabled_at IS NULL THEN 0 ELSE 1 END, coalesce(p.rights_since, p.created_at)
FROM vote v JOIN principal p ON p.org_id = v.org_id AND p.principal_id = v.person_id
WHERE v.org_id = $1 AND v.proposal_id = $2 ORDER BY v.voted_at + 0, v.person_id

-- name: proposal_since
-- Since when somebody may do all that they may now.
SELECT coalesce(rights_since, created_at) FROM principal WHERE org_id = $1 AND principal_id = $2

-- name: proposal_environment
SELECT production, approval_gate FROM environment WHERE org_id = $1 AND environment_id = $2
