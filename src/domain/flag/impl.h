/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl: what the files of the flag room share. Nobody else includes this.
 *
 *	ruleset.c    the document as a whole
 *	item.c       flags and configs: their values and rules
 *	segment.c    segments: their lists, and no circles
 *	condition.c  the tree of a rule's "if"
 *	predicate.c  the table of operators: what each takes, and when it holds
 *	compiler.c   what compiling needs everywhere: issues, memory, names, members
 *	weigh.c      how much work an answer can be
 *	evaluate.c   a context made ready, and the answer
 *	trace.c      the answer explained
 */
#ifndef DOMAIN_FLAG_IMPL_H
#define DOMAIN_FLAG_IMPL_H

#include "base/buf.h"
#include "core/ident/cidr.h"
#include "domain/flag/bucket.h"
#include "domain/flag/evaluate.h"
#include "domain/flag/ruleset.h"
#include "domain/flag/scalar.h"
#include "domain/flag/semver.h"
#include "json/regex.h"

/* --- the compiled form --- */

struct predicate;

enum condition_kind {
	CONDITION_EVERYBODY, /* a rule without one */
	CONDITION_LEAF,
	CONDITION_MATCH, /* a leaf with a pattern: each is tried once for a context */
	CONDITION_SEGMENT,
	CONDITION_AND,
	CONDITION_OR,
	CONDITION_NOT,
};

/* $bucket: those whose hash, begun with seed and prefix, falls below so many of so many parts. */
struct draw {
	struct bucket bucket;
	uint32_t of, below;
	bool scale; /* hash * of / 2^32; else hash % of */
};

struct condition {
	enum condition_kind kind;
	uint32_t count; /* AND, OR, NOT: children; $cidr: blocks; MATCH: its place among the patterns */
	const struct predicate *op; /* LEAF, MATCH */
	uint32_t field; /* LEAF, MATCH: its place among the fields, and among a subject's values */
	union {
		const struct condition *children;
		const struct scalar *value; /* one that is compared with */
		const struct set *set;
		const struct regex *regex;
		const struct cidr *blocks;
		const struct semver *version;
		const struct draw *draw;
		int64_t time_us;
		uint32_t segment;
		bool truth;
	} as;
};

struct rule {
	struct condition condition;
	str value;	      /* JSON text; empty in a segment */
	uint32_t buckets;     /* in the rollout are those below this; BUCKETS: everybody */
	struct bucket bucket; /* the hash of "key/salt/" */
};

struct segment {
	str key;
	const struct rule *rules;
	uint32_t rule_count;
	struct set allow, deny;
	uint8_t visited; /* while compiling: 1 on the way, 2 done */
	uint32_t depth;	 /* how many segments deep, itself included */
};

struct pattern {
	struct regex *regex;
	struct pattern *next;
};

struct ruleset {
	struct arena arena; /* all of it, this struct too */
	struct item *items;
	struct segment *segments;
	struct set item_keys, segment_keys, fields; /* names; places are those of the arrays */
	struct set patterns;			    /* "field NUL pattern" */
	struct pattern *compiled;		    /* what the arena cannot give back, newest first */
	const struct regex **regexes;		    /* by place in patterns */
	uint32_t *paths;			    /* the fields with dots */
	uint32_t path_count;
	uint32_t target;	 /* the field that names the target */
	uint64_t segment_weight; /* of all segments */
};

/* After compiling: what each item weighs. */
void ruleset_weigh(struct ruleset *rs);

/* --- compiling: OK also where an issue was found (then c->issues counts it); a failure is a lack of memory
 * --- */

/* Where in the document we are: made into a path only where there is something to say. */
struct at {
	const struct at *up;
	str key;
	size_t index; /* in an array; AT_KEY where key counts */
};
#define AT_KEY		 SIZE_MAX
#define AT_MEMBER(u, k)	 (&(const struct at){ .up = (u), .key = (k), .index = AT_KEY })
#define AT_ITEM(u, i)	 (&(const struct at){ .up = (u), .index = (i) })
#define AT_NAME(u, name) AT_MEMBER(u, STR(name))

struct compiler {
	struct ctx *cx;
	struct ruleset *rs;
	size_t issues;
	size_t program;	     /* instructions of all patterns */
	uint32_t conditions; /* of the item or segment at hand */
	struct buf scratch;  /* a value being written */
	bool all_fresh; /* every value is checked against its schema; or of the items whose keys are here, sorted */
	const str *fresh;
	size_t fresh_count;
	bool is_fresh; /* the item at hand is one of them */
};

#define COMPILER_ENOUGH 16u /* issues: as many as an error holds */

/* Says what is wrong at a place of the document; or below it, where another validator found it. */
void compiler_issue_below(struct compiler *c, const struct at *at, str below, str message);
__attribute__((format(printf, 3, 4))) void
compiler_issue(struct compiler *c, const struct at *at, const char *format, ...);

/* Zeroed memory of the ruleset. E_TOO_LARGE: its cap. */
status compiler_take(struct compiler *c, size_t n, size_t size, void *out) MUST_USE;

/* A copy of text in the ruleset. */
status compiler_copy(struct compiler *c, str text, str *out) MUST_USE;

/* Is text one that we keep: no NUL, at most max bytes? Else an issue. (That it is UTF-8 the reader has seen.)
 */
bool compiler_text(struct compiler *c, const struct at *at, str text, size_t max);

/* The place of a field, interned. An issue where there are too many or it is no name. */
status compiler_field(struct compiler *c, const struct at *at, str name, uint32_t *out_field) MUST_USE;

/* A member that an object may have. */
struct member {
	str name;
	enum json_type type;
	const struct json *found; /* NULL where it is not there or not of the type */
	bool any, need;
};

#define MEMBER(literal)                                                                                      \
	{                                                                                                    \
		literal, sizeof(literal) - 1                                                                 \
	}

/* Finds the members of an object; what is unknown, missing or of a wrong type is an issue, and the result
 * false. */
bool compiler_members(
	struct compiler *c, const struct at *at, const struct json *json, struct member *members, size_t n);

/* Checks the description of what is at a place; NULL is none. */
void compiler_description(struct compiler *c, const struct at *at, const struct json *description);

/* Letters, digits and . _ : - so that it fits an address, a rule of access and the text that is hashed. */
bool key_valid(str key);

/* Interns a key. *out_new is false where it is known, or no key, which is an issue. */
status compiler_key(struct compiler *c, const struct at *at, struct set *keys, str key, uint32_t *out_place,
	bool *out_new) MUST_USE;

/* The item's value and rules; its key and is_config are there. */
status
item_compile(struct compiler *c, const struct at *at, const struct json *json, struct item *item) MUST_USE;

/* The rules of an item, or of a segment where item is NULL. schema, list: NULL where there is none. */
struct schema;
status
rules_compile(struct compiler *c, const struct at *at, const struct item *item, const struct schema *schema,
	const struct json *list, const struct rule **out_rules, uint32_t *out_count) MUST_USE;

/* All segments; NULL: there are none. */
status segments_compile(struct compiler *c, const struct at *at, const struct json *segments) MUST_USE;

/* Fills *out, whose memory is zero, with the condition that json is. */
status condition_compile(
	struct compiler *c, const struct at *at, const struct json *json, struct condition *out) MUST_USE;

/* --- operators --- */

enum { ORDER_LESS = 1, ORDER_EQUAL = 2, ORDER_GREATER = 4 };

/* What a subject has for a field. */
struct value {
	struct scalar scalar;
	const struct json *json; /* NULL where it is missing */
};

struct predicate {
	str name;
	/* reads what stands behind the name into out->as */
	status (*compile)(
		struct compiler *c, const struct at *at, const struct json *comparand, struct condition *out);
	bool (*holds)(const struct condition *c, const struct value *v);
	unsigned orders; /* which of LESS, EQUAL, GREATER hold, where holds compares */
	bool negate;	 /* holds where holds does not */
};

/* The operator called name ("$equals"), or NULL. $segment and the combinators are not among them. */
const struct predicate *predicate_find(str name);

/* Does the leaf c hold for v? */
static inline bool
predicate_holds(const struct condition *c, const struct value *v)
{
	return c->op->holds(c, v) != c->op->negate;
}

/* The names of all operators, for a sentence. */
str predicate_names(struct arena *a);

/* --- evaluating --- */

struct subject {
	const struct ruleset *rs;
	struct value *values; /* by field */
	uint8_t *segments;    /* by segment: KNOWN_... */
	uint8_t *matches;     /* by pattern: KNOWN_... */
	bool has_target;
	struct scalar target;
	char digits[24]; /* of a target that is a number */
	struct ctx *cx;	 /* whose work it is */
	uint64_t steps;	 /* since they were charged last */
	uint64_t most;	 /* as many are left; beyond it nothing holds, and no answer counts */
};

enum { KNOWN_NOT, KNOWN_FALSE, KNOWN_TRUE };

/* The id that lists and rollouts know a target by: a text, or the digits of an integer. False where value is
 * neither. */
bool target_text(const struct json *value, char digits[24], str *out_text);

bool condition_holds(const struct condition *c, struct subject *s);
bool rollout_holds(const struct rule *r, const struct subject *s);

/* "trace": one entry for each rule up to the one that matched (or all). */
void trace_out(struct json_out *o, const char *key, struct subject *s, const struct item *item);

#endif
