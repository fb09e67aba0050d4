-- One-time addresses at which outcomes are told.

-- name: callback_attempt
SELECT fence, deadline_at FROM attempt WHERE org_id = $1 AND attempt_id = $2

-- name: callback_add
INSERT INTO callback (callback_hash, org_id, attempt_id, fence, connection_id, expires_at, used_at) VALUES ($1, $2, $3, $4, $5, $6, 0)

-- name: callback_get
SELECT org_id, attempt_id, fence, connection_id, expires_at, used_at FROM callback WHERE callback_hash = $1

-- name: callback_use
UPDATE callback SET used_at = $3 WHERE org_id = $1 AND callback_hash = $2 AND used_at = 0

-- name: callback_forget
-- Of every organization: nobody asks for it, time does.
DELETE FROM callback WHERE org_id IN (SELECT org_id FROM org) AND expires_at < $1
