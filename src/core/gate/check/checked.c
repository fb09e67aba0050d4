/* SPDX-License-Identifier: Apache-2.0 */
#include "core/gate/check/checked.h"

#include "core/gate/gate.h"

struct checked {
	const struct tool *tool;
	const struct registry *tools; /* as they were: held until the request ends */
	str schema_text;
	const struct json *input;
	bool done;
	status result;
	struct error error; /* of result */
	struct checked *next;
};

static struct checked *
find(const struct ctx *cx, const struct tool *t, const struct json *input)
{
	str text = tool_in_text(cx->tools, t);

	for (struct checked *k = cx->checked; k; k = k->next)
		if (str_eq(k->schema_text, text) && json_equal(k->input, input))
			return k;
	return NULL;
}

bool
checked_find(struct ctx *cx, const struct tool *t, const struct json *input, status *out)
{
	const struct checked *k = cx->checked ? find(cx, t, input) : NULL;

	if (!k || !k->done)
		return false;
	if (k->result != OK)
		cx->error = k->error;
	*out = k->result;
	return true;
}

status
checked_ask(struct ctx *cx, const struct tool *t, const struct json *input)
{
	struct checked *k = ARENA_NEW(cx->arena, struct checked);

	*k = (struct checked){ .tool = t,
		.tools = cx->tools,
		.schema_text = tool_in_text(cx->tools, t),
		.input = input,
		.next = cx->checked };
	cx->checked = k;
	return fail(cx, E_BUSY, "the input takes a while to be checked; nothing was changed");
}

bool
checked_settle(struct ctx *cx)
{
	struct checked *k = cx->checked;

	if (!k || k->done)
		return false;
	ctx_clear(cx);
	k->result = gate_check_schema(cx, k->tools, k->tool, k->input);
	k->error = cx->error;
	k->done = true;
	ctx_clear(cx);
	return true;
}
