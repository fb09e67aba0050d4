-- Saying again that it is oneself (ID-8).

-- name: step_up_own
SELECT email, password FROM principal WHERE org_id = $1 AND principal_id = $2 AND disabled_at IS NULL

-- name: step_up_done
UPDATE session SET authenticated_at = $3 WHERE org_id = $1 AND session_id = $2 AND ended_at IS NULL
