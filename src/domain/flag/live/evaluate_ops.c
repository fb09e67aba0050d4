/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/flag/live/evaluate_ops.h"

#include "base/limits.h"
#include "core/ident/recall.h"
#include "domain/flag/live/answers.h"
#include "domain/flag/live/live.h"
#include "domain/flag/live/past.h"
#include "domain/flag/live/visit.h"
#include "domain/flag/reservoir/reservoir.h"

struct evaluate_in {
	str id;
	struct json *context, *keys;
	bool verbose_reason;
	str as_of;
};
static const struct field evaluate_in[] = {
	FIELD_TEXT(struct evaluate_in, id, .need = true, .doc = "The environment."),
	FIELD_JSON(struct evaluate_in, context, .need = true,
		.doc = "Who and what is asked about: an object, as docs/flags.md says."),
	FIELD_JSON(struct evaluate_in, keys,
		.doc = "The flags and configs to evaluate: an array of keys; \"*\", null or none is all of "
		       "them."),
	FIELD_BOOL(struct evaluate_in, verbose_reason, .doc = "Reasons with the trace of their rules."),
	FIELD_TEXT(struct evaluate_in, as_of, .max = 64,
		.doc = "As it was at this time (RFC 3339), at most 90 days ago."),
	FIELD_END,
};

struct evaluate_out {
	str environment_id;
	int64_t version;
	struct json *evaluations;
};
static const struct field evaluate_out[] = {
	FIELD_TEXT(struct evaluate_out, environment_id, .need = true),
	FIELD_INT(struct evaluate_out, version, .need = true, .doc = "Of the ruleset that answered."),
	FIELD_JSON(struct evaluate_out, evaluations, .need = true,
		.doc = "By key: {value, defaultValue, reason}, or null where there is no flag or config of "
		       "that "
		       "key."),
	FIELD_END,
};

/* --- as it is now --- */

static status
write_answer(struct ctx *cx, struct json_out *o, int64_t version, const struct answers *a,
	const struct json *context)
{
	json_out_str(o, "environmentId", a->environment_id);
	json_out_int(o, "version", version);
	return answers_out(cx, o, "evaluations", a, context);
}

static status
answer_live(struct ctx *cx, const struct evaluate_in *in, struct answers *a, struct json_out *out)
{
	const struct live_ruleset *live;
	status s;

	TRY(live_take(cx, a->caller->org_id, a->environment_id, &live));
	a->rules = live->rules;
	s = write_answer(cx, out, live->version, a, in->context);
	if (s == OK)
		reservoir_offer(cx->reservoir, live->environment_id, in->context);
	live_release(live);
	return s;
}

/* --- as it was --- */

/* What one read brings: who asks, and the ruleset of that time where they ask for one. */
struct evaluate_work {
	const struct evaluate_in *in;
	const struct asked *asked;
	struct visit visit;
	int64_t at_us, version;
	struct json *document;
};

static status
begin(struct ctx *cx, void *arg)
{
	struct evaluate_work *w = arg;

	TRY(visit_begin(cx, w->in->id, &w->visit));
	TRY(asked_check(cx, w->asked, cx->caller, w->visit.environment.id));
	if (!w->in->as_of.len)
		return OK;
	TRY(past_check(cx, STR("/asOf"), w->at_us));
	TRY(store_version_at(cx, &w->visit.environment, w->at_us, &w->version));
	return store_document(cx, &w->visit.environment, w->version, &w->document);
}

static status
answer_past(struct ctx *cx, const struct evaluate_work *w, struct answers *a, struct json_out *out)
{
	struct ruleset *rules;
	status s;

	TRY(ruleset_compile_stored(cx, w->document, &rules));
	a->rules = rules;
	s = write_answer(cx, out, w->version, a, w->in->context);
	ruleset_free(rules);
	return s;
}

static status
run_evaluate(struct ctx *cx, const void *in, struct json_out *out)
{
	struct evaluate_work w = { .in = in };
	struct asked asked;
	struct answers a = { .asked = &asked, .verbose = w.in->verbose_reason };

	TRY(answers_check(cx, w.in->context, STR("/context")));
	TRY(asked_read(cx, w.in->keys, &asked));
	if (w.in->as_of.len)
		TRY(past_parse(cx, STR("/asOf"), w.in->as_of, &w.at_us));
	w.asked = &asked;
	TRY(visit_enter(cx, begin, &w, &w.visit));
	a.caller = &w.visit.caller;
	a.environment_id = w.visit.environment.id;
	return w.document ? answer_past(cx, &w, &a, out) : answer_live(cx, w.in, &a, out);
}

/* --- on the event loop: few keys, as it is now --- */

static bool
is_light(const struct live_ruleset *live, const struct asked *asked)
{
	size_t count = asked->all ? ruleset_count(live->rules) : asked->count;
	uint64_t weight = 0;

	if (count > LIMIT_PEEK_KEYS)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct item *item =
			asked->all ? ruleset_at(live->rules, i) : ruleset_find(live->rules, asked->keys[i]);

		weight += item ? ruleset_weight(live->rules, item) : 1;
	}
	return weight <= LIMIT_PEEK_WEIGHT;
}

/* Whatever is not plain is left to a worker, which knows how to say it. */
static status
answer_peeked(struct ctx *cx, const struct evaluate_in *in, const struct caller *c,
	const struct live_ruleset *live, struct json_out *out)
{
	struct asked asked;
	struct answers a = { live->rules, &asked, c, live->environment_id, false };

	if (asked_read(cx, in->keys, &asked) != OK ||
		asked_check(cx, &asked, c, live->environment_id) != OK || !is_light(live, &asked))
		return E_BUSY;
	return write_answer(cx, out, live->version, &a, in->context) == OK ? OK : E_BUSY;
}

static status
peek_evaluate(struct ctx *cx, const void *input, struct json_out *out)
{
	const struct evaluate_in *in = input;
	const struct caller *c;
	const struct live_ruleset *live;
	status s;

	if (in->as_of.len || in->verbose_reason || in->context->type != JSON_OBJECT)
		return E_BUSY;
	TRY(visit_peek(cx, in->id, &c, &live));
	s = answer_peeked(cx, in, c, live, out);
	if (s == OK)
		s = recall_count(cx, c);
	if (s == OK)
		reservoir_offer(cx->reservoir, live->environment_id, in->context);
	visit_end(c, live);
	return s;
}

/* --- preview and history --- */

static const struct field preview_in[] = {
	FIELD_TEXT(struct preview_in, id, .need = true, .doc = "The environment."),
	FIELD_JSON(struct preview_in, spot_check, .need = true, .doc = "1 to 50 contexts."),
	FIELD_JSON(struct preview_in, ruleset, .need = true,
		.doc = "What would be different: {flags?, configs?, segments?}, each an array of entries "
		       "with their "
		       "key; members that an entry leaves out stay as they are."),
	FIELD_BOOL(struct preview_in, verbose_reason, .doc = "Reasons with the trace of their rules."),
	FIELD_TEXT(struct preview_in, as_of, .doc = "Not together with a ruleset: it is refused."),
	FIELD_END,
};

struct preview_out {
	str environment_id;
	int64_t live_version;
	struct json *spot_check;
};
static const struct field preview_out[] = {
	FIELD_TEXT(struct preview_out, environment_id, .need = true),
	FIELD_INT(struct preview_out, live_version, .need = true, .doc = "What it was laid over."),
	FIELD_JSON(struct preview_out, spot_check, .need = true,
		.doc = "For each context {context, live, preview}; both are {KEY: {value, defaultValue, "
		       "reason} | "
		       "null} for the flags and configs of the ruleset that was given, and those that name a "
		       "segment of it."),
	FIELD_END,
};

static const struct field history_in[] = {
	FIELD_TEXT(struct history_in, id, .need = true, .doc = "The environment."),
	FIELD_JSON(struct history_in, context, .need = true, .doc = "Who and what is asked about."),
	FIELD_TEXT(struct history_in, since, .need = true, .max = 64,
		.doc = "From this time on (RFC 3339), at most 90 days ago."),
	FIELD_TEXT(struct history_in, until, .need = true, .max = 64, .doc = "Up to this time."),
	FIELD_JSON(struct history_in, keys,
		.doc = "An array of keys; \"*\", null or none is all flags and configs that there were."),
	FIELD_END,
};

struct history_out {
	struct json *context;
	str since, until;
	struct json *primitives;
	bool truncated;
	str next;
};
static const struct field history_out[] = {
	FIELD_JSON(struct history_out, context, .need = true),
	FIELD_TEXT(struct history_out, since, .need = true),
	FIELD_TEXT(struct history_out, until, .need = true),
	FIELD_JSON(struct history_out, primitives, .need = true,
		.doc = "By key: {type: \"flag\" or \"config\", entries: [{asOf, version, value, reason}]}, "
		       "an entry "
		       "for the first time and one whenever value or reason was another; both are null while "
		       "it "
		       "was not there."),
	FIELD_BOOL(struct history_out, truncated, .need = true,
		.doc = "There were more versions than one answer "
		       "looks at."),
	FIELD_TEXT(struct history_out, next, .doc = "Where it is truncated: ask again with this as since."),
	FIELD_END,
};

#define READ_ERRORS OP_ERRORS(E_SCOPE, E_NOT_FOUND, E_NOT_CACHED, E_UNAVAILABLE, E_RATE_LIMITED)

const struct op evaluate_ops[] = {
	{
		.name = "evaluate",
		.method = "POST",
		.path = "/api/v1/envs/{id}/evaluate",
		.doc = "Evaluate flags and configs for a context. Keys outside the token's scope are refused "
		       "where "
		       "they are named, and left out of all.",
		.rule = RULE_ANYBODY, /* VISIT_RULE in that environment: visit_begin */
		.effect = OP_READ,
		.tx = OP_TX_OWN,
		.in = evaluate_in,
		.in_size = sizeof(struct evaluate_in),
		.out = evaluate_out,
		.errors = READ_ERRORS,
		.peek = peek_evaluate,
		.run = run_evaluate,
	},
	{
		.name = "evaluate_preview",
		.method = "POST",
		.path = "/api/v1/envs/{id}/evaluate/preview",
		.doc = "What would some contexts get if the ruleset were different? It is checked as a save "
		       "checks "
		       "it, and nothing is stored.",
		.rule = RULE_ANYBODY, /* VISIT_RULE in that environment: visit_begin */
		.effect = OP_READ,
		.tx = OP_TX_OWN,
		.in = preview_in,
		.in_size = sizeof(struct preview_in),
		.out = preview_out,
		.errors = READ_ERRORS,
		.run = preview_run,
	},
	{
		.name = "evaluate_history",
		.method = "POST",
		.path = "/api/v1/envs/{id}/evaluate/history",
		.doc = "What did a context get over time? Made of the stored versions of the ruleset.",
		.rule = RULE_ANYBODY, /* VISIT_RULE in that environment: visit_begin */
		.effect = OP_READ,
		.tx = OP_TX_OWN,
		.in = history_in,
		.in_size = sizeof(struct history_in),
		.out = history_out,
		.errors = READ_ERRORS,
		.run = history_run,
	},
	{ 0 },
};
