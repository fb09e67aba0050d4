-- Who holds how much, and since when (ID-6, AP-3).

-- name: rank_widened
UPDATE principal SET rights_since = $3 WHERE org_id = $1 AND principal_id = $2

-- name: rank_role_widened
UPDATE principal SET rights_since = $3
WHERE org_id = $1 AND principal_id IN (SELECT principal_id FROM principal_role WHERE org_id = $1 AND role_id = $2)

-- name: rank_team_widened
UPDATE principal SET rights_since = $3
WHERE org_id = $1 AND principal_id IN (SELECT principal_id FROM team_member WHERE org_id = $1 AND team_id = $2)

-- name: rank_of_person
SELECT r.level, r.rules FROM principal_role pr
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE pr.org_id = $1 AND pr.principal_id = $2

-- name: rank_of_role
-- All roles of everybody who has this one.
SELECT DISTINCT r.level, r.rules FROM principal_role h
JOIN principal_role pr ON pr.org_id = h.org_id AND pr.principal_id = h.principal_id
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE h.org_id = $1 AND h.role_id = $2

-- name: rank_of_team
SELECT DISTINCT r.level, r.rules FROM team_member h
JOIN principal_role pr ON pr.org_id = h.org_id AND pr.principal_id = h.principal_id
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE h.org_id = $1 AND h.team_id = $2
