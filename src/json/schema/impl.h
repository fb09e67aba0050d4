/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl: what the files of the schema module share. Nobody else includes this.
 *
 *	ref.c       documents, resources ($id), anchors: which subschema a URI means
 *	keywords.c  the table of keywords
 *	compile.c   a keyword's value in a schema -> a rule
 *	check.c     a node against a value: frames, steps, what has been evaluated
 *	apply.c     the rules that have subschemas
 *	assert.c    the rules that have none
 *	issue.c     sentences, and which branch came closest
 *	schema.c    the public functions
 *
 * A schema is a graph of nodes, one per subschema; a node is a list of rules, in
 * the order of the keyword table. Everything is in the schema's own arena and
 * does not change after compiling, so threads share it without a lock.
 */
#ifndef JSON_SCHEMA_IMPL_H
#define JSON_SCHEMA_IMPL_H

#include "json/regex.h"
#include "json/schema.h"
#include "json/schema/exact.h"
#include "json/schema/format.h"

/* --- the compiled form --- */

enum vocabulary {
	VOCABULARY_CORE = 1,
	VOCABULARY_APPLICATOR = 2,
	VOCABULARY_UNEVALUATED = 4,
	VOCABULARY_VALIDATION = 8,
	VOCABULARY_FORMAT = 16, /* format is checked */
	VOCABULARY_TUPLES = 32, /* prefixItems: not in drafts before 2020-12 */
	VOCABULARY_ANNOTATION = 64,
};
#define VOCABULARY_2020                                                                                      \
	(VOCABULARY_CORE | VOCABULARY_APPLICATOR | VOCABULARY_UNEVALUATED | VOCABULARY_VALIDATION |          \
		VOCABULARY_TUPLES | VOCABULARY_ANNOTATION)

struct node;

struct anchor {
	str name;
	struct node *node;
	bool dynamic;
	struct anchor *next;
};

/* A schema with a URI of its own: a document, or a subschema with $id. */
struct resource {
	str uri;
	str alias; /* the URI under which it was given, where that is another */
	struct node *node;
	struct anchor *anchors;
	unsigned vocabulary;
	struct resource *next;
};

/* One of a keyword's named, listed or pattern-keyed parts. */
struct entry {
	str name;
	struct node *node;	  /* NULL where there is none */
	struct regex *regex;	  /* patternProperties */
	const struct json *names; /* dependentRequired: an array of strings */
};

/* A name that `properties` or `required` mentions; a node's are sorted by name. */
struct property {
	str name;
	struct node *node; /* NULL where it is only required */
	uint32_t required; /* 1, 2, ... in the order of the schema; 0: it is not */
};

struct rule {
	const struct keyword *keyword;
	const struct json *value; /* as the schema has it */
	struct node *node;	  /* the one subschema, or the target of a reference */
	struct entry *entries;
	uint32_t count;	     /* of entries */
	uint32_t types;	     /* type: a bit per json_type, and TYPE_INTEGER */
	uint64_t limit, max; /* minLength ...; contains: both */
	struct regex *regex;
	const struct format *format;
	str dynamic; /* $dynamicRef: the anchor's name; empty where it is like $ref */
};
#define TYPE_INTEGER (1u << 8)

struct node {
	enum { NODE_RULES, NODE_TRUE, NODE_FALSE } kind;
	bool unevaluated; /* has a rule that asks what has been evaluated */
	uint8_t visited;  /* while compiling: 1 on the way, 2 done */
	const struct json *json;
	struct resource *resource;
	struct rule *rules;
	uint32_t rule_count;
	uint32_t property_count, required_count;
	struct property *properties;
	const struct rule *patterns; /* the rule of patternProperties, if any */
	/* where it stands, for messages */
	const struct node *parent;
	str keyword, name;
	struct node *next; /* in the order of making */
};

struct regex_link {
	struct regex *regex;
	struct regex_link *next;
};

struct schema {
	struct arena arena; /* all of it, this struct too */
	const struct node *root;
	struct regex_link *regexes; /* what the arena cannot give back */
};

/* --- compiling --- */

/* A value of a copied document, and the node made for it. The copy lies in the schema's arena. */
struct place {
	struct json json;
	struct node *node;
	const struct json **sorted; /* its members, once a pointer has led through it */
};

struct compile {
	struct ctx *cx;
	struct arena *arena; /* the schema's */
	struct schema *schema;
	const struct schema_options *options;
	struct resource *resources;
	struct node *first, **last; /* all nodes: also the queue of what is still to compile */
	uint32_t names, patterns;   /* how many, against the limits */
	bool is_meta;		    /* compiling a meta-schema in order to check a schema with it */
};

enum shape { SHAPE_PLAIN, SHAPE_SCHEMA, SHAPE_LIST, SHAPE_MAP, SHAPE_MIXED_MAP };

struct check;
struct frame;

struct keyword {
	str name;
	unsigned vocabulary; /* the one it belongs to */
	enum shape shape;    /* where its value has subschemas; MIXED_MAP: a map with arrays of names, too */
	bool here;	     /* its subschemas apply to the same value */
	unsigned types;	     /* the types of values it says something about (a bit each) */
	/* Checks the keyword's value and fills the rule. A NULL check below: it only had to be looked at. */
	status (*compile)(struct compile *k, struct node *n, const struct json *value, struct rule *out);
	bool (*check)(struct check *c, struct frame *f, const struct rule *r);
};

extern const struct keyword schema_keywords[];
extern const size_t schema_keyword_count;
const struct keyword *keyword_find(str name);

/* Compiles doc, which is known under uri ("" for none), and all it refers to. */
status compile_document(struct compile *k, const struct json *doc, str uri, struct node **out_root) MUST_USE;
status compile_node(struct compile *k, struct node *n) MUST_USE;

/* Checks the resource that begins at n against the meta-schema it names (schema.c). */
status compile_against(struct compile *k, const struct node *n, const struct json *meta, str uri) MUST_USE;

/* Fails with a sentence about n's keyword (empty: about n itself), with an issue that says where. */
__attribute__((format(printf, 4, 5))) status
compile_fail(struct compile *k, const struct node *n, str keyword, const char *format, ...) MUST_USE;

/* Steps of compiling: of a value that is copied, of a subschema, of a keyword. */
#define COPY_STEPS    4u
#define NODE_STEPS    20u
#define KEYWORD_STEPS 10u

/* E_TOO_LARGE where the arena's cap is passed. */
#define COMPILE_ROOM(k, p)                                                                                   \
	((p) ? OK : fail((k)->cx, E_TOO_LARGE, "the schema takes more memory than a schema may use"))

/* Copies a document into the schema's arena and makes nodes for its subschemas. */
status ref_load(struct compile *k, const struct json *doc, str uri, struct node **out_root) MUST_USE;
/* The node that a reference in n means; *out_dynamic is the anchor's name where it is a $dynamicAnchor. */
status ref_resolve(struct compile *k, const struct node *n, str keyword, str reference,
	struct node **out_node, str *out_dynamic) MUST_USE;
/* The node for a value of a copied document. */
struct node *ref_node(const struct json *value);
const struct anchor *ref_anchor(const struct resource *r, str name);

/* The text of a built-in meta-schema, or the empty str. */
str meta_text(str uri);
#define META_2020 "https://json-schema.org/draft/2020-12/schema"

/* keyword.compile: what the table refers to (compile.c) */
#define COMPILER(name)                                                                                       \
	status name(struct compile *k, struct node *n, const struct json *value, struct rule *out)
COMPILER(compile_any);
COMPILER(compile_string);
COMPILER(compile_bool);
COMPILER(compile_array);
COMPILER(compile_uri);
COMPILER(compile_anchor);
COMPILER(compile_vocabulary);
COMPILER(compile_ref);
COMPILER(compile_type);
COMPILER(compile_number);
COMPILER(compile_divisor);
COMPILER(compile_count);
COMPILER(compile_pattern);
COMPILER(compile_format);
COMPILER(compile_schema);
COMPILER(compile_list);
COMPILER(compile_map);
COMPILER(compile_members);
COMPILER(compile_patterns);
COMPILER(compile_names);
COMPILER(compile_dependencies);
COMPILER(compile_contains);
COMPILER(compile_if);

/* --- checking --- */

/* Which children of a value have been evaluated: what unevaluatedItems and unevaluatedProperties ask. */
struct seen {
	uint64_t *bits, one; /* bits is &one where it is enough */
	size_t words;
};

enum step { STEP_HERE, STEP_MEMBER, STEP_ITEM };

/* One node being applied to one value. The chain upwards is also the dynamic scope. */
struct frame {
	const struct frame *up;
	const struct node *node;
	const struct json *value;
	enum step step; /* how we came here from up */
	size_t index;
	struct seen *seen;    /* NULL where nobody asks */
	uint32_t depth, here; /* frames above this one: in all, and on the same value */
};

enum issue_kind { ISSUE_OTHER, ISSUE_CHOICE, ISSUE_TYPE };

struct found {
	str path, message;
	enum issue_kind kind;
	size_t length; /* of the path: how deep it lies */
	uint32_t types;
};

struct found_list {
	struct found *items; /* LIMIT_SCHEMA_ISSUES of them */
	size_t count;
};

struct check {
	struct ctx *cx;
	struct arena scratch;	   /* for seen: given back on the way up */
	struct found_list *issues; /* NULL: only whether it is valid is asked */
	bool stopped;		   /* a limit was hit: whatever is answered does not count */
};

/* Takes n steps of the request's (base/meter/meter.h); false where there are none left. */
bool check_charge(struct check *c, uint64_t n);
/* The same for looking at text with a pattern: text times program. */
bool check_charge_regex(struct check *c, const struct regex *r, str text);
void check_stop(struct check *c);

/* Applies a node to f's value, to a member, to an item. */
bool check_here(struct check *c, struct frame *f, const struct node *n);
bool
check_child(struct check *c, struct frame *f, const struct node *n, const struct json *child, size_t index);
bool check_frame(struct check *c, struct frame *f);
/* The same without issues: for not, if, contains. */
bool check_quietly(struct check *c, struct frame *f, const struct node *n);

void seen_mark(struct seen *s, size_t index);
void seen_mark_first(struct seen *s, size_t count);
bool seen_has(const struct seen *s, size_t index);

/* Is there somebody who asks for issues, and room for one more? */
bool issue_wanted(const struct check *c);
/* Adds an issue at f's value, or at its member or item. Costs nothing where none is wanted. */
__attribute__((format(printf, 4, 5))) void
issue_add(struct check *c, const struct frame *f, enum issue_kind kind, const char *format, ...);
__attribute__((format(printf, 4, 5))) void
issue_add_member(struct check *c, const struct frame *f, str name, const char *format, ...);
void issue_add_types(struct check *c, const struct frame *f, uint32_t types);
/* None of r's branches took the value: reports those of the branch that came closest. */
void issue_add_closest(struct check *c, struct frame *f, const struct rule *r);
/* The beginning of a text, short enough for a sentence, cut between characters. */
str issue_text(str s);
/* A value as it is named in a sentence, cut where it is long. */
str issue_value(struct check *c, const struct json *value);

#define CHECKER(name) bool name(struct check *c, struct frame *f, const struct rule *r)
CHECKER(check_ref);
CHECKER(check_type);
CHECKER(check_const);
CHECKER(check_enum);
CHECKER(check_multiple);
CHECKER(check_minimum);
CHECKER(check_maximum);
CHECKER(check_above);
CHECKER(check_below);
CHECKER(check_min_length);
CHECKER(check_max_length);
CHECKER(check_pattern);
CHECKER(check_format);
CHECKER(check_min_items);
CHECKER(check_max_items);
CHECKER(check_unique);
CHECKER(check_prefix);
CHECKER(check_items);
CHECKER(check_contains);
CHECKER(check_min_members);
CHECKER(check_max_members);
CHECKER(check_members);
CHECKER(check_patterns);
CHECKER(check_additional);
CHECKER(check_names);
CHECKER(check_dependent_names);
CHECKER(check_dependent);
CHECKER(check_all);
CHECKER(check_any);
CHECKER(check_one);
CHECKER(check_not);
CHECKER(check_if);
CHECKER(check_unevaluated_items);
CHECKER(check_unevaluated_members);

#endif
