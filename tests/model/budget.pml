/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of one principal between two pods, as src/core/gate/budget.c takes it: slots in the database, of which one
 * holds two calls and the other one; a call goes into one that has room or is older than the window and moves it to its
 * own time, by one statement that skips slots another transaction holds. A transaction reads the clock once, and may be
 * slow after that; a crash or a refusal undoes it.
 *
 * A pod may fill a slot instead and date it LEASE later (quick/lease.c): until then it makes the calls that are left of
 * it without asking, and gives back what it has not used, or dies with it.
 */
#define CAP    3
#define SLOTS  2
#define ROOM(i) (2 - (i))
#define WINDOW 2
#if defined(BUG_LEASE_DATED_AT_ITS_BEGIN) /* the slot comes free while calls are still made of it */
#define DATED  0
#else
#define DATED  LEASE
#endif
#define LEASE  1
#define TICKS  5
#define NONE   255

byte now = 1;
byte taken_at[SLOTS]; /* 0: long ago. Times begin at WINDOW + 1, so that nothing is negative */
byte used[SLOTS];
bool held[SLOTS];
byte calls[11];	    /* what really happened: calls by the time they were decided at */

#define OLD(i)	(taken_at[i] + WINDOW <= at)
#if defined(BUG_SLOT_OF_LATER) /* a slow call joins calls after it, perhaps of the next window */
#define ROOMY(i) (used[i] < ROOM(i))
#else
#define ROOMY(i) (used[i] < ROOM(i) && taken_at[i] <= at)
#endif
#define FREE(i) ((OLD(i) || ROOMY(i)) && !held[i])
#define IN_WINDOW(t) (calls[t] + calls[t + 1])

inline checks() /* every window is WINDOW ticks wide */
{
	assert(IN_WINDOW(0) <= CAP && IN_WINDOW(1) <= CAP && IN_WINDOW(2) <= CAP && IN_WINDOW(3) <= CAP &&
		IN_WINDOW(4) <= CAP && IN_WINDOW(5) <= CAP && IN_WINDOW(6) <= CAP && IN_WINDOW(7) <= CAP &&
		IN_WINDOW(8) <= CAP && IN_WINDOW(9) <= CAP)
}

inline take(i)
{
	slot = i;
	held[i] = true;
	before = taken_at[i];
	used_before = used[i];
	used[i] = (OLD(i) -> 1 : used[i] + 1);
	taken_at[i] = at /* the last call of a slot is what it waits for */
}

inline fill(i)
{
	slot = i;
	held[i] = true;
	before = taken_at[i];
	used_before = used[i];
	left = ROOM(i) - (OLD(i) -> 0 : used[i]) - 1; /* one of them is this call */
	used[i] = ROOM(i);
	taken_at[i] = at + DATED
}

#if defined(BUG_GIVES_BACK_WHAT_IS_NOT_ITS_OWN)
#define STILL_OURS (used[slot] >= left)
#else
#define STILL_OURS (taken_at[slot] == at + DATED)
#endif

proctype Pod()
{
	byte at, slot, before, used_before, left;

again:
	atomic { at = 0; slot = NONE; before = 0; used_before = 0; left = 0 };
	at = now + WINDOW;
#if defined(BUG_BUDGET_BY_COUNTING)
	before = calls[at] + calls[at - 1];
	if
	:: before < CAP -> d_step { calls[at]++; checks() }
	:: else
	fi;
	goto again
#elif defined(BUG_SLOT_WITHOUT_LOCK)
	if
	:: OLD(0) || ROOMY(0) -> slot = 0
	:: OLD(1) || ROOMY(1) -> slot = 1
	:: else -> goto again
	fi;
	d_step { used[slot] = (OLD(slot) -> 1 : used[slot] + 1); taken_at[slot] = at; calls[at]++; checks() };
	goto again
#else
	if
	:: atomic { FREE(0) -> take(0) }
	:: atomic { FREE(1) -> take(1) }
	:: atomic { FREE(0) -> fill(0) }
	:: else -> goto again /* rate limited */
	fi;
	if
	:: d_step { calls[at]++; checks(); held[slot] = false }		  /* COMMIT */
	:: d_step { taken_at[slot] = before; used[slot] = used_before; held[slot] = false; left = 0 } /* refused later, or a crash */
	fi;
	do
	:: left == 0 -> break
	:: d_step { left > 0 && now + WINDOW <= at + LEASE -> left--; calls[now + WINDOW]++; checks() }
	:: atomic { left > 0 && !held[slot] ->
		if
		:: STILL_OURS -> used[slot] = used[slot] - left
		:: else
		fi;
		left = 0 }
	:: left > 0 -> left = 0 /* a crash */
	od;
	goto again
#endif
}

proctype Clock()
{
	do
	:: now < TICKS -> now++
	:: now == TICKS -> break
	od
}

init {
	atomic {
		run Pod();
		run Pod();
		run Clock()
	}
}
