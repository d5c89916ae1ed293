/*
 * Frames in files, inside the room: shared by the reader, the editor and the arrays of several
 * dimensions. A state is one parsed frame without its chunks; a reader is a state together with its
 * files, and fetches chunks by number.
 */
#ifndef BPK_FORMAT_FRAME_READER_H
#define BPK_FORMAT_FRAME_READER_H

#include "format/frame/frame.h"

/* ---- A state: header, index, trailer, digests ---- */

/* Fixed once loaded; any thread. Must be cleared; valid when zeroed. */
struct bpk_frame_state {
	struct bpk_frame_header header;
	struct bpk_buf head;     /* the header's bytes as stored */
	struct bpk_buf entries;  /* of the index, 8 bytes each in host order ... */
	bool uniform;            /* ... or one entry that stands for all of them */
	uint64_t nchunks;        /* entries in the index */
	uint64_t index_offset;   /* of the index chunk */
	uint32_t index_size;     /* packed; 0: no index */
	uint64_t trailer_offset; /* the trailer ends where the frame does */
	uint64_t trailer_size;
	struct bpk_frame_layers layers;   /* the trailer's, including ours */
	struct bpk_frame_digests digests; /* checksum NULL: no digests */
	/* Another program changed the frame since bpk wrote its digests. Chunks are then not
	 * checked by them; audit reports which still agree. */
	bool stale;
	/* Another program rewrote only the header, for example for the content of a fixed
	 * metalayer: all other digests hold. */
	bool stale_header;
	/* Damage of the trailer, or of the layer of digests. The data do not depend on them, so
	 * only audit reports it. BPK_OK: no damage. */
	struct bpk_err damage;
};

void bpk_frame_state_clear(struct bpk_frame_state *state);

/*
 * Load a frame from offset 0 of source (seekable; held by the caller): a contiguous one, or
 * chunks.b2frame of a sparse one. Digests of header and index are tested unless no_check. Fails
 * with BPK_CORRUPT ("header: ...", "index: ...", "trailer: ..."), BPK_UNSUPPORTED, BPK_LIMIT (an
 * index or layers that unpack to far more than their bytes justify) or BPK_NO_MEMORY; state is then
 * cleared.
 */
int bpk_frame_state_load(struct bpk_source *source, bool sparse, bool no_check,
			 struct bpk_frame_state *state, struct bpk_err *err);

/* The index entry of chunk number, below nchunks. */
static inline uint64_t bpk_frame_entry(const struct bpk_frame_state *state, uint64_t number)
{
	uint64_t entry;

	memcpy(&entry, state->entries.data + (state->uniform ? 0 : 8 * number), sizeof entry);
	return entry;
}

/* ---- A reader ---- */

/* The position of a chunk, and its header. */
struct bpk_frame_found {
	/* For a special offset: of the special chunk made from it. */
	struct bpk_chunk_header header;
	uint64_t offset; /* in the frame, or in its file; BPK_UNKNOWN: special */
	uint64_t room;   /* bytes up to the index, or to the file's end */
};

/* Chunks that were looked up together, for sequential use: the source is held once for all of them.
 * Valid when zeroed; owned by one thread. */
enum { BPK_FRAME_AHEAD = 64 }; /* limits the memory on the stack */

struct bpk_frame_ahead {
	uint64_t first;
	unsigned count;
	struct bpk_frame_found found[BPK_FRAME_AHEAD];
};

struct bpk_frame_bands; /* bands.h: how a multidimensional array is read in C order */

struct bpk_frame_reader {
	/* fixed after open */
	struct bpk_source *source; /* of the contiguous frame, or of chunks.b2frame */
	struct bpk_dir *dir;       /* of the sparse frame; NULL: contiguous */
	uint64_t generation;       /* of dir, read first */
	struct bpk_spool *spool;   /* the bytes of a pipe; owned, like source then */
	bool owns_source;
	struct bpk_sidecar *sidecar; /* c-blosc2's lock; NULL: not in use. Borrowed */
	struct bpk_read_options options;
	struct bpk_frame_state state;

	/* regular: every chunk but the last has the header's chunk_size. Otherwise each chunk's own
	 * header has its size, and chunks are located by walking. */
	bool regular;
	uint64_t last_size; /* raw bytes of the last chunk */
	uint64_t raw_size;  /* of all chunks, if they were measured; else the header's */
	/* Sizes of special values in a frame of variable chunk size: of each one, and the rest that
	 * the last one has in addition. 0: unknown, and they are left out. BPK_UNKNOWN: not
	 * measured. */
	uint64_t special_size, special_rest, last_special;
	/* For audit. BPK_CORRUPT: the header's raw size is wrong, or special values are left out.
	 * BPK_REPAIRABLE: only the header's raw size determines their length. */
	struct bpk_err sizes_damage;

	/* The array, if the b2nd metalayer (or caterva) exists and is intact. Otherwise
	 * array_damage has the reason, and chunks are fetched as stored or not at all. */
	bool has_nd;
	struct bpk_frame_nd nd;
	struct bpk_err array_damage;
	struct bpk_frame_bands *bands; /* parcels are its bands; NULL: chunks as stored */

	struct bpk_layer *layers; /* for info */
	struct bpk_buf metadata;
	struct bpk_info info;

	/* owned by the thread that audits or vouches: bpk_frame_digests_list of a stale state */
	struct bpk_buf known;

	/* owned by the thread that locates */
	uint64_t located;        /* number of the next chunk */
	uint64_t located_offset; /* raw bytes before it */
	struct bpk_frame_ahead ahead;

	struct bpk_frame_repeats *repeats; /* owned by the thread that asks; NULL: not yet used */

	/* A reader of a sparse frame's current state (latest.c). Guarded by lock: latest, and the
	 * users of that reader, one of them while it is the latest. 0: it has one user. */
	struct bpk_mutex lock;
	struct bpk_frame_reader *latest;
	unsigned users;
};

/* Raw bytes of chunk number, if all but the last have one size; BPK_UNKNOWN if only the chunk's own
 * header has it. */
uint64_t bpk_frame_chunk_size(const struct bpk_frame_reader *reader, uint64_t number);

/*
 * Fetch chunk parcel->number as stored, including array padding, into parcel->packed, followed by
 * its seal if the frame has one to be tested; a special offset becomes a special chunk. Sets
 * packed_size, raw_size, data_size and packed_offset. If there is no seal to be tested, and
 * want_start and want_size are a part of the chunk, only the bytes needed for that are read. Any
 * thread. Returns 1 after the last chunk. Errors name the chunk.
 */
int bpk_frame_bring(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
		    struct bpk_err *err);

/* A range of a chunk's raw bytes. */
struct bpk_frame_range {
	uint64_t start, size;
};

struct bpk_frame_ranges {
	const struct bpk_frame_range *all; /* ascending; each not empty, and less than the chunk */
	size_t count;                      /* 0: the whole chunk */
};

/* The same for several ranges of the chunk, instead of the parcel's want. */
int bpk_frame_bring_ranges(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			   const struct bpk_frame_ranges *wanted, struct bpk_err *err);

/* True if chunk number has a seal to be tested. */
bool bpk_frame_is_sealed(const struct bpk_frame_reader *reader, uint64_t number);

/* Test the seal of a fetched chunk, if it has one. */
int bpk_frame_check(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
		    struct bpk_err *err);

/* True if a chunk of the frame had this digest before another program changed it. One thread.
 * Returns 1 or 0, or -1 without memory. */
int bpk_frame_knows(struct bpk_frame_reader *reader, const uint8_t *digest, struct bpk_err *err);

/*
 * Compute the digest of a chunk fetched untested from a frame that another program has changed. The
 * chunk must have had that digest before, or else it must unpack. raw is scratch. One thread.
 * Errors name the chunk.
 */
int bpk_frame_vouch(struct bpk_frame_reader *reader, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, struct bpk_buf *raw, uint8_t *digest,
		    struct bpk_err *err);

/* Look up chunk number, below nchunks: read 32 bytes of it, and check them against the frame's
 * sizes. Errors name the chunk. Any thread. */
int bpk_frame_look(struct bpk_frame_reader *reader, uint64_t number, struct bpk_frame_found *found,
		   struct bpk_err *err);

/* The same for numbers that mostly ascend by one: more and more chunks are looked up in advance. */
int bpk_frame_look_on(struct bpk_frame_reader *reader, struct bpk_frame_ahead *ahead,
		      uint64_t number, struct bpk_frame_found *found, struct bpk_err *err);

/* Prepend "chunk 3 at offset 4711", or "00000003.chunk: chunk 3", to a report. Returns -1. */
int bpk_frame_subject(const struct bpk_frame_reader *reader, uint64_t number, struct bpk_err *err);

/* ---- Sparse frames ---- */

enum { BPK_FRAME_FILE_NAME = sizeof "00000000.chunk" };

#define BPK_FRAME_SPARSE_INDEX "chunks.b2frame"

/* The file name of a chunk ("Sparse frame"); and the reverse, false if name is not a chunk's. */
void bpk_frame_file_name(uint32_t id, char name[BPK_FRAME_FILE_NAME]);
bool bpk_frame_file_id(const char *name, uint32_t *id);

/* ---- Shared by the reader's files ---- */

/* bpk_frame_look in the state at open, number below nchunks; the source of a contiguous frame must
 * be held. */
int bpk_frame_look_here(struct bpk_frame_reader *reader, uint64_t number,
			struct bpk_frame_found *found, struct bpk_err *err);

/* bpk_frame_bring_ranges in the state at open, in the same way. */
int bpk_frame_bring_here(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			 const struct bpk_frame_ranges *wanted, struct bpk_err *err);

/* True if a read or an allocation failed; otherwise the bytes that were read are wrong. */
static inline bool bpk_frame_is_failure(const struct bpk_err *err)
{
	return err->kind == BPK_FAILED || err->kind == BPK_NO_MEMORY;
}

/*
 * Perform step, which needs chunk number. If the frame has changed since reader was opened, step
 * runs on a reader of its current state, provided that still holds the same chunk. Any thread. If
 * apparent damage comes from a change, fails with BPK_FAILED, "changed while it was read".
 */
int bpk_frame_latest_do(struct bpk_frame_reader *reader, uint64_t number,
			int (*step)(struct bpk_frame_reader *on, void *arg, struct bpk_err *err),
			void *arg, struct bpk_err *err);

/* Of the raw_size bytes that chunk number has now, the bytes it had at open: a last chunk may have
 * grown. */
size_t bpk_frame_size_at_open(const struct bpk_frame_reader *reader, uint64_t number,
			      size_t raw_size);

/* Most attempts to read a sparse frame that keeps changing. */
enum { BPK_FRAME_TIMES = 20 };

/* Fails with the damage of the trailer, the digests or the sizes, which leaves the data readable: a
 * change would drop what is damaged. */
int bpk_frame_check_parts(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* True if the frame has changed since open, so that data read from it may be wrong. */
bool bpk_frame_has_changed(const struct bpk_frame_reader *reader);

/* True if a change of bpk made the contiguous frame longer, or shorter, since open: it has another
 * header, and its old end is left in the file. */
bool bpk_frame_is_superseded(const struct bpk_frame_reader *reader);

/* Open a reader on the frame in a directory or a source, as bpk_reader_ops.open does; and let one
 * user close it. */
int bpk_frame_open(struct bpk_dir *dir, struct bpk_source *source,
		   const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		   struct bpk_err *err);
void bpk_frame_close(struct bpk_frame_reader *reader); /* accepts NULL */

/* Set reader->info, and the memory it borrows, from the state. */
int bpk_frame_fill_info(struct bpk_frame_reader *reader, struct bpk_err *err);

/* Compute raw_size, the special values' sizes and sizes_damage of a frame whose chunks differ in
 * size, in the state at open. A frame sealed by bpk is trusted to match its header. */
int bpk_frame_measure(struct bpk_frame_reader *reader, struct bpk_err *err);

/* A summary of the payload of a frame, from its chunks' headers. */
struct bpk_frame_survey {
	uint64_t raw_size;    /* of all chunks */
	uint64_t packed_size; /* of stored chunks, each counted once */
	uint64_t nstored;     /* stored chunks */
	uint64_t nholes;      /* contiguous: runs of unreferenced bytes ... */
	uint64_t hole_size;   /* ... and their total size, including those before the trailer */
	uint64_t nshared;     /* chunks at the same place as another one */
	uint64_t noverlaps;   /* chunks that share some of their bytes with another one */
	uint64_t first_overlap[2]; /* numbers of such chunks */
	struct bpk_err excess;     /* sparse: damage, bytes behind a chunk in its file */
	bool variable_blocks;      /* a chunk has blocks of variable length */
	uint64_t ntypes;           /* chunks with another typesize than the header's ... */
	uint64_t first_type;       /* ... the number of the first one, and its typesize */
	unsigned typesize;
	uint64_t nuneven; /* chunks, except the last, that are shorter than chunk_size */
};

/*
 * Examine every chunk's header. Takes time n log n, and 16 bytes of memory for each stored chunk.
 * Fails like bpk_frame_look.
 */
int bpk_frame_survey(struct bpk_frame_reader *reader, struct bpk_frame_survey *survey,
		     struct bpk_err *err);

/* The same, with chunks looked up by look; and in the state at open, like bpk_frame_look_here. */
typedef int bpk_frame_look_fn(void *arg, struct bpk_frame_reader *reader, uint64_t number,
			      struct bpk_frame_found *found, struct bpk_err *err);
int bpk_frame_survey_by(struct bpk_frame_reader *reader, bpk_frame_look_fn *look, void *arg,
			struct bpk_frame_survey *survey, struct bpk_err *err);
int bpk_frame_survey_here(struct bpk_frame_reader *reader, struct bpk_frame_survey *survey,
			  struct bpk_err *err);

/* bpk_reader_ops.repeats */
uint64_t bpk_frame_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);

/* Fails with BPK_CORRUPT if bytes follow the end of a sparse frame's chunks.b2frame, which every
 * change replaces; format/members tests a contiguous frame. */
int bpk_frame_check_end(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* The same for the file of chunk number, which lies at found. bpk writes such a file once, and
 * c-blosc2 truncates it (sframe_open_chunk with "wb"). */
int bpk_frame_check_room(const struct bpk_frame_reader *reader, uint64_t number,
			 const struct bpk_frame_found *found, struct bpk_err *err);

/* bpk_reader_ops.audit */
int bpk_frame_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

#endif
