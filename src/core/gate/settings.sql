-- An organization's policy rules (AP-4).

-- name: settings_put
UPDATE org SET settings = $2, policy_version = $3 WHERE org_id = $1
