/* Writing with holes for long runs of zeros. Drafts call it. */
#include "io/file/sparse.h"

#include <errno.h>
#include <unistd.h>

#include "io/full.h"

enum { BLOCK = 64 << 10 }; /* the unit of holes, in bytes */

/* Three bytes reject most other data at once; memcmp then runs at its full speed. */
static bool is_zero_block(const uint8_t *block)
{
	return block[0] == 0 && block[BLOCK / 2] == 0 && block[BLOCK - 1] == 0 &&
	       bpk_is_zero(bpk_view(block, BLOCK));
}

/*
 * True if size bytes at offset read as zeros without having been written. The file system is asked,
 * not a record of our own, so that the answer is right whatever was written before.
 */
static bool is_hole(int fd, uint64_t offset, size_t size)
{
	off_t data = lseek(fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO; /* no data from there on; other errors: unknown */
	return (uint64_t)data - offset >= size;
}

/* The number of bytes from at on that are whole blocks of zeros. */
static size_t zeros_from(struct bpk_view bytes, size_t at)
{
	size_t size = 0;

	while (bytes.size - at - size >= BLOCK && is_zero_block(bytes.data + at + size))
		size += BLOCK;
	return size;
}

int bpk_sparse_write_at(int fd, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	size_t first = (size_t)(-offset % BLOCK); /* the first boundary of the file in bytes */
	size_t done = 0;

	if (offset > INT64_MAX || bytes.size > INT64_MAX - offset)
		return bpk_fail_errno(err, EFBIG, "write");
	for (size_t at = first; at <= bytes.size && bytes.size - at >= BLOCK; at += BLOCK) {
		size_t run = zeros_from(bytes, at);

		if (run == 0)
			continue;
		if (is_hole(fd, offset + at, run)) {
			if (bpk_full_write_at(fd, offset + done,
					      bpk_view(bytes.data + done, at - done), err) != 0)
				return -1;
			done = at + run;
		}
		at += run - BLOCK;
	}
	if (done == bytes.size)
		return 0;
	return bpk_full_write_at(fd, offset + done, bpk_view(bytes.data + done, bytes.size - done),
				 err);
}
