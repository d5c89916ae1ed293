/*
 * Restores chunks that are damaged in every copy, at different bytes, as far as these are among the
 * parts in which copies differ. Called by merge.c.
 *
 *     copy 0    header | ab#d | efgh | index         #: damaged
 *     copy 1    header | #bcd | efgh | index
 *     place     header | abcd | efgh | index         the digest of the chunk says so
 */
#include "archive/merge_inner.h"

enum {
	MOST_TRIES = 64,  /* ways to choose the parts in a chunk */
	MOST_MISSES = 64, /* chunks in a row that are not found */
};

/* A lost chunk at its place. One thread's own. */
struct lost {
	struct bpk_merge *merge;
	struct bpk_merge_file *file;
	struct bpk_merge_run run; /* with its digest, if that is behind it */
	const struct bpk_checksum *checksum;
	const uint8_t *digest; /* NULL: it is behind the chunk */
	struct bpk_buf bytes;
};

static bool is_inside(const struct lost *lost, const struct bpk_merge_part *part)
{
	return part->nvariants > 1 && part->at >= lost->run.at &&
	       part->at + part->size <= lost->run.at + lost->run.size;
}

static bool has_parts(const struct lost *lost)
{
	for (size_t i = 0; i < lost->file->nparts; i++)
		if (is_inside(lost, &lost->file->parts[i]))
			return true;
	return false;
}

/* Choose the next variants of the parts inside; false after the last. */
static bool go_on(const struct lost *lost)
{
	for (size_t i = 0; i < lost->file->nparts; i++) {
		struct bpk_merge_part *part = &lost->file->parts[i];

		if (!is_inside(lost, part))
			continue;
		part->chosen = (uint8_t)((part->chosen + 1) % part->nvariants);
		if (part->chosen != 0)
			return true;
	}
	return false;
}

/* *is: with the chosen parts over the bytes of the run's copy, the chunk is that of its digest. */
static int is_proven(struct lost *lost, bool *is, struct bpk_err *err)
{
	size_t size = (size_t)lost->run.size;
	uint8_t digest[BPK_DIGEST_MAX];

	*is = false;
	if (bpk_merge_read_run(lost->merge, lost->file, &lost->run, &lost->bytes, err) != 0)
		return -1;
	if (lost->digest == NULL)
		size -= lost->checksum->size;
	if (bpk_checksum_compute(lost->checksum, bpk_view(lost->bytes.data, size), digest, err) !=
	    0)
		return -1;
	*is = memcmp(digest, lost->digest != NULL ? lost->digest : lost->bytes.data + size,
		     lost->checksum->size) == 0;
	return 0;
}

/* *is: the bytes are those of the chunk, restored from several copies. */
static int is_restored(struct lost *lost, bool *is, struct bpk_err *err)
{
	bool is_own = false;

	if (is_proven(lost, is, err) != 0)
		return -1;
	if (*is && bpk_merge_is_of_one(lost->merge, lost->file, &lost->run, &is_own, err) != 0)
		return -1;
	*is = *is && !is_own;
	return 0;
}

/* Try all ways to choose the parts inside, over the bytes of each copy. */
static int restore(struct lost *lost, bool *is, struct bpk_err *err)
{
	struct bpk_merge *m = lost->merge;
	uint8_t chosen[BPK_MERGE_PARTS] = { 0 };

	for (size_t i = 0; i < lost->file->nparts; i++)
		chosen[i] = lost->file->parts[i].chosen;
	for (size_t c = 0; c < m->ncopies; c++) {
		if (lost->file->sizes[c] == BPK_UNKNOWN)
			continue;
		lost->run.copy = c;
		for (size_t i = 0; i < lost->file->nparts; i++)
			if (is_inside(lost, &lost->file->parts[i]))
				lost->file->parts[i].chosen = 0;
		for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
			if (is_restored(lost, is, err) != 0)
				return -1;
			if (*is)
				return 0;
			if (!go_on(lost))
				break;
		}
	}
	for (size_t i = 0; i < lost->file->nparts; i++)
		lost->file->parts[i].chosen = chosen[i];
	return 0;
}

/* *seal_size: bytes of a digest behind each chunk; 0: the index has it. False: it has none. */
static bool find_seal_size(const struct bpk_merge *m, const struct bpk_checksum *checksum,
			   unsigned *seal_size)
{
	*seal_size = 0;
	for (size_t c = 0; c < m->ncopies; c++)
		if (m->found[c].proven)
			*seal_size = m->found[c].seal_size;
	return checksum->size > 0 && (*seal_size == 0 || *seal_size == checksum->size);
}

static int restore_chunk(struct bpk_merge *m, const struct bpk_info *info, uint64_t number,
			 const struct bpk_where *where, struct bpk_err *err)
{
	struct lost lost = {
		.merge = m,
		.file = bpk_merge_find_file(m, m->names == NULL ? "" : where->file),
		.checksum = info->chunks.checksum,
		.run = { .at = where->packed_offset,
			 .offset = where->packed_offset,
			 .number = number },
	};
	unsigned seal_size;
	bool is = false;
	int rc = 0;

	if (lost.file == NULL || where->header.special != BPK_SPECIAL_NONE ||
	    !find_seal_size(m, lost.checksum, &seal_size))
		return 0;
	lost.digest = seal_size == 0 ? where->digest : NULL;
	lost.run.size = (uint64_t)where->header.packed_size + seal_size;
	if (lost.run.at <= lost.file->size && lost.run.size <= lost.file->size - lost.run.at &&
	    has_parts(&lost))
		rc = restore(&lost, &is, err);
	if (rc == 0 && is)
		rc = bpk_merge_hash_run(m, lost.file, &lost.run, err);
	if (rc == 0 && is)
		rc = bpk_merge_take_run(m, lost.file, &lost.run, err);
	bpk_buf_clear(&lost.bytes);
	return rc;
}

static int restore_all(struct bpk_merge *m, void *reader, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = m->format->reader;
	const struct bpk_info *info = ops->info(reader);
	unsigned misses = 0;
	int rc = 0;

	for (uint64_t n = 0; rc == 0 && misses < MOST_MISSES && n < info->chunks.count; n++) {
		struct bpk_where where = { 0 };

		if (ops->locate(reader, n, &where, NULL) != 0) {
			misses++;
			continue;
		}
		misses = 0;
		rc = restore_chunk(m, info, n, &where, err);
	}
	return rc;
}

int bpk_merge_mix(struct bpk_merge *m, struct bpk_err *err)
{
	const struct bpk_read_options options = { .as_stored = true, .saves = true };
	const struct bpk_reader_ops *ops = m->format->reader;
	struct bpk_merge_view view;
	void *reader = NULL;
	int rc;

	if (!m->is_open || !m->proven)
		return 0;
	rc = bpk_merge_view_open(m, BPK_MERGE_UNION, NULL, &view, err);
	if (rc == 0 && ops->open(&view.place, &options, &reader, NULL) == 0) {
		rc = restore_all(m, reader, err);
		ops->close(reader);
	}
	bpk_merge_view_close(&view);
	return rc;
}
