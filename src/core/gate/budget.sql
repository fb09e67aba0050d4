-- Slots (TL-9). Taking one is one statement: the oldest slot that is older than the window moves to now.

-- name: budget_count
SELECT count(slot), min(taken_at) FROM budget_slot WHERE org_id = $1 AND principal_id = $2

-- name: budget_free
SELECT count(slot), coalesce(min(taken_at), 0) FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND taken_at > $3

-- name: budget_add
INSERT INTO budget_slot (org_id, principal_id, slot, taken_at) VALUES ($1, $2, $3, 0)
ON CONFLICT (org_id, principal_id, slot) DO NOTHING

-- name: budget_take sqlite
-- It says how many others are taken and since when. The slot that has just moved is left out: whether a subquery sees
-- it as it was or as it is differs between the engines.
UPDATE budget_slot SET taken_at = $3 WHERE org_id = $1 AND principal_id = $2 AND slot = (
	SELECT slot FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND slot < $5 AND taken_at <= $4
	ORDER BY taken_at LIMIT 1)
RETURNING (SELECT count(o.slot) FROM budget_slot o
		WHERE o.org_id = $1 AND o.principal_id = $2 AND o.taken_at > $4 AND o.slot <> budget_slot.slot),
	(SELECT coalesce(min(o.taken_at), 0) FROM budget_slot o
		WHERE o.org_id = $1 AND o.principal_id = $2 AND o.taken_at > $4 AND o.slot <> budget_slot.slot)
-- name: budget_take postgres
UPDATE budget_slot SET taken_at = $3 WHERE org_id = $1 AND principal_id = $2 AND slot = (
	SELECT slot FROM budget_slot WHERE org_id = $1 AND principal_id = $2 AND slot < $5 AND taken_at <= $4
	ORDER BY taken_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING (SELECT count(o.slot) FROM budget_slot o
		WHERE o.org_id = $1 AND o.principal_id = $2 AND o.taken_at > $4 AND o.slot <> budget_slot.slot),
	(SELECT coalesce(min(o.taken_at), 0) FROM budget_slot o
		WHERE o.org_id = $1 AND o.principal_id = $2 AND o.taken_at > $4 AND o.slot <> budget_slot.slot)
