-- name: handler_environment
SELECT production, approval_gate FROM environment WHERE org_id = $1 AND environment_id = $2
