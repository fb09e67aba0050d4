-- name: gate_record
INSERT INTO call (org_id, call_id, principal_id, token_id, transport, tool, effect, status, args_hash, proposal_id, called_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- name: gate_record_behind
-- Of a read, written later (quick/behind.h): again, where nobody knows whether it was.
INSERT INTO call (org_id, call_id, principal_id, token_id, transport, tool, effect, status, args_hash, called_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (org_id, call_id) DO NOTHING
