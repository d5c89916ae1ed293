/* Turns the descriptors of standard output and error to files in memory and back. share_files.c
 * and share.c call it. */
#include "cli/share_catch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/memory.h"
#include "cli/report.h"

/* One of the two. */
struct caught {
	int number; /* the descriptor that is turned */
	int saved;  /* where it led */
	int memory; /* where it leads; -1: nothing is caught */
};

static struct caught both[] = { { STDOUT_FILENO, -1, -1 }, { STDERR_FILENO, -1, -1 } };
static bool was_silent;

static int turn(struct caught *one, struct bpk_err *err)
{
	one->saved = fcntl(one->number, F_DUPFD_CLOEXEC, 3);
	one->memory = bpk_memory_open(err);
	if (one->memory < 0)
		return -1;
	if (one->saved < 0 || dup2(one->memory, one->number) < 0)
		return bpk_fail_errno(err, errno, "cannot keep messages in memory");
	return 0;
}

static void turn_back(struct caught *one)
{
	dup2(one->saved, one->number);
	close(one->saved);
	close(one->memory);
	one->saved = one->memory = -1;
}

int bpk_catch_begin(struct bpk_err *err)
{
	fflush(stdout);
	was_silent = bpk_report_silence(false);
	return turn(&both[0], err) != 0 ? -1 : turn(&both[1], err);
}

int bpk_catch_end(struct bpk_buf *said, uint64_t *out_size, struct bpk_err *err)
{
	size_t before = said->size;
	int rc;

	fflush(stdout);
	rc = bpk_memory_append(both[0].memory, UINT64_MAX, said, err);
	*out_size = said->size - before;
	if (rc == 0)
		rc = bpk_memory_append(both[1].memory, UINT64_MAX, said, err);
	turn_back(&both[0]);
	turn_back(&both[1]);
	bpk_report_silence(was_silent);
	return rc;
}

bool bpk_catch_release(void)
{
	struct bpk_buf said = { 0 };
	uint64_t out_size;

	if (both[0].memory < 0)
		return false;
	if (bpk_catch_end(&said, &out_size, NULL) == 0)
		fwrite(said.data + out_size, 1, said.size - (size_t)out_size, stderr);
	bpk_buf_clear(&said);
	return true;
}
