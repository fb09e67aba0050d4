-- What a new token refers to (ID-5).

-- name: mint_principal
SELECT kind FROM principal WHERE org_id = $1 AND principal_id = $2 AND disabled_at IS NULL

-- name: mint_environments
SELECT environment_id, project_id FROM environment WHERE org_id = $1 ORDER BY environment_id
