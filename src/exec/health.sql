-- How the other systems are.

-- name: health_upstreams
SELECT u.upstream_id, u.name, u.kind, u.disabled, u.looked_at, u.problem,
	(SELECT COUNT(*) FROM outside_tool t WHERE t.org_id = $1 AND t.source_id = u.upstream_id AND t.state = 'accepted'),
	(SELECT COUNT(*) FROM outside_tool t WHERE t.org_id = $1 AND t.source_id = u.upstream_id AND t.state = 'quarantined'),
	0, 0
FROM upstream u WHERE u.org_id = $1 ORDER BY u.name

-- name: health_connections
-- What is wrong is what was said to the newest that was not taken.
SELECT c.connection_id, c.name, c.mode, c.disabled, 0,
	COALESCE((SELECT d.last_error FROM delivery d WHERE d.org_id = $1 AND d.connection_id = c.connection_id AND d.last_error <> ''
		ORDER BY d.happened_at DESC LIMIT 1), ''),
	(SELECT COUNT(*) FROM outside_tool t WHERE t.org_id = $1 AND t.source_id = c.connection_id AND t.state = 'accepted'),
	0,
	(SELECT COUNT(*) FROM delivery d WHERE d.org_id = $1 AND d.connection_id = c.connection_id AND d.state = 'waiting'),
	(SELECT COUNT(*) FROM delivery d WHERE d.org_id = $1 AND d.connection_id = c.connection_id AND d.state = 'dead')
FROM connection c WHERE c.org_id = $1 ORDER BY c.name LIMIT 200
