/*
 * The room chunk: one Blosc chunk, packed or unpacked, buffers in and buffers out. It knows
 * filters, blocks and inner codecs; it knows no files, threads or options, and holds no global but
 * the pointer to the vector kernels. All scratch is handed in as a context, one for each thread.
 * Source of every format fact here: the Blosc chunk format, whose sections are named at each fact.
 */
#ifndef BPK_CHUNK_CHUNK_H
#define BPK_CHUNK_CHUNK_H

#include "base/base.h"
#include "chunk/sizes.h"

enum {
	BPK_CHUNK_HEADER_SIZE = 16,                   /* "Header": the 16 common bytes */
	BPK_CHUNK_EXTENDED_HEADER_SIZE = 32,          /* the same and Blosc2's 16 more */
	BPK_CHUNK_MAX_RAW_SIZE = 2147483631,          /* "Limits": 2^31-1-16 */
	BPK_CHUNK_MAX_RAW_SIZE_EXTENDED = 2147483615, /* 2^31-1-32 */
	BPK_CHUNK_MAX_BLOCK_SIZE = 536866816,         /* "Limits" */
	BPK_CHUNK_MAX_TYPESIZE = 255,
	BPK_CHUNK_MAX_FILTERS = 6,
};

/* Filter numbers as the extended header has them ("Filters"); version 2 chunks know the first
 * three. */
enum bpk_filter {
	BPK_FILTER_NONE = 0,
	BPK_FILTER_SHUFFLE = 1, /* meta: the width, 0: the typesize */
	BPK_FILTER_BITSHUFFLE = 2,
	BPK_FILTER_DELTA = 3,        /* XOR with block 0; only first when packing */
	BPK_FILTER_TRUNC_PREC = 4,   /* lossy; meta: bits of the mantissa kept, or -n: n cleared */
	BPK_FILTER_BYTEDELTA_1 = 34, /* reading only */
	BPK_FILTER_BYTEDELTA = 35,   /* meta: the width, 0: what the container calls the typesize */
	BPK_FILTER_INT_TRUNC = 36,   /* lossy; meta: bits kept, or -n: n cleared */
	BPK_FILTER_PREDICT = 208,    /* of the user's range, in slot 0 alone, and never a step of a
				      * pipeline: see struct bpk_prediction */
};

/* One filter with its parameter, as the slots of an extended header have them. */
struct bpk_filter_step {
	uint8_t filter; /* enum bpk_filter, never BPK_FILTER_NONE */
	uint8_t meta;
};

/* Filters in the order in which packing applies them. Zeroed: none. */
struct bpk_pipeline {
	unsigned nsteps;
	struct bpk_filter_step steps[BPK_CHUNK_MAX_FILTERS];
};

/* A pipeline of that filter alone, without a parameter; BPK_FILTER_NONE: of none. */
static inline struct bpk_pipeline bpk_pipeline_of(enum bpk_filter filter)
{
	struct bpk_pipeline pipeline = { filter == BPK_FILTER_NONE ? 0 : 1, { { 0, 0 } } };

	pipeline.steps[0].filter = (uint8_t)filter;
	return pipeline;
}

bool bpk_pipeline_equal(const struct bpk_pipeline *a, const struct bpk_pipeline *b);

/* True when what is unpacked is not what was packed. */
bool bpk_pipeline_is_lossy(const struct bpk_pipeline *pipeline);

/* Can version 2 chunks say it? None, shuffle or bitshuffle, without a parameter. */
bool bpk_pipeline_is_plain(const struct bpk_pipeline *pipeline);

enum { BPK_PIPELINE_TEXT = 128 };

/* As a user types it: "none", "delta,shuffle", "trunc:12,shuffle", "shuffle:4,bytedelta:4". Returns
 * out. */
const char *bpk_pipeline_print(const struct bpk_pipeline *pipeline, char out[BPK_PIPELINE_TEXT]);

/*
 * The same backward. Fails with BPK_USAGE: an unknown name (the line says the nearest one's list),
 * a parameter that is missing, out of range or not taken, more than six, a filter that is only
 * read, delta behind another filter.
 */
int bpk_pipeline_parse(const char *text, struct bpk_pipeline *pipeline, struct bpk_err *err);

/*
 * Can elements of typesize bytes be packed with it? Fails with BPK_USAGE: a truncation of elements
 * that are no numbers, of more bits than they have, or behind a filter that leaves no numbers.
 */
int bpk_pipeline_check(const struct bpk_pipeline *pipeline, unsigned typesize, struct bpk_err *err);

/* The same without what loses anything. */
struct bpk_pipeline bpk_pipeline_exact(const struct bpk_pipeline *pipeline);

enum { BPK_PIPELINE_LOSS_TEXT = 256 };

/* What a pipeline that was checked loses of each element: "filter trunc:12 keeps 12 of 23 bits of
 * each float32's mantissa"; nothing when it is not lossy. Returns out. */
const char *bpk_pipeline_loss(const struct bpk_pipeline *pipeline, unsigned typesize,
			      char out[BPK_PIPELINE_LOSS_TEXT]);

/* Let whole elements at raw be what a pipeline that was checked leaves of them; nothing changes
 * when it is not lossy, or a second time. */
void bpk_pipeline_degrade(const struct bpk_pipeline *pipeline, unsigned typesize,
			  struct bpk_span raw);

/* The name a user types ("none", "shuffle", "trunc"); NULL for a number that is not built in. And
 * the names in the order in which help lists them, NULL behind the last. */
const char *bpk_filter_name(unsigned filter);
const char *bpk_filter_at(size_t index);

/* What the global registry calls a filter or codec number that is not built in: "ndcell", "zfp
 * fixed rate"; NULL when it names none ("Registered ids"). */
const char *bpk_filter_registered(unsigned filter);
const char *bpk_codec_registered(unsigned codec);

enum { BPK_PREDICTION_STRIDES = 6 };

/*
 * What a whole chunk's numbers are replaced by before it is cut into blocks: differences from those
 * before them, of which smooth data leave little. From the byte phase on the chunk holds numbers of
 * size bytes, which are taken as unsigned integers (floats as those of the same rank); for every
 * stride s, one after the other, number i becomes itself less number i-s, as far as there is one;
 * what remains is folded, small ones of either sign to small ones. So {P} leaves what changed since
 * the frame of P numbers before, {P, P} what a line through the last two does not tell, {1, X, XY}
 * is the Lorenzo predictor of a grid. With a scale the differences are those of the floats' values,
 * which is better where they cross powers of two, or zero, and slower (predict_fixed.c); then all
 * strides together are less than the chunk is long. Every bit comes back, of NaN and -0 too.
 * Zeroed: none.
 */
struct bpk_prediction {
	unsigned size; /* 1, 2, 4 or 8; 0: there is none */
	bool is_float; /* of 2 bytes or more */
	bool big_endian;
	unsigned phase; /* 0 .. size-1: bytes before the first number; those behind the last whole
			 * one stay as they are, too */
	unsigned nstrides;                        /* 1..BPK_PREDICTION_STRIDES */
	uint32_t strides[BPK_PREDICTION_STRIDES]; /* 1 or more, in numbers */
	unsigned scale; /* of floats of 4 or 8 bytes: the exponent, as they have it, of the largest
			 * whose value counts; 0: they are taken by their rank */
};

/* The scale that suits raw, whose floats of 4 or 8 bytes begin at the phase. */
unsigned bpk_prediction_scale(const struct bpk_prediction *prediction, struct bpk_view raw);

/* Do filters go with a prediction? Fails with BPK_USAGE: delta, what loses something, more than
 * five. */
int bpk_prediction_check_pipeline(const struct bpk_pipeline *pipeline, struct bpk_err *err);

/*
 * What a prediction leaves of a piece of raw, out.size bytes from start on, for trials: start and
 * out.size are whole numbers from phase on, within raw. Costs scratch of a few times out.size.
 * Fails with BPK_NO_MEMORY.
 */
int bpk_prediction_piece(const struct bpk_prediction *prediction, struct bpk_view raw, size_t start,
			 struct bpk_span out, struct bpk_buf *scratch, struct bpk_err *err);

/* "predict:2" for two strides, which is what a header tells. Returns out. */
enum { BPK_PREDICTION_TEXT = 16 };
const char *bpk_prediction_print(const struct bpk_prediction *prediction,
				 char out[BPK_PREDICTION_TEXT]);

/* A chunk whose content its header says ("Special-value chunks"). */
enum bpk_special {
	BPK_SPECIAL_NONE = 0,
	BPK_SPECIAL_ZERO = 1,
	BPK_SPECIAL_NAN = 2,    /* of 4 or 8 bytes, by the typesize */
	BPK_SPECIAL_VALUE = 3,  /* one item behind the header, repeated */
	BPK_SPECIAL_UNINIT = 4, /* anything: unpacked as zeros */
};

/* What a chunk's header says, once bpk_chunk_header_read has found it sound. */
struct bpk_chunk_header {
	unsigned version;     /* 2; 3 to 6: Blosc2 */
	unsigned flags;       /* the flags byte as stored */
	unsigned typesize;    /* 1..255 */
	uint32_t header_size; /* 16, or 32: extended */
	uint32_t raw_size;    /* nbytes, 0..BPK_CHUNK_MAX_RAW_SIZE */
	uint32_t block_size; /* at least 1, at most raw_size unless that is 0; of blocks of variable
				  length the raw size: they are not told by the header */
	uint32_t packed_size; /* cbytes, header included */
	uint32_t nblocks; /* 0 when memcpyed, special or empty: then there are no block starts */
	unsigned codec_format; /* see bpk_codec_format_name */
	unsigned codec;        /* the compressor code of an extended header, which tells lz4 from
				  lz4hc; of a version 2 chunk that of its format */
	bool memcpyed;         /* the payload is the raw bytes; codec and filters mean nothing */
	bool split;            /* full blocks hold typesize streams */
	bool dictionary;       /* one follows the block starts */
	bool variable_blocks;  /* version 6: each block says its own raw size */
	enum bpk_special special;
	uint32_t value_size;              /* bytes of a repeated value, behind the header; else 0 */
	struct bpk_pipeline pipeline;     /* meaningless when memcpyed or special */
	struct bpk_prediction prediction; /* size 0 when memcpyed or special; phase, strides and
					   * scale (but whether there is one) are not told by the
					   * header */
};

/*
 * Take a header from the first BPK_CHUNK_EXTENDED_HEADER_SIZE bytes (or more) of a chunk, or all of
 * it if that is less, and check all that can be checked without the rest of it ("Validation", items
 * 1 to 10). packed_size is not compared with bytes.size: bpk_chunk_decode does that.
 * Fails with BPK_CORRUPT, or BPK_UNSUPPORTED (a version, codec or filter not built in, named).
 */
int bpk_chunk_header_read(struct bpk_view bytes, struct bpk_chunk_header *header,
			  struct bpk_err *err);

/* The same for containers of version 2 chunks, of whose chunks BPK_CHUNK_HEADER_SIZE bytes are
 * enough; any other version fails with BPK_UNSUPPORTED. */
int bpk_chunk_header_read_plain(struct bpk_view bytes, struct bpk_chunk_header *header,
				struct bpk_err *err);

/* "zstd"; lz4 and lz4hc cannot be told apart: "lz4". "codec 5" for what is not built in. */
const char *bpk_codec_format_name(unsigned codec_format);

struct bpk_codec;

/* How to pack a chunk. Fixed while used; plain values, no ownership. */
struct bpk_recipe {
	const struct bpk_codec *codec; /* never NULL */
	unsigned level;                /* 0 (store) .. 9 */
	unsigned typesize;             /* 1..255 */
	struct bpk_pipeline pipeline;  /* a plain one unless extended */
	uint32_t block_size;           /* 0: chosen from level, codec and typesize */
	bool extended;                 /* Blosc2's chunks: version 5 with an extended header */
	bool dictionary;               /* extended, Zstd and LZ4 only: with one where that pays */
	bool variable_blocks;          /* version 6: blocks that say their own size, where what
					* does not shrink is stored as in others; no delta */
	bool exact_blocks;             /* block_size means something to the container: never
					* rounded to what filters like best */
	bool no_special;               /* extended: blocks, even where one item is repeated */
	struct bpk_prediction prediction; /* extended; no dictionary, no blocks of variable length,
					   * no delta, no filter that loses anything. Strides that
					   * reach beyond the chunk are left out */
};

/*
 * A codec by the name a user types, NULL when there is none; the codec at position index of the
 * table, in the order in which help lists them, NULL behind the last; its name; its number; and the
 * version of the library behind it, NULL for one of our own.
 */
const struct bpk_codec *bpk_codec_find(const char *name);
const struct bpk_codec *bpk_codec_at(size_t index);
const char *bpk_codec_name(const struct bpk_codec *codec);
unsigned bpk_codec_code(const struct bpk_codec *codec); /* Blosc's "compressor code": zstd has 5 */
bool bpk_codec_is_extended(const struct bpk_codec *codec); /* Blosc2's chunks know it */
const char *bpk_codec_library_version(const struct bpk_codec *codec);

/* The codec that a chunk was packed with, lz4 or lz4hc where its header is extended; NULL when it
 * is not built in, or the chunk is a special one. */
const struct bpk_codec *bpk_codec_of_chunk(const struct bpk_chunk_header *header);

/* The name of the vector kernels in use: "avx2". */
const char *bpk_chunk_simd(void);

/*
 * One thread's scratch and codec states. Grows to what the chunks need: at most a few block sizes
 * and the codecs' own states. Never shared between threads.
 */
struct bpk_chunk_ctx;

struct bpk_chunk_ctx *bpk_chunk_ctx_new(struct bpk_err *err);
void bpk_chunk_ctx_free(struct bpk_chunk_ctx *ctx); /* NULL is harmless */

/*
 * What the container calls its element size, where it may be over 255 or more than chunks tell: one
 * filter without a parameter asks it (bytedelta). 0, as at first: the chunk's own.
 */
void bpk_chunk_ctx_set_typesize(struct bpk_chunk_ctx *ctx, uint32_t typesize);

/* Room for any chunk of raw_size bytes: a version 2 chunk takes raw_size + 16 at most, an extended
 * one raw_size + 32 ("Writer profiles"), one of blocks of variable length 8 more for each block. */
static inline size_t bpk_chunk_bound(size_t raw_size)
{
	return raw_size + BPK_CHUNK_EXTENDED_HEADER_SIZE;
}

/*
 * Pack raw into one chunk: version 2 ("Writer profiles", blosc1), readable by every Blosc 1.x and
 * 2, or, extended, version 5 (blosc2), readable by Blosc2 alone.
 * raw           0..BPK_CHUNK_MAX_RAW_SIZE bytes
 * out           at least bpk_chunk_bound(raw.size) bytes
 * packed_size   bytes of out used; what does not shrink is stored (memcpyed)
 * The same bytes come out on every machine and thread, as far as the codec libraries keep that:
 * lz4 packs otherwise on 32-bit and big-endian machines, lz4hc on the latter, and zstd at its own
 * levels 5 to 10 where a small block meets a library without SSE2 or NEON.
 * Fails with BPK_NO_MEMORY, or BPK_USAGE (a recipe or size out of range).
 */
int bpk_chunk_encode(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		     struct bpk_view raw, struct bpk_span out, size_t *packed_size,
		     struct bpk_err *err);

/*
 * Pack raw into a chunk of blocks of variable length (version 6): nblocks (at least 1) of sizes[k]
 * bytes each (at least 1), raw.size in all; out has room for bpk_chunk_bound(raw.size) + 8 *
 * nblocks. recipe is extended; its block size means nothing. Fails as bpk_chunk_encode.
 */
int bpk_chunk_encode_blocks(struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
			    struct bpk_view raw, const uint32_t *sizes, uint32_t nblocks,
			    struct bpk_span out, size_t *packed_size, struct bpk_err *err);

/* The raw sizes of the blocks of such a chunk, header.nblocks of them. BPK_CORRUPT unless they are
 * sound and sum up. */
int bpk_chunk_block_sizes(struct bpk_view chunk, uint32_t *sizes, struct bpk_err *err);

/* Write a chunk of raw_size bytes that are all zero (or NaN, or anything): it takes
 * BPK_CHUNK_EXTENDED_HEADER_SIZE bytes at out. */
void bpk_chunk_write_special(enum bpk_special special, uint32_t raw_size, unsigned typesize,
			     uint8_t out[BPK_CHUNK_EXTENDED_HEADER_SIZE]);

/*
 * Unpack one whole chunk.
 * in   the chunk with its header; bytes after packed_size are ignored
 * out  exactly the header's raw_size bytes; unspecified on failure
 * Fails with BPK_CORRUPT (a field leads outside the chunk, or a size contradicts another),
 * BPK_UNSUPPORTED (not built in), BPK_USAGE (out has another size) or BPK_NO_MEMORY.
 */
int bpk_chunk_decode(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_span out,
		     struct bpk_err *err);

/*
 * Unpack the raw bytes start .. start + out.size of a chunk, decoding only the blocks they lie in
 * ("Random access"), or of one with a prediction all up to there. Fails as bpk_chunk_decode;
 * BPK_USAGE when the range leaves the chunk.
 */
int bpk_chunk_decode_range(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start,
			   struct bpk_span out, struct bpk_err *err);

/*
 * How many bytes of a chunk to unpack at a time, by bpk_chunk_decode_range, where all of the raw
 * bytes start .. start + size are wanted and memory is not to hold them at once. Pieces begin at
 * multiples of *piece from the chunk's start, and cost together hardly more than the whole. *piece
 * is at most about where that is possible, as large as a block where blocks are large, and 0 for a
 * chunk that can only be unpacked at once. Nothing is unpacked: streams are only counted. Fails as
 * bpk_chunk_decode_range of these bytes does for what is wrong with the chunk's structure.
 */
int bpk_chunk_piece(struct bpk_chunk_ctx *ctx, struct bpk_view in, uint64_t start, uint64_t size,
		    size_t about, size_t *piece, struct bpk_err *err);

/* Is the chunk sound, and a special value or runs alone? Then any part of it costs no more than its
 * own size. */
bool bpk_chunk_is_pattern(struct bpk_chunk_ctx *ctx, struct bpk_view in);

/*
 * Would the chunk unpack? Its streams are unpacked one by one and thrown away, and what is a run or
 * a special value is not unpacked at all, so a chunk costs what its packed bytes do. Fails as
 * bpk_chunk_decode, and with BPK_LIMIT where one stream unpacks to more than BPK_CHUNK_PROOF bytes
 * and BPK_CHUNK_PROOF_TIMES its packed size: Zstd alone can pack so well, and such a stream cannot
 * be unpacked in pieces.
 */
enum { BPK_CHUNK_PROOF = 16 << 20, BPK_CHUNK_PROOF_TIMES = 1024 };

int bpk_chunk_prove(struct bpk_chunk_ctx *ctx, struct bpk_view in, struct bpk_err *err);

/*
 * Which packed bytes are needed for the raw bytes start .. start + size (size > 0), so that a
 * reader may leave the rest of a large chunk unread. Blocks lie in any order, and a block
 * ends where the next one begins.
 * head      the chunk's first bytes: header and all block starts (header_size + 4 * nblocks
 *           bytes), or for a memcpyed or special chunk just the header
 * extent    called for every run of packed bytes needed (a dictionary, or a block that others lean
 *           on, among them), offset counted from the chunk's start, ascending and not
 *           overlapping; stops when it returns non-zero. Not called for a special chunk but for its
 *           value; for blocks of variable length once, for all of them
 * Returns 0, what extent returned, or -1 with BPK_CORRUPT.
 */
int bpk_chunk_extents(struct bpk_view head, uint64_t start, uint64_t size,
		      int (*extent)(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err),
		      void *arg, struct bpk_err *err);

/*
 * Slack: room inside a chunk, that every reader skips. The size of the slot for a chunk with
 * reserve bytes more than its packed size: at most raw_size and header, which any content fits; the
 * packed size itself for a memcpyed chunk, which can have none (Bloscpack format, "Reserved space
 * for in-place modification"). In an extended chunk the last block and its slack together have at
 * most block_size + 4 * typesize bytes: c-blosc2 refuses to read more for a block of a chunk in a
 * file (blosc_d, "Invalid lazy block size in trailer"). header is that of chunk.
 */
uint32_t bpk_chunk_slot(struct bpk_view chunk, const struct bpk_chunk_header *header,
			uint64_t reserve);

/*
 * Does each block of an extended chunk, up to where the next begins, or the chunk ends, have 1 to
 * block_size + 4 * typesize bytes, as c-blosc2 wants them? *fit is true where there are no such
 * blocks, or not all of the places of blocks are inside of chunk. Fails with BPK_NO_MEMORY.
 */
int bpk_chunk_blocks_fit(struct bpk_view chunk, const struct bpk_chunk_header *header, bool *fit,
			 struct bpk_err *err);

/* Enlarge the chunk of packed_size bytes at chunk.data to chunk.size bytes: zeros behind it, and
 * its size field set. BPK_LIMIT when chunk.size is no size that it can have. */
int bpk_chunk_pad(struct bpk_span chunk, size_t packed_size, struct bpk_err *err);

/*
 * Write the empty chunk ("Chunk kinds"): BPK_CHUNK_HEADER_SIZE bytes at out. Ends a stream whose
 * length was not known when its header was written.
 */
void bpk_chunk_write_empty(unsigned typesize, uint8_t out[BPK_CHUNK_HEADER_SIZE]);

#endif
