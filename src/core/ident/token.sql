-- Tokens (ID-5, ID-6).

-- name: token_add
INSERT INTO token (org_id, token_id, hash, hint, name, principal_id, delegator_id, parent_id, level, rules, environments,
	keys, verbs, production_verbs, rate_per_minute, approval_required, auto_mode, cidrs, vote_until, ttl_us, expires_at, created_at,
	audience, client_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)

-- name: token_revoke
-- The token and, generation by generation, all that were minted with it.
UPDATE token SET revoked_at = $3
WHERE org_id = $1 AND revoked_at IS NULL AND token_id IN (
	WITH RECURSIVE family (id) AS (
		SELECT token_id FROM token WHERE org_id = $1 AND token_id = $2
		UNION
		SELECT child.token_id FROM token child JOIN family ON child.parent_id = family.id WHERE child.org_id = $1
	)
	SELECT id FROM family
)

-- name: token_revoke_person
UPDATE token SET revoked_at = $3
WHERE org_id = $1 AND revoked_at IS NULL AND (delegator_id = $2 OR principal_id = $2)

-- name: token_revoke_grants
-- What a person agreed to and has not become a token yet ends, too.
UPDATE oauth_grant SET revoked_at = $3 WHERE org_id = $1 AND person_id = $2 AND revoked_at IS NULL

-- name: token_rotate
UPDATE token SET hash = $3, hint = $4, expires_at = $5 WHERE org_id = $1 AND token_id = $2 AND revoked_at IS NULL

-- name: token_end_sessions
UPDATE session SET ended_at = $3 WHERE org_id = $1 AND principal_id = $2 AND ended_at IS NULL

-- name: token_list
-- $4: only those of this person, by owner or delegator; empty: all.
SELECT t.token_id, t.name, t.hint, t.principal_id, p.kind, p.name, t.delegator_id, t.level, t.rules, t.environments,
	t.keys, t.verbs, t.production_verbs, t.rate_per_minute, t.approval_required, t.auto_mode, t.cidrs, t.vote_until,
	t.ttl_us, t.expires_at, t.revoked_at, t.created_at, t.audience, t.client_id
FROM token t
JOIN principal p ON p.org_id = t.org_id AND p.principal_id = t.principal_id
WHERE t.org_id = $1 AND t.token_id > $2 AND ($4 = '' OR t.delegator_id = $4 OR t.principal_id = $4)
ORDER BY t.token_id
LIMIT $3

-- name: token_get
SELECT t.token_id, t.name, t.hint, t.principal_id, p.kind, p.name, t.delegator_id, t.level, t.rules, t.environments,
	t.keys, t.verbs, t.production_verbs, t.rate_per_minute, t.approval_required, t.auto_mode, t.cidrs, t.vote_until,
	t.ttl_us, t.expires_at, t.revoked_at, t.created_at, t.audience, t.client_id
FROM token t
JOIN principal p ON p.org_id = t.org_id AND p.principal_id = t.principal_id
WHERE t.org_id = $1 AND t.token_id = $2

-- name: token_renew
UPDATE token SET expires_at = $3, ttl_us = $4 WHERE org_id = $1 AND token_id = $2
