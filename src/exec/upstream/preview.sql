-- name: preview_past
-- What was asked of one tool of another server, the newest first (the index is of such tools only).
SELECT payload FROM proposal WHERE org_id = $1 AND tool = $2 AND substr(tool, 1, 5) = 'mcp__'
ORDER BY proposal_id DESC LIMIT 20
