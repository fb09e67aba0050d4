/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of one principal between two pods, as src/core/gate/budget.c takes it: CAP slots in the database; a call
 * moves one that is older than the window to its own time, by one statement that skips slots another transaction
 * holds. A transaction reads the clock once, and may be slow after that; a crash or a refusal undoes it.
 */
#define CAP    2
#define WINDOW 2
#define TICKS  7
#define NONE   255

byte now = 1;
byte taken_at[CAP]; /* 0: long ago. Times begin at WINDOW + 1, so that nothing is negative */
bool held[CAP];
byte calls[11];	    /* what really happened: calls by the time they were decided at */

#define FREE(i) (taken_at[i] + WINDOW <= at && !held[i])
#define IN_WINDOW(t) (calls[t] + calls[t + 1])

inline checks() /* every window is WINDOW ticks wide */
{
	assert(IN_WINDOW(0) <= CAP && IN_WINDOW(1) <= CAP && IN_WINDOW(2) <= CAP && IN_WINDOW(3) <= CAP &&
		IN_WINDOW(4) <= CAP && IN_WINDOW(5) <= CAP && IN_WINDOW(6) <= CAP && IN_WINDOW(7) <= CAP &&
		IN_WINDOW(8) <= CAP && IN_WINDOW(9) <= CAP)
}

proctype Pod()
{
	byte at, slot, before;

again:
	atomic { at = 0; slot = NONE; before = 0 };
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
	:: taken_at[0] + WINDOW <= at -> slot = 0
	:: taken_at[1] + WINDOW <= at -> slot = 1
	:: else -> goto again
	fi;
	d_step { taken_at[slot] = at; calls[at]++; checks() };
	goto again
#else
	if
	:: atomic { FREE(0) -> slot = 0; held[0] = true; before = taken_at[0]; taken_at[0] = at }
	:: atomic { FREE(1) -> slot = 1; held[1] = true; before = taken_at[1]; taken_at[1] = at }
	:: else -> goto again /* rate limited */
	fi;
	if
	:: d_step { calls[at]++; checks(); held[slot] = false }		  /* COMMIT */
	:: d_step { taken_at[slot] = before; held[slot] = false } /* refused later, or a crash */
	fi;
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
