/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixture's tools that become tasks. A task is what its clock and its answers say when it is looked at; nothing
 * runs meanwhile. The table is this process's own and small: only --conformance has it, for one suite at a time.
 */
#include "face/mcp/fixture.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/scoped.h"

#include <stdio.h>

#define TASKS  64u
#define TTL_US (INT64_C(300) * SECOND_US)
#define ID     32u

enum kind { COMPUTES, FAILS, BREAKS, ASKS };

struct task {
	char id[ID + 1];
	enum kind kind;
	int64_t created_us, due_us;
	bool cancelled;
	unsigned asks; /* bits: questions that are open */
	char text[80]; /* of its result */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct task table[TASKS]; /* a ring */
static size_t made;

static const char *const keys[] = { "first", "second" };

/* With the lock held. */
static struct task *
find(str id)
{
	for (size_t i = 0; i < TASKS; i++)
		if (table[i].id[0] && str_eq(str_of(table[i].id), id))
			return &table[i];
	return NULL;
}

static const char *
state_of(const struct task *t)
{
	if (t->cancelled)
		return "cancelled";
	if (t->asks)
		return "input_required";
	if (clock_now_us() < t->due_us)
		return "working";
	return t->kind == BREAKS ? "failed" : "completed";
}

static void
write_task(const struct task *t, const char *state, struct json_out *o)
{
	json_out_str(o, "taskId", str_of(t->id));
	json_out_str(o, "status", str_of(state));
	json_out_time(o, "createdAt", t->created_us);
	json_out_time(o, "lastUpdatedAt", t->created_us);
	json_out_int(o, "ttlMs", TTL_US / 1000);
	json_out_int(o, "pollIntervalMs", 100);
}

static struct task
store(struct task t)
{
	scoped_lock held = lock(&table_lock);

	table[made++ % TASKS] = t;
	return t;
}

static status
begin(struct mcp_call *c, enum kind kind, int64_t us, unsigned asks, str text, struct json_out *o)
{
	struct task t = { .kind = kind, .created_us = clock_now_us(), .asks = asks };

	t.due_us = t.created_us + us;
	memcpy(t.id, random_hex(c->cx->arena, ID / 2).ptr, ID);
	(void)snprintf(t.text, sizeof(t.text), "%.*s", STR_ARG(text));
	t = store(t);
	write_task(&t, asks ? "input_required" : "working", o);
	c->result_type = "task";
	return OK;
}

/* --- tools --- */

static status
greet(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	fixture_text(
		o, arena_printf(c->cx->arena, "Hello, %.*s!", STR_ARG(message_text(input, STR("name")))));
	return OK;
}

static status
compute(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	const struct json *seconds = json_get(input, STR("seconds"));
	str text = arena_printf(c->cx->arena, "computed %.*s", STR_ARG(message_text(input, STR("label"))));

	if (c->can & MCP_CAN_TASKS)
		return begin(c, COMPUTES, seconds ? (int64_t)(json_to_double(seconds) * 1e6) : 0, 0, text, o);
	fixture_text(o, text);
	return OK;
}

static status
fail_later(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	TRY(task_require(c));
	return begin(c, FAILS, 0, 0, STR("it did not work"), o);
}

static status
break_later(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	TRY(task_require(c));
	return begin(c, BREAKS, 0, 0, STR("it broke"), o);
}

static status
confirm(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	TRY(task_require(c));
	return begin(c, ASKS, 0, 1, message_text(input, STR("filename")), o);
}

static status
ask_two(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	(void)input;
	TRY(task_require(c));
	return begin(c, ASKS, 0, 3, STR("both answered"), o);
}

static status
ask_then_begin(struct mcp_call *c, const struct json *input, struct json_out *o)
{
	const struct json *answer = c->answers ? json_get(c->answers, STR("user_name")) : NULL;

	(void)input;
	if (!answer || answer->type != JSON_OBJECT)
		return fixture_ask_name(c);
	TRY(task_require(c));
	return begin(c, COMPUTES, 0, 0, message_text(json_get(answer, STR("content")), STR("name")), o);
}

#define TAKES(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define A_STRING(name)	  "\"" name "\":{\"type\":\"string\"}"

const struct fixture_tool fixture_task_tools[] = {
	{ "greet", "Greets", .schema = TAKES(A_STRING("name")), .run = greet },
	{ "slow_compute", "Takes its time",
		.schema = TAKES("\"seconds\":{\"type\":\"number\"}," A_STRING("label")), .run = compute },
	{ "failing_job", "Fails, as a tool does", .run = fail_later },
	{ "protocol_error_job", "Fails, as the protocol does", .run = break_later },
	{ "confirm_delete", "Asks before it works", .schema = TAKES(A_STRING("filename")), .run = confirm },
	{ "multi_input", "Asks two things", .run = ask_two },
	{ "test_tool_with_task", "Asks, and then becomes a task", .run = ask_then_begin },
	{ 0 },
};

/* --- the methods --- */

static void
write_questions(const struct task *t, struct json_out *o)
{
	json_out_object(o, "inputRequests");
	for (unsigned i = 0; i < 2; i++)
		if (t->asks & (1u << i))
			json_out_raw(o, keys[i],
				STR("{\"method\":\"elicitation/"
				    "create\",\"params\":{\"mode\":\"form\",\"message\":\"Sure?\","
				    "\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"confirm\":{"
				    "\"type\":"
				    "\"boolean\"}}}}}"));
	json_out_end(o);
}

static void
write_whole(const struct task *t, struct json_out *o)
{
	const char *state = state_of(t);

	write_task(t, state, o);
	if (t->asks && !t->cancelled)
		write_questions(t, o);
	if (strcmp(state, "completed") == 0) {
		json_out_object(o, "result");
		fixture_text(o, str_of(t->text));
		if (t->kind == FAILS)
			json_out_bool(o, "isError", true);
		json_out_str(o, "resultType", STR("complete"));
		json_out_end(o);
	}
	if (strcmp(state, "failed") == 0)
		json_out_raw(o, "error", STR("{\"code\":-32603,\"message\":\"it broke\"}"));
}

static void
answer(struct task *t, const struct json *answers)
{
	for (unsigned i = 0; i < 2; i++)
		if (json_get(answers, str_of(keys[i])))
			t->asks &= ~(1u << i);
}

status
fixture_task(struct mcp_call *c, enum mcp_task what, str id, const struct json *answers, struct json_out *o)
{
	scoped_lock held = lock(&table_lock);
	struct task *t = find(id);

	if (!t)
		return rpc_fail(c, RPC_PARAMS, 200, "there is no such task");
	if (what == MCP_TASK_GET)
		write_whole(t, o);
	else if (what == MCP_TASK_UPDATE)
		answer(t, answers);
	else if (strcmp(state_of(t), "working") == 0 || t->asks)
		t->cancelled = true;
	return OK;
}
