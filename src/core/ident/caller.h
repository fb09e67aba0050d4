/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller: who is asking, on whose authority, and what they may do right now.
 *
 *	credential --caller_enter (inside the transaction; locks first)--> struct caller
 *
 * Every decision asks the database anew, so a right that is taken away is gone at once on every server (ID-6):
 * for the caller itself, or, where this server knows them already (core/known), for the number that says that
 * nothing has changed since. An agent's rights are its token's, intersected with the live rights of the person
 * who delegated; `approve` is never among them.
 */
#ifndef CORE_IDENT_CALLER_H
#define CORE_IDENT_CALLER_H

#include "core/ident/rule.h"

enum principal_kind { PRINCIPAL_USER, PRINCIPAL_AGENT, PRINCIPAL_SERVICE };
const char *principal_kind_name(enum principal_kind k);
bool principal_kind_of(str name, enum principal_kind *out_kind);

/* What came with the request. Kept in the ctx by the face; never logged. */
struct credential {
	str bearer;	       /* "cs_…", without "Bearer " */
	str session;	       /* the cookie's value */
	str csrf;	       /* the header that goes with a session */
	str known;	       /* the cookie of a browser in which somebody has signed in before (tries.h) */
	str flow;	       /* the cookie of a sign-in that is on its way (core/oidc) */
	str peer;	       /* the client's address, for CIDR lists */
	str audience;	       /* which resource of OAuth is being asked; empty: none (core/oauth) */
	const char *transport; /* "rest", "mcp", "chat", "cli" */
	bool same_origin;      /* Sec-Fetch-Site or Origin says so */
	bool safe_method;      /* GET or HEAD: needs no CSRF token */
};

/* Where a token may act (ID-5). */
struct scope {
	bool all_environments;
	const str *environments; /* ids */
	size_t environment_count;
	bool all_keys;
	const str *keys; /* exact, or a prefix that ends in ".*" */
	size_t key_count;
	uint32_t verbs;		   /* bit by enum verb; 0: those of the rules */
	uint32_t production_verbs; /* the same in production environments; 0: as verbs (ID-7) */
};

/* What is stored about one tool of an agent, as core/gate/permission reads it. */
struct caller_tier {
	str tool, tier;
	bool override_;
};

struct caller {
	str org_id, org_slug;
	int64_t epoch; /* of the organization's rights when this was read; 0: not read */
	enum principal_kind kind;
	str principal_id, name;
	str token_id;		/* empty: a session */
	str audience;		/* a consent's token: the one resource it is for; empty: any of ours */
	str session_id;		/* empty: a token */
	str delegator_id;	/* the person an agent acts for; empty for people */
	struct rules rules;	/* the token's, or the person's */
	struct rules delegator; /* the person's live rights; a token may only narrow them */
	bool delegated;		/* both sets must cover */
	struct scope scope;
	int64_t expires_at; /* of the token; 0: a session */
	int64_t vote_until; /* of a token that may vote; 0: a session, or not at all */
	const str *cidrs;   /* where the token may come from; none: anywhere */
	size_t cidr_count;
	int64_t authenticated_at; /* of a session: when its person proved who they are; 0: not known */
	bool touch;		  /* a session whose last use should be written down (caller_touch) */
	bool may_vote;		  /* a person with a session, or a personal token minted for it (AP-3) */
	bool via_token;
	bool approval_required; /* the token's own wish */
	bool auto_mode;		/* PA-9 */
	int64_t rate_per_minute;
	const char *transport;
	str settings; /* the organization's, and the version of its policy: as of now */
	int64_t policy_version;
	const struct caller_tier *tiers; /* where they were read under the same epoch */
	size_t tier_count;
	bool tiers_read;
};

/* Is there a credential at all? Asks no database. E_UNAUTHENTICATED */
status caller_present(struct ctx *cx, const struct credential *c) MUST_USE;

/*
 * Identifies, inside tx_run before anything else, or in a db_read (without a lock: all it sees is of one moment).
 * The lock is on the rights of the credential's organization: shared to decide, exclusive to change rights or
 * policy. An unknown credential locks nothing, and is refused (nobody knows a secret before its row is there).
 *
 * E_UNAUTHENTICATED  no credential, unknown, revoked, expired, wrong address, CSRF: always the same sentence;
 *                    and a good token for another resource, where one is asked: says for which
 * E_FORBIDDEN        a token for a resource, where none is asked (details: reason wrong_audience)
 */
enum caller_lock { CALLER_UNLOCKED, CALLER_DECIDES, CALLER_CHANGES };
status
caller_enter(struct ctx *cx, const struct credential *c, enum caller_lock how, struct caller *out) MUST_USE;

/*
 * Who asked some time ago, with the rights and the scope that the same credential gives now (TL-3); a session
 * where token_id is empty. It cannot vote. Whether it was revoked or has expired is not looked at. Inside
 * tx_run or db_read. E_NOT_FOUND  there is no such token
 */
status caller_again(struct ctx *cx, str org_id, str principal_id, str token_id, struct caller *out) MUST_USE;

/*
 * The same for a token that must still be good and may come from this address: for what somebody began with it
 * and goes on with (streams). Inside tx_run or db_read. E_UNAUTHENTICATED  it is not
 */
status caller_still(struct ctx *cx, str org_id, str token_id, str peer, struct caller *out) MUST_USE;

/* Outside a transaction: writes down that the session is in use. A failure costs nothing but time. */
void caller_touch(struct ctx *cx, const struct caller *c);

/* A person's rights as they are now: the union over their roles. Inside tx_run or db_read. */
status caller_live_rules(struct ctx *cx, str org_id, str person_id, struct rules *out) MUST_USE;

/* Do the caller's rights hold the rule (both sets where delegated; never approve for an agent)? Scope not
 * looked at. */
bool caller_may(const struct caller *c, str rule);

/* The same in an environment that is production or not. Where none is named it counts as production: that is
 * what caller_may says. */
bool caller_may_in(const struct caller *c, str rule, bool production);

/* Does the caller hold everything the level stands for? */
bool caller_holds_level(const struct caller *c, enum level l);

/*
 * Nobody gives what they do not have (ID-6): E_FORBIDDEN where set holds a level or a rule that the caller
 * does not. "*" needs "*" or admin.
 */
status caller_may_give(struct ctx *cx, const struct caller *c, const struct rules *set) MUST_USE;

/* E_FORBIDDEN "Forbidden: <what> (missing permission: <rules>)" (ID-9). needed is NULL-terminated. */
status
caller_require(struct ctx *cx, const struct caller *c, const char *what, const char *const *needed) MUST_USE;

/* The same in an environment that is production or not, as caller_may_in. */
status caller_require_in(struct ctx *cx, const struct caller *c, const char *what, const char *const *needed,
	bool production) MUST_USE;

/* Is the peer's address on the token's list (empty: any)? */
bool caller_may_come_from(const struct caller *c, str peer);

/* Is this environment (may be empty) and resource key (may be empty) inside the token's scope? */
bool caller_in_scope(const struct caller *c, str environment_id, str key);

/* Is the caller a token for some environments or some keys only? */
bool caller_is_narrowed(const struct caller *c);

/* The environments of its scope as a JSON array, for a statement; "[]" where it is for all. */
str caller_environments(const struct caller *c, struct arena *a);

/*
 * May a narrowed token read what lies there? Stricter than caller_in_scope: where the token is for some environments
 * (or keys) only, a thing that names none is not for it.
 */
bool caller_reaches(const struct caller *c, str environment_id, str key);

#endif
