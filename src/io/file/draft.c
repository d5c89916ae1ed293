/* Drafts opened, written, read back and dropped. Writers of formats, unpack and cat call them
 * through io.h. */
#include "io/file/draft_inner.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/full.h"
#include "io/file/draft_name.h"
#include "io/file/sparse.h"
#include "io/tree/tree.h"

/* ---- Opening ---- */

/* The caller holds the cleanup lock. */
static void drop_name(void *owner)
{
	const struct bpk_draft *draft = owner;

	if (draft->draft_name != NULL)
		unlinkat(draft->target.folder, draft->draft_name, 0);
}

/* Create a nameless file in folder; -1 if the system cannot create one, or could not name it
 * later. */
static int create_nameless(int folder)
{
	static bool can_name; /* guarded by the cleanup lock */

	can_name = can_name || access("/proc/self/fd", X_OK) == 0;
	return can_name ? bpk_full_openat(folder, ".", O_TMPFILE | O_RDWR, 0600) : -1;
}

/* A failure of the first way is not reported: the second one fails too, with a name to report. */
static int create_draft(struct bpk_draft *draft, struct bpk_err *err)
{
	const struct bpk_target *target = &draft->target;

	bpk_draft_clean(target->folder, target->name);
	draft->fd = draft->is_named ? -1 : create_nameless(target->folder);
	if (draft->fd >= 0)
		return 0;
	return bpk_draft_create(target->folder, target->name, &draft->fd, &draft->draft_name, err);
}

/* Creates the file of a draft; the cleanup lock is held. */
typedef int create_fn(struct bpk_draft *draft, struct bpk_err *err);

static int open_file(struct bpk_draft *draft, create_fn *create, struct bpk_err *err)
{
	int rc;

	draft->is_file = true;
	if (bpk_cleanup_lock(err) != 0)
		return -1;
	rc = create(draft, err);
	if (rc == 0)
		bpk_cleanup_add(&draft->cleanup, drop_name, draft);
	bpk_cleanup_unlock();
	draft->read_fd = draft->fd;
	draft->seekable = true;
	return rc;
}

/* A descriptor for reading: fd itself, or the same file opened once more. -1 when neither works. */
static int readable(int fd, int flags)
{
	char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];

	if ((flags & O_ACCMODE) == O_RDWR)
		return fd;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return bpk_full_open(path, O_RDONLY);
}

/* Only a regular file that is not in append mode can be written at an offset. */
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

/* Release everything but the names on disk. */
static void release(struct bpk_draft *draft)
{
	if (draft->read_fd >= 0 && draft->read_fd != draft->fd)
		close(draft->read_fd);
	if (draft->is_file && draft->fd >= 0)
		close(draft->fd);
	if (draft->is_shadow && draft->folder >= 0)
		close(draft->folder);
	if (draft->heir_of >= 0)
		close(draft->heir_of);
	bpk_target_clear(&draft->target);
	pthread_mutex_destroy(&draft->end_lock);
	pthread_mutex_destroy(&draft->write_lock);
	free(draft->draft_name);
	free(draft);
}

static struct bpk_draft *new_draft(const struct bpk_draft_options *options, struct bpk_err *err)
{
	struct bpk_draft *d = bpk_calloc(1, sizeof *d, err);

	if (d == NULL)
		return NULL;
	d->target = (struct bpk_target){ .folder = -1, .fd = -1 };
	d->fd = d->read_fd = d->folder = d->heir_of = -1;
	d->withholding = &d->own;
	d->overwrite = options->overwrite;
	d->compares = options->only_this != NULL;
	if (d->compares)
		d->seen = *options->only_this;
	d->replaces = -1;
	d->sync = options->sync;
	d->is_named = options->named;
	pthread_mutex_init(&d->end_lock, NULL);
	pthread_mutex_init(&d->write_lock, NULL);
	return d;
}

int bpk_draft_open_file(const char *target, const struct bpk_draft_options *options,
			struct bpk_draft **draft, struct bpk_err *err)
{
	struct bpk_draft *d;

	*draft = NULL;
	d = new_draft(options, err);
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
	return open_in(folder, name, new_draft(options, err), create_draft, draft, err);
}

void bpk_draft_set_replaced(struct bpk_draft *draft, int fd, const struct stat *seen, bool *is_lost)
{
	draft->replaces = fd;
	draft->is_lost = is_lost;
	draft->compares = seen != NULL;
	if (seen != NULL)
		draft->seen = *seen;
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
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;

	draft->draft_name = bpk_strdup(base_of(target->name), err);
	if (draft->draft_name == NULL)
		return -1;
	draft->fd = bpk_full_openat(target->folder, draft->draft_name, flags, 0600);
	return draft->fd < 0 ? bpk_fail_errno(err, errno, "cannot be created") : 0;
}

int bpk_draft_open_part(int folder, const char *label, bool has_name, bool sync,
			struct bpk_draft **draft, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .sync = sync };

	return open_in(folder, label, new_draft(&options, err),
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

struct bpk_tree *bpk_draft_tree(struct bpk_draft *draft)
{
	return draft->ops != NULL && draft->ops->tree != NULL ? draft->ops->tree(draft->owner)
							      : NULL;
}

int bpk_draft_of_ops(const struct bpk_draft_ops *ops, void *owner, struct bpk_draft **draft,
		     struct bpk_err *err)
{
	static const struct bpk_draft_options options;

	*draft = new_draft(&options, err);
	if (*draft == NULL)
		return -1;
	(*draft)->ops = ops;
	(*draft)->owner = owner;
	(*draft)->seekable = ops->write_at != NULL;
	return 0;
}

bool bpk_draft_seekable(const struct bpk_draft *draft)
{
	return draft->seekable;
}

bool bpk_draft_is_hidden(const struct bpk_draft *draft)
{
	return draft->is_file || (draft->ops != NULL && draft->seekable);
}

int bpk_draft_reread(struct bpk_draft *draft, struct bpk_err *err)
{
	return draft->ops != NULL && draft->seekable ? draft->ops->reread(draft->owner, err) : 0;
}

uint64_t bpk_draft_extent(const struct bpk_draft *draft)
{
	return draft->ops != NULL && draft->seekable ? draft->end : draft->tell;
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

/* Bytes written before the disk starts: enough for it to allocate them contiguously. */
enum { RUN = 8 << 20 };

/*
 * Record that bytes up to end were written. A file that will be synced goes to the disk run by run
 * while later bytes are computed; otherwise all of it would wait for the final sync. The sync
 * reports failures of these writes.
 */
static void reach(struct bpk_draft *draft, uint64_t end)
{
	uint64_t from, size = 0;

	pthread_mutex_lock(&draft->end_lock);
	if (end > draft->end)
		draft->end = end;
	from = draft->run;
	if (draft->is_file && draft->sync && draft->fd >= 0 && end > from && end - from >= RUN) {
		size = end - from;
		draft->run = end;
	}
	pthread_mutex_unlock(&draft->end_lock);
	if (size > 0)
		bpk_full_begin_sync(draft->fd, from, size);
}

/* *at is the position in the file of offset; false when the file cannot be that long. */
static bool place_of(const struct bpk_draft *draft, uint64_t offset, uint64_t size, uint64_t *at)
{
	uint64_t end;

	return bpk_add_u64(draft->start, offset, at) && bpk_add_u64(*at, size, &end) &&
	       end <= INT64_MAX;
}

/* Note where bytes belong that are written later. */
static bool is_withheld(struct bpk_draft *draft, uint64_t offset, struct bpk_view bytes)
{
	struct bpk_withholding *withholding = draft->withholding;
	struct bpk_draft_place *place = &withholding->place;
	const char *name = withholding == &draft->own ? "" : draft->target.name;

	if (withholding->bytes == NULL || bytes.data != withholding->bytes)
		return false;
	assert(strlen(name) < sizeof place->name);
	*place = (struct bpk_draft_place){ .offset = offset, .size = bytes.size };
	bpk_copy(place->name, name, strlen(name));
	return true;
}

static int write_seekable(struct bpk_draft *draft, uint64_t offset, struct bpk_view bytes,
			  bool sparse, struct bpk_err *err)
{
	uint64_t at;
	int rc;

	if (!place_of(draft, offset, bytes.size, &at))
		return bpk_fail_errno(err, EFBIG, "write");
	if (draft->ops != NULL) {
		if (draft->ops->write_at(draft->owner, offset, bytes, err) != 0)
			return -1;
		reach(draft, offset + bytes.size);
		return 0;
	}
	if (draft->fd < 0 || is_withheld(draft, offset, bytes)) {
		reach(draft, offset + bytes.size);
		return 0;
	}
	/* the kernel lets one thread at a time write to a file, and the others wait busily */
	pthread_mutex_lock(&draft->write_lock);
	rc = (sparse ? bpk_sparse_write_at : bpk_full_write_at)(draft->fd, at, bytes, err);
	pthread_mutex_unlock(&draft->write_lock);
	if (rc != 0)
		return -1;
	reach(draft, offset + bytes.size);
	return 0;
}

int bpk_draft_write(struct bpk_draft *draft, struct bpk_view bytes, struct bpk_err *err)
{
	int rc;

	if (draft->seekable)
		rc = write_seekable(draft, draft->tell, bytes, false, err);
	else if (draft->ops != NULL && draft->ops->tree != NULL)
		rc = bpk_fail(err, BPK_BUG, "write to a directory");
	else if (draft->ops != NULL)
		rc = draft->ops->write(draft->owner, bytes, err);
	else
		rc = bpk_full_write(draft->fd, bytes, err);
	if (rc == 0)
		draft->tell += bytes.size;
	return rc;
}

int bpk_draft_copy(struct bpk_draft *draft, struct bpk_source *source, struct bpk_err *err)
{
	enum { BLOCK = 1 << 20 };
	struct bpk_buf block = { 0 };
	size_t got = BLOCK;
	int rc = bpk_buf_resize(&block, BLOCK, err);

	for (uint64_t at = 0; rc == 0 && got == BLOCK; at += got) {
		rc = bpk_source_read_at(source, at, bpk_span(block.data, BLOCK), &got, err);
		if (rc == 0)
			rc = bpk_draft_write(draft, bpk_view(block.data, got), err);
	}
	bpk_buf_clear(&block);
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
	if (draft->ops != NULL)
		return draft->ops->read_at(draft->owner, offset, out, err);
	if (place_of(draft, offset, out.size, &at) &&
	    bpk_full_read_at(draft->read_fd, at, out, &got, err) != 0)
		return -1;
	if (got < out.size)
		return bpk_fail(err, BPK_FAILED, "cannot read back the bytes at %" PRIu64, offset);
	return 0;
}

int bpk_draft_set_size(struct bpk_draft *draft, uint64_t size, struct bpk_err *err)
{
	uint64_t at;
	bool cuts, is_reached;

	if (!place_of(draft, size, 0, &at))
		return bpk_fail_errno(err, EFBIG, "set the size");
	if (draft->ops != NULL)
		return draft->ops->set_size != NULL ? draft->ops->set_size(draft->owner, size, err)
						    : 0;
	if (!draft->is_file) /* its owner may have more bytes after ours */
		return 0;
	pthread_mutex_lock(&draft->end_lock);
	cuts = size < draft->end;
	is_reached = size == draft->end;
	pthread_mutex_unlock(&draft->end_lock);
	if (is_reached)
		return 0;
	/* this makes a hole and costs nothing; reserved blocks would fill the holes written
	 * later */
	if (ftruncate(draft->fd, (off_t)size) != 0 && (cuts || errno == EFBIG || errno == ENOSPC))
		return bpk_fail_errno(err, errno, "set the size");
	pthread_mutex_lock(&draft->end_lock);
	draft->end = size;
	pthread_mutex_unlock(&draft->end_lock);
	return 0;
}

/* ---- Several processes ---- */

int bpk_draft_shadow(bool sync, struct bpk_draft **draft, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .sync = sync };

	*draft = new_draft(&options, err);
	if (*draft == NULL)
		return -1;
	(*draft)->is_file = (*draft)->seekable = (*draft)->is_shadow = true;
	return 0;
}

/* ---- Dropping ---- */

void bpk_draft_drop(struct bpk_draft *draft)
{
	if (draft == NULL)
		return;
	bpk_cleanup_end(&draft->cleanup);
	if (draft->ops != NULL)
		draft->ops->drop(draft->owner);
	release(draft);
}
