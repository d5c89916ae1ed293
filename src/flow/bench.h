/*
 * Measures ways to pack: whole chunks of an input are held in memory, packed, unpacked and compared
 * with the original bytes. A part of the room's door; `bpk bench` calls it.
 */
#ifndef BPK_FLOW_BENCH_H
#define BPK_FLOW_BENCH_H

#include "flow/flow.h"

/* A chunk of a sample. */
struct bpk_bench_chunk {
	uint64_t number;     /* in the plan */
	uint64_t raw_offset; /* in the input */
	size_t start, size;  /* in the sample's bytes */
	size_t packed_size;  /* when it was last packed */
};

/* Chunks of an input, and room to pack them. Caller storage, valid when zeroed. */
struct bpk_bench_sample {
	struct bpk_plan plan; /* of the input; it borrows the sizes of chunks */
	struct bpk_buf raw, packed;
	struct bpk_bench_chunk *chunks;
	size_t nchunks;
	bool whole; /* it holds all of the input */
};

/* Reduce *most, the bytes of a sample, to those that the limit on memory leaves when it is packed
 * by packing. Fails with BPK_LIMIT if it leaves less than a chunk. */
int bpk_bench_limit(const struct bpk_packing *packing, uint64_t chunk_size,
		    const struct bpk_limits *limits, uint64_t *most, struct bpk_err *err);

/*
 * Read whole chunks of the plan, of most bytes at most but one chunk at least. They are spread
 * evenly over a seekable source, and the first ones of another. The sample is empty if the source
 * is. It is cleared in any case if the call fails.
 */
int bpk_bench_take(struct bpk_source *source, const struct bpk_plan *plan, uint64_t most,
		   struct bpk_bench_sample *sample, struct bpk_err *err);
void bpk_bench_clear(struct bpk_bench_sample *sample);

/* A way to pack, and its measures. */
struct bpk_bench_row {
	struct bpk_recipe recipe; /* set by the caller, for reports */
	bool chosen;              /* by bpk itself; set by the caller */
	bool varies;              /* each chunk gets filters of its own; set by the caller */

	uint64_t raw_size, packed_size;
	double pack_seconds, unpack_seconds; /* for the whole sample */
	/* Scratch of a thread, besides the raw and the packed chunk. */
	uint64_t pack_memory, unpack_memory;
	bool on_pack_front, on_unpack_front;
};

struct bpk_bench {
	struct bpk_bench_sample *sample; /* not empty */
	const struct bpk_packing *packing;
	unsigned threads;
	/* Called now and then, by one thread at a time, while the sample is packed first. */
	void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done);
	void *progress_arg;
};

/*
 * Fill in the measures of a row. The sample is packed and unpacked several times; the times are
 * those of the fastest round. Fails with BPK_CORRUPT if a chunk unpacks to other bytes, or as
 * packing does. The line names the lowest failing chunk.
 */
int bpk_bench_run(const struct bpk_bench *bench, struct bpk_bench_row *row, struct bpk_err *err);

/*
 * Mark the rows on the Pareto fronts. A row is on the front of packing unless another row has at
 * least its ratio and its speed of packing, and more of one of them. The front of unpacking is
 * that of ratio and speed of unpacking.
 */
void bpk_bench_fronts(struct bpk_bench_row *rows, size_t count);

#endif
