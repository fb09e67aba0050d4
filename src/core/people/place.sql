-- Organizations, projects, environments as they are listed (ID-1).

-- name: place_org
SELECT org_id, slug, name, created_at FROM org WHERE org_id = $1

-- Of a token that is for some environments only ($n = 0): those, as a JSON array, and the projects they are in.

-- name: place_projects sqlite
SELECT project_id, slug, name, created_at FROM project
WHERE org_id = $1 AND project_id > $2 AND ($4 = 1 OR project_id IN (SELECT project_id FROM environment
	WHERE org_id = $1 AND environment_id IN (SELECT value FROM json_each($5))))
ORDER BY project_id LIMIT $3
-- name: place_projects postgres
SELECT project_id, slug, name, created_at FROM project
WHERE org_id = $1 AND project_id > $2 AND ($4 = 1 OR project_id IN (SELECT project_id FROM environment
	WHERE org_id = $1 AND environment_id IN (SELECT json_array_elements_text(CAST(CAST($5 AS TEXT) AS JSON)))))
ORDER BY project_id LIMIT $3

-- name: place_environments sqlite
SELECT environment_id, project_id, slug, name, production, approval_gate, created_at FROM environment
WHERE org_id = $1 AND environment_id > $2 AND ($4 = '' OR project_id = $4) AND ($5 = 1 OR environment_id IN (SELECT value FROM json_each($6)))
ORDER BY environment_id LIMIT $3
-- name: place_environments postgres
SELECT environment_id, project_id, slug, name, production, approval_gate, created_at FROM environment
WHERE org_id = $1 AND environment_id > $2 AND ($4 = '' OR project_id = $4) AND ($5 = 1 OR environment_id IN (SELECT json_array_elements_text(CAST(CAST($6 AS TEXT) AS JSON))))
ORDER BY environment_id LIMIT $3
