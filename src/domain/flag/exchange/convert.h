/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: what the importers share. Nobody else includes this.
 *
 *	document.c          our own files
 *	convert.c           remarks, and the items that were converted
 *	clause.c            conditions being built
 *	flagd.c             flagd: flags, and targeting as rules
 *	flagd_logic.c       flagd: JsonLogic as conditions
 *	unleash_file.c      Unleash: what is in a file
 *	unleash.c           Unleash: features and segments
 *	unleash_strategy.c  Unleash: strategies and constraints as conditions
 *	unleash_variant.c   Unleash: variants, and who gets which
 *
 * Memory: pieces are small and their number is bounded by the file's size times a constant, since an item may
 * have LIMIT_FLAG_CONDITIONS conditions; converter_begin looks at the arena's cap between items.
 */
#ifndef DOMAIN_FLAG_EXCHANGE_CONVERT_H
#define DOMAIN_FLAG_EXCHANGE_CONVERT_H

#include "base/buf.h"
#include "base/limits.h"
#include "domain/flag/exchange/exchange.h"

/* --- places in the file, made into a path only where there is something to say --- */

struct place {
	const struct place *up;
	str key;
	size_t index; /* where key is empty */
	bool keyed;
};
#define AT_KEY(u, k)   (&(const struct place){ .up = (u), .key = (k), .keyed = true })
#define AT_NAME(u, n)  AT_KEY(u, STR(n))
#define AT_INDEX(u, i) (&(const struct place){ .up = (u), .index = (i) })

/* --- lists that grow at their end --- */

struct list {
	struct json *json; /* an array or an object */
	struct json **tail;
};
struct list list_begin(struct arena *a, enum json_type type);
void list_add(struct list *l, str key, struct json *value); /* key is empty in an array */

/* --- the converter --- */

enum section { SECTION_FLAGS, SECTION_CONFIGS, SECTION_SEGMENTS, SECTIONS };

/* Something that was converted; owner is what it is of in the file: they stay or go together. */
struct kept {
	enum section section;
	str key, owner, path;
	struct json *json;
	bool dropped;
	struct kept *next;
};

struct converter {
	struct ctx *cx;
	struct arena *a;
	str target_field;
	struct exchange_remark *first, **last;
	size_t notes, refusals;
	struct kept *kept, **kept_last;
	/* of the item at hand */
	str item;
	struct kept **kept_before;
	bool refused;
	bool quiet; /* no notes: what is read again has had its own */
	uint32_t conditions;
};

void converter_init(struct converter *c, struct ctx *cx, str target_field);

/* Begins an item of the file. E_TOO_LARGE  the arena is full */
status converter_begin(struct converter *c, str item) MUST_USE;

/* Something to know of the item at hand; something that makes it impossible. The sentence's subject is the
 * place. */
__attribute__((format(printf, 3, 4))) void
converter_note(struct converter *c, const struct place *at, const char *format, ...);
__attribute__((format(printf, 3, 4))) void
converter_refuse(struct converter *c, const struct place *at, const char *format, ...);

/* Notes members that nobody looks at. known is terminated by NULL. */
void converter_unknown(
	struct converter *c, const struct place *at, const struct json *object, const char *const *known);

/* Keeps something of the item at hand, unless that has been refused. */
void
converter_keep(struct converter *c, enum section section, str key, const struct place *at, struct json *json);

/* What was kept as a document that compiles: what does not is refused. Errors as exchange_read. */
status converter_finish(struct converter *c, struct exchange *out) MUST_USE;

/* {"type", "defaultValue", "description"?, "rules"} */
struct json *converter_item(struct converter *c, const char *type, const struct json *fallback,
	str description, struct list *rules);

/* Appends a rule for those whom the clause lets in; nothing where it is nobody. when may be CLAUSE_ALWAYS. value
 * may be NULL (segments), description empty. */
void converter_rule(struct converter *c, struct list *rules, const struct json *when,
	const struct json *value, str description);

/* --- conditions --- */

extern const struct json CLAUSE_ALWAYS[1], CLAUSE_NEVER[1];

/* {"field": field, op: comparand} */
const struct json *clause_leaf(struct converter *c, str field, const char *op, struct json *comparand);
const struct json *clause_segment(struct converter *c, str key);
const struct json *clause_not(struct converter *c, const struct json *clause);
const struct json *clause_and(struct converter *c, const struct json *one, const struct json *other);
const struct json *clause_or(struct converter *c, const struct json *one, const struct json *other);

const struct json *clause_exists(struct converter *c, str field, bool is);

/* Those whose field is drawn: docs/flags.md, $bucket. */
struct draw_of {
	str prefix;
	int64_t seed, of, below;
	bool scale;
};
const struct json *clause_bucket(struct converter *c, str field, const struct draw_of *draw);

/* --- the importers: E_INVALID where it is not such a file --- */
status flagd_convert(struct converter *c, const struct json *file) MUST_USE;
status unleash_convert(struct converter *c, const struct json *file) MUST_USE;

#endif
