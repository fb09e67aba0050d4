-- Samples of contexts. The statements without an organization's parameter are the writer's: it serves all of them.
-- The target field is found as store_environment does.

-- name: reservoir_settings
SELECT s.org_id, s.environment_id, s.percent, s.keep_fields, s.wrapped,
	COALESCE(t.doc, CASE p.target_field WHEN '' THEN 'userId' ELSE p.target_field END)
FROM flag_sampling s
JOIN environment e ON e.org_id = s.org_id AND e.environment_id = s.environment_id
JOIN project p ON p.org_id = e.org_id AND p.project_id = e.project_id
LEFT JOIN flag_state t ON t.org_id = e.org_id AND t.environment_id = e.environment_id AND t.kind = 'target'
	AND t.key = '' AND t.until_version IS NULL
ORDER BY s.org_id, s.environment_id LIMIT $1

-- name: reservoir_get
SELECT s.org_id, s.environment_id, s.percent, s.keep_fields, s.wrapped,
	COALESCE(t.doc, CASE p.target_field WHEN '' THEN 'userId' ELSE p.target_field END)
FROM flag_sampling s
JOIN environment e ON e.org_id = s.org_id AND e.environment_id = s.environment_id
JOIN project p ON p.org_id = e.org_id AND p.project_id = e.project_id
LEFT JOIN flag_state t ON t.org_id = e.org_id AND t.environment_id = e.environment_id AND t.kind = 'target'
	AND t.key = '' AND t.until_version IS NULL
WHERE s.org_id = $1 AND s.environment_id = $2

-- name: reservoir_begin
INSERT INTO flag_sampling (org_id, environment_id, percent, keep_fields, wrapped, updated_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: reservoir_change
UPDATE flag_sampling SET percent = $3, keep_fields = $4, updated_at = $5 WHERE org_id = $1 AND environment_id = $2

-- name: reservoir_end
-- Its samples go with it.
DELETE FROM flag_sampling WHERE org_id = $1 AND environment_id = $2

-- name: reservoir_put
-- Only where its key still is: what was switched off meanwhile is not begun again.
INSERT INTO flag_sample (org_id, environment_id, slot, target, taken_at, body)
SELECT org_id, environment_id, $3, $4, $5, $6 FROM flag_sampling WHERE org_id = $1 AND environment_id = $2 AND wrapped = $7
ON CONFLICT (org_id, environment_id, slot)
DO UPDATE SET target = excluded.target, taken_at = excluded.taken_at, body = excluded.body

-- name: reservoir_last
-- The last slot that is kept, where there are as many as may be.
SELECT slot FROM flag_sample WHERE org_id = $1 AND environment_id = $2 ORDER BY slot LIMIT 1 OFFSET $3

-- name: reservoir_trim
DELETE FROM flag_sample WHERE org_id = $1 AND environment_id = $2 AND slot > $3

-- name: reservoir_page
SELECT slot, body FROM flag_sample
WHERE org_id = $1 AND environment_id = $2 AND slot > $3 AND taken_at >= $4 ORDER BY slot LIMIT $5

-- name: reservoir_count
SELECT count(slot), coalesce(min(taken_at), 0) FROM flag_sample WHERE org_id = $1 AND environment_id = $2

-- name: reservoir_erase
DELETE FROM flag_sample WHERE org_id = $1 AND environment_id = $2 AND target = $3

-- name: reservoir_clear
DELETE FROM flag_sample WHERE org_id = $1 AND environment_id = $2

-- name: reservoir_age
DELETE FROM flag_sample WHERE org_id = $1 AND environment_id = $2 AND taken_at < $3
