-- name: installation_add
INSERT INTO installation (one, id, name, created_at) VALUES (1, $1, $2, $3)

-- name: installation_get
SELECT id, name, created_at FROM installation WHERE one = 1
