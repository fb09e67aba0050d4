/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth: tokens for a server that wants them (OAuth 2.1 as MCP profiles it: RFC 9728, 8414, 7591, 7636, 8707, 9207).
 *
 *	401 --> challenge --> issuer --> identity --> flow --> [somebody agrees] --> grant --> the request goes again
 *	                                         `--> [a machine: nobody is asked] --'  `--refresh--'
 *
 * Everything that the server and its authorization server say is checked as if a stranger had sent it. What we know is
 * kept by the store of the options, as JSON: `client` (who we are at an issuer), `tokens`. What belongs to one issuer is
 * never shown to another. No message holds a token, a code or a secret. A token that is refused is renewed once; where
 * that does not help somebody has to authorize us again. Private to exec/mcp.
 */
#ifndef EXEC_MCP_AUTH_AUTH_H
#define EXEC_MCP_AUTH_AUTH_H

#include "base/buf.h"
#include "exec/mcp/inside.h"

struct mcp_auth {
	struct mcp_client *c;
	pthread_mutex_t turn;  /* one at a time gets, or renews, tokens; it is held while others are asked */
	pthread_mutex_t mutex; /* guards all below */
	bool loaded;	       /* `tokens` is what the store has */
	char *tokens;	       /* the document; NULL: none */
};

/* --- challenge.c: what the server wants --- */

struct challenge {
	str metadata_url, scope, error; /* each may be empty */
};
void challenge_read(struct arena *a, const struct mcp_reply *r, struct challenge *out);

/* All words of both, each once. */
str scope_union(struct arena *a, str one, str other);
bool scope_has(str scope, str word);

/* --- issuer.c: where tokens come from --- */

struct issuer {
	str name; /* the issuer's identifier */
	str authorization_endpoint, token_endpoint;
	str registration_endpoint;  /* may be empty */
	str revocation_endpoint;    /* the same */
	str resource;		    /* what the token is for */
	str scopes;		    /* that the server knows; may be empty */
	const struct json *methods; /* of authentication at the token endpoint; NULL: it does not say */
	bool says_issuer;	    /* it names itself when it sends somebody back */
	bool takes_documents;	    /* clients may be described by a document of their own */
	bool gives_offline;	    /* it knows offline_access */
};

/* E_UNAVAILABLE  there is none, it cannot be asked, or it breaks the rules */
status
issuer_find(struct ctx *cx, struct mcp_client *c, const struct challenge *ch, struct issuer *out) MUST_USE;

/* One question to one of them. E_UNAVAILABLE  no answer */
status auth_ask(struct ctx *cx, struct mcp_client *c, struct http_client_request *r,
	struct http_client_answer *out) MUST_USE;

/* Is it an address that is as protected as the server's own? */
bool auth_address_ok(const struct mcp_client *c, str url);

/* --- identity.c: who we are at an issuer --- */

struct identity {
	str client_id, client_secret; /* the secret may be empty */
	str method;		      /* client_secret_basic, client_secret_post, none */
};

/* Registers us where that is needed. E_UNAVAILABLE  the issuer does not take us */
status
identity_find(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, struct identity *out) MUST_USE;

/* --- grant.c: tokens --- */

struct grant {
	str issuer, resource, token_endpoint;
	str revocation_endpoint; /* may be empty */
	struct identity identity;
	str access, refresh, scope; /* the last two may be empty */
	int64_t until_us;	    /* clock_now_us; 0: it does not say */
};

/* What is kept; access is empty where nothing is. */
status grant_load(struct ctx *cx, struct mcp_auth *a, bool again, struct grant *out) MUST_USE;
/* NULL: nothing any more. */
status grant_save(struct ctx *cx, struct mcp_auth *a, const struct grant *g) MUST_USE;

/*
 * Tokens for a code, for a refresh token, and for a machine's own word; g names where. E_UNAUTHENTICATED  it is not
 * taken. E_UNAVAILABLE
 */
status grant_exchange(struct ctx *cx, struct mcp_auth *a, struct grant *g, str code, str verifier) MUST_USE;
status grant_renew(struct ctx *cx, struct mcp_auth *a, struct grant *g) MUST_USE;
status grant_machine(struct ctx *cx, struct mcp_auth *a, struct grant *g) MUST_USE;
/* The end of them. */
status grant_tell_end(struct ctx *cx, struct mcp_auth *a, const struct grant *g) MUST_USE;

/* --- flow.c: somebody agrees --- */

status flow_begin(struct ctx *cx, struct mcp_auth *a, const struct issuer *i, str scope, struct mcp_flow *out)
	MUST_USE;

/* Ends it with tokens that are kept. */
status flow_end(struct ctx *cx, struct mcp_auth *a, str kept, str back) MUST_USE;

/* --- auth.c --- */

str auth_random(struct arena *a); /* 256 bits, base64url */
status auth_load(struct ctx *cx, struct mcp_auth *a, const char *what, struct json **out_doc)
	MUST_USE; /* NULL: none */
status auth_save(struct ctx *cx, struct mcp_auth *a, const char *what, const struct buf *text) MUST_USE;
/* Saves tokens in a turn of its own. */
status auth_save_in_turn(struct ctx *cx, struct mcp_auth *a, const struct grant *g) MUST_USE;

#endif
