/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status: the closed table of everything that can go wrong.
 *
 * One row per outcome: the name in C, the `code` that clients see, the HTTP
 * status, the JSON-RPC code, whether the same request may be sent again as it
 * is, and a sentence for when nobody wrote a better one. Faces print from this
 * table; nothing else in the tree knows an HTTP status by heart.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>

/* clang-format off */
/*	name               code                      http  rpc     again  sentence */
#define STATUS_TABLE(X) \
	X(OK,                  "ok",                    200, 0,      false, "done") \
	X(E_BAD_REQUEST,       "bad_request",           400, -32600, false, "the request could not be read") \
	X(E_BAD_JSON,          "bad_json",              400, -32700, false, "the body is not a JSON document we accept") \
	X(E_INVALID,           "invalid_request",       400, -32602, false, "the input does not have the form this operation takes") \
	X(E_UNAUTHENTICATED,   "unauthenticated",       401, -32001, false, "this needs a valid credential") \
	X(E_FORBIDDEN,         "forbidden",             403, -32003, false, "you may not do this") \
	X(E_SCOPE,             "scope_denied",          403, -32003, false, "this is outside the scope of your token") \
	X(E_NOT_FOUND,         "not_found",             404, -32004, false, "there is nothing here") \
	X(E_METHOD,            "method_not_allowed",    405, -32601, false, "this path does not take this method") \
	X(E_CONFLICT,          "conflict",              409, -32009, false, "the state has moved on") \
	X(E_EXISTS,            "already_exists",        409, -32009, false, "something with this name exists already") \
	X(E_KEY_COLLISION,     "key_collision",         409, -32009, false, "this key is taken; choose another one") \
	X(E_IN_USE,            "in_use",                409, -32009, false, "others refer to this; change them first") \
	X(E_REFERENCED,        "referenced",            409, -32009, false, "something else refers to this, or this refers to nothing") \
	X(E_DRIFT,             "version_drift",         409, -32009, false, "what would happen is no longer what was shown; propose again") \
	X(E_APPROVAL,          "approval_required",     409, -32009, false, "this needs more approvals first") \
	X(E_VIEW,              "view_mismatch",         409, -32009, false, "the card that was decided on is not the stored one; look again") \
	X(E_IDEMPOTENCY,       "idempotency_collision", 409, -32009, false, "this key was used for another request; use a new one") \
	X(E_TAMPERED,          "tampered",              409, -32009, false, "a stored record was changed outside of Countersign; nothing was done") \
	X(E_GONE,              "proposal_gone",         410, -32010, false, "the proposal is already resolved") \
	X(E_PRECONDITION,      "precondition_failed",   412, -32012, false, "it was changed since you read it; read it again") \
	X(E_TOO_LARGE,         "too_large",             413, -32013, false, "the input is larger than the limit") \
	X(E_MEDIA_TYPE,        "unsupported_media_type", 415, -32015, false, "the body must be application/json") \
	X(E_EXPECTATION,       "expectation_failed",    417, -32600, false, "what the request expects of this server it does not do") \
	X(E_HEAD_TOO_LARGE,    "head_too_large",        431, -32013, false, "the request's head is larger than the limit") \
	X(E_TIMEOUT,           "timeout",               408, -32008, true,  "the request did not arrive in time") \
	X(E_RATE_LIMITED,      "rate_limited",          429, -32029, true,  "too many calls; wait and try again") \
	X(E_INTERNAL,          "internal",              500, -32603, false, "something is wrong on our side; the log has the request id") \
	X(E_COMMIT_UNKNOWN,    "commit_unknown",        500, -32050, false, "it is not known whether this took effect; look before you repeat it") \
	X(E_OUTSIDE,           "outside_failed",        502, -32052, false, "another system did not do what it was asked for") \
	X(E_UNAVAILABLE,       "unavailable",           503, -32053, true,  "the service cannot answer right now; nothing was changed") \
	X(E_NOT_CACHED,        "ruleset_not_cached",    503, -32053, true,  "the ruleset of this environment cannot be loaded right now") \
	X(E_BUSY,              "busy",                  503, -32053, true,  "the service is busy; nothing was changed") \
	X(E_DISK_FULL,         "disk_full",             503, -32053, true,  "the disk is full; nothing was changed") \
	X(E_READ_ONLY,         "read_only",             503, -32053, false, "the database cannot be written; nothing was changed") \
	X(E_SCHEMA,            "schema_mismatch",       503, -32053, false, "the database was made by another version")
/* clang-format on */

typedef enum status {
#define X(name, ...) name,
	STATUS_TABLE(X)
#undef X
		STATUS_COUNT
} status;

struct status_info {
	const char *name; /* E_CONFLICT */
	const char *code; /* "conflict" */
	int http;
	int rpc;
	bool again; /* the same request may be sent again */
	const char *sentence;
};

/* The row of s. A value outside the table is a bug and stops the program. */
const struct status_info *status_info(status s);

#define MUST_USE __attribute__((warn_unused_result))

/* The only macro that returns: hands a failure to the caller as it is. */
#define TRY(call)                                                                                            \
	do {                                                                                                 \
		status try_status_ = (call);                                                                 \
		if (try_status_ != OK)                                                                       \
			return try_status_;                                                                  \
	} while (0)

#endif
