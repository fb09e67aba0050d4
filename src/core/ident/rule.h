/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule: an access rule "<plugin>.<resource>.<verb>" and sets of them (ID-3, ID-4).
 *
 * The last segment is the verb; between plugin and verb stand one or more
 * segments of resource ("healthcheck.check.configuration.read"). `manage` on a resource covers every
 * verb on it and on its sub-resources. "*" covers everything and is for people
 * only. Pure: no I/O.
 */
#ifndef CORE_IDENT_RULE_H
#define CORE_IDENT_RULE_H

#include "base/ctx.h"

#define RULE_ALL "*"

/* What the five levels give; also the verbs, in one list: name, lowest level that has it. */
enum level {
	LEVEL_NONE,
	LEVEL_OBSERVER,
	LEVEL_PROPOSER,
	LEVEL_OPERATOR,
	LEVEL_MAINTAINER,
	LEVEL_ADMIN,
	LEVELS
};

#define VERB_TABLE(X)                                                                                        \
	X(READ, "read", LEVEL_OBSERVER)                                                                      \
	X(PROPOSE, "propose", LEVEL_PROPOSER)                                                                \
	X(TOGGLE, "toggle", LEVEL_OPERATOR)                                                                  \
	X(WRITE, "write", LEVEL_OPERATOR)                                                                    \
	X(APPROVE, "approve", LEVEL_OPERATOR)                                                                \
	X(CREATE, "create", LEVEL_MAINTAINER)                                                                \
	X(PROMOTE, "promote", LEVEL_MAINTAINER)                                                              \
	X(DELETE, "delete", LEVEL_MAINTAINER)                                                                \
	X(MANAGE, "manage", LEVEL_ADMIN)

enum verb {
#define X(name, text, level) VERB_##name,
	VERB_TABLE(X)
#undef X
		VERBS
};

const char *level_name(enum level l);
bool level_of(str name, enum level *out_level);
const char *verb_name(enum verb v);
bool verb_of(str name, enum verb *out_verb);

/* The verbs of a level, as bits. */
uint32_t level_verbs(enum level l);

/* A set of rules. Rules are kept as text; a level stands for its whole template. */
struct rules {
	enum level level; /* LEVEL_NONE: only the items */
	const str *items;
	size_t count;
};

/* Has it the form of a rule (or "*")? */
bool rule_valid(str rule);
bool rule_verb(str rule, enum verb *out_verb);

/*
 * Does the level's template hold the rule? Below admin never: roles, tokens,
 * approval rules and settings beyond read and propose (the resources access.role,
 * access.token, access.member, policy.* ).
 */
bool level_covers(enum level l, str rule);

/* Is it a rule about rights, policy, the server or erasure: what only admins change? */
bool rule_guarded(str rule);

/* Does the set hold the rule: by an item, by manage on it or a parent, by its level, by "*"? */
bool rules_cover(const struct rules *set, str rule);

/* Does have hold all that want holds? Where single rules add up to a level, it says no. */
bool rules_hold(const struct rules *have, const struct rules *want);

/* Does the set hold all of them? *out_missing (may be NULL): those it does not, as "a, b". */
bool rules_cover_all(struct arena *a, const struct rules *set, const char *const *needed, str *out_missing);

#endif
