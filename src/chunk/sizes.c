/*
 * The sizes of an archive's chunks as runs of equal size, searched by bisection. Formats build
 * them, flow reads them.
 */
#include "chunk/sizes.h"

#include <stdlib.h>

void bpk_sizes_clear(struct bpk_sizes *runs)
{
	free(runs->all);
	*runs = (struct bpk_sizes){ 0 };
}

static int make_room(struct bpk_sizes *runs, struct bpk_err *err)
{
	struct bpk_sized *all =
		bpk_alloc_grow(runs->all, runs->count, &runs->room, sizeof *all, err);

	if (all == NULL)
		return -1;
	runs->all = all;
	return 0;
}

int bpk_sizes_add(struct bpk_sizes *runs, uint64_t nchunks, uint32_t size, uint32_t kind,
		  struct bpk_err *err)
{
	const struct bpk_sized *last = runs->count > 0 ? &runs->all[runs->count - 1] : NULL;
	uint64_t bytes, raw_size, total;

	if (!bpk_mul_u64(nchunks, size, &bytes) || !bpk_add_u64(runs->raw_size, bytes, &raw_size) ||
	    !bpk_add_u64(runs->nchunks, nchunks, &total) || raw_size > INT64_MAX)
		return bpk_fail(err, BPK_CORRUPT, "chunks of more bytes than any file can hold");
	if (nchunks > 0 && (last == NULL || last->size != size || last->kind != kind)) {
		if (make_room(runs, err) != 0)
			return -1;
		runs->all[runs->count++] = (struct bpk_sized){ .first = runs->nchunks,
							       .raw_offset = runs->raw_size,
							       .size = size,
							       .kind = kind };
	}
	runs->nchunks = total;
	runs->raw_size = raw_size;
	return 0;
}

int bpk_sizes_copy(const struct bpk_sizes *runs, uint64_t most, struct bpk_sizes *copy,
		   struct bpk_err *err)
{
	*copy = (struct bpk_sizes){ 0 };
	for (size_t i = 0; runs != NULL && i < runs->count && runs->all[i].first < most; i++) {
		const struct bpk_sized *run = &runs->all[i];
		uint64_t end = i + 1 < runs->count ? run[1].first : runs->nchunks;

		if (bpk_sizes_add(copy, bpk_min_u64(end, most) - run->first, run->size, 0, err) !=
		    0) {
			bpk_sizes_clear(copy);
			return -1;
		}
	}
	return 0;
}

/* The last run that begins at or before a chunk, or, by_offset, at or before a raw byte. */
static const struct bpk_sized *find(const struct bpk_sizes *runs, uint64_t value, bool by_offset)
{
	const uint64_t *keys = by_offset ? &runs->all[0].raw_offset : &runs->all[0].first;

	return &runs->all[bpk_find_last(keys, sizeof *runs->all, runs->count, value)];
}

bool bpk_sizes_chunk(const struct bpk_sizes *runs, uint64_t number, struct bpk_sized *chunk)
{
	if (runs == NULL || number >= runs->nchunks)
		return false;
	*chunk = *find(runs, number, false);
	chunk->raw_offset += (number - chunk->first) * chunk->size;
	chunk->first = number;
	return true;
}

bool bpk_sizes_seek(const struct bpk_sizes *runs, uint64_t raw_offset, struct bpk_sized *chunk)
{
	uint64_t skipped;

	if (runs == NULL || raw_offset >= runs->raw_size)
		return false;
	*chunk = *find(runs, raw_offset, true);
	/* a run of empty chunks holds no byte, and the run after it has the same offset */
	skipped = (raw_offset - chunk->raw_offset) / chunk->size;
	chunk->first += skipped;
	chunk->raw_offset += skipped * chunk->size;
	return true;
}

uint32_t bpk_sizes_largest(const struct bpk_sizes *runs)
{
	uint32_t largest = 0;

	for (size_t i = 0; runs != NULL && i < runs->count; i++)
		largest = runs->all[i].size > largest ? runs->all[i].size : largest;
	return largest;
}
