/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row: an entry as it is stored, and the bytes it is in the tree.
 *
 * One list of columns gives the struct, the statement's row, the leaf, the answer's JSON and the filters. It
 * stands in the order of the names in JSON, so writing it down in order is the canonical form (RFC 8785).
 */
#ifndef CORE_AUDIT_ROW_H
#define CORE_AUDIT_ROW_H

#include "base/field.h"
#include "json/out.h"

/* clang-format off */
/*	type  member          name in JSON     for a person */
#define AUDIT_COLUMNS(X) \
	X(TEXT, action,         "action",        "What happened.") \
	X(TEXT, actor_id,       "actorId",       "Who did it: the id of a principal.") \
	X(TEXT, actor_type,     "actorType",     "user, api_token, agent_token or system.") \
	X(TEXT, after_hash,     "afterHash",     "Salted hash of the new value.") \
	X(TEXT, agent_id,       "agentId",       "The agent that was at work.") \
	X(TEXT, applier_id,     "applierId",     "Who applied the proposal.") \
	X(JSON, approvers,      "approvers",     "Who approved: ids of people.") \
	X(TEXT, args_hash,      "argsHash",      "SHA-256 of the canonical arguments.") \
	X(INT,  at,             "at",            "When, in microseconds since 1970.") \
	X(TEXT, before_hash,    "beforeHash",    "Salted hash of the previous value.") \
	X(TEXT, chat_id,        "chatId",        "The conversation it happened in.") \
	X(TEXT, decision,       "decision",      "approved, denied or denied_with_reason.") \
	X(TEXT, delegator_id,   "delegatorId",   "The person on whose authority an agent acted.") \
	X(TEXT, diff_hash,      "diffHash",      "Salted hash of the list of changes.") \
	X(TEXT, id,             "id",            "The entry.") \
	X(TEXT, model,          "model",         "The agent's model.") \
	X(INT,  number,         "number",        "Its number among the entries of its proposal or, without one, among changes of rights.") \
	X(TEXT, org_id,         "orgId",         "Whose log it is.") \
	X(TEXT, outcome,        "outcome",       "How it ended.") \
	X(TEXT, prompt_hash,    "promptHash",    "Hash of the agent's prompt.") \
	X(TEXT, prompt_version, "promptVersion", "Version of the agent's prompt.") \
	X(TEXT, proposal_id,    "proposalId",    "The proposal it belongs to.") \
	X(TEXT, provider,       "provider",      "Who runs the model.") \
	X(TEXT, reason,         "reason",        "Why: proposal:<id> for an applied change.") \
	X(TEXT, resource_id,    "resourceId",    "What it was about: its id.") \
	X(TEXT, resource_key,   "resourceKey",   "What it was about: its name.") \
	X(TEXT, resource_type,  "resourceType",  "What it was about: its kind.") \
	X(TEXT, risk,           "risk",          "low, medium or high.") \
	X(TEXT, subject,        "subject",       "Whose key the values are encrypted under.") \
	X(TEXT, token_id,       "tokenId",       "The token that was used.") \
	X(TEXT, tool,           "tool",          "The tool that was called.") \
	X(TEXT, tool_call_id,   "toolCallId",    "The call.") \
	X(TEXT, transport,      "transport",     "rest, mcp, chat, cli or system.") \
	X(INT,  version,        "version",       "The resource's version.") \
	X(BOOL, via_token,      "viaToken",      "A token was used rather than a session.") \
	X(BOOL, with_override,  "withOverride",  "Approved for always.")
/* clang-format on */

struct audit_row {
#define AUDIT_MEMBER_TEXT	  str
#define AUDIT_MEMBER_JSON	  str
#define AUDIT_MEMBER_INT	  int64_t
#define AUDIT_MEMBER_BOOL	  bool
#define X(type, member, key, doc) AUDIT_MEMBER_##type member;
	AUDIT_COLUMNS(X)
#undef X
	str mac; /* where it was asked for; hex */
};

/* How a statement's row fills it (JSON columns as text). In the order of the list. */
extern const struct field audit_row_fields[];

/* The same, and the MAC. */
extern const struct field audit_row_sealed[];

/*
 * The MAC of an entry: of the bytes of its leaf, so of every column, its id and number among them, under the key outside
 * the database. Needs cx->keys. E_TOO_LARGE as audit_row_leaf
 */
status audit_row_mac(struct ctx *cx, const struct audit_row *row, str *out) MUST_USE;

/*
 * The bytes that are hashed as a leaf: the canonical JSON of all columns that are not empty, 0 or false, and
 * "v":1. E_TOO_LARGE  more than LIMIT_AUDIT_LEAF
 */
status audit_row_leaf(struct ctx *cx, const struct audit_row *row, str *out_bytes) MUST_USE;

/* The same members into the object that is open, with "time" as text. */
void audit_row_out(struct json_out *o, const struct audit_row *row);

/* Does the row have every text, number and flag that `want` has (what is empty, 0 or false in it is not asked
 * for)? */
bool audit_row_matches(const struct audit_row *row, const struct audit_row *want);

#endif
