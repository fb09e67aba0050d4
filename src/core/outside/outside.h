/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outside: what happens beyond our own database, as the kernel sees it (PRODUCT section 5).
 *
 *	claim (tx1: intent, fence, deadline) --> one send, by a provider --> outcome (tx2, where the fence matches)
 *
 * A provider (exec/: upstream MCP servers, webhooks) is one blocking function. It sends once, never again, and says
 * what is known of it, never what is likely: "not sent" only where no byte can have left, "lost" wherever one may
 * have. It runs on the worker that has the
 * request, outside of any transaction, in a lane (lane.h): so who is slow holds up nobody else.
 */
#ifndef CORE_OUTSIDE_OUTSIDE_H
#define CORE_OUTSIDE_OUTSIDE_H

#include "base/ctx.h"
#include "json/out.h"

struct tool;
struct tool_call;

enum outside_end {
	OUTSIDE_LOST,	  /* a byte may have been sent, and no whole answer came: nobody knows */
	OUTSIDE_NOT_SENT, /* certainly nothing was sent */
	OUTSIDE_REFUSED,  /* it answered that it did not do it */
	OUTSIDE_DONE,	  /* it answered that it did */
	OUTSIDE_WAITING,  /* it took it, and will tell by a callback */
};

/* Where calls of a tool go, and what opens it there. Another address or credential is another source. */
struct outside_source {
	str address; /* all of it; often a secret, so never shown: source.h has what is */
	str credential; /* which one: changes when a person replaces it, not when it renews itself; empty: none */
};

/* One thing to do. Text outlives the call. */
struct outside_call {
	const struct tool *tool; /* its `outside` says where */
	const struct outside_source *
		source; /* as it was at the claim: to another one nothing is sent; NULL: a read, as it is now */
	str org_id;
	str command_id;	 /* of this one call: the attempt's, or of a read the call's */
	str proposal_id; /* empty: a read */
	str input;	 /* canonical JSON: the stored payload */
	str key;	 /* the idempotency key: the same whenever the same proposal is sent; empty: a read */
	str approvals;	 /* JSON: who agreed, and when; empty: nobody had to */
	str correlation_id;   /* the request that led to it, for logs on both sides */
	const void *prepared; /* what the provider has read of it a moment ago (prepare); NULL: nothing */
	int64_t send_by_us,
		deadline_us; /* clock_mono_us: send nothing after the first; an answer after the second is
					    evidence only */
};

struct outside_answer {
	enum outside_end end;
	str result; /* as it came, JSON text; empty: none */
	const char *
		mended; /* result is not quite as it came: what was replaced first (json/mend.h); NULL: it is */
	str raw;	/* ... and the whole answer as it came */
	str why;	/* where it is not done: a sentence for a person, no secrets */
	int http_status; /* 0: none came */
	int64_t sent;	 /* bytes of the request that may have left */
};

/* Fails only for want of memory, before anything was sent: then it is OUTSIDE_NOT_SENT. */
typedef status
outside_call_fn(struct ctx *cx, void *arg, const struct outside_call *call, struct outside_answer *out);

/* By enum tool_provider, in cx->outside; a provider without a function is not there. */
struct outside_provider {
	outside_call_fn *call;
	void *arg;
	/* Inside the read that lets a call pass: what `call` would have to read first; NULL: nothing. */
	status (*prepare)(struct ctx *cx, void *arg, const struct outside_call *call, const void **out);
	/* Inside tx_run or db_read: where calls of this tool go now. E_NOT_FOUND  its source is gone */
	status (*source)(
		struct ctx *cx, void *arg, str org_id, const struct tool *t, struct outside_source *out);
	/* A tool's survey and recheck (core/gate/tool.h), with arg; NULL: it has none. */
	status (*survey)(struct ctx *cx, void *arg, const struct tool_call *call, const struct json **out);
	status (*recheck)(struct ctx *cx, void *arg, const struct tool_call *call, str *out_digest);
};
struct outside {
	struct outside_provider providers[3];
};

/*
 * What goes on after an operation's transaction has committed, because it waits for somebody else: set in cx->later by
 * `run`, done by op_run on the same thread. fn writes the members of the answer, in place of what run wrote, and opens
 * transactions of its own; what it knows of the caller it takes from arg. It runs even if who asked has left.
 */
struct later {
	status (*fn)(struct ctx *cx, void *arg, struct json_out *out);
	void *arg;
};

#endif
