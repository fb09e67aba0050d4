/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proposal: a call somebody asks for, kept apart from the call itself (PA-*, AP-*).
 *
 * Propose validates, dry-runs and stores payload, card and viewHash; nothing is
 * changed. Votes are about the card that was shown. Apply claims the row, runs
 * the stored payload, makes the card again and demands the same viewHash: what was
 * seen is what is done, or nothing is.
 *
 * Every decision is one transaction: organization rights (shared), then the
 * proposal's row, then what the handler touches. Who is asking, the votes, the
 * expiry and the drift are looked at after the locks, by the database's clock.
 * Row and votes carry a MAC under a key that the database does not have.
 */
#ifndef CORE_PROPOSAL_PROPOSAL_H
#define CORE_PROPOSAL_PROPOSAL_H

#include "core/audit/seal/chain.h"
#include "core/gate/policy.h"
#include "core/proposal/lifecycle.h"

/* What is asked for. */
struct propose_in {
	str tool;
	const struct json *input;
	str intent_summary, intent_reasoning; /* the agent's own words: shown last, quoted, labelled */
	str idempotency_key;
	int64_t expires_in_seconds; /* 0: the default */
	str risk_level;		    /* "", or a floor */
	bool gdpr, hipaa;
	bool no_approval;     /* S3 document: approval_required false */
	str domain;	      /* S3 document */
	int64_t tool_version; /* S3 document; 0: today's */
	str prompt_version, prompt_hash, model, provider;
	const struct json *survey; /* of the tool, made outside the transaction; or NULL */
	str again_of;		   /* the proposal whose payload it is, proposed again; or empty */
};

struct tally;
struct sending;

/* A proposal as it is stored. Text in the arena. */
struct proposal {
	str id, org_id, tool_call_id;
	enum proposal_state state;
	str state_name;
	str tool;
	int64_t tool_version;
	str effect;
	str proposer_id, proposer_kind, delegator_id, token_id, transport;
	str payload, payload_hash; /* canonical JSON and its SHA-256 */
	str card, view_hash;	   /* canonical JSON and its SHA-256 */
	str summary, risk;
	str environment_id, resource_type, resource_key;
	int64_t votes_needed;
	bool four_eyes;
	int64_t policy_version;
	str provenance; /* JSON: prompt version and hash, model, provider */
	str facts; /* JSON: what only the request knew when it was decided (agreed/); empty: an old one */
	str idempotency_key;
	str request_hash;  /* of everything that was asked, for a replay */
	str salt;	   /* of the nonce */
	str minted_id;	   /* the id a created thing will get */
	int64_t minted_at; /* the time it will be given */
	int64_t created_at, expires_at, resolved_at;
	str applier_id, applied_audit_id, result, error;
	str reveal; /* JSON: a secret that applying made, for who applied; not stored */
	int64_t applied_version;
	int64_t fence;	     /* how often it was claimed, to be done outside; an outcome must name it */
	int64_t deadline_at; /* of that claim: for an answer */
	str subject;	     /* whom it is about: erased with them; or empty */
	str erased;	     /* JSON: it was taken out what it said (retention.h); or empty */
	str mac;
	int64_t entries;    /* the number of its last entry in the log; 0: from before there were numbers */
	int64_t last_entry; /* the same as the log has it; 0: none but the first */
	struct audit_chain *chain;    /* while it is locked, shared by its copies: goes into its entries */
	bool at_once;		      /* the tool is direct, and policy asks nobody (TL-5); not stored */
	bool fresh;		      /* made in this transaction: nobody can have voted yet */
	bool proposer_may;	      /* of a fresh one: who asked holds the tool's own rules, too */
	const struct json *card_read; /* the card, parsed; NULL: not yet (row_card) */
	struct sending *sending;      /* claimed in this transaction: to be sent after it (send.h) */
	const struct tally *tally;    /* the votes as this transaction has counted them; NULL: it has not */
	str asks_more; /* of apply: pending again, and why; the answer is E_APPROVAL, after the commit */
};

extern const struct op proposal_ops[];
extern const struct op explain_ops[]; /* what policy would say */
extern const struct op call_ops[];    /* tool_call */
extern const struct op settle_ops[];  /* what became of what is unknown */

/* Proposes and writes the answer of proposal_create: also for a tool that is called and must not run. */
status proposal_answer(struct ctx *cx, const struct propose_in *in, struct json_out *out) MUST_USE;

/* Inside tx_run, with cx->caller. */
/*
 * E_NOT_FOUND (unknown, blocked or foreign tool), E_FORBIDDEN, E_RATE_LIMITED, E_INVALID with issues
 * (feedback), E_IDEMPOTENCY (same key, other payload)
 */
/* *out is the new one, or where the key was used before for the same request the first one (PA-12). */
status
proposal_propose(struct ctx *cx, const struct propose_in *in, struct proposal *out, str *out_token) MUST_USE;

/*
 * The stored payload of a proposal, proposed anew by the caller, with a fresh card (PA-6). The old one stays as
 * it is. E_NOT_FOUND  unknown, or nothing the caller may see; errors as proposal_propose
 */
status proposal_again(struct ctx *cx, str id, struct propose_in *out) MUST_USE;

/*
 * Calls a tool: a read that policy lets run runs at once, anything else becomes a proposal (TL-5). Errors as
 * proposal_propose, and the handler's.
 */
struct proposal_called {
	bool ran;
	str tool_call_id;
	const struct json *value; /* where it ran */
	struct sending *sending;  /* where it is run outside, after the transaction */
	struct proposal p;	  /* where it did not */
	str token;
};
status proposal_call(struct ctx *cx, const struct propose_in *in, struct proposal_called *out) MUST_USE;

/* The same inside db_read: for a read that is paid from a lease and whose row is written later (core/gate/quick). Anything but
 * OK: nothing was done, and proposal_call is to be used. */
status
proposal_call_in_read(struct ctx *cx, const struct propose_in *in, struct proposal_called *out) MUST_USE;

/*
 * All inside tx_run, with cx->caller; the row is locked first. *out is the proposal as it is then.
 *
 * E_NOT_FOUND  unknown, or another tenant's	E_FORBIDDEN  not this person, not this credential
 * E_GONE	resolved or expired		E_VIEW	     another card	E_CONFLICT  voted already, or
 *							     no vote is missing
 * E_TAMPERED	the row or a vote does not carry our seal
 */
status proposal_approve(struct ctx *cx, str id, str view_hash, struct proposal *out) MUST_USE;
status proposal_deny(struct ctx *cx, str id, str view_hash, str reason, struct proposal *out) MUST_USE;
status proposal_cancel(struct ctx *cx, str id, str note, struct proposal *out) MUST_USE;

/*
 * By token "propose:<id>.<nonce>", or by id where token is empty. Takes no arguments for the tool.
 * OK: *out is applied, or failed (its error says why). Where somebody else does it, it is executing, and out->sending
 * is to be sent after the commit; or it is as it was, and is to be looked at again first. Errors as above, and
 *
 * E_APPROVAL  votes are missing	E_DRIFT  another card would come out; the state is unchanged
 */
struct apply_in {
	str id, token;
	str seen; /* the digest that the tool's recheck has just given; empty: not asked yet */
};
status proposal_apply(struct ctx *cx, const struct apply_in *in, struct proposal *out) MUST_USE;

/* Inside tx_run, without a caller: the sweeper's. *out_expired false: it was resolved before, or has time. */
status proposal_expire(struct ctx *cx, str org_id, str id, bool *out_expired) MUST_USE;

/* Tells whoever listens that the proposal has this state now. */
void proposal_emit(struct ctx *cx, const struct proposal *p);

#define PROPOSAL_TTL_SECONDS	  600
#define PROPOSAL_TTL_MOST_SECONDS 86400

#endif
