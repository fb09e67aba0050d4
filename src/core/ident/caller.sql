-- Who is asking. One query finds the credential with everything that hangs on it: a row for each role of the person
-- whose rights count (a personal token's own, an agent's delegator), and one without a role where there is none.
-- Locks: organization rights, shared to decide and exclusive to change rights or policy (DESIGN section 3). SQLite's
-- single writer is that lock already. The lock is a statement of its own, before the one that reads: what is read
-- must be as it is after the wait.

-- name: caller_lock sqlite
SELECT '' FROM org WHERE org_id = $1 AND org_id = ''
-- name: caller_lock postgres
SELECT CAST(pg_advisory_xact_lock_shared(hashtextextended($1, 0)) AS TEXT)

-- name: caller_lock_rights sqlite
SELECT '' FROM org WHERE org_id = $1 AND org_id = ''
-- name: caller_lock_rights postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended($1, 0)) AS TEXT)

-- name: caller_epoch sqlite
-- One number for all of what the statements below and the agent's tiers say, and the clock where that is a question of
-- its own. Every table they read has a trigger that draws another number (tests/unit/core/known.c insists).
SELECT epoch, 0 FROM rights_epoch WHERE org_id = $1
-- name: caller_epoch postgres
SELECT epoch, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) FROM rights_epoch WHERE org_id = $1

-- name: caller_epoch_by_token
SELECT e.epoch, 0 FROM token t JOIN rights_epoch e ON e.org_id = t.org_id WHERE t.hash = $1

-- name: caller_epoch_by_session
SELECT e.epoch, 0 FROM session s JOIN rights_epoch e ON e.org_id = s.org_id WHERE s.hash = $1

-- name: caller_lock_by_token sqlite
SELECT '' FROM token WHERE hash = $1 AND org_id = ''
-- name: caller_lock_by_token postgres
SELECT CAST(pg_advisory_xact_lock_shared(hashtextextended(org_id, 0)) AS TEXT) FROM token WHERE hash = $1

-- name: caller_lock_by_session sqlite
SELECT '' FROM session WHERE hash = $1 AND org_id = ''
-- name: caller_lock_by_session postgres
SELECT CAST(pg_advisory_xact_lock_shared(hashtextextended(org_id, 0)) AS TEXT) FROM session WHERE hash = $1

-- name: caller_lock_rights_by_token sqlite
SELECT '' FROM token WHERE hash = $1 AND org_id = ''
-- name: caller_lock_rights_by_token postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended(org_id, 0)) AS TEXT) FROM token WHERE hash = $1

-- name: caller_lock_rights_by_session sqlite
SELECT '' FROM session WHERE hash = $1 AND org_id = ''
-- name: caller_lock_rights_by_session postgres
SELECT CAST(pg_advisory_xact_lock(hashtextextended(org_id, 0)) AS TEXT) FROM session WHERE hash = $1

-- name: caller_token
SELECT t.org_id, o.slug, t.token_id, t.principal_id, p.kind, p.name, p.disabled_at, t.delegator_id, d.disabled_at,
	t.level, t.rules, t.environments, t.keys, t.verbs, t.production_verbs, t.rate_per_minute, t.approval_required, t.auto_mode, t.cidrs,
	t.vote_until, t.expires_at, t.revoked_at, t.audience, o.settings, o.policy_version, r.level, r.rules
FROM token t
JOIN org o ON o.org_id = t.org_id
JOIN principal p ON p.org_id = t.org_id AND p.principal_id = t.principal_id
LEFT JOIN principal d ON d.org_id = t.org_id AND d.principal_id = t.delegator_id
LEFT JOIN principal_role pr ON pr.org_id = t.org_id AND pr.principal_id = coalesce(t.delegator_id, t.principal_id)
LEFT JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE t.hash = $1

-- name: caller_again
SELECT t.org_id, o.slug, t.token_id, t.principal_id, p.kind, p.name, p.disabled_at, t.delegator_id, d.disabled_at,
	t.level, t.rules, t.environments, t.keys, t.verbs, t.production_verbs, t.rate_per_minute, t.approval_required, t.auto_mode, t.cidrs,
	t.vote_until, t.expires_at, t.revoked_at, t.audience, o.settings, o.policy_version, r.level, r.rules
FROM token t
JOIN org o ON o.org_id = t.org_id
JOIN principal p ON p.org_id = t.org_id AND p.principal_id = t.principal_id
LEFT JOIN principal d ON d.org_id = t.org_id AND d.principal_id = t.delegator_id
LEFT JOIN principal_role pr ON pr.org_id = t.org_id AND pr.principal_id = coalesce(t.delegator_id, t.principal_id)
LEFT JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE t.org_id = $1 AND t.token_id = $2

-- name: caller_session
SELECT s.org_id, o.slug, s.session_id, s.principal_id, p.name, p.disabled_at, s.csrf_hash, s.created_at, s.seen_at,
	s.ended_at, s.authenticated_at, o.settings, o.policy_version, r.level, r.rules
FROM session s
JOIN org o ON o.org_id = s.org_id
JOIN principal p ON p.org_id = s.org_id AND p.principal_id = s.principal_id
LEFT JOIN principal_role pr ON pr.org_id = s.org_id AND pr.principal_id = s.principal_id
LEFT JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE s.hash = $1

-- name: caller_roles
SELECT r.level, r.rules
FROM principal_role pr
JOIN role r ON r.org_id = pr.org_id AND r.role_id = pr.role_id
WHERE pr.org_id = $1 AND pr.principal_id = $2

-- name: caller_seen
UPDATE session SET seen_at = $3 WHERE org_id = $1 AND session_id = $2 AND seen_at < $3
