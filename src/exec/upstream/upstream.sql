-- Other MCP servers.

-- name: upstream_get
SELECT org_id, upstream_id, name, kind, url, networks, program, secret_id, secret_names, version, created_by, created_at,
	disabled, looked_at, problem, oauth, auth_state, auth_given
FROM upstream WHERE org_id = $1 AND upstream_id = $2

-- name: upstream_lock sqlite
SELECT org_id, upstream_id, name, kind, url, networks, program, secret_id, secret_names, version, created_by, created_at,
	disabled, looked_at, problem, oauth, auth_state, auth_given
FROM upstream WHERE org_id = $1 AND upstream_id = $2
-- name: upstream_lock postgres
SELECT org_id, upstream_id, name, kind, url, networks, program, secret_id, secret_names, version, created_by, created_at,
	disabled, looked_at, problem, oauth, auth_state, auth_given
FROM upstream WHERE org_id = $1 AND upstream_id = $2 FOR UPDATE

-- name: upstream_list
SELECT org_id, upstream_id, name, kind, url, networks, program, secret_id, secret_names, version, created_by, created_at,
	disabled, looked_at, problem, oauth, auth_state, auth_given
FROM upstream WHERE org_id = $1 ORDER BY name

-- name: upstream_due
SELECT org_id, upstream_id, name, kind, url, networks, program, secret_id, secret_names, version, created_by, created_at,
	disabled, looked_at, problem, oauth, auth_state, auth_given
FROM upstream WHERE disabled = 0 AND auth_state <> 'needed' AND looked_at < $1 ORDER BY looked_at LIMIT 16

-- name: upstream_add
INSERT INTO upstream (org_id, upstream_id, name, kind, url, networks, program, secret_id, secret_names, version,
	created_by, created_at, disabled, looked_at, problem, oauth)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $11, 0, 0, '', $12)

-- name: upstream_looked
UPDATE upstream SET looked_at = $3, problem = $4 WHERE org_id = $1 AND upstream_id = $2

-- name: upstream_disable
UPDATE upstream SET disabled = $3, version = version + 1, looked_at = 0 WHERE org_id = $1 AND upstream_id = $2

-- name: upstream_delete
DELETE FROM upstream WHERE org_id = $1 AND upstream_id = $2
