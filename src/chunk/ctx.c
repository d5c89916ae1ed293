/*
 * The context for encoding and decoding chunks. Each thread that does so creates one.
 */
#include "chunk/block.h"

#include <stdlib.h>

struct bpk_chunk_ctx *bpk_chunk_ctx_new(struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_calloc(1, sizeof *ctx, err);

	if (ctx == NULL)
		return NULL;
	ctx->kernels = bpk_filter_kernels();
	ctx->codec = bpk_codec_ctx_new(err);
	if (ctx->codec == NULL || bpk_buf_reserve(&ctx->room, BPK_FILTER_ROOM, err) != 0) {
		bpk_chunk_ctx_free(ctx);
		return NULL;
	}
	return ctx;
}

void bpk_chunk_ctx_free(struct bpk_chunk_ctx *ctx)
{
	if (ctx == NULL)
		return;
	bpk_codec_ctx_free(ctx->codec);
	bpk_buf_clear(&ctx->filtered);
	bpk_buf_clear(&ctx->piece);
	bpk_buf_clear(&ctx->room);
	bpk_buf_clear(&ctx->stages[0]);
	bpk_buf_clear(&ctx->stages[1]);
	bpk_buf_clear(&ctx->reference);
	bpk_buf_clear(&ctx->kept[0].bytes);
	bpk_buf_clear(&ctx->kept[1].bytes);
	bpk_buf_clear(&ctx->samples);
	bpk_buf_clear(&ctx->dictionary);
	bpk_buf_clear(&ctx->trial);
	bpk_buf_clear(&ctx->predicted);
	bpk_buf_clear(&ctx->history);
	free(ctx);
}

void bpk_chunk_ctx_set_typesize(struct bpk_chunk_ctx *ctx, uint32_t typesize)
{
	ctx->typesize = typesize;
}

const char *bpk_chunk_simd(void)
{
	return bpk_simd_name(bpk_filter_kernels()->simd);
}
