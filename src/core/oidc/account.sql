-- Whose account at the identity provider is whose here (ID-8).

-- name: account_bound
-- The person of that account, in the organization that is named or, without one, the oldest that lets them in.
SELECT p.org_id, o.slug, p.principal_id, p.name, p.disabled_at, i.subject
FROM oidc_identity i
JOIN principal p ON p.org_id = i.org_id AND p.principal_id = i.principal_id
JOIN org o ON o.org_id = p.org_id
WHERE i.issuer = $1 AND i.subject = $2 AND ($3 = '' OR o.slug = $3)
ORDER BY CASE WHEN p.disabled_at IS NULL THEN 0 ELSE 1 END, o.created_at, o.org_id
LIMIT 1

-- name: account_by_email
-- The same by address, with the account of that provider they are bound to already.
SELECT p.org_id, o.slug, p.principal_id, p.name, p.disabled_at, i.subject
FROM principal p
JOIN org o ON o.org_id = p.org_id
LEFT JOIN oidc_identity i ON i.org_id = p.org_id AND i.principal_id = p.principal_id AND i.issuer = $1
WHERE p.email = $2 AND ($3 = '' OR o.slug = $3) AND p.kind = 'user'
ORDER BY CASE WHEN p.disabled_at IS NULL THEN 0 ELSE 1 END, o.created_at, o.org_id
LIMIT 1

-- name: account_bind
INSERT INTO oidc_identity (org_id, issuer, subject, principal_id, created_at) VALUES ($1, $2, $3, $4, $5)

-- name: account_unbind
DELETE FROM oidc_identity WHERE org_id = $1 AND principal_id = $2

-- name: account_first_org
SELECT org_id, slug FROM org ORDER BY created_at, org_id LIMIT 1

-- name: account_role
SELECT role_id, level FROM role WHERE org_id = $1 AND name = $2

-- name: account_add
INSERT INTO principal (org_id, principal_id, kind, name, email, domain, password, created_at)
VALUES ($1, $2, 'user', $3, $3, '', NULL, $4)

-- name: account_give
INSERT INTO principal_role (org_id, principal_id, role_id) VALUES ($1, $2, $3)
