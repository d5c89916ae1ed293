/* Complete reads, writes and other system calls, repeated after short counts and EINTR. All of io
 * calls it. */
#include "io/full.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum {
	/* The largest read in one call: below every system's limit, including 32-bit systems. */
	REQUEST_MAX = 1 << 30,
	/* The largest write in one call. Into a new file on ext4 (Linux 6.18) 128 MiB take a tenth
	 * less processor time in writes of 1 MiB than of 128 KiB; larger ones gain nothing. */
	WRITING_MAX = 1 << 20,
};

/* After a call failed with errnum: returns 0 when it should be repeated. */
static int wait_for(int fd, short events, int errnum)
{
	struct pollfd ready = { .fd = fd, .events = events };

	if (errnum == EINTR)
		return 0;
	if (errnum != EAGAIN && errnum != EWOULDBLOCK)
		return -1;
	return poll(&ready, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

/* offset: where to read, or -1 for the descriptor's own position. */
static int read_all(int fd, off_t offset, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	*got = 0;
	while (*got < out.size) {
		size_t want = bpk_min_size(out.size - *got, REQUEST_MAX);
		ssize_t count = offset < 0 ? read(fd, out.data + *got, want)
					   : pread(fd, out.data + *got, want, offset + (off_t)*got);
		int errnum = errno;

		if (count == 0)
			return 0;
		if (count > 0)
			*got += (size_t)count;
		else if (wait_for(fd, POLLIN, errnum) != 0)
			return bpk_fail_errno(err, errnum, "read");
	}
	return 0;
}

int bpk_full_read(int fd, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	return read_all(fd, -1, out, got, err);
}

int bpk_full_read_at(int fd, uint64_t offset, struct bpk_span out, size_t *got, struct bpk_err *err)
{
	*got = 0;
	if (offset > INT64_MAX)
		return 0;
	out.size = (size_t)bpk_min_u64(out.size, INT64_MAX - offset);
	return read_all(fd, (off_t)offset, out, got, err);
}

static int write_all(int fd, off_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	size_t done = 0;

	while (done < bytes.size) {
		size_t want = bpk_min_size(bytes.size - done, WRITING_MAX);
		ssize_t count = offset < 0
					? write(fd, bytes.data + done, want)
					: pwrite(fd, bytes.data + done, want, offset + (off_t)done);
		int errnum = errno;

		if (count > 0)
			done += (size_t)count;
		else if (count == 0) /* not from files; a device could loop for ever */
			return bpk_fail_errno(err, EIO, "write");
		else if (wait_for(fd, POLLOUT, errnum) != 0)
			return bpk_fail_errno(err, errnum, "write");
	}
	return 0;
}

int bpk_full_write(int fd, struct bpk_view bytes, struct bpk_err *err)
{
	return write_all(fd, -1, bytes, err);
}

int bpk_full_write_at(int fd, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	if (offset > INT64_MAX || bytes.size > INT64_MAX - offset)
		return bpk_fail_errno(err, EFBIG, "write");
	return write_all(fd, (off_t)offset, bytes, err);
}

int bpk_full_open(const char *path, int flags)
{
	return bpk_full_openat(AT_FDCWD, path, flags, 0);
}

int bpk_full_openat(int folder, const char *name, int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(folder, name, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

int bpk_full_set_size(int fd, uint64_t size)
{
	int rc;

	do
		rc = ftruncate(fd, (off_t)size);
	while (rc != 0 && errno == EINTR);
	return rc;
}

int bpk_full_sync(int fd)
{
	int rc;

	do
		rc = fsync(fd);
	while (rc != 0 && errno == EINTR);
	return rc;
}

int bpk_full_sync_data(int fd)
{
	int rc;

	do
		rc = fdatasync(fd);
	while (rc != 0 && errno == EINTR);
	return rc;
}

void bpk_full_begin_sync(int fd, uint64_t offset, uint64_t size)
{
	(void)sync_file_range(fd, (off_t)offset, (off_t)size, SYNC_FILE_RANGE_WRITE);
}
