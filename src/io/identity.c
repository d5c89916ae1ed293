/* Identifying an open file across processes. The journal and the list of changes call it. */
#include "io/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { SECOND = 1000000000 }; /* nanoseconds */

/* The time of birth; 0 if the file system has no such time. */
static uint64_t birth(int fd)
{
	struct statx found;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &found) != 0 ||
	    (found.stx_mask & STATX_BTIME) == 0 || found.stx_btime.tv_sec <= 0)
		return 0;
	return (uint64_t)found.stx_btime.tv_sec * SECOND + found.stx_btime.tv_nsec;
}

int bpk_identity_of(int fd, struct bpk_identity *identity, struct bpk_err *err)
{
	struct stat found;

	if (fstat(fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	*identity = (struct bpk_identity){
		.device = (uint64_t)found.st_dev,
		.inode = (uint64_t)found.st_ino,
		.born = birth(fd),
		.owner = found.st_uid,
	};
	return 0;
}

bool bpk_identity_same(const struct bpk_identity *a, const struct bpk_identity *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       (a->born == b->born || a->born == 0 || b->born == 0);
}

const char *bpk_identity_differs(const struct bpk_identity *made, const struct bpk_identity *now,
				 struct bpk_err *text)
{
	if (made->inode != now->inode)
		bpk_fail(text, BPK_FAILED, "it was made for inode %" PRIu64 ", this is %" PRIu64,
			 made->inode, now->inode);
	else if (made->device != now->device)
		bpk_fail(text, BPK_FAILED, "it was made on device %" PRIu64 ", this is %" PRIu64,
			 made->device, now->device);
	else
		bpk_fail(text, BPK_FAILED,
			 "it was made for a file that had inode %" PRIu64 " before", made->inode);
	return text->text;
}
