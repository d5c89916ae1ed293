/* Draft files that several processes write: how others find and join them, and the steps left to
 * them. The parts of flow that divide a run call it, through io.h. */
#include "io/file/draft_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "io/full.h"

bool bpk_draft_is_shadow(const struct bpk_draft *draft)
{
	return draft->is_shadow;
}

bool bpk_draft_whereabouts(const struct bpk_draft *draft, struct bpk_buf *path, uint64_t *inode)
{
	char link[sizeof "/proc/self/fd/" + 3 * sizeof draft->fd];
	struct stat found;
	ssize_t size;

	if (!draft->is_file || !draft->is_named || bpk_buf_resize(path, PATH_MAX, NULL) != 0)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", draft->fd);
	size = readlink(link, (char *)path->data, PATH_MAX - 1);
	if (size <= 0 || path->data[0] != '/')
		return false;
	path->data[size] = '\0';
	path->size = (size_t)size + 1;
	if (lstat((const char *)path->data, &found) != 0)
		return false;
	*inode = found.st_ino;
	return true;
}

int bpk_draft_join(struct bpk_draft *shadow, const char *path, uint64_t inode, struct bpk_err *err)
{
	struct stat found;
	int fd;

	fd = bpk_full_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return bpk_fail_errno(err, errno, "cannot open the draft %s", path);
	if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
	    found.st_ino != inode) {
		close(fd);
		return bpk_fail(err, BPK_FAILED,
				"%s is not the draft that rank 0 writes; all ranks need one file "
				"system",
				path);
	}
	if (shadow->fd >= 0)
		close(shadow->fd);
	shadow->fd = shadow->read_fd = fd;
	return 0;
}

int bpk_draft_flush(struct bpk_draft *shadow, struct bpk_err *err)
{
	int copy;

	if (shadow->fd < 0)
		return 0;
	if (shadow->sync && bpk_full_sync(shadow->fd) != 0)
		return bpk_fail_errno(err, errno, "sync");
	copy = fcntl(shadow->fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0 || (close(copy) != 0 && errno != EINTR))
		return bpk_fail_errno(err, errno, "close");
	return 0;
}

void bpk_draft_withhold(struct bpk_draft *draft, const uint8_t *data)
{
	draft->withholds = data;
	draft->withheld_size = 0;
}

uint64_t bpk_draft_withheld(const struct bpk_draft *draft, size_t *size)
{
	*size = draft->withheld_size;
	return draft->withheld_at;
}
