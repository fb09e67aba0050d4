-- Other systems that are reached by webhook.

-- name: hook_get
SELECT connection_id, name, url, mode, answer, auth, auth_name, auth_secret_id, key_id, old_key_id, old_until, allow, deadline_ms,
	wants_proposals, wants_decisions, wants_calls, disabled, created_by, created_at, changed_at
FROM connection WHERE org_id = $1 AND connection_id = $2

-- name: hook_list
SELECT connection_id, name, url, mode, answer, auth, auth_name, auth_secret_id, key_id, old_key_id, old_until, allow, deadline_ms,
	wants_proposals, wants_decisions, wants_calls, disabled, created_by, created_at, changed_at
FROM connection WHERE org_id = $1 AND connection_id > $2 ORDER BY connection_id LIMIT $3

-- name: hook_add
INSERT INTO connection (org_id, connection_id, name, url, mode, answer, auth, auth_name, auth_secret_id, key_id, old_key_id,
	old_until, allow, deadline_ms, wants_proposals, wants_decisions, wants_calls, disabled, created_by, created_at, changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', 0, $11, $12, $13, $14, $15, 0, $16, $17, $17)

-- name: hook_change
UPDATE connection SET url = $3, mode = $4, answer = $5, auth = $6, auth_name = $7, auth_secret_id = $8, allow = $9,
	deadline_ms = $10, wants_proposals = $11, wants_decisions = $12, wants_calls = $13, disabled = $14, changed_at = $15
WHERE org_id = $1 AND connection_id = $2

-- name: hook_rotate
UPDATE connection SET key_id = $3, old_key_id = $4, old_until = $5, changed_at = $6 WHERE org_id = $1 AND connection_id = $2

-- name: hook_tools
SELECT COUNT(*) FROM outside_tool WHERE org_id = $1 AND source_id = $2

-- name: hook_forget_deliveries
DELETE FROM delivery WHERE org_id = $1 AND connection_id = $2

-- name: hook_forget_callbacks
DELETE FROM callback WHERE org_id = $1 AND connection_id = $2

-- name: hook_remove
DELETE FROM connection WHERE org_id = $1 AND connection_id = $2
