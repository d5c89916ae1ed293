/* Opening and closing sources: over files, memory and functions of a caller. Called by every room
 * above. */
#include "io/file/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/full.h"

/* bytes of buffer requested for a pipe: fewer switches between its writer and us */
enum { PIPE_ROOM = 1 << 20 };

/* what Linux reads ahead without advice */
enum { READ_AHEAD = 128 << 10 };

static int stat_regular(struct bpk_source *source, bool advise, struct bpk_err *err)
{
	uint64_t whole = source->stat.st_size > 0 ? (uint64_t)source->stat.st_size : 0;
	uint8_t byte;
	size_t got = 0;

	source->nature = BPK_SOURCE_SEEKABLE;
	source->size = whole > source->start ? whole - source->start : 0;
	/* files of /proc have size 0, but return text */
	if (whole == 0 && bpk_full_read_at(source->fd, 0, bpk_span(&byte, 1), &got, err) != 0)
		return -1;
	if (got > 0)
		source->nature = BPK_SOURCE_STREAM;
	if (advise && whole > READ_AHEAD)
		posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
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

/* Fill in the nature, start and size of an open descriptor. */
static int look(struct bpk_source *source, struct bpk_err *err)
{
	off_t start = source->is_stdin ? lseek(source->fd, 0, SEEK_CUR) : 0;
	int errnum = errno; /* a pipe has no position */

	if (fstat(source->fd, &source->stat) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	source->start = start > 0 ? (uint64_t)start : 0;
	source->nature = BPK_SOURCE_STREAM;
	source->size = BPK_UNKNOWN;
	switch (source->stat.st_mode & S_IFMT) {
	case S_IFDIR:
		return bpk_fail(err, BPK_FAILED, "is a directory");
	case S_IFREG:
		if (source->is_stdin && start < 0)
			return bpk_fail_errno(err, errnum, "its position");
		if (stat_regular(source, true, err) != 0)
			return -1;
		break;
	case S_IFBLK:
		if (stat_block_device(source, err) != 0)
			return -1;
		break;
	case S_IFIFO:
		/* refused when the user's pipes already hold much; any size works */
		(void)fcntl(source->fd, F_SETPIPE_SZ, PIPE_ROOM);
		break;
	}
	if (source->nature == BPK_SOURCE_STREAM)
		source->size = BPK_UNKNOWN;
	return 0;
}

/* Standard input is duplicated, so that every source is closed in the same way. */
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
		if (bpk_path_is_url(path))
			bpk_fail(err, BPK_FAILED, "is a URL, and here a local file is expected");
		else
			bpk_fail_errno(err, errno, "cannot open");
		goto fail;
	}
	if (look(s, err) != 0)
		goto fail;
	/* a result is no more public than its input */
	s->stat.st_mode = bpk_acl_mode(s->fd, s->stat.st_mode);
	*source = s;
	return 0;
fail:
	s->is_stdin = false; /* nothing was read: leave its position unchanged */
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

/* Nothing is done to a file of another kind. No advice: chunks are read as a whole. */
int bpk_source_of_regular(int fd, struct bpk_source **source, struct bpk_err *err)
{
	struct bpk_source *s = bpk_calloc(1, sizeof *s, err);
	int rc = -1;

	*source = NULL;
	if (s == NULL) {
		close(fd);
		return -1;
	}
	s->fd = fd;
	if (fstat(fd, &s->stat) != 0)
		bpk_fail_errno(err, errno, "fstat");
	else if (!S_ISREG(s->stat.st_mode))
		bpk_fail(err, BPK_CORRUPT, "is not a regular file");
	else
		rc = stat_regular(s, false, err);
	if (rc != 0) {
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
	if (whole->nature == BPK_SOURCE_STREAM || (whole->ops != NULL && whole->ops->share == NULL))
		return bpk_fail(err, BPK_BUG, "a part of a source that is no file");
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
	p->fd = -1;
	p->ops = whole->ops;
	if (p->ops != NULL)
		p->arg = p->ops->share(whole->arg);
	else
		p->fd = fcntl(whole->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (p->ops == NULL && p->fd < 0) {
		bpk_fail_errno(err, errno, "cannot open");
		free(p);
		return -1;
	}
	*part = p;
	return 0;
}

const char *bpk_input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

void bpk_source_close(struct bpk_source *source)
{
	if (source == NULL)
		return;
	/* the next command in `{ bpk ...; cat; } < file` goes on from here; pread moved nothing */
	if (source->is_stdin && source->nature == BPK_SOURCE_SEEKABLE)
		(void)lseek(source->fd, (off_t)(source->start + source->tell), SEEK_SET);
	if (source->ops != NULL && source->ops->close != NULL)
		source->ops->close(source->arg);
	bpk_source_shared_free(source->shared);
	if (source->fd >= 0)
		close(source->fd);
	bpk_buf_clear(&source->ahead);
	bpk_buf_clear(&source->head);
	free(source);
}
