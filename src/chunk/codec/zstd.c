/*
 * Zstandard: one frame with its content size, without a checksum. Called through the table in
 * codecs.c.
 * Source: Blosc chunk format, "Stream formats and level mapping"; the mapping of levels is our own.
 */
#include "chunk/codec/state.h"

#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

/*
 * Zstd's level for each Blosc level and kind of matches. To search 32 or 64 places for a match
 * gains more than a higher level, in less time. Size and processor time of streams by those at
 * level 2, geometric means over the sets of tests/bench/RESULTS.md, "Levels":
 *
 *      Zstd level       5            6            7            8            9            11
 *      its own search   0.988  2.3   0.981  3.1   0.972  3.2   0.966  4.5   0.964  6.4   0.944  9.5
 *      32 places        0.978  2.3   0.958  3.3   0.960  3.9   0.949  4.4
 *      64 places        0.970  2.7   0.947  4.1   0.948  5.3   0.944  5.6
 *
 * Planes of long matches gain 0.1% by 64 places, in 1.2 times the time of 32. Zstd's level 7 is
 * better than 6 for short matches in planes of up to 256 KiB (cobrotoxin.trr by 2%). c-blosc2 maps
 * level 5 to Zstd's 9: 6 with 32 places packs smaller in less time. Binary trees, Zstd's level 14,
 * gain 30% of mesh-i32, but little of other bitshuffled blocks, in which the matches are unknown: 7
 * gains 0.1% of those, and 13 takes as long as 14. Text and planes gain 0% to 10% by trees in 4 to
 * 8 times the time, which would be more than a tenth of level 9's. In blocks of 4 MiB, dumps of
 * LAMMPS and source code are 1% to 2% smaller by Zstd's level 8 than by 6, both with 32 places, in
 * 1.5 times the time, and 0.5% to 0.9% smaller than by 9 with its own search, in as much time.
 */
static const uint8_t levels[][10] = {
	[BPK_MATCHES_ANY] = { 1, 1, 3, 5, 5, 6, 6, 7, 14, 22 },
	[BPK_MATCHES_SHORT] = { 1, 1, 3, 5, 5, 6, 7, 8, 8, 22 },
	[BPK_MATCHES_LONG] = { 1, 1, 3, 5, 6, 6, 6, 6, 6, 22 },
	[BPK_MATCHES_FEW] = { 1, 1, 1, 1, 6, 6, 6, 6, 6, 22 },
	[BPK_MATCHES_TEXT] = { 1, 1, 3, 5, 5, 8, 8, 10, 12, 22 },
};

/* The logarithm of the places searched, but in planes of long matches; 0: Zstd's own. */
static const uint8_t places[10] = { 0, 0, 0, 0, 6, 5, 6, 6, 6, 0 };

enum {
	HIGHEST = 9,     /* uses no hint; all that the library has */
	LONG_PLACES = 5, /* in planes of long matches */
	LAST_LAZY = 12,  /* Zstd's last level in which the number of places is a choice */
};

static int need_encoder(struct bpk_codec_ctx *ctx, struct bpk_err *err)
{
	if (ctx->zstd_encode == NULL)
		ctx->zstd_encode = ZSTD_createCCtx();
	if (ctx->zstd_encode == NULL)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory for zstd");
	return 0;
}

/* Translate the result of compression; a stream that does not fit gets size 0. */
static int take_size(size_t size, unsigned level, size_t *packed_size, struct bpk_err *err)
{
	*packed_size = ZSTD_isError(size) ? 0 : size;
	if (ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory for zstd level %d",
				levels[BPK_MATCHES_ANY][level]);
	return 0;
}

/*
 * 7 bytes is the longest minimum match that Zstd accepts. A table of 256 entries is the smallest
 * that still finds runs of one byte. Levels above the first look for short matches anyway.
 */
static void set_effort(struct ZSTD_CCtx_s *ctx, unsigned level, enum bpk_matches matches)
{
	enum { SHORT = 5, LONG = 7, FEW_BITS = 8 };
	bool is_long = matches == BPK_MATCHES_LONG || matches == BPK_MATCHES_FEW;
	unsigned own = levels[matches][level];

	ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, (int)own);
	if (level == HIGHEST)
		return;
	if (places[level] > 0 && own <= LAST_LAZY)
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_searchLog,
				       is_long ? LONG_PLACES : places[level]);
	if (matches == BPK_MATCHES_SHORT && level == 1)
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_minMatch, SHORT);
	if (is_long)
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_minMatch, LONG);
	if (matches == BPK_MATCHES_FEW && own == 1)
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_hashLog, FEW_BITS);
}

int bpk_zstd_encode_matches(struct bpk_codec_ctx *ctx, unsigned level, enum bpk_matches matches,
			    struct bpk_view in, struct bpk_span out, size_t *packed_size,
			    struct bpk_err *err)
{
	/* a dictionary was digested for its own level */
	bool is_free = ctx->zstd_packing == NULL;
	size_t size;

	*packed_size = 0;
	if (need_encoder(ctx, err) != 0)
		return -1;
	if (is_free)
		set_effort(ctx->zstd_encode, level, matches);
	size = ZSTD_compress2(ctx->zstd_encode, out.data, out.size, in.data, in.size);
	if (is_free)
		ZSTD_CCtx_reset(ctx->zstd_encode, ZSTD_reset_session_and_parameters);
	return take_size(size, level, packed_size, err);
}

int bpk_zstd_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		    struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	return bpk_zstd_encode_matches(ctx, level, BPK_MATCHES_ANY, in, out, packed_size, err);
}

static void forget_dictionary(struct bpk_codec_ctx *ctx)
{
	if (ctx->zstd_packing != NULL)
		ZSTD_CCtx_reset(ctx->zstd_encode, ZSTD_reset_session_and_parameters);
	ZSTD_freeCDict(ctx->zstd_packing);
	ctx->zstd_packing = NULL;
}

/* A chunk has one dictionary, so the streams omit its id: that saves four bytes each. */
int bpk_zstd_pack_dictionary(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view dictionary,
			     struct bpk_err *err)
{
	forget_dictionary(ctx);
	if (dictionary.size == 0)
		return 0;
	if (need_encoder(ctx, err) != 0)
		return -1;
	ctx->zstd_packing =
		ZSTD_createCDict(dictionary.data, dictionary.size, levels[BPK_MATCHES_ANY][level]);
	if (ctx->zstd_packing != NULL &&
	    !ZSTD_isError(ZSTD_CCtx_refCDict(ctx->zstd_encode, ctx->zstd_packing)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(ctx->zstd_encode, ZSTD_c_dictIDFlag, 0)))
		return 0;
	forget_dictionary(ctx);
	return bpk_fail(err, BPK_NO_MEMORY, "no memory for a dictionary of zstd");
}

int bpk_zstd_train_dictionary(struct bpk_view samples, const size_t *sizes, unsigned nsamples,
			      struct bpk_span out, size_t *size, struct bpk_err *err)
{
	size_t rc = ZDICT_trainFromBuffer(out.data, out.size, samples.data, sizes, nsamples);

	*size = ZDICT_isError(rc) ? 0 : rc;
	if (ZDICT_isError(rc) && ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory to train a dictionary of zstd");
	return 0;
}

static int need_decoder(struct bpk_codec_ctx *ctx, struct bpk_err *err)
{
	if (ctx->zstd_decode == NULL)
		ctx->zstd_decode = ZSTD_createDCtx();
	if (ctx->zstd_decode == NULL)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory for zstd");
	return 0;
}

/* For a trained dictionary, Zstd reports a damaged one as a lack of memory. */
int bpk_zstd_use_dictionary(struct bpk_codec_ctx *ctx, struct bpk_view dictionary,
			    struct bpk_err *err)
{
	bool trained =
		dictionary.size >= 4 && bpk_get_le32(dictionary.data) == ZSTD_MAGIC_DICTIONARY;
	size_t rc;

	if (need_decoder(ctx, err) != 0)
		return -1;
	rc = ZSTD_DCtx_loadDictionary(ctx->zstd_decode, dictionary.data, dictionary.size);
	if (!ZSTD_isError(rc))
		return 0;
	if (trained || ZSTD_getErrorCode(rc) != ZSTD_error_memory_allocation)
		return bpk_fail(err, BPK_CORRUPT, "%zu bytes are not a dictionary of zstd",
				dictionary.size);
	return bpk_fail(err, BPK_NO_MEMORY, "no memory for a dictionary of zstd");
}

int bpk_zstd_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		    struct bpk_err *err)
{
	unsigned long long content = ZSTD_getFrameContentSize(in.data, in.size);
	size_t size;

	if (content == ZSTD_CONTENTSIZE_ERROR)
		return bpk_codec_corrupt(err, "zstd", in.size, out.size, "it begins no frame");
	if (content != ZSTD_CONTENTSIZE_UNKNOWN && content != out.size)
		return bpk_codec_corrupt(err, "zstd", in.size, out.size,
					 "its frame holds another number of bytes");
	if (need_decoder(ctx, err) != 0)
		return -1;
	size = ZSTD_decompressDCtx(ctx->zstd_decode, out.data, out.size, in.data, in.size);
	if (ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory for zstd");
	if (ZSTD_isError(size))
		return bpk_codec_corrupt(err, "zstd", in.size, out.size, ZSTD_getErrorName(size));
	if (size != out.size)
		return bpk_codec_corrupt(err, "zstd", in.size, out.size, "it holds fewer");
	return 0;
}

/*
 * Zstd's streams write through a window, which takes no more memory than the content size in the
 * frame, and of that no more is touched than is decoded. They refuse windows of more than 128 MiB.
 */
int bpk_zstd_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			 struct bpk_span out, struct bpk_err *err)
{
	ZSTD_inBuffer from = { in.data, in.size, 0 };
	ZSTD_outBuffer to = { out.data, out.size, 0 };
	size_t rc;

	if (ZSTD_getFrameContentSize(in.data, in.size) != whole)
		return bpk_codec_corrupt(err, "zstd", in.size, whole,
					 "its frame holds another number of bytes");
	if (need_decoder(ctx, err) != 0)
		return -1;
	rc = ZSTD_decompressStream(ctx->zstd_decode, &to, &from);
	ZSTD_DCtx_reset(ctx->zstd_decode, ZSTD_reset_session_only); /* keeps the dictionary */
	if (ZSTD_isError(rc))
		return bpk_codec_corrupt(err, "zstd", in.size, whole, ZSTD_getErrorName(rc));
	if (to.pos != out.size)
		return bpk_codec_corrupt(err, "zstd", in.size, whole, "it holds fewer");
	return 0;
}

const char *bpk_zstd_version(void)
{
	return ZSTD_versionString();
}

/* Its functions take NULL for a state that was not made. */
uint64_t bpk_zstd_state_memory(const struct bpk_codec_ctx *ctx)
{
	return (uint64_t)ZSTD_sizeof_CCtx(ctx->zstd_encode) + ZSTD_sizeof_CDict(ctx->zstd_packing) +
	       ZSTD_sizeof_DCtx(ctx->zstd_decode);
}

void bpk_zstd_state_free(struct bpk_codec_ctx *ctx)
{
	ZSTD_freeCCtx(ctx->zstd_encode);
	ZSTD_freeCDict(ctx->zstd_packing);
	ZSTD_freeDCtx(ctx->zstd_decode);
}
