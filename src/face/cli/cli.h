/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: a command line read by tables, and help printed from the same tables.
 *
 *	program COMMAND [--flag VALUE | --flag=VALUE | --switch] [ARGUMENT ...]
 *
 *	cli_find -> cli_read -> command->run
 *
 * An unknown word is an error with one sentence that says what was meant,
 * where that can be guessed. A flag given twice is an error: nobody means both
 * (but for those of which there may be several).
 */
#ifndef FACE_CLI_CLI_H
#define FACE_CLI_CLI_H

#include "base/buf.h"
#include "base/ctx.h"

struct cli_flag {
	const char *name;     /* "listen": given as --listen */
	const char *value;    /* what stands for its value in the help, "HOST:PORT"; NULL: a switch */
	const char *fallback; /* the value without it, for the help; NULL: none worth showing */
	const char *doc;      /* one or two sentences */
	bool many;	      /* may be given several times */
};

struct cli_given {
	const struct cli_flag *flag;
	str value; /* empty for a switch */
};

/* A command line that has been understood. */
struct cli_call {
	const struct cli_command *command;
	const struct cli_given *given;
	size_t given_count;
	const str *arguments;
	size_t argument_count;
	bool help; /* --help or -h was among the flags: print the command's help, run nothing */
};

struct cli_command {
	const char *name;
	const char *arguments;	      /* what follows, for the usage line; NULL: nothing does */
	size_t max_arguments;	      /* how many may follow */
	const char *summary;	      /* a few words, for the overview */
	const char *doc;	      /* what it does, for its own help */
	const char *examples;	      /* lines of "command line\twhat it is for" */
	const struct cli_flag *flags; /* its own, ended by a zero record; NULL: none */
	unsigned where;		      /* which of the program's settings it takes; the program's business */
	status (*run)(struct ctx *cx, const struct cli_call *call);
};

/* The switch that every command knows. */
extern const struct cli_flag cli_help_flag;

/* E_INVALID  there is no such command; commands is ended by a zero record */
status cli_find(struct ctx *cx, const struct cli_command *commands, str name,
	const struct cli_command **out_command) MUST_USE;

/*
 * Reads what follows the command's name (ended by NULL). flags is everything it
 * takes, cli_help_flag included. "--" ends the flags.
 *
 * E_INVALID  an unknown flag, one given twice, a missing or superfluous value, too many arguments
 */
status cli_read(struct ctx *cx, const struct cli_command *command, const struct cli_flag *const *flags,
	size_t flag_count, char *const *words, struct cli_call *out_call) MUST_USE;

/* Was the switch or flag of that name given? Its value, where it has one. */
bool cli_given(const struct cli_call *call, const char *name, str *out_value);

/* Those of a flag that may be given several times: the next after `last`, which is NULL at first; NULL: no more. */
const struct cli_given *cli_next(const struct cli_call *call, const char *name, const struct cli_given *last);

/* A part of a command's help: a heading and its flags. */
struct cli_group {
	const char *heading;
	const struct cli_flag *const *flags;
	size_t count;
};

/* The help of one command, and the overview of all of them. Plain text, 80 columns. */
void cli_help_command(struct buf *b, const char *program, const struct cli_command *command,
	const struct cli_group *groups, size_t count);
void
cli_help_overview(struct buf *b, const char *program, const char *about, const struct cli_command *commands);

/* Text in lines of at most width columns, each after the first indented; ends with a line break. */
void cli_wrap(struct buf *b, str text, size_t indent, size_t width);

#endif
