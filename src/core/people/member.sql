-- People, services and agents: the principals of an organization (ID-2).

-- name: member_list
-- $4: agents (1) or everybody else (0).
SELECT principal_id, kind, name, email, domain, disabled_at, created_at
FROM principal
WHERE org_id = $1 AND principal_id > $2 AND (CASE WHEN kind = 'agent' THEN 1 ELSE 0 END) = $4
ORDER BY principal_id
LIMIT $3

-- name: member_get
SELECT principal_id, kind, name, email, domain, disabled_at, created_at
FROM principal
WHERE org_id = $1 AND principal_id = $2 AND (CASE WHEN kind = 'agent' THEN 1 ELSE 0 END) = $3

-- name: member_roles
SELECT pr.principal_id, r.name
FROM principal_role pr
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE pr.org_id = $1 AND pr.principal_id >= $2 AND pr.principal_id <= $3
ORDER BY pr.principal_id, r.name

-- name: member_role
SELECT role_id, level, rules FROM role WHERE org_id = $1 AND name = $2

-- name: member_add
INSERT INTO principal (org_id, principal_id, kind, name, email, domain, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)

-- name: member_give
INSERT INTO principal_role (org_id, principal_id, role_id) VALUES ($1, $2, $3)

-- name: member_take_all
DELETE FROM principal_role WHERE org_id = $1 AND principal_id = $2

-- name: member_rename
UPDATE principal SET name = $3, domain = $4 WHERE org_id = $1 AND principal_id = $2

-- name: member_disable
UPDATE principal SET disabled_at = $3 WHERE org_id = $1 AND principal_id = $2 AND disabled_at IS NULL

-- name: member_enable
UPDATE principal SET disabled_at = NULL WHERE org_id = $1 AND principal_id = $2

-- name: member_admins
SELECT count(DISTINCT p.principal_id)
FROM principal p
JOIN principal_role pr ON pr.org_id = p.org_id AND pr.principal_id = p.principal_id
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE p.org_id = $1 AND p.kind = 'user' AND p.disabled_at IS NULL AND r.level = 'admin'
