/* Slow readers for living.c: the output goes into a pipe of one page, which is read after the
 * change. */
#include "fault/slow.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/run.h"

enum {
	PAGE = 4096,
	TIME_LIMIT_S = 60, /* for the reader */
	LOOK_US = 500,     /* between two checks whether it waits */
	LOOKS = 20000,     /* checks before the test goes on anyway */
};

static _Noreturn void become_reader(const char *name, const int ends[2])
{
	int said = open("../slow.said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (said < 0 || dup2(said, 2) < 0 || dup2(ends[1], 1) < 0)
		_exit(126);
	close(ends[0]);
	alarm(TIME_LIMIT_S);
	execl(bpk_program, "bpk", "cat", "-T1", name, (char *)NULL);
	_exit(126);
}

/* True if its pipe is full, so that it waits, or if it has ended. */
static bool stands(const struct slow *reader, int size)
{
	siginfo_t info = { 0 };
	int waiting = 0;

	if (ioctl(reader->output, FIONREAD, &waiting) != 0)
		run_die("FIONREAD");
	if (waiting >= size)
		return true;
	if (waitid(P_PID, (id_t)reader->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		run_die("waitid");
	return info.si_pid != 0;
}

void slow_start(struct slow *reader, const char *name)
{
	int ends[2], size;

	if (pipe2(ends, O_CLOEXEC) != 0)
		run_die("pipe");
	size = fcntl(ends[1], F_SETPIPE_SZ, PAGE);
	if (size < 0)
		run_die("F_SETPIPE_SZ");
	fflush(stdout);
	reader->output = ends[0];
	reader->pid = fork();
	if (reader->pid < 0)
		run_die("fork");
	if (reader->pid == 0)
		become_reader(name, ends);
	close(ends[1]);
	for (int i = 0; i < LOOKS && !stands(reader, size); i++)
		usleep(LOOK_US);
}

int slow_end(struct slow *reader)
{
	FILE *file = fopen("../slow", "wbe");
	char bytes[PAGE];
	int status;

	if (file == NULL)
		run_die("../slow");
	for (ssize_t n; (n = read(reader->output, bytes, sizeof bytes)) > 0;)
		if (fwrite(bytes, 1, (size_t)n, file) != (size_t)n)
			run_die("../slow");
	if (fclose(file) != 0 || close(reader->output) != 0 ||
	    waitpid(reader->pid, &status, 0) != reader->pid)
		run_die("end of a slow reader");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
