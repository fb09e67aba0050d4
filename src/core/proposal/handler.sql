-- name: handler_production
SELECT production FROM environment WHERE org_id = $1 AND environment_id = $2
