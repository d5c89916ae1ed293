/*
 * LZ4 and LZ4HC: raw LZ4 blocks, without frame or length. Called through the table in codecs.c.
 * Source: Blosc chunk format, "Stream formats and level mapping".
 */
#include "chunk/codec/state.h"

#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>

static void *kept_state(void **state, int size, struct bpk_err *err)
{
	if (*state == NULL)
		*state = bpk_calloc(1, (size_t)size, err);
	return *state;
}

static int capacity(struct bpk_span out)
{
	return (int)bpk_min_size(out.size, INT_MAX);
}

/* With a dictionary the state is reset for each stream, as the decoder does. */
static int behind_dictionary(void *state, unsigned level, struct bpk_view before,
			     struct bpk_view in, struct bpk_span out)
{
	LZ4_loadDict(state, (const char *)before.data, (int)before.size);
	return LZ4_compress_fast_continue(state, (const char *)in.data, (char *)out.data,
					  (int)in.size, capacity(out), 10 - (int)level);
}

int bpk_lz4_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		   struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	void *state = kept_state(&ctx->lz4, LZ4_sizeofState(), err);
	int size;

	if (state == NULL)
		return -1;
	/* also 0 for input larger than LZ4_MAX_INPUT_SIZE */
	if (ctx->lz4_packing.size > 0)
		size = behind_dictionary(state, level, ctx->lz4_packing, in, out);
	else
		size = LZ4_compress_fast_extState(state, (const char *)in.data, (char *)out.data,
						  (int)in.size, capacity(out), 10 - (int)level);
	*packed_size = size > 0 ? (size_t)size : 0;
	return 0;
}

static int behind_dictionary_hc(void *state, unsigned level, struct bpk_view before,
				struct bpk_view in, struct bpk_span out)
{
	LZ4_initStreamHC(state, (size_t)LZ4_sizeofStateHC());
	LZ4_resetStreamHC_fast(state, (int)level);
	LZ4_loadDictHC(state, (const char *)before.data, (int)before.size);
	return LZ4_compress_HC_continue(state, (const char *)in.data, (char *)out.data,
					(int)in.size, capacity(out));
}

int bpk_lz4hc_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		     struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	void *state = kept_state(&ctx->lz4hc, LZ4_sizeofStateHC(), err);
	int size;

	if (state == NULL)
		return -1;
	*packed_size = 0;
	if (in.size > LZ4_MAX_INPUT_SIZE)
		return 0;
	if (ctx->lz4_packing.size > 0)
		size = behind_dictionary_hc(state, level, ctx->lz4_packing, in, out);
	else
		size = LZ4_compress_HC_extStateHC(state, (const char *)in.data, (char *)out.data,
						  (int)in.size, capacity(out), (int)level);
	*packed_size = size > 0 ? (size_t)size : 0;
	return 0;
}

int bpk_lz4_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		   struct bpk_err *err)
{
	struct bpk_view before = ctx->lz4_dictionary;
	int got;

	if (in.size > INT_MAX || out.size > INT_MAX)
		return bpk_codec_corrupt(err, "lz4", in.size, out.size, "too large");
	if (before.size == 0)
		got = LZ4_decompress_safe((const char *)in.data, (char *)out.data, (int)in.size,
					  (int)out.size);
	else
		got = LZ4_decompress_safe_usingDict((const char *)in.data, (char *)out.data,
						    (int)in.size, (int)out.size,
						    (const char *)before.data, (int)before.size);
	if (got < 0)
		return bpk_codec_corrupt(err, "lz4", in.size, out.size, "malformed");
	if ((size_t)got != out.size)
		return bpk_codec_corrupt(err, "lz4", in.size, out.size, "ends too early");
	return 0;
}

const char *bpk_lz4_version(void)
{
	return LZ4_versionString();
}

uint64_t bpk_lz4_state_memory(const struct bpk_codec_ctx *ctx)
{
	return (ctx->lz4 != NULL ? (uint64_t)LZ4_sizeofState() : 0) +
	       (ctx->lz4hc != NULL ? (uint64_t)LZ4_sizeofStateHC() : 0);
}
