/* Finding a journal and reading its records. Edits, shared sources and retire.c call
 * bpk_journal_open. */
#include "io/edit/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/full.h"
#include "io/edit/journal_start.h"
#include "io/edit/record.h"

enum { PIECE = 8 << 10 }; /* bytes read at a time, on the stack */

static int fail_damaged(const struct bpk_journal *journal, uint64_t position, struct bpk_err *err)
{
	return bpk_fail(err, BPK_CORRUPT, "its journal %s is damaged at %" PRIu64,
			journal->resolved->journal, position);
}

/* Read from the journal; missing bytes are an error. */
static int need(const struct bpk_journal *journal, uint64_t position, struct bpk_span out,
		struct bpk_err *err)
{
	size_t got;

	if (bpk_full_read_at(journal->fd, position, out, &got, err) != 0)
		return bpk_err_subject(err, "its journal %s", journal->resolved->journal);
	return got == out.size ? 0 : fail_damaged(journal, position + got, err);
}

/* ---- One record ---- */

static int crc_of(const struct bpk_journal *journal, uint64_t position, uint64_t size,
		  uint32_t *crc, struct bpk_err *err)
{
	uint8_t piece[PIECE];
	size_t step;

	*crc = 0;
	for (uint64_t done = 0; done < size; done += step) {
		step = (size_t)bpk_min_u64(size - done, sizeof piece);
		if (need(journal, position + done, bpk_span(piece, step), err) != 0)
			return -1;
		*crc = bpk_crc32(*crc, bpk_view(piece, step));
	}
	return 0;
}

/* *whole is true if a complete record lies at journal->end, in a journal of size bytes. */
static int find_record(const struct bpk_journal *journal, uint64_t size, struct bpk_record *record,
		       bool *whole, struct bpk_err *err)
{
	uint8_t head[BPK_RECORD_HEAD];
	uint32_t crc;

	*whole = false;
	if (size - journal->end < sizeof head)
		return 0;
	if (need(journal, journal->end, bpk_span(head, sizeof head), err) != 0)
		return -1;
	if (!bpk_record_get(head, journal->end, record) ||
	    record->size > size - journal->end - sizeof head)
		return 0;
	if (crc_of(journal, journal->end + sizeof head, record->size, &crc, err) != 0)
		return -1;
	*whole = crc == record->crc;
	return 0;
}

static int take_start(struct bpk_journal *journal, const struct bpk_record *record,
		      struct bpk_err *err)
{
	struct bpk_buf *start = &journal->start;
	int rc;

	if (journal->end != 0 || record->offset > INT64_MAX || record->size > BPK_JOURNAL_START_MAX)
		return fail_damaged(journal, record->position, err);
	journal->old_size = record->offset;
	if (bpk_buf_resize(start, (size_t)record->size, err) != 0 ||
	    need(journal, BPK_RECORD_HEAD, bpk_span(start->data, start->size), err) != 0)
		return -1;
	rc = bpk_journal_start_test(journal, err);
	journal->whole = rc == 0;
	return rc;
}

/* The first record of a byte counts: no byte is saved twice, or from outside the old file. */
static int take_saved(struct bpk_journal *journal, const struct bpk_record *record,
		      struct bpk_err *err)
{
	const struct bpk_region region = { record->offset, record->size,
					   record->position + BPK_RECORD_HEAD };
	uint64_t at = region.offset, gap_end;

	if (region.size == 0 || region.offset > journal->old_size ||
	    region.size > journal->old_size - region.offset ||
	    !bpk_regions_gap(&journal->saved, &at, region.offset + region.size, &gap_end) ||
	    at != region.offset || gap_end != region.offset + region.size)
		return fail_damaged(journal, record->position, err);
	return bpk_regions_add(&journal->saved, &region, err);
}

static int take_next(struct bpk_journal *journal, const struct bpk_record *record,
		     struct bpk_err *err)
{
	const struct bpk_region next = { record->offset, record->size,
					 record->position + BPK_RECORD_HEAD };

	if (next.offset > journal->old_size || next.size > journal->old_size - next.offset)
		return fail_damaged(journal, record->position, err);
	return bpk_buf_append(&journal->next, bpk_view(&next, sizeof next), err);
}

static int take(struct bpk_journal *journal, const struct bpk_record *record, struct bpk_err *err)
{
	if (record->kind == BPK_RECORD_START)
		return take_start(journal, record, err);
	if (!journal->whole)
		return bpk_journal_refuse(journal, err, "it has no beginning");
	switch (record->kind) {
	case BPK_RECORD_SAVED:
		return take_saved(journal, record, err);
	case BPK_RECORD_NEXT:
		return take_next(journal, record, err);
	case BPK_RECORD_MARK:
		return 0;
	case BPK_RECORD_TIME:
		journal->has_time = true;
		journal->time = record->offset;
		return 0;
	}
	return fail_damaged(journal, record->position, err);
}

/* ---- All of them ---- */

/* True if bytes, which lie at position, contain a MARK; a part of one at their end does not
 * count. */
static bool has_mark(struct bpk_view bytes, uint64_t position)
{
	size_t at = 0;

	while (bytes.size - at >= BPK_RECORD_HEAD) {
		const uint8_t *found = memmem(bytes.data + at, bytes.size - at, bpk_record_magic,
					      sizeof bpk_record_magic);
		struct bpk_record record;

		if (found == NULL)
			return false;
		at = (size_t)(found - bytes.data);
		if (bytes.size - at >= BPK_RECORD_HEAD &&
		    bpk_record_get(found, position + at, &record) && record.kind == BPK_RECORD_MARK)
			return true;
		at++;
	}
	return false;
}

/* The first byte from at on that is not in a hole. A record begins with bytes that are not zero. */
static uint64_t skip_hole(int fd, uint64_t at, uint64_t size)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at; /* no data from at on, or unknown */
	return bpk_min_u64((uint64_t)data, size);
}

/* No complete record lies at journal->end: tell an unfinished record from a damaged one. */
static int judge_rest(const struct bpk_journal *journal, uint64_t size, struct bpk_err *err)
{
	uint64_t at = skip_hole(journal->fd, journal->end, size);
	uint8_t piece[PIECE];

	while (size - at >= BPK_RECORD_HEAD) {
		size_t step = (size_t)bpk_min_u64(size - at, sizeof piece);

		if (need(journal, at, bpk_span(piece, step), err) != 0)
			return -1;
		if (has_mark(bpk_view(piece, step), at))
			return fail_damaged(journal, journal->end, err);
		if (step < sizeof piece)
			break;
		at = skip_hole(journal->fd, at + PIECE - BPK_RECORD_HEAD, size);
	}
	return 0;
}

/* Check the beginning of a journal of size bytes; an unfinished one may begin with zeros. */
static int check_magic(const struct bpk_journal *journal, uint64_t size, struct bpk_err *err)
{
	uint8_t magic[sizeof bpk_record_magic] = { 0 };
	size_t have = (size_t)bpk_min_u64(size, sizeof magic);

	if (need(journal, 0, bpk_span(magic, have), err) != 0)
		return -1;
	if (memcmp(magic, bpk_record_magic, have) == 0 || bpk_is_zero(bpk_view(magic, have)))
		return 0;
	return bpk_journal_refuse(journal, err, "it is no journal");
}

int bpk_journal_load(struct bpk_journal *journal, struct bpk_err *err)
{
	struct bpk_record record;
	struct stat found;
	uint64_t size;
	bool whole;
	int rc;

	if (fstat(journal->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "its journal %s", journal->resolved->journal);
	size = (uint64_t)found.st_size;
	rc = check_magic(journal, size, err);
	while (rc == 0 && journal->end < size) {
		if (find_record(journal, size, &record, &whole, err) != 0)
			return -1;
		if (!whole)
			return judge_rest(journal, size, err);
		rc = take(journal, &record, err);
		if (rc == 0)
			journal->end += BPK_RECORD_HEAD + record.size;
	}
	return rc;
}

/* ---- Opening ---- */

/*
 * Anybody who may create files in the folder could make us write their bytes into a file that they
 * may not write. So only a journal of the file's own owner counts, or, when the user says so, one
 * of our own.
 */
static int check_kind(const struct bpk_journal *journal, const struct stat *own,
		      struct bpk_err *err)
{
	char why[100];

	if (!S_ISREG(own->st_mode))
		return bpk_journal_refuse(journal, err, "it is not a regular file");
	if (own->st_uid == journal->file.owner || (journal->any_file && own->st_uid == geteuid()))
		return 0;
	snprintf(why, sizeof why, "it belongs to user %lu, the file to user %lu",
		 (unsigned long)own->st_uid, (unsigned long)journal->file.owner);
	return bpk_journal_refuse(journal, err, why);
}

/* Open the journal. Returns 1 if it is not used. */
static int open_file(struct bpk_journal *journal, struct bpk_err *err)
{
	const struct bpk_resolved *resolved = journal->resolved;
	struct stat own;
	bool there;
	int rc;

	if (bpk_resolved_has_journal(resolved, &own, &there, err) != 0)
		return -1;
	if (!there)
		return 0;
	rc = check_kind(journal, &own, err); /* before it is opened */
	if (rc != 0)
		return rc;
	journal->fd = bpk_full_openat(resolved->folder, resolved->journal,
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (journal->fd < 0 && errno == ENOENT)
		return 0;
	if (journal->fd < 0 || fstat(journal->fd, &own) != 0)
		return bpk_fail_errno(err, errno, "cannot read its journal %s", resolved->journal);
	return check_kind(journal, &own, err);
}

/* ---- Truncated journals ---- */

enum { SECTOR = 512 }; /* bytes compared at a time; a disk may lose whole sectors */

/* Check that size bytes of the journal at position equal those of the file fd at offset. Sectors of
 * zeros prove nothing: they may never have been written. */
static int compare_file(const struct bpk_journal *journal, uint64_t position, uint64_t size, int fd,
			uint64_t offset, struct bpk_err *err)
{
	uint8_t saved[SECTOR], now[SECTOR];
	size_t step, got;

	for (uint64_t done = 0; done < size; done += step) {
		uint64_t at = position + done;

		step = (size_t)bpk_min_u64(size - done, SECTOR - at % SECTOR);
		if (need(journal, at, bpk_span(saved, step), err) != 0 ||
		    bpk_full_read_at(fd, offset + done, bpk_span(now, step), &got, err) != 0)
			return -1;
		if (!bpk_is_zero(bpk_view(saved, step)) &&
		    (got < step || memcmp(saved, now, step) != 0))
			return bpk_fail(
				err, BPK_CORRUPT,
				"its journal %s is cut short, and the bytes saved in it were "
				"overwritten at %" PRIu64,
				journal->resolved->journal, offset + done);
	}
	return 0;
}

/* The same for the samples of a START whose payload has size bytes left at position. */
static int compare_samples(const struct bpk_journal *journal, uint64_t position, uint64_t size,
			   int fd, uint64_t old_size, struct bpk_err *err)
{
	struct bpk_region sample;

	for (size_t i = 0; bpk_journal_start_sample(journal, position, size, old_size, i, &sample);
	     i++)
		if (compare_file(journal, sample.where, sample.size, fd, sample.offset, err) != 0)
			return -1;
	return 0;
}

/*
 * Tell an unfinished journal from a finished one that was truncated later. A writer that died
 * before it finished the journal has not changed the file since it created the journal, and the
 * bytes in the last, incomplete record are still in the file.
 */
static int check_cut(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	uint8_t head[BPK_RECORD_HEAD];
	uint64_t behind, position = journal->end + sizeof head;
	struct bpk_record record;
	struct stat found;

	if (fstat(journal->fd, &found) != 0)
		return bpk_fail_errno(err, errno, "its journal %s", journal->resolved->journal);
	if ((uint64_t)found.st_size < position)
		return 0;
	behind = (uint64_t)found.st_size - position;
	if (need(journal, journal->end, bpk_span(head, sizeof head), err) != 0)
		return -1;
	if (!bpk_record_get(head, journal->end, &record) || record.size <= behind)
		return 0;
	if (record.kind == BPK_RECORD_START)
		return compare_samples(journal, position, behind, fd, record.offset, err);
	if (record.kind != BPK_RECORD_SAVED)
		return 0;
	return compare_file(journal, position, behind, fd, record.offset, err);
}

int bpk_journal_open(struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	int rc = bpk_identity_of(fd, &journal->file, err);

	if (rc == 0)
		rc = open_file(journal, err);
	if (rc == 0 && journal->fd >= 0)
		rc = bpk_journal_load(journal, err);
	if (rc == 0 && journal->fd >= 0)
		rc = check_cut(journal, fd, err);
	if (rc != 0)
		bpk_journal_close(journal);
	return rc;
}
