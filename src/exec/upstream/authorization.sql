-- What was authorized at other MCP servers. The upstream's row is locked meanwhile.

-- name: authorization_add
INSERT INTO upstream_auth (org_id, upstream_id, client_secret_id, tokens_secret_id, flow_secret_id, flow_state, flow_by,
	flow_until, fence, turn_until)
VALUES ($1, $2, '', '', '', '', '', 0, 0, 0) ON CONFLICT DO NOTHING

-- name: authorization_get
SELECT client_secret_id, tokens_secret_id, flow_secret_id, flow_by, flow_until, fence, turn_until
FROM upstream_auth WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_by_state
SELECT upstream_id FROM upstream_auth WHERE org_id = $1 AND flow_state = $2 AND flow_by = $3

-- name: authorization_client
UPDATE upstream_auth SET client_secret_id = $3 WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_tokens
UPDATE upstream_auth SET tokens_secret_id = $3 WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_flow
UPDATE upstream_auth SET flow_secret_id = $3, flow_state = $4, flow_by = $5, flow_until = $6
WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_turn
UPDATE upstream_auth SET fence = fence + 1, turn_until = $3 WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_leave
UPDATE upstream_auth SET turn_until = 0 WHERE org_id = $1 AND upstream_id = $2 AND fence = $3

-- name: authorization_state
UPDATE upstream SET auth_state = $3 WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_given
UPDATE upstream SET auth_given = auth_given + 1 WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_changed
-- By a person. Every process opens a client of its own again, and looks at once.
UPDATE upstream SET auth_state = $3, version = version + 1, auth_given = auth_given + 1, looked_at = 0, problem = ''
WHERE org_id = $1 AND upstream_id = $2

-- name: authorization_forget
DELETE FROM upstream_auth WHERE org_id = $1 AND upstream_id = $2
