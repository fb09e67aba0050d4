/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy: one pure function that says what must happen to a call (AP-1, AP-2, TL-6, TL-7, PA-9).
 *
 *	facts --policy_decide--> run | ask(votes) | refuse, with every reason
 *
 * No I/O, no clock. Every rule that applies is written down as a reason, and the
 * strictest wins: refuse before ask before run. docs/policy.md shows the table and a
 * test walks every combination.
 *
 * Risk begins at what the proposer declared and is only ever raised.
 *
 * A person who asks for what they may do, and may vote on, agrees: in a session by asking, so that one vote
 * less is needed; to a change by a category C tool, and to what a token of theirs asked for, by confirming the
 * stored card in a session, which is a vote (AP-3). Neither where four eyes are demanded or the token asks for
 * approval. It takes no place of a team.
 */
#ifndef CORE_GATE_POLICY_H
#define CORE_GATE_POLICY_H

#include "core/gate/tool.h"
#include "core/ident/caller.h"

enum tier { TIER_NEEDS_APPROVAL, TIER_ALWAYS_ALLOW, TIER_BLOCKED };
enum risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH };
enum verdict { VERDICT_REFUSE, VERDICT_ASK, VERDICT_RUN };

#define POLICY_GROUPS 8 /* teams that one policy can ask; quorum_met looks at every set of them */

/* So many people of a team must be among those who agree, where all that is said here applies (AP-4). */
struct policy_group {
	str team_id;
	int64_t votes;
	enum risk risk;	       /* at least */
	enum op_effect effect; /* only this one; OP_READ: any change */
	bool production;       /* only there */
	const str *tools;      /* only these; count 0: any */
	size_t tool_count;
};

/* An organization's rules, as they are stored (settings "policy"). */
struct policy_rules {
	int64_t version;
	int64_t votes_low, votes_medium, votes_high; /* how many people, by risk */
	int64_t votes_destructive;		     /* at least this many for destructive */
	bool four_eyes;				     /* the person for whom the agent proposed cannot vote */
	bool overrides;				     /* "approve always" exists at all */
	bool auto_execute;			     /* category A and B may run without a person */
	bool gdpr, hipaa;
	const str *allow_listed; /* category B tools an admin allowed */
	size_t allow_listed_count;
	const struct policy_group *groups;
	size_t group_count; /* at most POLICY_GROUPS */
};

/* All of them are known again when it is applied: looked up, or kept with the proposal (core/proposal/agreed). */
struct policy_facts {
	const struct tool *tool;
	enum principal_kind principal;
	enum tier tier;
	bool tier_stored; /* an admin said so; false: the default of a new tool */
	bool override_;	  /* the person's "approve always" */
	bool auto_mode;
	bool token_requires;   /* approvalRequired on the token */
	bool in_session;       /* a person who has signed in asks, not a token (gate_in_session) */
	bool may_vote;	       /* a person asks who may approve what this tool changes (gate_may_vote) */
	bool production;       /* the environment, or none named */
	bool environment_gate; /* its approval gate is on */
	bool in_environment;   /* it is about one, or several */
	bool has_verb;	       /* holds the tool's own rules, not only propose */
	enum risk declared;    /* by the proposer: a floor */
	bool declared_gdpr, declared_hipaa;
	bool schema_known;	/* the input can be inspected */
	bool wants_no_approval; /* approval_required:false (PA-11) */
	bool deceptive;		/* the card had characters to neutralise */
};

#define POLICY_REASONS 16 /* more than there are rules, and one NULL */

/* People of one team who must be among the votes. */
struct policy_need {
	str team_id;
	int64_t votes;
};

/* How the person who asks agrees to it. */
enum policy_consent { CONSENT_NONE, CONSENT_ASKING, CONSENT_CONFIRMING };

struct policy_decision {
	enum verdict verdict;
	enum policy_consent consent; /* where somebody is asked */
	enum risk risk;
	int64_t votes; /* different people, at least as many as the groups need together */
	bool four_eyes;
	struct policy_need groups[POLICY_GROUPS];
	size_t group_count;
	const char *risk_reasons[POLICY_REASONS]; /* sentences; NULL-terminated */
	const char *reasons[POLICY_REASONS];
};

void policy_decide(
	const struct policy_rules *rules, const struct policy_facts *facts, struct policy_decision *out);

/* Why "approve always" of this tool could never count, whatever else holds (TL-7); NULL: it could. */
const char *policy_never_lifted(const struct tool *t);

const char *consent_name(enum policy_consent c); /* "", "asking", "confirming" */
const char *risk_name(enum risk r);
bool risk_of(str name, enum risk *out_risk);
const char *tier_name(enum tier t);
bool tier_of(str name, enum tier *out_tier);

#endif
