/*
 * gendoc: writes a manual page from its template, or the completions of a shell. make docs runs it.
 *     gendoc man man/bpk-pack.1.in > man/bpk-pack.1
 *     gendoc bash > completions/bash/bpk
 *     gendoc bash bpk-mpi > completions/bash/bpk-mpi
 */
#include "cli/gendoc.h"

#include <stdlib.h>
#include <string.h>

/* man/bpk-pack.1.in belongs to the command pack; pages of no command belong to bpk itself. */
static const struct bpk_command *command_of_page(const char *path)
{
	const char *name = strrchr(path, '/');
	char text[64] = "";
	const struct bpk_command *command;

	name = name == NULL ? path : name + 1;
	if (strcmp(name, "bpk-mpi.1.in") == 0)
		bpk_program = &bpk_program_team;
	if (strncmp(name, "bpk-", 4) == 0)
		snprintf(text, sizeof text, "%.*s", (int)strcspn(name + 4, "."), name + 4);
	command = bpk_command_find(text);
	return command == NULL ? bpk_program->main : command;
}

static int write_page(const char *path)
{
	FILE *template = fopen(path, "r");
	int rc;

	if (template == NULL) {
		perror(path);
		return -1;
	}
	rc = bpk_gendoc_man(command_of_page(path), template, stdout);
	fclose(template);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	if (argc == 3 && strcmp(argv[2], bpk_program_team.name) == 0) {
		bpk_program = &bpk_program_team;
		argc--;
	}
	if (argc == 3 && strcmp(argv[1], "man") == 0) {
		rc = write_page(argv[2]);
	} else if (argc == 2 && strcmp(argv[1], "bash") == 0) {
		bpk_gendoc_bash(stdout);
	} else if (argc == 2 && strcmp(argv[1], "zsh") == 0) {
		bpk_gendoc_zsh(stdout);
	} else if (argc == 2 && strcmp(argv[1], "fish") == 0) {
		bpk_gendoc_fish(stdout);
	} else {
		fputs("usage: gendoc man TEMPLATE | gendoc bash|zsh|fish [bpk-mpi]\n", stderr);
		rc = -1;
	}
	return rc == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
