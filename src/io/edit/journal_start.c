/*
 * The payload of START, for journal_write.c, journal_load.c, edits and shared sources:
 *
 *      0  4  version, 3
 *      4  4  0
 *      8  8  device
 *     16  8  inode
 *     24  8  time of the file's birth, in nanoseconds since 1970; 0: unknown
 *     32  8  offset of the unused region when the journal began
 *     40  8  size of the unused region
 *     48     the samples: bytes of the file
 *
 * A journal is valid for the one file with this device, inode and time of birth. The samples are
 * the first bytes of the file and more bytes spread over it, without the unused region. Their
 * positions follow from the old size, so that no sample can be missing. The file must still hold
 * every sample that was not saved since; this protects a file that another program has written to
 * from being restored.
 */
#include "io/edit/journal_start.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "io/full.h"
#include "io/edit/record.h"

enum {
	VERSION = 3,
	FIXED = 48,                            /* bytes before the samples */
	FIRST_SAMPLE = 512,                    /* bytes at the file's beginning */
	LATER_SAMPLE = 64,                     /* bytes of each other sample */
	LATER_SAMPLES = 15,                    /* number of them */
	SAMPLES_MAX = 2 * (1 + LATER_SAMPLES), /* the unused region may split each */
};

/* ---- Positions of the samples ---- */

struct samples {
	struct bpk_region all[SAMPLES_MAX];
	size_t count;
};

static void add_sample(struct samples *samples, uint64_t offset, uint64_t end)
{
	if (offset < end)
		samples->all[samples->count++] = (struct bpk_region){ offset, end - offset, 0 };
}

/* Add the bytes from offset to end, without those in unused. */
static void add_around(struct samples *samples, uint64_t offset, uint64_t end,
		       const struct bpk_region *unused)
{
	uint64_t hole = bpk_min_u64(bpk_max_u64(unused->offset, offset), end);
	uint64_t hole_end = bpk_min_u64(bpk_max_u64(unused->offset + unused->size, hole), end);

	add_sample(samples, offset, hole);
	add_sample(samples, hole_end, end);
}

/* The samples of a file of size bytes. */
static struct samples place_samples(uint64_t size, const struct bpk_region *unused)
{
	uint64_t distance = size / (LATER_SAMPLES + 1);
	struct samples samples = { .count = 0 };

	add_around(&samples, 0, bpk_min_u64(size, FIRST_SAMPLE), unused);
	if (distance < FIRST_SAMPLE) /* the rest is short, and samples must not overlap */
		return samples;
	for (uint64_t i = 1; i <= LATER_SAMPLES; i++)
		add_around(&samples, i * distance, i * distance + LATER_SAMPLE, unused);
	return samples;
}

/* ---- Making ---- */

static int read_sample(struct bpk_journal *journal, int fd, const struct bpk_region *sample,
		       struct bpk_err *err)
{
	uint8_t bytes[FIRST_SAMPLE];
	struct bpk_span out = bpk_span(bytes, (size_t)sample->size);
	size_t got;

	if (bpk_full_read_at(fd, sample->offset, out, &got, err) != 0)
		return -1;
	if (got < out.size)
		return bpk_fail(err, BPK_FAILED, "became shorter while it was changed");
	return bpk_buf_append(&journal->start, bpk_view_of_span(out), err);
}

int bpk_journal_start_make(struct bpk_journal *journal, int fd, const struct bpk_region *unused,
			   struct bpk_err *err)
{
	struct samples samples = place_samples(journal->old_size, unused);
	uint8_t fixed[FIXED] = { 0 };

	bpk_put_le32(fixed, VERSION);
	bpk_put_le64(fixed + 8, journal->file.device);
	bpk_put_le64(fixed + 16, journal->file.inode);
	bpk_put_le64(fixed + 24, journal->file.born);
	bpk_put_le64(fixed + 32, unused->offset);
	bpk_put_le64(fixed + 40, unused->size);
	journal->start.size = 0;
	if (bpk_buf_append(&journal->start, bpk_view(fixed, sizeof fixed), err) != 0)
		return -1;
	for (size_t i = 0; i < samples.count; i++)
		if (read_sample(journal, fd, &samples.all[i], err) != 0)
			return -1;
	return 0;
}

/* ---- Testing ---- */

static struct bpk_region unused_of(const struct bpk_journal *journal)
{
	const uint8_t *fixed = journal->start.data;

	return (struct bpk_region){ bpk_get_le64(fixed + 32), bpk_get_le64(fixed + 40), 0 };
}

/* True if the payload holds all samples and nothing else. */
static bool is_complete(const struct bpk_journal *journal)
{
	struct bpk_region unused;
	struct samples samples;
	uint64_t size = FIXED;

	if (journal->start.size < FIXED)
		return false;
	unused = unused_of(journal);
	if (unused.offset > journal->old_size || unused.size > journal->old_size - unused.offset)
		return false;
	samples = place_samples(journal->old_size, &unused);
	for (size_t i = 0; i < samples.count; i++)
		size += samples.all[i].size; /* a few hundred bytes each */
	return size == journal->start.size;
}

static struct bpk_identity made_for(const uint8_t *fixed)
{
	return (struct bpk_identity){
		.device = bpk_get_le64(fixed + 8),
		.inode = bpk_get_le64(fixed + 16),
		.born = bpk_get_le64(fixed + 24),
	};
}

bool bpk_journal_start_sample(const struct bpk_journal *journal, uint64_t position,
			      uint64_t present, uint64_t old_size, size_t number,
			      struct bpk_region *sample)
{
	uint64_t end = FIXED;
	uint8_t fixed[FIXED] = { 0 };
	struct bpk_region unused;
	struct bpk_identity made;
	struct samples samples;
	size_t got;

	if (present <= FIXED ||
	    bpk_full_read_at(journal->fd, position, bpk_span(fixed, FIXED), &got, NULL) != 0)
		return false;
	made = made_for(fixed);
	unused = (struct bpk_region){ bpk_get_le64(fixed + 32), bpk_get_le64(fixed + 40), 0 };
	if (bpk_get_le32(fixed) != VERSION || !bpk_identity_same(&made, &journal->file) ||
	    unused.offset > old_size || unused.size > old_size - unused.offset)
		return false;
	samples = place_samples(old_size, &unused);
	for (size_t i = 0; i < bpk_min_size(number, samples.count); i++)
		end += samples.all[i].size;
	if (number >= samples.count || present <= end)
		return false;
	*sample = (struct bpk_region){
		.offset = samples.all[number].offset,
		.size = bpk_min_u64(present - end, samples.all[number].size),
		.where = position + end,
	};
	return true;
}

int bpk_journal_start_test(const struct bpk_journal *journal, struct bpk_err *err)
{
	uint32_t version = journal->start.size < 4 ? 0 : bpk_get_le32(journal->start.data);
	struct bpk_identity made;
	struct bpk_err why;

	if (version > VERSION)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"its journal %s is of version %" PRIu32 ", expected %d",
				journal->resolved->journal, version, VERSION);
	if (version < VERSION)
		return bpk_journal_refuse(journal, err, "it is of an older version");
	if (!is_complete(journal))
		return bpk_journal_refuse(journal, err, "its first record is not complete");
	made = made_for(journal->start.data);
	if (journal->any_file || bpk_identity_same(&made, &journal->file))
		return 0;
	return bpk_journal_refuse(journal, err, bpk_identity_differs(&made, &journal->file, &why));
}

/* Every byte that was not saved must be unchanged. */
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
				return bpk_journal_fail_stranger(journal, at + i, err);
	}
	return 0;
}

/* The file may have lost saved bytes only. */
static int check_size(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	struct stat found;
	uint64_t end, gap_end;

	if (fstat(fd, &found) != 0)
		return bpk_fail_errno(err, errno, "fstat");
	end = (uint64_t)found.st_size;
	if (bpk_regions_gap(&journal->saved, &end, journal->old_size, &gap_end))
		return bpk_fail(err, BPK_CORRUPT,
				"its journal %s does not match its content: it ends at"
				" %" PRIu64 ", expected %" PRIu64,
				journal->resolved->journal, (uint64_t)found.st_size,
				journal->old_size);
	return 0;
}

int bpk_journal_check(const struct bpk_journal *journal, int fd, struct bpk_err *err)
{
	const struct bpk_region unused = unused_of(journal);
	const struct samples samples = place_samples(journal->old_size, &unused);
	const uint8_t *bytes = journal->start.data + FIXED;

	if (check_size(journal, fd, err) != 0)
		return -1;
	for (size_t i = 0; i < samples.count; i++) {
		size_t size = (size_t)samples.all[i].size;

		if (check_sample(journal, fd, samples.all[i].offset, bpk_view(bytes, size), err) !=
		    0)
			return -1;
		bytes += size;
	}
	return 0;
}
