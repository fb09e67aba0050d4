-- What is still to be told to whom. Rows come by trigger (0016).

-- name: delivery_places
-- Of every organization: the courier serves them all. By connection, so that a long queue is not read to its end. One whose
-- credential must be entered again (hook_lacks_secret) waits.
SELECT c.org_id, c.connection_id FROM connection c WHERE (c.auth = 'none' OR c.auth_secret_id <> '') AND EXISTS (SELECT 1 FROM delivery d WHERE d.org_id = c.org_id
	AND d.connection_id = c.connection_id AND d.state = 'waiting' AND d.due_at <= $1) LIMIT $2

-- name: delivery_take sqlite
-- columns: 11
UPDATE delivery SET due_at = $4, tries = tries + 1 WHERE org_id = $1 AND connection_id = $2 AND event_id IN (
	SELECT d.event_id FROM delivery d WHERE d.org_id = $1 AND d.connection_id = $2 AND d.state = 'waiting' AND d.due_at <= $3
	ORDER BY d.due_at, d.event_id LIMIT $5)
RETURNING event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, tries
-- name: delivery_take postgres
-- columns: 11
-- An array, which is made once: a plain IN may run the inner SELECT again for each row, and take more than the limit.
UPDATE delivery SET due_at = $4, tries = tries + 1 WHERE org_id = $1 AND connection_id = $2 AND event_id = ANY (ARRAY(
	SELECT d.event_id FROM delivery d WHERE d.org_id = $1 AND d.connection_id = $2 AND d.state = 'waiting' AND d.due_at <= $3
	ORDER BY d.due_at, d.event_id LIMIT $5 FOR UPDATE SKIP LOCKED))
RETURNING event_id, type, subject, happened_at, tool, word, risk, principal_id, transport, effect, tries

-- name: delivery_done
DELETE FROM delivery WHERE org_id = $1 AND connection_id = $2 AND event_id = $3 AND tries = $4

-- name: delivery_again
-- Only by who took it last: another may have it by now.
UPDATE delivery SET state = $5, due_at = $6, last_status = $7, last_error = $8
WHERE org_id = $1 AND connection_id = $2 AND event_id = $3 AND tries = $4

-- name: delivery_list
SELECT event_id, connection_id, type, subject, happened_at, state, tries, due_at, last_status, last_error FROM delivery
WHERE org_id = $1 AND state = $2 AND event_id > $3 AND ($5 = '' OR connection_id = $5) ORDER BY event_id LIMIT $4

-- name: delivery_retry
UPDATE delivery SET state = 'waiting', tries = 0, due_at = $3 WHERE org_id = $1 AND connection_id = $2 AND state = 'dead'

-- name: delivery_forget
DELETE FROM delivery WHERE org_id IN (SELECT org_id FROM org) AND state = 'dead' AND happened_at < $1
