-- What the watcher asks: have the versions moved of environments that are loaded?

-- name: live_versions
SELECT environment_id, version FROM environment
WHERE (org_id = $1 AND environment_id = $2) OR (org_id = $3 AND environment_id = $4)
OR (org_id = $5 AND environment_id = $6) OR (org_id = $7 AND environment_id = $8)
OR (org_id = $9 AND environment_id = $10) OR (org_id = $11 AND environment_id = $12)
OR (org_id = $13 AND environment_id = $14) OR (org_id = $15 AND environment_id = $16)
OR (org_id = $17 AND environment_id = $18) OR (org_id = $19 AND environment_id = $20)
OR (org_id = $21 AND environment_id = $22) OR (org_id = $23 AND environment_id = $24)
OR (org_id = $25 AND environment_id = $26) OR (org_id = $27 AND environment_id = $28)
OR (org_id = $29 AND environment_id = $30) OR (org_id = $31 AND environment_id = $32)

-- History: the versions after one and up to another, and when each began. What only went leaves no row of its
-- own: its end says it.

-- name: live_versions_between
SELECT version, MIN(at) FROM (
	SELECT version, valid_from AS at FROM flag_state
	WHERE org_id = $1 AND environment_id = $2 AND version > $3 AND version <= $4
	UNION ALL
	SELECT until_version AS version, valid_until AS at FROM flag_state
	WHERE org_id = $1 AND environment_id = $2 AND until_version > $3 AND until_version <= $4
) AS moved GROUP BY version ORDER BY version LIMIT $5
