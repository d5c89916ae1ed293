/* The run of a program, by its arguments. main.c calls it, and the main of bpk-mpi. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/record.h"
#include "cli/remote.h"
#include "cli/report.h"
#include "cli/share.h"

/*
 * A descriptor that was closed at start would be given to the next file opened, and messages would
 * land in it. It is opened the wrong way round, so that using it fails instead of losing data.
 */
static void open_missing_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
}

/* rank 0 prints for all. */
static void be_silent(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	bpk_report_silence(true);
	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	close(fd);
}

static void note_wait(const char *path, const char *holder)
{
	bpk_note(path, "waits for a lock that %s holds", holder);
}

static void note_lost(const char *path)
{
	bpk_note(path, "did not get all attributes and access rights of the file it replaces");
}

static void run_command(const struct bpk_command *command, int argc, char **argv)
{
	struct bpk_err err = { 0 };
	void *args = bpk_calloc(1, command->args_size, &err);
	char *defaults = NULL;
	int first = argc;

	if (args == NULL)
		bpk_report(NULL, &err);
	if (args == NULL)
		return;
	memcpy(args, command->defaults, command->args_size);
	((struct bpk_shared *)args)->command = command->name;
	((struct bpk_shared *)args)->memory_limit = BPK_UNKNOWN;
	((struct bpk_shared *)args)->max_output = BPK_UNKNOWN;
	if (bpk_opts_from_environment(command, args, &err) != 0 ||
	    bpk_opts_from_defaults(command, args, &defaults, &err) != 0 ||
	    bpk_opts_parse(command, argc, argv, args, &first, &err) != 0)
		bpk_report(command->name, &err);
	else if (bpk_shared_complete(args)->help)
		bpk_command_help_print(command);
	else {
		/* the libraries of a team's messages open files and devices at any time */
		if (command->reads && ((struct bpk_shared *)args)->cache == NULL &&
		    !((struct bpk_shared *)args)->heal && bpk_program->team == NULL)
			bpk_confine(((struct bpk_shared *)args)->state);
		bpk_remote_begin(args);
		command->run(args, argv + first, (size_t)(argc - first));
		bpk_record_settle(args, NULL); /* a failure that no input has */
		bpk_remote_end(args);
	}
	bpk_opts_clear(command, args);
	free(args);
	free(defaults);
}

static int usage(void)
{
	const char *name = bpk_program->name;

	if (bpk_report_silence(false))
		return 64;
	fprintf(stderr,
		"Usage: %s %s\n"
		"       %s --help lists the commands\n",
		name, bpk_program->main->synopsis, name);
	return 64;
}

int bpk_program_run(const struct bpk_program *program, int argc, char **argv)
{
	struct bpk_main_args args = { 0 };
	const struct bpk_command *command = NULL;
	struct bpk_err err = { 0 };
	int first = argc;

	bpk_program = program;
	open_missing_descriptors();
	bpk_complete_streams();
	if (program->team != NULL && program->team->rank > 0)
		be_silent();
	bpk_on_wait(note_wait);
	bpk_edit_on_lost(note_lost);
	signal(SIGXFSZ, SIG_IGN); /* it arrives as EFBIG, wherever results are printed */
	if (bpk_opts_parse(program->main, argc, argv, &args, &first, &err) != 0)
		bpk_report(NULL, &err);
	else if (args.shared.help)
		bpk_command_help_print(program->main);
	else if (args.version)
		bpk_version_print();
	else if (first >= argc)
		return usage();
	else if ((command = bpk_command_find(argv[first])) == NULL)
		bpk_command_unknown(argv[first], &err);
	if (command != NULL && bpk_share_begin(&args, argc - first, argv + first, &err) == 0)
		run_command(command, argc - first, argv + first);
	else if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
	bpk_flush_results();
	bpk_share_end();
	return bpk_report_status();
}
