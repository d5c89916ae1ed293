/*
 * The room flow: read parcels from one format, do one piece of work to each on any thread, hand
 * them in order to another format. It knows no byte layouts, no option names and not what a format
 * is called. Every number of threads gives the same output; one thread is the same path without
 * others.
 */
#ifndef BPK_FLOW_FLOW_H
#define BPK_FLOW_FLOW_H

#include "base/base.h"
#include "choose/choose.h"
#include "format/format.h"

/* ---- The plan: which bytes become which chunk. Pure arithmetic. ---- */

struct bpk_plan {
	uint64_t first;        /* number of the first chunk wanted */
	uint64_t count;        /* how many; unknown: until the reader ends */
	uint64_t chunk_size;   /* raw bytes of every chunk but the last; unknown: they differ */
	uint64_t raw_size;     /* of the whole; may be unknown */
	uint64_t start, end;   /* raw bytes wanted, half open; end may be unknown */
	uint64_t first_offset; /* raw offset of chunk first, when chunk_size is unknown */
	const struct bpk_sizes *runs; /* then, where they are known: the sizes of all chunks; NULL:
					they are not */
};

/* Cut raw_size bytes (or an unknown number) into chunks of chunk_size; an empty input is one empty
 * chunk. */
struct bpk_plan bpk_plan_cut(uint64_t raw_size, uint64_t chunk_size);

/* Chunks of these sizes, which are borrowed. */
struct bpk_plan bpk_plan_sizes(const struct bpk_sizes *runs);

/* All chunks of an archive, and of those that may follow it. */
struct bpk_plan bpk_plan_all(const struct bpk_info *info);

/* The chunks that it counts, whatever follows them. */
struct bpk_plan bpk_plan_counted(const struct bpk_info *info);

/*
 * The chunks that hold the raw bytes start..end of an archive. Where chunk sizes differ and the
 * archive does not list them, chunks' headers are walked (seekable), or the range is found while
 * reading (a pipe).
 * start <= end was tested by the caller. Fails with BPK_USAGE when the range leaves the data, as
 * far as its size is known.
 */
int bpk_plan_range(const struct bpk_reader_ops *ops, void *reader, uint64_t start, uint64_t end,
		   struct bpk_plan *plan, struct bpk_err *err);

/* ---- The view: an archive's raw content as a source ---- */

/*
 * The raw bytes of an open archive as a source, for whatever reads sources: seekable with a small
 * cache of unpacked chunks (nchunks of them at most, shared by all threads) when the reader is
 * positional and says its sizes, else read in sequence. Digests are tested unless no_check. ops and
 * reader are borrowed. Errors are those of the archive.
 */
int bpk_view_open(const struct bpk_reader_ops *ops, void *reader, bool no_check, unsigned nchunks,
		  struct bpk_source **source, struct bpk_err *err);

/*
 * What looking into an archive may cost; more fails with BPK_LIMIT. Special chunks and runs
 * count for nothing, since they are read without being unpacked. memory is fixed at open; left
 * belongs to the one thread that reads, and may be set anew between two reads.
 */
struct bpk_view_limits {
	uint64_t memory; /* bytes that unpacked chunks, and unpacking one, may take; then fewer are
			    kept. 0: any */
	uint64_t left;   /* bytes that may still be unpacked; BPK_UNKNOWN: any */
};

/* The same with limits, which are borrowed; NULL: there are none. */
int bpk_view_open_within(const struct bpk_reader_ops *ops, void *reader, bool no_check,
			 unsigned nchunks, struct bpk_view_limits *limits,
			 struct bpk_source **source, struct bpk_err *err);

/* The most memory, in bytes, that a view of an archive takes for each thread that reads through it,
 * when nchunks was the number of threads and one more. */
uint64_t bpk_view_memory(const struct bpk_info *info);

/* ---- A part of an array ---- */

/*
 * Add to draft, in C order, a part (slice, inside array) of an array that lies at offset in source,
 * in C's order or Fortran's. Only its runs of bytes are read, in ascending order, so a pipe will
 * do; in Fortran's order what is larger than 32 MiB needs a seekable source and is read in several
 * passes. Memory is bounded. Fails with BPK_CORRUPT (the source ends early), BPK_UNSUPPORTED (such
 * a pipe), or as reading and writing do.
 */
int bpk_slice_copy(struct bpk_source *source, uint64_t offset, const struct bpk_array *array,
		   const struct bpk_slice *slice, struct bpk_draft *draft, struct bpk_err *err);

/* ---- The run ---- */

/* Room inside each chunk, so that `write` finds place in it: bytes, and percent of the packed
 * size. */
struct bpk_slack {
	uint64_t bytes;
	unsigned percent;
};

struct bpk_flow {
	const struct bpk_reader_ops *in;
	void *reader;
	const struct bpk_writer_ops *out; /* NULL: nothing is written (verify) */
	void *writer;
	struct bpk_plan plan;
	const struct bpk_recipe *recipe; /* how raw parcels are packed; NULL: nothing is packed, but
					    for what was only partly committed, which is packed
					    anew as it was */
	/* Tried on each chunk beside the recipe: that which packs a sample of it best is taken. */
	const struct bpk_candidate *candidates;
	size_t ncandidates;
	/* Instead of recipe and candidates, for chunks of the kinds that the plan's runs name;
	   NULL: none. */
	const struct bpk_choice *kinds;
	size_t nkinds;
	const struct bpk_predictions *predictions; /* for raw parcels; NULL: nothing is predicted */
	struct bpk_view first_sizes; /* with blocks of variable length: those of the first
					      chunk, uint32_t each; any more have the recipe's
					      block size */
	struct bpk_slack slack;      /* when packing */
	uint64_t first_number; /* added to the plan's numbers when parcels are packed by the writer,
				  or put: appending */
	bool check;            /* test seals */
	bool same_seals;  /* the writer seals as the reader's archive does: chunks that are carried
				  over keep the seals that were tested */
	bool decode;      /* unpack packed parcels */
	bool compare;     /* unpack each packed parcel again and compare */
	unsigned threads; /* at least 1 */
	uint64_t memory_limit; /* fewer threads run above it; 0: none */
	/* The limit is no word of the user's: what one thread needs above it is refused only of
	   what an archive asks for, by the blocks of its first chunk. What is packed goes on. */
	bool memory_is_default;
	/* what the reader itself takes for each thread (bpk_view_memory); 0: nothing to speak of */
	uint64_t reader_memory;
	/* Called now and then, by one thread at a time; NULL: never. */
	void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done);
	void *progress_arg;
};

/* What a run moved. */
struct bpk_flow_result {
	uint64_t nchunks;
	uint64_t raw_size;
	uint64_t packed_size; /* chunks with their seals, without the container's own parts */
};

/*
 * What a writer's put sees of an unpacked parcel is the wanted bytes alone: raw.size of them,
 * want_start 0, and raw_offset counted from plan.start, so that it places them without knowing of
 * ranges.
 *
 * Run until the plan is done or a parcel fails. At most 2 * threads + 1 parcels are under way, so
 * memory depends on threads and chunk size alone. With BPK_UNKNOWN counts it ends when the reader
 * does. A failing parcel stops the run; of several the lowest number is reported, and everything
 * before it was put. Does not call finish or audit.
 *
 * Chunks of more than 4 MiB that are unpacked to be put come in pieces of about 1 MiB, where their
 * blocks allow that: puts of one number follow each other then.
 */
int bpk_flow_run(const struct bpk_flow *flow, struct bpk_flow_result *result, struct bpk_err *err);

#endif
