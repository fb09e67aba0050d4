/* SPDX-License-Identifier: Apache-2.0 */
#include "core/card/card.h"

#include "base/hash/sha256.h"
#include "core/card/visible.h"
#include "json/canon.h"
#include "json/diff.h"

/* The members of the part that is made again at apply. */
static const char *const seen_members[] = { "summary", "affectedData", "change", "resource", "liveVersion",
	"blastRadius", "warnings", NULL };

static void
add_text(struct ctx *cx, struct json *o, const char *key, str text, unsigned *found)
{
	json_add_member(o, str_of(key), json_new_string(cx->arena, visible_text(cx->arena, text, found)));
}

static void
add_bool(struct ctx *cx, struct json *o, const char *key, bool truth)
{
	json_add_member(o, str_of(key), json_new_bool(cx->arena, truth));
}

/* --- the seen part --- */

static status
add_diff(struct ctx *cx, struct json *change, const struct tool_result *r, unsigned *found)
{
	struct json *list = json_new_array(cx->arena);
	struct json **tail = &list->child; /* json_add_item walks, and there may be many */
	struct diff d;

	TRY(diff_make(cx, r->before, r->after, &d));
	for (size_t i = 0; i < d.count; i++) {
		struct json *one = json_new_object(cx->arena);

		add_text(cx, one, "path", d.changes[i].path, found);
		if (d.changes[i].before)
			json_add_member(
				one, STR("before"), visible_json(cx->arena, d.changes[i].before, found));
		if (d.changes[i].after)
			json_add_member(
				one, STR("after"), visible_json(cx->arena, d.changes[i].after, found));
		*tail = one;
		tail = &one->next;
		list->count++;
	}
	json_add_member(change, STR("diff"), list);
	return OK;
}

/* Created shows the object, deleted what goes, updated the fields (PA-10); what has not run shows its input.
 */
static status
change_of(struct ctx *cx, const struct json *input, const struct tool_result *r, unsigned *found,
	struct json **out)
{
	struct json *change = json_new_object(cx->arena);

	if (r && r->before && r->after) {
		add_text(cx, change, "kind", STR("update"), found);
		TRY(add_diff(cx, change, r, found));
	} else if (r && r->after) {
		add_text(cx, change, "kind", STR("create"), found);
		json_add_member(change, STR("after"), visible_json(cx->arena, r->after, found));
	} else if (r && r->before) {
		add_text(cx, change, "kind", STR("delete"), found);
		json_add_member(change, STR("before"), visible_json(cx->arena, r->before, found));
	} else {
		add_text(cx, change, "kind", STR("call"), found);
		json_add_member(change, STR("input"), visible_json(cx->arena, input, found));
	}
	*out = change;
	return OK;
}

static struct json *
warnings(struct ctx *cx, unsigned found)
{
	struct json *list = json_new_array(cx->arena);
	const char *sentence;

	for (unsigned bit = 0; (sentence = visible_sentence(bit)) != NULL; bit++)
		if (found & 1u << bit)
			json_add_item(list, json_new_string(cx->arena, str_of(sentence)));
	return list;
}

static status
add_seen(struct ctx *cx, struct json *card, const struct json *input, const struct tool_result *r, str title)
{
	struct json *change, *resource = json_new_object(cx->arena);
	unsigned found = 0;

	/* the payload is looked through even where the card shows only the difference it makes */
	(void)visible_json(cx->arena, input, &found);
	TRY(change_of(cx, input, r, &found, &change));
	json_add_member(card, STR("summary"),
		json_new_string(cx->arena, visible_line(cx->arena, r ? r->summary : title, &found)));
	add_text(cx, card, "affectedData", r ? r->affected : STR("what the tool reads"), &found);
	json_add_member(card, STR("change"), change);
	add_text(cx, resource, "type", r ? r->resource_type : STR(""), &found);
	add_text(cx, resource, "key", r ? r->resource_key : STR(""), &found);
	add_text(cx, resource, "environment", r ? r->environment_id : STR(""), &found);
	json_add_member(card, STR("resource"), resource);
	if (r && r->live_version)
		json_add_member(card, STR("liveVersion"), json_new_int(cx->arena, r->live_version));
	if (r && r->impact)
		json_add_member(card, STR("blastRadius"), visible_json(cx->arena, r->impact, &found));
	json_add_member(card, STR("warnings"), warnings(cx, found));
	return OK;
}

unsigned
card_deceives(struct ctx *cx, const struct card_asked *asked, const struct tool_result *seen)
{
	unsigned found = 0;

	(void)visible_json(cx->arena, asked->input, &found);
	(void)visible_text(cx->arena, asked->says_summary, &found);
	(void)visible_text(cx->arena, asked->says_reasoning, &found);
	(void)visible_line(cx->arena, asked->by_name, &found);
	(void)visible_line(cx->arena, str_of(asked->tool->title), &found);
	(void)visible_line(cx->arena, str_of(asked->tool->target), &found);
	if (asked->survey)
		(void)visible_json(cx->arena, asked->survey, &found);
	if (seen)
		(void)visible_line(cx->arena, seen->summary, &found);
	return found;
}

/* --- the asked part --- */

static struct json *
risk_of_decision(struct ctx *cx, const struct policy_decision *d)
{
	struct json *risk = json_new_object(cx->arena), *reasons = json_new_array(cx->arena);

	json_add_member(risk, STR("level"), json_new_string(cx->arena, str_of(risk_name(d->risk))));
	for (size_t i = 0; d->risk_reasons[i]; i++)
		json_add_item(reasons, json_new_string(cx->arena, str_of(d->risk_reasons[i])));
	json_add_member(risk, STR("reasons"), reasons);
	return risk;
}

/* A card that is being made, and `warningsOf`: which of its members deceives, and how. A warning stands where the text
 * stands that it is about. */
struct asking {
	struct json *card, *warnings_of;
};

static void
warn_of(struct ctx *cx, struct asking *m, const char *member, unsigned found)
{
	if (found)
		json_add_member(m->warnings_of, str_of(member), warnings(cx, found));
}

static void
add_tool(struct ctx *cx, struct asking *m, const struct tool *t)
{
	struct json *tool = json_new_object(cx->arena);
	unsigned found = 0;

	add_text(cx, tool, "name", str_of(t->name), &found);
	add_text(cx, tool, "title", str_of(t->title), &found);
	json_add_member(tool, STR("version"), json_new_int(cx->arena, t->version));
	json_add_member(m->card, STR("tool"), tool);
	warn_of(cx, m, "tool", found);
}

static void
add_warned_text(struct ctx *cx, struct asking *m, const char *member, str text)
{
	unsigned found = 0;

	add_text(cx, m->card, member, text, &found);
	warn_of(cx, m, member, found);
}

static void
add_warned_json(struct ctx *cx, struct asking *m, const char *member, const struct json *value)
{
	unsigned found = 0;

	json_add_member(m->card, str_of(member), visible_json(cx->arena, value, &found));
	warn_of(cx, m, member, found);
}

static void
add_asker(struct ctx *cx, struct asking *m, const struct card_asked *a)
{
	struct json *by = json_new_object(cx->arena);
	unsigned found = 0;

	add_text(cx, by, "id", a->by_id, &found);
	add_text(cx, by, "kind", a->by_kind, &found);
	add_text(cx, by, "name", a->by_name, &found);
	if (a->for_id.len)
		add_text(cx, by, "onBehalfOf", a->for_id, &found);
	if (a->decision->consent != CONSENT_NONE)
		add_text(cx, by, CARD_AGREES, str_of(consent_name(a->decision->consent)), &found);
	json_add_member(m->card, STR("askedBy"), by);
	warn_of(cx, m, "askedBy", found);
}

static void
add_words(struct ctx *cx, struct json *card, const struct card_asked *a)
{
	struct json *says = json_new_object(cx->arena);
	unsigned found = 0;

	add_text(cx, says, "summary", a->says_summary, &found);
	add_text(cx, says, "reasoning", a->says_reasoning, &found);
	json_add_member(says, STR("warnings"), warnings(cx, found));
	json_add_member(card, STR("agentSays"), says);
}

/* What a person should know of a tool that is not ours: how sure one can be that it was done, and once (EX-4). */
static const char *
promise(enum tool_contract c)
{
	switch (c) {
	case TOOL_TRANSACTIONAL:
		return "It is done wholly or not at all, in our own database.";
	case TOOL_IDEMPOTENT:
		return "It is sent once; sending it twice would change nothing more.";
	case TOOL_KEYED:
		return "It is sent once, with a key by which the other system would notice a second time.";
	case TOOL_PROBE:
		return "It is sent once; if no answer comes, the other system can be asked whether it was "
		       "done.";
	case TOOL_BLIND:
		return "It is sent once; if no answer comes, nobody can tell whether it was done, and a "
		       "person "
		       "must find out.";
	}
	return "";
}

static void
add_execution(struct ctx *cx, struct asking *m, const struct tool *t)
{
	struct json *execution = json_new_object(cx->arena);
	unsigned ours = 0; /* its texts are all ours */

	add_text(cx, execution, "contract", str_of(contract_name(t->contract)), &ours);
	add_text(cx, execution, "promise", str_of(promise(t->contract)), &ours);
	json_add_member(execution, STR("deadlineMs"), json_new_int(cx->arena, t->outside->deadline_ms));
	json_add_member(m->card, STR("execution"), execution);
}

/* As it is: it is compared with what it is when the call is made. */
static void
add_source(struct ctx *cx, struct asking *m, struct json *source)
{
	unsigned found = 0;

	(void)visible_json(cx->arena, source, &found);
	json_add_member(m->card, STR("source"), source);
	warn_of(cx, m, "source", found);
}

static void
add_outside(struct ctx *cx, struct asking *m, const struct card_asked *a)
{
	struct json *none = json_new_object(cx->arena);

	add_execution(cx, m, a->tool);
	if (a->source)
		add_source(cx, m, a->source);
	if (a->survey) {
		add_warned_json(cx, m, "preview", a->survey);
		return;
	}
	add_bool(cx, none, "available", false);
	json_add_member(none, STR("says"),
		json_new_string(cx->arena,
			STR("It cannot be previewed: what it changes is known only when it has been done.")));
	json_add_member(m->card, STR("preview"), none);
}

/* What is asked of whom, and until when. */
static void
add_terms(struct ctx *cx, struct asking *m, const struct card_asked *a)
{
	const char *failure = a->tool->failure ? a->tool->failure : "Nothing is changed.";

	json_add_member(m->card, STR("risk"), risk_of_decision(cx, a->decision));
	if (a->approvers)
		add_warned_json(cx, m, "approvers", a->approvers);
	add_bool(cx, m->card, "rollbackSupported", a->tool->rollback);
	add_warned_text(cx, m, "failureImplications", str_of(failure));
	json_add_member(m->card, STR("expiresAt"), json_new_int(cx->arena, a->expires_at));
	json_add_member(m->card, STR("policyVersion"), json_new_int(cx->arena, a->policy_version));
	json_add_member(m->card, STR("payloadHash"), json_new_string(cx->arena, a->payload_hash));
}

static void
add_asked(struct ctx *cx, struct json *card, const struct card_asked *a)
{
	struct asking m = { .card = card, .warnings_of = json_new_object(cx->arena) };

	json_add_member(card, STR("card"), json_new_int(cx->arena, 1)); /* the form of this document */
	add_tool(cx, &m, a->tool);
	add_warned_text(cx, &m, "targetSystem", str_of(a->tool->target));
	add_warned_text(cx, &m, "effect", str_of(effect_name(a->tool->effect)));
	add_terms(cx, &m, a);
	if (a->tool->outside)
		add_outside(cx, &m, a);
	else if (a->survey)
		add_warned_json(cx, &m, "recentContexts", a->survey);
	add_asker(cx, &m, a);
	add_words(cx, card, a);
	if (m.warnings_of->count)
		json_add_member(card, STR("warningsOf"), m.warnings_of);
}

static status
finish(struct ctx *cx, const struct json *card, struct card *out)
{
	struct card c = { .summary = json_get(card, STR("summary"))->text };

	TRY(canon_text(cx, card, &c.text));
	c.view_hash = sha256_hex(cx->arena, c.text);
	*out = c;
	return OK;
}

status
card_make(struct ctx *cx, const struct card_asked *asked, const struct tool_result *seen, struct card *out)
{
	struct json *card = json_new_object(cx->arena);

	add_asked(cx, card, asked);
	TRY(add_seen(cx, card, asked->input, seen, str_of(asked->tool->title)));
	return finish(cx, card, out);
}

static bool
is_seen(str key)
{
	for (size_t i = 0; seen_members[i]; i++)
		if (str_eq(key, str_of(seen_members[i])))
			return true;
	return false;
}

int64_t
card_version(const struct json *card)
{
	const struct json *version = json_get(card, STR("liveVersion"));
	int64_t n = 0;

	return version && json_to_int(version, &n) ? n : 0;
}

status
card_again(struct ctx *cx, const struct json *old, const struct json *input, const struct tool_result *seen,
	struct card *out)
{
	struct json *card = json_new_object(cx->arena);

	JSON_EACH (member, old)
		if (!is_seen(member->key))
			json_add_member(card, member->key, json_share(cx->arena, member));
	TRY(add_seen(cx, card, input, seen, json_get(json_get(old, STR("tool")), STR("title"))->text));
	return finish(cx, card, out);
}
