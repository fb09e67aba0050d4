/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change: changes of flags, configs and segments as tools, so that everybody proposes them the same way
 * (FL-5, FL-7, TL-5).
 *
 *	environment_lock --> is its version the one that was seen? --> the new state --> store_write
 *	                                                               `--> blast radius of the spot checks
 *
 * A kind is a tool that proposals can also name by its kind (docs/flags.md). The card has the fields that
 * change, the environment's version, and what every spot check is answered now and then; all of it is made
 * again at apply (core/card). Scope is looked at in the handler, so that who asks and who applies are both
 * held to theirs; rights are the kernel's business.
 */
#ifndef DOMAIN_FLAG_CHANGE_CHANGE_H
#define DOMAIN_FLAG_CHANGE_CHANGE_H

#include "core/gate/tool.h"

extern const struct tool change_tools[];       /* one per kind */
extern const struct tool change_small_tools[]; /* create, describe, append a rule, roll out: TL-5 */
extern const struct tool change_promote_tools[];
extern const struct tool change_import_tools[];
extern const struct tool change_read_tools[];

#endif
