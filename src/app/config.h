/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: every setting of the program, described once.
 *
 * From the one table (settings.c) come the flags (--listen), the environment
 * (COUNTERSIGN_LISTEN), the keys of the file (--config FILE, a JSON object:
 * {"listen": "127.0.0.1:7700"}), the help, docs/settings.md and
 * GET /api/v1/config. A flag beats the environment, the environment beats the
 * file, the file beats the default. Values that lose are checked all the same.
 *
 * Unknown flags, variables that begin with COUNTERSIGN_ and keys of the file
 * are errors. COUNTERSIGN_FAULT (builds with fault points only), COUNTERSIGN_BUILD
 * and COUNTERSIGN_TEST_* belong to the tests and are left alone.
 *
 * To add a setting: a member of struct config here and a row of settings[] in settings.c.
 */
#ifndef APP_CONFIG_H
#define APP_CONFIG_H

#include "face/cli/cli.h"
#include "http/http.h"

/* Which commands take a setting. */
enum setting_where {
	IN_SERVE = 1,
	IN_INIT = 2,
	IN_MIGRATE = 4,
	IN_DOCTOR = 8,
	IN_AUDIT = 16,
	IN_CLIENT = 32, /* what talks to a server that runs */
	IN_WRAP = 64,	/* what may start one for itself */
	IN_RECOVER = 128,
	IN_DATABASE = IN_SERVE | IN_INIT | IN_MIGRATE | IN_DOCTOR | IN_AUDIT |
		      IN_RECOVER, /* whatever opens the database */
};

enum setting_type { SETTING_TEXT, SETTING_INT };

/* Where a value came from; the later beats the earlier. */
enum setting_source { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };

struct setting {
	struct cli_flag flag; /* name, what the value is, default, doc */
	const char *group;    /* its heading in the help; rows of a group stand together */
	enum setting_type type;
	size_t offset;	  /* of its member in struct config */
	int64_t min, max; /* INT: the value, both included */
	/* TEXT: is it a value? It is printable already. NULL: whatever is not empty. */
	bool (*check)(str text);
	/* TEXT: ends the sentence "... must be"; NULL: "some text, not empty", which is true without a check
	 * only */
	const char *accepts;
	/* TEXT: what may have been meant by a text that is no value, or empty; NULL: no guess */
	str (*guess)(struct arena *a, str text);
	str (*mask)(struct arena *a, str text); /* what may be shown of it; NULL: all */
	unsigned where;
	bool not_in_file;
};

extern const struct setting settings[];
extern const size_t setting_count;

#define SETTINGS_MAX 64u /* room for the rows; settings.c does not compile with more */

struct config {
	str config, listen, data, database, keys, log_level, tls_certificate, tls_key;
	str public_url, oidc_issuer, oidc_client_id, oidc_client_secret, oidc_ca;
	str oidc_newcomer_role, oidc_newcomer_domains;
	str oauth_document_hosts, oauth_ca, stdio_upstreams, stdio_paths, trusted_proxies;
	str server, server_ca, token; /* the client's */
	int64_t workers, database_connections, sqlite_batch, oauth_registrations, open_proposals, kept_days;
	int64_t max_connections, max_connections_per_address, drain_seconds, evaluations_per_second;
	enum setting_source source[SETTINGS_MAX]; /* by row */
};

/* What listen says, taken apart. An IPv6 address stands in brackets in the setting, without them here. */
struct config_address {
	str host;
	int port;
};

/*
 * Reads everything: call's flags, the environment ("NAME=value", ended by NULL)
 * and the file that one of them names. Text lives in cx's arena.
 *
 * E_INVALID      a name or a value is wrong; the message says where, and what would be accepted
 * E_UNAVAILABLE  the file cannot be read
 */
status
config_load(struct ctx *cx, const struct cli_call *call, char *const *env, struct config *out) MUST_USE;

/* The steps of config_load, each on top of what is there already: for it, for tests and for the fuzzer. */
void config_defaults(struct config *c);
status config_read_flags(struct ctx *cx, const struct cli_call *call, struct config *c) MUST_USE;
status config_read_environment(struct ctx *cx, char *const *env, struct config *c) MUST_USE;
status config_read_text(struct ctx *cx, str name, str text, struct config *c) MUST_USE;
status config_check(struct ctx *cx, const struct config *c) MUST_USE; /* what concerns two settings */

struct config_address config_listen(const struct config *c);

/* trusted-proxies, taken apart. */
struct http_proxies config_proxies(struct arena *a, const struct config *c);

/* Can only this machine reach the address? */
bool config_is_loopback(str host);

/* The value of a row as it may be shown: secrets are masked. */
str config_shown(struct arena *a, const struct config *c, const struct setting *s);
const char *config_source_name(enum setting_source source);

/* "max-connections" -> "COUNTERSIGN_MAX_CONNECTIONS" */
str config_variable(struct arena *a, const struct setting *s);

/* Every setting, for a terminal or as docs/settings.md. */
void config_help(struct buf *b);
void config_markdown(struct buf *b);

#endif
