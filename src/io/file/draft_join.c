/* Draft files that several processes write: how others find and join them, and the steps left to
 * them. The parts of flow that divide a run call it, through io.h. */
#include "io/file/draft_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"

bool bpk_draft_is_shadow(const struct bpk_draft *draft)
{
	return draft->is_shadow;
}

bool bpk_draft_whereabouts(const struct bpk_draft *draft, struct bpk_buf *path, uint64_t *inode)
{
	int fd = draft->is_file ? draft->fd : draft->folder;
	char link[sizeof "/proc/self/fd/" + 3 * sizeof fd];
	struct stat found;
	ssize_t size;

	if (fd < 0 || !draft->is_named || bpk_buf_resize(path, PATH_MAX, NULL) != 0)
		return false;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
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

/* Open a file for writing, or a folder. */
static int open_any(const char *path)
{
	int fd = bpk_full_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	return fd < 0 && errno == EISDIR ? bpk_full_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
					 : fd;
}

static void leave(struct bpk_draft *shadow)
{
	if (shadow->fd >= 0)
		close(shadow->fd);
	if (shadow->folder >= 0)
		close(shadow->folder);
	shadow->fd = shadow->read_fd = shadow->folder = shadow->heir_of = -1;
}

int bpk_draft_join(struct bpk_draft *shadow, const char *path, uint64_t inode, struct bpk_err *err)
{
	struct stat found;
	int fd = open_any(path);

	if (fd < 0)
		return bpk_fail_errno(err, errno, "cannot open the draft %s", path);
	if (fstat(fd, &found) != 0 || (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) ||
	    found.st_uid != geteuid() || found.st_ino != inode) {
		close(fd);
		return bpk_fail(err, BPK_FAILED,
				"%s is not the draft that rank 0 writes; all ranks need one file "
				"system",
				path);
	}
	leave(shadow);
	if (S_ISDIR(found.st_mode))
		shadow->folder = fd;
	else
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
	*draft->withholding = (struct bpk_withholding){ .bytes = data };
}

struct bpk_draft_place bpk_draft_withheld(const struct bpk_draft *draft)
{
	return draft->withholding->place;
}

void bpk_draft_share_withholding(struct bpk_draft *draft, struct bpk_withholding *withholding)
{
	draft->withholding = withholding;
}

void bpk_draft_set_folder(struct bpk_draft *draft, int folder, bool is_named, bool sync,
			  struct bpk_withholding *withholding)
{
	draft->folder = folder;
	draft->is_named = is_named;
	draft->sync = sync;
	draft->withholding = withholding;
}

/* Write to a file of the directory, which has its size already. */
static int write_in(const struct bpk_draft *draft, const struct bpk_draft_place *place,
		    struct bpk_view bytes, struct bpk_err *err)
{
	int fd = bpk_beneath_open(draft->folder, place->name, O_RDWR), rc;

	if (fd < 0)
		return bpk_fail_errno(err, errno, "%s: cannot be opened", place->name);
	rc = bpk_full_write_at(fd, place->offset, bytes, err);
	if (rc == 0 && draft->sync && bpk_full_sync(fd) != 0)
		rc = bpk_fail_errno(err, errno, "sync");
	if (close(fd) != 0 && errno != EINTR && rc == 0)
		rc = bpk_fail_errno(err, errno, "close");
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", place->name);
}

int bpk_draft_write_place(struct bpk_draft *draft, const struct bpk_draft_place *place,
			  struct bpk_view bytes, struct bpk_err *err)
{
	bytes.size = place->size;
	return place->name[0] == '\0' ? bpk_draft_write_at(draft, place->offset, bytes, err)
				      : write_in(draft, place, bytes, err);
}
