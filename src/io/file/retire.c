/* Settling a file before it is replaced or removed. draft_keep.c and remove.c call it. */
#include "io/file/retire.h"

#include <fcntl.h>
#include <unistd.h>

#include "io/edit/journal.h"
#include "io/lock.h"

enum { REOPENED_MAX = 20 }; /* tries to lock a file whose name others keep replacing */

/* Lock the open file. Returns 1 if meanwhile another file has taken the name. */
static int lock_open(const struct bpk_resolved *resolved, int fd, struct bpk_err *err)
{
	bool same;

	if (bpk_lock_need(fd, BPK_LOCK_WRITER, BPK_LOCK_MOMENT, true, NULL, err) != 0 ||
	    bpk_resolved_is(resolved, fd, &same, err) != 0)
		return -1;
	return same ? 0 : 1;
}

static int lock_once(const struct bpk_resolved *resolved, int *fd, struct bpk_err *err)
{
	struct stat found;
	int rc = 0;

	*fd = bpk_resolved_open(resolved, O_RDWR);
	if (*fd < 0)
		return 0;
	if (fstat(*fd, &found) == 0 && S_ISREG(found.st_mode)) {
		rc = lock_open(resolved, *fd, err);
		if (rc == 0)
			return 0;
	}
	close(*fd);
	*fd = -1;
	return rc;
}

int bpk_retire_lock(const struct bpk_resolved *resolved, int *fd, struct bpk_err *err)
{
	int rc = 1;

	for (int i = 0; i < REOPENED_MAX && rc > 0; i++)
		rc = lock_once(resolved, fd, err);
	if (rc > 0)
		return bpk_fail(err, BPK_FAILED, "another process keeps replacing it");
	return rc;
}

/* Settle the file by its journal. Returns 1 if the journal is not about this file. */
static int settle(struct bpk_journal *journal, int fd, bool sync, struct bpk_err *err)
{
	int rc = bpk_journal_open(journal, fd, err);

	if (rc == 0 && journal->fd >= 0)
		rc = bpk_journal_settle(journal, fd, sync, err);
	return rc;
}

int bpk_retire_settle(const struct bpk_resolved *resolved, int fd, bool sync, struct bpk_err *err)
{
	struct bpk_journal journal;
	struct bpk_err why = { 0 };
	int rc;

	if (fd < 0)
		return 0;
	bpk_journal_init(&journal, resolved);
	rc = settle(&journal, fd, sync, &why);
	if (rc < 0 && (why.kind == BPK_CORRUPT || why.kind == BPK_UNSUPPORTED))
		rc = bpk_journal_unlink(&journal, &why);
	else if (rc > 0)
		rc = 0;
	bpk_journal_close(&journal);
	return rc == 0 ? 0 : bpk_fail_as(err, &why);
}
