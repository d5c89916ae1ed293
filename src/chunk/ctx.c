/*
 * The context for encoding and decoding chunks. Each thread that does so creates one. Called by
 * choose, flow, formats and version.
 */
#include "chunk/block.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A freed context is kept for the next one that is asked for: for 1,000 files of 20 KB, making
 * contexts took a quarter of the time. One that needs more memory is not kept. */
enum { KEPT_MOST = 16 << 20 };

static _Atomic(struct bpk_chunk_ctx *) kept;

enum { NBUFFERS = 13 };

static void list_buffers(struct bpk_chunk_ctx *ctx, struct bpk_buf *buffers[NBUFFERS])
{
	struct bpk_buf *all[NBUFFERS] = {
		&ctx->filtered,  &ctx->piece,      &ctx->room,          &ctx->stages[0],
		&ctx->stages[1], &ctx->reference,  &ctx->kept[0].bytes, &ctx->kept[1].bytes,
		&ctx->samples,   &ctx->dictionary, &ctx->trial,         &ctx->predicted,
		&ctx->history,
	};

	memcpy(buffers, all, sizeof all);
}

uint64_t bpk_chunk_ctx_memory(struct bpk_chunk_ctx *ctx)
{
	uint64_t size = bpk_codec_ctx_memory(ctx->codec);
	struct bpk_buf *buffers[NBUFFERS];

	list_buffers(ctx, buffers);
	for (size_t i = 0; i < NBUFFERS; i++)
		size += buffers[i]->capacity;
	return size;
}

static void destroy(struct bpk_chunk_ctx *ctx)
{
	struct bpk_buf *buffers[NBUFFERS];

	if (ctx == NULL)
		return;
	bpk_codec_ctx_free(ctx->codec);
	list_buffers(ctx, buffers);
	for (size_t i = 0; i < NBUFFERS; i++)
		bpk_buf_clear(buffers[i]);
	free(ctx);
}

struct bpk_chunk_ctx *bpk_chunk_ctx_make(struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_calloc(1, sizeof *ctx, err);

	if (ctx == NULL)
		return NULL;
	ctx->kernels = bpk_filter_kernels();
	ctx->codec = bpk_codec_ctx_new(err);
	if (ctx->codec == NULL || bpk_buf_reserve(&ctx->room, BPK_FILTER_ROOM, err) != 0) {
		destroy(ctx);
		return NULL;
	}
	return ctx;
}

struct bpk_chunk_ctx *bpk_chunk_ctx_new(struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = atomic_exchange(&kept, NULL);

	if (ctx == NULL)
		return bpk_chunk_ctx_make(err);
	ctx->typesize = 0;
	return ctx;
}

void bpk_chunk_ctx_free(struct bpk_chunk_ctx *ctx)
{
	if (ctx == NULL)
		return;
	if (bpk_chunk_ctx_memory(ctx) <= KEPT_MOST)
		ctx = atomic_exchange(&kept, ctx);
	destroy(ctx);
}

void bpk_chunk_ctx_set_typesize(struct bpk_chunk_ctx *ctx, uint32_t typesize)
{
	ctx->typesize = typesize;
}

const char *bpk_chunk_simd(void)
{
	return bpk_simd_name(bpk_filter_kernels()->simd);
}
