/*
 * Inner codecs on one stream, and the table of them. Inside the room chunk; buffers in, buffers
 * out. Source of numbers and stream formats: Blosc chunk format, "Codec numbers", "Inner codecs".
 */
#ifndef BPK_CHUNK_CODEC_CODEC_H
#define BPK_CHUNK_CODEC_CODEC_H

#include "base/base.h"

/* Codec formats as bits 5..7 of a chunk's flags say them. */
enum bpk_codec_format {
	BPK_CODEC_FORMAT_BLOSCLZ = 0,
	BPK_CODEC_FORMAT_LZ4 = 1,
	BPK_CODEC_FORMAT_SNAPPY = 2,
	BPK_CODEC_FORMAT_ZLIB = 3,
	BPK_CODEC_FORMAT_ZSTD = 4,
};

/*
 * One thread's kept states (Zstd contexts, deflate and inflate streams, LZ4 tables, the BloscLZ
 * table), each made at first use and reset, not remade, for every stream after.
 */
struct bpk_codec_ctx;

struct bpk_codec_ctx *bpk_codec_ctx_new(struct bpk_err *err);
void bpk_codec_ctx_free(struct bpk_codec_ctx *ctx); /* NULL is harmless */

/* Which matches pay in a stream: runs of bytes that occurred before. */
enum bpk_matches {
	BPK_MATCHES_ANY,   /* it is not known */
	BPK_MATCHES_SHORT, /* from 5 bytes on */
	BPK_MATCHES_LONG,  /* from 7 bytes on at the least */
	BPK_MATCHES_FEW,   /* hardly any: that some bytes are frequent is all there is to code */
};

struct bpk_codec {
	const char *name;             /* "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd" */
	enum bpk_codec_format format; /* what a reader selects by: lz4 and lz4hc share one */
	unsigned code;                /* Blosc's "compressor code", the other enumeration */

	/*
	 * Pack in into out at level 1..9 (Blosc's levels). *packed_size is the size of the stream,
	 * or 0 when it does not fit: the caller then stores the bytes raw. A stream always fits
	 * when out.size is less than in.size only if it shrinks; callers hand in out.size <
	 * in.size. in.size is 1..2^31-17. Fails with BPK_NO_MEMORY only.
	 */
	int (*encode)(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		      struct bpk_span out, size_t *packed_size, struct bpk_err *err);

	/* The same for a stream of which it is known which matches pay; NULL: it makes no
	 * difference. */
	int (*encode_matches)(struct bpk_codec_ctx *ctx, unsigned level, enum bpk_matches matches,
			      struct bpk_view in, struct bpk_span out, size_t *packed_size,
			      struct bpk_err *err);

	/*
	 * Unpack in to exactly out.size bytes (never 0). Reads only in, writes only out, whatever
	 * in holds; out is unspecified on failure. Fails with BPK_CORRUPT, or BPK_NO_MEMORY.
	 */
	int (*decode)(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		      struct bpk_err *err);

	const char *(*version)(void); /* of the library behind it; NULL for our own */
};

/*
 * Dictionaries ("Dictionaries"), for Zstd and LZ4 alone. Each stays in force for all that follows
 * in ctx until the next call; dictionary is borrowed so long; size 0: none. Zstd's are trained ones
 * or plain content, LZ4's the bytes that seem to stand before each stream. The packing one is
 * digested for a level. Fail with BPK_NO_MEMORY, or BPK_CORRUPT (no dictionary of Zstd's).
 */
int bpk_codec_use_dictionary(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec,
			     struct bpk_view dictionary, struct bpk_err *err);
int bpk_codec_pack_dictionary(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec,
			      unsigned level, struct bpk_view dictionary, struct bpk_err *err);

/*
 * Make a dictionary of at most out.size bytes (256 at least) for streams that are like the
 * nsamples samples, which lie one behind the other and have sizes[i] bytes each. *size is what it
 * came to; 0: the samples are too few or too much alike. Fails with BPK_NO_MEMORY.
 */
int bpk_codec_train_dictionary(const struct bpk_codec *codec, struct bpk_view samples,
			       const size_t *sizes, unsigned nsamples, struct bpk_span out,
			       size_t *size, struct bpk_err *err);

/* The codec that reads a format number, NULL when none is built in. Look-ups by name and position
 * stand in chunk.h, since the rooms above need them too; codecs.c holds the table. */
const struct bpk_codec *bpk_codec_of_format(unsigned format);

/* The codec of a compressor code, the other enumeration; NULL when none is built in. */
const struct bpk_codec *bpk_codec_of_code(unsigned code);

#endif
