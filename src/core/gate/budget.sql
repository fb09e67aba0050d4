-- Slots (TL-9). Taking one is one statement: a slot that has room, or is older than the window, moves to now. A slot
-- holds one call; where the cap ($5) is above the number of slots ($6), its share of the cap. There are few of them
-- whatever the cap is, so they are counted by reading them. The one that was used last comes first: calls that are
-- made close together share a slot, and come free together. A call that read the clock before the slot's last one does
-- not join it: the slot may have been free in between (tests/model/budget.pml has the story).

-- name: budget_count
SELECT count(slot) FROM budget_slot WHERE org_id = $1 AND principal_id = $2

-- name: budget_taken
-- What is taken, with what this transaction took. Added up in C: an aggregate costs PostgreSQL more than the rows do.
SELECT used, taken_at FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND taken_at > $3

-- name: budget_add
INSERT INTO budget_slot (org_id, principal_id, slot, taken_at) VALUES ($1, $2, $3, 0)
ON CONFLICT (org_id, principal_id, slot) DO NOTHING

-- name: budget_take sqlite
UPDATE budget_slot SET used = CASE WHEN taken_at <= $4 THEN 1 ELSE used + 1 END, taken_at = $3
WHERE org_id = $1 AND principal_id = $2 AND slot = (
	SELECT slot FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND slot < $6
		AND (taken_at <= $4 OR (taken_at <= $3 AND used < ($5 - slot + $6 - 1) / $6))
	ORDER BY taken_at DESC LIMIT 1)
RETURNING slot
-- name: budget_take postgres
UPDATE budget_slot SET used = CASE WHEN taken_at <= $4 THEN 1 ELSE used + 1 END, taken_at = $3
WHERE org_id = $1 AND principal_id = $2 AND slot = (
	SELECT slot FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND slot < $6
		AND (taken_at <= $4 OR (taken_at <= $3 AND used < ($5 - slot + $6 - 1) / $6))
	ORDER BY taken_at DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING slot

-- name: budget_used
-- The cap is that of the widest token that is good; NULL: none is, so it was a person's session. Slots that were
-- taken in the window are few: at most 128 of a principal.
SELECT b.principal_id, p.name, p.kind, CAST(SUM(b.used) AS BIGINT), MIN(b.taken_at),
	COALESCE((SELECT MAX(t.rate_per_minute) FROM token t WHERE t.org_id = $1 AND t.principal_id = b.principal_id
		AND t.revoked_at IS NULL AND t.expires_at > $3), 0)
FROM budget_slot b JOIN principal p ON p.org_id = b.org_id AND p.principal_id = b.principal_id
WHERE b.org_id = $1 AND b.taken_at > $2
GROUP BY b.principal_id, p.name, p.kind ORDER BY 4 DESC, 1 LIMIT 50

-- name: budget_room sqlite
-- The slot that budget_take would take, and how many calls are in it: to be filled at once, and lent (quick/lease.h).
SELECT slot, CASE WHEN taken_at <= $4 THEN 0 ELSE used END FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND slot < $6
	AND (taken_at <= $4 OR (taken_at <= $3 AND used < ($5 - slot + $6 - 1) / $6))
ORDER BY taken_at DESC LIMIT 1
-- name: budget_room postgres
SELECT slot, CASE WHEN taken_at <= $4 THEN 0 ELSE used END FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND slot < $6
	AND (taken_at <= $4 OR (taken_at <= $3 AND used < ($5 - slot + $6 - 1) / $6))
ORDER BY taken_at DESC LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: budget_fill
UPDATE budget_slot SET used = $4, taken_at = $5 WHERE org_id = $1 AND principal_id = $2 AND slot = $3

-- name: budget_give_back
-- Of a slot that is still as it was filled: it is full until a window after that, so nobody else has been in it.
UPDATE budget_slot SET used = used - $5 WHERE org_id = $1 AND principal_id = $2 AND slot = $3 AND taken_at = $4
