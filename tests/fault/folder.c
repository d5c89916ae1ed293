/* Folders of small files, for the sweeps. Each case restores one, so no process is started. */
#include "fault/folder.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/run.h"

struct timespec folder_now(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0)
		run_die("the clock");
	return now;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *walk(const char *path)
{
	char *paths[] = { (char *)path, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);

	if (fts == NULL)
		run_die(path);
	return fts;
}

/* ---- restoring ---- */

static void remove_all(const char *path)
{
	FTS *fts = walk(path);

	for (FTSENT *entry; (entry = fts_read(fts)) != NULL;) {
		int rc = 0;

		if (entry->fts_info == FTS_DP)
			rc = rmdir(entry->fts_accpath);
		else if (entry->fts_info != FTS_D && entry->fts_info != FTS_NS)
			rc = unlink(entry->fts_accpath);
		if (rc != 0)
			run_die(entry->fts_path);
	}
	fts_close(fts);
}

/* Call put with each part of the file's bytes. */
static void each_part(const char *path, void (*put)(const char *bytes, size_t size, void *arg),
		      void *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char part[1 << 14];
	ssize_t got = -1;

	while (fd >= 0 && (got = read(fd, part, sizeof part)) > 0)
		put(part, (size_t)got, arg);
	if (got < 0)
		run_die(path);
	close(fd);
}

static void write_part(const char *bytes, size_t size, void *arg)
{
	if (write(*(int *)arg, bytes, size) != (ssize_t)size)
		run_die("a copy");
}

static void copy_file(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		run_die(to);
	each_part(from, write_part, &fd);
	close(fd);
}

void folder_restore(const char *from, const char *to)
{
	FTS *fts;

	remove_all(to);
	fts = walk(from);
	for (FTSENT *entry; (entry = fts_read(fts)) != NULL;) {
		const struct stat *st = entry->fts_statp;
		const struct timespec times[] = { st->st_atim, st->st_mtim };
		char path[PATH_MAX];

		snprintf(path, sizeof path, "%s%s", to, entry->fts_path + strlen(from));
		if (entry->fts_info == FTS_D && mkdir(path, 0700) != 0)
			run_die(path);
		if (entry->fts_info == FTS_F)
			copy_file(entry->fts_accpath, path);
		if (entry->fts_info != FTS_D && (chmod(path, st->st_mode & 07777) != 0 ||
						 utimensat(AT_FDCWD, path, times, 0) != 0))
			run_die(path);
	}
	fts_close(fts);
}

/* ---- comparing ---- */

static void print_part(const char *bytes, size_t size, void *arg)
{
	fwrite(bytes, 1, size, arg);
}

static void print_entry(const FTSENT *entry, struct timespec since, FILE *out)
{
	const struct stat *st = entry->fts_statp;
	const struct timespec *at = &st->st_mtim;
	bool later = at->tv_sec > since.tv_sec ||
		     (at->tv_sec == since.tv_sec && at->tv_nsec >= since.tv_nsec);

	fprintf(out, "%s%c%o", entry->fts_path, 0, (unsigned)st->st_mode);
	if (!S_ISREG(st->st_mode))
		return;
	fprintf(out, " %lld %lld %ld\n", (long long)st->st_size,
		later ? -1LL : (long long)at->tv_sec, later ? -1L : at->tv_nsec);
	each_part(entry->fts_accpath, print_part, out);
}

struct picture folder_picture(struct timespec since)
{
	struct picture picture = { 0 };
	FILE *out = open_memstream(&picture.bytes, &picture.size);
	FTS *fts = walk(".");

	if (out == NULL)
		run_die("a picture");
	for (FTSENT *entry; (entry = fts_read(fts)) != NULL;)
		if (entry->fts_info != FTS_DP)
			print_entry(entry, since, out);
	fts_close(fts);
	if (fclose(out) != 0)
		run_die("a picture");
	return picture;
}

bool folder_is_same(const struct picture *a, const struct picture *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

bool folder_was_seen(struct album *album, struct timespec since)
{
	struct picture picture = folder_picture(since);

	for (size_t i = 0; i < album->count; i++)
		if (folder_is_same(&album->pictures[i], &picture)) {
			free(picture.bytes);
			return true;
		}
	album->pictures = realloc(album->pictures, (album->count + 1) * sizeof picture);
	if (album->pictures == NULL)
		run_die("an album");
	album->pictures[album->count++] = picture;
	return false;
}

void folder_forget(struct album *album)
{
	while (album->count > 0)
		free(album->pictures[--album->count].bytes);
	free(album->pictures);
	album->pictures = NULL;
}
