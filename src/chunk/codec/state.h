/*
 * Internal to the codecs: the states of a thread, and the functions that codecs.c puts into its
 * table.
 */
#ifndef BPK_CHUNK_CODEC_STATE_H
#define BPK_CHUNK_CODEC_STATE_H

#include "chunk/codec/codec.h"

/* All members are NULL or empty until first used. Owned by one thread. */
struct bpk_codec_ctx {
	struct bpk_blosclz_table *blosclz;
	void *lz4;
	void *lz4hc;
	struct bpk_zlib_state *zlib;
	struct ZSTD_CCtx_s *zstd_encode;
	struct ZSTD_DCtx_s *zstd_decode;
	struct ZSTD_CDict_s *zstd_packing; /* the dictionary for encoding; NULL: no dictionary */
	struct bpk_view lz4_dictionary;    /* borrowed; size 0: no dictionary */
	struct bpk_view lz4_packing;       /* the same for encoding */
	struct bpk_buf snappy;             /* worst-case output, because Snappy takes no capacity */
};

/* The contracts are those of the members of bpk_codec. */
int bpk_blosclz_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		       struct bpk_span out, size_t *packed_size, struct bpk_err *err);
int bpk_blosclz_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		       struct bpk_err *err);
int bpk_blosclz_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			    struct bpk_span out, struct bpk_err *err);

uint64_t bpk_blosclz_state_memory(const struct bpk_codec_ctx *ctx);

int bpk_lz4_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		   struct bpk_span out, size_t *packed_size, struct bpk_err *err);
int bpk_lz4hc_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		     struct bpk_span out, size_t *packed_size, struct bpk_err *err);
int bpk_lz4_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		   struct bpk_err *err);
int bpk_lz4_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			struct bpk_span out, struct bpk_err *err);
const char *bpk_lz4_version(void);
uint64_t bpk_lz4_state_memory(const struct bpk_codec_ctx *ctx);

int bpk_snappy_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		      struct bpk_span out, size_t *packed_size, struct bpk_err *err);
int bpk_snappy_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		      struct bpk_err *err);

int bpk_zlib_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		    struct bpk_span out, size_t *packed_size, struct bpk_err *err);
int bpk_zlib_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		    struct bpk_err *err);
int bpk_zlib_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			 struct bpk_span out, struct bpk_err *err);
const char *bpk_zlib_version(void);
uint64_t bpk_zlib_state_memory(const struct bpk_zlib_state *state); /* NULL: 0 */
void bpk_zlib_state_free(struct bpk_zlib_state *state);

int bpk_zstd_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		    struct bpk_span out, size_t *packed_size, struct bpk_err *err);
int bpk_zstd_encode_matches(struct bpk_codec_ctx *ctx, unsigned level, enum bpk_matches matches,
			    struct bpk_view in, struct bpk_span out, size_t *packed_size,
			    struct bpk_err *err);
int bpk_zstd_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		    struct bpk_err *err);
int bpk_zstd_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			 struct bpk_span out, struct bpk_err *err);
const char *bpk_zstd_version(void);
/* As bpk_codec_pack_dictionary and bpk_codec_train_dictionary. */
int bpk_zstd_pack_dictionary(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view dictionary,
			     struct bpk_err *err);
int bpk_zstd_train_dictionary(struct bpk_view samples, const size_t *sizes, unsigned nsamples,
			      struct bpk_span out, size_t *size, struct bpk_err *err);

/* As bpk_codec_use_dictionary. */
int bpk_zstd_use_dictionary(struct bpk_codec_ctx *ctx, struct bpk_view dictionary,
			    struct bpk_err *err);
uint64_t bpk_zstd_state_memory(const struct bpk_codec_ctx *ctx);
void bpk_zstd_state_free(struct bpk_codec_ctx *ctx);

/* The error report of a stream that does not decode, with its reason. Always returns -1. */
int bpk_codec_corrupt(struct bpk_err *err, const char *codec, size_t packed_size, size_t raw_size,
		      const char *reason);

#endif
