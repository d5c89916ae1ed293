/* bpk-mpi: the commands of bpk that many processes share (share.h), with MPI between them. */
#include <signal.h>

#include "cli/command.h"
#include "mpi/mpi.h"

/* A thread of the MPI library must not take a signal that the program waits for. */
static void block_signals(void)
{
	static const int awaited[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof awaited / sizeof awaited[0]; i++)
		sigaddset(&set, awaited[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	struct bpk_program program = bpk_program_team;
	int status;

	block_signals();
	program.team = bpk_mpi_start(&argc, &argv);
	program.library = bpk_mpi_library();
	status = bpk_program_run(&program, argc, argv);
	bpk_mpi_end();
	return status;
}
