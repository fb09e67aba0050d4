-- Roles (ID-3).

-- name: role_list
SELECT role_id, name, level, rules, builtin FROM role
WHERE org_id = $1 AND role_id > $2 ORDER BY role_id LIMIT $3

-- name: role_get
SELECT role_id, name, level, rules, builtin FROM role WHERE org_id = $1 AND role_id = $2

-- name: role_add
INSERT INTO role (org_id, role_id, name, level, rules, builtin) VALUES ($1, $2, $3, $4, $5, 0)

-- name: role_change
UPDATE role SET name = $3, level = $4, rules = $5 WHERE org_id = $1 AND role_id = $2

-- name: role_users
SELECT count(principal_id) FROM principal_role WHERE org_id = $1 AND role_id = $2

-- name: role_delete
DELETE FROM role WHERE org_id = $1 AND role_id = $2
