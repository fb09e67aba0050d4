-- name: gate_record
INSERT INTO call (org_id, call_id, principal_id, token_id, transport, tool, effect, status, args_hash, proposal_id, called_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
