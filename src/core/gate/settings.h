/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: an organization's policy rules, from the JSON it keeps them in (AP-4, AP-8, TL-7).
 *
 *	{"policy": {"votesLow": 1, "votesMedium": 1, "votesHigh": 1, "votesDestructive": 1, "fourEyes": false,
 *	            "overrides": true, "autoExecute": true, "gdpr": false, "hipaa": false, "allowListed": [],
 *	            "groups": []}}
 *
 * A group is {"teamId", "votes": 1, "risk"?, "effect"?, "production"?, "tools"?}: that many
 * people of the team must be among those who agree, wherever all that it says applies.
 *
 * What is absent has the value shown. Unknown members are refused when it is saved.
 */
#ifndef CORE_GATE_SETTINGS_H
#define CORE_GATE_SETTINGS_H

#include "core/gate/policy.h"
#include "core/ident/caller.h"
#include "core/op.h"

extern const struct op settings_ops[];

/* Reads the text of the `policy` member. E_INVALID with issues */
status policy_rules_read(struct ctx *cx, const struct json *policy, struct policy_rules *out) MUST_USE;

/* The rules that hold now, with their version. Inside tx_run or db_read. */
status policy_rules_load(struct ctx *cx, str org_id, struct policy_rules *out) MUST_USE;

/* Inside tx_run, with the lock on rights: the rules that hold from now on, as another version, on record. */
status policy_rules_store(
	struct ctx *cx, str org_id, const struct policy_rules *was, struct policy_rules *now) MUST_USE;

/* The same, as they were when the caller was identified: in the same transaction, behind the lock on rights.
 */
status policy_rules_of(struct ctx *cx, const struct caller *c, struct policy_rules *out) MUST_USE;

#endif
