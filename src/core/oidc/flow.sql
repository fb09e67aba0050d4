-- Sign-ins that came back from the identity provider: none does twice.

-- name: flow_forget
DELETE FROM oidc_used WHERE until < $1

-- name: flow_use
INSERT INTO oidc_used (state, until) VALUES ($1, $2)
