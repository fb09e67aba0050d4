-- Environments, and what their rulesets say now and said before (FL-1).

-- name: store_environment
-- An environment whose target field was never changed has the project's.
SELECT e.environment_id, e.project_id, e.slug, e.name, COALESCE(t.doc, CASE p.target_field WHEN '' THEN 'userId' ELSE p.target_field END), e.production, e.approval_gate,
	e.version, e.created_at, e.updated_at
FROM environment e JOIN project p ON p.org_id = e.org_id AND p.project_id = e.project_id
LEFT JOIN flag_state t ON t.org_id = e.org_id AND t.environment_id = e.environment_id AND t.kind = 'target'
	AND t.key = '' AND t.until_version IS NULL
WHERE e.org_id = $1 AND e.environment_id = $2

-- name: store_lock sqlite
SELECT environment_id FROM environment WHERE org_id = $1 AND environment_id = $2
-- name: store_lock postgres
SELECT environment_id FROM environment WHERE org_id = $1 AND environment_id = $2 FOR UPDATE

-- name: store_live
SELECT key, doc FROM flag_state
WHERE org_id = $1 AND environment_id = $2 AND kind = $3 AND key > $4 AND until_version IS NULL ORDER BY key LIMIT $5

-- name: store_past
SELECT key, doc FROM flag_state
WHERE org_id = $1 AND environment_id = $2 AND kind = $3 AND key > $4 AND version <= $6
	AND (until_version IS NULL OR until_version > $6) ORDER BY key LIMIT $5

-- name: store_target_at
SELECT doc FROM flag_state
WHERE org_id = $1 AND environment_id = $2 AND kind = 'target' AND key = '' AND version <= $3
	AND (until_version IS NULL OR until_version > $3)

-- name: store_begun_by
-- The newest version that began something by then, and the newest that ended something: one of them is the
-- version of that time, for every version does one or the other.
SELECT version FROM flag_state WHERE org_id = $1 AND environment_id = $2 AND valid_from <= $3
ORDER BY version DESC LIMIT 1

-- name: store_ended_by
SELECT until_version FROM flag_state WHERE org_id = $1 AND environment_id = $2 AND until_version IS NOT NULL
	AND valid_until <= $3
ORDER BY until_version DESC LIMIT 1

-- name: store_item
SELECT i.item_id, i.key, i.type, i.description, i.schema, s.doc, i.created_at,
	CASE WHEN s.valid_from > i.updated_at THEN s.valid_from ELSE i.updated_at END
FROM flag_item i JOIN flag_state s ON s.org_id = i.org_id AND s.environment_id = $3 AND s.kind = i.kind AND s.key = i.key
	AND s.until_version IS NULL
WHERE i.org_id = $1 AND i.project_id = $2 AND i.space = $4 AND i.kind = $5 AND i.key = $6

-- name: store_end
UPDATE flag_state SET until_version = $5, valid_until = $6
WHERE org_id = $1 AND environment_id = $2 AND kind = $3 AND key = $4 AND until_version IS NULL

-- name: store_begin
INSERT INTO flag_state (org_id, environment_id, kind, key, version, valid_from, until_version, valid_until, doc)
VALUES ($1, $2, $3, $4, $5, $6, NULL, NULL, $7)

-- name: store_target_first
INSERT INTO flag_state (org_id, environment_id, kind, key, version, valid_from, until_version, valid_until, doc)
SELECT $1, $2, 'target', '', 1, $3, NULL, NULL, $4
WHERE NOT EXISTS (SELECT 1 FROM flag_state WHERE org_id = $1 AND environment_id = $2 AND kind = 'target')

-- name: store_moved
UPDATE environment SET version = $3, updated_at = $4 WHERE org_id = $1 AND environment_id = $2

-- name: store_old
-- What ended so long ago that nobody can look at it. What ended last is kept until something else began after it:
-- it may be all that tells which version there was.
SELECT COUNT(*) FROM (SELECT 1 FROM flag_state o WHERE o.valid_until < $1
	AND EXISTS (SELECT 1 FROM flag_state n WHERE n.org_id = o.org_id AND n.environment_id = o.environment_id
		AND n.version > o.until_version AND n.valid_from < $1) LIMIT 1) AS found

-- name: store_forget
DELETE FROM flag_state WHERE valid_until < $1
	AND EXISTS (SELECT 1 FROM flag_state n WHERE n.org_id = flag_state.org_id
		AND n.environment_id = flag_state.environment_id AND n.version > flag_state.until_version
		AND n.valid_from < $1)

-- name: store_page
SELECT i.item_id, i.key, i.type, i.description, i.schema, s.doc, i.created_at,
	CASE WHEN s.valid_from > i.updated_at THEN s.valid_from ELSE i.updated_at END
FROM flag_item i JOIN flag_state s ON s.org_id = i.org_id AND s.environment_id = $3 AND s.kind = i.kind AND s.key = i.key
	AND s.until_version IS NULL
WHERE i.org_id = $1 AND i.project_id = $2 AND i.space = $4 AND i.kind = $5 AND i.key > $6 ORDER BY i.key LIMIT $7
