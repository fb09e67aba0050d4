-- The credentials of other systems, boxed under the key file.

-- name: safe_add
INSERT INTO secret (org_id, secret_id, boxed, created_at) VALUES ($1, $2, $3, $4)

-- name: safe_get
SELECT boxed FROM secret WHERE org_id = $1 AND secret_id = $2

-- name: safe_remove
DELETE FROM secret WHERE org_id = $1 AND secret_id = $2
