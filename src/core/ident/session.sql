-- Signing in and out (ID-8).

-- name: session_person
-- The person of that address, in the organization that is named or, without one, the oldest that has them.
SELECT p.org_id, o.slug, p.principal_id, p.name, p.password
FROM principal p
JOIN org o ON o.org_id = p.org_id
WHERE p.email = $1 AND ($2 = '' OR o.slug = $2) AND p.kind = 'user' AND p.disabled_at IS NULL
ORDER BY o.created_at, o.org_id
LIMIT 1

-- name: session_add
INSERT INTO session (org_id, session_id, hash, csrf_hash, principal_id, created_at, seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)

-- name: session_end
UPDATE session SET ended_at = $3 WHERE org_id = $1 AND session_id = $2 AND ended_at IS NULL

-- name: session_end_by_hash
UPDATE session SET ended_at = $3 WHERE org_id = $1 AND hash = $2 AND ended_at IS NULL

-- name: session_own
SELECT p.email, p.password, o.name, o.recovered_at
FROM principal p
JOIN org o ON o.org_id = p.org_id
WHERE p.org_id = $1 AND p.principal_id = $2

-- name: session_set_password
UPDATE principal SET password = $3 WHERE org_id = $1 AND principal_id = $2

-- name: session_end_others
UPDATE session SET ended_at = $4
WHERE org_id = $1 AND principal_id = $2 AND session_id <> $3 AND ended_at IS NULL
