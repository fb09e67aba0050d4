/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proposal that waits for a person, for clients that can do more than show its address
 * (docs/decisions/0014-tasks-end-at-the-decision.md):
 *
 *	the tasks extension   the call becomes a task: input_required or working, until it is decided
 *	URL elicitation       input_required with the address; the call again finds the same proposal
 *	neither, or legacy    the proposal itself, with the address in it
 *
 * Nothing that a client sends decides anything: it can look, wait and take back. A task is the proposal by another
 * name, made of its id and a MAC over whose it is: any server with the same keys finds it, and every look is
 * authorised as a look at the proposal is. Kept in memory is only which tasks' clients have answered our question,
 * so that they are not asked again; a server that does not know asks once more, by the same key.
 */
#include "face/mcp/own.h"

#include "base/check.h"
#include "base/hash/sha256.h"
#include "base/scoped.h"
#include "core/keys.h"

#include <sodium.h>
#include <stdlib.h>

#define QUESTION     "approval" /* the key of our one question */
#define POLL_MS	     2000	/* people decide: more often is of no use */
#define WAIT_SECONDS 20		/* after a client has opened the page; less than any client's patience */
#define MAC_HEX	     32u	/* 128 bits */

/* --- what the client has answered --- */

struct answered {
	pthread_mutex_t lock;
	struct {
		uint64_t task;
		bool declined;
	} ring[LIMIT_MCP_ANSWERED];
	size_t count;
};

enum answer { NOT_YET, ACCEPTED, DECLINED };

struct answered *
answered_new(void)
{
	struct answered *a = calloc(1, sizeof(*a));

	CHECK(a != NULL && pthread_mutex_init(&a->lock, NULL) == 0);
	return a;
}

void
answered_free(struct answered *a)
{
	CHECK(pthread_mutex_destroy(&a->lock) == 0);
	free(a);
}

static void
note_answer(struct answered *a, str task, enum answer answer)
{
	scoped_lock held = lock(&a->lock);
	size_t at = a->count++ % LIMIT_MCP_ANSWERED;

	a->ring[at].task = message_hash(task);
	a->ring[at].declined = answer == DECLINED;
}

/* The last one counts. */
static enum answer
find_answer(struct answered *a, str task)
{
	uint64_t hash = message_hash(task);
	scoped_lock held = lock(&a->lock);
	size_t known = a->count < LIMIT_MCP_ANSWERED ? a->count : LIMIT_MCP_ANSWERED;

	for (size_t i = 1; i <= known; i++) {
		size_t at = (a->count - i) % LIMIT_MCP_ANSWERED;

		if (a->ring[at].task == hash)
			return a->ring[at].declined ? DECLINED : ACCEPTED;
	}
	return NOT_YET;
}

/* --- the question --- */

static void
add_text(struct mcp_call *c, struct json *o, const char *key, str text)
{
	json_add_member(o, str_of(key), json_new_string(c->cx->arena, text));
}

/* {approval: {method, params: {mode, url, message}}} */
static struct json *
question(struct mcp_call *c, const struct json *p)
{
	struct arena *a = c->cx->arena;
	struct json *params = json_new_object(a), *ask = json_new_object(a), *asks = json_new_object(a);

	add_text(c, params, "mode", STR("url"));
	add_text(c, params, "url", message_text(p, STR("approveUrl")));
	add_text(c, params, "message",
		arena_printf(a,
			"%.*s: a person decides this on Countersign's page. What you answer here decides "
			"nothing.",
			STR_ARG(message_text(p, STR("summary")))));
	add_text(c, ask, "method", STR("elicitation/create"));
	json_add_member(ask, STR("params"), params);
	json_add_member(asks, STR(QUESTION), ask);
	return asks;
}

/* What the client answered, where it did. */
static enum answer
answer_in(const struct json *answers)
{
	const struct json *answer = answers ? json_get(answers, STR(QUESTION)) : NULL;

	if (!answer)
		return NOT_YET;
	return str_eq(message_text(answer, STR("action")), STR("accept")) ? ACCEPTED : DECLINED;
}

#define DECLINED_NOTE                                                                                        \
	"The client declined to open the page. That denies nothing: the proposal waits for somebody who "    \
	"decides it."

/* --- tasks: their ids --- */

static str
mac_of(struct mcp_call *c, str id)
{
	unsigned char mac[SHA256_BYTES];
	char *text = arena_alloc(c->cx->arena, MAC_HEX + 1);

	keys_mac(c->cx->keys, (str[]){ STR("mcp task"), c->principal, id }, 3, mac);
	(void)sodium_bin2hex(text, MAC_HEX + 1, mac, MAC_HEX / 2);
	return (str){ text, MAC_HEX };
}

static str
task_of(struct mcp_call *c, const struct json *p)
{
	str id = message_text(p, STR("proposalId"));

	return arena_printf(c->cx->arena, "%.*s.%.*s", STR_ARG(id), STR_ARG(mac_of(c, id)));
}

static status
no_task(struct mcp_call *c)
{
	return rpc_fail(c, RPC_PARAMS, 200, "there is no such task");
}

/* --- tasks: as they are shown --- */

static bool
is(const struct json *p, const char *state)
{
	return str_eq(message_text(p, STR("state")), str_of(state));
}

static const char *
status_of(const struct mcp_call *c, const struct json *p, enum answer answer)
{
	if (is(p, "pending"))
		return c->can & MCP_CAN_ELICIT_URL && answer == NOT_YET ? "input_required" : "working";
	if (is(p, "executing"))
		return "working";
	return is(p, "cancelled") ? "cancelled" : "completed";
}

static str
words_of(struct mcp_call *c, const struct json *p, enum answer answer)
{
	if (!is(p, "pending"))
		return arena_printf(
			c->cx->arena, "The proposal is %.*s.", STR_ARG(message_text(p, STR("state"))));
	return arena_printf(c->cx->arena, "%sA person decides at %.*s before %.*s.",
		answer == DECLINED ? DECLINED_NOTE " " : "", STR_ARG(message_text(p, STR("approveUrl"))),
		STR_ARG(message_text(p, STR("expiresAt"))));
}

static void
write_task(struct mcp_call *c, const struct json *p, str id, enum answer answer, struct json_out *o)
{
	str created = message_text(p, STR("createdAt")), resolved = message_text(p, STR("resolvedAt"));

	json_out_str(o, "taskId", id);
	json_out_str(o, "status", str_of(status_of(c, p, answer)));
	json_out_str(o, "statusMessage", words_of(c, p, answer));
	json_out_str(o, "createdAt", created);
	json_out_str(o, "lastUpdatedAt", resolved.len ? resolved : created);
	json_out_null(o, "ttlMs"); /* proposals stay */
	json_out_int(o, "pollIntervalMs", POLL_MS);
}

static status
write_whole(struct mcp_call *c, const struct json *p, str id, struct json_out *o)
{
	enum answer answer = find_answer(c->mcp->answered, id);
	const char *now = status_of(c, p, answer);

	write_task(c, p, id, answer, o);
	if (strcmp(now, "input_required") == 0)
		json_out_value(o, "inputRequests", question(c, p));
	if (strcmp(now, "completed") != 0)
		return OK;
	json_out_object(o, "result");
	TRY(own_write_outcome(c, p, (str){ 0 }, o));
	json_out_str(o, "resultType", STR("complete"));
	json_out_end(o);
	return OK;
}

/* --- tasks: the methods --- */

static status
ask_about(struct mcp_call *c, const char *op, struct json *input, const struct json **out)
{
	struct json *answer;
	str text;

	TRY(own_run(c, own_op(op), input, &text));
	TRY(json_parse(c->cx, text, &answer));
	*out = answer;
	return OK;
}

/* Decided meanwhile is as good: it has ended. */
static status
cancel(struct mcp_call *c, struct json *input)
{
	const struct json *p;
	status s;

	add_text(c, input, "note", STR("the task was cancelled"));
	s = ask_about(c, "proposal_cancel", input, &p);
	if (s != E_GONE)
		return s;
	ctx_clear(c->cx);
	return OK;
}

status
own_task(struct mcp_call *c, enum mcp_task what, str id, const struct json *answers, struct json_out *o)
{
	struct json *input = json_new_object(c->cx->arena);
	const struct json *p;
	str proposal, mac;
	status s;

	if (!str_cut(id, '.', &proposal, &mac) || !str_eq_secret(mac, mac_of(c, proposal)))
		return no_task(c);
	add_text(c, input, "id", proposal);
	s = ask_about(c, "proposal_get", input, &p);
	if (s == E_NOT_FOUND)
		return no_task(c);
	TRY(s);
	if (what == MCP_TASK_GET)
		return write_whole(c, p, id, o);
	if (what == MCP_TASK_CANCEL)
		return is(p, "pending") ? cancel(c, input) : OK; /* what has ended stays as it is */
	if (answer_in(answers) != NOT_YET)
		note_answer(c->mcp->answered, id, answer_in(answers));
	return OK;
}

/* --- calls --- */

status
own_hand_out(struct mcp_call *c, const struct json *p, struct json_out *o)
{
	bool waits = c->modern && is(p, "pending");

	if (waits && c->can & MCP_CAN_TASKS) {
		c->result_type = "task";
		write_task(c, p, task_of(c, p), NOT_YET, o);
		return OK;
	}
	if (waits && c->can & MCP_CAN_ELICIT_URL) {
		c->asks = question(c, p);
		c->keeps = message_text(p, STR("proposalId"));
		return OK;
	}
	return own_write_proposal(c, p, o);
}

/* To who called, what is pending awaits the operator, as the first time (PA-8). */
static const struct json *
as_called(struct mcp_call *c, const struct json *p)
{
	struct json *o = json_new_object(c->cx->arena);

	if (!is(p, "pending"))
		return p;
	JSON_EACH (member, p)
		json_add_member(o, member->key,
			str_eq(member->key, STR("status"))
				? json_new_string(c->cx->arena, STR("awaiting_operator"))
				: json_share(c->cx->arena, member));
	return o;
}

status
own_resume(struct mcp_call *c, str name, struct json_out *o)
{
	struct json *input = json_new_object(c->cx->arena);
	enum answer answer = answer_in(c->answers);
	const struct json *p;
	status s;

	add_text(c, input, "id", c->state);
	if (answer == ACCEPTED) /* somebody is at the page: a decision may come any moment */
		json_add_member(input, STR("timeout"), json_new_int(c->cx->arena, WAIT_SECONDS));
	s = ask_about(c, answer == ACCEPTED ? "proposal_wait" : "proposal_get", input, &p);
	if (s == E_NOT_FOUND) {
		own_write_refusal(c, name, s, o);
		return OK;
	}
	TRY(s);
	return own_write_outcome(c, as_called(c, p), answer == DECLINED ? STR(DECLINED_NOTE) : (str){ 0 }, o);
}
