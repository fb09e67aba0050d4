-- Tools of connections: what an admin has declared. Rows of outside_tool, beside those of upstream servers (core/gate/toolset).

-- name: declared_remove
DELETE FROM outside_tool WHERE org_id = $1 AND name = $2 AND provider = 'webhook'
