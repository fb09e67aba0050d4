-- Registrations of clients (RFC 7591), counted by address.

-- name: register_try
-- Counts one; the window begins anew where the last one is over ($3: before this it is).
INSERT INTO oauth_try (who, tries, since) VALUES ($1, 1, $2)
ON CONFLICT (who) DO UPDATE SET
	tries = CASE WHEN oauth_try.since < $3 THEN 1 ELSE oauth_try.tries + 1 END,
	since = CASE WHEN oauth_try.since < $3 THEN $2 ELSE oauth_try.since END

-- name: register_tries
SELECT tries, since FROM oauth_try WHERE who = $1

-- name: register_unused
SELECT count(client_id) FROM oauth_client WHERE used_at IS NULL

-- name: register_add
INSERT INTO oauth_client (client_id, name, redirect_uris, created_at) VALUES ($1, $2, $3, $4)

-- name: register_use
UPDATE oauth_client SET used_at = $2 WHERE client_id = $1 AND used_at IS NULL

-- name: register_old
SELECT count(client_id) FROM oauth_client WHERE used_at IS NULL AND created_at < $1

-- name: register_forget
DELETE FROM oauth_client WHERE used_at IS NULL AND created_at < $1

-- name: register_forget_tries
DELETE FROM oauth_try WHERE since < $1
