-- Who could agree to a change of who may approve (AP-4).

-- name: authority_admins
-- Admins who can sign in: a member who has neither set a password nor come from the identity provider yet is nobody to ask.
SELECT count(DISTINCT p.principal_id)
FROM principal p
JOIN principal_role pr ON pr.org_id = p.org_id AND pr.principal_id = p.principal_id
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
LEFT JOIN oidc_identity i ON i.org_id = p.org_id AND i.principal_id = p.principal_id
WHERE p.org_id = $1 AND p.kind = 'user' AND p.disabled_at IS NULL AND r.level = 'admin'
	AND (p.password IS NOT NULL OR i.subject IS NOT NULL)
