-- name: installation_add
INSERT INTO installation (one, id, name, created_at, keys) VALUES (1, $1, $2, $3, $4) ON CONFLICT (one) DO NOTHING

-- name: installation_bind
UPDATE installation SET keys = $1 WHERE one = 1 AND keys = ''

-- name: installation_get
SELECT id, name, created_at, keys FROM installation WHERE one = 1
