/*
 * Readers, inside the room: a state together with its files. From the ground up: names.h and
 * state.h, chunks.h (chunks in the state at open), survey.h, open.h, latest.h (the current state),
 * fetch.h (chunks while a writer is active), validate.h.
 */
#ifndef BPK_FORMAT_FRAME_READER_H
#define BPK_FORMAT_FRAME_READER_H

#include "format/frame/state.h"

/* The position of a chunk, and its header. */
struct bpk_frame_found {
	/* For a special offset: of the special chunk made from it. */
	struct bpk_chunk_header header;
	uint64_t offset; /* in the frame, or in its file; BPK_UNKNOWN: special */
	uint64_t room;   /* bytes up to the index, or to the file's end */
};

/* Facts of the file that a chunk of a sparse frame was read from. */
struct bpk_frame_sight {
	bool sure;       /* it is the file that the index meant at open, and stayed it meanwhile */
	bool is_young;   /* its times do not tell that it is; id and state are set */
	bool is_newer;   /* its times tell that it is not */
	bool is_written; /* it was written to while it was read */
	uint32_t id;
	uint64_t state; /* bpk_source_state */
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

/* Raw sizes of chunks. */
struct bpk_frame_sizes {
	/* True if every chunk but the last has the header's chunk_size. Otherwise each chunk's own
	 * header has its size, and chunks are located by walking. */
	bool regular;
	uint64_t last; /* raw bytes of the last chunk */
	uint64_t raw;  /* of all chunks, if they were measured; else the header's */
	/* In a frame of variable chunk size: bytes of each special value, and the rest that the
	 * last one (number last_special) has in addition. 0: unknown, and they are left out.
	 * BPK_UNKNOWN: not measured. */
	uint64_t special, special_rest, last_special;
	/* For audit. BPK_CORRUPT: the header's raw size is wrong, or special values are left out.
	 * BPK_REPAIRABLE: only the header's raw size determines their length. */
	struct bpk_err damage;
};

/* The array, if the b2nd metalayer (or caterva) exists and is intact. Otherwise damage has the
 * reason, and chunks are fetched as stored or not at all. */
struct bpk_frame_array {
	bool is_nd;
	struct bpk_frame_nd nd;
	struct bpk_err damage;
	struct bpk_frame_bands *bands; /* parcels are its bands; NULL: chunks as stored */
};

/* A walk over chunk sizes, for a frame that is not regular. */
struct bpk_frame_located {
	uint64_t number; /* of the next chunk */
	uint64_t offset; /* raw bytes before it */
	struct bpk_frame_ahead ahead;
};

struct bpk_frame_reader {
	/* fixed after open */
	struct bpk_source *source;    /* of the contiguous frame, or of chunks.b2frame */
	struct bpk_dir *dir;          /* of the sparse frame; NULL: contiguous */
	uint64_t generation;          /* of dir, read first */
	struct bpk_dir_moment moment; /* of dir, before the index was read */
	struct bpk_spool *spool;      /* the bytes of a pipe; owned, like source then */
	bool owns_source;
	struct bpk_sidecar *sidecar; /* c-blosc2's lock; NULL: not in use. Borrowed */
	struct bpk_read_options options;
	struct bpk_frame_state state;

	struct bpk_frame_sizes sizes;
	struct bpk_frame_array array;

	struct bpk_layer *layers; /* for info */
	struct bpk_buf metadata;
	struct bpk_info info;

	/* owned by the thread that audits or validates: bpk_frame_digests_list of a stale state */
	struct bpk_buf known;

	struct bpk_frame_located located; /* owned by the thread that locates */

	struct bpk_seal_leaves *leaves; /* of chunks that were checked; NULL: not wanted */
	struct bpk_seal_proof
		*proof; /* of chunks that may be fetched; NULL: of none, and all may */

	struct bpk_frame_repeats *repeats; /* owned by the thread that asks; NULL: not yet used */

	struct bpk_stretch stretch; /* of a contiguous frame's chunks; any thread */

	struct bpk_frame_notes *notes; /* of a sparse frame's chunks; any thread (notes.h) */

	/* A reader of a sparse frame's current state (latest.c). Guarded by lock: latest, and the
	 * users of that reader, one of them while it is the latest. 0: it has one user. */
	struct bpk_mutex lock;
	struct bpk_frame_reader *latest;
	unsigned users;
};

/* ---- Functions of files without a header ---- */

/* Set reader->info, and the memory it borrows, from the state. */
int bpk_frame_info_fill(struct bpk_frame_reader *reader, struct bpk_err *err);

/* Compute the raw size, the special values' sizes and the damage of sizes, for a frame whose chunks
 * differ in size, in the state at open. A frame sealed by bpk is trusted to match its header. */
int bpk_frame_measure(struct bpk_frame_reader *reader, struct bpk_err *err);

/* bpk_reader_ops.repeats */
uint64_t bpk_frame_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);

/* bpk_reader_ops.audit */
int bpk_frame_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

#endif
