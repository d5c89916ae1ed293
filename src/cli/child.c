/* A program that is run, whose input and output are files in memory, so that neither side waits
 * for the other (child.h). */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/memory.h"

enum {
	MOST_OUTPUT = 64 << 10,
	NFILES = 4, /* standard input, output and error, and the extra one */
};

extern char **environ;

/* ---- files in memory ---- */

static int write_all(int file, struct bpk_view bytes, struct bpk_err *err)
{
	for (size_t at = 0; at < bytes.size;) {
		ssize_t put = pwrite(file, bytes.data + at, bytes.size - at, (off_t)at);

		if (put <= 0)
			return bpk_fail_errno(err, errno, "cannot write to memory");
		at += (size_t)put;
	}
	return 0;
}

/* ---- the program ---- */

/* Signals that bpk blocks or ignores have their default action there: Ctrl-C ends it, too. */
static int spawn(const char *const *argv, const int files[NFILES], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attributes);
	if (rc != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return rc;
	}
	for (int i = 0; rc == 0 && i < NFILES; i++)
		rc = posix_spawn_file_actions_adddup2(&actions, files[i], i);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attributes, &set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	posix_spawnattr_setsigdefault(&attributes, &set);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (rc == 0)
		rc = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv,
				  environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static int run(const char *const *argv, const int files[NFILES], int *status, struct bpk_err *err)
{
	pid_t pid;
	int rc = spawn(argv, files, &pid), how;

	if (rc == ENOENT)
		return bpk_fail(err, BPK_UNSUPPORTED, "%s: no such program is installed", argv[0]);
	if (rc != 0)
		return bpk_fail_errno(err, rc, "cannot run %s", argv[0]);
	while (waitpid(pid, &how, 0) < 0)
		if (errno != EINTR)
			return bpk_fail_errno(err, errno, "waitpid");
	*status = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
	return 0;
}

/* A file in memory above the descriptors that the child will have. */
static int open_memory(struct bpk_err *err)
{
	int file = bpk_memory_open(err), high;

	if (file < 0)
		return -1;
	high = fcntl(file, F_DUPFD_CLOEXEC, NFILES);
	if (high < 0)
		bpk_fail_errno(err, errno, "cannot keep messages in memory");
	close(file);
	return high;
}

int bpk_child_run(const char *const *argv, struct bpk_view input, struct bpk_view extra,
		  struct bpk_child *child, struct bpk_err *err)
{
	int files[NFILES] = { -1, -1, -1, -1 }, rc = 0;

	for (int i = 0; rc == 0 && i < NFILES; i++) {
		files[i] = open_memory(err);
		rc = files[i] < 0 ? -1 : 0;
	}
	if (rc == 0)
		rc = write_all(files[0], input, err);
	if (rc == 0)
		rc = write_all(files[3], extra, err);
	if (rc == 0)
		rc = run(argv, files, &child->status, err);
	if (rc == 0)
		rc = bpk_memory_append(files[1], MOST_OUTPUT, &child->out, err);
	if (rc == 0)
		rc = bpk_memory_append(files[2], MOST_OUTPUT, &child->said, err);
	for (int i = 0; i < NFILES; i++)
		if (files[i] >= 0)
			close(files[i]);
	return rc;
}

void bpk_child_clear(struct bpk_child *child)
{
	bpk_buf_clear(&child->out);
	bpk_buf_clear(&child->said);
}

void bpk_child_last_line(const struct bpk_child *child, char line[BPK_ERR_TEXT])
{
	const char *text = (const char *)child->said.data;
	size_t end = child->said.size, start;

	while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r'))
		end--;
	for (start = end; start > 0 && text[start - 1] != '\n';)
		start--;
	if (start == end)
		snprintf(line, BPK_ERR_TEXT, "ends with status %d", child->status);
	else
		snprintf(line, BPK_ERR_TEXT, "%.*s", (int)bpk_min_size(end - start, 512),
			 text + start);
}
