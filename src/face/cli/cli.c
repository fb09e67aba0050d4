/* SPDX-License-Identifier: Apache-2.0 */
#include "face/cli/cli.h"

#include "face/cli/nearest.h"

const struct cli_flag cli_help_flag = { .name = "help", .doc = "Show this text." };

/* What is being read: the words that are left, and the lists that grow. */
struct reader {
	struct ctx *cx;
	const struct cli_command *command;
	const struct cli_flag *const *flags;
	size_t flag_count;
	char *const *words;
	struct cli_given *given;
	size_t given_count;
	str *arguments;
	size_t argument_count;
	bool help;
};

status
cli_find(struct ctx *cx, const struct cli_command *commands, str name, const struct cli_command **out_command)
{
	struct nearest guess = { 0 };

	if (str_starts(name, STR("-")))
		return fail(cx, E_INVALID,
			"a command comes first, then flags such as \"%.*s\"; `countersign help` lists the "
			"commands",
			STR_ARG(name));
	for (const struct cli_command *c = commands; c->name; c++) {
		if (str_eq(name, str_of(c->name))) {
			*out_command = c;
			return OK;
		}
		nearest_try(&guess, name, c->name);
	}
	if (guess.name)
		return fail(cx, E_INVALID, "there is no command \"%.*s\"; did you mean \"%s\"?",
			STR_ARG(name), guess.name);
	return fail(
		cx, E_INVALID, "there is no command \"%.*s\"; `countersign help` lists them", STR_ARG(name));
}

static status
unknown_flag(struct reader *r, str name)
{
	struct nearest guess = { 0 };

	for (size_t i = 0; i < r->flag_count; i++)
		nearest_try(&guess, name, r->flags[i]->name);
	if (guess.name)
		return fail(r->cx, E_INVALID, "%s does not take --%.*s; did you mean --%s?", r->command->name,
			STR_ARG(name), guess.name);
	return fail(r->cx, E_INVALID, "%s does not take --%.*s; `countersign %s --help` lists what it takes",
		r->command->name, STR_ARG(name), r->command->name);
}

static const struct cli_flag *
find_flag(const struct reader *r, str name)
{
	for (size_t i = 0; i < r->flag_count; i++)
		if (str_eq(name, str_of(r->flags[i]->name)))
			return r->flags[i];
	return NULL;
}

static status
check_once(const struct reader *r, const struct cli_flag *flag)
{
	for (size_t i = 0; i < r->given_count; i++)
		if (r->given[i].flag == flag && !flag->many)
			return fail(r->cx, E_INVALID, "--%s is given twice", flag->name);
	return OK;
}

/* Reads "name", or "name=value", and the value from the next word where it is not in this one. */
static status
read_flag(struct reader *r, str word)
{
	const struct cli_flag *flag;
	str name = word, value = { 0 };
	bool has_value = str_cut(word, '=', &name, &value);

	flag = find_flag(r, name);
	if (!flag)
		return unknown_flag(r, name);
	TRY(check_once(r, flag));
	if (!flag->value && has_value)
		return fail(r->cx, E_INVALID, "--%s takes no value", flag->name);
	if (flag->value && !has_value) {
		if (!*r->words)
			return fail(r->cx, E_INVALID, "--%s needs a value: --%s %s", flag->name, flag->name,
				flag->value);
		value = str_of(*r->words++);
	}
	if (flag == &cli_help_flag)
		r->help = true;
	r->given[r->given_count++] = (struct cli_given){ flag, value };
	return OK;
}

static status
read_argument(struct reader *r, str word)
{
	if (r->argument_count == r->command->max_arguments)
		return fail(r->cx, E_INVALID, "%s does not know what to do with \"%.*s\"", r->command->name,
			STR_ARG(word));
	r->arguments[r->argument_count++] = word;
	return OK;
}

static status
read_words(struct reader *r)
{
	bool flags_ended = false;

	while (*r->words) {
		str word = str_of(*r->words++);

		if (!flags_ended && str_eq(word, STR("--")))
			flags_ended = true;
		else if (!flags_ended && str_starts(word, STR("--")))
			TRY(read_flag(r, str_skip(word, 2)));
		else if (!flags_ended && str_eq(word, STR("-h")))
			r->help = true;
		else if (!flags_ended && word.len > 1 && word.ptr[0] == '-')
			return fail(r->cx, E_INVALID, "flags begin with two dashes; \"%.*s\" does not",
				STR_ARG(word));
		else
			TRY(read_argument(r, word));
	}
	return OK;
}

status
cli_read(struct ctx *cx, const struct cli_command *command, const struct cli_flag *const *flags,
	size_t flag_count, char *const *words, struct cli_call *out_call)
{
	struct reader r = {
		.cx = cx, .command = command, .flags = flags, .flag_count = flag_count, .words = words
	};
	size_t word_count = 0;

	while (words[word_count])
		word_count++;
	r.given = arena_alloc(cx->arena, (word_count + 1) * sizeof(*r.given));
	r.arguments = arena_alloc(cx->arena, (command->max_arguments + 1) * sizeof(*r.arguments));
	TRY(read_words(&r));
	*out_call = (struct cli_call){ .command = command,
		.given = r.given,
		.given_count = r.given_count,
		.arguments = r.arguments,
		.argument_count = r.argument_count,
		.help = r.help };
	return OK;
}

bool
cli_given(const struct cli_call *call, const char *name, str *out_value)
{
	for (size_t i = 0; i < call->given_count; i++) {
		if (str_eq(str_of(call->given[i].flag->name), str_of(name))) {
			if (out_value)
				*out_value = call->given[i].value;
			return true;
		}
	}
	return false;
}

const struct cli_given *
cli_next(const struct cli_call *call, const char *name, const struct cli_given *last)
{
	for (size_t i = last ? (size_t)(last - call->given) + 1 : 0; i < call->given_count; i++)
		if (str_eq(str_of(call->given[i].flag->name), str_of(name)))
			return &call->given[i];
	return NULL;
}
