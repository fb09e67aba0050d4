-- The one-time link of a first start (ID-8).

-- name: setup_offer
UPDATE installation SET setup_hash = $1, setup_until = $2 WHERE one = 1

-- name: setup_get
SELECT setup_hash, setup_until FROM installation WHERE one = 1
