/*
 * A shared library to preload into a command: it logs how files below a folder change, call by
 * call, and the syncs. powercuts.c makes the states of it that a power cut may leave.
 *
 *     LD_PRELOAD=powerlog.so POWERLOG_FOLDER=DIR POWERLOG_ATTIC=DIR [POWERLOG_FILE=FILE] COMMAND
 *
 * Each file gets a second name in the attic, its inode number, so that it outlives its first one: a
 * journal and a list of changes count only for the inodes that they name. Commands do not see that
 * link. Nor do they see change times, which nobody can restore: ctime is mtime for them. Without
 * POWERLOG_FILE nothing is logged.
 *
 * Calls are made one at a time, so that each change is seen after the call that made it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault/powerlog.h"

#if defined __GLIBC__ && defined __LP64__

enum { FILES_MOST = 512, NAMES_MOST = 1 << 16, FILE_MOST = 1 << 20 };

/* Fixed after begin. */
static const char *folder, *attic;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static int out = -1;
static struct known {
	uint64_t inode;
	int64_t time; /* its mtime, ns since 1970 */
	size_t size;
	char *bytes;
} files[FILES_MOST];
static size_t nfiles;
static char names[NAMES_MOST], names_before[NAMES_MOST];
static size_t names_size;

/* Own calls are not ours to log: none goes through the functions below. */
static int raw_stat(int dir, const char *path, struct stat *st, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, path, st, flags);
}

static _Noreturn void give_up(const char *what)
{
	dprintf(STDERR_FILENO, "powerlog: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static void put(const void *bytes, size_t size)
{
	for (const char *at = bytes; size > 0;) {
		long done = syscall(SYS_write, out, at, size);

		if (done <= 0)
			give_up("the log");
		at += done;
		size -= (size_t)done;
	}
}

static void put_record(enum powerlog_kind kind, uint64_t inode, int64_t time, const void *bytes,
		       size_t size)
{
	const struct powerlog_record record = { kind, inode, size, time };

	put(&record, sizeof record);
	put(bytes, size);
}

/* ---- Files and names ---- */

static void attic_path(uint64_t inode, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%" PRIu64, attic, inode);
}

/* Give the file its name in the attic; another file system has none. */
static void keep(int dir, const char *path, int flags, uint64_t inode)
{
	char to[PATH_MAX];

	attic_path(inode, to);
	if (syscall(SYS_linkat, dir, path, AT_FDCWD, to, flags) != 0 && errno != EEXIST &&
	    errno != EXDEV)
		give_up(path);
	for (size_t i = 0; i < nfiles; i++)
		if (files[i].inode == inode)
			return;
	if (nfiles == FILES_MOST)
		give_up("too many files");
	files[nfiles++] = (struct known){ .inode = inode };
}

static void add_name(uint64_t inode, const char *path)
{
	int size = snprintf(names + names_size, sizeof names - names_size, "%" PRIu64 " %s\n",
			    inode, path + strlen(folder) + 1);

	if (size < 0 || (size_t)size >= sizeof names - names_size)
		give_up("too many names");
	names_size += (size_t)size;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void list(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, by_name);

	for (int i = 0; i < count; i++) {
		char below[PATH_MAX];
		struct stat st;

		snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name);
		if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0 &&
		    raw_stat(AT_FDCWD, below, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			if (S_ISREG(st.st_mode))
				keep(AT_FDCWD, below, 0, st.st_ino);
			add_name(S_ISREG(st.st_mode) ? st.st_ino : 0, below);
			if (S_ISDIR(st.st_mode))
				list(below);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static void look_at_names(void)
{
	names_size = 0;
	names[0] = '\0';
	list(folder);
	if (strcmp(names, names_before) == 0)
		return;
	memcpy(names_before, names, names_size + 1);
	put_record(POWERLOG_NAMES, 0, 0, names, names_size);
}

static void look_at_file(struct known *file)
{
	static char bytes[FILE_MOST];
	char path[PATH_MAX];
	struct stat st;
	int64_t time;
	long size, fd;

	attic_path(file->inode, path);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return; /* of another file system */
	size = syscall(SYS_pread64, fd, bytes, sizeof bytes, 0L);
	if (size < 0 || size == FILE_MOST || raw_stat((int)fd, "", &st, AT_EMPTY_PATH) != 0)
		give_up(path);
	syscall(SYS_close, fd);
	time = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	/* a time alone is set, too: lists of changes compare it */
	if (file->bytes != NULL && file->time == time && file->size == (size_t)size &&
	    memcmp(file->bytes, bytes, (size_t)size) == 0)
		return;
	free(file->bytes);
	file->bytes = malloc((size_t)size + 1);
	if (file->bytes == NULL)
		give_up("no memory");
	memcpy(file->bytes, bytes, (size_t)size);
	file->size = (size_t)size;
	file->time = time;
	put_record(POWERLOG_FILE, file->inode, time, bytes, (size_t)size);
}

static void look(void)
{
	look_at_names();
	for (size_t i = 0; i < nfiles; i++)
		look_at_file(&files[i]);
}

__attribute__((constructor)) static void begin(void)
{
	const char *file = getenv("POWERLOG_FILE");

	folder = getenv("POWERLOG_FOLDER");
	attic = getenv("POWERLOG_ATTIC");
	if (folder == NULL || attic == NULL)
		give_up("POWERLOG_FOLDER and POWERLOG_ATTIC are not set");
	if (file == NULL)
		return;
	out = (int)syscall(SYS_openat, AT_FDCWD, file,
			   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (out < 0)
		give_up(file);
	look();
	put_record(POWERLOG_CALL, 0, 0, "", 0);
	unsetenv("POWERLOG_FILE"); /* not for the command's own children */
}

/* ---- The calls ---- */

static void enter(void)
{
	pthread_mutex_lock(&lock);
}

/* The end of a call. Returns its result, and leaves errno as it was. */
static long leave(long result)
{
	int errnum = errno;

	if (out >= 0 && result >= 0) {
		look();
		put_record(POWERLOG_CALL, 0, 0, "", 0);
	}
	pthread_mutex_unlock(&lock);
	errno = errnum;
	return result;
}

static void note_sync(int fd)
{
	char link[64], path[PATH_MAX];
	size_t above = strlen(folder);
	struct stat st;
	ssize_t size;

	if (out < 0 || raw_stat(fd, "", &st, AT_EMPTY_PATH) != 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		put_record(POWERLOG_SYNC, st.st_ino, 0, "", 0);
		return;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
	if (size < (ssize_t)above || strncmp(path, folder, above) != 0)
		return;
	path[size] = '\0';
	if (path[above] == '/')
		put_record(POWERLOG_FOLDER, 0, 0, path + above + 1, (size_t)size - above - 1);
	else if (path[above] == '\0')
		put_record(POWERLOG_FOLDER, 0, 0, "", 0);
}

static long sync_by(long number, int fd)
{
	long result;

	enter();
	result = syscall(number, fd);
	if (result == 0)
		note_sync(fd);
	return leave(result);
}

/* Take the place of a function of the C library, which is known by some names. */
#define REPLACE(name, function)                                                                    \
	extern __typeof__(function) replaced_##name __asm__(#name)                                 \
		__attribute__((alias(#function), visibility("default")))

static int log_fsync(int fd)
{
	return (int)sync_by(SYS_fsync, fd);
}
REPLACE(fsync, log_fsync);

static int log_fdatasync(int fd)
{
	return (int)sync_by(SYS_fdatasync, fd);
}
REPLACE(fdatasync, log_fdatasync);

static ssize_t log_write(int fd, const void *bytes, size_t size)
{
	if (fd <= STDERR_FILENO)
		return syscall(SYS_write, fd, bytes, size);
	enter();
	return leave(syscall(SYS_write, fd, bytes, size));
}
REPLACE(write, log_write);

static ssize_t log_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	enter();
	return leave(syscall(SYS_pwrite64, fd, bytes, size, offset));
}
REPLACE(pwrite64, log_pwrite);

static ssize_t log_copy(int in, off_t *in_offset, int to, off_t *offset, size_t size,
			unsigned flags)
{
	enter();
	return leave(syscall(SYS_copy_file_range, in, in_offset, to, offset, size, flags));
}
REPLACE(copy_file_range, log_copy);

static int log_truncate(int fd, off_t size)
{
	enter();
	return (int)leave(syscall(SYS_ftruncate, fd, size));
}
REPLACE(ftruncate64, log_truncate);

static int log_openat(int dir, const char *path, int flags, mode_t mode)
{
	struct stat st;
	char link[64];
	long fd;

	if ((flags & O_CREAT) == 0 && (flags & O_TMPFILE) != O_TMPFILE)
		return (int)syscall(SYS_openat, dir, path, flags, mode);
	enter();
	fd = syscall(SYS_openat, dir, path, flags, mode);
	if (out >= 0 && fd >= 0 && (flags & O_TMPFILE) == O_TMPFILE &&
	    raw_stat((int)fd, "", &st, AT_EMPTY_PATH) == 0) {
		snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
		keep(AT_FDCWD, link, AT_SYMLINK_FOLLOW, st.st_ino);
	}
	return (int)leave(fd);
}
REPLACE(openat64, log_openat);

static int log_open(const char *path, int flags, mode_t mode)
{
	return log_openat(AT_FDCWD, path, flags, mode);
}
REPLACE(open64, log_open);

static int log_linkat(int from, const char *old, int to, const char *new, int flags)
{
	enter();
	return (int)leave(syscall(SYS_linkat, from, old, to, new, flags));
}
REPLACE(linkat, log_linkat);

static int log_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
	enter();
	return (int)leave(syscall(SYS_renameat2, from, old, to, new, flags));
}
REPLACE(renameat2, log_renameat2);

static int log_renameat(int from, const char *old, int to, const char *new)
{
	return log_renameat2(from, old, to, new, 0);
}
REPLACE(renameat, log_renameat);

static int log_unlinkat(int dir, const char *path, int flags)
{
	enter();
	return (int)leave(syscall(SYS_unlinkat, dir, path, flags));
}
REPLACE(unlinkat, log_unlinkat);

static int log_unlink(const char *path)
{
	return log_unlinkat(AT_FDCWD, path, 0);
}
REPLACE(unlink, log_unlink);

static int log_mkdirat(int dir, const char *path, mode_t mode)
{
	enter();
	return (int)leave(syscall(SYS_mkdirat, dir, path, mode));
}
REPLACE(mkdirat, log_mkdirat);

static int log_mkdir(const char *path, mode_t mode)
{
	return log_mkdirat(AT_FDCWD, path, mode);
}
REPLACE(mkdir, log_mkdir);

/* ---- The command's view of a file ---- */

static bool is_kept(uint64_t inode)
{
	char path[PATH_MAX];

	attic_path(inode, path);
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

static int show(int result, struct stat *st)
{
	int errnum = errno;

	if (result == 0) {
		st->st_ctim = st->st_mtim;
		st->st_nlink -= S_ISREG(st->st_mode) && st->st_nlink > 0 && is_kept(st->st_ino);
	}
	errno = errnum;
	return result;
}

static int see_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return show(raw_stat(dir, path, st, flags), st);
}
REPLACE(fstatat64, see_fstatat);

static int see_fstat(int fd, struct stat *st)
{
	return see_fstatat(fd, "", st, AT_EMPTY_PATH);
}
REPLACE(fstat64, see_fstat);

static int see_stat(const char *path, struct stat *st)
{
	return see_fstatat(AT_FDCWD, path, st, 0);
}
REPLACE(stat64, see_stat);

static int see_lstat(const char *path, struct stat *st)
{
	return see_fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
REPLACE(lstat64, see_lstat);

static int see_statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
	int result = (int)syscall(SYS_statx, dir, path, flags, mask, st);
	int errnum = errno;

	if (result == 0) {
		st->stx_ctime = st->stx_mtime;
		st->stx_nlink -= S_ISREG(st->stx_mode) && st->stx_nlink > 0 && is_kept(st->stx_ino);
	}
	errno = errnum;
	return result;
}
REPLACE(statx, see_statx);
#endif
