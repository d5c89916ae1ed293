/*
 * The room flow: read parcels from one format, do one piece of work to each on any thread, hand
 * them in order to another format. It knows no byte layouts, option names or names of formats.
 * Every number of threads gives the same output; one thread takes the same path as many. Called by
 * archive and cli.
 */
#ifndef BPK_FLOW_FLOW_H
#define BPK_FLOW_FLOW_H

#include "base/base.h"
#include "choose/choose.h"
#include "format/format.h"

/* ---- The plan: which bytes become which chunk. Pure arithmetic. ---- */

struct bpk_plan {
	uint64_t first;        /* number of the first chunk wanted */
	uint64_t count;        /* the number of chunks wanted; unknown: until the reader ends */
	uint64_t chunk_size;   /* raw bytes of every chunk but the last; unknown: they differ */
	uint64_t raw_size;     /* of the whole; may be unknown */
	uint64_t start, end;   /* raw bytes wanted, half open; end may be unknown */
	uint64_t first_offset; /* raw offset of chunk first, when chunk_size is unknown */
	const struct bpk_sizes *runs; /* then, if known: the sizes of all chunks; NULL: unknown */
};

/* Cut raw_size bytes (or an unknown number) into chunks of chunk_size; an empty input is one empty
 * chunk. */
struct bpk_plan bpk_plan_cut(uint64_t raw_size, uint64_t chunk_size);

/* Cut chunks of these sizes, which are borrowed. */
struct bpk_plan bpk_plan_sizes(const struct bpk_sizes *runs);

/* All chunks of an archive, and of archives that may follow it. */
struct bpk_plan bpk_plan_all(const struct bpk_info *info);

/* The chunks that the archive counts, without archives that follow it. */
struct bpk_plan bpk_plan_counted(const struct bpk_info *info);

/*
 * The chunks that hold the raw bytes start..end of an archive. If chunk sizes differ and the
 * archive does not list them, the headers of chunks are walked (seekable), or the range is found
 * while reading (a pipe). The caller has tested start <= end. Fails with BPK_USAGE if the range
 * leaves the data, if their size is known.
 */
int bpk_plan_range(const struct bpk_reader_ops *ops, void *reader, uint64_t start, uint64_t end,
		   struct bpk_plan *plan, struct bpk_err *err);

/*
 * All chunks, as bpk_plan_all; where their sizes differ, and the reader is positional, they are
 * looked up, so that chunks need not be brought in order. sizes is caller storage, valid when
 * zeroed, which the plan borrows. Fails as locating a chunk does.
 */
int bpk_plan_found(const struct bpk_reader_ops *ops, void *reader, struct bpk_sizes *sizes,
		   struct bpk_plan *plan, struct bpk_err *err);

/* ---- The view: an archive's raw content as a source ---- */

/*
 * Limits on the cost of looking into an archive; reading more fails with BPK_LIMIT. Special chunks
 * and runs count as 0 bytes, since they are read without being unpacked. memory is fixed at open;
 * left belongs to the one thread that reads, and may be set again between two reads.
 */
struct bpk_view_limits {
	uint64_t memory; /* bytes for unpacked chunks, and to unpack one; 0: no limit */
	uint64_t left;   /* bytes that may still be unpacked; BPK_UNKNOWN: no limit */
};

struct bpk_view_options {
	bool no_check;    /* digests are not tested */
	unsigned nchunks; /* the most unpacked chunks in the cache, which all threads share */
	struct bpk_view_limits *limits; /* borrowed; NULL: no limits */
};

/*
 * The raw bytes of an open archive as a source, for whatever reads sources: seekable with a small
 * cache of unpacked chunks when the reader is positional and says its sizes, else read in sequence.
 * ops and reader are borrowed. Errors are those of the archive.
 */
int bpk_view_open(const struct bpk_reader_ops *ops, void *reader,
		  const struct bpk_view_options *options, struct bpk_source **source,
		  struct bpk_err *err);

/* The most memory, in bytes, that a view of an archive takes for each thread that reads through it,
 * when nchunks was the number of threads and one more. */
uint64_t bpk_view_memory(const struct bpk_info *info);

/* ---- A part of an array ---- */

/*
 * Add to draft, in C order, a part (slice, inside array) of an array that lies at offset in source,
 * in C's order or Fortran's. Only its runs of bytes are read, in ascending order, so source may be
 * a pipe. In Fortran's order a part larger than 32 MiB needs a seekable source and is read in
 * several passes. Memory is bounded. Fails with BPK_CORRUPT (the source ends early),
 * BPK_UNSUPPORTED (a pipe in Fortran's order), or as reading and writing do.
 */
int bpk_slice_copy(struct bpk_source *source, uint64_t offset, const struct bpk_array *array,
		   const struct bpk_slice *slice, struct bpk_draft *draft, struct bpk_err *err);

/* ---- The run ---- */

/* Room inside each chunk for later changes by `write`: bytes, and percent of the packed size. */
struct bpk_slack {
	uint64_t bytes;
	unsigned percent;
};

/* How raw parcels are packed. The things it points to outlive it. */
struct bpk_packing {
	/* Its candidates are tried on each chunk beside its recipe. The best on a sample of the
	 * chunk is taken. */
	struct bpk_choice choice;
	/* The choices for chunks of the kinds in the plan's runs; NULL: the plan has no kinds. */
	const struct bpk_cuts *cuts;
	const struct bpk_predictions
		*predictions; /* tried on each chunk, too; NULL: not asked for */
	struct bpk_slack slack;
};

/* The machine's part in the work. */
struct bpk_limits {
	unsigned threads; /* at least 1 */
	uint64_t memory;  /* bytes; fewer threads run to respect it; 0: no limit */
	/* The user set no limit. Then packing continues with one thread above it; reading fails
	 * only if the blocks of the archive's first chunk need more, and the size of an archive
	 * limits its tables, too. */
	bool memory_is_default;
};

struct bpk_flow {
	const struct bpk_reader_ops *in;
	void *reader;
	const struct bpk_writer_ops *out; /* NULL: no output (verify) */
	void *writer;
	struct bpk_plan plan;
	/* NULL: nothing is packed, except that a chunk that was committed in part is
	 * recompressed as it was. */
	const struct bpk_packing *packing;
	/* With blocks of variable length: the sizes of the first chunk's blocks, uint32_t each.
	 * Other blocks have the recipe's block size. */
	struct bpk_view first_sizes;
	/* The first kept raw bytes were committed before: a chunk of them loses nothing by the
	 * recipe's lossy filters, unless these leave its committed bytes as they are. */
	uint64_t kept;
	/* The number of the plan's first chunk in the output (append): added to the plan's numbers
	 * when the writer packs or puts parcels. */
	uint64_t first_number;
	bool check; /* test seals */
	/* The writer seals as the reader's archive does: copied chunks keep their tested seals. */
	bool same_seals;
	bool decode; /* unpack packed parcels */
	/* The reader of another archive, of chunks of the same sizes: a chunk that is packed to the
	 * same bytes there, under a digest that is tested, is neither unpacked nor put. NULL: no
	 * other archive. Both readers are positional, and their parcels single chunks. */
	const struct bpk_reader_ops *twin_in;
	void *twin;
	/* Go on behind damaged chunks, and list them here; then the run fails as the lowest does.
	 * For runs without an output. NULL: the first one ends the run. */
	struct bpk_damage *damage;
	struct bpk_pace *pace; /* of the packed bytes that are fetched; NULL: no limit */
	bool compare;          /* unpack each packed parcel again and compare */
	/* Called for each parcel that was packed, by any thread, in any order: raw has the bytes to
	 * which it unpacks, from raw_offset on, counted as the reader counts. NULL: not called. */
	int (*packed)(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err);
	void *packed_arg;
	struct bpk_limits limits;
	/* the reader's own memory for each thread (bpk_view_memory); 0: little */
	uint64_t reader_memory;
	struct bpk_team *team; /* divides the run over several processes; NULL: this one does all */
	struct bpk_draft *draft; /* with a team: where out writes; NULL without out */
	/* Called now and then, by one thread at a time; NULL: no progress is shown. */
	void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done);
	void *progress_arg;
};

/* The amount of data that a run moved. */
struct bpk_flow_result {
	uint64_t nchunks;
	uint64_t raw_size;
	uint64_t packed_size; /* chunks with their seals, without the container's own parts */
	uint64_t ntwins;      /* chunks that the twin holds, too; they count nowhere else */
};

/*
 * Run until the plan is done or a parcel fails. At most 2 * threads + 1 parcels are under way, so
 * memory depends only on threads and chunk size. With BPK_UNKNOWN counts it ends when the reader
 * does. A failing parcel stops the run, unless damage is listed; of several the lowest number is
 * reported, and everything before it was put. Does not call finish or audit.
 *
 * In an unpacked parcel, a writer's put sees only the wanted bytes: raw.size of them, want_start 0,
 * and raw_offset counted from plan.start. So it places them without regard to ranges.
 *
 * Chunks of more than 4 MiB that are unpacked come in pieces of about 1 MiB, if their blocks allow
 * that: several puts then have one number. So threads share a chunk, also to verify it.
 *
 * With a team every rank makes the same call, and each does its share (team.h). On rank 0 the
 * result, the failure and the writer's state are those of a run by one process. On the others the
 * call always fails, once the share is done: the steps behind a run are rank 0's alone.
 */
int bpk_flow_run(const struct bpk_flow *flow, struct bpk_flow_result *result, struct bpk_err *err);

/* True if bpk_flow_run divides it over its team: all ranks take part, and end with one failure. */
bool bpk_flow_is_divided(const struct bpk_flow *flow);

#include "flow/bench.h"
#include "flow/damage.h"
#include "flow/line.h"
#include "flow/pace.h"
#include "flow/team.h"

#endif
