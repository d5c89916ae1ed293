/*
 * The table of inner codecs, look-ups in it, and the states that a thread keeps for them. Called by
 * encoder, decoder, choose, formats and cli.
 */
#include "chunk/chunk.h"
#include "chunk/codec/codec.h"
#include "chunk/codec/state.h"

#include <stdlib.h>

#include "config.h"

enum {
	ZSTD_SPAN = 16384, /* about that of a code table of zlib's deflate; Zstd's is longer */
	ZLIB_SPAN = 4096,  /* libdeflate ends a block where the bytes change */
};

/*
 * The most sixteenths of a stream that decode_head takes. Its processor time over that of decode,
 * median and worst of streams of 4 KiB to 1 MiB: the sets of tests/bench/data.c and their planes,
 * packed at level 5 to a sixteenth or more:
 *
 *      sixteenths  2           3           4           8           10          12
 *      blosclz     0.14  0.27  0.21  0.55  0.28  1.06  0.53  1.14  0.69  1.20  0.80  1.36
 *      lz4         0.13  0.24  0.20  0.40  0.28  0.52  0.60  0.89  0.73  1.13  0.85  1.39
 *      zlib        0.23  0.91  0.32  1.22  0.42  1.53  0.78  2.80  0.96  3.47  1.18  4.09
 *      zstd        0.33  0.80  0.33  0.80  0.40  0.93  0.63  1.03  0.77  1.07  0.90  1.07
 *
 * libdeflate cannot stop within a stream, so zlib decodes heads; it takes longest in runs. Zstd
 * decodes a block of its own at a time: its row is for heads that leave out more than one.
 */
enum {
	BLOSCLZ_HEAD = 10,
	LZ4_HEAD = 8,
#ifdef HAVE_LIBDEFLATE
	ZLIB_HEAD = 3,
#else
	ZLIB_HEAD = 14, /* both are zlib */
#endif
	ZSTD_HEAD = 8,         /* with Zstd's window it takes no more memory than the whole */
	ZSTD_STEP = 128 << 10, /* ZSTD_BLOCKSIZE_MAX */
};

/* In the order of the help text. Numbers: Blosc chunk format, "Codec numbers". */
static const struct bpk_codec codecs[] = {
	{ "blosclz", BPK_CODEC_FORMAT_BLOSCLZ, 0, 0, bpk_blosclz_encode, NULL, bpk_blosclz_decode,
	  bpk_blosclz_decode_head, BLOSCLZ_HEAD, 0, NULL },
	{ "lz4", BPK_CODEC_FORMAT_LZ4, 1, 0, bpk_lz4_encode, NULL, bpk_lz4_decode,
	  bpk_lz4_decode_head, LZ4_HEAD, 0, bpk_lz4_version },
	{ "lz4hc", BPK_CODEC_FORMAT_LZ4, 2, 0, bpk_lz4hc_encode, NULL, bpk_lz4_decode,
	  bpk_lz4_decode_head, LZ4_HEAD, 0, bpk_lz4_version },
	{ "snappy", BPK_CODEC_FORMAT_SNAPPY, 3, 0, bpk_snappy_encode, NULL, bpk_snappy_decode, NULL,
	  0, 0, NULL },
	{ "zlib", BPK_CODEC_FORMAT_ZLIB, 4, ZLIB_SPAN, bpk_zlib_encode, NULL, bpk_zlib_decode,
	  bpk_zlib_decode_head, ZLIB_HEAD, 0, bpk_zlib_version },
	{ "zstd", BPK_CODEC_FORMAT_ZSTD, 5, ZSTD_SPAN, bpk_zstd_encode, bpk_zstd_encode_matches,
	  bpk_zstd_decode, bpk_zstd_decode_head, ZSTD_HEAD, ZSTD_STEP, bpk_zstd_version },
};

enum { NCODECS = sizeof codecs / sizeof codecs[0] };

const struct bpk_codec *bpk_codec_at(size_t index)
{
	return index < NCODECS ? &codecs[index] : NULL;
}

const struct bpk_codec *bpk_codec_find(const char *name)
{
	for (size_t i = 0; i < NCODECS; i++)
		if (strcmp(codecs[i].name, name) == 0)
			return &codecs[i];
	return NULL;
}

const struct bpk_codec *bpk_codec_of_format(unsigned format)
{
	for (size_t i = 0; i < NCODECS; i++)
		if (codecs[i].format == format)
			return &codecs[i];
	return NULL;
}

const struct bpk_codec *bpk_codec_of_code(unsigned code)
{
	for (size_t i = 0; i < NCODECS; i++)
		if (codecs[i].code == code)
			return &codecs[i];
	return NULL;
}

/* "Codec numbers": the two enumerations differ. */
const struct bpk_codec *bpk_codec_of_chunk(const struct bpk_chunk_header *header)
{
	if (header->special != BPK_SPECIAL_NONE)
		return NULL;
	if (header->header_size == BPK_CHUNK_EXTENDED_HEADER_SIZE)
		return bpk_codec_of_code(header->codec);
	return bpk_codec_of_format(header->codec_format);
}

const char *bpk_codec_name(const struct bpk_codec *codec)
{
	return codec->name;
}

unsigned bpk_codec_code(const struct bpk_codec *codec)
{
	return codec->code;
}

/* "Codec numbers": Blosc2 has no Snappy */
bool bpk_codec_is_extended(const struct bpk_codec *codec)
{
	return codec->format != BPK_CODEC_FORMAT_SNAPPY;
}

/* "Dictionaries" */
bool bpk_codec_has_dictionaries(const struct bpk_codec *codec)
{
	return codec->format == BPK_CODEC_FORMAT_ZSTD || codec->format == BPK_CODEC_FORMAT_LZ4;
}

const char *bpk_codec_library_version(const struct bpk_codec *codec)
{
	return codec->version == NULL ? NULL : codec->version();
}

int bpk_codec_use_dictionary(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec,
			     struct bpk_view dictionary, struct bpk_err *err)
{
	if (codec->format == BPK_CODEC_FORMAT_ZSTD)
		return bpk_zstd_use_dictionary(ctx, dictionary, err);
	ctx->lz4_dictionary = dictionary;
	return 0;
}

int bpk_codec_pack_dictionary(struct bpk_codec_ctx *ctx, const struct bpk_codec *codec,
			      unsigned level, struct bpk_view dictionary, struct bpk_err *err)
{
	if (codec->format == BPK_CODEC_FORMAT_ZSTD)
		return bpk_zstd_pack_dictionary(ctx, level, dictionary, err);
	ctx->lz4_packing = dictionary;
	return 0;
}

int bpk_codec_train_dictionary(const struct bpk_codec *codec, struct bpk_view samples,
			       const size_t *sizes, unsigned nsamples, struct bpk_span out,
			       size_t *size, struct bpk_err *err)
{
	if (codec->format == BPK_CODEC_FORMAT_ZSTD)
		return bpk_zstd_train_dictionary(samples, sizes, nsamples, out, size, err);
	/* LZ4: the samples are the dictionary */
	*size = bpk_min_size(samples.size, out.size);
	bpk_copy(out.data, samples.data, *size);
	return 0;
}

struct bpk_codec_ctx *bpk_codec_ctx_new(struct bpk_err *err)
{
	return bpk_calloc(1, sizeof(struct bpk_codec_ctx), err);
}

uint64_t bpk_codec_ctx_memory(const struct bpk_codec_ctx *ctx)
{
	return ctx->snappy.capacity + bpk_blosclz_state_memory(ctx) + bpk_lz4_state_memory(ctx) +
	       bpk_zlib_state_memory(ctx->zlib) + bpk_zstd_state_memory(ctx);
}

void bpk_codec_ctx_free(struct bpk_codec_ctx *ctx)
{
	if (ctx == NULL)
		return;
	free(ctx->blosclz);
	free(ctx->lz4);
	free(ctx->lz4hc);
	bpk_buf_clear(&ctx->snappy);
	bpk_zlib_state_free(ctx->zlib);
	bpk_zstd_state_free(ctx);
	free(ctx);
}
