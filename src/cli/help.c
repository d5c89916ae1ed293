/* The text of --help, for main, and the command bpk help. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
	for (size_t i = 0; bpk_commands[i] != NULL; i++) {
		int used = printf("  %-*s", COLUMN - 2, bpk_commands[i]->name);

		/* the summary of a long name stands on a line of its own */
		if (used > COLUMN)
			printf("\n%*s", COLUMN, "");
		bpk_print_wrapped(bpk_commands[i]->summary, COLUMN, COLUMN, WIDTH);
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
}

void bpk_command_help_print(const struct bpk_command *command)
{
	bool is_main = command->name == NULL;

	printf("Usage: bpk %s%s%s\n", is_main ? "" : command->name,
	       is_main || command->synopsis[0] == '\0' ? "" : " ", command->synopsis);
	bpk_print_wrapped(command->description, 0, 0, WIDTH);
	if (is_main)
		print_commands();
	for (int group = 0; group < BPK_OPT_GROUPS; group++)
		print_group(command, (enum bpk_opt_group)group);
	print_environment(command);
	if (is_main)
		printf("\n'bpk COMMAND --help' lists a command's options,\n"
		       "'bpk help COMMAND' opens its manual.\n");
}

/* ---- bpk help ---- */

/* Does man know the page? Asked silently, since it may be missing itself. */
static bool has_page(const char *page)
{
	char *argv[] = { (char[]){ "man" }, (char[]){ "-w" }, (char *)page, NULL };
	posix_spawn_file_actions_t actions;
	int status = -1, failed;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return false;
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	failed = posix_spawnp(&pid, "man", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failed == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static void open_page(const struct bpk_command *command)
{
	char page[64];

	snprintf(page, sizeof page, "bpk%s%s", command->name != NULL ? "-" : "",
		 command->name != NULL ? command->name : "");
	if (has_page(page))
		execlp("man", "man", page, (char *)NULL);
	bpk_command_help_print(command);
}

static void run_help(void *args, char **operands, size_t count)
{
	const struct bpk_command *command = &bpk_command_main;
	struct bpk_err err = { 0 };

	(void)args;
	if (count > 1)
		bpk_fail(&err, BPK_USAGE, "takes one COMMAND, %zu were given", count);
	else if (count == 1 && (command = bpk_command_find(operands[0])) == NULL)
		bpk_command_unknown(operands[0], &err);
	if (err.kind != BPK_OK)
		bpk_report("help", &err);
	open_page(command);
}

const struct bpk_command bpk_command_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "open the manual page of a command",
	.description = "Opens the manual page of bpk or of COMMAND; prints its --help where manual "
		       "pages are not installed.",
	.operands = OPERANDS_COMMANDS,
	.options = rows,
	.args_size = sizeof(struct bpk_shared),
	.defaults = &defaults,
	.run = run_help,
};
