-- Recovering access, by an operator (countersign recover).

-- name: recover_org
-- Two rows are enough to know that there are several.
SELECT org_id, slug FROM org WHERE $1 = '' OR slug = $1 OR org_id = $1 ORDER BY org_id LIMIT 2

-- name: recover_lock sqlite
-- The rights of the organization, exclusively: see caller.sql.
SELECT '' FROM org WHERE org_id = $1 AND org_id = ''
-- name: recover_lock postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended($1, 0)) AS TEXT)

-- name: recover_person
-- With 1 where they have a role of level admin.
SELECT p.principal_id, p.name, p.disabled_at, CASE WHEN EXISTS (
	SELECT 1 FROM principal_role pr JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
	WHERE pr.org_id = p.org_id AND pr.principal_id = p.principal_id AND r.level = 'admin') THEN 1 ELSE 0 END
FROM principal p
WHERE p.org_id = $1 AND p.email = $2 AND p.kind = 'user'

-- name: recover_enable
UPDATE principal SET disabled_at = NULL WHERE org_id = $1 AND principal_id = $2

-- name: recover_give
INSERT INTO principal_role (org_id, principal_id, role_id)
SELECT r.org_id, $2, r.role_id FROM role r
WHERE r.org_id = $1 AND r.name = 'admin' AND r.builtin = 1 AND NOT EXISTS (
	SELECT 1 FROM principal_role pr WHERE pr.org_id = $1 AND pr.principal_id = $2 AND pr.role_id = r.role_id)

-- name: recover_note
UPDATE org SET recovered_at = $2 WHERE org_id = $1

-- name: recover_last
-- Of all organizations: for an operator.
SELECT coalesce(max(recovered_at), 0) FROM org WHERE org_id <> '' AND recovered_at > $1
