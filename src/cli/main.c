/*
 * bpk: packs binary and simulation data into archives of Blosc chunks.
 *
 * A map of the house; calls go down only. The first comment of each file says what it is for, and
 * who calls it.
 *
 *     cli                argv, stdio, signals, exit: main.c, a file per command, and shared parts
 *                        opt.c command.h    options and commands as rows of tables
 *                        transfer.c input.c      opening, naming, running, keeping
 *                        report.c signal.c  errors, exit status, the end by a signal
 *     archive            an open archive: its arrays, append, overwrite, truncate, follow, join
 *     flow               reads parcels, works on them on many threads, hands them on in order
 *     choose             how to pack: recipes tried on samples, inputs cut along their arrays
 *     format             the table of containers; raw files, lone chunks, concatenated archives
 *     format/bloscpack   Bloscpack files
 *     format/chunkdir    chunked directories, over Bloscpack files
 *     format/frame       Blosc2 frames, contiguous and sparse
 *     format/frame/nd    arrays of several dimensions in them
 *     format/frame/parts their header, index, trailer, layers and digests
 *     layout             arrays inside raw bytes: GSD, DCD, NumPy and others
 *     io                 places, locks, links
 *     io/file            sources and drafts
 *     io/edit            a file changed in place, under its journal
 *     io/tree            a directory, read and changed as a whole
 *     io/tar             tars
 *     io/remote          files on web servers
 *     chunk              one Blosc chunk: headers, encoding, decoding, prediction
 *     chunk/codec        the codecs of its blocks
 *     chunk/filter       shuffle and its kin: the portable kernels, and the choice of others
 *     chunk/filter/arm   vector kernels
 *     chunk/filter/x86   vector kernels
 *     checksum           digests by name
 *     base               errors, buffers, cursors, JSON, the machine
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/remote.h"
#include "cli/report.h"

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

static void note_wait(const char *path, const char *holder)
{
	bpk_note(path, "waits for a lock that %s holds", holder);
}

static void run_command(const struct bpk_command *command, int argc, char **argv)
{
	struct bpk_err err = { 0 };
	void *args = bpk_calloc(1, command->args_size, &err);
	int first = argc;

	if (args == NULL)
		bpk_report(NULL, &err);
	if (args == NULL)
		return;
	memcpy(args, command->defaults, command->args_size);
	((struct bpk_shared *)args)->memory_limit = BPK_UNKNOWN;
	((struct bpk_shared *)args)->max_output = BPK_UNKNOWN;
	if (bpk_opts_from_environment(command, args, &err) != 0 ||
	    bpk_opts_parse(command, argc, argv, args, &first, &err) != 0)
		bpk_report(command->name, &err);
	else if (bpk_shared_complete(args)->help)
		bpk_command_help_print(command);
	else {
		bpk_remote_begin(args);
		command->run(args, argv + first, (size_t)(argc - first));
		bpk_remote_end(args);
	}
	bpk_opts_clear(command, args);
	free(args);
}

static int usage(void)
{
	fprintf(stderr,
		"Usage: bpk %s\n"
		"       bpk --help lists the commands\n",
		bpk_command_main.synopsis);
	return 64;
}

int main(int argc, char **argv)
{
	struct bpk_main_args args = { 0 };
	const struct bpk_command *command = NULL;
	struct bpk_err err = { 0 };
	int first = argc;

	open_missing_descriptors();
	bpk_on_wait(note_wait);
	signal(SIGXFSZ, SIG_IGN); /* it arrives as EFBIG, wherever results are printed */
	if (bpk_opts_parse(&bpk_command_main, argc, argv, &args, &first, &err) != 0)
		bpk_report(NULL, &err);
	else if (args.shared.help)
		bpk_command_help_print(&bpk_command_main);
	else if (args.version)
		bpk_version_print();
	else if (first >= argc)
		return usage();
	else if ((command = bpk_command_find(argv[first])) == NULL)
		bpk_command_unknown(argv[first], &err);
	if (command != NULL)
		run_command(command, argc - first, argv + first);
	else if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
	bpk_flush_results();
	return bpk_report_status();
}
