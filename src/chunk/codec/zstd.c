/*
 * Zstandard: one frame with its content size, without a checksum. Called through the table in
 * codecs.c.
 * Source: Blosc chunk format, "Stream formats and level mapping".
 */
#include "chunk/codec/state.h"

#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Zstd's level for each Blosc level; 9 is the highest of the library. */
static const int zstd_level[] = { 1, 1, 3, 5, 7, 9, 11, 13, 15, 22 };

/* up to this level Zstd takes matches as they come, without weighing them */
enum { QUICK_LEVEL = 3 };

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
				zstd_level[level]);
	return 0;
}

int bpk_zstd_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		    struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	size_t size;

	*packed_size = 0;
	if (need_encoder(ctx, err) != 0)
		return -1;
	if (ctx->zstd_packing != NULL)
		size = ZSTD_compress2(ctx->zstd_encode, out.data, out.size, in.data, in.size);
	else
		size = ZSTD_compressCCtx(ctx->zstd_encode, out.data, out.size, in.data, in.size,
					 zstd_level[level]);
	return take_size(size, level, packed_size, err);
}

/*
 * 7 bytes is the longest minimum match that Zstd accepts. A table of 256 entries is the smallest
 * that still finds runs of one byte. Levels above the first look for short matches anyway.
 */
static bool set_matches(struct ZSTD_CCtx_s *ctx, unsigned level, enum bpk_matches matches)
{
	enum { SHORT = 5, LONG = 7, FEW_LEVEL = 1, FEW_BITS = 8 };
	bool few = matches == BPK_MATCHES_FEW;

	if (matches == BPK_MATCHES_ANY || level > QUICK_LEVEL ||
	    (matches == BPK_MATCHES_SHORT && level > 1))
		return false;
	ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, few ? FEW_LEVEL : zstd_level[level]);
	ZSTD_CCtx_setParameter(ctx, ZSTD_c_minMatch, matches == BPK_MATCHES_SHORT ? SHORT : LONG);
	if (few)
		ZSTD_CCtx_setParameter(ctx, ZSTD_c_hashLog, FEW_BITS);
	return true;
}

int bpk_zstd_encode_matches(struct bpk_codec_ctx *ctx, unsigned level, enum bpk_matches matches,
			    struct bpk_view in, struct bpk_span out, size_t *packed_size,
			    struct bpk_err *err)
{
	size_t size;

	*packed_size = 0;
	if (need_encoder(ctx, err) != 0)
		return -1;
	/* a dictionary was digested for its own level */
	if (ctx->zstd_packing != NULL || !set_matches(ctx->zstd_encode, level, matches))
		return bpk_zstd_encode(ctx, level, in, out, packed_size, err);
	size = ZSTD_compress2(ctx->zstd_encode, out.data, out.size, in.data, in.size);
	ZSTD_CCtx_reset(ctx->zstd_encode, ZSTD_reset_session_and_parameters);
	return take_size(size, level, packed_size, err);
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
	ctx->zstd_packing = ZSTD_createCDict(dictionary.data, dictionary.size, zstd_level[level]);
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
