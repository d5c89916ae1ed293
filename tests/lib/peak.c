/*
 * Run a command and measure its memory: peak [-f] FILE COMMAND [ARG]... writes the maximum resident
 * size in KiB into FILE, or with -f the number of its page faults, and ends with the command's
 * status. Tests of memory limits run it, and tests/bench/counts.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	bool faults = argc > 1 && strcmp(argv[1], "-f") == 0;
	struct rusage usage;
	FILE *report;
	int status;
	pid_t pid;

	argc -= faults;
	argv += faults;
	if (argc < 3) {
		fprintf(stderr, "usage: peak [-f] FILE COMMAND [ARG]...\n");
		return 64;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("peak");
		return 1;
	}
	report = fopen(argv[1], "w");
	if (report == NULL ||
	    fprintf(report, "%ld\n", faults ? usage.ru_minflt : usage.ru_maxrss) < 0 ||
	    fclose(report) != 0) {
		perror(argv[1]);
		return 1;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
