/*
 * The packed bytes that a range of raw bytes needs. Readers call it before they fetch part of a
 * chunk.
 */
#include "chunk/block.h"

#include <inttypes.h>
#include <stdlib.h>

/* The start of a block, and whether its content is needed. */
struct mark {
	uint32_t offset;
	bool wanted;
};

/* A run of packed bytes that grows while the next range touches it. */
struct run {
	uint32_t offset, end; /* equal: empty */
	int (*extent)(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err);
	void *arg;
};

static int run_flush(struct run *run, struct bpk_err *err)
{
	if (run->offset == run->end)
		return 0;
	return run->extent(run->arg, run->offset, run->end - run->offset, err);
}

static int run_add(struct run *run, uint32_t offset, uint32_t end, struct bpk_err *err)
{
	int rc;

	if (run->offset != run->end && offset <= run->end) {
		run->end = end;
		return 0;
	}
	rc = run_flush(run, err);
	run->offset = offset;
	run->end = end;
	return rc;
}

static int compare_marks(const void *a, const void *b)
{
	uint32_t x = ((const struct mark *)a)->offset, y = ((const struct mark *)b)->offset;

	return (x > y) - (x < y);
}

/* The blocks needed for a range of raw bytes. */
struct wanted {
	uint32_t first, last; /* blocks */
	bool reference;       /* also block 0, for delta */
};

static bool is_wanted(const struct wanted *wanted, uint32_t number)
{
	return (number >= wanted->first && number <= wanted->last) ||
	       (number == 0 && wanted->reference);
}

/*
 * Collect the starts of all blocks that lie within bounds. A start out of bounds is an error only
 * for a wanted block; the others are checked when they are read.
 */
static int take_marks(const struct bpk_chunk_header *h, const uint8_t *starts,
		      const struct wanted *wanted, struct mark *marks, size_t *nmarks,
		      struct bpk_err *err)
{
	uint32_t data = h->header_size + 4 * h->nblocks;

	*nmarks = 0;
	for (uint32_t k = 0; k < h->nblocks; k++) {
		uint32_t offset = bpk_get_le32(starts + (size_t)4 * k);
		bool needed = is_wanted(wanted, k);

		if (offset >= data && h->packed_size >= 4 && offset <= h->packed_size - 4)
			marks[(*nmarks)++] = (struct mark){ offset, needed };
		else if (needed)
			return bpk_fail(err, BPK_CORRUPT, "block %u starts at %u, outside %u to %u",
					k, offset, data, h->packed_size);
	}
	return 0;
}

/* Marks are in ascending order: a wanted block ends at the next larger start. */
static int walk(const struct mark *marks, size_t nmarks, uint32_t packed_size, struct run *run,
		struct bpk_err *err)
{
	for (size_t i = 0; i < nmarks;) {
		bool wanted = false;
		size_t j = i;
		uint32_t end;
		int rc;

		for (; j < nmarks && marks[j].offset == marks[i].offset; j++)
			wanted = wanted || marks[j].wanted;
		end = j < nmarks ? marks[j].offset : packed_size;
		rc = wanted ? run_add(run, marks[i].offset, end, err) : 0;
		if (rc != 0)
			return rc;
		i = j;
	}
	return run_flush(run, err);
}

/* True if all blocks are needed: they are found by walking, or the block size is doubtful. */
static bool is_needed_whole(const struct bpk_chunk_header *h)
{
	return h->variable_blocks || bpk_block_size_is_doubtful(h);
}

static int all_extents(const struct bpk_chunk_header *h, struct run *run, struct bpk_err *err)
{
	run->offset = h->header_size + 4 * h->nblocks;
	run->end = h->packed_size;
	return run_flush(run, err);
}

static int block_extents(const struct bpk_chunk_header *h, const uint8_t *starts, uint64_t start,
			 uint64_t size, struct run *run, struct bpk_err *err)
{
	uint64_t end = start + size;
	struct wanted wanted = { (uint32_t)(start / h->block_size),
				 (uint32_t)((end - 1) / h->block_size),
				 bpk_pipeline_has(&h->pipeline, BPK_FILTER_DELTA) };
	struct mark *marks = bpk_calloc(h->nblocks, sizeof *marks, err);
	size_t nmarks;
	int rc = -1;

	if (marks == NULL)
		return -1;
	if (take_marks(h, starts, &wanted, marks, &nmarks, err) == 0) {
		qsort(marks, nmarks, sizeof *marks, compare_marks);
		rc = 0;
		/* the dictionary, which stores its own size, or the prediction ends before the
		 * first block */
		if (h->dictionary || h->prediction.size > 0)
			rc = run_add(run, h->header_size + 4 * h->nblocks,
				     nmarks > 0 ? marks[0].offset : h->packed_size, err);
		if (rc == 0)
			rc = walk(marks, nmarks, h->packed_size, run, err);
	}
	free(marks);
	return rc;
}

int bpk_chunk_extents(struct bpk_view head, uint64_t start, uint64_t size,
		      int (*extent)(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err),
		      void *arg, struct bpk_err *err)
{
	struct run run = { 0, 0, extent, arg };
	struct bpk_chunk_header h;

	if (bpk_chunk_header_read(head, &h, err) != 0)
		return -1;
	if (size == 0 || start > h.raw_size || size > h.raw_size - start)
		return bpk_fail(err, BPK_USAGE,
				"bytes %" PRIu64 " to %" PRIu64 "+%" PRIu64
				" are outside a chunk of %u",
				start, start, size, h.raw_size);
	if (h.special != BPK_SPECIAL_NONE)
		return h.value_size == 0 ? 0 : extent(arg, h.header_size, h.value_size, err);
	if (h.memcpyed)
		return extent(arg, h.header_size + (uint32_t)start, (uint32_t)size, err);
	/* the header was checked: header_size + 4 * nblocks <= packed_size, so no sum wraps */
	if (head.size < h.header_size + (size_t)4 * h.nblocks)
		return bpk_fail(err, BPK_CORRUPT, "chunk needs %u block starts, %zu bytes are left",
				h.nblocks, head.size - h.header_size);
	/* numbers depend on all earlier ones, and the last may end after the range */
	if (h.prediction.size > 0) {
		size = bpk_min_u64(start + size + h.prediction.size - 1, h.raw_size);
		start = 0;
	}
	if (is_needed_whole(&h))
		return all_extents(&h, &run, err);
	return block_extents(&h, head.data + h.header_size, start, size, &run, err);
}
