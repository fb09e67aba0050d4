/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: an approved proposal, sent once to a connection (EX-1, EX-2), or a read that is asked there.
 *
 *	POST url	webhook-id: <command's id>	webhook-signature: v1,…	Idempotency-Key: "<key>"
 *	{"type":"command","commandId":…,"proposalId":…,"tool":…,"toolVersion":…,"parameters":{…},"approvals":[…],
 *	 "idempotencyKey":…,"correlationId":…,"callbackUrl":…}
 *
 * What an answer means, beyond what outside.h says:
 *
 *	2xx   sync: JSON is the outcome, verbatim (answer "command": only if it names the command, and its `status` may be
 *	      "refused"); 204 is done without a result; 202 is not an outcome. callback: JSON, or nothing, is "it has it".
 *	      Anything else, such as the page of a system that is still starting, is no answer: nobody knows.
 *	3xx   302 and 303 may follow on a deed: nobody knows. Others: it was not done. None is followed.
 *	4xx   it was not done; 409 and 422 of a keyed tool: somebody has this key already, nobody knows
 *	5xx   nobody knows, unless the tool's options say {"serverError":"refused"}; of a read: it failed
 */
#ifndef EXEC_WEBHOOK_COMMAND_H
#define EXEC_WEBHOOK_COMMAND_H

#include "core/outside/outside.h"

/* TOOL_WEBHOOK's provider; no arg. */
outside_call_fn command_call;

/* What the body of an answer or a callback says. Parts of the document; empty where they are not there. */
struct command_reply {
	str command_id, status, message;
	const struct json *result;
};

/* False where it is none: not an object, or a member has another type or value. */
bool command_reply_read(const struct json *doc, struct command_reply *out);

#endif
