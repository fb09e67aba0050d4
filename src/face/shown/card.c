/* SPDX-License-Identifier: Apache-2.0 */
/* The card of a proposal on a terminal, in the order of AP-6. */
#include "face/shown/shown.h"

#include "base/clock.h"
#include "base/limits.h"
#include "json/canon.h"

#include <inttypes.h>

#define ADDED	"            + "
#define REMOVED "            - "
#define QUOTED	"            > "

/* --- the parts --- */

static void
show_tool(struct ctx *cx, struct buf *b, const struct json *tool)
{
	const struct json *version = part_of(tool, "version");

	shown_field(b, "Tool",
		arena_printf(cx->arena, "%.*s, version %.*s (%.*s)", STR_ARG(text_of(tool, "name")),
			STR_ARG(shown_json(cx, version)), STR_ARG(text_of(tool, "title"))));
}

/* The members of an object one by one, anything else as it is. */
static void
show_value(struct ctx *cx, struct buf *b, const char *mark, const struct json *value)
{
	if (!value)
		return;
	if (value->type != JSON_OBJECT || !value->count) {
		shown_marked(b, mark, shown_json(cx, value));
		return;
	}
	JSON_EACH (member, value)
		shown_marked(b, mark,
			arena_printf(cx->arena, "%.*s: %.*s", STR_ARG(shown_line(cx->arena, member->key)),
				STR_ARG(shown_json(cx, member))));
}

static void
show_diff(struct ctx *cx, struct buf *b, const struct json *diff)
{
	JSON_EACH (one, diff) {
		const struct json *before = part_of(one, "before"), *after = part_of(one, "after");

		shown_field(b, "", shown_line(cx->arena, text_of(one, "path")));
		if (before)
			shown_marked(b, REMOVED, shown_json(cx, before));
		if (after)
			shown_marked(b, ADDED, shown_json(cx, after));
	}
}

static void
show_change(struct ctx *cx, struct buf *b, const struct json *change)
{
	const struct json *diff = part_of(change, "diff");

	shown_field(b, "Change", text_of(change, "kind"));
	if (!change)
		return;
	if (diff)
		show_diff(cx, b, diff);
	show_value(cx, b, REMOVED, part_of(change, "before"));
	show_value(cx, b, ADDED, part_of(change, "after"));
	show_value(cx, b, "              ", part_of(change, "input"));
}

/* --- the blast radius --- */

static str
value_of(struct ctx *cx, const struct json *answers, str key)
{
	const struct json *answer = answers ? json_get(answers, key) : NULL;

	return answer && answer->type == JSON_OBJECT ? shown_json(cx, part_of(answer, "value"))
						     : STR("nothing");
}

/* What one context is answered now and then, key by key. */
static void
show_check(struct ctx *cx, struct buf *b, const struct json *check)
{
	const struct json *live = part_of(check, "live"), *preview = part_of(check, "preview");

	shown_field(b, "Spot check", shown_json(cx, part_of(check, "context")));
	if (!live)
		return;
	JSON_EACH (answer, live) {
		str before = value_of(cx, live, answer->key), after = value_of(cx, preview, answer->key);
		bool same = str_eq(before, after);

		shown_field(b, "",
			arena_printf(cx->arena, "%.*s: %.*s%s%.*s",
				STR_ARG(shown_line(cx->arena, answer->key)), STR_ARG(before),
				same ? ", as before" : " -> ", STR_ARG(same ? STR("") : after)));
	}
}

static void
show_radius(struct ctx *cx, struct buf *b, const struct json *card)
{
	const struct json *checks = part_of(card, "blastRadius"), *recent = part_of(card, "recentContexts");
	const struct json *changes = recent ? part_of(recent, "changes") : NULL;

	if (checks)
		JSON_EACH (check, checks)
			show_check(cx, b, check);
	if (recent)
		shown_field(b, "Recently", text_of(recent, "sentence"));
	if (changes)
		JSON_EACH (change, changes)
			shown_field(b, "",
				arena_printf(cx->arena, "%.*s: %.*s -> %.*s, %.*s contexts",
					STR_ARG(shown_line(cx->arena, text_of(change, "key"))),
					STR_ARG(part_of(change, "before")
							? shown_json(cx, part_of(change, "before"))
							: STR("nothing")),
					STR_ARG(part_of(change, "after")
							? shown_json(cx, part_of(change, "after"))
							: STR("nothing")),
					STR_ARG(shown_json(cx, part_of(change, "contexts")))));
}

static void
show_resource(struct ctx *cx, struct buf *b, const struct json *resource)
{
	str key = text_of(resource, "key"), environment = text_of(resource, "environment");

	if (key.len)
		shown_field(b, "",
			arena_printf(cx->arena, "%.*s %.*s%s%.*s", STR_ARG(text_of(resource, "type")),
				STR_ARG(key), environment.len ? ", environment " : "", STR_ARG(environment)));
}

static void
show_risk(struct ctx *cx, struct buf *b, const struct json *risk)
{
	const struct json *reasons = part_of(risk, "reasons");
	struct buf line;

	buf_init(&line, cx->arena, LIMIT_HTTP_ANSWER);
	buf_add(&line, text_of(risk, "level"));
	if (reasons)
		JSON_EACH (reason, reasons)
			buf_printf(&line, "%s%.*s", reason == reasons->child ? ": " : "; ",
				STR_ARG(reason->text));
	shown_field(b, "Risk", buf_str(&line));
}

static void
show_asker(struct ctx *cx, struct buf *b, const struct json *by)
{
	str whom = text_of(by, "onBehalfOf"), agrees = text_of(by, "agrees");

	shown_field(b, "Asked by",
		arena_printf(cx->arena, "%.*s (%.*s %.*s)%s%.*s%s%.*s", STR_ARG(text_of(by, "name")),
			STR_ARG(text_of(by, "kind")), STR_ARG(text_of(by, "id")),
			whom.len ? " on behalf of " : "", STR_ARG(whom), agrees.len ? ", agrees by " : "",
			STR_ARG(agrees)));
}

static void
show_expiry(struct ctx *cx, struct buf *b, const struct json *expires_at)
{
	int64_t us;

	if (expires_at && json_to_int(expires_at, &us))
		shown_field(b, "Expires", clock_text(cx->arena, us));
	else
		shown_field(b, "Expires", shown_json(cx, expires_at));
}

static void
show_warnings(struct buf *b, const struct json *warnings)
{
	if (warnings)
		JSON_EACH (warning, warnings)
			shown_field(b, "WARNING", warning->text);
}

/* Below the member that they are about. */
static void
show_warnings_of(struct buf *b, const struct json *card, const char *member)
{
	show_warnings(b, part_of(part_of(card, "warningsOf"), member));
}

/* Last, quoted and labelled: it is what somebody wants us to believe. */
static void
show_words(struct buf *b, const struct json *says)
{
	str summary = text_of(says, "summary"), reasoning = text_of(says, "reasoning");

	if (!summary.len && !reasoning.len) {
		buf_add(b, STR("\nThe agent says nothing about it.\n"));
		return;
	}
	buf_add(b, STR("\nThe agent says (its own words, not checked by anybody):\n"));
	if (summary.len)
		shown_marked(b, "  > ", summary);
	if (reasoning.len)
		shown_marked(b, "  > ", reasoning);
}

/* The teams of whom somebody must agree. */
static void
show_approvers(struct ctx *cx, struct buf *b, const struct json *approvers)
{
	if (approvers)
		JSON_EACH (one, approvers)
			shown_field(b, one == approvers->child ? "Approvers" : "",
				arena_printf(cx->arena, "%.*s of the team \"%.*s\"",
					STR_ARG(shown_json(cx, part_of(one, "votes"))),
					STR_ARG(text_of(one, "team"))));
}

/* --- what another system does --- */

/* How sure one can be of it. */
static void
show_outside(struct ctx *cx, struct buf *b, const struct json *execution)
{
	if (!execution)
		return;
	shown_field(b, "Done by",
		arena_printf(cx->arena, "another system (%.*s)", STR_ARG(text_of(execution, "contract"))));
	shown_field(b, "", text_of(execution, "promise"));
}

/* Text of several lines as its lines, each behind the mark; anything else as JSON, where a text has its quotes. */
static void
show_said(struct ctx *cx, struct buf *b, const char *mark, const struct json *value)
{
	bool lines = value->type == JSON_STRING && str_find(value->text, '\n') < value->text.len;

	if (lines)
		shown_marked(b, mark, value->text);
	else
		show_value(cx, b, mark, value);
}

/* How it is over there, beside what the call says. */
static void
show_compared(struct ctx *cx, struct buf *b, const struct json *changes)
{
	if (!changes)
		return;
	JSON_EACH (one, changes) {
		const struct json *before = part_of(one, "before"), *after = part_of(one, "after");

		shown_field(b, "Compared", shown_line(cx->arena, text_of(one, "path")));
		if (before)
			show_said(cx, b, REMOVED, before);
		if (after)
			show_said(cx, b, ADDED, after);
	}
}

/* All of it, unless it was compared as a whole; of what is too large for a card its size and its hash. */
static void
show_before(struct ctx *cx, struct buf *b, const struct json *preview)
{
	const struct json *before = part_of(preview, "before"), *changes = part_of(preview, "changes");
	const struct json *was = changes ? part_of(changes->child, "before") : NULL;

	if (part_of(preview, "beforeHash")) {
		shown_field(b, "There now",
			arena_printf(cx->arena, "%.*s bytes, too many for a card; their SHA-256:",
				STR_ARG(shown_json(cx, part_of(preview, "beforeBytes")))));
		shown_field(b, "", text_of(preview, "beforeHash"));
	}
	if (!before || (was && json_equal(was, before)))
		return;
	shown_field(b, "There now", STR("what the other system said:"));
	show_said(cx, b, QUOTED, before);
}

/* What the preview has besides, so that nothing of it is left out silently. */
static void
show_more(struct ctx *cx, struct buf *b, const struct json *preview)
{
	static const char *const known[] = { "available", "says", "history", "unusual", "before", "changes",
		"beforeBytes", "beforeHash", "dryRun", "digest", NULL };

	JSON_EACH (member, preview) {
		size_t i = 0;

		while (known[i] && !str_eq(member->key, str_of(known[i])))
			i++;
		if (!known[i])
			shown_field(b, "",
				arena_printf(cx->arena, "%.*s: %.*s",
					STR_ARG(shown_line(cx->arena, member->key)),
					STR_ARG(shown_json(cx, member))));
	}
}

/* What can be known before it is done (PA-2), or that nothing can. */
static void
show_preview(struct ctx *cx, struct buf *b, const struct json *preview)
{
	const struct json *unusual = part_of(preview, "unusual"), *dry = part_of(preview, "dryRun");

	if (!preview)
		return;
	shown_field(b, "Preview", text_of(preview, "says"));
	if (text_of(preview, "history").len)
		shown_field(b, unusual && unusual->truth ? "UNUSUAL" : "Usual", text_of(preview, "history"));
	show_compared(cx, b, part_of(preview, "changes"));
	show_before(cx, b, preview);
	if (dry) {
		shown_field(b, "Dry run", STR("what the tool says it would do:"));
		show_said(cx, b, QUOTED, dry);
	}
	if (text_of(preview, "digest").len)
		shown_field(b, "Digest", text_of(preview, "digest"));
	show_more(cx, b, preview);
}

/* What became of it: what is known, and what was found out afterwards. */
static void
show_attempt(struct ctx *cx, struct buf *b, const struct json *a)
{
	if (!a)
		return;
	shown_field(b, "Attempt",
		arena_printf(cx->arena, "%.*s, claimed %.*s, %.*s bytes sent", STR_ARG(text_of(a, "outcome")),
			STR_ARG(text_of(a, "claimedAt")), STR_ARG(shown_json(cx, part_of(a, "sentBytes")))));
	if (text_of(a, "why").len)
		shown_marked(b, QUOTED, text_of(a, "why"));
	if (part_of(a, "evidence"))
		shown_field(b, "Evidence", shown_json(cx, part_of(a, "evidence")));
	if (!text_of(a, "settledBy").len)
		return;
	shown_field(b, "Settled",
		arena_printf(cx->arena, "%.*s, by %.*s", STR_ARG(text_of(a, "settledAt")),
			STR_ARG(text_of(a, "settledBy"))));
	shown_marked(b, QUOTED, text_of(a, "settledReason"));
}

/* --- votes --- */

/* Teams may need more people than the number says: then there are more votes than that. */
str
card_votes(struct ctx *cx, const struct json *approvals)
{
	const struct json *valid = part_of(approvals, "valid"), *needed = part_of(approvals, "needed");
	int64_t has, needs;
	bool more = valid && needed && json_to_int(valid, &has) && json_to_int(needed, &needs) && has > needs;

	return arena_printf(cx->arena, more ? "%.*s votes, at least %.*s needed" : "votes %.*s of %.*s",
		STR_ARG(shown_json(cx, valid)), STR_ARG(shown_json(cx, needed)));
}

/* Our words first, then whose it is; the reason is theirs, and quoted. */
static void
show_vote(struct ctx *cx, struct buf *b, const struct json *vote)
{
	const struct json *counts = part_of(vote, "counts"), *token = part_of(vote, "viaToken");
	bool lost = counts && counts->type == JSON_BOOL && !counts->truth;
	str decision = text_of(vote, "decision");
	bool denied = str_starts(decision, STR("denied")); /* with a reason or without: it follows */

	shown_field(b, "Vote",
		arena_printf(cx->arena, "%.*s%s%s: %.*s (%.*s)", STR_ARG(denied ? STR("denied") : decision),
			token && token->truth ? ", by token" : "",
			lost && !denied ? ", no longer counts" : "",
			STR_ARG(shown_line(cx->arena, text_of(vote, "name"))),
			STR_ARG(text_of(vote, "personId"))));
	if (text_of(vote, "why").len)
		shown_field(b, "", text_of(vote, "why"));
	if (text_of(vote, "reason").len)
		shown_marked(b, QUOTED, text_of(vote, "reason"));
}

/* --- all of it --- */

static void
show_state(struct ctx *cx, struct buf *b, const struct json *p)
{
	const struct json *approvals = part_of(p, "approvals"), *votes = part_of(approvals, "votes");

	shown_field(b, "Proposal", text_of(p, "proposalId"));
	shown_field(b, "Status",
		arena_printf(cx->arena, "%.*s, %.*s", STR_ARG(text_of(p, "status")),
			STR_ARG(card_votes(cx, approvals))));
	if (text_of(approvals, "missing").len)
		shown_field(b, "Still open", text_of(approvals, "missing"));
	if (votes)
		JSON_EACH (vote, votes)
			show_vote(cx, b, vote);
	show_attempt(cx, b, part_of(p, "attempt"));
	shown_field(b, "View", text_of(p, "viewHash"));
	buf_add_char(b, '\n');
}

/* Whose tool it is, where it is not ours. */
static void
show_source(struct buf *b, const struct json *source)
{
	if (!source)
		return;
	shown_field(b, "System", text_of(source, "name"));
	shown_field(b, "Address", text_of(source, "address"));
}

void
card_show(struct ctx *cx, struct buf *b, const struct json *p)
{
	const struct json *card = part_of(p, "card"), *says = part_of(card, "agentSays");
	const struct json *rollback = part_of(card, "rollbackSupported");

	show_state(cx, b, p);
	shown_field(b, "Summary", text_of(card, "summary"));
	show_tool(cx, b, part_of(card, "tool"));
	show_warnings_of(b, card, "tool");
	shown_field(b, "Target", text_of(card, "targetSystem"));
	show_warnings_of(b, card, "targetSystem");
	show_source(b, part_of(card, "source"));
	show_warnings_of(b, card, "source");
	shown_field(b, "Affects", text_of(card, "affectedData"));
	show_resource(cx, b, part_of(card, "resource"));
	shown_field(b, "Effect", text_of(card, "effect"));
	show_change(cx, b, part_of(card, "change"));
	show_preview(cx, b, part_of(card, "preview"));
	show_warnings_of(b, card, "preview");
	show_radius(cx, b, card);
	show_warnings_of(b, card, "recentContexts");
	show_risk(cx, b, part_of(card, "risk"));
	shown_field(b, "Rollback", rollback && rollback->truth ? STR("supported") : STR("not supported"));
	shown_field(b, "If it fails", text_of(card, "failureImplications"));
	show_warnings_of(b, card, "failureImplications");
	show_outside(cx, b, part_of(card, "execution"));
	show_asker(cx, b, part_of(card, "askedBy"));
	show_warnings_of(b, card, "askedBy");
	show_approvers(cx, b, part_of(card, "approvers"));
	show_warnings_of(b, card, "approvers");
	show_expiry(cx, b, part_of(card, "expiresAt"));
	show_warnings(b, part_of(card, "warnings"));
	show_warnings(b, part_of(says, "warnings"));
	show_words(b, says);
}

status
card_check(struct ctx *cx, const struct json *p, str *out_hash)
{
	const struct json *card = part_of(p, "card");
	str hash, named = text_of(p, "viewHash");

	if (!card || card->type != JSON_OBJECT)
		return fail(cx, E_VIEW, "the server sent no card; nothing can be decided");
	TRY(canon_hash(cx, card, &hash));
	if (!str_eq(hash, named))
		return fail(cx, E_VIEW,
			"the card that the server sent is not the one that its viewHash names; nothing was "
			"decided");
	*out_hash = hash;
	return OK;
}
