-- Clients that registered themselves (RFC 7591).

-- name: client_get
SELECT client_id, name, redirect_uris FROM oauth_client WHERE client_id = $1
