-- The three tiers and the overrides of one agent (TL-6, TL-7, TL-8): the snapshot is one query.

-- name: permission_snapshot
SELECT tool, tier, 0 FROM agent_tool WHERE org_id = $1 AND agent_id = $2
UNION ALL
SELECT tool, '', 1 FROM tool_override WHERE org_id = $1 AND agent_id = $2 AND user_id = $3
ORDER BY 1

-- name: permission_list
SELECT tool, provider, tier FROM agent_tool WHERE org_id = $1 AND agent_id = $2 ORDER BY tool

-- name: permission_clear
DELETE FROM agent_tool WHERE org_id = $1 AND agent_id = $2

-- name: permission_unset
DELETE FROM agent_tool WHERE org_id = $1 AND agent_id = $2 AND tool = $3

-- name: permission_set
INSERT INTO agent_tool (org_id, agent_id, tool, provider, tier) VALUES ($1, $2, $3, $4, $5)

-- name: permission_override_add
INSERT INTO tool_override (org_id, user_id, agent_id, tool, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (org_id, user_id, agent_id, tool) DO NOTHING

-- name: permission_override_list
SELECT agent_id, tool, created_at FROM tool_override WHERE org_id = $1 AND user_id = $2 ORDER BY agent_id, tool

-- name: permission_override_delete
DELETE FROM tool_override WHERE org_id = $1 AND user_id = $2 AND agent_id = $3 AND tool = $4

-- name: permission_agent
SELECT name FROM principal WHERE org_id = $1 AND principal_id = $2 AND kind = 'agent'

-- name: permission_principal
SELECT kind FROM principal WHERE org_id = $1 AND principal_id = $2
