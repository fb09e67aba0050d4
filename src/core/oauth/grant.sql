-- Consents (OAuth): the code, the token, the refresh tokens.
-- Locks: the organization's rights, exclusive, before anything is read: secrets change, and tokens may end. So of two
-- that bring one secret the second reads what the first has done, and rows need no lock of their own.

-- name: grant_agent
SELECT a.agent_id, p.disabled_at FROM oauth_agent a
JOIN principal p ON p.org_id = a.org_id AND p.principal_id = a.agent_id
WHERE a.org_id = $1 AND a.person_id = $2 AND a.client_id = $3

-- name: grant_add_agent
INSERT INTO oauth_agent (org_id, person_id, client_id, agent_id) VALUES ($1, $2, $3, $4)

-- name: grant_add
INSERT INTO oauth_grant (org_id, grant_id, person_id, agent_id, client_id, client_name, redirect_uri, resource, scope,
	code_hash, challenge, code_until, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)

-- name: grant_lock_by_code sqlite
SELECT '' FROM oauth_grant WHERE code_hash = $1 AND org_id = ''
-- name: grant_lock_by_code postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended(org_id, 0)) AS TEXT) FROM oauth_grant WHERE code_hash = $1

-- name: grant_lock_by_refresh sqlite
SELECT '' FROM oauth_refresh WHERE hash = $1 AND org_id = ''
-- name: grant_lock_by_refresh postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended(org_id, 0)) AS TEXT) FROM oauth_refresh WHERE hash = $1

-- name: grant_lock_by_token sqlite
SELECT '' FROM token WHERE hash = $1 AND org_id = ''
-- name: grant_lock_by_token postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended(org_id, 0)) AS TEXT) FROM token WHERE hash = $1

-- name: grant_by_code
SELECT g.org_id, o.slug, g.grant_id, g.person_id, d.disabled_at, g.agent_id, p.name, p.disabled_at, g.client_id,
	g.client_name, g.redirect_uri, g.resource, g.scope, g.challenge, g.code_until, g.code_used_at, g.token_id,
	g.expires_at, g.revoked_at
FROM oauth_grant g
JOIN org o ON o.org_id = g.org_id
JOIN principal p ON p.org_id = g.org_id AND p.principal_id = g.agent_id
JOIN principal d ON d.org_id = g.org_id AND d.principal_id = g.person_id
WHERE g.code_hash = $1

-- name: grant_by_refresh
SELECT g.org_id, o.slug, g.grant_id, g.person_id, d.disabled_at, g.agent_id, p.name, p.disabled_at, g.client_id,
	g.client_name, g.redirect_uri, g.resource, g.scope, g.challenge, g.code_until, g.code_used_at, g.token_id,
	g.expires_at, g.revoked_at
FROM oauth_refresh r
JOIN oauth_grant g ON g.org_id = r.org_id AND g.grant_id = r.grant_id
JOIN org o ON o.org_id = g.org_id
JOIN principal p ON p.org_id = g.org_id AND p.principal_id = g.agent_id
JOIN principal d ON d.org_id = g.org_id AND d.principal_id = g.person_id
WHERE r.hash = $1

-- name: grant_by_token
SELECT g.org_id, o.slug, g.grant_id, g.person_id, d.disabled_at, g.agent_id, p.name, p.disabled_at, g.client_id,
	g.client_name, g.redirect_uri, g.resource, g.scope, g.challenge, g.code_until, g.code_used_at, g.token_id,
	g.expires_at, g.revoked_at
FROM token t
JOIN oauth_grant g ON g.org_id = t.org_id AND g.token_id = t.token_id
JOIN org o ON o.org_id = g.org_id
JOIN principal p ON p.org_id = g.org_id AND p.principal_id = g.agent_id
JOIN principal d ON d.org_id = g.org_id AND d.principal_id = g.person_id
WHERE t.hash = $1

-- name: grant_refresh_get
SELECT expires_at, used_at FROM oauth_refresh WHERE org_id = $1 AND hash = $2

-- name: grant_use_code
UPDATE oauth_grant SET code_used_at = $3, token_id = $4 WHERE org_id = $1 AND grant_id = $2 AND code_used_at IS NULL

-- name: grant_add_refresh
INSERT INTO oauth_refresh (hash, org_id, grant_id, expires_at) VALUES ($1, $2, $3, $4)

-- name: grant_use_refresh
UPDATE oauth_refresh SET used_at = $3 WHERE org_id = $1 AND hash = $2 AND used_at IS NULL

-- name: grant_forget_refresh
DELETE FROM oauth_refresh WHERE org_id = $1 AND expires_at < $2

-- name: grant_end
UPDATE oauth_grant SET revoked_at = $3 WHERE org_id = $1 AND grant_id = $2 AND revoked_at IS NULL

-- name: grant_end_token
UPDATE token SET revoked_at = $3 WHERE org_id = $1 AND token_id = $2 AND revoked_at IS NULL

-- name: grant_person
-- Who agrees, and for which organization, as they are called.
SELECT p.name, p.email, o.name
FROM principal p
JOIN org o ON o.org_id = p.org_id
WHERE p.org_id = $1 AND p.principal_id = $2
