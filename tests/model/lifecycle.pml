/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One proposal between two pods on one database, as src/core/proposal decides it.
 *
 * A transaction takes its locks in the order of the code (rights shared, row, resource), looks at everything
 * after the last of them, and commits in one step; a crash before that leaves nothing but free locks. The states
 * and the steps come from table.pml, which tests/model/run makes of lifecycle.h: what is not there is refused.
 *
 * BUG_* are planted bugs: each must be caught. What is promised is in checks(), decide(), send() and move().
 */
#include "table.pml"

#define EXPIRES	 1 /* from this tick on it is too late to decide */
#define DEADLINE 1 /* the last tick at which what was claimed may be sent */
#define TICKS	 2 /* after it, lease and skew are over: what is executing is lost */
#define PROPOSER 3 /* a person, too, who would like to vote */

/* what a request asks for */
#define APPROVE 1
#define REFUSE	2
#define RETRACT 3
#define APPLY	4
#define TIDY	5 /* the sweeper */
#define SETTLE	6 /* a person has looked at what an unknown outcome did */

/* --- the database --- */
byte state, need, fence, now;
byte asked;	 /* how many people policy asks for, on the facts of now; need is what is stored */
bool external;	 /* the tool's effect is outside of our database */
byte votes[4];	 /* rows of vote, by person */
bool demoted;	 /* person 0 may no longer approve: acknowledged */
bool revoked;	 /* the applier may no longer apply: acknowledged */
bool drifted;	 /* another card would come out */
byte shared;	 /* holders of the rights lock, shared */
bool row_held, resource_held;

/* --- what really happened; the code cannot see it --- */
byte ran;	 /* executions: inside, or sent */
bool done;	 /* the effect is there */
bool claimed, lost, dead;
byte owed;	 /* transitions without an audit entry */

/* as row_votes counts */
#ifdef BUG_DEMOTED_VOTES_COUNT
#define COUNTED (votes[0] + votes[1] + votes[2] + votes[3])
#else
#define COUNTED ((demoted -> 0 : votes[0]) + votes[1] + votes[2] + votes[3])
#endif
/* as PRODUCT AP-3 and AP-4 say: different people, with the right today, not the one who asked */
#define VALID ((votes[0] > 0 && !demoted) + (votes[1] > 0) + (votes[2] > 0))
#define OPEN(s) (s == PENDING || s == APPROVED)
/* as agreed.c decides again: the stricter of what was agreed and what is asked for now */
#ifdef BUG_RULES_OF_THEN
#define WANTED need
#else
#define WANTED (asked > need -> asked : need)
#endif

#ifdef LIVE
byte crashes;
#define MAY_CRASH if :: skip :: crashes < 1 -> crashes++; goto died fi
#else
#define MAY_CRASH if :: skip :: goto died fi
#endif

/* --- the planted bugs that are a word each --- */
#ifdef BUG_AUDIT_APART
#define AUDIT owes = true
#else
#define AUDIT owed--
#endif
#if defined(BUG_CLAIM_ANY_STATE) || defined(BUG_APPLY_WITHOUT_LOCK)
#define GUARD(from) true
#else
#define GUARD(from) (state == from)
#endif
#ifdef BUG_CLAIM_ANY_STATE
#define CLAIMABLE(s) true
#define CLAIMED_FROM(s) s = APPROVED
#else
#define CLAIMABLE(s) (s == APPROVED)
#define CLAIMED_FROM(s) skip
#endif
#if defined(BUG_VOTE_WITHOUT_LOCK)
#define LOCKS_ROW (op != APPROVE)
#elif defined(BUG_APPLY_WITHOUT_LOCK)
#define LOCKS_ROW (op != APPLY)
#else
#define LOCKS_ROW true
#endif
#ifdef BUG_SELF_VOTE
#define IS_VOTER(p) true
#else
#define IS_VOTER(p) (p != PROPOSER)
#endif
#ifdef BUG_DOUBLE_VOTE
#define VOTES_EACH 2
#else
#define VOTES_EACH 1 /* the key of the table of votes */
#endif
#ifdef BUG_SEND_AFTER_DEADLINE
#define MAY_SEND true
#else
#define MAY_SEND (now <= DEADLINE)
#endif
#ifdef BUG_OUTCOME_WITHOUT_FENCE
#define IS_MINE true
#else
#define IS_MINE (seen == EXECUTING && fence == mine)
#endif
#ifdef BUG_NEVER_LOST
#define IS_LOST false
#else
#define IS_LOST (now > DEADLINE)
#endif

/* Of what is committed: made whenever a transaction looks. */
inline checks()
{
	assert(owed == 0);
	assert(!(state == PENDING && VALID >= need));
	assert(!claimed || state == EXECUTING || state == APPLIED || state == FAILED || state == UNKNOWN);
	assert(state != APPLIED || done);
	assert(state != FAILED || !done);
	assert(!dead || state == DENIED || state == CANCELLED || state == EXPIRED);
}

/* The row goes from `seen` to where the table says, with its audit entry. The UPDATE names the state it was read
 * in: where that is another one meanwhile, or there is no such step, all is undone (moved is false). */
inline move(event)
{
	step(seen, event, to, taken);
	moved = (to != NOWHERE && GUARD(seen));
	if
	:: moved ->
		count_step();
		assert(!lost || event != SUCCEED && event != FAIL || op == SETTLE);
		state = to;
		owed++;
		lost = lost || to == UNKNOWN;
		claimed = claimed || to == EXECUTING;
		dead = dead || to == DENIED || to == CANCELLED || to == EXPIRED;
		AUDIT
	:: else
	fi
}

inline forget()
{
	op = 0; who = 0; seen = 0; count = 0; to = 0; taken = 0; locked_at = 0;
	in_time = false; may = false; same = false; moved = false
}

inline unlock()
{
	shared = shared - has_rights;
	row_held = row_held && !has_row;
	resource_held = resource_held && !has_resource;
	has_rights = false; has_row = false; has_resource = false
}

/* The decision that it may happen. */
inline decide()
{
	assert(!dead);
	assert(locked_at < EXPIRES);
	assert(!revoked);
	assert(!drifted);
	assert(VALID >= need);
	assert(VALID >= asked);
}

inline send()
{
	ran++;
	assert(ran <= 1);
	assert(claimed);
	assert(!lost);
}

proctype Pod(bool sweeps)
{
	byte op, who, seen, count, to, taken, mine, locked_at, answer;
	bool in_time, may, same, moved, owes;	   /* what this transaction has read and done */
	bool has_rights, has_row, has_resource;
#ifdef LIVE
	byte requests;
#endif

again:
	/* --- the rights lock; what a bug reads before it --- */
#ifdef BUG_EXPIRY_BEFORE_LOCK
	in_time = (now < EXPIRES);
#endif
#ifdef BUG_RIGHT_BEFORE_LOCK
	may = !revoked;
#endif
#ifdef BUG_DRIFT_BEFORE_LOCK
	same = !drifted;
#endif
	atomic {
		if
#ifdef LIVE
		:: sweeps -> op = TIDY
		:: !sweeps && requests < 2 -> requests++; if :: op = APPLY :: op = RETRACT :: op = SETTLE fi
		:: !sweeps && requests == 2 -> goto parked
#else
		:: FINAL(state) -> goto parked /* who waits already goes on; a new request finds nothing to do */
		:: op = APPROVE; if :: who = 0 :: who = 1 :: who = 2 :: who = PROPOSER fi
		:: op = REFUSE; who = 1
		:: op = RETRACT
		:: op = APPLY
		:: op = TIDY
		:: external -> op = SETTLE
#endif
		fi;
		shared++;
		has_rights = true
	};
	/* --- the row, the resource; each may be waited for --- */
	atomic {
		if
		:: LOCKS_ROW && !row_held -> row_held = true; has_row = true; locked_at = now
		:: !LOCKS_ROW -> locked_at = now
		fi;
		if
		:: op == APPLY -> !resource_held -> resource_held = true; has_resource = true
		:: else
		fi;
		d_step { /* look */
			checks();
			seen = state;
			count = COUNTED;
#ifndef BUG_EXPIRY_BEFORE_LOCK
			in_time = (now < EXPIRES);
#endif
#ifndef BUG_DRIFT_BEFORE_LOCK
			same = !drifted;
#endif
#ifdef BUG_DRIFT_IGNORED
			same = true;
#endif
			if
			:: op == APPROVE || op == REFUSE ->
				may = (who == 0 -> !demoted : true) && IS_VOTER(who) && votes[who] < VOTES_EACH
			:: else ->
#ifndef BUG_RIGHT_BEFORE_LOCK
				may = !revoked
#else
				skip
#endif
			fi
		}
	};
	MAY_CRASH; /* one place is enough: until COMMIT, nothing but locks is there to be lost */
	/* --- the decision and its COMMIT --- */
	if
	:: op == APPROVE -> d_step {
		if
		:: OPEN(seen) && in_time && may ->
			if
			:: seen == PENDING && count + 1 >= need -> move(QUORUM)
			:: seen == PENDING && count + 1 < need -> move(VOTE)
			:: seen == APPROVED && count < need && count + 1 >= need -> move(VOTE)
			:: seen == APPROVED && count + 1 < need -> move(RECOUNT)
			:: else /* approved, and no vote is missing: refused */
			fi;
			votes[who] = votes[who] + moved
		:: else
		fi }
	:: op == REFUSE -> d_step {
		if
		:: OPEN(seen) && in_time && may -> move(DENY)
		:: else
		fi }
	:: op == RETRACT -> d_step {
		if
		:: OPEN(seen) && in_time -> move(CANCEL)
		:: else
		fi }
	:: op == TIDY -> d_step {
		if
		:: OPEN(seen) && !in_time -> move(EXPIRE)
		:: seen == EXECUTING && IS_LOST -> move(LOSE)
#ifdef BUG_REQUEUE_UNKNOWN
		:: seen == UNKNOWN -> state = APPROVED
#endif
		:: else
		fi }
	:: op == SETTLE -> d_step {
		if
		:: seen == UNKNOWN && done -> move(SUCCEED)
		:: seen == UNKNOWN && !done -> move(FAIL)
		:: else
		fi }
	:: op == APPLY && OPEN(seen) && in_time && may && count < WANTED && need < WANTED -> d_step {
		move(RECOUNT); /* the number is stored, although the answer is a refusal */
		if
		:: moved -> need = asked
		:: else
		fi }
	:: op == APPLY && CLAIMABLE(seen) && in_time && may && count < need && need == WANTED -> atomic {
		if
		:: skip			       /* the code refuses and leaves it approved */
		:: seen == APPROVED -> move(RECOUNT) /* the table would allow this as well */
		fi }
	:: op == APPLY && CLAIMABLE(seen) && in_time && may && same && count >= WANTED && !external -> atomic {
		CLAIMED_FROM(seen);
		if
		:: skip -> move(SUCCEED);
			if
			:: moved -> decide(); ran++; assert(ran <= 1); done = true
			:: else
			fi
		:: skip -> move(FAIL) /* today's schema refuses the stored payload */
		fi }
#ifdef BUG_SEND_BEFORE_CLAIM
	:: op == APPLY && CLAIMABLE(seen) && in_time && may && same && count >= WANTED && external ->
		ran++;
		assert(ran <= 1);
		MAY_CRASH;
		d_step { move(CLAIM) }
#else
	:: op == APPLY && CLAIMABLE(seen) && in_time && may && same && count >= WANTED && external -> d_step {
		CLAIMED_FROM(seen);
		move(CLAIM);
		if
		:: moved -> decide(); fence++; mine = fence
		:: else
		fi }
#endif
	:: else
	fi;
	d_step { unlock(); forget() };
#ifdef BUG_AUDIT_APART
	if
	:: owes -> MAY_CRASH; d_step { owes = false; owed-- }
	:: else
	fi;
#endif
	if
	:: mine == 0 -> goto again
	:: else
	fi;

	/* --- outside: sent once, by who claimed it, before the deadline --- */
	MAY_CRASH;
	atomic {
		if
		:: MAY_SEND ->
			if
			:: send(); done = true; answer = APPLIED
			:: send(); answer = FAILED			     /* it said no */
			:: send(); if :: done = true :: skip fi; answer = UNKNOWN /* it did not say */
			:: answer = FAILED				     /* not a byte was sent */
			fi
		:: else -> answer = UNKNOWN
		fi };
#ifdef BUG_RETRY_UNKNOWN
	if
	:: answer == UNKNOWN -> atomic { send(); done = true; answer = APPLIED }
	:: else
	fi;
#endif
	MAY_CRASH;
	/* --- the outcome, where the fence is still ours --- */
	atomic { !row_held -> row_held = true; has_row = true };
	MAY_CRASH;
	d_step {
		checks();
		seen = state;
		if
		:: IS_MINE ->
			if
			:: answer == APPLIED -> move(SUCCEED)
			:: answer == FAILED -> move(FAIL)
			:: else -> move(LOSE)
			fi
		:: else
		fi;
		unlock();
		forget();
		mine = 0;
		answer = 0
	};
#ifdef BUG_AUDIT_APART
	if
	:: owes -> MAY_CRASH; d_step { owes = false; owed-- }
	:: else
	fi;
#endif
	goto again;
died:
	atomic { unlock(); forget(); mine = 0; answer = 0; owes = false };
	goto again;
parked:
	atomic { checks() }
}

/* What others do ends with the row: nothing that it could find is left. */

/* Changes of rights, of a tier, of an environment: the lock is exclusive, so no decision is under way; acknowledged when
 * committed. */
proctype Rights(byte first)
{
end:
	do
	:: atomic { !demoted && shared == 0 && !FINAL(state) -> demoted = true }
	:: atomic { !revoked && shared == 0 && !FINAL(state) -> revoked = true }
	/* what is done outside is claimed alike: there it is enough that nobody had been asked */
	:: atomic { asked == first && (first == 0 || !external) && shared == 0 && !FINAL(state) -> asked++ }
	od
}

/* Somebody else changes the resource. */
proctype Other()
{
end:
	atomic { !resource_held && !FINAL(state) -> drifted = true }
}

proctype Clock()
{
end:
	do
	:: atomic { now < (external -> TICKS : EXPIRES) && !FINAL(state) -> now++ }
	od
}

init {
	c_code { atexit(tell_steps); };
	atomic {
#ifdef LIVE
		external = true;
		run Pod(true);
		run Pod(false);
#else
#ifdef NEED /* a planted bug is looked for where it can be */
		need = NEED;
		external = EXTERNAL;
#else
		if :: external = true :: external = false fi;
		if :: need = 0 :: need = 2 fi;
#endif
		run Pod(false);
		run Pod(false);
		run Rights(need);
		run Other();
#endif
		asked = need;
		state = (need == 0 -> APPROVED : PENDING); /* as propose.c stores it */
		run Clock()
	}
}

#ifdef LIVE
ltl ends { [] ((state == EXECUTING) -> <> (state != EXECUTING)) }
#endif
