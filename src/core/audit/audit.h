/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit: what happened, written in the same transaction as it happened (AU-1).
 *
 * An entry is append-only by trigger on both databases, and carries a MAC under the key outside of them. Values (previous, new,
 * diff) are not in it: the entry holds salted hashes, the values lie encrypted
 * beside it under a key per subject, so that destroying the key erases them and
 * every proof stays valid (AU-5). Arguments are never recorded, only their hash (AU-3).
 *
 *	audit_add --(same transaction)--> audit_entry + audit_pending --sealer--> leaf in the Merkle log
 */
#ifndef CORE_AUDIT_AUDIT_H
#define CORE_AUDIT_AUDIT_H

#include "core/ident/caller.h"
#include "core/op.h"
#include "json/json.h"

/* One list: every action the log knows. */
#define AUDIT_ACTIONS(X)                                                                                     \
	X(ORG_CREATED, "org.created")                                                                        \
	X(SETTINGS_CHANGED, "settings.changed")                                                              \
	X(PRINCIPAL_CREATED, "principal.created")                                                            \
	X(PRINCIPAL_CHANGED, "principal.changed")                                                            \
	X(PRINCIPAL_DISABLED, "principal.disabled")                                                          \
	X(LINK_MADE, "link.made")                                                                            \
	X(LINK_USED, "link.used")                                                                            \
	X(ROLE_CREATED, "role.created")                                                                      \
	X(ROLE_CHANGED, "role.changed")                                                                      \
	X(ROLE_DELETED, "role.deleted")                                                                      \
	X(TEAM_CHANGED, "team.changed")                                                                      \
	X(GRANT_GIVEN, "grant.given")                                                                        \
	X(TOKEN_MINTED, "token.minted")                                                                      \
	X(TOKEN_RENEWED, "token.renewed")                                                                    \
	X(TOKEN_REVOKED, "token.revoked")                                                                    \
	X(SIGNED_IN, "session.started")                                                                      \
	X(SIGNED_OUT, "session.ended")                                                                       \
	X(PERMISSION_CHANGED, "permission.changed")                                                          \
	X(OVERRIDE_CREATED, "override.created")                                                              \
	X(OVERRIDE_DELETED, "override.deleted")                                                              \
	X(TOOL_EXECUTED, "tool.executed")                                                                    \
	X(PROPOSAL_CREATED, "proposal.created")                                                              \
	X(PROPOSAL_APPROVED, "proposal.approved")                                                            \
	X(PROPOSAL_DENIED, "proposal.denied")                                                                \
	X(PROPOSAL_REOPENED, "proposal.reopened")                                                            \
	X(PROPOSAL_EXECUTING, "proposal.executing")                                                          \
	X(PROPOSAL_APPLIED, "proposal.applied")                                                              \
	X(PROPOSAL_FAILED, "proposal.failed")                                                                \
	X(PROPOSAL_UNKNOWN, "proposal.unknown")                                                              \
	X(PROPOSAL_SETTLED, "proposal.settled")                                                              \
	X(PROPOSAL_CANCELLED, "proposal.cancelled")                                                          \
	X(PROPOSAL_EXPIRED, "proposal.expired")                                                              \
	X(REFUSED, "request.refused")                                                                        \
	X(RECOVERED, "access.recovered")                                                                     \
	X(RECORD_CREATED, "record.created")                                                                  \
	X(RECORD_CHANGED, "record.changed")                                                                  \
	X(RECORD_DELETED, "record.deleted")                                                                  \
	X(SUBJECT_ERASED, "subject.erased")                                                                  \
	X(PROPOSAL_ERASED, "proposal.erased")

enum audit_action {
#define X(name, text) AUDIT_##name,
	AUDIT_ACTIONS(X)
#undef X
		AUDIT_ACTION_COUNT
};
const char *audit_action_name(enum audit_action a);

struct audit_chain;

/*
 * What the caller knows about the event; the rest (actor, delegator, transport, time) comes from cx->caller.
 * Without one the actor is the system, and org_id says whose log it is. Each text at most LIMIT_AUDIT_TEXT
 * bytes.
 */
struct audit_entry {
	enum audit_action action;
	str org_id; /* empty: the caller's */
	str resource_type, resource_key, resource_id;
	str reason; /* "proposal:<id>" for an applied change */
	str proposal_id, tool, tool_call_id;
	str args_hash; /* SHA-256 of the canonical arguments */
	str risk, decision, outcome;
	str approvers;		  /* JSON array of principal ids */
	str applier_id, agent_id; /* agent empty: the caller, where it is one */
	str chat_id;
	str prompt_version, prompt_hash, model, provider;
	bool with_override, via_token;
	int64_t version;		   /* of the resource, where it has one */
	const struct json *before, *after; /* the change; encrypted beside the log */
	str subject;			   /* whose key encrypts them; empty: the organization's */
	struct audit_chain *chain;	   /* of the proposal that is locked (chain.h); NULL: none is */
};

/* Where cx->told is set: the values of what is recorded meanwhile, entries one after the other. */
struct audit_told {
	struct json *before, *after; /* NULL: none of them had such values */
	str key;		     /* what the first of them is about, as people call it */
};

/*
 * Inside tx_run. *out_id (may be NULL) is the entry's id. If it fails the transaction fails: no record, no
 * effect. Needs cx->keys.
 *
 * E_TAMPERED   the organization's count of changes of rights was changed outside of Countersign
 * E_INVALID    a value has numbers that do not survive the canonical form, approvers is not an array
 * E_TOO_LARGE  a text is longer than LIMIT_AUDIT_TEXT
 */
status audit_add(struct ctx *cx, const struct audit_entry *e, str *out_id) MUST_USE;

/*
 * Destroys the subject's key: what is stored of their values can be read by nobody any more, while
 * every hash and proof stays as it was. Appends `subject.erased`. Inside tx_run. The
 * organization's own key (the empty subject) cannot be destroyed.
 *
 * E_NOT_FOUND  nothing is stored under a key of this subject
 */
status audit_erase(struct ctx *cx, str org_id, str subject, str *out_id) MUST_USE;

enum {
	AUDIT_OP_LIST,
	AUDIT_OP_CHECKPOINT,
	AUDIT_OP_CONSISTENCY,
	AUDIT_OP_EXPORT,
	AUDIT_OP_ERASE,
	AUDIT_OP_GET,
	AUDIT_OP_PROOF
};
extern const struct op audit_ops[]; /* by these; and a zero record */

#endif
