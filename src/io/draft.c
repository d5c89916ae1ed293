#include "io/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/full.h"
#include "io/live.h"
#include "io/name.h"
#include "io/sparse.h"
#include "io/target.h"
#include "io/tree.h"

struct bpk_draft {
	/* fixed after open */
	struct bpk_target target;
	bool is_file; /* a draft; else the target itself is written */
	bool seekable;
	bool overwrite, sync;
	int fd;                          /* for writing; of a direct target, target.fd */
	int read_fd;                     /* for reading back; the same where it may be read */
	uint64_t start;                  /* where offset 0 lies in the file */
	const struct bpk_draft_ops *ops; /* NULL but for a part of something larger */
	void *owner;                     /* for ops */

	uint64_t tell; /* the writing thread's own */

	pthread_mutex_t end_lock;
	uint64_t end; /* guarded by end_lock: the length that the file must have */

	struct bpk_live live; /* of a file */
	char *draft_name;     /* guarded by its lock: in target.folder; NULL while nameless */
};

/* ---- Opening ---- */

/* The lock of live things is held. */
static void drop_name(void *owner)
{
	const struct bpk_draft *draft = owner;

	if (draft->draft_name != NULL)
		unlinkat(draft->target.folder, draft->draft_name, 0);
}

/* A nameless file in folder, or -1 where one cannot be made, or could not be named later. */
static int create_nameless(int folder)
{
	int fd;

	if (access("/proc/self/fd", X_OK) != 0)
		return -1;
	fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)bpk_draft_lock(
			fd); /* for the time when it has a draft's name; alone so far */
	return fd;
}

/* Any failure of the first way is left to the second to report, with a name to it. */
static int create_draft(struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_target *target = &draft->target;

	bpk_draft_clean(target->folder, target->name);
	draft->fd = create_nameless(target->folder);
	if (draft->fd >= 0)
		return 0;
	return bpk_draft_create(target->folder, target->name, &draft->fd, &draft->draft_name, err);
}

/* What makes a file of a draft; the lock of live things is held. */
typedef int create_fn(struct bpk_draft *draft, struct bpk_err *err);

static int open_file(struct bpk_draft *draft, create_fn *create, struct bpk_err *err)
{
	int rc;

	draft->is_file = true;
	if (bpk_live_enter(err) != 0)
		return -1;
	rc = create(draft, err);
	if (rc == 0)
		bpk_live_add(&draft->live, drop_name, draft);
	bpk_live_leave();
	draft->read_fd = draft->fd;
	draft->seekable = true;
	return rc;
}

/* A descriptor that may be read, else the same file opened once more for that; -1 when neither. */
static int readable(int fd, int flags)
{
	char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];

	if ((flags & O_ACCMODE) == O_RDWR)
		return fd;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return bpk_full_open(path, O_RDONLY);
}

/* Only a regular file that is not appended to is written anywhere but at its end. */
static void open_direct(struct bpk_draft *draft)
{
	int flags = fcntl(draft->target.fd, F_GETFL);
	struct stat found;
	off_t start;

	draft->fd = draft->target.fd;
	if (fstat(draft->fd, &found) != 0 || !S_ISREG(found.st_mode))
		return;
	start = lseek(draft->fd, 0, SEEK_CUR);
	if (flags < 0 || (flags & O_APPEND) != 0 || start < 0)
		return;
	draft->read_fd = readable(draft->fd, flags);
	draft->seekable = draft->read_fd >= 0;
	draft->start = (uint64_t)start;
}

/* Everything but the names. */
static void release(struct bpk_draft *draft)
{
	if (draft->read_fd >= 0 && draft->read_fd != draft->fd)
		close(draft->read_fd);
	if (draft->is_file && draft->fd >= 0)
		close(draft->fd);
	bpk_target_clear(&draft->target);
	pthread_mutex_destroy(&draft->end_lock);
	free(draft->draft_name);
	free(draft);
}

static struct bpk_draft *new_draft(bool overwrite, bool sync, struct bpk_err *err)
{
	struct bpk_draft *d = bpk_calloc(1, sizeof *d, err);

	if (d == NULL)
		return NULL;
	d->target = (struct bpk_target){ .folder = -1, .fd = -1 };
	d->fd = d->read_fd = -1;
	d->overwrite = overwrite;
	d->sync = sync;
	pthread_mutex_init(&d->end_lock, NULL);
	return d;
}

int bpk_draft_open(const char *target, const struct bpk_draft_options *options,
		   struct bpk_draft **draft, struct bpk_err *err)
{
	struct bpk_draft *d;

	*draft = NULL;
	if (options->directory)
		return bpk_tree_new(target, options, draft, err);
	d = new_draft(options->overwrite, options->sync, err);
	if (d == NULL)
		return -1;
	if (bpk_target_find(target, options, &d->target, err) != 0)
		goto fail;
	if (d->target.fd >= 0)
		open_direct(d);
	else if (open_file(d, create_draft, err) != 0)
		goto fail;
	*draft = d;
	return 0;
fail:
	release(d);
	return -1;
}

/* Takes d, which may be NULL. */
static int open_in(int folder, const char *name, struct bpk_draft *d, create_fn *create,
		   struct bpk_draft **draft, struct bpk_err *err)
{
	*draft = NULL;
	if (d == NULL)
		return -1;
	d->target.name = bpk_strdup(name, err);
	if (d->target.name == NULL)
		goto fail;
	d->target.folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (d->target.folder < 0) {
		bpk_fail_errno(err, errno, "cannot open its folder");
		goto fail;
	}
	if (open_file(d, create, err) != 0)
		goto fail;
	*draft = d;
	return 0;
fail:
	release(d);
	return -1;
}

int bpk_draft_open_at(int folder, const char *name, const struct bpk_draft_options *options,
		      struct bpk_draft **draft, struct bpk_err *err)
{
	return open_in(folder, name, new_draft(options->overwrite, options->sync, err),
		       create_draft, draft, err);
}

/* The last part of a label. */
static const char *base_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash == NULL ? name : slash + 1;
}

static int create_named(struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_target *target = &draft->target;

	return bpk_draft_create(target->folder, base_of(target->name), &draft->fd,
				&draft->draft_name, err);
}

static int create_final(struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_target *target = &draft->target;
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	draft->draft_name = bpk_strdup(base_of(target->name), err);
	if (draft->draft_name == NULL)
		return -1;
	draft->fd = openat(target->folder, draft->draft_name, flags, 0600);
	return draft->fd < 0 ? bpk_fail_errno(err, errno, "cannot be created") : 0;
}

int bpk_draft_open_part(int folder, const char *label, bool has_name, bool sync,
			struct bpk_draft **draft, struct bpk_err *err)
{
	return open_in(folder, label, new_draft(false, sync, err),
		       has_name ? create_final : create_named, draft, err);
}

const char *bpk_draft_label(const struct bpk_draft *draft)
{
	return draft->target.name;
}

const char *bpk_draft_own_name(const struct bpk_draft *draft)
{
	return draft->draft_name;
}

void *bpk_draft_owner(const struct bpk_draft *draft, const struct bpk_draft_ops *ops)
{
	return draft->ops == ops ? draft->owner : NULL;
}

int bpk_draft_of_ops(const struct bpk_draft_ops *ops, void *owner, struct bpk_draft **draft,
		     struct bpk_err *err)
{
	*draft = new_draft(false, false, err);
	if (*draft == NULL)
		return -1;
	(*draft)->ops = ops;
	(*draft)->owner = owner;
	return 0;
}

bool bpk_draft_seekable(const struct bpk_draft *draft)
{
	return draft->seekable;
}

int bpk_draft_descriptor(const struct bpk_draft *draft)
{
	return draft->fd;
}

uint64_t bpk_draft_tell(const struct bpk_draft *draft)
{
	return draft->tell;
}

/* ---- Writing and reading back ---- */

static void reach(struct bpk_draft *draft, uint64_t end)
{
	pthread_mutex_lock(&draft->end_lock);
	if (end > draft->end)
		draft->end = end;
	pthread_mutex_unlock(&draft->end_lock);
}

/* The place in the file of size bytes at offset; false when there is none. */
static bool place_of(const struct bpk_draft *draft, uint64_t offset, uint64_t size, uint64_t *at)
{
	uint64_t end;

	return bpk_add_u64(draft->start, offset, at) && bpk_add_u64(*at, size, &end) &&
	       end <= INT64_MAX;
}

static int write_seekable(struct bpk_draft *draft, uint64_t offset, struct bpk_view bytes,
			  bool sparse, struct bpk_err *err)
{
	uint64_t at;

	if (!place_of(draft, offset, bytes.size, &at))
		return bpk_fail_errno(err, EFBIG, "write");
	if ((sparse ? bpk_sparse_write_at : bpk_full_write_at)(draft->fd, at, bytes, err) != 0)
		return -1;
	reach(draft, offset + bytes.size);
	return 0;
}

int bpk_draft_write(struct bpk_draft *draft, struct bpk_view bytes, struct bpk_err *err)
{
	int rc;

	if (draft->ops != NULL)
		rc = draft->ops->write(draft->owner, bytes, err);
	else if (draft->seekable)
		rc = write_seekable(draft, draft->tell, bytes, false, err);
	else
		rc = bpk_full_write(draft->fd, bytes, err);
	if (rc == 0)
		draft->tell += bytes.size;
	return rc;
}

int bpk_draft_write_at(struct bpk_draft *draft, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err)
{
	if (!draft->seekable)
		return bpk_fail(err, BPK_BUG, "write at an offset of a pipe");
	return write_seekable(draft, offset, bytes, draft->is_file, err);
}

int bpk_draft_read_at(struct bpk_draft *draft, uint64_t offset, struct bpk_span out,
		      struct bpk_err *err)
{
	uint64_t at;
	size_t got = 0;

	if (!draft->seekable)
		return bpk_fail(err, BPK_BUG, "read at an offset of a pipe");
	if (place_of(draft, offset, out.size, &at) &&
	    bpk_full_read_at(draft->read_fd, at, out, &got, err) != 0)
		return -1;
	if (got < out.size)
		return bpk_fail(err, BPK_FAILED, "what was written at %" PRIu64 " is not there",
				offset);
	return 0;
}

int bpk_draft_set_size(struct bpk_draft *draft, uint64_t size, struct bpk_err *err)
{
	uint64_t at;

	if (!place_of(draft, size, 0, &at))
		return bpk_fail_errno(err, EFBIG, "set the size");
	if (!draft->is_file) /* its owner may have more behind what we overwrite */
		return 0;
	/* makes a hole, so it costs nothing; reserving blocks would undo the holes written later */
	if (ftruncate(draft->fd, (off_t)size) != 0 && (errno == EFBIG || errno == ENOSPC))
		return bpk_fail_errno(err, errno, "set the size");
	pthread_mutex_lock(&draft->end_lock);
	draft->end = size;
	pthread_mutex_unlock(&draft->end_lock);
	return 0;
}

/* ---- Keeping and dropping ---- */

/* The final length, since a hole at the end was never written. */
static int finish_length(struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat found;

	if (fstat(draft->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if ((uint64_t)found.st_size < draft->end && bpk_full_set_size(draft->fd, draft->end) != 0)
		return bpk_fail_errno(err, errno, "set the size");
	return 0;
}

/*
 * A file system without modes or times refuses them; then the result stays at least as private as
 * the draft was, which is no reason to lose it.
 */
static void finish_mode(int fd, const struct stat *like)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_OMIT } };
	mode_t mode = 0666;
	struct stat found;

	if (like != NULL && S_ISREG(like->st_mode)) {
		mode = like->st_mode & 0777;
		/* another group must not get what the input's group may do, unless everyone may */
		if (fstat(fd, &found) != 0 ||
		    (found.st_gid != like->st_gid && fchown(fd, (uid_t)-1, like->st_gid) != 0))
			mode &= ~(mode_t)070 | (mode & 07) << 3;
		times[1] = like->st_mtim;
	}
	(void)fchmod(fd, mode & ~bpk_live_umask());
	(void)futimens(fd, times);
}

/* A disk's late errors come with fsync, those of a network file system or a quota with a close. */
static int flush(int fd, bool sync, struct bpk_err *err)
{
	int copy;

	if (sync && bpk_full_sync(fd) != 0)
		return bpk_fail_errno(err, errno, "sync");
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0 || (close(copy) != 0 && errno != EINTR))
		return bpk_fail_errno(err, errno, "close");
	return 0;
}

/* 0 when the name was given, 1 when it is taken, -1 otherwise. */
static int give_new_name(struct bpk_draft *draft, struct bpk_err *err)
{
	const char *name = draft->target.name;
	int folder = draft->target.folder;
	int rc;

	if (draft->draft_name == NULL) {
		rc = bpk_link_nameless(draft->fd, folder, name);
	} else {
		rc = renameat2(folder, draft->draft_name, folder, name, RENAME_NOREPLACE);
		/* where that is not known (NFS), a link does not replace either */
		if (rc != 0 && (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP)) {
			rc = linkat(folder, draft->draft_name, folder, name, 0);
			if (rc == 0)
				unlinkat(folder, draft->draft_name, 0);
		}
	}
	if (rc == 0)
		return 0;
	if (errno == EEXIST)
		return 1;
	return bpk_fail_errno(err, errno, "cannot name the result");
}

static int replace(struct bpk_draft *draft, struct bpk_err *err)
{
	const char *name = draft->target.name;
	int folder = draft->target.folder;
	struct stat found;

	/* it was a file when the target was looked at; a device put there since is no target */
	if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(found.st_mode) &&
	    !S_ISLNK(found.st_mode))
		return bpk_fail(err, BPK_FAILED, "is no regular file any more");
	if (draft->draft_name == NULL &&
	    bpk_draft_link(folder, name, draft->fd, &draft->draft_name, err) != 0)
		return -1;
	if (renameat(folder, draft->draft_name, folder, name) != 0)
		return bpk_fail_errno(err, errno, "cannot replace it");
	return 0;
}

static int sync_folder(int folder, struct bpk_err *err)
{
	if (bpk_folder_sync(folder) != 0)
		return bpk_fail_errno(err, errno, "sync its folder");
	return 0;
}

/* Give the draft its target's name; the lock of live things is held. */
static int commit(struct bpk_draft *draft, struct bpk_err *err)
{
	int taken = give_new_name(draft, err);

	if (taken < 0)
		return -1;
	if (taken > 0 && !draft->overwrite)
		return bpk_fail(err, BPK_FAILED, "already exists");
	if (taken > 0 && replace(draft, err) != 0)
		return -1;
	free(draft->draft_name);
	draft->draft_name = NULL;
	if (!draft->sync || sync_folder(draft->target.folder, err) == 0)
		return 0;
	/* what was replaced is gone; a name that is new can be taken back */
	if (taken == 0)
		unlinkat(draft->target.folder, draft->target.name, 0);
	return -1;
}

/* Everything but the name. */
static int finish(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	if (finish_length(draft, err) != 0)
		return -1;
	finish_mode(draft->fd, like);
	return flush(draft->fd, draft->sync, err);
}

static int keep_file(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	int rc;

	if (finish(draft, like, err) != 0)
		return -1;
	if (bpk_live_enter(err) != 0)
		return -1;
	rc = commit(draft, err);
	bpk_live_leave();
	return rc;
}

/* Leave the position of a seekable standard output behind our bytes, for whoever writes next. */
static int keep_direct(struct bpk_draft *draft, struct bpk_err *err)
{
	struct stat found;
	bool is_disk;

	if (draft->seekable && lseek(draft->fd, (off_t)(draft->start + draft->end), SEEK_SET) < 0)
		return bpk_fail_errno(err, errno, "seek");
	is_disk =
		fstat(draft->fd, &found) == 0 && (S_ISREG(found.st_mode) || S_ISBLK(found.st_mode));
	return flush(draft->fd, draft->sync && is_disk, err);
}

static int keep_part(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	const struct bpk_draft_ops *ops = draft->ops;

	draft->ops = NULL; /* nothing is left to drop */
	return ops->keep(draft->owner, like, err);
}

int bpk_draft_keep(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	int rc;

	if (draft->ops != NULL)
		rc = keep_part(draft, like, err);
	else
		rc = draft->is_file ? keep_file(draft, like, err) : keep_direct(draft, err);
	bpk_draft_drop(draft); /* its name is gone when it was kept */
	return rc;
}

/* Forget the name that it has on disk, so that dropping leaves it there. */
static int leave_name(struct bpk_draft *draft, struct bpk_err *err)
{
	if (bpk_live_enter(err) != 0)
		return -1;
	free(draft->draft_name);
	draft->draft_name = NULL;
	bpk_live_leave();
	return 0;
}

int bpk_draft_finish(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err)
{
	int rc = finish(draft, like, err);

	if (rc == 0)
		rc = leave_name(draft, err);
	bpk_draft_drop(draft);
	return rc;
}

void bpk_draft_drop(struct bpk_draft *draft)
{
	if (draft == NULL)
		return;
	bpk_live_end(&draft->live);
	if (draft->ops != NULL)
		draft->ops->drop(draft->owner);
	release(draft);
}
