/* Files in memory: memory.h. */
#include "cli/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int bpk_memory_open(struct bpk_err *err)
{
	int file = memfd_create("bpk", MFD_CLOEXEC);

	return file >= 0 ? file : bpk_fail_errno(err, errno, "cannot keep messages in memory");
}

int bpk_memory_append(int file, uint64_t most, struct bpk_buf *bytes, struct bpk_err *err)
{
	size_t from = bytes->size, size;
	struct stat found;
	ssize_t got;

	if (fstat(file, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if ((uint64_t)found.st_size > most)
		return bpk_fail(err, BPK_LIMIT, "writes more than %" PRIu64 " bytes", most);
	size = (size_t)found.st_size;
	if (bpk_buf_reserve(bytes, from + size, err) != 0)
		return -1;
	for (size_t at = 0; at < size; at += (size_t)got) {
		got = pread(file, bytes->data + from + at, size - at, (off_t)at);
		if (got <= 0)
			return bpk_fail_errno(err, got < 0 ? errno : EIO, "read");
		bytes->size += (size_t)got;
	}
	return 0;
}
