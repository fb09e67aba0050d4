-- The columns of an entry stand in the order of their names in JSON (row.h): the order of the leaf's bytes.

-- --- adding ---

-- name: audit_add
INSERT INTO audit_entry (action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override, mac)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
	$24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)

-- name: audit_value_add
INSERT INTO audit_value (org_id, entry_id, key_id, sealed) VALUES ($1, $2, $3, $4)

-- name: audit_key_get
SELECT key_id, wrapped FROM audit_subject_key WHERE org_id = $1 AND subject = $2

-- name: audit_key_add
-- Two transactions may bring a subject's first key; the second one uses the first one's.
INSERT INTO audit_subject_key (org_id, key_id, subject, wrapped, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (org_id, subject) DO NOTHING

-- name: audit_key_destroy
DELETE FROM audit_subject_key WHERE org_id = $1 AND subject = $2 AND key_id = $3

-- --- numbers (chain.h) ---

-- name: audit_rights
-- The number of the organization's last change of rights: as it is counted, and as the entries have it.
SELECT r.entries, r.entries_mac, COALESCE((SELECT max(e.number) FROM audit_entry e
	WHERE e.org_id = r.org_id AND e.proposal_id = '' AND e.number > 1), 0)
FROM rights_epoch r WHERE r.org_id = $1

-- name: audit_rights_set
UPDATE rights_epoch SET entries = $2, entries_mac = $3 WHERE org_id = $1

-- name: audit_numbered
-- The numbers among these leaves.
SELECT e.proposal_id, e.number FROM audit_leaf l JOIN audit_entry e ON e.org_id = l.org_id AND e.entry_id = l.entry_id
WHERE l.org_id = $1 AND l.leaf_index >= $2 AND l.leaf_index < $3 AND e.number > 1 ORDER BY l.leaf_index

-- name: audit_unchained
-- Of the entries from one id to another those whose number another one has, too (the last column: how many have it), or whose
-- predecessor is missing. The first entry of a proposal is in no index by number; one from before has none, and then it must be in
-- the tree.
SELECT e.entry_id, e.proposal_id, e.number,
	(SELECT count(*) FROM audit_entry s
		WHERE s.org_id = e.org_id AND s.proposal_id = e.proposal_id AND s.number = e.number AND s.number > 1)
FROM audit_entry e
WHERE e.org_id = $1 AND e.entry_id >= $2 AND e.entry_id <= $3 AND e.number > 1 AND (
	EXISTS (SELECT 1 FROM audit_entry s WHERE s.org_id = e.org_id AND s.proposal_id = e.proposal_id
		AND s.number = e.number AND s.number > 1 AND s.entry_id <> e.entry_id)
	OR (e.number > 2 AND NOT EXISTS (SELECT 1 FROM audit_entry b WHERE b.org_id = e.org_id
		AND b.proposal_id = e.proposal_id AND b.number = e.number - 1 AND b.number > 1))
	OR (e.number = 2 AND e.proposal_id <> '' AND NOT EXISTS (SELECT 1 FROM audit_entry f WHERE f.org_id = e.org_id
		AND f.resource_id = e.proposal_id AND f.resource_id <> '' AND f.proposal_id = e.proposal_id
		AND f.action = 'proposal.created' AND (f.number = 1 OR EXISTS (
			SELECT 1 FROM audit_leaf l WHERE l.org_id = f.org_id AND l.entry_id = f.entry_id)))))
ORDER BY e.entry_id LIMIT 1000

-- name: audit_begun
-- Since when entries must carry a MAC.
SELECT id, numbered FROM installation WHERE one = 1

-- name: audit_waiting
SELECT DISTINCT org_id FROM audit_pending ORDER BY org_id LIMIT $1

-- name: audit_begin
UPDATE installation SET numbered = $1 WHERE one = 1

-- --- sealing ---

-- name: audit_due
-- Organizations with something to seal or to sign.
SELECT org_id FROM audit_pending UNION SELECT org_id FROM audit_head WHERE signed < size ORDER BY 1 LIMIT 1000

-- name: audit_signed
-- The newest checkpoint of each organization, after the given one.
SELECT h.org_id, c.size, c.note FROM audit_head h
JOIN audit_checkpoint c ON c.org_id = h.org_id AND c.size = h.signed
WHERE h.org_id > $1 ORDER BY h.org_id LIMIT 1000

-- name: audit_head_add
INSERT INTO audit_head (org_id, size, root, edge, signed) VALUES ($1, 0, $2, $3, 0) ON CONFLICT (org_id) DO NOTHING

-- name: audit_head_lock sqlite
SELECT size, root, edge, signed FROM audit_head WHERE org_id = $1
-- name: audit_head_lock postgres
SELECT size, root, edge, signed FROM audit_head WHERE org_id = $1 FOR UPDATE

-- name: audit_head_get
SELECT size, root, edge, signed FROM audit_head WHERE org_id = $1

-- name: audit_head_advance
UPDATE audit_head SET size = $2, root = $3, edge = $4 WHERE org_id = $1 AND size = $5 AND root = $6

-- name: audit_pending_page
-- The page first, then its entries: PostgreSQL would rather read the whole log and sort it. An entry that is gone has no org_id.
SELECT e.action, e.actor_id, e.actor_type, e.after_hash, e.agent_id, e.applier_id, e.approvers, e.args_hash, e.at,
	e.before_hash, e.chat_id, e.decision, e.delegator_id, e.diff_hash, p.entry_id, e.model, e.number, e.org_id, e.outcome,
	e.prompt_hash, e.prompt_version, e.proposal_id, e.provider, e.reason, e.resource_id, e.resource_key,
	e.resource_type, e.risk, e.subject, e.token_id, e.tool, e.tool_call_id, e.transport, e.version, e.via_token,
	e.with_override, e.mac
FROM (SELECT org_id, entry_id FROM audit_pending WHERE org_id = $1 AND entry_id > $3 ORDER BY entry_id LIMIT $2) p
LEFT JOIN audit_entry e ON e.org_id = p.org_id AND e.entry_id = p.entry_id ORDER BY p.entry_id

-- name: audit_pending_done
-- Those whose leaves have just been written, and no others that may have come meanwhile.
DELETE FROM audit_pending WHERE org_id = $1 AND entry_id IN (
	SELECT entry_id FROM audit_leaf WHERE org_id = $1 AND leaf_index >= $2 AND leaf_index < $3)

-- name: audit_leaves_add sqlite
-- A batch in one statement: $3 is a JSON array of entry ids, $4 their hashes, one after the other.
INSERT INTO audit_leaf (org_id, leaf_index, entry_id, hash)
SELECT $1, $2 + key, value, substr($4, key * 32 + 1, 32) FROM json_each($3)
-- name: audit_leaves_add postgres
INSERT INTO audit_leaf (org_id, leaf_index, entry_id, hash)
SELECT $1, $2 + l.n - 1, l.id, substring(CAST($4 AS BYTEA) FROM CAST(l.n - 1 AS INTEGER) * 32 + 1 FOR 32)
FROM json_array_elements_text(CAST(CAST($3 AS TEXT) AS JSON)) WITH ORDINALITY AS l (id, n)

-- name: audit_nodes_add sqlite
-- The same; $2 has 64 * last_leaf + level of each.
INSERT INTO audit_node (org_id, last_leaf, level, hash)
SELECT $1, value >> 6, value & 63, substr($3, key * 32 + 1, 32) FROM json_each($2)
-- name: audit_nodes_add postgres
INSERT INTO audit_node (org_id, last_leaf, level, hash)
SELECT $1, CAST(l.node AS BIGINT) >> 6, CAST(l.node AS BIGINT) & 63,
	substring(CAST($3 AS BYTEA) FROM CAST(l.n - 1 AS INTEGER) * 32 + 1 FOR 32)
FROM json_array_elements_text(CAST(CAST($2 AS TEXT) AS JSON)) WITH ORDINALITY AS l (node, n)

-- name: audit_leaf_hash
SELECT hash FROM audit_leaf WHERE org_id = $1 AND leaf_index = $2

-- name: audit_node_hash
SELECT hash FROM audit_node WHERE org_id = $1 AND last_leaf = $2 AND level = $3

-- name: audit_checkpoint_add
INSERT INTO audit_checkpoint (org_id, size, note, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (org_id, size) DO NOTHING

-- name: audit_head_signed
UPDATE audit_head SET signed = $2 WHERE org_id = $1 AND signed < $2

-- name: audit_checkpoint_last
SELECT size, note FROM audit_checkpoint WHERE org_id = $1 ORDER BY size DESC LIMIT 1

-- --- asking: newest first, between two ids; the rest of a filter is looked at in C ---

-- name: audit_get
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id = $2

-- name: audit_leaf_of
SELECT leaf_index, hash FROM audit_leaf WHERE org_id = $1 AND entry_id = $2

-- name: audit_value_get
SELECT v.key_id, v.sealed, k.wrapped FROM audit_value v
LEFT JOIN audit_subject_key k ON k.org_id = v.org_id AND k.key_id = v.key_id
WHERE v.org_id = $1 AND v.entry_id = $2

-- name: audit_list
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_action
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND action = $5
ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_actor_id
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND actor_id = $5
ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_agent_id
-- Where it is the actor_id, too, only the index of that one has it. A page of each, so that neither is read to its end.
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id IN (
	SELECT entry_id FROM (SELECT entry_id FROM audit_entry
		WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND agent_id = $5 AND agent_id <> '' AND agent_id <> actor_id
		ORDER BY entry_id DESC LIMIT $4) own
	UNION ALL
	SELECT entry_id FROM (SELECT entry_id FROM audit_entry
		WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND actor_id = $5 AND agent_id = $5
		ORDER BY entry_id DESC LIMIT $4) twin)
ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_proposal_id
-- Where it is the resource_id, too, only the index of that one has it. A page of each, so that neither is read to its end.
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id IN (
	SELECT entry_id FROM (SELECT entry_id FROM audit_entry
		WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND proposal_id = $5 AND proposal_id <> '' AND proposal_id <> resource_id
		ORDER BY entry_id DESC LIMIT $4) own
	UNION ALL
	SELECT entry_id FROM (SELECT entry_id FROM audit_entry
		WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND resource_id = $5 AND resource_id <> '' AND proposal_id = $5
		ORDER BY entry_id DESC LIMIT $4) twin)
ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_resource_id
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND resource_id = $5 AND resource_id <> ''
ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_resource_key
-- Where it is the resource_id, too, only the index of that one has it. A page of each, so that neither is read to its end.
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id IN (
	SELECT entry_id FROM (SELECT entry_id FROM audit_entry
		WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND resource_key = $5 AND resource_key <> '' AND resource_key <> resource_id
		ORDER BY entry_id DESC LIMIT $4) own
	UNION ALL
	SELECT entry_id FROM (SELECT entry_id FROM audit_entry
		WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND resource_id = $5 AND resource_id <> '' AND resource_key = $5
		ORDER BY entry_id DESC LIMIT $4) twin)
ORDER BY entry_id DESC LIMIT $4

-- name: audit_list_tool
SELECT action, actor_id, actor_type, after_hash, agent_id, applier_id, approvers, args_hash, at, before_hash,
	chat_id, decision, delegator_id, diff_hash, entry_id, model, number, org_id, outcome, prompt_hash, prompt_version,
	proposal_id, provider, reason, resource_id, resource_key, resource_type, risk, subject, token_id, tool,
	tool_call_id, transport, version, via_token, with_override
FROM audit_entry WHERE org_id = $1 AND entry_id >= $2 AND entry_id < $3 AND tool = $5 AND tool <> ''
ORDER BY entry_id DESC LIMIT $4

-- --- exporting and verifying: in the order of the leaves ---

-- name: audit_leaves
SELECT l.leaf_index, l.entry_id, l.hash,
	e.action, e.actor_id, e.actor_type, e.after_hash, e.agent_id, e.applier_id, e.approvers, e.args_hash, e.at,
	e.before_hash, e.chat_id, e.decision, e.delegator_id, e.diff_hash, e.entry_id, e.model, e.number, e.org_id, e.outcome,
	e.prompt_hash, e.prompt_version, e.proposal_id, e.provider, e.reason, e.resource_id, e.resource_key,
	e.resource_type, e.risk, e.subject, e.token_id, e.tool, e.tool_call_id, e.transport, e.version, e.via_token,
	e.with_override, e.mac
FROM audit_leaf l LEFT JOIN audit_entry e ON e.org_id = l.org_id AND e.entry_id = l.entry_id
WHERE l.org_id = $1 AND l.leaf_index >= $2 AND l.leaf_index < $3 ORDER BY l.leaf_index

-- name: audit_nodes
SELECT last_leaf, level, hash FROM audit_node
WHERE org_id = $1 AND last_leaf >= $2 AND last_leaf < $3 ORDER BY last_leaf, level

-- name: audit_checkpoints
SELECT size, note FROM audit_checkpoint WHERE org_id = $1 AND size > $2 ORDER BY size LIMIT $3

-- name: audit_counts
-- What there must be, counted: an entry is in the tree or waiting for it, and nothing else is anywhere.
SELECT (SELECT count(*) FROM audit_entry WHERE org_id = $1),
	(SELECT count(*) FROM audit_leaf WHERE org_id = $1),
	(SELECT count(*) FROM audit_node WHERE org_id = $1),
	(SELECT count(*) FROM audit_pending WHERE org_id = $1),
	(SELECT count(*) FROM audit_pending p JOIN audit_entry e ON e.org_id = p.org_id AND e.entry_id = p.entry_id
		WHERE p.org_id = $1),
	(SELECT count(*) FROM audit_entry e WHERE e.org_id = $1 AND (e.before_hash <> '' OR e.after_hash <> '') AND NOT EXISTS
		(SELECT 1 FROM audit_value v WHERE v.org_id = e.org_id AND v.entry_id = e.entry_id))

-- name: audit_shifted
-- Proposals whose last entry is not the one that they were sealed with.
SELECT p.proposal_id, p.entries, COALESCE((SELECT max(e.number) FROM audit_entry e
	WHERE e.org_id = p.org_id AND e.proposal_id = p.proposal_id AND e.number > 1), 0)
FROM proposal p WHERE p.org_id = $1 AND CASE WHEN p.entries > 1 THEN p.entries ELSE 0 END <> COALESCE((
	SELECT max(e.number) FROM audit_entry e
	WHERE e.org_id = p.org_id AND e.proposal_id = p.proposal_id AND e.number > 1), 0)
ORDER BY p.proposal_id LIMIT 1

-- name: audit_values
SELECT v.entry_id, v.key_id, v.sealed, k.wrapped, e.subject, e.before_hash, e.after_hash, e.diff_hash
FROM audit_value v
LEFT JOIN audit_entry e ON e.org_id = v.org_id AND e.entry_id = v.entry_id
LEFT JOIN audit_subject_key k ON k.org_id = v.org_id AND k.key_id = v.key_id
WHERE v.org_id = $1 AND v.entry_id > $2 ORDER BY v.entry_id LIMIT $3

-- name: audit_erasure_find
-- The entry that says that this key was destroyed.
SELECT count(*) FROM audit_entry
WHERE org_id = $1 AND resource_key = $2 AND resource_key <> '' AND resource_key <> resource_id
	AND action = 'subject.erased'

-- name: audit_org_named
-- By id or slug. A log whose organization is gone is still found, by id.
SELECT org_id FROM org WHERE org_id = $1 OR slug = $1
UNION SELECT org_id FROM audit_head WHERE org_id = $1
ORDER BY org_id LIMIT 1

-- name: audit_orgs
SELECT org_id FROM audit_head WHERE org_id > $1 ORDER BY org_id LIMIT 1000

-- name: audit_proposals sqlite
-- Where the proposals lie that entries belong to: $2 is a JSON array of ids.
SELECT proposal_id, tool, environment_id, resource_key, token_id FROM proposal
WHERE org_id = $1 AND proposal_id IN (SELECT value FROM json_each($2)) ORDER BY proposal_id
-- name: audit_proposals postgres
SELECT proposal_id, tool, environment_id, resource_key, token_id FROM proposal
WHERE org_id = $1 AND proposal_id IN (SELECT json_array_elements_text(CAST(CAST($2 AS TEXT) AS JSON))) ORDER BY proposal_id
