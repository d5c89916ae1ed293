/*
 * The cache's folder, and its bound. Called by object.c, parts.c and
 * remote.c.
 *
 * A remote file is kept in segments (segment.h) of 4 MiB, whose holes are its missing blocks. The
 * files that were used least recently are removed before the folder exceeds its bound. Nothing is
 * locked: a file that another process removes stays with those who have it open, and is made anew
 * when more of it is written.
 */
#include "io/remote/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checksum/checksum.h"
#include "io/full.h"
#include "io/remote/request.h"
#include "io/remote/segment.h"

enum {
	SEGMENT = BPK_SEGMENT_BLOCKS * BPK_SEGMENT_BLOCK,
	FILE_COST = 8 << 10, /* bytes of a segment besides its blocks, at most */
	SHARE = 16,          /* a part of the bound that is written before the folder is read again,
				since other processes write, too */
};

struct bpk_cached {
	pthread_mutex_t lock; /* guards all members */
	struct bpk_segment_id id;
	bool is_set;
	struct bpk_segment segment; /* the one used last */
};

static struct {
	pthread_mutex_t lock; /* guards the following */
	bool is_opened;
	int folder;      /* -1: no cache */
	bool is_full;    /* nothing more is written */
	uint64_t used;   /* bytes of all files, when the folder was read, and of those since */
	uint64_t since;  /* bytes written since */
	bool is_counted; /* the folder was read */

	atomic_uint_fast64_t given;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER, .folder = -1 };

uint64_t bpk_cached_bytes(void)
{
	return atomic_load(&cache.given);
}

/* ---- the folder, with the lock ---- */

static void tell(const char *what, struct bpk_err *err)
{
	bpk_err_subject(err, "%s", what);
	bpk_request_tell(bpk_request_options().cache, err->text);
}

/* Others who may write here could replace its files. */
static int check_folder(int folder, struct bpk_err *err)
{
	struct stat found;

	if (fstat(folder, &found) != 0)
		return bpk_fail_errno(err, errno, "cannot stat");
	if (found.st_uid != geteuid())
		return bpk_fail(err, BPK_FAILED, "it belongs to another user");
	if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return bpk_fail(err, BPK_FAILED, "other users may write to it");
	return 0;
}

static int open_folder(const char *path, struct bpk_err *err)
{
	int folder;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return bpk_fail_errno(err, errno, "cannot create");
	folder = bpk_full_open(path, O_RDONLY | O_DIRECTORY);
	if (folder < 0)
		return bpk_fail_errno(err, errno, "cannot open");
	if (check_folder(folder, err) == 0)
		return folder;
	close(folder);
	return -1;
}

static bool has_cache(void)
{
	const char *path = bpk_request_options().cache;
	struct bpk_err err = { 0 };

	if (!cache.is_opened && path != NULL && *path != '\0') {
		cache.folder = open_folder(path, &err);
		if (cache.folder < 0)
			tell("the cache is not used", &err);
	}
	cache.is_opened = true;
	return cache.folder >= 0;
}

/* ---- the bound, with the lock ---- */

struct file {
	struct timespec used;
	uint64_t size;
	char name[BPK_SEGMENT_NAME];
};

static int by_use(const void *a, const void *b)
{
	const struct file *first = a, *second = b;

	if (first->used.tv_sec != second->used.tv_sec)
		return first->used.tv_sec < second->used.tv_sec ? -1 : 1;
	if (first->used.tv_nsec != second->used.tv_nsec)
		return first->used.tv_nsec < second->used.tv_nsec ? -1 : 1;
	return strcmp(first->name, second->name);
}

static int add_file(struct bpk_buf *files, const char *name, struct bpk_err *err)
{
	struct file file;
	struct stat found;

	if (!bpk_segment_is_name(name) ||
	    fstatat(cache.folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(found.st_mode))
		return 0;
	file.used = found.st_mtim;
	file.size = (uint64_t)found.st_blocks * 512;
	strcpy(file.name, name);
	return bpk_buf_append(files, bpk_view(&file, sizeof file), err);
}

static int list_files(struct bpk_buf *files, struct bpk_err *err)
{
	int fd = bpk_full_openat(cache.folder, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (dir == NULL) {
		bpk_fail_errno(err, errno, "cannot list");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (rc == 0 && (entry = readdir(dir)) != NULL)
		rc = add_file(files, entry->d_name, err);
	closedir(dir);
	return rc;
}

/* Count all files, and remove the oldest until size bytes fit with an eighth to spare, if they do
 * not fit. */
static int tidy(uint64_t size, struct bpk_err *err)
{
	uint64_t limit = bpk_request_options().cache_size;
	struct bpk_buf files = { 0 };
	size_t count;
	int rc = list_files(&files, err);
	struct file *file = (struct file *)files.data;

	count = files.size / sizeof *file;
	cache.used = cache.since = 0;
	cache.is_counted = true;
	for (size_t i = 0; i < count; i++)
		cache.used += file[i].size;
	if (rc == 0 && cache.used + size > limit) {
		qsort(file, count, sizeof *file, by_use);
		for (; count > 0 && cache.used + size > limit - limit / 8; count--, file++)
			if (unlinkat(cache.folder, file->name, 0) == 0 || errno == ENOENT)
				cache.used -= file->size;
	}
	bpk_buf_clear(&files);
	return rc;
}

/* Make room for size bytes more. */
static int make_room(uint64_t size, struct bpk_err *err)
{
	uint64_t limit = bpk_request_options().cache_size;

	if ((!cache.is_counted || cache.since + size > limit / SHARE ||
	     cache.used + size > limit) &&
	    tidy(size, err) != 0)
		return -1;
	if (cache.used + size > limit)
		return bpk_fail(err, BPK_FAILED, "no file of it can be removed");
	cache.used += size;
	cache.since += size;
	return 0;
}

/* ---- segments, with the lock of cached ---- */

/* Open the segment that holds the byte at offset, if there is one. */
static void enter(struct bpk_cached *cached, uint64_t offset)
{
	if (cached->segment.number != offset / SEGMENT)
		bpk_segment_open(cache.folder, &cached->id, offset / SEGMENT, &cached->segment);
}

/* The same, or make it. Another one may have been made since it was looked up, or removed. */
static int enter_or_make(struct bpk_cached *cached, uint64_t offset, struct bpk_err *err)
{
	enter(cached, offset);
	if (bpk_segment_is_listed(&cached->segment) ||
	    bpk_segment_open(cache.folder, &cached->id, offset / SEGMENT, &cached->segment))
		return 0;
	return bpk_segment_make(cache.folder, &cached->id, &cached->segment, err);
}

static size_t index_of(uint64_t offset)
{
	return (size_t)(offset % SEGMENT / BPK_SEGMENT_BLOCK);
}

/* The bytes of a segment, or size, if that is less. */
static size_t within_segment(uint64_t offset, size_t size)
{
	return (size_t)bpk_min_u64(size, SEGMENT - offset % SEGMENT);
}

static int keep(struct bpk_cached *cached, uint64_t offset, struct bpk_view bytes,
		struct bpk_err *err)
{
	int rc;

	pthread_mutex_lock(&cache.lock);
	rc = cache.is_full ? 1 : make_room(bytes.size + FILE_COST, err);
	pthread_mutex_unlock(&cache.lock);
	if (rc == 0)
		rc = enter_or_make(cached, offset, err);
	if (rc == 0 && cached->segment.fd >= 0)
		rc = bpk_segment_write(&cached->segment, index_of(offset), bytes, err);
	return rc;
}

/* ---- the calls ---- */

/* The answer that named a version, which is sent back and so has to be a strong ETag still. */
static void make_answer(const struct bpk_segment_id *id, struct bpk_answer *answer)
{
	char line[BPK_ANSWER_TEXT + 8];

	snprintf(line, sizeof line, "etag: %s", id->version);
	bpk_answer_take(answer, bpk_view(line, strlen(line)));
	if (!answer->is_strong || strcmp(answer->version, id->version) != 0)
		return;
	answer->status = 206;
	answer->size = BPK_UNKNOWN;
	answer->total = id->total;
}

/* A URL may hold a signature or a password, so a digest stands for it. */
static int make_key(const struct bpk_url *url, uint8_t key[BPK_SEGMENT_KEY])
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_checksum_compute(bpk_checksum_find("sha256"),
				 bpk_view(url->text, strlen(url->text)), digest, NULL) != 0)
		return -1;
	memcpy(key, digest, BPK_SEGMENT_KEY);
	return 0;
}

struct bpk_cached *bpk_cached_open(const struct bpk_url *url, struct bpk_answer *known)
{
	struct bpk_segment_id id = { 0 };
	struct bpk_cached *cached;
	bool exists;

	*known = (struct bpk_answer){ 0 };
	pthread_mutex_lock(&cache.lock);
	exists = has_cache();
	pthread_mutex_unlock(&cache.lock);
	cached = exists && make_key(url, id.key) == 0 ? bpk_calloc(1, sizeof *cached, NULL) : NULL;
	if (cached == NULL)
		return NULL;
	pthread_mutex_init(&cached->lock, NULL);
	cached->id = id;
	cached->segment.fd = -1;
	cached->segment.number = BPK_UNKNOWN;
	if (bpk_segment_open(cache.folder, &cached->id, 0, &cached->segment))
		make_answer(&cached->id, known);
	return cached;
}

void bpk_cached_close(struct bpk_cached *cached)
{
	if (cached == NULL)
		return;
	bpk_segment_close(&cached->segment);
	pthread_mutex_destroy(&cached->lock);
	free(cached);
}

void bpk_cached_set(struct bpk_cached *cached, const struct bpk_answer *answer)
{
	if (cached == NULL)
		return;
	pthread_mutex_lock(&cached->lock);
	cached->is_set = answer->is_strong;
	if (strcmp(cached->id.version, answer->version) != 0 || cached->id.total != answer->total) {
		strcpy(cached->id.version, answer->version);
		cached->id.total = answer->total;
		bpk_segment_close(&cached->segment);
		cached->segment.number = BPK_UNKNOWN;
	}
	pthread_mutex_unlock(&cached->lock);
}

bool bpk_cached_has(struct bpk_cached *cached, uint64_t offset)
{
	bool has;

	if (cached == NULL || !cached->is_set)
		return false;
	pthread_mutex_lock(&cached->lock);
	enter(cached, offset);
	has = bpk_segment_has(&cached->segment, index_of(offset));
	pthread_mutex_unlock(&cached->lock);
	return has;
}

size_t bpk_cached_read(struct bpk_cached *cached, uint64_t offset, struct bpk_span out)
{
	size_t done = 0, size;

	if (cached == NULL || !cached->is_set)
		return 0;
	pthread_mutex_lock(&cached->lock);
	for (; done < out.size; done += size) {
		size = bpk_min_size(out.size - done, BPK_SEGMENT_BLOCK);
		enter(cached, offset + done);
		if (!bpk_segment_read(&cached->segment, index_of(offset + done),
				      bpk_span(out.data + done, size)))
			break;
	}
	pthread_mutex_unlock(&cached->lock);
	atomic_fetch_add(&cache.given, done);
	return done;
}

void bpk_cached_write(struct bpk_cached *cached, uint64_t offset, struct bpk_view bytes)
{
	struct bpk_err err = { 0 };
	int rc = 0;

	if (cached == NULL || !cached->is_set)
		return;
	pthread_mutex_lock(&cached->lock);
	for (size_t done = 0, size; rc == 0 && done < bytes.size; done += size) {
		size = within_segment(offset + done, bytes.size - done);
		rc = keep(cached, offset + done, bpk_view(bytes.data + done, size), &err);
	}
	pthread_mutex_unlock(&cached->lock);
	if (rc >= 0)
		return;
	pthread_mutex_lock(&cache.lock);
	if (!cache.is_full)
		tell("nothing more is kept", &err);
	cache.is_full = true;
	pthread_mutex_unlock(&cache.lock);
}
