-- The notebook that the agents and people of an organization share.

-- name: note_list
-- Newest first: ids are in the order of time.
SELECT note_id, title, text, version, created_by, created_at, updated_at FROM note
WHERE org_id = $1 AND note_id < $2 ORDER BY note_id DESC LIMIT $3

-- name: note_get
SELECT note_id, title, text, version, created_by, created_at, updated_at FROM note WHERE org_id = $1 AND note_id = $2

-- name: note_lock sqlite
SELECT note_id, title, text, version, created_by, created_at, updated_at FROM note WHERE org_id = $1 AND note_id = $2
-- name: note_lock postgres
SELECT note_id, title, text, version, created_by, created_at, updated_at FROM note WHERE org_id = $1 AND note_id = $2
FOR UPDATE

-- name: note_add
INSERT INTO note (org_id, note_id, title, text, version, created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, 1, $5, $6, $6)

-- name: note_change
UPDATE note SET title = $3, text = $4, version = $5, updated_at = $6 WHERE org_id = $1 AND note_id = $2

-- name: note_remove
DELETE FROM note WHERE org_id = $1 AND note_id = $2
