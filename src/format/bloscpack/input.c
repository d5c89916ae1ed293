/* Reads a source by offsets, whether it is a file or a pipe. The rest of bloscpack calls it. */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>

enum { FIRST_PIECE = 1 << 20 }; /* first read from a pipe; later reads at most double the buffer */

/* Move a pipe's cursor forward to offset. */
static int pass_to(struct bpk_source *source, uint64_t offset, struct bpk_err *err)
{
	uint64_t here = bpk_source_tell(source);
	uint64_t skipped;

	if (offset < here)
		return bpk_fail(err, BPK_BUG,
				"offset %" PRIu64 " of a pipe precedes its cursor, %" PRIu64,
				offset, here);
	if (offset == here)
		return 0;
	if (bpk_source_skip(source, offset - here, &skipped, err) != 0)
		return -1;
	if (skipped != offset - here)
		return bpk_fail(err, BPK_CORRUPT,
				"input ends at offset %" PRIu64 ", %" PRIu64 " bytes early",
				here + skipped, offset - here - skipped);
	return 0;
}

int bpk_bloscpack_read(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err)
{
	if (bpk_source_seekable(source))
		return bpk_source_read_at(source, offset, out, got, err);
	if (pass_to(source, offset, err) != 0)
		return -1;
	return bpk_source_read(source, out, got, err);
}

int bpk_bloscpack_ends_early(struct bpk_err *err, const char *what, uint64_t got, uint64_t wanted)
{
	return bpk_fail(err, BPK_CORRUPT, "%s ends after %" PRIu64 " bytes, expected %" PRIu64,
			what, got, wanted);
}

int bpk_bloscpack_need(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       const char *what, struct bpk_err *err)
{
	size_t got;

	if (bpk_bloscpack_read(source, offset, out, &got, err) != 0)
		return -1;
	return got == out.size ? 0 : bpk_bloscpack_ends_early(err, what, got, out.size);
}

/* The size of the next read: on a pipe no more than has already arrived, so that a false size costs
 * at most twice the bytes that exist. */
static size_t next_piece(const struct bpk_source *source, const struct bpk_buf *buf, size_t done,
			 size_t left)
{
	size_t room = buf->capacity - buf->size;

	if (bpk_source_seekable(source))
		return left;
	return bpk_min_size(left,
			    room > FIRST_PIECE ? room : (done > FIRST_PIECE ? done : FIRST_PIECE));
}

int bpk_bloscpack_append(struct bpk_source *source, uint64_t offset, size_t size,
			 struct bpk_buf *buf, const char *what, struct bpk_err *err)
{
	size_t done = 0;

	while (done < size) {
		size_t piece = next_piece(source, buf, done, size - done);
		size_t got;

		if (piece > SIZE_MAX - buf->size)
			return bpk_fail_memory(err, size);
		if (bpk_buf_reserve(buf, buf->size + piece, err) != 0 ||
		    bpk_bloscpack_read(source, offset + done,
				       bpk_span(buf->data + buf->size, piece), &got, err) != 0)
			return -1;
		buf->size += got;
		done += got;
		if (got < piece)
			return bpk_bloscpack_ends_early(err, what, done, size);
	}
	return 0;
}

int bpk_bloscpack_ends_at(struct bpk_source *source, uint64_t offset, bool *ends,
			  struct bpk_err *err)
{
	struct bpk_view next;

	if (bpk_source_seekable(source)) {
		*ends = offset >= bpk_source_size(source);
		return 0;
	}
	if (pass_to(source, offset, err) != 0 || bpk_source_peek(source, 1, &next, err) != 0)
		return -1;
	*ends = next.size == 0;
	return 0;
}
