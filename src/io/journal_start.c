/*
 * The payload of START:
 *
 *      0  4  version
 *      4  4  how many samples
 *      8  8  device
 *     16  8  inode; both are for people: a file that was copied back has others
 *     24     the samples, each: 8 offset, 8 size, the bytes
 *
 * The samples are the first bytes of the file and some more spread over it. Where they were not
 * saved since, the file must still hold them; so a journal is not laid over a file that someone
 * has put in the place of the one it was made for.
 */
#include "io/journal_start.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "io/full.h"
#include "io/record.h"

enum {
	VERSION = 1,
	FIXED = 24,
	SAMPLE_HEAD = 16,
	FIRST_SAMPLE = 512,
	LATER_SAMPLE = 64,
	LATER_SAMPLES = 15,
	NSAMPLES_AT = 4,
};

/* ---- Making ---- */

static int add_sample(struct bpk_journal *journal, int fd, uint64_t offset, uint64_t end,
		      struct bpk_err *err)
{
	struct bpk_buf *start = &journal->start;
	uint8_t bytes[SAMPLE_HEAD + FIRST_SAMPLE];
	size_t got;

	if (offset >= end)
		return 0;
	if (bpk_full_read_at(fd, offset, bpk_span(bytes + SAMPLE_HEAD, (size_t)(end - offset)),
			     &got, err) != 0)
		return -1;
	bpk_put_le64(bytes, offset);
	bpk_put_le64(bytes + 8, got);
	if (bpk_buf_append(start, bpk_view(bytes, SAMPLE_HEAD + got), err) != 0)
		return -1;
	bpk_put_le32(start->data + NSAMPLES_AT, bpk_get_le32(start->data + NSAMPLES_AT) + 1);
	return 0;
}

/* The bytes from offset to end, but for what lies in unused. */
static int add_samples(struct bpk_journal *journal, int fd, uint64_t offset, uint64_t end,
		       const struct bpk_region *unused, struct bpk_err *err)
{
	uint64_t hole = bpk_min_u64(bpk_max_u64(unused->offset, offset), end);
	uint64_t hole_end = bpk_min_u64(bpk_max_u64(unused->offset + unused->size, hole), end);

	if (add_sample(journal, fd, offset, hole, err) != 0)
		return -1;
	return add_sample(journal, fd, hole_end, end, err);
}

static int add_fixed(struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	uint8_t bytes[FIXED] = { 0 };
	struct stat found = { 0 };

	(void)fstat(fd, &found); /* for people alone */
	bpk_put_le32(bytes, VERSION);
	bpk_put_le64(bytes + 8, (uint64_t)found.st_dev);
	bpk_put_le64(bytes + 16, (uint64_t)found.st_ino);
	journal->start.size = 0;
	return bpk_buf_append(&journal->start, bpk_view(bytes, sizeof bytes), err);
}

int bpk_journal_start_make(struct bpk_journal *journal, int fd, const struct bpk_region *unused,
			   struct bpk_err *err)
{
	uint64_t end = journal->old_size;
	uint64_t distance = end / (LATER_SAMPLES + 1);

	if (add_fixed(journal, fd, err) != 0 ||
	    add_samples(journal, fd, 0, bpk_min_u64(end, FIRST_SAMPLE), unused, err) != 0)
		return -1;
	if (distance < FIRST_SAMPLE) /* little is left, and samples must not meet */
		return 0;
	for (uint64_t i = 1; i <= LATER_SAMPLES; i++)
		if (add_samples(journal, fd, i * distance, i * distance + LATER_SAMPLE, unused,
				err) != 0)
			return -1;
	return 0;
}

/* ---- Testing ---- */

/* The next sample; NULL with a bad cursor when it leaves the payload or the file. */
static const uint8_t *next_sample(const struct bpk_journal *journal, struct bpk_cursor *cursor,
				  uint64_t *offset, size_t *size)
{
	const uint8_t *head = bpk_cursor_take(cursor, SAMPLE_HEAD);
	uint64_t wanted;

	if (head == NULL)
		return NULL;
	*offset = bpk_get_le64(head);
	wanted = bpk_get_le64(head + 8);
	if (wanted > FIRST_SAMPLE || *offset > journal->old_size ||
	    wanted > journal->old_size - *offset) {
		cursor->bad = true;
		return NULL;
	}
	*size = (size_t)wanted;
	return bpk_cursor_take(cursor, *size);
}

int bpk_journal_start_test(const struct bpk_journal *journal, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bpk_buf_view(&journal->start));
	uint32_t version = bpk_cursor_le32(&cursor);
	uint32_t nsamples = bpk_cursor_le32(&cursor);
	uint64_t offset;
	size_t size;

	bpk_cursor_take(&cursor, FIXED - 8);
	if (!cursor.bad && version != VERSION)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"its journal %s is of version %" PRIu32 ", expected %d",
				journal->beside->journal, version, VERSION);
	for (uint32_t i = 0; i < nsamples && !cursor.bad; i++)
		next_sample(journal, &cursor, &offset, &size);
	if (cursor.bad || cursor.left > 0)
		return bpk_fail(err, BPK_CORRUPT, "its journal %s is damaged in its first record",
				journal->beside->journal);
	return 0;
}

static int fail_stranger(const struct bpk_journal *journal, uint64_t offset, struct bpk_err *err)
{
	return bpk_fail(
		err, BPK_CORRUPT,
		"its journal %s does not belong to it as it is now: someone else has written"
		" at %" PRIu64 " since",
		journal->beside->journal, offset);
}

/* Whatever was not saved is as it was. */
static int check_sample(const struct bpk_journal *journal, int fd, uint64_t offset,
			struct bpk_view sample, struct bpk_err *err)
{
	uint64_t end = offset + sample.size, at = offset, gap_end;
	uint8_t now[FIRST_SAMPLE];

	for (; bpk_regions_gap(&journal->saved, &at, end, &gap_end); at = gap_end) {
		size_t size = (size_t)(gap_end - at), got;

		if (bpk_full_read_at(fd, at, bpk_span(now, size), &got, err) != 0)
			return -1;
		for (size_t i = 0; i < size; i++)
			if (i >= got || now[i] != sample.data[at - offset + i])
				return fail_stranger(journal, at + i, err);
	}
	return 0;
}

/* The head is the old one or the new one, or half of both where a disk does not even write sectors
 * whole. */
static int check_head(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	uint8_t now[FIRST_SAMPLE], old[FIRST_SAMPLE];
	uint64_t offset = journal->head_offset;
	size_t size, got, was;

	if (!journal->announces || offset >= journal->old_size)
		return 0;
	size = (size_t)bpk_min_u64(journal->head.size, journal->old_size - offset);
	if (bpk_full_read_at(fd, offset, bpk_span(now, size), &got, err) != 0 ||
	    bpk_journal_read_at(journal, fd, offset, bpk_span(old, size), &was, err) != 0)
		return -1;
	for (size_t i = 0; i < bpk_min_size(got, was); i++)
		if (now[i] != old[i] && now[i] != journal->head.data[i])
			return fail_stranger(journal, offset + i, err);
	return 0;
}

/* It may be shorter than it was only by what was saved. */
static int check_size(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	struct stat found;
	uint64_t end, gap_end;

	if (fstat(fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	end = (uint64_t)found.st_size;
	if (bpk_regions_gap(&journal->saved, &end, journal->old_size, &gap_end))
		return bpk_fail(err, BPK_CORRUPT,
				"its journal %s does not belong to it as it is now: it ends at"
				" %" PRIu64 ", expected %" PRIu64,
				journal->beside->journal, (uint64_t)found.st_size,
				journal->old_size);
	return 0;
}

int bpk_journal_check(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	struct bpk_cursor cursor = bpk_cursor(bpk_buf_view(&journal->start));
	uint32_t nsamples = bpk_get_le32(journal->start.data + NSAMPLES_AT);
	uint64_t offset;
	size_t size;

	if (check_size(journal, fd, err) != 0 || check_head(journal, fd, err) != 0)
		return -1;
	bpk_cursor_take(&cursor, FIXED);
	for (uint32_t i = 0; i < nsamples; i++) {
		const uint8_t *bytes = next_sample(journal, &cursor, &offset, &size);

		if (check_sample(journal, fd, offset, bpk_view(bytes, size), err) != 0)
			return -1;
	}
	return 0;
}
