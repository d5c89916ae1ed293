/*
 * Frames as they lie in files, inside the room: what the reader, the editor and the arrays of
 * several dimensions share. A state is one frame taken apart, without its chunks; a reader is a
 * state with the files it came from, out of which chunks are brought by their numbers.
 */
#ifndef BPK_FORMAT_FRAME_READER_H
#define BPK_FORMAT_FRAME_READER_H

#include "format/frame/frame.h"

/* ---- A state: header, index, trailer, digests ---- */

/*
 * Fixed once loaded; any thread. For bpk_frame_state_clear; valid when zeroed.
 */
struct bpk_frame_state {
	struct bpk_frame_header header;
	struct bpk_buf head;     /* the header's bytes as they lie */
	struct bpk_buf entries;  /* of the index, 8 bytes each in host order ... */
	bool uniform;            /* ... or one that stands for all of them */
	uint64_t nchunks;        /* entries in the index */
	uint64_t index_offset;   /* where the index chunk lies */
	uint32_t index_size;     /* packed; 0: there is none */
	uint64_t trailer_offset; /* it ends where the frame does */
	uint64_t trailer_size;
	struct bpk_frame_layers layers;   /* the trailer's, ours among them */
	struct bpk_frame_digests digests; /* checksum NULL: there are none */
	/* Another program changed the frame since bpk wrote its digests. Chunks are then not
	 * checked by them; audit tells which still agree. */
	bool stale;
	/* Another program wrote the header alone, as for the content of a fixed metalayer: all
	 * other digests hold. */
	bool stale_header;
	/* The trailer, or the layer of digests, is damaged: nothing of the data depends on it, so
	 * it is told by audit. BPK_OK: it is not. */
	struct bpk_err damage;
};

void bpk_frame_state_clear(struct bpk_frame_state *state);

/*
 * Take a frame apart that begins at offset 0 of source (seekable; held by the caller), a contiguous
 * one, or chunks.b2frame of a sparse one. Digests of header and index are tested unless no_check.
 * Fails with BPK_CORRUPT ("header: ...", "index: ...", "trailer: ..."), BPK_UNSUPPORTED, BPK_LIMIT
 * (an index or layers that unpack to far more than the bytes that are there justify) or
 * BPK_NO_MEMORY; state is cleared then.
 */
int bpk_frame_state_load(struct bpk_source *source, bool sparse, bool no_check,
			 struct bpk_frame_state *state, struct bpk_err *err);

/* What the index says of chunk number, below nchunks. */
static inline uint64_t bpk_frame_entry(const struct bpk_frame_state *state, uint64_t number)
{
	uint64_t entry;

	memcpy(&entry, state->entries.data + (state->uniform ? 0 : 8 * number), sizeof entry);
	return entry;
}

/* ---- A reader ---- */

/* Where a chunk lies, and what its header says. */
struct bpk_frame_found {
	struct bpk_chunk_header header; /* of a special offset: of a special chunk made for it */
	uint64_t offset;                /* in the frame, or in its file; BPK_UNKNOWN: special */
	uint64_t room;                  /* bytes from there up to the index, or the file's end */
};

/* Chunks that were looked at together, for who takes them one after the other: a source is held for
 * all of them once. Valid when zeroed; one thread's own. */
enum { BPK_FRAME_AHEAD = 64 }; /* they lie on the stack */

struct bpk_frame_ahead {
	uint64_t first;
	unsigned count;
	struct bpk_frame_found found[BPK_FRAME_AHEAD];
};

struct bpk_frame_bands; /* nd's: how an array in several dimensions is read in C order */

struct bpk_frame_reader {
	/* fixed after open */
	struct bpk_source *source; /* of the contiguous frame, or of chunks.b2frame */
	struct bpk_dir *dir;       /* of the sparse frame; NULL: contiguous */
	uint64_t generation;       /* of dir, read before all else */
	struct bpk_spool *spool;   /* where source came through a pipe; owned, with source */
	bool owns_source;
	struct bpk_sidecar *sidecar; /* c-blosc2's lock; NULL: none is there. Borrowed */
	struct bpk_read_options options;
	struct bpk_frame_state state;

	/* What is known of raw sizes. regular: every chunk has the header's chunk_size, but the
	 * last. Else each chunk's own header says it, and chunks are located by walking. */
	bool regular;
	uint64_t last_size; /* raw bytes of the last chunk */
	uint64_t raw_size;  /* of all chunks, as far as they were measured; else the header's */
	/* Of special values in a frame of variable chunk size: of each; the last one has the rest
	 * as well. 0: nothing tells it, and they are left out. BPK_UNKNOWN: not measured. */
	uint64_t special_size, special_rest, last_special;
	/* For audit. BPK_CORRUPT: the header's raw size is wrong, or special values are left out.
	 * BPK_REPAIRABLE: nothing but the header's raw size tells how long they are. */
	struct bpk_err sizes_damage;

	/* The array, where the b2nd metalayer (or caterva) is there and sound; array_damage says
	 * why it is not, and then chunks are brought as they lie or not at all. */
	bool has_nd;
	struct bpk_frame_nd nd;
	struct bpk_err array_damage;
	struct bpk_frame_bands *bands; /* parcels are its bands; NULL: chunks as they lie */

	struct bpk_layer *layers; /* for info */
	struct bpk_buf metadata;
	struct bpk_info info;

	/* of the one thread that audits, or vouches: bpk_frame_digests_list of a stale state */
	struct bpk_buf known;

	/* of the one thread that locates */
	uint64_t located;        /* number of the next chunk */
	uint64_t located_offset; /* raw bytes before it */
	struct bpk_frame_ahead ahead;

	struct bpk_frame_repeats *repeats; /* of the one thread that asks; NULL: none asked */

	/* A sparse frame is replaced file by file: what it is now, by lock (sparse.c). */
	struct bpk_mutex lock;
	struct bpk_frame_later *later;
};

/* Raw bytes of chunk number where all but the last have one size; BPK_UNKNOWN for what only its own
 * header tells. */
uint64_t bpk_frame_chunk_size(const struct bpk_frame_reader *reader, uint64_t number);

/*
 * Bring chunk parcel->number as it lies (padding of arrays and all) into parcel->packed, with its
 * seal behind it where the frame has one that is to be tested; a special offset as a special chunk.
 * Sets packed_size, raw_size, data_size and packed_offset. Where there is no seal to be tested, and
 * parcel->want_start and want_size are a part of the chunk, only what that needs is brought. Any
 * thread. Returns 1 behind the last chunk. Errors name the chunk.
 */
int bpk_frame_bring(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
		    struct bpk_err *err);

/* Raw bytes of a chunk. */
struct bpk_frame_range {
	uint64_t start, size;
};

struct bpk_frame_ranges {
	const struct bpk_frame_range *all; /* ascending; each more than none and less than all */
	size_t count;                      /* 0: the whole chunk */
};

/* The same for what several ranges of the chunk need, instead of the parcel's want. */
int bpk_frame_bring_ranges(struct bpk_frame_reader *reader, struct bpk_parcel *parcel,
			   const struct bpk_frame_ranges *wanted, struct bpk_err *err);

/* Has chunk number a seal that is to be tested? */
bool bpk_frame_is_sealed(const struct bpk_frame_reader *reader, uint64_t number);

/* Test the seal of a chunk that was brought, if it has one. */
int bpk_frame_check(const struct bpk_frame_reader *reader, const struct bpk_parcel *parcel,
		    struct bpk_err *err);

/* Did a chunk of the frame have this digest before another program changed it? One thread. Returns
 * 1 or 0, or -1 without memory. */
int bpk_frame_knows(struct bpk_frame_reader *reader, const uint8_t *digest, struct bpk_err *err);

/*
 * The digest of a chunk that was brought, where none was tested: of a frame that another program
 * has changed. It must be one that a chunk had, or else the chunk unpack. raw is scratch. One
 * thread. Errors name the chunk.
 */
int bpk_frame_vouch(struct bpk_frame_reader *reader, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, struct bpk_buf *raw, uint8_t *digest,
		    struct bpk_err *err);

/* Look at chunk number, below nchunks: 32 bytes of it are read, and checked against the frame's
 * sizes. Errors name the chunk. Any thread. */
int bpk_frame_look(struct bpk_frame_reader *reader, uint64_t number, struct bpk_frame_found *found,
		   struct bpk_err *err);

/* The same for numbers that mostly ascend by one: more and more are looked at beforehand. */
int bpk_frame_look_on(struct bpk_frame_reader *reader, struct bpk_frame_ahead *ahead,
		      uint64_t number, struct bpk_frame_found *found, struct bpk_err *err);

/* Put "chunk 3 at offset 4711", or "00000003.chunk: chunk 3", in front of a report. Returns -1. */
int bpk_frame_subject(const struct bpk_frame_reader *reader, uint64_t number, struct bpk_err *err);

/* ---- Sparse frames ---- */

enum { BPK_FRAME_FILE_NAME = sizeof "00000000.chunk" };

#define BPK_FRAME_SPARSE_INDEX "chunks.b2frame"

/* The name of the file of a chunk ("Sparse frame"); and back: false when name is none of them. */
void bpk_frame_file_name(uint32_t id, char name[BPK_FRAME_FILE_NAME]);
bool bpk_frame_file_id(const char *name, uint32_t *id);

/* ---- What the reader's files share ---- */

/* bpk_frame_look in the state that reader was opened on, number below nchunks; a contiguous frame's
 * source is held. */
int bpk_frame_look_here(struct bpk_frame_reader *reader, uint64_t number,
			struct bpk_frame_found *found, struct bpk_err *err);

/* Could something not be read, whatever it is? Else what was read is wrong. */
static inline bool bpk_frame_is_failure(const struct bpk_err *err)
{
	return err->kind == BPK_FAILED || err->kind == BPK_NO_MEMORY;
}

/*
 * Do step, which needs chunk number, on reader, or where the frame was changed since it was opened
 * on a reader of what it is now, as long as that holds the same chunk. Any thread. What then looks
 * like damage but comes of a change fails with BPK_FAILED, "changed while it was read".
 */
int bpk_frame_do(struct bpk_frame_reader *reader, uint64_t number,
		 int (*step)(struct bpk_frame_reader *on, void *arg, struct bpk_err *err),
		 void *arg, struct bpk_err *err);

/* Of raw_size bytes that chunk number has now, those it had when reader was opened: a last chunk
 * may have grown. */
size_t bpk_frame_size_at_open(const struct bpk_frame_reader *reader, uint64_t number,
			      size_t raw_size);

/* How often a sparse frame that is changed meanwhile is read anew. */
enum { BPK_FRAME_TIMES = 20 };

/* Did the frame change since reader was opened, in a way by which what was read may be wrong? */
bool bpk_frame_has_changed(const struct bpk_frame_reader *reader);

/* Open a reader on the frame in a directory, or in a source, as bpk_reader_ops.open does; and what
 * that one closes. */
int bpk_frame_open(struct bpk_dir *dir, struct bpk_source *source,
		   const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		   struct bpk_err *err);
void bpk_frame_close(struct bpk_frame_reader *reader); /* NULL is harmless */

/* Forget what became of the frame later; at close. */
void bpk_frame_later_free(struct bpk_frame_reader *reader);

/* Fill reader->info, and what it borrows, from the state. */
int bpk_frame_fill_info(struct bpk_frame_reader *reader, struct bpk_err *err);

/* Find raw_size, the special values' sizes and sizes_damage of a frame whose chunks do not all have
 * one size, in the state that reader was opened on. One that bpk sealed is as its header says. */
int bpk_frame_measure(struct bpk_frame_reader *reader, struct bpk_err *err);

/* What the payload of a frame is made of, by its chunks' headers. */
struct bpk_frame_survey {
	uint64_t raw_size;    /* of all chunks */
	uint64_t packed_size; /* of those that are stored, each once */
	uint64_t nstored;     /* chunks that are stored */
	uint64_t nholes;      /* contiguous: runs of bytes that nothing refers to ... */
	uint64_t hole_size;   /* ... and how many they are, those before the trailer among them */
	uint64_t nshared;     /* chunks that lie where another one does */
	uint64_t noverlaps;   /* that share a part of their bytes */
	uint64_t first_overlap[2]; /* numbers of such chunks */
	uint64_t nlonger;          /* sparse: files that are longer than their chunks ... */
	uint64_t longer_size;      /* ... and by how much */
	bool variable_blocks;      /* a chunk has blocks of variable length */
	uint64_t ntypes;           /* chunks of another typesize than the header's ... */
	uint64_t first_type;       /* ... the number of the first one, and its typesize */
	unsigned typesize;
	uint64_t nuneven; /* chunks, but for the last, that are shorter than chunk_size */
};

/*
 * Look at every chunk's header. Takes time by n log n and 16 bytes for each chunk
 * that is stored. Fails as bpk_frame_look does.
 */
int bpk_frame_survey(struct bpk_frame_reader *reader, struct bpk_frame_survey *survey,
		     struct bpk_err *err);

/* The same as bpk_frame_look_here is to that. */
int bpk_frame_survey_here(struct bpk_frame_reader *reader, struct bpk_frame_survey *survey,
			  struct bpk_err *err);

/* bpk_reader_ops.repeats; and forget what it remembers, at close */
uint64_t bpk_frame_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);
void bpk_frame_repeats_free(struct bpk_frame_reader *reader);

/* Fails with BPK_CORRUPT where bytes lie behind the end of a sparse frame's own file, which every
 * change writes anew; of a contiguous frame format/members asks. */
int bpk_frame_check_end(const struct bpk_frame_reader *reader, struct bpk_err *err);

/* bpk_reader_ops.audit */
int bpk_frame_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

#endif
