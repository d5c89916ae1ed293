/* Temporary files without a name. Formats that read or write a pipe out of order call it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/full.h"

/* Belongs to one thread while it is written; then fixed. */
struct bpk_spool {
	int fd;
	uint64_t size;
};

enum { SPOOL_PIECE = 256 << 10 }; /* bytes copied at a time */

/* O_TMPFILE never makes a name; without it mkostemp makes one for a moment. */
static int create_nameless(const char *folder, struct bpk_err *err)
{
	char *name = NULL;
	int fd = bpk_full_open(folder, O_TMPFILE | O_RDWR | O_EXCL), errnum;

	if (fd >= 0)
		return fd;
	if (asprintf(&name, "%s/bpk-XXXXXX", folder) < 0)
		return bpk_fail_memory(err, strlen(folder));
	do
		fd = mkostemp(name, O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	errnum = errno;
	if (fd >= 0)
		unlink(name);
	free(name);
	if (fd < 0)
		return bpk_fail_errno(err, errnum, "a temporary file in %s", folder);
	return fd;
}

const char *bpk_temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

int bpk_spool_open(struct bpk_spool **spool, struct bpk_err *err)
{
	struct bpk_spool *s = bpk_calloc(1, sizeof *s, err);

	*spool = NULL;
	if (s == NULL)
		return -1;
	s->fd = create_nameless(bpk_temporary_folder(), err);
	if (s->fd < 0) {
		free(s);
		return -1;
	}
	*spool = s;
	return 0;
}

void bpk_spool_close(struct bpk_spool *spool)
{
	if (spool == NULL)
		return;
	close(spool->fd);
	free(spool);
}

uint64_t bpk_spool_size(const struct bpk_spool *spool)
{
	return spool->size;
}

int bpk_spool_write_at(struct bpk_spool *spool, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err)
{
	if (bpk_full_write_at(spool->fd, offset, bytes, err) != 0)
		return bpk_err_subject(err, "a temporary file");
	spool->size = bpk_max_u64(spool->size, offset + bytes.size);
	return 0;
}

int bpk_spool_write(struct bpk_spool *spool, struct bpk_view bytes, struct bpk_err *err)
{
	return bpk_spool_write_at(spool, spool->size, bytes, err);
}

int bpk_spool_set_size(struct bpk_spool *spool, uint64_t size, struct bpk_err *err)
{
	if (bpk_full_set_size(spool->fd, size) != 0)
		return bpk_fail_errno(err, errno, "a temporary file");
	spool->size = size;
	return 0;
}

int bpk_spool_fill(struct bpk_spool *spool, struct bpk_source *source, struct bpk_err *err)
{
	struct bpk_buf piece = { 0 };
	int rc = bpk_buf_resize(&piece, SPOOL_PIECE, err);
	size_t got = SPOOL_PIECE;

	while (rc == 0 && got == SPOOL_PIECE) {
		rc = bpk_source_read(source, bpk_span(piece.data, SPOOL_PIECE), &got, err);
		if (rc == 0)
			rc = bpk_spool_write(spool, bpk_view(piece.data, got), err);
	}
	bpk_buf_clear(&piece);
	return rc;
}

static int read_at(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		   struct bpk_err *err)
{
	const struct bpk_spool *spool = arg;

	if (bpk_full_read_at(spool->fd, offset, out, got, err) != 0)
		return bpk_err_subject(err, "a temporary file");
	return 0;
}

int bpk_spool_read_at(struct bpk_spool *spool, uint64_t offset, struct bpk_span out,
		      struct bpk_err *err)
{
	size_t got;

	if (read_at(spool, offset, out, &got, err) != 0)
		return -1;
	return got == out.size ? 0 : bpk_fail(err, BPK_FAILED, "a temporary file was cut short");
}

int bpk_spool_source(struct bpk_spool *spool, struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_at, .positional = true };

	return bpk_source_of(&ops, spool, spool->size, source, err);
}

int bpk_spool_drain(struct bpk_spool *spool, struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_buf piece = { 0 };
	uint64_t done = 0;
	int rc = bpk_buf_resize(&piece, SPOOL_PIECE, err);

	while (rc == 0 && done < spool->size) {
		size_t want = (size_t)bpk_min_u64(SPOOL_PIECE, spool->size - done);

		rc = bpk_spool_read_at(spool, done, bpk_span(piece.data, want), err);
		if (rc == 0)
			rc = bpk_draft_write(draft, bpk_view(piece.data, want), err);
		done += want;
	}
	bpk_buf_clear(&piece);
	return rc;
}
