/* Reads samples of whole chunks, within limits of memory. bpk bench calls it before bench.c. */
#include "flow/bench_sample.h"

#include <inttypes.h>
#include <stdlib.h>

#include "flow/memory.h"
#include "flow/plan.h"

/* Room of a packed chunk besides its raw size: a multiple of the alignment. */
enum { SLOT = 2 * BPK_ALIGNMENT };

_Static_assert(SLOT >= BPK_CHUNK_EXTENDED_HEADER_SIZE + BPK_DIGEST_MAX, "a chunk and its seal");

struct bpk_span bpk_bench_room(const struct bpk_bench_sample *sample,
			       const struct bpk_bench_chunk *chunk)
{
	size_t index = (size_t)(chunk - sample->chunks);

	return bpk_span(sample->packed.data + chunk->start + index * SLOT, chunk->size + SLOT);
}

void bpk_bench_clear(struct bpk_bench_sample *sample)
{
	bpk_buf_clear(&sample->raw);
	bpk_buf_clear(&sample->packed);
	free(sample->chunks);
	*sample = (struct bpk_bench_sample){ 0 };
}

int bpk_bench_limit(const struct bpk_packing *packing, uint64_t chunk_size,
		    const struct bpk_limits *limits, uint64_t *most, struct bpk_err *err)
{
	enum { STATES = 4 << 20 }; /* of codecs, to pack and to unpack */
	uint64_t each = 2 * chunk_size + SLOT + sizeof(struct bpk_bench_chunk);
	/* a thread unpacks into a chunk of its own, through a few blocks */
	uint64_t thread = bpk_memory_of_packing(packing, chunk_size) + 4 * chunk_size + STATES;
	uint64_t fixed = limits->threads * thread;

	if (limits->memory == 0)
		return 0;
	if (fixed + each > limits->memory)
		return bpk_fail(err, BPK_LIMIT,
				"needs %" PRIu64 " bytes of memory, the limit is %" PRIu64,
				fixed + each, limits->memory);
	*most = bpk_min_u64(*most, (limits->memory - fixed) / each * chunk_size);
	return 0;
}

/* ---- The chunks of a seekable source ---- */

/* The first chunk of stratum i, when all chunks are divided into count strata. */
static uint64_t stratum(size_t i, size_t count, uint64_t all)
{
	return (uint64_t)((double)i * (double)all / (double)count);
}

/* The chunk taken of stratum i. Its place in the stratum moves by the golden ratio, so that data of
 * any period are met in all phases. */
static uint64_t spread(size_t i, size_t count, uint64_t all)
{
	uint64_t first = stratum(i, count, all), size = stratum(i + 1, count, all) - first;
	uint32_t phase = (uint32_t)i * UINT32_C(2654435769);

	return first + (uint64_t)((double)phase / 4294967296.0 * (double)size);
}

/* Choose the chunks; their size is *total. */
static void spread_all(struct bpk_bench_sample *sample, uint64_t *total)
{
	const struct bpk_plan *plan = &sample->plan;

	*total = 0;
	for (size_t i = 0; i < sample->nchunks; i++) {
		struct bpk_parcel parcel = { .number = spread(i, sample->nchunks, plan->count) };

		bpk_plan_parcel(plan, &parcel);
		sample->chunks[i] = (struct bpk_bench_chunk){ .number = parcel.number,
							      .raw_offset = parcel.raw_offset,
							      .start = (size_t)*total,
							      .size = parcel.raw_size };
		*total += parcel.raw_size;
	}
}

/* Chunks of different sizes may be more than planned: then fewer are taken. */
static int choose_chunks(struct bpk_bench_sample *sample, uint64_t most, uint64_t *total,
			 struct bpk_err *err)
{
	const struct bpk_plan *plan = &sample->plan;
	uint64_t mean = bpk_div_up(plan->raw_size, plan->count);
	uint64_t count = plan->raw_size <= most ? plan->count : bpk_max_u64(1, most / mean);

	sample->chunks = bpk_calloc((size_t)count, sizeof *sample->chunks, err);
	if (sample->chunks == NULL)
		return -1;
	sample->nchunks = (size_t)count;
	spread_all(sample, total);
	while (*total > most && sample->nchunks > 1) {
		sample->nchunks -= 1 + sample->nchunks / 64;
		spread_all(sample, total);
	}
	sample->whole = sample->nchunks == plan->count;
	return 0;
}

static int read_chunks(struct bpk_source *source, struct bpk_bench_sample *sample,
		       struct bpk_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sample->nchunks; i++) {
		const struct bpk_bench_chunk *chunk = &sample->chunks[i];

		rc = bpk_source_need_at(source, chunk->raw_offset,
					bpk_span(sample->raw.data + chunk->start, chunk->size),
					err);
	}
	return rc;
}

static int take_spread(struct bpk_source *source, uint64_t most, struct bpk_bench_sample *sample,
		       struct bpk_err *err)
{
	uint64_t total;

	if (choose_chunks(sample, most, &total, err) != 0 ||
	    bpk_buf_resize(&sample->raw, (size_t)total, err) != 0)
		return -1;
	return read_chunks(source, sample, err);
}

/* ---- The first chunks of a stream ---- */

static int cut(struct bpk_bench_sample *sample, size_t chunk_size, struct bpk_err *err)
{
	size_t size = sample->raw.size, count = (size_t)bpk_div_up(size, chunk_size);

	sample->chunks = bpk_calloc(bpk_max_u64(1, count), sizeof *sample->chunks, err);
	if (sample->chunks == NULL)
		return -1;
	sample->nchunks = count;
	for (size_t i = 0; i < count; i++)
		sample->chunks[i] = (struct bpk_bench_chunk){
			.number = i,
			.raw_offset = (uint64_t)i * chunk_size,
			.start = i * chunk_size,
			.size = bpk_min_size(chunk_size, size - i * chunk_size),
		};
	return 0;
}

static int take_first(struct bpk_source *source, uint64_t most, struct bpk_bench_sample *sample,
		      struct bpk_err *err)
{
	uint64_t chunk_size = sample->plan.chunk_size;
	uint64_t size = bpk_max_u64(chunk_size, most - most % chunk_size);
	struct bpk_view more;

	if (bpk_buf_resize(&sample->raw, (size_t)bpk_min_u64(size, sample->plan.raw_size), err) !=
		    0 ||
	    bpk_source_read(source, bpk_span(sample->raw.data, sample->raw.size), &sample->raw.size,
			    err) != 0 ||
	    bpk_source_peek(source, 1, &more, err) != 0)
		return -1;
	sample->whole = more.size == 0;
	return cut(sample, (size_t)chunk_size, err);
}

int bpk_bench_take(struct bpk_source *source, const struct bpk_plan *plan, uint64_t most,
		   struct bpk_bench_sample *sample, struct bpk_err *err)
{
	int rc;

	*sample = (struct bpk_bench_sample){ .plan = *plan };
	if (plan->raw_size == 0)
		return 0;
	rc = bpk_source_seekable(source) && plan->count != BPK_UNKNOWN
		     ? take_spread(source, most, sample, err)
		     : take_first(source, most, sample, err);
	if (rc == 0)
		rc = bpk_buf_reserve(&sample->packed, sample->raw.size + sample->nchunks * SLOT,
				     err);
	if (rc != 0)
		bpk_bench_clear(sample);
	return rc;
}
