/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of settings, and what makes a value one. config.c reads it. */
#include "app/config.h"

#include "base/limits.h"
#include "base/log.h"
#include "http/client/guard.h"
#include "exec/sandbox/walls.h"

static bool
is_port(str text)
{
	int64_t port;

	return text.len && text.len <= 5 && str_to_int(text, &port) && port >= 0 && port <= 65535;
}

/* Letters, digits, '.', '-', and inside brackets ':' too: what a name or an address is made of. */
static bool
is_host(str text)
{
	bool brackets = text.len > 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';
	str name = brackets ? (str){ text.ptr + 1, text.len - 2 } : text;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    c == '.' || c == '-' || (brackets && (c == ':' || c == '%'))))
			return false;
	}
	return name.len && name.len < 254;
}

static bool
is_address(str text)
{
	size_t colon = text.len;

	while (colon && text.ptr[colon - 1] != ':')
		colon--;
	return colon && is_port(str_skip(text, colon)) && is_host((str){ text.ptr, colon - 1 });
}

/* "7700" and ":7700": the port alone, at the address where others cannot reach it. */
static str
guess_address(struct arena *a, str text)
{
	str port = str_starts(text, STR(":")) ? str_skip(text, 1) : text;

	return is_port(port) ? arena_printf(a, "127.0.0.1:%.*s", STR_ARG(port)) : STR("");
}

static bool
is_database(str text)
{
	return !text.len || str_starts(text, STR("postgres://")) || str_starts(text, STR("postgresql://"));
}

static bool
is_programs(str s)
{
	return str_eq(s, STR("off")) || str_eq(s, STR("sandboxed")) || str_eq(s, STR("unconfined"));
}

static bool
is_log_level(str text)
{
	enum log_level level;

	return log_level_of(text, &level);
}

/* http://HOST[:PORT] or https://, maybe with a path before ours; no user, no query. */
static bool
is_server(str text)
{
	static const char others[] = " ?#@\\\"<>{}|^`";
	size_t scheme = str_starts(text, STR("https://")) ? 8 : str_starts(text, STR("http://")) ? 7 : 0;

	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x7f || strchr(others, text.ptr[i]))
			return false;
	return scheme && text.len > scheme && text.ptr[scheme] != '/';
}

/* The host of a URL that is_server takes, without the port and the brackets. */
static str
host_of(str url)
{
	str rest = str_skip(url, str_starts(url, STR("https://")) ? 8 : 7);
	bool brackets = str_starts(rest, STR("["));

	rest.len = str_find(rest, '/');
	if (brackets)
		rest = str_skip(rest, 1);
	rest.len = str_find(rest, brackets ? ']' : ':');
	return rest;
}

/* TLS, or a server on this machine: cookies and codes travel there. */
static bool
is_protected(str url)
{
	return is_server(url) && (str_starts(url, STR("https://")) || config_is_loopback(host_of(url)));
}

static bool
is_issuer(str text)
{
	return !text.len || is_protected(text);
}

/* https://HOST[:PORT], as browsers write an origin. */
static bool
is_origin(str text)
{
	str rest = str_skip(text, str_starts(text, STR("https://")) ? 8 : 7);

	return !text.len || (is_protected(text) && (is_host(rest) || is_address(rest)));
}

/* example.org, example.com */
static bool
is_domains(str text)
{
	str one, rest = text;

	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		one = str_trim(one);
		if (!is_host(one) || one.ptr[0] == '[')
			return false;
	}
	return true;
}

/* 10.0.0.0/8, fd00::1 */
static bool
is_networks(str text)
{
	struct http_net net;
	str one, rest = text;

	while (rest.len) {
		if (!str_cut(rest, ',', &one, &rest)) {
			one = rest;
			rest = (str){ 0 };
		}
		if (!http_net_read(str_trim(one), &net))
			return false;
	}
	return true;
}

static bool
is_paths(str text)
{
	struct walls_path listed[LIMIT_SANDBOX_PATHS];
	size_t count;

	return walls_read_list(text, listed, LIMIT_SANDBOX_PATHS, &count);
}

/* What can stand in a header as one word. */
static bool
is_token(str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
			return false;
	return true;
}

static str
mask_token(struct arena *a, str text)
{
	(void)a;
	return text.len ? STR("***") : text;
}

static bool
is_any(str text)
{
	(void)text;
	return true;
}

static size_t
find_last(str text, char c)
{
	size_t n = text.len;

	while (n && text.ptr[n - 1] != c)
		n--;
	return n ? n - 1 : text.len;
}

/*
 * postgres://user:secret@host/name?password=secret: the user's password goes, and all of
 * the query. Where it is not plain what is what (an unescaped '@', '/' or '?' in a
 * password), nothing behind the scheme is shown.
 */
static str
mask_database(struct arena *a, str text)
{
	str scheme, rest, user, place, query = STR("");
	size_t at, question;

	if (!str_cut(text, '/', &scheme, &rest))
		return text;
	rest = str_skip(rest, 1); /* the second slash; is_database has seen both */
	at = find_last(rest, '@');
	user = at < rest.len ? (str){ rest.ptr, at } : STR("");
	if (str_find(user, '/') < user.len || str_find(user, '?') < user.len)
		return arena_printf(a, "%.*s//***", STR_ARG(scheme));
	place = at < rest.len ? str_skip(rest, at) : rest; /* begins with '@' where there is a user */
	question = str_find(place, '?');
	if (question < place.len)
		query = STR("?***");
	place.len = question;
	at = str_find(user, ':');
	return arena_printf(a, "%.*s//%.*s%s%.*s%.*s", STR_ARG(scheme), (int)at, user.len ? user.ptr : "",
		at < user.len ? ":***" : "", STR_ARG(place), STR_ARG(query));
}

#define ROW(member_)	.offset = offsetof(struct config, member_)
#define FILE_OR_NOTHING "the path of a file, or nothing"

const struct setting settings[] = {
	{ .flag = { "config", "FILE", "",
		  "A file with settings: a JSON object whose keys are the names here." },
		.group = "General",
		ROW(config),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_DATABASE | IN_CLIENT | IN_WRAP,
		.not_in_file = true },
	{ .flag = { "log-level", "LEVEL", "info",
		  "The least important events that are logged: debug, info, warn or error." },
		.group = "General",
		ROW(log_level),
		.check = is_log_level,
		.accepts = "debug, info, warn or error",
		.where = IN_DATABASE | IN_WRAP },

	{ .flag = { "data", "DIR", "data",
		  "The data directory. Made, for its owner only, where it is missing. SQLite's database "
		  "lives here." },
		.group = "Storage",
		ROW(data),
		.accepts = "the path of a directory",
		.where = IN_DATABASE | IN_WRAP },
	{ .flag = { "database", "URL", "",
		  "A PostgreSQL database, postgres://USER@HOST/NAME; several hosts are allowed. Without it, "
		  "SQLite in the data directory. Give one that holds a password by environment or file: "
		  "command lines can be seen by others." },
		.group = "Storage",
		ROW(database),
		.check = is_database,
		.accepts = "a URL that begins with postgres:// or postgresql://, or nothing for SQLite",
		.mask = mask_database,
		.where = IN_DATABASE },
	{ .flag = { "keys", "FILE", "",
		  "The secrets that stay outside the database. Made at the first start, for its owner only; "
		  "keep a copy of it. Servers that share a database share this file. Without it, `keys` in "
		  "the data directory." },
		.group = "Storage",
		ROW(keys),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_DATABASE },
	{ .flag = { "database-connections", "N", "8", "Connections to PostgreSQL, or readers of SQLite." },
		.group = "Storage",
		.type = SETTING_INT,
		ROW(database_connections),
		.min = 1,
		.max = LIMIT_SETTING_DB_CONNECTIONS,
		.where = IN_DATABASE },
	{ .flag = { "sqlite-batch", "N", "64",
		  "How many transactions SQLite may make durable together; 1: each by itself." },
		.group = "Storage",
		.type = SETTING_INT,
		ROW(sqlite_batch),
		.min = 1,
		.max = LIMIT_TX_BATCH,
		.where = IN_SERVE },

	{ .flag = { "listen", "HOST:PORT", "127.0.0.1:7700",
		  "The address to serve at; port 0 takes any free one. Others can reach it only where HOST "
		  "is not a loopback address." },
		.group = "Network",
		ROW(listen),
		.check = is_address,
		.accepts = "HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:7700 or [::1]:7700",
		.guess = guess_address,
		.where = IN_SERVE | IN_DOCTOR | IN_WRAP },
	{ .flag = { "tls-certificate", "FILE", "",
		  "The certificate with its chain, PEM. SIGHUP reads it again." },
		.group = "Network",
		ROW(tls_certificate),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_SERVE },
	{ .flag = { "tls-key", "FILE", "", "The certificate's private key, PEM." },
		.group = "Network",
		ROW(tls_key),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_SERVE },
	{ .flag = { "max-connections", "N", "12000", "Connections held at once; more are turned away." },
		.group = "Network",
		.type = SETTING_INT,
		ROW(max_connections),
		.min = 1,
		.max = LIMIT_SETTING_CONNECTIONS,
		.where = IN_SERVE },
	{ .flag = { "max-connections-per-address", "N", "1024",
		  "Connections held at once from one address. Raise it behind a proxy." },
		.group = "Network",
		.type = SETTING_INT,
		ROW(max_connections_per_address),
		.min = 1,
		.max = LIMIT_SETTING_CONNECTIONS,
		.where = IN_SERVE },

	{ .flag = { "trusted-proxies", "NETWORKS", "",
		  "Proxies in front of this server, such as 10.0.0.0/8,fd00::1: from them, Forwarded or "
		  "X-Forwarded-For says who the "
		  "client is. Each must write one of the two headers itself. Without it, a client is whoever "
		  "connects." },
		.group = "Network",
		ROW(trusted_proxies),
		.check = is_networks,
		.accepts = "addresses or networks with commas between them (their first address, as in "
			   "10.0.0.0/8), or nothing",
		.where = IN_SERVE },

	{ .flag = { "public-url", "URL", "",
		  "Where people reach this server, https://HOST[:PORT]: for links that leave it, and for the "
		  "way "
		  "back from an identity provider. http:// only for a loopback address." },
		.group = "Network",
		ROW(public_url),
		.check = is_origin,
		.accepts =
			"https://HOST or https://HOST:PORT (http:// for a loopback address), without a path",
		.where = IN_SERVE | IN_RECOVER },

	{ .flag = { "oidc-issuer", "URL", "",
		  "An identity provider at which people sign in (OpenID Connect), by its own exact name. "
		  "Needs "
		  "oidc-client-id and public-url; at the provider, register the redirect URI "
		  "PUBLIC-URL/api/v1/session/oidc/callback." },
		.group = "Signing in",
		ROW(oidc_issuer),
		.check = is_issuer,
		.accepts = "a URL that begins with https:// (http:// for a loopback address), or nothing",
		.where = IN_SERVE },
	{ .flag = { "oidc-client-id", "ID", "", "What the provider calls this server." },
		.group = "Signing in",
		ROW(oidc_client_id),
		.check = is_any,
		.accepts = "some text, or nothing",
		.where = IN_SERVE },
	{ .flag = { "oidc-client-secret", "SECRET", "",
		  "The secret the provider gave for it; none for a public client. Give it by environment or "
		  "file: "
		  "command lines can be seen by others." },
		.group = "Signing in",
		ROW(oidc_client_secret),
		.check = is_any,
		.accepts = "some text, or nothing",
		.mask = mask_token,
		.where = IN_SERVE },
	{ .flag = { "oidc-ca", "FILE", "",
		  "Who may have signed the provider's certificate, PEM. Without it, whom the system "
		  "trusts." },
		.group = "Signing in",
		ROW(oidc_ca),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_SERVE },
	{ .flag = { "oidc-newcomer-role", "ROLE", "",
		  "The role of people who sign in at the provider and whom nobody has added, where their "
		  "verified "
		  "address is of oidc-newcomer-domains; never admin. Without it they are refused." },
		.group = "Signing in",
		ROW(oidc_newcomer_role),
		.check = is_any,
		.accepts = "the name of a role, or nothing",
		.where = IN_SERVE },
	{ .flag = { "oidc-newcomer-domains", "DOMAINS", "",
		  "Domains of e-mail addresses, separated by commas; example.org does not include its "
		  "subdomains." },
		.group = "Signing in",
		ROW(oidc_newcomer_domains),
		.check = is_domains,
		.accepts = "domains separated by commas, such as example.org,example.com",
		.where = IN_SERVE },

	{ .flag = { "oauth-registrations", "N", "20",
		  "How many MCP clients one address may register in an hour (OAuth); beyond it the answer is "
		  "429. "
		  "Raise "
		  "it behind a proxy. 0: none registers itself. People decide in any case whom they let "
		  "in." },
		.group = "Signing in",
		.type = SETTING_INT,
		ROW(oauth_registrations),
		.min = 0,
		.max = LIMIT_SETTING_REGISTRATIONS,
		.where = IN_SERVE },
	{ .flag = { "oauth-document-hosts", "HOSTS", "",
		  "Hosts, separated by commas, whose client ID metadata documents may be fetched although "
		  "they "
		  "are "
		  "not at a public address." },
		.group = "Signing in",
		ROW(oauth_document_hosts),
		.check = is_domains,
		.accepts = "hosts separated by commas, such as intranet.example.org",
		.where = IN_SERVE },
	{ .flag = { "oauth-ca", "FILE", "",
		  "Who may have signed the certificates of client ID metadata documents, PEM. Without it, "
		  "whom "
		  "the "
		  "system trusts." },
		.group = "Signing in",
		ROW(oauth_ca),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_SERVE },

	{ .flag = { "stdio-upstreams", "HOW", "off",
		  "Whether admins may add MCP servers that are programs on this machine: off, sandboxed (in "
		  "bubblewrap, "
		  "with nothing but what is granted), or unconfined (with all rights of this server)." },
		.group = "Other systems",
		ROW(stdio_upstreams),
		.check = is_programs,
		.accepts = "off, sandboxed or unconfined",
		.where = IN_SERVE | IN_DOCTOR },
	{ .flag = { "stdio-paths", "PATHS", "",
		  "What such programs may be shown of this machine in their sandbox, besides the system's "
		  "own "
		  "directories: absolute paths separated by commas, each with what is below it, to be read, "
		  "or "
		  "with :rw behind it to be written. An admin chooses among these for each program. "
		  "Countersign's "
		  "own data, keys, configuration and program are never shown." },
		.group = "Other systems",
		ROW(stdio_paths),
		.check = is_paths,
		.accepts = "absolute paths separated by commas, such as /srv/files,/srv/letters:rw",
		.where = IN_SERVE | IN_DOCTOR },

	{ .flag = { "workers", "N", "32", "Threads that run what needs the database." },
		.group = "Running",
		.type = SETTING_INT,
		ROW(workers),
		.min = 1,
		.max = LIMIT_SETTING_WORKERS,
		.where = IN_SERVE },
	{ .flag = { "drain-seconds", "N", "30", "How long a stop waits for requests that were accepted." },
		.group = "Running",
		.type = SETTING_INT,
		ROW(drain_seconds),
		.min = 0,
		.max = LIMIT_SETTING_DRAIN_SECONDS,
		.where = IN_SERVE },
	{ .flag = { "evaluations-per-second", "N", "0",
		  "How often one token may evaluate flags on this server; beyond it the answer is 429. 0 is "
		  "no "
		  "limit." },
		.group = "Running",
		.type = SETTING_INT,
		ROW(evaluations_per_second),
		.min = 0,
		.max = LIMIT_SETTING_EVALUATIONS,
		.where = IN_SERVE },
	{ .flag = { "open-proposals", "N", "1000",
		  "How many proposals one agent or person may have open at once; beyond it the answer is "
		  "429." },
		.group = "Running",
		.type = SETTING_INT,
		ROW(open_proposals),
		.min = 1,
		.max = LIMIT_SETTING_OPEN_PROPOSALS,
		.where = IN_SERVE },
	{ .flag = { "proposals-kept-days", "DAYS", "0",
		  "How long a closed proposal keeps its payload, card and result. Afterwards its hashes are "
		  "left, "
		  "who asked and what became of it; the audit log stays. 0: for ever." },
		.group = "Running",
		.type = SETTING_INT,
		ROW(kept_days),
		.min = 0,
		.max = LIMIT_SETTING_KEPT_DAYS,
		.where = IN_SERVE },

	{ .flag = { "server", "URL", "http://127.0.0.1:7700",
		  "The server that client commands talk to. Use https:// for one that is not on this "
		  "machine: the token goes there." },
		.group = "Client",
		ROW(server),
		.check = is_server,
		.accepts = "a URL that begins with http:// or https://, without a user or a query",
		.where = IN_CLIENT | IN_WRAP },
	{ .flag = { "server-ca", "FILE", "",
		  "Who may have signed the server's certificate, PEM. Without it, whom the system trusts." },
		.group = "Client",
		ROW(server_ca),
		.check = is_any,
		.accepts = FILE_OR_NOTHING,
		.where = IN_CLIENT | IN_WRAP },
	{ .flag = { "token", "TOKEN", "",
		  "Who you are for the server: a token of `token mint` or `init`. Give it by environment or "
		  "file: command lines can be seen by others." },
		.group = "Client",
		ROW(token),
		.check = is_token,
		.accepts = "a token as it was shown when it was minted",
		.mask = mask_token,
		.where = IN_CLIENT | IN_WRAP },
};

const size_t setting_count = sizeof(settings) / sizeof(settings[0]);
_Static_assert(sizeof(settings) / sizeof(settings[0]) <= SETTINGS_MAX, "SETTINGS_MAX has room for every row");
