-- Who has called how often of late, for people (TL-9).

-- name: budget_ops_used
-- The cap is that of the widest token that is good; NULL: none is, so it was a person's session. Slots that were
-- taken in the window are few: at most 128 of a principal.
SELECT b.principal_id, p.name, p.kind, CAST(SUM(b.used) AS BIGINT), MIN(b.taken_at),
	COALESCE((SELECT MAX(t.rate_per_minute) FROM token t WHERE t.org_id = $1 AND t.principal_id = b.principal_id
		AND t.revoked_at IS NULL AND t.expires_at > $3), 0)
FROM budget_slot b JOIN principal p ON p.org_id = b.org_id AND p.principal_id = b.principal_id
WHERE b.org_id = $1 AND b.taken_at > $2
GROUP BY b.principal_id, p.name, p.kind ORDER BY 4 DESC, 1 LIMIT 50
