/*
 * The room chunk: encode and decode one Blosc chunk, from buffer to buffer. It knows filters,
 * blocks and inner codecs; it knows no files, threads or options. Its only global is the pointer to
 * the vector kernels. Scratch memory is passed in as a context, one per thread. Called by every
 * room above.
 * Source of every format fact here: the Blosc chunk format; each fact names its section.
 */
#ifndef BPK_CHUNK_CHUNK_H
#define BPK_CHUNK_CHUNK_H

#include "base/base.h"
#include "chunk/sizes.h"

enum {
	BPK_CHUNK_HEADER_SIZE = 16,                   /* "Header": the 16 common bytes */
	BPK_CHUNK_EXTENDED_HEADER_SIZE = 32,          /* with Blosc2's 16 more bytes */
	BPK_CHUNK_MAX_RAW_SIZE = 2147483631,          /* "Limits": 2^31-1-16 */
	BPK_CHUNK_MAX_RAW_SIZE_EXTENDED = 2147483615, /* 2^31-1-32 */
	BPK_CHUNK_MAX_BLOCK_SIZE = 536866816,         /* "Limits" */
	BPK_CHUNK_MAX_TYPESIZE = 255,
	BPK_CHUNK_MAX_FILTERS = 6,
};

/* Filter numbers of the extended header ("Filters"). Version 2 chunks use the first three. */
enum bpk_filter {
	BPK_FILTER_NONE = 0,
	BPK_FILTER_SHUFFLE = 1, /* meta: the width; 0: the typesize */
	BPK_FILTER_BITSHUFFLE = 2,
	/* XOR with block 0; the encoder accepts it only as the first filter */
	BPK_FILTER_DELTA = 3,
	BPK_FILTER_TRUNC_PREC = 4, /* lossy; meta: mantissa bits to keep, or -n: n bits to clear */
	BPK_FILTER_BYTEDELTA_1 = 34, /* decoding only */
	BPK_FILTER_BYTEDELTA = 35,   /* meta: the width; 0: the container's typesize */
	BPK_FILTER_INT_TRUNC = 36,   /* lossy; meta: bits to keep, or -n: n bits to clear */
	/* user-defined range, only in slot 0; never a step of a pipeline: see struct
	 * bpk_prediction */
	BPK_FILTER_PREDICT = 208,
};

/* One filter with its parameter, as in the slots of an extended header. */
struct bpk_filter_step {
	uint8_t filter; /* enum bpk_filter, never BPK_FILTER_NONE */
	uint8_t meta;
};

/* Filters in the order of encoding. Zeroed: no filter. */
struct bpk_pipeline {
	unsigned nsteps;
	struct bpk_filter_step steps[BPK_CHUNK_MAX_FILTERS];
};

/* A pipeline of one filter without a parameter, or of no filter (BPK_FILTER_NONE). */
static inline struct bpk_pipeline bpk_pipeline_of(enum bpk_filter filter)
{
	struct bpk_pipeline pipeline = { filter == BPK_FILTER_NONE ? 0 : 1, { { 0, 0 } } };

	pipeline.steps[0].filter = (uint8_t)filter;
	return pipeline;
}

bool bpk_pipeline_equal(const struct bpk_pipeline *a, const struct bpk_pipeline *b);

/* True if decoding does not restore the input. */
bool bpk_pipeline_is_lossy(const struct bpk_pipeline *pipeline);

/* True if version 2 chunks can store it: at most one filter, shuffle or bitshuffle, without a
 * parameter. */
bool bpk_pipeline_is_plain(const struct bpk_pipeline *pipeline);

enum { BPK_PIPELINE_TEXT = 128 };

/* Print the pipeline in the syntax of options: "none", "delta,shuffle", "trunc:12,shuffle",
 * "shuffle:4,bytedelta:4".
 * Returns out. */
const char *bpk_pipeline_print(const struct bpk_pipeline *pipeline, char out[BPK_PIPELINE_TEXT]);

/*
 * Parse the same syntax. Fails with BPK_USAGE: an unknown name (the line lists the known ones), a
 * parameter that is missing, out of range or not accepted, more than six filters, a filter that is
 * only for decoding, delta after another filter.
 */
int bpk_pipeline_parse(const char *text, struct bpk_pipeline *pipeline, struct bpk_err *err);

/*
 * Check that the pipeline can encode elements of typesize bytes. Fails with BPK_USAGE: a truncation
 * of elements that are not numbers, of more bits than they have, or after a filter whose output is
 * not numbers.
 */
int bpk_pipeline_check(const struct bpk_pipeline *pipeline, unsigned typesize, struct bpk_err *err);

/* The pipeline without its lossy filters. */
struct bpk_pipeline bpk_pipeline_exact(const struct bpk_pipeline *pipeline);

enum { BPK_PIPELINE_LOSS_TEXT = 256 };

/* Describe the loss of a checked pipeline: "filter trunc:12 keeps 12 of 23 bits of each float32's
 * mantissa"; empty if it is lossless.
 * Returns out. */
const char *bpk_pipeline_loss(const struct bpk_pipeline *pipeline, unsigned typesize,
			      char out[BPK_PIPELINE_LOSS_TEXT]);

/* Apply the lossy filters of a checked pipeline to whole elements at raw, in place. Idempotent; no
 * effect if the pipeline is lossless. */
void bpk_pipeline_degrade(const struct bpk_pipeline *pipeline, unsigned typesize,
			  struct bpk_span raw);

/* The name of a filter in options ("shuffle", "trunc"); NULL for a number that is not built in. And
 * the names in the order of the help text, NULL after the last. */
const char *bpk_filter_name(unsigned filter);
const char *bpk_filter_at(size_t index);

/* The name of a filter or codec number in the global registry, for numbers that are not built in:
 * "ndcell", "zfp fixed rate"; NULL if unregistered ("Registered ids"). */
const char *bpk_filter_registered(unsigned filter);
const char *bpk_codec_registered(unsigned codec);

enum { BPK_PREDICTION_STRIDES = 6 };

/*
 * Prediction replaces the numbers of a whole chunk by differences from earlier numbers, before the
 * chunk is cut into blocks. Smooth data leave small differences. From the byte phase on the chunk
 * holds numbers of size bytes, taken as unsigned integers (floats are mapped to integers of the
 * same order). For each stride s in turn, number i becomes number i minus number i-s, where that
 * exists. The results are folded, so that small values of either sign become small unsigned values.
 * {P} leaves the change since the frame of P numbers before; {P, P} leaves the deviation from a
 * line through the last two frames; {1, X, XY} is the Lorenzo predictor of a grid. With a scale,
 * the differences are those of the floats' values (predict_fixed.c): better where values cross
 * powers of two or zero, but slower. The sum of the strides must then be less than the count of
 * numbers. Every bit is restored, including NaN and -0. Zeroed: no prediction.
 */
struct bpk_prediction {
	unsigned size; /* 1, 2, 4 or 8; 0: no prediction */
	bool is_float; /* numbers of 2 bytes or more */
	bool big_endian;
	/* 0 .. size-1: bytes before the first number; they and a partial number at the end are
	 * kept */
	unsigned phase;
	unsigned nstrides;                        /* 1..BPK_PREDICTION_STRIDES */
	uint32_t strides[BPK_PREDICTION_STRIDES]; /* 1 or more, in numbers */
	/* for floats of 4 or 8 bytes: the biased exponent of the largest values that count; 0: by
	 * order */
	unsigned scale;
};

/* The structs have padding, so they cannot be compared by bytes. */
bool bpk_prediction_equal(const struct bpk_prediction *a, const struct bpk_prediction *b);

/* A good scale for raw, whose floats of 4 or 8 bytes start at the phase. */
unsigned bpk_prediction_scale(const struct bpk_prediction *prediction, struct bpk_view raw);

/* Check that the filters work with a prediction. Fails with BPK_USAGE: delta, a lossy filter, more
 * than five filters. */
int bpk_prediction_check_pipeline(const struct bpk_pipeline *pipeline, struct bpk_err *err);

/*
 * Predict a piece of raw, out.size bytes from start on, for trials. start - phase and out.size are
 * multiples of the number size, within raw. Uses scratch of a few times out.size. Fails with
 * BPK_NO_MEMORY.
 */
int bpk_prediction_piece(const struct bpk_prediction *prediction, struct bpk_view raw, size_t start,
			 struct bpk_span out, struct bpk_buf *scratch, struct bpk_err *err);

/* "predict:2" for two strides: all that a header records. Returns out. */
enum { BPK_PREDICTION_TEXT = 16 };
const char *bpk_prediction_print(const struct bpk_prediction *prediction,
				 char out[BPK_PREDICTION_TEXT]);

/* A chunk whose header describes its whole content ("Special-value chunks"). */
enum bpk_special {
	BPK_SPECIAL_NONE = 0,
	BPK_SPECIAL_ZERO = 1,
	BPK_SPECIAL_NAN = 2,    /* items of 4 or 8 bytes, by the typesize */
	BPK_SPECIAL_VALUE = 3,  /* one item after the header, repeated */
	BPK_SPECIAL_UNINIT = 4, /* unspecified content; decoded as zeros */
};

/* The fields of a chunk header that bpk_chunk_header_read has checked. */
struct bpk_chunk_header {
	unsigned version;     /* 2; 3 to 6: Blosc2 */
	unsigned flags;       /* as stored */
	unsigned typesize;    /* 1..255 */
	uint32_t header_size; /* 16, or 32: extended */
	uint32_t raw_size;    /* nbytes, 0..BPK_CHUNK_MAX_RAW_SIZE */
	/* 1..raw_size (any value if raw_size is 0); raw_size for variable-length blocks */
	uint32_t block_size;
	uint32_t packed_size; /* cbytes, header included */
	uint32_t nblocks; /* 0 for memcpyed, special or empty chunks: they have no block starts */
	unsigned codec_format; /* see bpk_codec_format_name */
	/* compressor code: of an extended header, which tells lz4 from lz4hc; else that of the
	 * format */
	unsigned codec;
	bool memcpyed;        /* the payload is the raw bytes; codec and filters are meaningless */
	bool split;           /* full blocks hold typesize streams */
	bool dictionary;      /* a dictionary follows the block starts */
	bool variable_blocks; /* version 6: each block stores its own raw size */
	enum bpk_special special;
	uint32_t value_size;          /* bytes of a repeated value after the header; else 0 */
	struct bpk_pipeline pipeline; /* meaningless when memcpyed or special */
	/* size 0 when memcpyed or special; phase and strides are unset, scale is 1 if there is
	 * one */
	struct bpk_prediction prediction;
};

/*
 * Parse a header from the first BPK_CHUNK_EXTENDED_HEADER_SIZE bytes (or more) of a chunk, or from
 * the whole chunk if it is shorter, and make every check that needs no other bytes ("Validation",
 * items 1 to 10). packed_size is not compared with bytes.size: bpk_chunk_decode does that.
 * Fails with BPK_CORRUPT, or BPK_UNSUPPORTED (a version, codec or filter that is not built in; the
 * line names it).
 */
int bpk_chunk_header_read(struct bpk_view bytes, struct bpk_chunk_header *header,
			  struct bpk_err *err);

/* The same for containers of version 2 chunks, for which BPK_CHUNK_HEADER_SIZE bytes are enough.
 * Any other version fails with BPK_UNSUPPORTED. */
int bpk_chunk_header_read_plain(struct bpk_view bytes, struct bpk_chunk_header *header,
				struct bpk_err *err);

/* "zstd"; lz4 and lz4hc share the name "lz4". "codec 5" for a number that is not built in. */
const char *bpk_codec_format_name(unsigned codec_format);

struct bpk_codec;

/* The parameters of encoding. Constant while in use; plain values, no ownership. */
struct bpk_recipe {
	const struct bpk_codec *codec; /* never NULL */
	unsigned level;                /* 0 (store) .. 9 */
	unsigned typesize;             /* 1..255 */
	struct bpk_pipeline pipeline;  /* plain unless extended */
	uint32_t block_size;           /* 0: chosen from level, codec and typesize */
	bool extended;                 /* Blosc2 chunks: version 5 with an extended header */
	/* extended, zstd and lz4 only: use a dictionary if it makes the chunk smaller */
	bool dictionary;
	/* version 6: blocks store their own size; incompressible blocks are stored; no delta */
	bool variable_blocks;
	bool exact_blocks; /* block_size matters to the container: never round it for the filters */
	bool no_special;   /* extended: write blocks even if one item is repeated */
	/* extended; no dictionary, variable-length blocks, delta or lossy filter. Strides longer
	 * than the chunk are dropped */
	struct bpk_prediction prediction;
};

/*
 * Codecs: find one by its name in options (NULL if unknown); the one at position index of the
 * table, in the order of the help text (NULL after the last); its name; its number; and the version
 * of its library (NULL for our own codec).
 */
const struct bpk_codec *bpk_codec_find(const char *name);
const struct bpk_codec *bpk_codec_at(size_t index);
const char *bpk_codec_name(const struct bpk_codec *codec);
unsigned bpk_codec_code(const struct bpk_codec *codec); /* Blosc's "compressor code": zstd has 5 */
bool bpk_codec_is_extended(const struct bpk_codec *codec); /* usable in Blosc2 chunks */
bool bpk_codec_has_dictionaries(const struct bpk_codec *codec);
const char *bpk_codec_library_version(const struct bpk_codec *codec);

/* The codec of a chunk; only an extended header distinguishes lz4 from lz4hc. NULL if it is not
 * built in or the chunk is special. */
const struct bpk_codec *bpk_codec_of_chunk(const struct bpk_chunk_header *header);

/* The name of the vector kernels in use: "avx2". */
const char *bpk_chunk_simd(void);

/*
 * Scratch memory and codec states of one thread. It grows to the size of the chunks: at most a few
 * block sizes and the codecs' own states. Never shared between threads. One that was freed may be
 * kept for the next bpk_chunk_ctx_new, of any thread.
 */
struct bpk_chunk_ctx;

struct bpk_chunk_ctx *bpk_chunk_ctx_new(struct bpk_err *err);
void bpk_chunk_ctx_free(struct bpk_chunk_ctx *ctx); /* NULL is harmless */

/* The same, but never one that was kept: its memory is that of its own work. */
struct bpk_chunk_ctx *bpk_chunk_ctx_make(struct bpk_err *err);

/* Bytes that it has allocated, for buffers and the codecs' states. */
uint64_t bpk_chunk_ctx_memory(struct bpk_chunk_ctx *ctx);

/*
 * Set the container's element size, which may exceed 255 or be missing in chunks. bytedelta without
 * a parameter uses it. 0, the initial value: use the chunk's.
 */
void bpk_chunk_ctx_set_typesize(struct bpk_chunk_ctx *ctx, uint32_t typesize);

/* Room for any chunk of raw_size bytes. A version 2 chunk takes at most raw_size + 16 bytes, an
 * extended one raw_size + 32 ("Writer profiles"); variable-length blocks take 8 more each. */
static inline size_t bpk_chunk_bound(size_t raw_size)
{
	return raw_size + BPK_CHUNK_EXTENDED_HEADER_SIZE;
}

/*
 * Encode raw into one chunk: version 2 ("Writer profiles", blosc1), readable by every Blosc 1.x and
 * 2, or, extended, version 5 (blosc2), readable by Blosc2 only.
 *  raw           0..BPK_CHUNK_MAX_RAW_SIZE bytes
 *  out           at least bpk_chunk_bound(raw.size) bytes
 *  packed_size   bytes of out used; incompressible input is stored (memcpyed)
 * The output is the same on every machine and thread if the codec library's is: lz4 differs on
 * 32-bit and big-endian machines, lz4hc on the latter, and zstd at its own levels 5 to 10 for small
 * blocks when built without SSE2 or NEON.
 * Fails with BPK_NO_MEMORY, BPK_USAGE (a recipe or size out of range) or BPK_UNSUPPORTED (a
 * filter that can only be undone, or delta after another one).
 */
int bpk_chunk_encode(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		     struct bpk_view raw, struct bpk_span out, size_t *packed_size,
		     struct bpk_err *err);

/* Room to share a chunk of raw_size bytes. Blocks of 5000 bytes or more are shared, smaller ones
 * only if they have few streams. */
static inline size_t bpk_chunk_shared_bound(size_t raw_size)
{
	return bpk_chunk_bound(raw_size) + raw_size / 64;
}

/*
 * Encode to the same bytes, with other threads if out has bpk_chunk_shared_bound(raw.size) bytes.
 * The calling thread alone predicts, tries a dictionary and encodes variable-length blocks. A part
 * whose thread lacks memory, or scratch, is left to the calling thread.
 *  sharing   NULL: no other thread; else work is offered at most once
 */
int bpk_chunk_encode_shared(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
			    struct bpk_view raw, struct bpk_span out,
			    const struct bpk_sharing *sharing, size_t *packed_size,
			    struct bpk_err *err);

/*
 * Encode raw into a chunk of variable-length blocks (version 6): nblocks (at least 1) blocks of
 * sizes[k] bytes (at least 1), raw.size in total. out has room for bpk_chunk_bound(raw.size) + 8 *
 * nblocks. recipe is extended; its block size is ignored. Fails as bpk_chunk_encode.
 */
int bpk_chunk_encode_blocks(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
			    struct bpk_view raw, const uint32_t *sizes, uint32_t nblocks,
			    struct bpk_span out, size_t *packed_size, struct bpk_err *err);

/* Read the raw sizes of the blocks of such a chunk, header.nblocks of them. BPK_CORRUPT if a size
 * is invalid or the sum is wrong. */
int bpk_chunk_block_sizes(struct bpk_view chunk, uint32_t *sizes, struct bpk_err *err);

/* Write a chunk of raw_size bytes that are all zero, NaN or unspecified:
 * BPK_CHUNK_EXTENDED_HEADER_SIZE bytes at out. */
void bpk_chunk_write_special(enum bpk_special special, uint32_t raw_size, unsigned typesize,
			     uint8_t out[BPK_CHUNK_EXTENDED_HEADER_SIZE]);

/*
 * Decode one whole chunk.
 *  in   the chunk with its header; bytes after packed_size are ignored
 *  out  exactly the header's raw_size bytes; unspecified on failure
 * Fails with BPK_CORRUPT (a field leads outside the chunk, or a size contradicts another),
 * BPK_UNSUPPORTED (not built in), BPK_USAGE (out has another size) or BPK_NO_MEMORY.
 */
int bpk_chunk_decode(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_span out,
		     struct bpk_err *err);

/*
 * Decode the raw bytes start .. start + out.size of a chunk. Only the blocks of that range are
 * decoded ("Random access"), or with a prediction all blocks up to its end. A stream of which the
 * range needs the first part is decoded up to there if that takes less time, so damage behind the
 * range may go unnoticed. Fails as bpk_chunk_decode; BPK_USAGE if the range leaves the chunk.
 */
int bpk_chunk_decode_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			   struct bpk_span out, struct bpk_err *err);

/*
 * Choose a piece size for decoding the raw bytes start .. start + size with bpk_chunk_decode_range,
 * so that they need not be in memory at once. Pieces begin at multiples of *piece from the chunk's
 * start; together they cost hardly more than the whole. *piece is at most about if possible, one
 * block if blocks are larger, and 0 if the chunk must be decoded at once. The streams are counted,
 * not decoded. Fails as bpk_chunk_decode_range for errors in the chunk's structure.
 */
int bpk_chunk_piece(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start, uint64_t size,
		    size_t about, size_t *piece, struct bpk_err *err);

/* The same by the header alone, for a sound chunk that does not consist of runs. */
size_t bpk_chunk_likely_piece(const struct bpk_chunk_header *header, size_t about);

/* The memory for decoding size bytes of a chunk at once, including these bytes. */
uint64_t bpk_chunk_decode_memory(const struct bpk_chunk_header *header, uint64_t size);

/* True if the chunk is sound and consists of a special value or of runs only. Any part of it then
 * costs no more than its own size. */
bool bpk_chunk_is_pattern(struct bpk_chunk_ctx *ctx, struct bpk_view in);

/*
 * Check that a chunk decodes, without its output. Streams are decoded one at a time and discarded;
 * runs and special values need no decoding, so the cost follows the packed size. Fails as
 * bpk_chunk_decode, and with BPK_LIMIT if one stream decodes to more than BPK_CHUNK_PROOF bytes
 * plus BPK_CHUNK_PROOF_TIMES its packed size: only Zstd reaches such ratios, and its streams cannot
 * be decoded in pieces.
 */
enum { BPK_CHUNK_PROOF = 16 << 20, BPK_CHUNK_PROOF_TIMES = 1024 };

int bpk_chunk_prove(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_err *err);

/* The same for the blocks that hold the raw bytes start .. start + size; BPK_USAGE if the range
 * leaves the chunk. */
int bpk_chunk_prove_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			  uint64_t size, struct bpk_err *err);

/*
 * Find the packed bytes that decoding the raw bytes start .. start + size (size > 0) needs, so that
 * a reader can skip the rest of a large chunk. Blocks may be in any order; a block ends at the next
 * start.
 *  head      the chunk's first bytes: header and all block starts (header_size + 4 * nblocks),
 *            or only the header for a memcpyed or special chunk
 *  extent    called for every run of packed bytes needed (including a dictionary, and the block
 *            that delta refers to), ascending, not overlapping; offset is from the chunk's start.
 *            A non-zero result stops the search. A special chunk has at most one run, its value;
 *            variable-length blocks make one run of all blocks
 * Returns 0, the result of extent, or -1 with BPK_CORRUPT.
 */
int bpk_chunk_extents(struct bpk_view head, uint64_t start, uint64_t size,
		      int (*extent)(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err),
		      void *arg, struct bpk_err *err);

/*
 * Slack: unused bytes inside a chunk that every reader skips. Returns the slot size for a chunk
 * with reserve bytes after its packed size: at most raw_size plus header, which fits any content. A
 * memcpyed chunk cannot have slack and keeps its packed size (Bloscpack format, "Reserved space for
 * in-place modification"). In an extended chunk the last block and its slack have at most
 * block_size + 4 * typesize bytes together, because c-blosc2 refuses to read more for one block of
 * a chunk in a file (blosc_d, "Invalid lazy block size in trailer"). header is the header of chunk.
 */
uint32_t bpk_chunk_slot(struct bpk_view chunk, const struct bpk_chunk_header *header,
			uint64_t reserve);

/*
 * Set *fit if every block of an extended chunk, up to the next start or the chunk's end, has 1 to
 * block_size + 4 * typesize bytes, as c-blosc2 requires. Also set for chunks without such blocks
 * and for chunks whose block starts are incomplete or out of bounds. Fails with BPK_NO_MEMORY.
 */
int bpk_chunk_blocks_fit(struct bpk_view chunk, const struct bpk_chunk_header *header, bool *fit,
			 struct bpk_err *err);

/* Grow the chunk of packed_size bytes at chunk.data to chunk.size bytes: append zeros and update
 * its size field. BPK_LIMIT if the chunk cannot have that size. */
int bpk_chunk_pad(struct bpk_span chunk, size_t packed_size, struct bpk_err *err);

/*
 * Write the empty chunk ("Chunk kinds"): BPK_CHUNK_HEADER_SIZE bytes at out. It ends a stream whose
 * length was unknown when its header was written.
 */
void bpk_chunk_write_empty(unsigned typesize, uint8_t out[BPK_CHUNK_HEADER_SIZE]);

#endif
