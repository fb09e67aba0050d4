-- Tokens (ID-5, ID-6).

-- name: token_add
INSERT INTO token (org_id, token_id, hash, hint, name, principal_id, delegator_id, parent_id, level, rules, environments,
	keys, verbs, production_verbs, rate_per_minute, approval_required, auto_mode, cidrs, vote_until, ttl_us, expires_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)

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

-- name: token_end_sessions
UPDATE session SET ended_at = $3 WHERE org_id = $1 AND principal_id = $2 AND ended_at IS NULL
