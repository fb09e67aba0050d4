-- Teams, who is in them, and what they may (ID-3).

-- name: team_list
SELECT team_id, name FROM team WHERE org_id = $1 AND team_id > $2 ORDER BY team_id LIMIT $3

-- name: team_get
SELECT team_id, name FROM team WHERE org_id = $1 AND team_id = $2

-- name: team_add
INSERT INTO team (org_id, team_id, name) VALUES ($1, $2, $3)

-- name: team_rename
UPDATE team SET name = $3 WHERE org_id = $1 AND team_id = $2

-- name: team_delete
DELETE FROM team WHERE org_id = $1 AND team_id = $2

-- name: team_members
SELECT principal_id FROM team_member WHERE org_id = $1 AND team_id = $2 ORDER BY principal_id

-- name: team_size
SELECT count(m.principal_id) FROM team_member m
JOIN principal p ON p.org_id = m.org_id AND p.principal_id = m.principal_id
WHERE m.org_id = $1 AND m.team_id = $2 AND p.disabled_at IS NULL

-- name: team_add_member
-- People only: an agent has what its person's teams have.
INSERT INTO team_member (org_id, team_id, principal_id)
SELECT org_id, $2, principal_id FROM principal WHERE org_id = $1 AND principal_id = $3 AND kind = 'user'

-- name: team_clear_members
DELETE FROM team_member WHERE org_id = $1 AND team_id = $2

-- name: team_grants
SELECT resource_type, resource_id, verb FROM team_grant
WHERE org_id = $1 AND team_id = $2 ORDER BY resource_type, resource_id

-- name: team_add_grant
INSERT INTO team_grant (org_id, team_id, resource_type, resource_id, verb) VALUES ($1, $2, $3, $4, $5)

-- name: team_clear_grants
DELETE FROM team_grant WHERE org_id = $1 AND team_id = $2

-- name: team_is_only
SELECT count(resource_id) FROM team_only WHERE org_id = $1 AND resource_type = $2 AND resource_id = $3

-- name: team_set_only
INSERT INTO team_only (org_id, resource_type, resource_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING

-- name: team_unset_only
DELETE FROM team_only WHERE org_id = $1 AND resource_type = $2 AND resource_id = $3

-- name: team_granted
SELECT count(g.verb) FROM team_grant g
JOIN team_member m ON m.org_id = g.org_id AND m.team_id = g.team_id
WHERE g.org_id = $1 AND g.resource_type = $2 AND g.resource_id = $3 AND m.principal_id = $4
	AND (g.verb = 'manage' OR $5 = 'read')
