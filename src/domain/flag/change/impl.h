/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impl: what the tools of this room share. Nobody else includes this.
 *
 *	kinds.c    the nine kinds
 *	small.c    the helpers that may be done at once
 *	promote.c  from one environment to another
 *	import.c   from a file
 *	reads.c    what is looked at before
 *	result.c   what a card and an answer say of them
 *	impact.c   the blast radius
 */
#ifndef DOMAIN_FLAG_CHANGE_IMPL_H
#define DOMAIN_FLAG_CHANGE_IMPL_H

#include "core/gate/tool.h"
#include "domain/flag/change/impact.h"
#include "domain/flag/store/item.h"

#define CHANGE_TARGET	   "Countersign's own flags"
#define CHANGE_TTL_SECONDS 3600 /* PA-4 */
#define CHANGE_FAILURE	   "Nothing changes; what is live stays live."

/* --- JSON Schema of inputs, piece by piece --- */

#define SCHEMA_OBJECT(properties, required)                                                                  \
	"{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required                       \
	"],\"additionalProperties\":false}"
#define SCHEMA_ID(name, doc)                                                                                 \
	"\"" name "\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":200,\"description\":\"" doc "\"}"
#define SCHEMA_ENV_ID	    SCHEMA_ID("envId", "The environment.")
#define SCHEMA_PROJECT_ID   SCHEMA_ID("projectId", "The project.")
#define SCHEMA_RESOURCE_KEY SCHEMA_ID("resourceKey", "The key of the flag, config or segment.")
#define SCHEMA_SPOT_CHECK                                                                                    \
	"\"spotCheck\":{\"type\":\"array\",\"maxItems\":50,\"items\":{\"type\":\"object\"},"                 \
	"\"description\":\"Contexts; the answer says what each gets now and then.\"}"
/* A rule's condition is checked by the compiler of rulesets: it has better words (FL-3). */
#define SCHEMA_RULE(value)                                                                                   \
	"{\"type\":\"object\",\"properties\":{\"if\":{\"type\":\"object\"}," value                           \
	"\"description\":{\"type\":\"string\"}},\"additionalProperties\":false}"
#define SCHEMA_VALUE_RULE(type)                                                                              \
	SCHEMA_RULE("\"value\":{" type "},\"rolloutPercent\":{\"type\":\"number\",\"minimum\":0,"            \
		    "\"maximum\":100},\"salt\":{\"type\":\"string\"},")
#define SCHEMA_SEGMENT_RULE SCHEMA_RULE("")
#define SCHEMA_FLAG_VALUE   "\"type\":[\"boolean\",\"string\"]"
#define SCHEMA_CONFIG_VALUE "\"description\":\"A value of the config's type.\""
#define SCHEMA_RULES(rule)  "\"rules\":{\"type\":\"array\",\"maxItems\":200,\"items\":" rule "}"
#define SCHEMA_TEXTS(name)  "\"" name "\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"

/* --- and of what they give --- */

#define GIVES(name, type)	"\"" name "\":{\"type\":\"" type "\"}"
#define GIVES_LIST(name, items) "\"" name "\":{\"type\":\"array\",\"items\":" items "}"
#define GIVES_WHERE		GIVES("envId", "string") "," GIVES("version", "integer")
#define GIVES_LISTS		/* of a flag or config; of a segment */                                      \
	"\"defaultValue\":{}," GIVES_LIST("rules", "{\"type\":\"object\"}") "," SCHEMA_TEXTS(                \
		"allowList") "," SCHEMA_TEXTS("denyList")
#define GIVES_CHANGED /* see change_write */                                                                 \
	SCHEMA_OBJECT(GIVES_WHERE "," GIVES("resourceType", "string") "," GIVES(                             \
			      "resourceKey", "string") "," GIVES("state", "object"),                         \
		"\"envId\",\"version\",\"resourceType\",\"resourceKey\",\"state\"")

/* --- what is being changed --- */

struct change {
	struct environment e;
	int64_t seen;	  /* its version before */
	struct json *doc; /* what was live */
	struct store_item item;
	struct store_edit edit;
};

/*
 * Finds the environment and what is to be changed in it, as the input's envId and resourceKey say; edit.state is
 * the caller's to set. lock: nobody else changes it meanwhile.
 *
 * E_NOT_FOUND; E_SCOPE, before anybody learns whether it exists; E_DRIFT, see tool_check_version
 */
status change_begin(struct ctx *cx, const struct tool_call *call, bool lock, enum resource r,
	struct change *out) MUST_USE;

/* From an input to the edit: with the environment locked to do it, or only to look. */
typedef status change_plan(struct ctx *cx, const struct tool_call *call, bool lock, struct change *out);

/*
 * What it would do to the contexts that were sampled of late (reservoir/survey.h), or NULL: outside a transaction.
 * The second is for who has its edits already: on says whether the environment samples.
 */
status change_survey(struct ctx *cx, const struct tool_call *call, change_plan *plan, const struct json **out)
	MUST_USE;
status change_survey_edits(struct ctx *cx, const struct environment *e, const struct json *doc,
	const struct store_edit *edits, size_t count, const struct json **out) MUST_USE;

/*
 * A change of many is on record for each of them, too, so that a flag's story is whole (AU-6). doc: as it was
 * before; e: as it is now. Nothing in a dry-run.
 */
status change_record_each(struct ctx *cx, const struct tool_call *call, const struct environment *e,
	const struct json *doc, const struct store_edit *edits, size_t count) MUST_USE;

/*
 * Writes the edit; the blast radius and all else go into *out. verb: "Kill".
 *
 * E_INVALID  as store_write; the paths of its issues begin with `at` ("/diff") instead of the item's
 */
status change_write(struct ctx *cx, const struct tool_call *call, struct change *c, const char *verb,
	const char *at, struct tool_result *out) MUST_USE;

/* E_SCOPE  the environment or the key is outside the caller's token. */
status change_in_scope(struct ctx *cx, const struct tool_call *call, str environment_id, str key) MUST_USE;

/* The entry with another member; in its place where there is one. */
struct json *change_with(struct ctx *cx, const struct json *entry, const char *key, const struct json *value);

/* An entry as a card shows it: with all its lists, without what cannot change. */
struct json *change_shown(struct ctx *cx, enum resource r, const struct json *entry);

/* After a failure: issues below `from` are issues below `to`. Gives s back. */
status change_paths(struct ctx *cx, str from, const char *to, status s) MUST_USE;

/* Where the document has it: "/flags/KEY". */
str change_path(struct ctx *cx, enum resource r, str key);

/* "; 1 of 2 spot checks change", and how many flags and configs are not among those evaluated. */
str change_words(struct ctx *cx, const struct impact_pair *p, const struct impact *i);

/* The input's spot checks against doc with the edits. NULL where there are none: *out is empty then. */
status change_impact(struct ctx *cx, const struct tool_call *call, const struct json *doc,
	const struct store_edit *edits, size_t count, struct impact *out, str *out_words) MUST_USE;

/* The text, or number, of a member of an input that the schema has checked. */
str input_text(const struct json *input, const char *key);

#endif
