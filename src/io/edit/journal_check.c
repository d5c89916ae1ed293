/* Comparing the saved regions of a file with those in its journal: old bytes, or bytes that were
 * announced. Edits, journal_write.c and shared sources call it before they believe a journal. */
#include "io/edit/journal.h"

#include "io/full.h"

enum {
	SECTOR = 512,   /* a disk writes so many bytes whole or not at all */
	PIECE = 4 << 10 /* bytes compared at a time, on the stack */
};

static size_t common_size(const uint8_t *one, const uint8_t *other, size_t size)
{
	size_t same = 0;

	while (same < size && one[same] == other[same])
		same++;
	return same;
}

/* True if now is what interrupted writes leave: one of after over before, and then any number of
 * old over that, since a process may also die while it puts the old bytes back. */
static bool is_torn(const uint8_t *now, const uint8_t *old, const uint8_t *after,
		    const uint8_t *before, size_t size)
{
	size_t same = common_size(now, old, size);

	same += common_size(now + same, after + same, size - same);
	return memcmp(now + same, before + same, size - same) == 0;
}

/* Overwrite state, size bytes at offset of the file, with the part of next that lies there. */
static int overlay(const struct bpk_journal *journal, const struct bpk_region *next,
		   uint64_t offset, uint8_t *state, size_t size, struct bpk_err *err)
{
	uint64_t from = bpk_max_u64(offset, next->offset);
	uint64_t end = bpk_min_u64(offset + size, next->offset + next->size);
	size_t want = (size_t)(end - from), got;

	if (bpk_full_read_at(journal->fd, next->where + (from - next->offset),
			     bpk_span(state + (from - offset), want), &got, err) != 0)
		return -1;
	return got == want ? 0
			   : bpk_fail(err, BPK_CORRUPT, "its journal %s became shorter",
				      journal->resolved->journal);
}

static struct bpk_region next_at(const struct bpk_journal *journal, size_t i)
{
	struct bpk_region next;

	memcpy(&next, journal->next.data + i * sizeof next, sizeof next);
	return next;
}

/* Check a part of a sector, size bytes at offset: now has the bytes in the file, old the saved
 * ones. Each NEXT record in turn turns old into its next state; now must be one of these states. */
static int check_sector(const struct bpk_journal *journal, uint64_t offset, const uint8_t *now,
			const uint8_t *old, size_t size, struct bpk_err *err)
{
	uint8_t state[SECTOR], before[SECTOR];

	memcpy(state, old, size);
	for (size_t i = 0; i < journal->next.size / sizeof(struct bpk_region); i++) {
		struct bpk_region next = next_at(journal, i);

		if (next.offset >= offset + size || next.offset + next.size <= offset)
			continue;
		memcpy(before, state, size);
		if (overlay(journal, &next, offset, state, size, err) != 0)
			return -1;
		if (is_torn(now, old, state, before, size))
			return 0;
	}
	return bpk_journal_fail_stranger(journal, offset, err);
}

static int check_piece(const struct bpk_journal *journal, uint64_t offset, const uint8_t *now,
		       const uint8_t *old, size_t size, struct bpk_err *err)
{
	size_t step;

	for (size_t at = 0; at < size; at += step) {
		step = bpk_min_size(size - at, SECTOR - (size_t)((offset + at) % SECTOR));
		if (memcmp(now + at, old + at, step) != 0 &&
		    check_sector(journal, offset + at, now + at, old + at, step, err) != 0)
			return -1;
	}
	return 0;
}

/* Bytes that are missing at the file's end were cut off; bpk_journal_check looks at them. */
static int check_region(const struct bpk_journal *journal, const struct bpk_region *region, int fd,
			struct bpk_err *err)
{
	uint64_t end = region->offset + region->size;
	uint8_t now[PIECE], old[PIECE];
	size_t step, got, was;

	for (uint64_t at = region->offset; at < end; at += step) {
		step = (size_t)bpk_min_u64(end - at, PIECE - at % PIECE);
		if (bpk_full_read_at(fd, at, bpk_span(now, step), &got, err) != 0 ||
		    bpk_journal_read_at(journal, fd, at, bpk_span(old, step), &was, err) != 0 ||
		    check_piece(journal, at, now, old, bpk_min_size(got, was), err) != 0)
			return -1;
	}
	return 0;
}

int bpk_journal_check_saved(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	for (size_t i = 0; i < journal->saved.count; i++)
		if (check_region(journal, &journal->saved.list[i], fd, err) != 0)
			return -1;
	return 0;
}
