-- Organizations, projects, environments as they are listed (ID-1).

-- name: place_org
SELECT org_id, slug, name, created_at FROM org WHERE org_id = $1

-- name: place_projects
SELECT project_id, slug, name, created_at FROM project
WHERE org_id = $1 AND project_id > $2 ORDER BY project_id LIMIT $3

-- name: place_environments
SELECT environment_id, project_id, slug, name, production, approval_gate, created_at FROM environment
WHERE org_id = $1 AND environment_id > $2 AND ($4 = '' OR project_id = $4) ORDER BY environment_id LIMIT $3
