-- What others offer, and what an admin of the organization has said of it.

-- name: toolset_accepted
SELECT name, provider, source_id, source, remote, state, version, title, doc, effect, category, domain, target, in_schema,
	out_schema, rollback, financial, personal_data, phi, failure, contract, tier, deadline_ms, options,
	'', definition_hash, '', seen_hash, seen_at
FROM outside_tool WHERE org_id = $1 AND state = 'accepted' ORDER BY name

-- name: toolset_list
SELECT name, provider, source_id, source, remote, state, version, title, doc, effect, category, domain, target, in_schema,
	out_schema, rollback, financial, personal_data, phi, failure, contract, tier, deadline_ms, options,
	definition, definition_hash, seen, seen_hash, seen_at
FROM outside_tool WHERE org_id = $1 AND ($2 = '' OR source_id = $2) ORDER BY name

-- name: toolset_get
SELECT name, provider, source_id, source, remote, state, version, title, doc, effect, category, domain, target, in_schema,
	out_schema, rollback, financial, personal_data, phi, failure, contract, tier, deadline_ms, options,
	definition, definition_hash, seen, seen_hash, seen_at
FROM outside_tool WHERE org_id = $1 AND name = $2

-- name: toolset_put
INSERT INTO outside_tool (org_id, name, provider, source_id, source, remote, state, version, title, doc, effect, category,
	domain, target, in_schema, out_schema, rollback, financial, personal_data, phi, failure, contract, tier, deadline_ms,
	options, definition, definition_hash, seen, seen_hash, seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
	$25, $26, $27, $28, $29, $30)
ON CONFLICT (org_id, name) DO UPDATE SET provider = $3, source_id = $4, source = $5, remote = $6, state = $7,
	version = $8, title = $9, doc = $10, effect = $11, category = $12, domain = $13, target = $14, in_schema = $15,
	out_schema = $16, rollback = $17, financial = $18, personal_data = $19, phi = $20, failure = $21, contract = $22,
	tier = $23, deadline_ms = $24, options = $25, definition = $26, definition_hash = $27, seen = $28, seen_hash = $29,
	seen_at = $30

-- name: toolset_drop
DELETE FROM outside_tool WHERE org_id = $1 AND source_id = $2 AND ($3 = '' OR name = $3)

-- name: toolset_distrust
-- What was allowed of a tool was allowed of this one, not of the next one by its name. What is blocked stays blocked.
DELETE FROM agent_tool WHERE org_id = $1 AND tier = 'always_allow'
	AND tool IN (SELECT name FROM outside_tool WHERE org_id = $1 AND source_id = $2 AND ($3 = '' OR name = $3))

-- name: toolset_unlift
DELETE FROM tool_override WHERE org_id = $1
	AND tool IN (SELECT name FROM outside_tool WHERE org_id = $1 AND source_id = $2 AND ($3 = '' OR name = $3))

-- name: toolset_bury
-- A tool begins after the version that stands here, so the one that is deleted is never an older one.
INSERT INTO outside_tool_past (org_id, name, version)
SELECT org_id, name, version FROM outside_tool WHERE org_id = $1 AND source_id = $2 AND ($3 = '' OR name = $3)
ON CONFLICT (org_id, name) DO UPDATE SET version = excluded.version

-- name: toolset_past
SELECT version FROM outside_tool_past WHERE org_id = $1 AND name = $2

-- name: toolset_epoch
SELECT epoch FROM rights_epoch WHERE org_id = $1
