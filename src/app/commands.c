/* SPDX-License-Identifier: Apache-2.0 */
#include "app/app.h"

#include "app/bridge/bridge.h"
#include "app/client/client.h"
#include "base/check.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/out.h"

#include <errno.h>
#include <unistd.h>

extern const struct cli_command commands[]; /* at the end: it names what is above it */

static const char about[] = "Countersign " COUNTERSIGN_VERSION
			    ": agents propose, people and policy decide, every decision is on record.";

status
app_print_to(struct ctx *cx, int fd, const struct buf *b)
{
	str text;

	TRY(buf_finish(b, &text));
	while (text.len) {
		ssize_t n = write(fd, text.ptr, text.len);

		if (n < 0 && errno != EINTR)
			return fail(
				cx, E_UNAVAILABLE, "standard output cannot be written: %s", strerror(errno));
		text = str_skip(text, n > 0 ? (size_t)n : 0);
	}
	return OK;
}

status
app_print(struct ctx *cx, const struct buf *b)
{
	return app_print_to(cx, STDOUT_FILENO, b);
}

/* --- help --- */

#define OWN_FLAGS_MAX 16u
#define FLAGS_MAX     (SETTINGS_MAX + OWN_FLAGS_MAX) /* every setting, a command's own few, --help */

static size_t
add_own_flags(const struct cli_command *command, const struct cli_flag **out)
{
	size_t n = 0;

	for (const struct cli_flag *f = command->flags; f && f->name; f++)
		out[n++] = f;
	out[n++] = &cli_help_flag;
	CHECK(n <= OWN_FLAGS_MAX);
	return n;
}

/* wrap is started anywhere, so its data is not where the other commands have theirs (wrap/place.h). */
static const struct cli_flag wrap_data = { .name = "data",
	.value = "DIR",
	.fallback = "~/.local/share/countersign",
	.doc = "The data directory that wraps share, with a server of your own on it. Made, for its owner "
	       "only, "
	       "where it is missing." };

static const struct cli_flag *
shown_flag(const struct cli_command *command, const struct cli_flag *f)
{
	return command->where == IN_WRAP && strcmp(f->name, wrap_data.name) == 0 ? &wrap_data : f;
}

/* One group per heading of the settings that apply, and the command's own flags first. */
static status
print_command_help(struct ctx *cx, const struct cli_command *command)
{
	const struct cli_flag *flags[FLAGS_MAX];
	struct cli_group groups[SETTINGS_MAX + 1] = { { "Flags", flags, add_own_flags(command, flags) } };
	size_t count = 1, used = groups[0].count;
	struct buf b;

	for (size_t row = 0; row < setting_count; row++) {
		const struct setting *s = &settings[row];

		if (!(s->where & command->where))
			continue;
		if (strcmp(groups[count - 1].heading, s->group) != 0)
			groups[count++] = (struct cli_group){ s->group, flags + used, 0 };
		flags[used++] = shown_flag(command, &s->flag);
		groups[count - 1].count++;
	}
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	cli_help_command(&b, PROGRAM, command, groups, count);
	return app_print(cx, &b);
}

static status
print_overview(struct ctx *cx)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	cli_help_overview(&b, PROGRAM, about, commands);
	return app_print(cx, &b);
}

static status
print_settings(struct ctx *cx, bool markdown)
{
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (markdown)
		config_markdown(&b);
	else
		config_help(&b);
	return app_print(cx, &b);
}

static status
run_help(struct ctx *cx, const struct cli_call *call)
{
	const struct cli_command *command;
	bool markdown = cli_given(call, "markdown", NULL);

	if (call->argument_count && str_eq(call->arguments[0], STR("settings")))
		return print_settings(cx, markdown);
	if (markdown)
		return fail(cx, E_INVALID, "--markdown goes with `countersign help settings`");
	if (!call->argument_count)
		return print_overview(cx);
	TRY(cli_find(cx, commands, call->arguments[0], &command));
	return print_command_help(cx, command);
}

/* --- version, faults --- */

static status
run_version(struct ctx *cx, const struct cli_call *call)
{
	struct json_out o;
	struct buf b;

	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	if (!cli_given(call, "json", NULL)) {
		buf_printf(&b, "Countersign %s\n", COUNTERSIGN_VERSION);
		return app_print(cx, &b);
	}
	json_out_init(&o, &b);
	json_out_object(&o, NULL);
	json_out_str(&o, "version", STR(COUNTERSIGN_VERSION));
	json_out_str(&o, "compiler", STR(__VERSION__));
	json_out_bool(&o, "faults", fault_enabled());
	json_out_end(&o);
	buf_add_char(&b, '\n');
	return app_print(cx, &b);
}

static status
run_faults(struct ctx *cx, const struct cli_call *call)
{
	struct buf b;

	(void)call;
	if (!fault_enabled())
		return fail(cx, E_UNAVAILABLE,
			"fault points are not compiled into this program; build with -Dfaults=true");
	buf_init(&b, cx->arena, LIMIT_HTTP_ANSWER);
	for (enum fault_point p = 0; p < FAULT_COUNT; p++)
		buf_printf(&b, "%-20s %s\n", fault_name(p), fault_doc(p));
	return app_print(cx, &b);
}

/* --- the table --- */

static const struct cli_flag json_flag[] = {
	{ .name = "json", .doc = "Print one JSON object, for programs." },
	{ 0 },
};
static const struct cli_flag serve_flags[] = {
	{ .name = "conformance",
		.doc = "At /mcp serve the fixture of the official MCP conformance suite, to anybody, and "
		       "nothing of "
		       "your own; on a loopback address only." },
	{ 0 },
};
static const struct cli_flag init_flags[] = {
	{ .name = "name",
		.value = "NAME",
		.fallback = "Default",
		.doc = "What people see as the organization's name." },
	{ .name = "email",
		.value = "ADDRESS",
		.fallback = "admin@localhost",
		.doc = "How the first admin signs in." },
	{ .name = "json", .doc = "Print one JSON object, for programs; an error too." },
	{ 0 },
};
static const struct cli_flag help_flags[] = {
	{ .name = "markdown", .doc = "With `settings`: as docs/settings.md has them." },
	{ 0 },
};

static const struct cli_flag audit_flags[] = {
	{ .name = "org",
		.value = "ORG",
		.doc = "Whose log, by the organization's id or slug; not needed where there is one." },
	{ .name = "key",
		.value = "KEY",
		.doc = "verify: the public key, name+id+base64. Without it a file is trusted to name its "
		       "own." },
	{ .name = "checkpoint", .value = "FILE", .doc = "verify: a checkpoint that you kept." },
	{ .name = "csv", .doc = "export: as CSV, which cannot be verified." },
	{ .name = "limit", .value = "N", .fallback = "20", .doc = "tail: how many entries." },
	{ .name = "json", .doc = "Print JSON, for programs." },
	{ 0 },
};

static const struct cli_flag recover_flags[] = {
	{ .name = "email",
		.value = "ADDRESS",
		.doc = "The admin who gets a link. Where nobody is admin any more, this person becomes "
		       "one." },
	{ .name = "switch-off-four-eyes",
		.doc = "Every proposal needs one vote from then on, of anybody who may vote." },
	{ .name = "org",
		.value = "ORG",
		.doc = "Which organization, by its id or slug; not needed where there is one." },
	{ .name = "json", .doc = "Print one JSON object, for programs." },
	{ 0 },
};

const struct cli_command commands[] = {
	{ .name = "serve",
		.summary = "Run the server.",
		.doc = "Opens the database, listens, brings the schema up to date, and says where when it is "
		       "ready.\n"
		       "\n"
		       "SIGTERM or SIGINT stops it: what was accepted is finished first; another "
		       "signal, a second or more later, ends it at once. SIGHUP reads the TLS certificate "
		       "again. The log goes to standard error, one "
		       "event a line.",
		.examples =
			"serve\tSQLite in ./data, at http://127.0.0.1:7700\n"
			"serve --listen 127.0.0.1:8080 --data /var/lib/countersign\tanother port and place\n"
			"serve --database postgres://countersign@db.example/countersign\tPostgreSQL",
		.flags = serve_flags,
		.where = IN_SERVE,
		.run = run_serve },
	{ .name = "init",
		.summary = "Set up a database: first organization, admin and agent.",
		.doc = "Brings the schema up to date, makes the key file, an organization with a project and "
		       "the "
		       "environments production and staging, an admin, and an agent with a safe token. Once: "
		       "a "
		       "second time it says already_exists, changes nothing and ends with 1.\n"
		       "\n"
		       "Password and tokens are shown here and never again. With --json it prints "
		       "{\"adminEmail\", "
		       "\"adminPassword\", \"adminToken\", \"agentToken\", \"orgId\", \"projectId\", "
		       "\"environments\": {\"production\", \"staging\"}}.",
		.examples = "init --data /var/lib/countersign\ta new installation on SQLite",
		.flags = init_flags,
		.where = IN_INIT,
		.run = run_init },
	{ .name = "migrate",
		.summary = "Bring the database's schema up to date.",
		.doc = "Says which version the schema had and has. `serve` does this too; it is here for "
		       "those who "
		       "want it to happen at a time of their own.",
		.where = IN_MIGRATE,
		.run = run_migrate },
	{ .name = "doctor",
		.summary = "Check what it stands on, and say what to do.",
		.doc = "Looks at the data directory, the disk, the database, the address, the clock and the "
		       "kernel, and changes "
		       "nothing. Ends with 1 where something fails; a warning is not a failure.",
		.flags = json_flag,
		.where = IN_DOCTOR,
		.run = run_doctor },
	{ .name = "recover",
		.summary = "Get back in: a new link for an admin; four eyes off.",
		.doc = "For an admin who lost their password, or when a second person who has to agree is "
		       "gone. It needs "
		       "the database and the key file. It prints a one-time link with which the admin sets a "
		       "password; it "
		       "sets none itself.\n"
		       "\n"
		       "Every use is on record, and everybody in the organization is shown for 30 days that "
		       "access was "
		       "recovered. On SQLite stop the server first; on PostgreSQL servers may run.",
		.examples =
			"recover --data /var/lib/countersign --email ada@example.org\ta link for this admin\n"
			"recover --data /var/lib/countersign --switch-off-four-eyes\tone person decides "
			"again",
		.flags = recover_flags,
		.where = IN_RECOVER,
		.run = run_recover },
	{ .name = "audit",
		.arguments = " verify [FILE] | export | tail",
		.max_arguments = 2,
		.summary = "Verify, export or show the audit log.",
		.doc = "verify FILE checks an export: every entry, the tree, the signature; it needs no "
		       "server, no "
		       "database and no secret. verify without a file checks every log of the database. "
		       "export "
		       "writes the log to standard output; tail shows its newest entries. docs/audit.md has "
		       "the "
		       "formats.\n"
		       "\n"
		       "Ends with 1 where something is wrong with the log. On SQLite the database must not "
		       "be in use; "
		       "the server gives the same over its API.",
		.examples =
			"audit verify log.jsonl --key KEY --checkpoint kept.txt\tis this what was signed?\n"
			"audit verify --data /var/lib/countersign\tis the database?\n"
			"audit export > log.jsonl\teverything, to be verified elsewhere",
		.flags = audit_flags,
		.where = IN_AUDIT,
		.run = run_audit },
	{ .name = "token",
		.arguments = " mint NAME | list | revoke ID",
		.max_arguments = 2,
		.summary = "Mint, list or revoke tokens of a running server.",
		.doc = "mint makes a token and shows it, once. Without --for it is your own; with it, it is "
		       "an "
		       "agent's that acts on your authority, and never holds more than you do. list shows "
		       "those you may see, revoke ends one and everything minted from it.\n"
		       "\n"
		       "COUNTERSIGN_TOKEN says who you are.",
		.examples = "token mint \"night builds\" --for AGENT_ID --ttl 86400\ta day for an agent\n"
			    "token mint voting --voting\tone of your own that may approve, for an hour\n"
			    "token revoke ID\tat once, on every server",
		.flags = token_flags,
		.where = IN_CLIENT,
		.run = run_token },
	{ .name = "upstream",
		.arguments = " list | add NAME | tools NAME | refresh NAME | accept NAME TOOL ... | refuse "
			     "NAME TOOL | "
			     "disable NAME | enable NAME | remove NAME",
		.max_arguments = LIMIT_SOURCE_WORDS + 3,
		.summary = "Other MCP servers behind the gate: add them, accept their tools.",
		.doc = "add takes --url, or a program after two dashes with what it is granted (as `wrap`). "
		       "refresh asks the server what it offers; nothing of it can be called before an admin "
		       "accepts it. accept shows each definition, asks, and accepts exactly what it showed. "
		       "tools shows what is known, refuse takes a tool back, disable and enable switch a "
		       "server, remove forgets it.\n"
		       "\n"
		       "COUNTERSIGN_EMAIL says who signs in: an admin, with the password when asked. add of "
		       "a server "
		       "over HTTP, list and tools take COUNTERSIGN_TOKEN, too.",
		.examples =
			"upstream add files -- npx -y @modelcontextprotocol/server-filesystem /srv/letters\t"
			"a program\n"
			"upstream add wiki --url https://wiki.example/mcp --bearer WIKI_TOKEN\tover HTTP\n"
			"upstream accept files read_text_file --effect read --tier always_allow\t"
			"agents may read",
		.flags = upstream_flags,
		.where = IN_CLIENT,
		.run = run_upstream },
	{ .name = "propose",
		.arguments = " TOOL",
		.max_arguments = 1,
		.summary = "Ask for a tool to be called.",
		.doc = "Checks the input, shows what would happen and stores exactly that; nothing is "
		       "changed "
		       "until it is approved and applied. The apply token it prints lets its holder apply "
		       "what policy and votes allow.",
		.examples = "propose note.create --input '{\"title\": \"Hello\", \"text\": \"World\"}'\t"
			    "a note\n"
			    "propose note.create --input @note.json --key build-17\t"
			    "sent twice, it is one proposal",
		.flags = propose_flags,
		.where = IN_CLIENT,
		.run = run_propose },
	{ .name = "proposals",
		.arguments = " [ID]",
		.max_arguments = 1,
		.summary = "List proposals, or show one.",
		.doc = "Lists those you may see, the newest first. With an id it shows the card: what would "
		       "happen, to what, with which risk, who asked; the agent's own words come last.",
		.examples = "proposals --status pending\twhat waits for a decision",
		.flags = proposals_flags,
		.where = IN_CLIENT,
		.run = run_proposals },
	{ .name = "approve",
		.arguments = " ID",
		.max_arguments = 1,
		.summary = "Look at a proposal and vote for it.",
		.doc = "Shows the card, asks, and votes for exactly what it showed: if the stored card is "
		       "another one, the vote is refused. With --json the card goes to standard error.\n"
		       "\n"
		       "Only a person can vote: by signing in (COUNTERSIGN_EMAIL), with a token of `token "
		       "mint "
		       "--voting`, or with the admin token of `init` during its first hour. Ends with 1 "
		       "where --apply was given and it was not "
		       "applied; the vote counts all the same.",
		.examples = "approve ID\tlook, answer, done\n"
			    "approve ID --apply\tand make it happen where that was the last vote it needed",
		.flags = approve_flags,
		.where = IN_CLIENT,
		.run = run_approve },
	{ .name = "deny",
		.arguments = " ID",
		.max_arguments = 1,
		.summary = "Vote against a proposal. One is enough.",
		.doc = "Shows the card and votes against it, which ends the proposal. It does not ask: a "
		       "denied proposal can be made again.",
		.examples = "deny ID --reason \"not during the freeze\"\tthe proposer sees why",
		.flags = deny_flags,
		.where = IN_CLIENT,
		.run = run_deny },
	{ .name = "apply",
		.arguments = " ID|TOKEN|-",
		.max_arguments = 1,
		.summary = "Make an approved proposal happen.",
		.doc = "By id, for who may do it themselves; or by the apply token that `propose` printed "
		       "(\"-\" reads it from standard input, so that no command line shows it). It happens "
		       "once, and only as it was shown.",
		.flags = apply_flags,
		.where = IN_CLIENT,
		.run = run_apply },
	{ .name = "export",
		.summary = "Write an environment to a file.",
		.doc = "The flags, configs and segments of an environment as one JSON file that git can "
		       "diff: "
		       "the same environment gives the same bytes.",
		.examples = "export --env production --out flags.json\tas it is now",
		.flags = export_flags,
		.where = IN_CLIENT,
		.run = run_export },
	{ .name = "import",
		.arguments = " FILE|-",
		.max_arguments = 1,
		.summary = "Ask for an environment to become what a file says.",
		.doc = "Makes a proposal of a file: of `export`, of flagd, or of Unleash. What the file says "
		       "and "
		       "Countersign cannot is said on standard error, item by item; then nothing is asked "
		       "for, "
		       "unless --skip-unsupported leaves these items out.",
		.examples = "import --env staging flags.json\twhat export wrote\n"
			    "import --format unleash --print features.json\tlook at what it would become",
		.flags = import_flags,
		.where = IN_CLIENT,
		.run = run_import },
	{ .name = "mcp",
		.summary = "Speak MCP on standard input and output, for a running server.",
		.doc = "For clients that start a program: one JSON message a line, in both directions, and "
		       "nothing else on "
		       "standard output. Every message goes to /mcp of the server, with the token of "
		       "COUNTERSIGN_TOKEN, so it may do what that token may and no more. It ends with its "
		       "input.",
		.examples = "mcp --server http://127.0.0.1:7700\twhat an MCP client's configuration starts",
		.where = IN_CLIENT,
		.run = run_mcp },
	{ .name = "wrap",
		.arguments = " -- PROGRAM [ARGUMENT ...]",
		.max_arguments = LIMIT_SOURCE_WORDS + 1,
		.summary = "Put the gate in front of an MCP server, in the line that starts it.",
		.doc = "For an MCP client's configuration, in place of the server's own line: it speaks MCP "
		       "on "
		       "standard input and output, starts the program in a sandbox, and lets through what an "
		       "admin has accepted; what changes something waits for a person. It says on standard "
		       "error what the program is granted: what the line names (a folder to be written, a "
		       "file to be read), the folder it is installed in, and for a package runner such as "
		       "npx the network.\n"
		       "\n"
		       "Without COUNTERSIGN_TOKEN it has a server of your own, which the first wrap starts "
		       "on "
		       "--data (without it, ~/.local/share/countersign) and the last one ends; where you "
		       "sign in is said, too. With COUNTERSIGN_TOKEN, an agent's, it uses the server of "
		       "--server.",
		.examples = "wrap -- npx -y @modelcontextprotocol/server-filesystem /srv/letters\t"
			    "its tools, behind the gate\n"
			    "wrap --name files --read /srv/letters -- node server.js /srv/letters\t"
			    "it may read there and nothing else\n"
			    "wrap --env API_KEY --allow-network -- weather-server\t"
			    "with a variable of yours, and the network",
		.flags = wrap_flags,
		.where = IN_WRAP,
		.run = run_wrap },
	{ .name = "version",
		.summary = "Say which version this is.",
		.doc = "Prints the version; with --json also the compiler and whether fault points are "
		       "compiled in.",
		.flags = json_flag,
		.run = run_version },
	{ .name = "faults",
		.summary = "List the places where tests can make it fail.",
		.doc = "Lists the fault points, one a line: name and what has just happened there. "
		       "Builds for people do not have them.",
		.run = run_faults },
	{ .name = "help",
		.arguments = " [COMMAND | settings]",
		.max_arguments = 1,
		.summary = "Explain a command, or every setting.",
		.doc = "Prints the overview, the help of one command, or every setting with its flag, "
		       "variable and default.",
		.examples = "help serve\twhat serve does and takes\nhelp settings\tevery setting",
		.flags = help_flags,
		.run = run_help },
	{ 0 },
};

/* --- running one --- */

static size_t
flags_of(const struct cli_command *command, const struct cli_flag **out)
{
	size_t n = add_own_flags(command, out);

	for (size_t row = 0; row < setting_count; row++)
		if (settings[row].where & command->where)
			out[n++] = &settings[row].flag;
	return n;
}

static status
load_settings(struct ctx *cx, const struct cli_call *call, char *const *env)
{
	struct config *c = &cx->app->config;
	enum log_level level = LOG_INFO;

	TRY(config_load(cx, call, env, c));
	CHECK(log_level_of(c->log_level, &level)); /* config let nothing else in */
	log_set_level(level);
	return OK;
}

/* Others can read a command line: the token does not stay in ours. */
static void
hide_token(struct ctx *cx, char *const *words)
{
	str *token = &cx->app->config.token;
	uintptr_t at = (uintptr_t)token->ptr;

	*token = arena_str(cx->arena, *token);
	for (; *words; words++) {
		uintptr_t word = (uintptr_t)*words;

		if (at >= word && at < word + strlen(*words))
			memset(*words + (at - word), '*', token->len);
	}
}

/* COUNTERSIGN_FAULT arms a fault point, COUNTERSIGN_TEST_PLANT plants a bug; config refuses the first where
 * there are none. */
static status
arm_fault(struct ctx *cx, char *const *env)
{
	str name, value;

	for (; fault_enabled() && *env; env++) {
		if (!str_cut(str_of(*env), '=', &name, &value))
			continue;
		if (str_eq(name, STR("COUNTERSIGN_FAULT")) && !fault_arm(value.ptr))
			return fail(cx, E_INVALID,
				"COUNTERSIGN_FAULT must be NAME:N:MODE, where `countersign faults` lists the "
				"names and MODE is kill, fail, break or stop");
		if (str_eq(name, STR("COUNTERSIGN_TEST_PLANT")) && !fault_plant(value.ptr))
			return fail(cx, E_INVALID, "COUNTERSIGN_TEST_PLANT names no bug of base/fault.h");
	}
	return OK;
}

status
command_run(struct ctx *cx, char *const *words, char *const *env)
{
	const struct cli_flag *flags[FLAGS_MAX];
	const struct cli_command *command;
	struct cli_call call;
	str name = str_of(words[0]);

	if (!name.len)
		return fail(cx, E_INVALID, "which command? `countersign help` lists them");
	if (str_eq(name, STR("--help")) || str_eq(name, STR("-h")))
		return print_overview(cx);
	if (str_eq(name, STR("--version")))
		name = STR("version");
	TRY(cli_find(cx, commands, name, &command));
	TRY(cli_read(cx, command, flags, flags_of(command, flags), words + 1, &call));
	if (call.help)
		return print_command_help(cx, command);
	if (command->where) {
		TRY(load_settings(cx, &call, env));
		hide_token(cx, words);
		TRY(arm_fault(cx, env));
	}
	return command->run(cx, &call);
}
