/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits: every maximum in the program, with its reason. A number that bounds
 * input anywhere else in the tree belongs here.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stddef.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* --- memory --- */
#define LIMIT_ARENA_CHUNK   (16u * KIB) /* most requests fit one chunk */
#define LIMIT_MALLOC_MMAP   (1u * MIB)	/* larger memory comes from the kernel each time ... */
#define LIMIT_MALLOC_KEEP   (8u * MIB)	/* ... what is freed goes back to it above so much */
#define LIMIT_REQUEST_ARENA (64u * MIB) /* a 1 MiB body as a tree, a card, a diff and an answer, with room */

/* --- JSON: nothing a person or an agent writes comes near these; a bomb does --- */
#define LIMIT_JSON_DEPTH    64u
#define LIMIT_JSON_NODES    100000u
#define LIMIT_JSON_EXPONENT 15u /* digits of a number's exponent: so comparing numbers exactly stays simple */
#define LIMIT_JSON_BYTES    (4u * MIB) /* larger than a body: documents of ours are read back too */

#define LIMIT_JSON_HEARD	(8u * MIB) /* of an answer of another system: most of it is not kept (json/mend.h) */
#define LIMIT_JSON_STORED_BYTES (32u * MIB) /* json_parse_stored: the ruleset of 20,000 flags has about 15 */
#define LIMIT_JSON_STORED_NODES 1000000u    /* as a tree they fill a request's arena */

/* --- HTTP --- */
#define LIMIT_HTTP_BODY		      (1u * MIB)
#define LIMIT_HTTP_ANSWER	      (16u * MIB) /* an export of a page of audit entries is the largest */
#define LIMIT_HTTP_HEAD		      (16u * KIB)
#define LIMIT_HTTP_REFUSAL	      (256u * KIB) /* of memory for an error, beside what its request has used */
#define LIMIT_HTTP_TARGET	      (8u * KIB)
#define LIMIT_HTTP_HEADERS	      100u
#define LIMIT_HTTP_HOPS		      32	 /* proxies between us and a client that are looked through */
#define LIMIT_HTTP_HEAD_SECONDS	      10u	 /* slowloris: a whole head within this */
#define LIMIT_HTTP_BODY_GRACE_SECONDS 5u	 /* after this a body must come at ... */
#define LIMIT_HTTP_BODY_RATE	      (1u * KIB) /* ... this many bytes a second on average */
#define LIMIT_HTTP_IDLE_SECONDS	      60u	 /* keep-alive without a request */
#define LIMIT_HTTP_SEND_SECONDS	      30u	 /* an answer the client does not take */
#define LIMIT_HTTP_STREAM_BACKLOG     (256u * KIB) /* a stream whose reader is slower than this is closed */
#define LIMIT_HTTP_JOBS		      4096u	   /* requests waiting for a worker; beyond it 503 */
#define LIMIT_HTTP_WORKERS	      8 /* unless said otherwise: they wait for disks more than for cores */
#define LIMIT_HTTP_LENDS	      256 /* workers that wait for other systems: four lanes that hang (LIMIT_LANE_...) */
#define LIMIT_HTTP_CONNECTIONS	      16384	  /* the crowd of 12,000 with room, 4 KiB each when idle */
#define LIMIT_HTTP_PER_ADDRESS	      1024	  /* one office behind one address, not one attacker */
#define LIMIT_HTTP_SEGMENTS	      32u	  /* of a path; our deepest has a third */
#define LIMIT_HTTP_PIPELINE	      (64u * KIB) /* read ahead of the request being answered */
#define LIMIT_HTTP_LINGER_SECONDS     2u  /* an answer to a request not read to its end may take to arrive */
#define LIMIT_HTTP_HEARTBEAT_SECONDS  15u /* proxies give up a silent stream after 30 to 60 */
#define LIMIT_HTTP_CHUNK_LINES	      (16u * KIB) /* chunk extensions and trailers, which we ignore, in all */
#define LIMIT_HTTP_SPARE_SLOTS	      64u	  /* memory of finished requests kept for the next */

#define LIMIT_PEEK_BODY (4u * KIB) /* more is read by a worker: the loop serves everybody */

/* --- HTTP, as a client --- */
#define LIMIT_CLIENT_CONNECT_MS 5000
#define LIMIT_CLIENT_MS		60000	    /* longer than any answer of ours takes */
#define LIMIT_CLIENT_CREDENTIAL (16u * KIB) /* access tokens with many claims; ours have a hundredth */
#define LIMIT_CONNECTION_NETS	16u	    /* private networks that one connection may be in */
#define LIMIT_WEBHOOK_URL	2000u	    /* as long as browsers and proxies agree on */
#define LIMIT_WEBHOOK_MS	30000	    /* for an outcome, unless said: what webhooks usually get */
#define LIMIT_WEBHOOK_ANSWER_MS                                                                              \
	300000 /* for an answer that is waited for: a worker's place is lent as long */
#define LIMIT_WEBHOOK_DEADLINE_MS 86400000 /* for an outcome that is told later: people may be part of it */
#define LIMIT_WEBHOOK_PING_MS	  10000
#define LIMIT_WEBHOOK_ANSWER	  LIMIT_JSON_HEARD
#define LIMIT_WEBHOOK_KEPT	  (1u * MIB) /* of it as the result: as large as what we are asked */
#define LIMIT_CALLBACK_KEPT_US                                                                               \
	(INT64_C(30) * 86400 * 1000000)		/* used addresses: a replay hears that it is one */
#define LIMIT_COURIER_US	INT64_C(500000) /* how often is looked for news to tell: a person does not notice */
#define LIMIT_COURIER_FLIGHTS	32u /* deliveries under way; so many that hang do not hold up the others ... */
#define LIMIT_COURIER_PER_PLACE 4u  /* ... because no connection has more than these */
#define LIMIT_COURIER_MS	15000 /* for an answer to one; webhooks usually get that */
#define LIMIT_COURIER_LEASE_US                                                                               \
	INT64_C(60000000)      /* who has taken one tells it in this time, or somebody else does */
#define LIMIT_COURIER_TRIES 14 /* after 30 s, doubled up to 8 hours: about two days */
#define LIMIT_SAFE_BYTES                                                                                     \
	(16u * KIB) /* a stored secret of another system: the largest is such a token, or a private key */

/* --- MCP over standard input and output --- */
#define LIMIT_BRIDGE_LETTERS	 128u		   /* messages under way: more than a client has questions */
#define LIMIT_BRIDGE_SESSION	 1024u		   /* a session's id; ours has 62 */
#define LIMIT_BRIDGE_RESUMES	 20u		   /* how often one answer's stream is taken up again */
#define LIMIT_BRIDGE_PATIENCE_US INT64_C(45000000) /* a server that drains (30 s) and starts again is back */
#define LIMIT_BRIDGE_DRAIN_US	 INT64_C(1200000)  /* clients kill what has not ended after two seconds */
#define LIMIT_BRIDGE_FAREWELL_MS 500

/* --- database --- */
#define LIMIT_TX_BATCH	  64u	/* transactions in one group commit */
#define LIMIT_TX_BATCH_US 5000	/* how long a batch goes on taking what was not there when it began */
#define LIMIT_TX_QUEUE	  4096u /* transactions waiting for the writer; beyond it 503 */
#define LIMIT_TX_RERUNS	  10u	/* serialization failures before the caller hears of it */
#define LIMIT_TX_HOOKS	  80u	/* after-commit hooks of one transaction */
#define LIMIT_DB_PARAMS	  48u
#define LIMIT_DB_ROWS	  10000u /* rows one db_all may bring; lists are paged far below */

/* --- PostgreSQL: the server ends what a client holds too long, the client ends what a server never answers
 * --- */
#define LIMIT_PG_CONNECT_SECONDS 5     /* per host; a dead host must not use up a request's patience */
#define LIMIT_PG_LOCK_MS	 5000  /* a decision waits this long for another one, then 503 */
#define LIMIT_PG_STATEMENT_MS	 30000 /* no statement of ours takes a second */
#define LIMIT_PG_IDLE_MS	 15000 /* a stopped process must not keep its locks: functions never wait */
#define LIMIT_PG_ANSWER_MS	 60000 /* longer than the server's own limits: then the server is gone */
#define LIMIT_PG_TAKE_MS	 10000 /* waiting for a free connection where the caller has no deadline */
#define LIMIT_PG_READ_LEAST	 4     /* connections; of so many one is for reads only, */
#define LIMIT_PG_READ_SHARE	 8     /* and of more than that each eighth */
#define LIMIT_PG_COMMIT_SLOW_US	 (5 * SECOND_US) /* a COMMIT without an answer for so long is told of */
#define LIMIT_PG_SETTLE_MS	 15000 /* a lost COMMIT's backend should end, and a crashed server be back */
#define LIMIT_PG_MIGRATE_MS	 60000 /* another process migrates first */

/* --- work that a request causes by what somebody else wrote, in steps of some nanoseconds (base/meter/meter.h) --- */
#define LIMIT_WORK	  40000000u /* outside of write transactions: 200 ms at worst */
#define LIMIT_WORK_WRITER 4000000u  /* in all write transactions of a request, where others wait: 20 ms */
#define LIMIT_WORK_TRIED  400000u   /* of one check of an input in a transaction; more is done outside */

/* --- schema --- */
#define LIMIT_SCHEMA_DEPTH    128u	   /* nested schema applications on one value */
#define LIMIT_SCHEMA_ISSUES   50u	   /* issues reported of one document */
#define LIMIT_REGEX_BYTES     (4u * KIB)   /* a pattern's source */
#define LIMIT_SCHEMA_NESTING  1000u	   /* nested applications in all: bounds the stack */
#define LIMIT_SCHEMA_BYTES    (64u * MIB)  /* one compiled schema, and the scratch of one check */
#define LIMIT_SCHEMA_NAMES    1000u	   /* $id and anchors of one schema: they are looked up one by one */
#define LIMIT_SCHEMA_PATTERNS 200u	   /* regular expressions of one schema: as many as a ruleset has */
#define LIMIT_REGEX_MEMORY    (256u * KIB) /* of one with its caches; RE2 gives up at 4096 instructions */
#define LIMIT_REGEX_OURS      (1u * MIB)   /* of one of our own: those of formats are large */
#define LIMIT_REGEX_PROGRAM   4000u	   /* instructions of one of a schema; \p{L} has 1200 */
#define LIMIT_PATTERN_PROGRAM 250u	   /* ... of one pattern of a flag: every evaluation tries it */
#define LIMIT_URI_BYTES	      (2u * KIB)   /* a URI in a schema */

/* --- audit --- */
#define LIMIT_CHECKPOINT   (64u * KIB) /* three lines and the signatures of many witnesses */
#define LIMIT_AUDIT_TEXT   1024u       /* one column of an entry: names and ids, no prose */
#define LIMIT_AUDIT_LEAF   (64u * KIB) /* all columns, each byte escaped */
#define LIMIT_AUDIT_BATCH  256u	      /* entries sealed in one transaction: the writer is not held for long */
#define LIMIT_AUDIT_SEAL   (1u << 20) /* the names or the hashes of a batch: ids of LIMIT_AUDIT_TEXT, escaped */
#define LIMIT_AUDIT_ROUND  2048u      /* entries sealed before a checkpoint is signed for them */
#define LIMIT_AUDIT_PAGE   500u	      /* entries of one list */
#define LIMIT_AUDIT_SCAN   5000u      /* entries that one list looks at; then it hands out a cursor */
#define LIMIT_AUDIT_EXPORT 5000u      /* entries of one page of an export: fits LIMIT_HTTP_ANSWER */
#define LIMIT_NUMBERS                                                                                        \
	65536u /* decisions that a server remembers: 100 a second for the ten minutes that a proposal has */
#define LIMIT_NUMBERS_US                                                                                     \
	(INT64_C(48) * 3600 * 1000000) /* a proposal has a day at most, and its outcome a little longer */
#define LIMIT_NUMBERS_FILE                                                                                   \
	(16u * MIB) /* the file of them is written anew when it is larger: eight times what is remembered */
#define LIMIT_AUDIT_FOLLOW                                                                                   \
	10000u /* leaves of another server's checkpoint whose numbers are looked at: several rounds of a busy one */
#define LIMIT_AUDIT_GIVEN                                                                                    \
	64u /* organizations whose checkpoints were given in answers and are not held yet: a round holds them */
#define LIMIT_AUDIT_REFUSED                                                                                  \
	1000u /* organizations that a round counts as refused; so many are one page of those that are due */
#define LIMIT_AUDIT_SEAL_MS 800 /* how often the sealer looks: a checkpoint is out within two seconds */

/* --- identity --- */
#define LIMIT_PASSWORD_MEMORY (19456u * KIB)	  /* Argon2id, OWASP's first choice with two passes */
#define LIMIT_PASSWORD_LEAST  12u		  /* NIST asks for 8, 15 where it stands alone */
#define LIMIT_PASSWORD_BYTES  256u		  /* longer than anybody types, short enough to hash */
#define LIMIT_SETUP_US	      INT64_C(3600000000) /* an hour to use the set-up link of a first start */
#define LIMIT_LINK_US                                                                                        \
	INT64_C(86400000000) /* 24 hours to use a member's link: it reaches them by somebody's hand */
#define LIMIT_RECOVERED_US                                                                                   \
	INT64_C(2592000000000)	   /* 30 days: for so long everybody is shown that access was recovered */
#define LIMIT_EMAIL	      254u /* RFC 5321 */
#define LIMIT_SESSION_IDLE_US INT64_C(1800000000)  /* 30 minutes */
#define LIMIT_SESSION_SEEN_US INT64_C(60000000)	   /* its use is written down at most once a minute */
#define LIMIT_SESSION_US      INT64_C(43200000000) /* 12 hours */
#define LIMIT_STEP_UP_US      INT64_C(600000000)   /* 10 minutes: so fresh is who changes who may approve */
#define LIMIT_KNOWN_CALLER                                                                                   \
	((size_t)16 << 10) /* bytes of one that is remembered, of 4096; a larger one is read each time */
#define LIMIT_RECALL_US	     INT64_C(1000000) /* how long an evaluation trusts who a token was */
#define LIMIT_LEASE_US	     INT64_C(1000000) /* how long calls of a budget are held by one server */
#define LIMIT_BEHIND	     4096u /* rows of reads that wait to be written: at most half a second of a busy server */
#define LIMIT_BEHIND_BYTES   ((size_t)LIMIT_BEHIND * 4 * KIB) /* ... their text, and that of their events */
#define LIMIT_BEHIND_PIECE   128u	     /* ... in one transaction: the writer is not held for long */
#define LIMIT_BEHIND_REST_US INT64_C(200000) /* ... before the database is tried again */
#define LIMIT_BEHIND_US                                                                                      \
	INT64_C(20000)	      /* ... and so long after the first of them; 50 ms is what DESIGN allows */
#define LIMIT_PERSON_RATE 600 /* calls a minute of a person with a session */

#define LIMIT_SIGNIN_TRIES 10 /* from one network for one person, in ... */
#define LIMIT_SIGNIN_NETWORK                                                                                 \
	20 /* ... from one network for anybody, not counting those that were right, ... */
#define LIMIT_SIGNIN_ADDRESS   100	/* ... for one person from anywhere, in ... */
#define LIMIT_KNOWN_SECONDS    15552000 /* 180 days: for so long a browser is known */
#define LIMIT_PASSWORD_HASHES  2	/* Argon2id at once: each keeps a processor busy and takes 19 MiB */
#define LIMIT_PASSWORD_WAITING 32	/* that wait for their turn; more are turned away */
#define LIMIT_SIGNIN_US	       INT64_C(900000000) /* ... 15 minutes; then 429 */
#define LIMIT_NAME	       200u		  /* of a person, a role, a token: one line */
#define LIMIT_RULES	       200u		  /* rules of one role or token */
#define LIMIT_SCOPE	       200u		  /* environments, keys, addresses of one token */
#define LIMIT_ROLES	       50u		  /* of one person */
#define LIMIT_TEAM	       1000u		  /* people, or grants, of one team */
#define LIMIT_PAGE	       200		  /* rows of one page */

/* --- identity providers (OIDC) --- */
#define LIMIT_OIDC_MS	     8000	  /* one answer of theirs: a person waits, and so does a worker */
#define LIMIT_OIDC_ANSWER    (256u * KIB) /* their keys, with certificates, have a tenth */
#define LIMIT_OIDC_KEYS	     50u	  /* of one provider: some announce a dozen */
#define LIMIT_OIDC_CACHE_US  INT64_C(3600000000) /* what they say of themselves is asked again after an hour */
#define LIMIT_OIDC_AGAIN_US  INT64_C(60000000)	 /* for a key we do not know, at most once a minute */
#define LIMIT_OIDC_FLOW_US   INT64_C(600000000)	 /* ten minutes to sign in there and come back */
#define LIMIT_OIDC_SKEW_US   INT64_C(60000000)	 /* how far their clock may be off */
#define LIMIT_OIDC_CODE	     (4u * KIB)		 /* a code: theirs are up to 2 KiB */
#define LIMIT_OIDC_SUBJECT   255u		 /* OpenID Connect Core, section 2 */
#define LIMIT_OIDC_RETURN    2000u		 /* where to go on: it travels in a cookie of 4 KiB */
#define LIMIT_JWT	     (64u * KIB)	 /* an ID token; those with many groups have a quarter */
#define LIMIT_RSA_BITS	     8192		 /* a larger key costs more time than it is worth ... */
#define LIMIT_RSA_LEAST_BITS 2048		 /* ... and a smaller one is worth nothing */

/* --- our own authorization server (OAuth) --- */
#define LIMIT_OAUTH_URI		512u	    /* a redirect URI, a client's address */
#define LIMIT_OAUTH_REDIRECTS	10u	    /* of one client: a laptop, a site, an app */
#define LIMIT_OAUTH_STATE	1000u	    /* what a client wants back; it travels in addresses */
#define LIMIT_OAUTH_SCOPES	50u	    /* a person reads them all before agreeing */
#define LIMIT_OAUTH_SCOPE_TEXT	4000u	    /* as a text; LIMIT_HTTP_TARGET has room for twice that */
#define LIMIT_OAUTH_FORM	(16u * KIB) /* a body of the token endpoint or of a page */
#define LIMIT_OAUTH_CLIENT_NAME 80u	    /* bytes of a name that are shown: one line on a phone or two */
#define LIMIT_OAUTH_REGISTER_US                                                                              \
	INT64_C(3600000000)	       /* the hour in which registrations of an address are counted */
#define LIMIT_OAUTH_UNUSED	 10000 /* clients that nobody has agreed to yet, of all addresses */
#define LIMIT_OAUTH_UNUSED_US	 INT64_C(86400000000)	/* a day to agree to a client; then it is forgotten */
#define LIMIT_OAUTH_FULL_SECONDS 600			/* when it is full, come back after this */
#define LIMIT_OAUTH_CODE_US	 INT64_C(120000000)	/* a code goes from browser to client to us at once */
#define LIMIT_OAUTH_ACCESS_US	 INT64_C(3600000000)	/* a stolen access token is worth an hour at most */
#define LIMIT_OAUTH_REFRESH_US	 INT64_C(2592000000000) /* 30 days without use end a consent ... */
#define LIMIT_OAUTH_GRANT_US	 INT64_C(7776000000000) /* ... and 90 days in any case, as any token (ID-5) */
#define LIMIT_OAUTH_DOCUMENT	 (16u * KIB)		/* a client's description of itself */
#define LIMIT_OAUTH_DOCUMENT_MS	 4000			/* a person waits for it, and so does a worker */
#define LIMIT_OAUTH_DOCUMENT_US	 INT64_C(300000000) /* kept so long: from the page to the button and beyond */
#define LIMIT_OAUTH_DOCUMENTS	 64u		    /* kept of different clients */
#define LIMIT_OAUTH_FETCHES	 2		    /* at once: the other workers have other work */

/* --- other systems --- */
#define LIMIT_LANES	 256u /* of one process, at once */
#define LIMIT_LANE_CALLS 8    /* to one other system at once; further calls wait for a place */
#define LIMIT_LANE_WAITING                                                                                   \
	56 /* calls that wait for such a place; a crowd of agents that read at once needs it */
#define LIMIT_LANE_ORG_CALLS                                                                                 \
	(LIMIT_HTTP_LENDS * 3 / 4) /* of one organization, in a lane or waiting: others find workers */
#define LIMIT_LANE_FAILURES 5	   /* in a row without an answer: it is not asked for a while */
#define LIMIT_LANE_REST_US                                                                                   \
	INT64_C(10000000) /* that while: long enough to start again, short enough to be waited for */

/* --- tools --- */
#define LIMIT_EVENT_POLL_US    INT64_C(500000) /* another server's hint may never come */
#define LIMIT_AGENT_TOOLS      2000u	       /* tiers of one agent: all tools of many upstreams */
#define LIMIT_FOLLOWERS	       1000u /* event streams of one server: each is a look twice a second */
#define LIMIT_OPEN_PROPOSALS   1000  /* of one agent or person: nobody decides on more in a day */
#define LIMIT_ERASE_PROPOSALS  1000  /* in one transaction; who erases asks again for the rest */
#define LIMIT_SWEEP_US	       INT64_C(1000000) /* proposals whose time is over are tidied up so often */
#define LIMIT_WAIT_SECONDS     30		/* a proxy gives up after 60 */
#define LIMIT_TOOL_DEFINITION  (64u * KIB)	/* another server's: what an admin has to read */
#define LIMIT_UPSTREAMS	       64u		/* of one organization: each is a connection or a program */
#define LIMIT_SOURCE_TOOLS     500u		/* of one: a model is told of all of them */
#define LIMIT_UPSTREAM_NETS    16u
#define LIMIT_SOURCE_WORDS     64u /* of a program's command line; as many paths, headers, variables */
#define LIMIT_UPSTREAM_LOOK_US INT64_C(60000000) /* how long a changed definition can go unnoticed */
#define LIMIT_UPSTREAM_TURN_US                                                                               \
	INT64_C(20000000) /* to renew tokens: twice LIMIT_OIDC_MS, and some; who dies with it costs as much */
#define LIMIT_UPSTREAM_LIST_US		INT64_C(40000000) /* for a list; a program may have to be fetched first */
#define LIMIT_PREVIEW_US		INT64_C(10000000) /* who proposes waits for it */
#define LIMIT_PREVIEW_BYTES		(32u * KIB)	  /* of a state on a card */
#define LIMIT_PREVIEW_WHY		300u		  /* bytes of why there is none: one sentence */
#define LIMIT_UPSTREAM_DEADLINE_MS	30000		  /* for a call, unless an admin says */
#define LIMIT_UPSTREAM_DEADLINE_MOST_MS 120000
#define LIMIT_UPSTREAM_RESULT		(512u * KIB) /* of a call: it goes to a model */
#define LIMIT_TOOL_NAME			200u	     /* an upstream's own name stands in it */

/* --- streams and waits that somebody holds (core/slot), and lists of who sees few (core/visibility) --- */
#define LIMIT_STREAMS_ORG    256u  /* of LIMIT_FOLLOWERS, of one organization: others find room */
#define LIMIT_STREAMS_HOLDER 32u   /* of one agent or person: who has more has pages and programs open */
#define LIMIT_OFREP_ORG	     2000u /* of LIMIT_OFREP_STREAMS */
#define LIMIT_OFREP_HOLDER   1000u /* of one token: all visitors of a site share it */
#define LIMIT_MCP_FOLLOWED   128u  /* of LIMIT_MCP_SUBSCRIPTIONS, of one agent or person: its oldest goes */
#define LIMIT_PROPOSAL_SCAN  5000u /* proposals that one list looks at; then it hands out a cursor */

/* --- what is done outside --- */
#define LIMIT_SEND_LEASE_US    INT64_C(5000000) /* from a claim to its send: later nothing is sent */
#define LIMIT_SEND_PREPARED_US INT64_C(5000)	/* what was read of a server is read again after this */
#define LIMIT_SEND_SLACK_US                                                                                  \
	INT64_C(3000000)		  /* after lease and deadline, before it is unknown: clocks differ */
#define LIMIT_OUTCOME_TRIES   8		  /* to write an outcome down; twice as long between each */
#define LIMIT_EVIDENCE	      (64u * KIB) /* late answers and probes of one attempt */
#define LIMIT_OUTSIDE_SUMMARY 160u	  /* bytes of the input in a card's one line; all of it is below */

/* --- MCP --- */
#define LIMIT_MCP_SESSION_SECONDS 86400 /* a legacy session; its client initializes again, unseen */
#define LIMIT_MCP_NOTES		  1024u /* sessions of which a log level or an end is remembered */
#define LIMIT_MCP_STATE_US	  INT64_C(600000000) /* ten minutes to answer a question */
#define LIMIT_MCP_HELD		  256u		     /* calls that wait for an answer of a legacy client */
#define LIMIT_MCP_ASKS		  8u		     /* questions of one call */
#define LIMIT_MCP_KEPT		  64u	      /* answers kept for legacy clients whose stream broke ... */
#define LIMIT_MCP_KEPT_BYTES	  (64u * KIB) /* ... each at most so large */
#define LIMIT_MCP_PAGE		  250u	      /* tools of one page: a model sees them all at once anyway */
#define LIMIT_MCP_PAGES		  16u	/* such pages kept ready: one for each set of rights that is in use */
#define LIMIT_MCP_BATCH		  16u	/* messages of one batch: one worker runs them */
#define LIMIT_MCP_ANSWERED	  256u	/* tasks whose client is not asked again; an older one is */
#define LIMIT_MCP_SUBSCRIPTIONS	  1024u /* resources that legacy sessions follow, all of them */
#define LIMIT_MCP_URI		  256u	/* bytes of such a resource's address; ours have 60 */
#define LIMIT_MCP_WAIT_TEXT	  1024u /* a call that waits, as the id of an event: a header carries it */
#define LIMIT_MCP_URIS		  16u	/* resources that one stream follows: each is a look */
#define LIMIT_MCP_PARAMS	  256u	/* arguments that headers repeat, of all tools of a server */
#define LIMIT_MCP_HEADERS	  16u	/* ... and of one call */

/* --- other MCP servers (exec/mcp) --- */
#define LIMIT_UPSTREAM_TOOLS	  2000u		      /* of one: as LIMIT_AGENT_TOOLS */
#define LIMIT_UPSTREAM_PAGES	  200u		      /* of its list: a list without an end ends here */
#define LIMIT_UPSTREAM_IDLE	  8u		      /* connections that are kept for the next read */
#define LIMIT_UPSTREAM_SESSION	  1024u		      /* a session's id */
#define LIMIT_UPSTREAM_RESUMES	  100u		      /* how often one answer's stream is taken up again */
#define LIMIT_UPSTREAM_ERA_US	  INT64_C(3600000000) /* then a server of the old era is asked again */
#define LIMIT_UPSTREAM_ROUNDS	  10u /* questions and "come back later" of one call, as the SDK */
#define LIMIT_UPSTREAM_ASKS	  64u /* questions of the server's that wait for an answer */
#define LIMIT_UPSTREAM_LINE	  LIMIT_JSON_HEARD /* a message of a program */
#define LIMIT_UPSTREAM_WORD	  500u /* bytes of its standard error that are one line of the log */
#define LIMIT_UPSTREAM_WORDS	  100  /* such lines in ten seconds; the others are counted */
#define LIMIT_UPSTREAM_REST_US	  INT64_C(60000000) /* a program that fails and fails is started once a minute */
#define LIMIT_UPSTREAM_FILES	  1024u		    /* open files of a program */
#define LIMIT_UPSTREAM_FILE_BYTES (1024u * MIB)	    /* of a file that it writes */
#define LIMIT_UPSTREAM_MEMORY	  (4096u * MIB)	    /* of its data: node reserves more than it uses */
#define LIMIT_SANDBOX_MEMORY	  (2048u * MIB)	    /* that a program and what it starts use together */
#define LIMIT_SANDBOX_PROCESSES	  256u		    /* threads count: npx, a shell and node are some forty */
#define LIMIT_SANDBOX_PATHS	  64u		    /* that an operator lists in stdio-paths */
#define LIMIT_SANDBOX_SECRETS	  24u		    /* places of ours that no program is shown */

/* --- flags: a rule is written by a person; what a program makes is a list or a segment --- */
#define LIMIT_RULESET_BYTES    (64u * MIB) /* one environment compiled; 10,000 flags take a tenth */
#define LIMIT_RULESET_ITEMS    20000u	   /* flags and configs of one environment */
#define LIMIT_RULESET_SEGMENTS 1000u
#define LIMIT_ENVIRONMENTS     50u     /* of a project: one change may be news in all (LIMIT_TX_HOOKS) */
#define LIMIT_RULESET_FIELDS   1000u   /* names that rules ask for: each is a slot of every context */
#define LIMIT_RULESET_PATTERNS 200u    /* different ones, by field: each is tried once for a context */
#define LIMIT_RULESET_PROGRAM  5000u   /* of all: half a second for a context of LIMIT_CONTEXT_TEXT */
#define LIMIT_FLAG_RULES       200u    /* of one flag, config or segment */
#define LIMIT_FLAG_CONDITIONS  1000u   /* in all rules of one of them: bounds the time of one answer */
#define LIMIT_FLAG_LIST	       100000u /* entries of $in, allowList, denyList: hashed, so only memory counts */
#define LIMIT_FLAG_BLOCKS      1000u   /* of one $cidr: looked at one by one */
#define LIMIT_FLAG_KEY	       200u    /* of a flag, config, segment, or a salt */
#define LIMIT_FLAG_TEXT	       (4u * KIB)  /* a comparand, a field's name, a description, an id in a list */
#define LIMIT_FLAG_VALUE       (64u * KIB) /* one value as JSON: answers carry it */
#define LIMIT_CONDITION_DEPTH  16u	   /* $and, $or, $not in each other: nobody reads deeper */
#define LIMIT_SEGMENT_DEPTH    16u	   /* segments in segments: with the above it bounds the stack */
#define LIMIT_FIELD_STEPS      8u	   /* a.b.c has three */
#define LIMIT_CONTEXT_MEMBERS  1000u	   /* of a context, and of an object in it that a field names */
#define LIMIT_CONTEXT_TEXT     (4u * KIB)  /* a string that a rule looks at; patterns are linear in it */
#define LIMIT_SEMVER	       256u	   /* bytes of a version; longer is none */
#define LIMIT_IMPACT_ITEMS     20u	   /* flags and configs of a card's blast radius: a person reads it */
#define LIMIT_IMPACT_BYTES     (1u * MIB)  /* all its answers; the card is stored */
#define LIMIT_RESERVOIR	       10000u	  /* contexts kept of one environment: a percent is known to a half */
#define LIMIT_SAMPLE_BYTES     (2u * KIB) /* one of them; a larger one is not sampled */
#define LIMIT_SAMPLE_RING      1024u	  /* waiting to be written; what comes meanwhile is dropped */
#define LIMIT_SAMPLE_BATCH     128u	  /* written in one transaction: the writer is not held for long */
#define LIMIT_SAMPLE_US	       INT64_C(1000000)	     /* how often they are written */
#define LIMIT_SAMPLE_AGE_US    INT64_C(604800000000) /* a week: what is older says little of now */
#define LIMIT_SAMPLED	       1000u		     /* environments that sample, of one server */
#define LIMIT_SAMPLE_FIELDS    100u		     /* named as those to keep */
#define LIMIT_SURVEYS	       2		     /* at once: a core each, for a tenth of a second */
#define LIMIT_SURVEY_FIELDS    50u		     /* fields of contexts by which a survey counts ... */
#define LIMIT_SURVEY_VALUES    20u /* ... where they have no more values than this: others are no groups */
#define LIMIT_SURVEY_LEAST     5   /* contexts that a group has at least: a smaller one might be a person */

/* --- rulesets that are live --- */
#define LIMIT_LIVE_LAG_US	INT64_C(1000000)  /* how old a ruleset may be that another server changed */
#define LIMIT_LIVE_ENVIRONMENTS 1000u		  /* loaded at once; each is looked after twice a second */
#define LIMIT_LIVE_BYTES	(512u * MIB)	  /* of them all; the least recently used one goes first */
#define LIMIT_PEEK_KEYS		50u		  /* evaluated on the event loop; more is a worker's ... */
#define LIMIT_PEEK_WEIGHT	20000u		  /* ... and so is heavier (ruleset_weight): 0.2 ms */
#define LIMIT_OFREP_STREAMS	4000u		  /* of one server: a page that is open is one */
#define LIMIT_OFREP_CHECK_US	INT64_C(10000000) /* how often who follows is looked at, besides with news */
#define LIMIT_OFREP_TICKET_US                                                                                \
	INT64_C(1800000000)		    /* the address of a stream is good for one or two of these */
#define LIMIT_EVALUATE_KEYS    1000u	    /* named one by one; who wants more asks for all */
#define LIMIT_SPOT_CHECKS      50u	    /* contexts that one preview names (FL-4) */
#define LIMIT_PREVIEW_ENTRIES  1000u	    /* flags, configs and segments of one hypothetical ruleset */
#define LIMIT_HISTORY_VERSIONS 100u	    /* compiled for one answer ... */
#define LIMIT_HISTORY_BYTES    (256u * MIB) /* ... and how large they are in all: about two seconds */

/* --- text --- */
#define LIMIT_RULE		200u /* an access rule; the longest of ours has 60 */
#define LIMIT_ERROR_MESSAGE	(2u * KIB)
#define LIMIT_LOG_LINE		(8u * KIB)
#define LIMIT_REQUEST_ID	64u
#define LIMIT_CONFIG_FILE	(64u * KIB)
#define LIMIT_INSTALLATION_NAME 200u /* one line on a page */

/* --- settings: far above what helps, far below what hurts --- */
#define LIMIT_SETTING_BYTES	     4096u /* a path, or a URL with several hosts */
#define LIMIT_SETTING_WORKERS	     256
#define LIMIT_SETTING_DB_CONNECTIONS 256     /* PostgreSQL itself begins with 100 */
#define LIMIT_SETTING_CONNECTIONS    1000000 /* the kernel's limit of files binds first */
#define LIMIT_SETTING_DRAIN_SECONDS  3600
#define LIMIT_SETTING_EVALUATIONS    1000000000
#define LIMIT_SETTING_REGISTRATIONS  1000000
#define LIMIT_SETTING_OPEN_PROPOSALS 1000000
#define LIMIT_SETTING_KEPT_DAYS	     36500 /* a hundred years */

#endif
