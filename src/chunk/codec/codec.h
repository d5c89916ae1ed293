/*
 * Inner codecs, for one stream each, and the table of them. Internal to chunk; buffers in, buffers
 * out.
 * Source of numbers and stream formats: Blosc chunk format, "Codec numbers", "Inner codecs".
 */
#ifndef BPK_CHUNK_CODEC_CODEC_H
#define BPK_CHUNK_CODEC_CODEC_H

#include "base/base.h"

/* Codec formats in bits 5..7 of a chunk's flags. */
enum bpk_codec_format {
	BPK_CODEC_FORMAT_BLOSCLZ = 0,
	BPK_CODEC_FORMAT_LZ4 = 1,
	BPK_CODEC_FORMAT_SNAPPY = 2,
	BPK_CODEC_FORMAT_ZLIB = 3,
	BPK_CODEC_FORMAT_ZSTD = 4,
};

/*
 * Codec states of one thread (Zstd contexts, deflate and inflate streams, LZ4 tables, the BloscLZ
 * table). Each is created at first use and reset for every later stream.
 */
struct bpk_codec_ctx;

struct bpk_codec_ctx *bpk_codec_ctx_new(struct bpk_err *err);
void bpk_codec_ctx_free(struct bpk_codec_ctx *ctx); /* NULL is harmless */

/* Bytes of memory that the states take. */
uint64_t bpk_codec_ctx_memory(const struct bpk_codec_ctx *ctx);

enum { BPK_LEVEL_FOR_TEXT = 5 }; /* from it on text has matches of its own */

/* The matches (repeated byte sequences) that shorten a stream. */
enum bpk_matches {
	BPK_MATCHES_ANY,   /* unknown */
	BPK_MATCHES_SHORT, /* matches of 5 bytes or more */
	BPK_MATCHES_LONG,  /* matches of 7 bytes or more */
	BPK_MATCHES_FEW,   /* hardly any match: only the byte frequencies can be coded */
	BPK_MATCHES_TEXT,  /* those of lines of text, from level 5 on */
};

struct bpk_codec {
	const char *name;             /* "blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd" */
	enum bpk_codec_format format; /* readers select by it: lz4 and lz4hc share one */
	unsigned code;                /* Blosc's "compressor code", the other enumeration */
	/* Bytes of a stream that share a code for frequent bytes; 0: the codec has no such code. A
	 * constant, used to choose the parts of a stream that are looked at one by one. */
	unsigned span;

	/*
	 * Encode in to out at level 1..9 (Blosc's levels). *packed_size is the size of the stream,
	 * or 0 if it does not fit; the caller then stores the bytes raw. Callers pass out.size <
	 * in.size, so a stream fits only if it shrinks. in.size is 1..2^31-17. Fails with
	 * BPK_NO_MEMORY only.
	 */
	int (*encode)(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		      struct bpk_span out, size_t *packed_size, struct bpk_err *err);

	/* The same for a stream with a known kind of matches; NULL if the codec cannot use the
	 * hint. */
	int (*encode_matches)(struct bpk_codec_ctx *ctx, unsigned level, enum bpk_matches matches,
			      struct bpk_view in, struct bpk_span out, size_t *packed_size,
			      struct bpk_err *err);

	/*
	 * Decode in to exactly out.size bytes (never 0). Reads only in and writes only out, for any
	 * content of in; out is unspecified on failure. Fails with BPK_CORRUPT, or BPK_NO_MEMORY.
	 */
	int (*decode)(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		      struct bpk_err *err);

	/*
	 * Decode only the first out.size bytes (1..whole) of a stream of whole raw bytes; what
	 * follows them is not looked at. Otherwise as decode, but a sound stream may fail, too:
	 * then decode judges it. NULL: the codec cannot.
	 */
	int (*decode_head)(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			   struct bpk_span out, struct bpk_err *err);
	/* decode_head takes less time than decode up to so many sixteenths of a stream, and only if
	 * more than head_step bytes are left out. */
	unsigned head_most, head_step;

	const char *(*version)(void); /* of the library; NULL for our own codec */
};

/*
 * Dictionaries ("Dictionaries"), for Zstd and LZ4 only. A dictionary applies to all later calls on
 * ctx until the next call, and is borrowed until then; size 0 removes it. Zstd takes trained
 * dictionaries or plain content; LZ4 takes bytes that act as if they preceded each stream. The one
 * for encoding is digested for a level. Fail with BPK_NO_MEMORY, or BPK_CORRUPT (not a Zstd
 * dictionary).
 */
int bpk_codec_use_dictionary(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec,
			     struct bpk_view dictionary, struct bpk_err *err);
int bpk_codec_pack_dictionary(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec,
			      unsigned level, struct bpk_view dictionary, struct bpk_err *err);

/*
 * Make a dictionary of at most out.size bytes (256 at least) from nsamples concatenated samples of
 * sizes[i] bytes each. *size is its size; 0 if the samples are too few or too similar. Fails with
 * BPK_NO_MEMORY.
 */
int bpk_codec_train_dictionary(const struct bpk_codec *codec, struct bpk_view samples,
			       const size_t *sizes, unsigned nsamples, struct bpk_span out,
			       size_t *size, struct bpk_err *err);

/* The codec for a format number, NULL if not built in. Look-ups by name and position are in
 * chunk.h, because rooms above need them too; the table is in codecs.c. */
const struct bpk_codec *bpk_codec_of_format(unsigned format);

/* The codec for a compressor code, the other enumeration; NULL if not built in. */
const struct bpk_codec *bpk_codec_of_code(unsigned code);

#endif
