-- Projects, and what their flags, configs and segments are in all environments (FL-1).

-- name: identity_project
SELECT project_id, slug, name, target_field, created_at, updated_at FROM project WHERE org_id = $1 AND project_id = $2

-- name: identity_lock sqlite
SELECT project_id FROM project WHERE org_id = $1 AND project_id = $2
-- name: identity_lock postgres
SELECT project_id FROM project WHERE org_id = $1 AND project_id = $2 FOR UPDATE

-- name: identity_environments
SELECT environment_id FROM environment WHERE org_id = $1 AND project_id = $2 ORDER BY environment_id

-- name: identity_get
SELECT item_id, key, type, description, schema, created_at, updated_at FROM flag_item
WHERE org_id = $1 AND project_id = $2 AND space = $3 AND kind = $4 AND key = $5

-- name: identity_taken
SELECT COUNT(*) FROM flag_item WHERE org_id = $1 AND project_id = $2 AND space = $3 AND key = $4

-- name: identity_add
INSERT INTO flag_item (org_id, project_id, space, key, item_id, kind, type, description, schema, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)

-- name: identity_remove
DELETE FROM flag_item WHERE org_id = $1 AND project_id = $2 AND space = $3 AND key = $4

-- name: identity_describe
UPDATE flag_item SET description = $5, updated_at = $6 WHERE org_id = $1 AND project_id = $2 AND space = $3 AND key = $4

-- name: identity_reschema
UPDATE flag_item SET schema = $5, updated_at = $6 WHERE org_id = $1 AND project_id = $2 AND space = $3 AND key = $4

-- name: identity_page
SELECT kind, key, type, schema FROM flag_item WHERE org_id = $1 AND project_id = $2 AND (space, key) > ($3, $4)
ORDER BY space, key LIMIT $5

-- name: identity_add_project
INSERT INTO project (org_id, project_id, slug, name, target_field, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)

-- name: identity_change_project
UPDATE project SET name = $3, target_field = $4, updated_at = $5 WHERE org_id = $1 AND project_id = $2

-- name: identity_add_environment
INSERT INTO environment (org_id, environment_id, project_id, slug, name, production, approval_gate, created_at, version,
	updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $8)

-- name: identity_change_environment
UPDATE environment SET name = $3, production = $4, approval_gate = $5, updated_at = $6
WHERE org_id = $1 AND environment_id = $2

-- name: identity_projects sqlite
SELECT project_id, slug, name, target_field, created_at, updated_at FROM project
WHERE org_id = $1 AND project_id > $2 AND ($4 = 1 OR project_id IN (SELECT project_id FROM environment
	WHERE org_id = $1 AND environment_id IN (SELECT value FROM json_each($5))))
ORDER BY project_id LIMIT $3
-- name: identity_projects postgres
SELECT project_id, slug, name, target_field, created_at, updated_at FROM project
WHERE org_id = $1 AND project_id > $2 AND ($4 = 1 OR project_id IN (SELECT project_id FROM environment
	WHERE org_id = $1 AND environment_id IN (SELECT json_array_elements_text(CAST(CAST($5 AS TEXT) AS JSON)))))
ORDER BY project_id LIMIT $3

-- name: identity_environment_page
SELECT environment_id, project_id, slug, name, production, approval_gate, version, created_at,
	CASE updated_at WHEN 0 THEN created_at ELSE updated_at END
FROM environment WHERE org_id = $1 AND project_id = $2 AND environment_id > $3 ORDER BY environment_id LIMIT $4
