/*
 * The context for encoding and decoding chunks. Each thread that does so creates one. Called by
 * choose, flow, formats and version.
 */
#include "chunk/block.h"

#include <stdlib.h>

/* Freed contexts are kept for the next ones that are asked for: for 1,000 files of 20 KB, making
 * contexts took a quarter of the time. All that are kept need no more memory than this. */
enum { KEPT_MOST = 16 << 20 };

static struct bpk_mutex lock = { PTHREAD_MUTEX_INITIALIZER };
static struct bpk_chunk_ctx *kept; /* guarded by lock: the last one; each leads to one before */
static uint64_t kept_memory;       /* guarded by lock */

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
	struct bpk_chunk_ctx *ctx;

	bpk_mutex_lock(&lock);
	ctx = kept;
	if (ctx != NULL) {
		kept = ctx->before;
		kept_memory -= ctx->memory;
	}
	bpk_mutex_unlock(&lock);
	if (ctx == NULL)
		return bpk_chunk_ctx_make(err);
	ctx->typesize = 0;
	return ctx;
}

/* Keep a context; if it takes too much with the others, they go, which may be of larger chunks.
 * Returns those that are to be destroyed. */
static struct bpk_chunk_ctx *keep(struct bpk_chunk_ctx *ctx)
{
	struct bpk_chunk_ctx *gone = NULL;

	ctx->memory = bpk_chunk_ctx_memory(ctx);
	ctx->before = NULL;
	if (ctx->memory > KEPT_MOST)
		return ctx;
	bpk_mutex_lock(&lock);
	if (ctx->memory > KEPT_MOST - kept_memory) {
		gone = kept;
		kept = NULL;
		kept_memory = 0;
	}
	ctx->before = kept;
	kept = ctx;
	kept_memory += ctx->memory;
	bpk_mutex_unlock(&lock);
	return gone;
}

void bpk_chunk_ctx_free(struct bpk_chunk_ctx *ctx)
{
	struct bpk_chunk_ctx *gone = ctx == NULL ? NULL : keep(ctx), *before;

	for (; gone != NULL; gone = before) {
		before = gone->before;
		destroy(gone);
	}
}

void bpk_chunk_ctx_set_typesize(struct bpk_chunk_ctx *ctx, uint32_t typesize)
{
	ctx->typesize = typesize;
}

const char *bpk_chunk_simd(void)
{
	return bpk_simd_name(bpk_filter_kernels()->simd);
}
