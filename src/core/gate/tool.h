/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool: a thing that can be asked for, declared as data (TL-1).
 *
 * The declaration says what it does; the caller never does. A built-in tool has
 * one handler, which runs inside a transaction: rolled back it is the dry-run,
 * committed it is the execution (PA-2). Its ids and times come from the call
 * (minted at propose and stored), so both runs do exactly the same.
 */
#ifndef CORE_GATE_TOOL_H
#define CORE_GATE_TOOL_H

#include "base/field.h"
#include "core/op.h"
#include "json/json.h"
#include "json/schema.h"

enum tool_category { TOOL_CATEGORY_C, TOOL_CATEGORY_B, TOOL_CATEGORY_A }; /* C where nothing is said */
enum tool_contract { TOOL_TRANSACTIONAL, TOOL_IDEMPOTENT, TOOL_KEYED, TOOL_PROBE, TOOL_BLIND };
enum tool_provider { TOOL_BUILTIN, TOOL_MCP, TOOL_WEBHOOK };

struct tool;

/* One run of a handler. */
struct tool_call {
	const struct tool *tool;
	const struct json *input; /* validated against the tool's schema */
	str id;			  /* the id that a created thing gets */
	int64_t now_us;		  /* the time it is given */
	str actor_id;		  /* the principal who asked */
	str proposal_id;	  /* what is being applied; empty in the dry-run */
	int64_t seen_version;	  /* the live_version that the dry-run gave; 0 in the dry-run itself */
};

/* What a handler says of what it did. */
struct tool_result {
	str summary; /* one line, from the stored values, for a person */
	str resource_type, resource_key, resource_id;
	str environment_id;	 /* empty: none */
	const str *environments; /* further ones that it changes: who asks needs the right in each */
	size_t environment_count;
	int64_t live_version;	   /* of the environment, as it was found; 0: it has none */
	str affected;		   /* "1 note", "flag checkout in production" */
	const struct json *before; /* NULL: created, or nothing changed */
	const struct json *after;  /* NULL: deleted */
	const struct json *impact; /* the blast radius: [{context, live, preview}]; NULL: not asked for */
	const struct json *value;  /* what the caller gets as result */
	const struct json *reveal; /* a secret it made: answered to who applies, once, and never stored */
	str subject;		   /* under whose key the audit keeps before and after; empty: nobody's */
	int64_t version;	   /* the resource's new version, 0: none */
};

/* Where a tool that is not ours lives, and what is known of it (PRODUCT section 5). */
struct tool_outside {
	str source_id, source; /* the upstream server or the connection, and its name */
	str remote;	       /* what the tool is called there */
	str definition_hash;   /* of what an admin has accepted, or declared */
	int64_t deadline_ms;   /* for an answer */
	str tier;	       /* what agents may do with it unless said for one: as permission's */
	str options;	       /* JSON, of the provider: how it is previewed, probed, read before */
};

struct tool {
	const char *name; /* "note.create" */
	const char
		*model; /* "propose_kill_flag": what models call it; NULL: the name without its dot (TL-4) */
	const char *kind; /* "kill_flag": proposals can name it by this, too (FL-5); NULL: they cannot */
	int version;
	const char *title, *doc;
	enum op_effect effect;
	const struct field *in; /* input; its JSON Schema comes from it, or */
	const char *in_schema;	/* JSON Schema text, where a table cannot say it */
	size_t in_size;
	const struct field *out; /* what it gives, in the same two ways */
	const char *out_schema;
	const struct op
		*op; /* a read that is an operation's: in, out and run are its own; NULL: it has these */
	const char *const *rules; /* all must hold; NULL-terminated; NULL refuses everybody */
	const char *propose_rule; /* holding this instead is enough to propose; NULL: only the rules */
	enum tool_category category;
	const char *domain, *target; /* "chat" …; "Countersign's own database" */
	bool rollback, financial, personal_data, phi;
	bool changes_rights; /* writes what others decide by: runs while nobody decides */
	bool spans;	     /* its card shows what lies in other environments or under other keys, too */
	bool reveals;	     /* its result has a secret: only a person applies it */
	bool direct; /* a small helper: done at once for who holds the verb, where no gate is (TL-5) */
	int64_t ttl_seconds; /* how long a proposal of it stands unless said; 0: as any */
	const char *failure; /* what it means if it fails, for the card */
	enum tool_contract contract;
	enum tool_provider provider;
	const struct tool_outside *outside; /* NULL: built in */
	status (*run)(struct ctx *cx, const struct tool_call *call, struct tool_result *out);
	/*
	 * What else is to be known of a call before it is proposed, and takes too long for a transaction: runs
	 * outside of one, with cx->caller, who may propose it. *out, or nothing, goes on the card as it is then:
	 * it is not made again at apply (but see recheck). A failure is no answer: the dry-run will say what is wrong. May be NULL.
	 */
	status (*survey)(struct ctx *cx, const struct tool_call *call, const struct json **out);
	/*
	 * Of a tool that is not ours, in the same way before it is applied: what survey had looked at, again. What it gives
	 * must be the member `digest` that survey gave; another one, or a failure, is version_drift. May be NULL.
	 */
	status (*recheck)(struct ctx *cx, const struct tool_call *call, str *out_digest);
};

/*
 * All built-in tools, from the list of modules; or these and what one organization has besides (toolset.h). An unknown
 * name gives NULL.
 */
struct registry;
const struct tool *tool_find(const struct registry *r, str name);
const struct tool *tool_of_kind(const struct registry *r, str kind);
const struct tool *tool_of_model(const struct registry *r, str model_name);	  /* by its other name */
const struct schema *tool_schema(const struct registry *r, const struct tool *t); /* compiled input schema */
str tool_in_text(const struct registry *r, const struct tool *t);  /* the same as JSON text, made once */
str tool_out_text(const struct registry *r, const struct tool *t); /* of what it gives */

/* Does its input schema say anything about what may be sent? Where it does not, nobody can inspect it (AP-2). */
bool tool_inspectable(const struct registry *r, const struct tool *t);

/* E_INVALID  a declaration is incomplete, a schema is not one, or two model-facing names collide (TL-4) */
status
registry_new(struct ctx *cx, const struct tool *const *tables, struct registry **out_registry) MUST_USE;
void registry_free(struct registry *r);
size_t registry_count(const struct registry *r);
const struct tool *registry_at(const struct registry *r, size_t index); /* sorted by name */

/* All of base, and room for so many more: a registry that is held once. base outlives it. */
struct registry *registry_over(const struct registry *base, size_t most);
struct arena *registry_room(struct registry *r); /* lives as long: for the tools that are added */

/* One that cannot be offered is left out, and problems[i] says why; of the others it is empty. */
void registry_add(struct ctx *cx, struct registry *r, const struct tool *tools, size_t count, str *problems);
void registry_hold(struct registry *r);
void registry_release(struct registry *r); /* the last one frees it */

/* What somebody else makes of a registry and keeps with it: made once, freed with it. One kind of thing only. */
void *registry_extra(const struct registry *r, void *(*make)(void), void (*free_fn)(void *));

/* Its model; or note.create -> note_create; longer than 64 gets a hash suffix (TL-4). */
str tool_model_name(struct arena *a, const struct tool *t);

/*
 * For a handler: what the run of an operation writes, as a value. It runs in the transaction that is open, with
 * cx->caller.
 */
status tool_value(struct ctx *cx, status (*run)(struct ctx *cx, const void *in, struct json_out *out),
	const void *in, const struct json **out) MUST_USE;

/* The run of a tool that is an operation's. The organization, where it asks for it, is the caller's. */
status tool_run_op(struct ctx *cx, const struct tool_call *call, struct tool_result *out) MUST_USE;

/*
 * For a handler: the version it found is the one the dry-run saw. E_DRIFT with {liveVersion, proposedVersion}
 * otherwise (PA-6).
 */
status tool_check_version(struct ctx *cx, const struct tool_call *call, int64_t live_version) MUST_USE;

const char *effect_name(enum op_effect e);
const char *category_name(enum tool_category c);
const char *contract_name(enum tool_contract c);
const char *provider_name(enum tool_provider p);

#endif
