/* The text of --help, for main, and the command bpk help. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/text.h"

enum { WIDTH = 79, HELP_COLUMN = 28 };

static const struct bpk_opt *const rows[] = { &bpk_opt_help, NULL };
static const struct bpk_shared defaults;

/* ---- --help ---- */

/* "  -c, --codec NAME"; returns the width. */
static size_t print_option_name(const struct bpk_opt *opt)
{
	int width;

	if (opt->type == OPT_DIGITS)
		return (size_t)printf("  -0 ... -9");
	if (opt->letter != 0)
		width = printf("  -%c, --%s", opt->letter, opt->name);
	else
		width = printf("      --%s", opt->name);
	if (bpk_opt_takes_argument(opt))
		width += printf(" %s", opt->metavar);
	return (size_t)width;
}

/* The help line with the words that the option takes, as in "pack with codec NAME: lz4, zstd". */
static void print_option_help(const struct bpk_opt *opt, size_t column)
{
	char text[512];
	size_t used = (size_t)snprintf(text, sizeof text, "%s", opt->help);

	for (size_t i = 0; bpk_opt_word(opt, i) != NULL && used < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
					 i == 0 ? ": " : ", ", bpk_opt_word(opt, i));
	bpk_print_wrapped(text, column, HELP_COLUMN, WIDTH);
}

static void print_option(const struct bpk_opt *opt)
{
	size_t column = print_option_name(opt);

	if (column + 2 > HELP_COLUMN) {
		putchar('\n');
		column = 0;
	}
	printf("%*s", (int)(HELP_COLUMN - column), "");
	print_option_help(opt, HELP_COLUMN);
}

static void print_group(const struct bpk_command *command, enum bpk_opt_group group)
{
	bool titled = false;

	for (size_t i = 0; command->options[i] != NULL; i++) {
		if (command->options[i]->group != group)
			continue;
		if (!titled)
			printf("\n%s:\n", bpk_opt_group_title(group));
		titled = true;
		print_option(command->options[i]);
	}
}

static void print_commands(void)
{
	enum { COLUMN = 12 };

	printf("\nCommands:\n");
	for (size_t i = 0; bpk_program->commands[i] != NULL; i++) {
		int used = printf("  %-*s", COLUMN - 2, bpk_program->commands[i]->name);

		/* the summary of a long name stands on a line of its own */
		if (used > COLUMN)
			printf("\n%*s", COLUMN, "");
		bpk_print_wrapped(bpk_program->commands[i]->summary, COLUMN, COLUMN, WIDTH);
	}
}

static void print_environment(const struct bpk_command *command)
{
	bool titled = false;

	for (size_t i = 0; command->options[i] != NULL; i++) {
		const struct bpk_opt *opt = command->options[i];

		if (opt->environment == NULL)
			continue;
		if (!titled)
			printf("\nDefaults from the environment:\n");
		titled = true;
		printf("  %-24s  --%s\n", opt->environment, opt->name);
	}
	if (titled)
		puts("  BPK_OPTIONS               all options");
}

/* A line for each way to call it. */
static void print_usage(const struct bpk_command *command)
{
	const char *name = command->name == NULL ? "" : command->name, *line = command->synopsis;
	const char *before = "Usage:";

	do {
		int size = (int)strcspn(line, "\n");

		printf("%s %s%s%s%s%.*s\n", before, bpk_program->name, *name == '\0' ? "" : " ",
		       name, size == 0 ? "" : " ", size, line);
		line += size;
		before = "      ";
	} while (*line++ != '\0');
}

void bpk_command_help_print(const struct bpk_command *command)
{
	bool is_main = command->name == NULL;

	print_usage(command);
	bpk_print_wrapped(command->description, 0, 0, WIDTH);
	if (is_main)
		print_commands();
	for (int group = 0; group < BPK_OPT_GROUPS; group++)
		print_group(command, (enum bpk_opt_group)group);
	print_environment(command);
	if (is_main)
		printf("\n'%s COMMAND --help' lists a command's options,\n"
		       "'%s help COMMAND' opens its manual.\n",
		       bpk_program->name, bpk_program->name);
}

/* ---- bpk help ---- */

/* The status of a shell's command, 128 + N after signal N. */
static int run_shell(const char *line)
{
	int status = system(line);

	if (status != -1 && WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Open a manual page; false if man does not know it, or is missing itself: it is first asked
 * silently. page is a word of the shell. */
static bool open_manual(const char *page, struct bpk_err *err)
{
	char line[128];
	int status;

	snprintf(line, sizeof line, "man -w %s >/dev/null 2>&1", page);
	/* a pager under mpirun would wait for a terminal that is not there */
	if (bpk_program->library != NULL || run_shell(line) != 0)
		return false;
	snprintf(line, sizeof line, "exec man %s", page);
	status = run_shell(line);
	if (status > 128)
		exit(status);
	if (status != 0)
		bpk_fail(err, BPK_FAILED, "man failed with status %d", status);
	return true;
}

static void open_page(const struct bpk_command *command, struct bpk_err *err)
{
	char page[64];

	snprintf(page, sizeof page, "bpk%s%s", command->name != NULL ? "-" : "",
		 command->name != NULL ? command->name : "");
	if (!open_manual(page, err))
		bpk_command_help_print(command);
}

/* Pages that are of no command. */
static const char *const topics[] = { "formats", "remote", "mpi", NULL };

static bool is_topic(const char *name)
{
	for (size_t i = 0; topics[i] != NULL; i++)
		if (strcmp(topics[i], name) == 0)
			return true;
	return false;
}

static void open_topic(const char *name, struct bpk_err *err)
{
	char page[64];

	snprintf(page, sizeof page, "bpk-%s", name);
	if (!open_manual(page, err))
		bpk_fail(err, BPK_FAILED,
			 bpk_program->library == NULL ? "the manual page %s is not installed"
						      : "'man %s' opens this page",
			 page);
}

static void run_help(void *args, char **operands, size_t count)
{
	const struct bpk_command *command = bpk_program->main;
	struct bpk_err err = { 0 };

	(void)args;
	if (count > 1)
		bpk_fail(&err, BPK_USAGE, "takes one COMMAND, %zu were given", count);
	else if (count == 1 && is_topic(operands[0]))
		open_topic(operands[0], &err);
	else if (count == 1 && (command = bpk_command_find(operands[0])) == NULL)
		bpk_command_unknown(operands[0], &err);
	else
		open_page(command, &err);
	if (err.kind != BPK_OK)
		bpk_report("help", &err);
}

const struct bpk_command bpk_command_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "open the manual page of a command",
	.description =
		"Opens the manual page of bpk or of COMMAND; prints its --help where manual "
		"pages are not installed. \"formats\", \"remote\" and \"mpi\" are pages, too.",
	.operands = OPERANDS_COMMANDS,
	.options = rows,
	.args_size = sizeof(struct bpk_shared),
	.defaults = &defaults,
	.run = run_help,
};
