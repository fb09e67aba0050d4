-- Organizations and what they begin with (ID-1, ID-4).

-- name: org_count
SELECT count(org_id) FROM org

-- name: org_add
INSERT INTO org (org_id, slug, name, settings, policy_version, created_at) VALUES ($1, $2, $3, $4, 1, $5)

-- name: org_add_project
INSERT INTO project (org_id, project_id, slug, name, created_at) VALUES ($1, $2, $3, $4, $5)

-- name: org_add_environment
INSERT INTO environment (org_id, environment_id, project_id, slug, name, production, approval_gate, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7)

-- name: org_add_role
INSERT INTO role (org_id, role_id, name, level, rules, builtin) VALUES ($1, $2, $3, $3, '[]', 1)

-- name: org_add_principal
INSERT INTO principal (org_id, principal_id, kind, name, email, domain, password, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: org_give_role
INSERT INTO principal_role (org_id, principal_id, role_id)
SELECT org_id, $2, role_id FROM role WHERE org_id = $1 AND name = $3

-- name: org_settings
SELECT settings, policy_version FROM org WHERE org_id = $1
