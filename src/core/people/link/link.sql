-- One-time links of members (ID-8).

-- name: link_put
-- A person has one link at most: the new one ends the one before.
INSERT INTO member_link (org_id, principal_id, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (org_id, principal_id) DO UPDATE SET hash = $3, created_at = $4, expires_at = $5

-- name: link_lock sqlite
-- The rights of the link's organization, exclusively: see caller.sql.
SELECT '' FROM member_link WHERE hash = $1 AND org_id = ''
-- name: link_lock postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended(org_id, 0)) AS TEXT) FROM member_link WHERE hash = $1

-- name: link_get
SELECT l.org_id, o.slug, l.principal_id, p.name, p.email, l.expires_at
FROM member_link l
JOIN principal p ON p.org_id = l.org_id AND p.principal_id = l.principal_id
JOIN org o ON o.org_id = l.org_id
WHERE l.hash = $1 AND p.kind = 'user' AND p.disabled_at IS NULL

-- name: link_end
DELETE FROM member_link WHERE org_id = $1 AND principal_id = $2

-- name: link_set_password
UPDATE principal SET password = $3 WHERE org_id = $1 AND principal_id = $2
