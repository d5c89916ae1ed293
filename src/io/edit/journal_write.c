/* Writing a journal, and restoring a file from it. Edits and retire.c call it. */
#include "io/edit/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/beneath.h"
#include "io/full.h"
#include "io/mutant.h"
#include "io/edit/journal_start.h"
#include "io/edit/record.h"

enum { PIECE = 8 << 10 }; /* bytes copied at a time, on the stack */

static int name_journal(const struct bpk_journal *journal, struct bpk_err *err)
{
	return bpk_err_subject(err, "its journal %s", journal->resolved->journal);
}

/* ---- Writing ---- */

/* Write one record at *position, and move *position to its end. */
static int put_record(struct bpk_journal *journal, uint64_t *position, uint32_t kind,
		      uint64_t offset, struct bpk_view payload, struct bpk_err *err)
{
	const struct bpk_record record = {
		.kind = kind,
		.position = *position,
		.offset = offset,
		.size = payload.size,
		.crc = bpk_crc32(0, payload),
	};
	uint8_t head[BPK_RECORD_HEAD];

	bpk_record_put(&record, head);
	if (bpk_full_write_at(journal->fd, *position, bpk_view(head, sizeof head), err) != 0 ||
	    bpk_full_write_at(journal->fd, *position + sizeof head, payload, err) != 0)
		return name_journal(journal, err);
	*position += sizeof head + payload.size;
	return 0;
}

/* Copy size bytes of the file fd at offset into a record at position. */
static int put_saved(struct bpk_journal *journal, uint64_t *position, int fd, uint64_t offset,
		     uint64_t size, struct bpk_err *err)
{
	struct bpk_record record = {
		.kind = BPK_RECORD_SAVED, .position = *position, .offset = offset, .size = size
	};
	uint8_t head[BPK_RECORD_HEAD];
	uint8_t piece[PIECE];
	size_t step;

	for (uint64_t done = 0; done < size; done += step) {
		size_t got = 0;

		step = (size_t)bpk_min_u64(size - done, sizeof piece);
		if (bpk_full_read_at(fd, offset + done, bpk_span(piece, step), &got, err) != 0)
			return -1;
		if (got < step)
			return bpk_fail(err, BPK_FAILED, "became shorter while it was changed");
		if (bpk_full_write_at(journal->fd, *position + sizeof head + done,
				      bpk_view(piece, step), err) != 0)
			return name_journal(journal, err);
		record.crc = bpk_crc32(record.crc, bpk_view(piece, step));
	}
	bpk_record_put(&record, head);
	if (bpk_full_write_at(journal->fd, *position, bpk_view(head, sizeof head), err) != 0)
		return name_journal(journal, err);
	*position += sizeof head + size;
	return 0;
}

/*
 * A journal must belong to the file's owner, or nobody would obey it; so root changes its owner.
 * Other users cannot do that and cannot change the file in place.
 */
static int give_to_owner(const struct bpk_journal *journal, const struct stat *file,
			 struct bpk_err *err)
{
	struct stat own;

	if (fchown(journal->fd, file->st_uid, file->st_gid) != 0)
		bpk_acl_give(journal->fd, file->st_uid);
	if (fstat(journal->fd, &own) != 0)
		return bpk_fail_errno(err, errno, "its journal: fstat");
	if (own.st_uid == file->st_uid)
		return 0;
	return bpk_fail(err, BPK_FAILED, "belongs to user %lu; only a copy can be changed: --copy",
			(unsigned long)file->st_uid);
}

/* Let the readers of the file read its old content, and nobody else. */
static int open_to_readers(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	struct stat file, own;

	if (fstat(fd, &file) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	if (give_to_owner(journal, &file, err) != 0)
		return -1;
	if (fstat(journal->fd, &own) == 0 && file.st_gid == own.st_gid)
		bpk_acl_set_mode(journal->fd, journal->resolved->folder,
				 0600 | (bpk_acl_mode(fd, file.st_mode) & 0044), false);
	return 0;
}

static int write_start(struct bpk_journal *journal, int fd, const struct bpk_region *unused,
		       const struct timespec *time, struct bpk_err *err)
{
	if (bpk_identity_of(fd, &journal->file, err) != 0 ||
	    bpk_journal_start_make(journal, fd, unused, err) != 0 ||
	    put_record(journal, &journal->end, BPK_RECORD_START, journal->old_size,
		       bpk_buf_view(&journal->start), err) != 0)
		return -1;
	if (time == NULL)
		return 0;
	journal->has_time = journal->keeps_time = true;
	journal->time = bpk_journal_time(time);
	return put_record(journal, &journal->end, BPK_RECORD_TIME, journal->time, bpk_view(NULL, 0),
			  err);
}

int bpk_journal_create(struct bpk_journal *journal, int fd, uint64_t old_size,
		       const struct bpk_region *unused, const struct timespec *time,
		       struct bpk_err *err)
{
	const struct bpk_resolved *resolved = journal->resolved;

	journal->fd = bpk_full_openat(resolved->folder, resolved->journal,
				      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (journal->fd < 0)
		return bpk_fail_errno(err, errno, "cannot create its journal %s",
				      resolved->journal);
	journal->old_size = old_size;
	if (open_to_readers(journal, fd, err) != 0 ||
	    write_start(journal, fd, unused, time, err) != 0) {
		unlinkat(resolved->folder, resolved->journal, 0);
		bpk_journal_close(journal);
		return -1;
	}
	return 0;
}

static int put_gaps(struct bpk_journal *journal, uint64_t *position, int fd,
		    const struct bpk_region *save, struct bpk_err *err)
{
	uint64_t offset = save->offset, end = offset + save->size, gap_end;

	for (; bpk_regions_gap(&journal->saved, &offset, end, &gap_end); offset = gap_end)
		if (put_saved(journal, position, fd, offset, gap_end - offset, err) != 0)
			return -1;
	return 0;
}

/* List the regions that put_gaps has written from *position on; the gaps are the same. */
static int index_gaps(struct bpk_journal *journal, uint64_t *position,
		      const struct bpk_region *save, struct bpk_err *err)
{
	uint64_t offset = save->offset, end = offset + save->size, gap_end;

	while (bpk_regions_gap(&journal->saved, &offset, end, &gap_end)) {
		const struct bpk_region region = { offset, gap_end - offset,
						   *position + BPK_RECORD_HEAD };

		if (bpk_regions_add(&journal->saved, &region, err) != 0)
			return -1;
		*position += BPK_RECORD_HEAD + region.size;
		offset = gap_end;
	}
	return 0;
}

/* Make the records up to *position durable, then mark them. The first time the folder is synced
 * too, which makes the name durable. */
static int seal(struct bpk_journal *journal, uint64_t *position, bool sync, bool *unsynced,
		struct bpk_err *err)
{
	if (sync && !bpk_is_mutant(BPK_MUTANT_JOURNAL_UNSYNCED) &&
	    bpk_full_sync_data(journal->fd) != 0) {
		*unsynced = true;
		bpk_fail_errno(err, errno, "sync");
		return name_journal(journal, err);
	}
	if (sync && !journal->whole && bpk_journal_sync_folder(journal, err) != 0) {
		*unsynced = true;
		return -1;
	}
	return put_record(journal, position, BPK_RECORD_MARK, 0, bpk_view(NULL, 0), err);
}

/* Announce the bytes of next that lie in the old file. */
static int put_next(struct bpk_journal *journal, uint64_t *position,
		    const struct bpk_journal_next *next, struct bpk_err *err)
{
	struct bpk_view bytes = next->bytes;

	if (next->offset >= journal->old_size || bytes.size == 0)
		return 0;
	bytes.size = (size_t)bpk_min_u64(bytes.size, journal->old_size - next->offset);
	return put_record(journal, position, BPK_RECORD_NEXT, next->offset, bytes, err);
}

int bpk_journal_save(struct bpk_journal *journal, int fd, const struct bpk_region saves[2],
		     const struct bpk_journal_next *next, bool sync, bool *unsynced,
		     struct bpk_err *err)
{
	uint64_t position = journal->end, saved = journal->end;

	if (put_gaps(journal, &position, fd, &saves[0], err) != 0 ||
	    put_gaps(journal, &position, fd, &saves[1], err) != 0 ||
	    put_next(journal, &position, next, err) != 0 ||
	    seal(journal, &position, sync, unsynced, err) != 0 ||
	    index_gaps(journal, &saved, &saves[0], err) != 0 ||
	    index_gaps(journal, &saved, &saves[1], err) != 0)
		goto fail;
	journal->end = position;
	journal->whole = true;
	return 0;
fail:
	/* the next records overwrite these; until then they are true */
	(void)bpk_full_set_size(journal->fd, journal->end);
	return -1;
}

int bpk_journal_unlink(struct bpk_journal *journal, struct bpk_err *err)
{
	if (unlinkat(journal->resolved->folder, journal->resolved->journal, 0) == 0 ||
	    errno == ENOENT)
		return 0;
	return bpk_fail_errno(err, errno, "cannot remove its journal %s",
			      journal->resolved->journal);
}

int bpk_journal_sync_folder(struct bpk_journal *journal, struct bpk_err *err)
{
	if (bpk_folder_sync(journal->resolved->folder) == 0)
		return 0;
	return bpk_fail_errno(err, errno, "sync its folder");
}

/* ---- Times ---- */

enum { NS = 1000000000 };

uint64_t bpk_journal_time(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS + (uint64_t)time->tv_nsec;
}

void bpk_journal_set_time(const struct bpk_journal *journal, int fd)
{
	int64_t time = (int64_t)journal->time, ns = time % NS;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	if (!journal->keeps_time)
		return;
	ns += ns < 0 ? NS : 0; /* before 1970 */
	times[1] = (struct timespec){ .tv_sec = (time_t)((time - ns) / NS), .tv_nsec = (long)ns };
	(void)futimens(fd, times);
}

int bpk_journal_sync_file(const struct bpk_journal *journal, int fd)
{
	return journal->keeps_time ? bpk_full_sync(fd) : bpk_full_sync_data(fd);
}

/* ---- Restoring ---- */

static int fail_changed(const struct bpk_journal *journal, struct bpk_err *err)
{
	return bpk_fail(err, BPK_CORRUPT, "its journal %s was changed while it was read",
			journal->resolved->journal);
}

/* Read a record of saved bytes again and write each piece to the file fd (-1: nowhere). */
static int read_record(const struct bpk_journal *journal, const struct bpk_region *region, int fd,
		       struct bpk_err *err)
{
	uint64_t position = region->where - BPK_RECORD_HEAD;
	struct bpk_record record = { 0 };
	uint8_t head[BPK_RECORD_HEAD], piece[PIECE];
	uint32_t crc = 0;
	size_t step, got;

	if (bpk_full_read_at(journal->fd, position, bpk_span(head, sizeof head), &got, err) != 0)
		return name_journal(journal, err);
	if (got < sizeof head || !bpk_record_get(head, position, &record) ||
	    record.offset != region->offset || record.size != region->size)
		return fail_changed(journal, err);
	for (uint64_t done = 0; done < region->size; done += step) {
		step = (size_t)bpk_min_u64(region->size - done, sizeof piece);
		if (bpk_full_read_at(journal->fd, region->where + done, bpk_span(piece, step), &got,
				     err) != 0)
			return name_journal(journal, err);
		if (got < step)
			return fail_changed(journal, err);
		crc = bpk_crc32(crc, bpk_view(piece, step));
		if (fd >= 0 &&
		    bpk_full_write_at(fd, region->offset + done, bpk_view(piece, step), err) != 0)
			return -1;
	}
	return crc == record.crc ? 0 : fail_changed(journal, err);
}

static int read_records(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	for (size_t i = 0; i < journal->saved.count; i++)
		if (read_record(journal, &journal->saved.list[i], fd, err) != 0)
			return -1;
	return 0;
}

int bpk_journal_put_back(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	if (read_records(journal, -1, err) != 0 || read_records(journal, fd, err) != 0)
		return -1;
	if (bpk_full_set_size(fd, journal->old_size) != 0)
		return bpk_fail_errno(err, errno, "set the size");
	bpk_journal_set_time(journal, fd);
	return 0;
}

bool bpk_journal_is_untouched(const struct bpk_journal *journal, int fd)
{
	struct stat found;

	return journal->next.size == 0 && (journal->has_time || journal->saved.count == 0) &&
	       fstat(fd, &found) == 0 && (uint64_t)found.st_size == journal->old_size;
}

int bpk_journal_settle(struct bpk_journal *journal, int fd, bool sync, struct bpk_err *err)
{
	if (journal->whole && (bpk_journal_check(journal, fd, err) != 0 ||
			       bpk_journal_check_saved(journal, fd, err) != 0))
		return -1;
	if (journal->whole && bpk_journal_is_untouched(journal, fd))
		bpk_journal_set_time(journal, fd);
	else if (journal->whole && bpk_journal_put_back(journal, fd, err) != 0)
		return -1;
	if (sync && bpk_journal_sync_file(journal, fd) != 0)
		return bpk_fail_errno(err, errno, "sync");
	if (bpk_journal_unlink(journal, err) != 0)
		return -1;
	return sync ? bpk_journal_sync_folder(journal, err) : 0;
}
