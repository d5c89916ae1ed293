#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/full.h"
#include "io/source.h"

enum {
	PIPE_ROOM = 1 << 20, /* asked of the kernel: fewer switches between us and the writer */
	SKIP_STEP = 256 << 10,
};

static void stat_regular(struct bpk_source *source)
{
	uint64_t whole = source->stat.st_size > 0 ? (uint64_t)source->stat.st_size : 0;
	uint8_t byte;
	size_t got = 0;

	source->nature = BPK_SOURCE_SEEKABLE;
	source->size = whole > source->start ? whole - source->start : 0;
	/* files of /proc say that they are empty, and bring text all the same */
	if (whole == 0 &&
	    (bpk_full_read_at(source->fd, 0, bpk_span(&byte, 1), &got, NULL) != 0 || got > 0))
		source->nature = BPK_SOURCE_STREAM;
	posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

static int stat_block_device(struct bpk_source *source, struct bpk_err *err)
{
	off_t end = lseek(source->fd, 0, SEEK_END);

	if (end < 0 || lseek(source->fd, (off_t)source->start, SEEK_SET) < 0)
		return bpk_fail_errno(err, errno, "size of the device");
	source->nature = BPK_SOURCE_SEEKABLE;
	source->size = (uint64_t)end > source->start ? (uint64_t)end - source->start : 0;
	return 0;
}

/* Find out what was opened. */
static int look(struct bpk_source *source, struct bpk_err *err)
{
	off_t start = source->is_stdin ? lseek(source->fd, 0, SEEK_CUR) : 0;

	if (fstat(source->fd, &source->stat) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	source->start = start > 0 ? (uint64_t)start : 0;
	source->nature = BPK_SOURCE_STREAM;
	source->size = BPK_UNKNOWN;
	switch (source->stat.st_mode & S_IFMT) {
	case S_IFDIR:
		return bpk_fail(err, BPK_FAILED, "is a directory");
	case S_IFREG:
		stat_regular(source);
		break;
	case S_IFBLK:
		if (stat_block_device(source, err) != 0)
			return -1;
		break;
	case S_IFIFO:
		/* refused to those whose pipes hold much already; any room works */
		(void)fcntl(source->fd, F_SETPIPE_SZ, PIPE_ROOM);
		break;
	}
	if (source->nature == BPK_SOURCE_STREAM)
		source->size = BPK_UNKNOWN;
	return 0;
}

/* Standard input is duplicated, so that closing a source is the same for all of them. */
static int open_path(const char *path, bool is_stdin)
{
	if (is_stdin)
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return bpk_full_open(path, O_RDONLY | O_NOCTTY);
}

int bpk_source_open(const char *path, struct bpk_source **source, struct bpk_err *err)
{
	struct bpk_source *s = bpk_calloc(1, sizeof *s, err);

	*source = NULL;
	if (s == NULL)
		return -1;
	s->is_stdin = strcmp(path, "-") == 0;
	s->fd = open_path(path, s->is_stdin);
	if (s->fd < 0) {
		bpk_fail_errno(err, errno, "cannot open");
		goto fail;
	}
	if (look(s, err) != 0)
		goto fail;
	*source = s;
	return 0;
fail:
	s->is_stdin = false; /* nothing was read: leave its position alone */
	bpk_source_close(s);
	return -1;
}

int bpk_source_of_descriptor(int fd, struct bpk_source **source, struct bpk_err *err)
{
	struct bpk_source *s = bpk_calloc(1, sizeof *s, err);

	*source = NULL;
	if (s == NULL) {
		close(fd);
		return -1;
	}
	s->fd = fd;
	if (look(s, err) != 0) {
		bpk_source_close(s);
		return -1;
	}
	*source = s;
	return 0;
}

int bpk_source_of_memory(struct bpk_view bytes, struct bpk_source **source, struct bpk_err *err)
{
	*source = bpk_calloc(1, sizeof **source, err);
	if (*source == NULL)
		return -1;
	(*source)->nature = BPK_SOURCE_MEMORY;
	(*source)->fd = -1;
	(*source)->memory = bytes;
	(*source)->size = bytes.size;
	return 0;
}

int bpk_source_of(const struct bpk_source_ops *ops, void *arg, uint64_t size,
		  struct bpk_source **source, struct bpk_err *err)
{
	*source = bpk_calloc(1, sizeof **source, err);
	if (*source == NULL)
		return -1;
	(*source)->nature = ops->positional ? BPK_SOURCE_SEEKABLE : BPK_SOURCE_STREAM;
	(*source)->fd = -1;
	(*source)->ops = ops;
	(*source)->arg = arg;
	(*source)->size = size;
	return 0;
}

int bpk_source_part(const struct bpk_source *whole, uint64_t offset, uint64_t size,
		    struct bpk_source **part, struct bpk_err *err)
{
	uint64_t end = whole->size;
	struct bpk_source *p;

	*part = NULL;
	if (offset > end || size > end - offset)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " bytes at %" PRIu64 " are not there, it has %" PRIu64,
				size, offset, end);
	if (whole->ops != NULL || whole->nature == BPK_SOURCE_STREAM)
		return bpk_fail(err, BPK_BUG, "a part of what is no file");
	if (whole->nature == BPK_SOURCE_MEMORY)
		return bpk_source_of_memory(bpk_view(whole->memory.data + offset, (size_t)size),
					    part, err);
	p = bpk_calloc(1, sizeof *p, err);
	if (p == NULL)
		return -1;
	p->nature = whole->nature;
	p->stat = whole->stat;
	p->start = whole->start + offset;
	p->size = size;
	p->fd = fcntl(whole->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (p->fd < 0) {
		bpk_fail_errno(err, errno, "cannot open");
		free(p);
		return -1;
	}
	*part = p;
	return 0;
}

void bpk_source_close(struct bpk_source *source)
{
	if (source == NULL)
		return;
	/* as other tools do for the next one in `{ bpk ...; cat; } < file`; pread moved nothing */
	if (source->is_stdin && source->nature == BPK_SOURCE_SEEKABLE)
		(void)lseek(source->fd, (off_t)(source->start + source->tell), SEEK_SET);
	if (source->ops != NULL && source->ops->close != NULL)
		source->ops->close(source->arg);
	bpk_shared_free(source->shared);
	if (source->fd >= 0)
		close(source->fd);
	bpk_buf_clear(&source->ahead);
	free(source);
}

bool bpk_source_seekable(const struct bpk_source *source)
{
	return source->nature != BPK_SOURCE_STREAM;
}

uint64_t bpk_source_size(const struct bpk_source *source)
{
	return source->size;
}

uint64_t bpk_source_tell(const struct bpk_source *source)
{
	return source->tell;
}

const struct stat *bpk_source_stat(const struct bpk_source *source)
{
	return &source->stat;
}

int bpk_source_read_at(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	uint64_t size = source->size;

	*got = 0;
	if (source->nature == BPK_SOURCE_STREAM)
		return bpk_fail(err, BPK_BUG, "read at an offset of a pipe");
	if (offset >= size)
		return 0;
	/* what a growing file gained since it was opened is not part of it */
	out.size = (size_t)bpk_min_u64(out.size, size - offset);
	if (source->ops != NULL)
		return source->ops->read_at(source->arg, offset, out, got, err);
	if (source->shared != NULL)
		return bpk_shared_read_at(source, offset, out, got, err);
	if (source->nature == BPK_SOURCE_SEEKABLE)
		return bpk_full_read_at(source->fd, source->start + offset, out, got, err);
	bpk_copy(out.data, source->memory.data + offset, out.size);
	*got = out.size;
	return 0;
}

int bpk_source_need_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       struct bpk_err *err)
{
	size_t got;

	if (bpk_source_read_at(source, offset, out, &got, err) != 0)
		return -1;
	if (got < out.size)
		return bpk_fail(err, BPK_CORRUPT,
				"ends %zu bytes early: %zu bytes are needed at %" PRIu64,
				out.size - got, out.size, offset);
	return 0;
}

/* Bytes behind the cursor; a shared file may have become shorter. */
static uint64_t left(const struct bpk_source *source)
{
	uint64_t size = source->size;

	return size > source->tell ? size - source->tell : 0;
}

/* Bytes of a stream that were read and not yet passed by the cursor. */
static struct bpk_view waiting(const struct bpk_source *source)
{
	if (source->ahead.size == 0)
		return bpk_view(NULL, 0);
	return bpk_view(source->ahead.data + source->ahead_used,
			source->ahead.size - source->ahead_used);
}

/* Move the cursor of a stream over bytes that wait. */
static void pass(struct bpk_source *source, size_t size)
{
	source->ahead_used += size;
	source->tell += size;
	if (source->ahead_used == source->ahead.size)
		source->ahead_used = source->ahead.size = 0;
}

/* Read from the stream itself, behind what is waiting. */
static int read_stream(struct bpk_source *source, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	uint64_t offset = source->tell + waiting(source).size;
	int rc;

	*got = 0;
	if (source->ended)
		return 0;
	if (source->ops != NULL)
		rc = source->ops->read_at(source->arg, offset, out, got, err);
	else
		rc = bpk_full_read(source->fd, out, got, err);
	if (rc != 0)
		return -1;
	source->ended = *got < out.size;
	return 0;
}

int bpk_source_read(struct bpk_source *source, struct bpk_span out, size_t *got,
		    struct bpk_err *err)
{
	struct bpk_view head;
	size_t more = 0;

	if (source->nature != BPK_SOURCE_STREAM) {
		if (bpk_source_read_at(source, source->tell, out, got, err) != 0)
			return -1;
		source->tell += *got;
		return 0;
	}
	head = waiting(source);
	head.size = bpk_min_size(head.size, out.size);
	bpk_copy(out.data, head.data, head.size);
	pass(source, head.size);
	*got = head.size;
	if (head.size == out.size)
		return 0;
	if (read_stream(source, bpk_span(out.data + head.size, out.size - head.size), &more, err) !=
	    0)
		return -1;
	source->tell += more;
	*got += more;
	return 0;
}

/* Have size bytes of a stream waiting, less only at its end. */
static int fill(struct bpk_source *source, size_t size, struct bpk_err *err)
{
	struct bpk_buf *ahead = &source->ahead;
	size_t got;

	if (ahead->size - source->ahead_used >= size || source->ended)
		return 0;
	if (source->ahead_used > 0) {
		memmove(ahead->data, ahead->data + source->ahead_used,
			ahead->size - source->ahead_used);
		ahead->size -= source->ahead_used;
		source->ahead_used = 0;
	}
	if (bpk_buf_reserve(ahead, size, err) != 0 ||
	    read_stream(source, bpk_span(ahead->data + ahead->size, size - ahead->size), &got,
			err) != 0)
		return -1;
	ahead->size += got;
	return 0;
}

int bpk_source_peek(struct bpk_source *source, size_t size, struct bpk_view *head,
		    struct bpk_err *err)
{
	size_t got;

	*head = bpk_view(NULL, 0);
	if (source->nature == BPK_SOURCE_STREAM) {
		if (fill(source, size, err) != 0)
			return -1;
		*head = waiting(source);
		head->size = bpk_min_size(head->size, size);
		return 0;
	}
	size = (size_t)bpk_min_u64(size, left(source));
	if (source->nature == BPK_SOURCE_MEMORY) {
		if (size > 0)
			*head = bpk_view(source->memory.data + source->tell, size);
		return 0;
	}
	if (bpk_buf_resize(&source->ahead, size, err) != 0 ||
	    bpk_source_read_at(source, source->tell, bpk_span(source->ahead.data, size), &got,
			       err) != 0)
		return -1;
	*head = bpk_view(source->ahead.data, got);
	return 0;
}

int bpk_source_skip(struct bpk_source *source, uint64_t size, uint64_t *skipped,
		    struct bpk_err *err)
{
	*skipped = 0;
	if (source->nature != BPK_SOURCE_STREAM) {
		*skipped = bpk_min_u64(size, left(source));
		source->tell += *skipped;
		return 0;
	}
	while (*skipped < size) {
		size_t step = (size_t)bpk_min_u64(size - *skipped, SKIP_STEP);

		if (fill(source, step, err) != 0)
			return -1;
		step = bpk_min_size(step, waiting(source).size);
		if (step == 0)
			break;
		pass(source, step);
		*skipped += step;
	}
	return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int bpk_source_unchanged(struct bpk_source *source, struct bpk_err *err)
{
	struct stat now;

	if (source->fd < 0 || !S_ISREG(source->stat.st_mode))
		return 0;
	if (fstat(source->fd, &now) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (now.st_size != source->stat.st_size || !same_time(now.st_mtim, source->stat.st_mtim) ||
	    !same_time(now.st_ctim, source->stat.st_ctim))
		return bpk_fail(err, BPK_FAILED, "changed while it was read");
	return 0;
}

int bpk_source_hold(struct bpk_source *source, struct bpk_err *err)
{
	if (source->shared != NULL)
		return bpk_shared_hold(source, err);
	if (source->holds != NULL)
		return source->holds->hold(source->arg, err);
	return 0;
}

void bpk_source_release(struct bpk_source *source)
{
	if (source->shared != NULL)
		bpk_shared_release(source);
	else if (source->holds != NULL)
		source->holds->release(source->arg);
}

bool bpk_source_in_change(struct bpk_source *source)
{
	if (source->shared != NULL)
		return bpk_shared_in_change(source);
	return source->holds != NULL && source->holds->in_change(source->arg);
}

bool bpk_source_pending(const struct bpk_source *source)
{
	if (source->shared != NULL)
		return bpk_shared_pending(source);
	return source->holds != NULL && source->holds->pending(source->arg);
}
