/*
 * gendoc: print what documents are made from, out of the tables that the program itself uses. Built
 * and run by those who change the tables; never installed.
 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/report.h"

/* A kind of document; NULL as a command stands for all of them, and bpk itself. */
struct emitter {
	const char *name;
	void (*emit)(const struct bpk_command *command);
};

static const char *text_or_nothing(const char *text)
{
	return text != NULL ? text : "";
}

/* letter, name, argument, title of the group, variable, words, help and more, with tabs between. */
static void emit_row(const struct bpk_command *command, const struct bpk_opt *opt)
{
	printf("%s\t%c\t%s\t%s\t%s\t%s\t", command->name == NULL ? "bpk" : command->name,
	       opt->letter != 0 ? opt->letter : ' ', text_or_nothing(opt->name),
	       text_or_nothing(opt->metavar), bpk_opt_group_title(opt->group),
	       text_or_nothing(opt->environment));
	for (size_t i = 0; bpk_opt_word(opt, i) != NULL; i++)
		printf("%s%s", i > 0 ? "," : "", bpk_opt_word(opt, i));
	printf("\t%s\t%s\n", opt->help, text_or_nothing(opt->more));
}

static void emit_rows_of(const struct bpk_command *command)
{
	for (size_t i = 0; command->options[i] != NULL; i++)
		emit_row(command, command->options[i]);
}

static void emit_rows(const struct bpk_command *command)
{
	if (command != NULL) {
		emit_rows_of(command);
		return;
	}
	emit_rows_of(&bpk_command_main);
	for (size_t i = 0; bpk_commands[i] != NULL; i++)
		emit_rows_of(bpk_commands[i]);
}

static void emit_exits(const struct bpk_command *command)
{
	(void)command;
	for (const struct bpk_exit *row = bpk_exits; row->meaning != NULL; row++)
		printf("%d\t%s\n", row->status, row->meaning);
}

static const struct emitter emitters[] = {
	{ "rows", emit_rows },
	{ "exits", emit_exits },
};

static const struct emitter *find_emitter(const char *name)
{
	for (size_t i = 0; i < sizeof emitters / sizeof emitters[0]; i++)
		if (strcmp(emitters[i].name, name) == 0)
			return &emitters[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct emitter *emitter = argc > 1 ? find_emitter(argv[1]) : NULL;
	const struct bpk_command *command = argc > 2 ? bpk_command_find(argv[2]) : NULL;

	if (emitter == NULL || argc > 3 || (argc > 2 && command == NULL)) {
		fprintf(stderr, "usage: gendoc rows|exits [COMMAND]\n");
		return 64;
	}
	emitter->emit(command);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
