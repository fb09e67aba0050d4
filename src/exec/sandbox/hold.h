/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold: the process between us and a program that we start. It limits the program, and sees to it that nothing of the
 * program is left: not when the program ends, and not when we are killed.
 *
 *	server --fork, exec /proc/self/exe--> holder --fork, exec--> bwrap --> the program, and what it starts
 *
 * Whatever loses its parent below the holder becomes the holder's child (PR_SET_CHILD_SUBREAPER), and the holder ends
 * all its children as soon as the pipe from the server ends. The kernel closes that pipe however the server dies. bwrap's
 * own --die-with-parent is not enough: a bwrap that is killed while it sets up its namespaces leaves a child behind
 * that waits for it forever.
 */
#ifndef EXEC_SANDBOX_HOLD_H
#define EXEC_SANDBOX_HOLD_H

/* argv[0] of the holder. main() of every program that starts programs looks for it first and calls hold_run. */
#define HOLD_NAME "countersign-hold"

/*
 * HOLD_NAME LIFE FAILED VARIABLES confined|free DIRECTORY program argument ...
 *
 * LIFE    a pipe that ends when the program shall
 * FAILED  a pipe for the errno of an exec that failed; it ends without a byte when the exec was done
 * VARIABLES  a file with the program's environment, each ended by a NUL; the holder itself has none
 * DIRECTORY  where the program starts; empty: here
 * confined: the program is bwrap.
 *
 * Ends as the program has ended: by its code, or by its signal.
 */
int hold_run(char **argv);

/* Is this process to be a holder? */
int hold_wanted(char **argv);

#endif
