/* Reading and raising the generation of a directory. folder.c reads it, commit.c raises it. */
#include "io/tree/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/full.h"
#include "io/lock.h"

enum { SIZE = 8 }; /* bytes of the number in .lock */

/* *generation is 0 when the file holds anything else. */
static int read_number(int lock, uint64_t *generation, struct bpk_err *err)
{
	uint8_t bytes[SIZE + 1];
	size_t got;

	if (bpk_full_read_at(lock, 0, bpk_span(bytes, sizeof bytes), &got, err) != 0)
		return bpk_err_subject(err, BPK_DIR_LOCK);
	*generation = got == SIZE ? bpk_get_le64(bytes) : 0;
	return 0;
}

int bpk_generation_read(int root, uint64_t *generation, struct bpk_err *err)
{
	int lock = bpk_beneath_open(root, BPK_DIR_LOCK, O_RDONLY), rc;

	*generation = 0;
	if (lock < 0)
		return 0;
	rc = bpk_lock_need(lock, BPK_LOCK_SEEN, BPK_LOCK_LONG, true, NULL, err);
	if (rc == 0)
		rc = read_number(lock, generation, err);
	close(lock); /* releases the lock */
	return rc;
}

static int write_number(int lock, bool sync, struct bpk_err *err)
{
	uint64_t generation;
	uint8_t bytes[SIZE];
	struct stat found;

	if (fstat(lock, &found) != 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LOCK ": fstat");
	if (found.st_size > SIZE) /* a link to another file, perhaps */
		return bpk_fail(err, BPK_FAILED,
				BPK_DIR_LOCK ": is not a lock file: it has %jd bytes, expected at "
					     "most %d",
				(intmax_t)found.st_size, SIZE);
	if (read_number(lock, &generation, err) != 0)
		return -1;
	bpk_put_le64(bytes, generation + 1);
	if (bpk_full_write_at(lock, 0, bpk_view(bytes, SIZE), err) != 0)
		return bpk_err_subject(err, BPK_DIR_LOCK);
	if (sync && bpk_full_sync(lock) != 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LOCK ": sync");
	return 0;
}

int bpk_generation_raise(int lock, bool sync, bool no_lock, const atomic_bool *stop,
			 struct bpk_err *err)
{
	if (bpk_lock_need(lock, BPK_LOCK_CHANGE, BPK_LOCK_LONG, no_lock, stop, err) != 0)
		return -1;
	if (write_number(lock, sync, err) == 0)
		return 0;
	bpk_generation_settled(lock);
	return -1;
}

void bpk_generation_settled(int lock)
{
	bpk_lock_drop(lock, BPK_LOCK_CHANGE);
}
