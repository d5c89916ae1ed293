/*
 * Zlib streams (RFC 1950) through one deflate and one inflate stream per thread, or through
 * libdeflate if configure found it: then zlib only says why a stream does not decode. Called
 * through the table in codecs.c.
 * Source: Blosc chunk format, "Stream formats and level mapping".
 */
#include "chunk/codec/state.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "config.h"
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

#ifdef HAVE_LIBDEFLATE
#define ENCODER_CALLS(X)
#else
#define ENCODER_CALLS(X)                                                                           \
	X(deflateInit_)                                                                            \
	X(deflate)                                                                                 \
	X(deflateReset)                                                                            \
	X(deflateEnd)
#endif
#define CALLS(X)                                                                                   \
	X(inflateInit_)                                                                            \
	X(inflate)                                                                                 \
	X(inflateReset)                                                                            \
	X(inflateEnd)                                                                              \
	ENCODER_CALLS(X)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(ZLIB_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(ZLIB_SONAME, names, calls);

/* Each stream owns zlib memory while its level or flag marks it as initialised. */
struct bpk_zlib_state {
#ifdef HAVE_LIBDEFLATE
	struct libdeflate_compressor *compressor; /* NULL: none yet */
	struct libdeflate_decompressor *decompressor;
#else
	z_stream deflate;
#endif
	z_stream inflate;
	unsigned deflate_level; /* 0: not initialised */
	bool inflate_live;
	size_t deflate_memory, inflate_memory; /* bytes allocated for the two sides */
};

static struct bpk_zlib_state *kept_state(struct bpk_codec_ctx *ctx, struct bpk_err *err)
{
	if (ctx->zlib == NULL)
		ctx->zlib = bpk_calloc(1, sizeof *ctx->zlib, err);
	return ctx->zlib;
}

/* deflateInit and inflateInit fail without memory, or with an incompatible library. */
static int init_failed(int rc, struct bpk_err *err)
{
	if (rc == Z_MEM_ERROR)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory for zlib");
	return bpk_fail(err, BPK_BUG, "zlib does not start: error %d", rc);
}

/* ---- Memory ---- */

#ifdef HAVE_LIBDEFLATE

/* Bytes that libdeflate allocated in this thread: it reports no sizes. */
static _Thread_local size_t allocated;

static void *allocate(size_t size)
{
	allocated += size;
	return malloc(size);
}

/* Begin to count. Every thread sets the same two functions. */
static void count_allocated(void)
{
	libdeflate_set_memory_allocator(allocate, free);
	allocated = 0;
}

#endif

/* zlib allocates through these; opaque is the counter. */
static voidpf zlib_allocate(voidpf opaque, uInt count, uInt size)
{
	*(size_t *)opaque += (size_t)count * size;
	return malloc((size_t)count * size);
}

static void zlib_free(voidpf opaque, voidpf address)
{
	(void)opaque;
	free(address);
}

static z_stream counted_stream(size_t *memory)
{
	return (z_stream){ .zalloc = zlib_allocate, .zfree = zlib_free, .opaque = memory };
}

uint64_t bpk_zlib_state_memory(const struct bpk_zlib_state *state)
{
	return state == NULL ? 0 : sizeof *state + state->deflate_memory + state->inflate_memory;
}

/* ---- Encoding ---- */

#ifdef HAVE_LIBDEFLATE

static void end_deflate(struct bpk_zlib_state *state)
{
	libdeflate_free_compressor(state->compressor);
	state->compressor = NULL;
	state->deflate_level = 0;
}

/* A change of level is rare (one recipe for a whole archive), so it may create a new
 * compressor. */
static int begin_deflate(struct bpk_zlib_state *state, unsigned level, struct bpk_err *err)
{
	enum { LOWEST = 2 }; /* level 1 does not end a block where the bytes change */

	if (state->deflate_level == level)
		return 0;
	end_deflate(state);
	count_allocated();
	state->compressor = libdeflate_alloc_compressor(level < LOWEST ? LOWEST : (int)level);
	if (state->compressor == NULL)
		return bpk_fail(err, BPK_NO_MEMORY, "no memory for libdeflate");
	state->deflate_memory = allocated;
	state->deflate_level = level;
	return 0;
}

static size_t deflate_all(struct bpk_zlib_state *state, struct bpk_view in, struct bpk_span out)
{
	return libdeflate_zlib_compress(state->compressor, in.data, in.size, out.data, out.size);
}

#else

static void end_deflate(struct bpk_zlib_state *state)
{
	if (state->deflate_level != 0)
		calls.deflateEnd(&state->deflate);
	state->deflate_level = 0;
}

/* A change of level is rare (one recipe for a whole archive), so it may create a new stream. */
static int begin_deflate(struct bpk_zlib_state *state, unsigned level, struct bpk_err *err)
{
	int rc;

	if (state->deflate_level == level && calls.deflateReset(&state->deflate) == Z_OK)
		return 0;
	end_deflate(state);
	state->deflate_memory = 0;
	state->deflate = counted_stream(&state->deflate_memory);
	rc = calls.deflateInit_(&state->deflate, (int)level, ZLIB_VERSION, (int)sizeof(z_stream));
	if (rc != Z_OK)
		return init_failed(rc, err);
	state->deflate_level = level;
	return 0;
}

/* The size of the stream; 0 if it does not fit. */
static size_t deflate_all(struct bpk_zlib_state *state, struct bpk_view in, struct bpk_span out)
{
	z_stream *stream = &state->deflate;

	stream->next_in = (z_const Bytef *)in.data;
	stream->avail_in = (uInt)in.size;
	stream->next_out = out.data;
	stream->avail_out = (uInt)bpk_min_size(out.size, UINT_MAX);
	if (calls.deflate(stream, Z_FINISH) != Z_STREAM_END)
		return 0;
	return (size_t)(stream->next_out - out.data);
}

#endif

int bpk_zlib_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		    struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	struct bpk_zlib_state *state = kept_state(ctx, err);

	*packed_size = 0;
	if (state == NULL || begin_deflate(state, level, err) < 0)
		return -1;
	*packed_size = deflate_all(state, in, out);
	return 0;
}

/* ---- Decoding ---- */

static int begin_inflate(struct bpk_zlib_state *state, struct bpk_err *err)
{
	int rc;

	if (bpk_library_need(&library, err) != 0)
		return -1;
	if (!state->inflate_live)
		state->inflate = counted_stream(&state->inflate_memory);
	rc = state->inflate_live
		     ? calls.inflateReset(&state->inflate)
		     : calls.inflateInit_(&state->inflate, ZLIB_VERSION, (int)sizeof(z_stream));
	if (rc != Z_OK)
		return init_failed(rc, err);
	state->inflate_live = true;
	return 0;
}

/* Why inflate failed; NULL if the whole stream filled the whole output. */
static const char *complaint(int rc, const z_stream *stream)
{
	if (rc == Z_STREAM_END && stream->avail_out != 0)
		return "it holds fewer";
	if (rc == Z_STREAM_END)
		return stream->avail_in == 0 ? NULL : "bytes follow its end";
	if (rc == Z_NEED_DICT)
		return "it asks for a dictionary";
	if (rc == Z_BUF_ERROR || rc == Z_OK)
		return stream->avail_out == 0 ? "it holds more, or has no end" : "it is cut off";
	return stream->msg != NULL ? stream->msg : "malformed";
}

#ifdef HAVE_LIBDEFLATE

/* True if the bytes are one stream that fills out. */
static bool inflate_fast(struct bpk_zlib_state *state, struct bpk_view in, struct bpk_span out)
{
	size_t used;

	if (state->decompressor == NULL) {
		count_allocated();
		state->decompressor = libdeflate_alloc_decompressor();
		state->inflate_memory += allocated;
	}
	return state->decompressor != NULL &&
	       libdeflate_zlib_decompress_ex(state->decompressor, in.data, in.size, out.data,
					     out.size, &used, NULL) == LIBDEFLATE_SUCCESS &&
	       used == in.size;
}

static void end_fast(struct bpk_zlib_state *state)
{
	libdeflate_free_decompressor(state->decompressor);
}

#else

static bool inflate_fast(struct bpk_zlib_state *state, struct bpk_view in, struct bpk_span out)
{
	(void)state;
	(void)in;
	(void)out;
	return false;
}

static void end_fast(struct bpk_zlib_state *state)
{
	(void)state;
}

#endif

/* Inflate from in to out by zlib, until the stream ends or out is full. *rc is zlib's result. */
static int inflate_slow(struct bpk_zlib_state *state, struct bpk_view in, struct bpk_span out,
			int *rc, struct bpk_err *err)
{
	z_stream *stream = &state->inflate;

	if (begin_inflate(state, err) < 0)
		return -1;
	if (in.size > UINT_MAX || out.size > UINT_MAX)
		return bpk_codec_corrupt(err, "zlib", in.size, out.size, "too large");
	stream->next_in = (z_const Bytef *)in.data;
	stream->avail_in = (uInt)in.size;
	stream->next_out = out.data;
	stream->avail_out = (uInt)out.size;
	*rc = calls.inflate(stream, Z_FINISH);
	return *rc == Z_MEM_ERROR ? bpk_fail(err, BPK_NO_MEMORY, "no memory for zlib") : 0;
}

/* Bytes after the stream's end are an error: no writer leaves them, and other codecs refuse
 * them. */
int bpk_zlib_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		    struct bpk_err *err)
{
	struct bpk_zlib_state *state = kept_state(ctx, err);
	const char *reason;
	int rc;

	if (state == NULL)
		return -1;
	if (inflate_fast(state, in, out))
		return 0;
	if (inflate_slow(state, in, out, &rc, err) != 0)
		return -1;
	reason = complaint(rc, &state->inflate);
	return reason == NULL ? 0 : bpk_codec_corrupt(err, "zlib", in.size, out.size, reason);
}

/* libdeflate cannot stop, so zlib does this. */
int bpk_zlib_decode_head(struct bpk_codec_ctx *ctx, struct bpk_view in, size_t whole,
			 struct bpk_span out, struct bpk_err *err)
{
	struct bpk_zlib_state *state = kept_state(ctx, err);
	int rc;

	(void)whole;
	if (state == NULL || inflate_slow(state, in, out, &rc, err) != 0)
		return -1;
	if (state->inflate.avail_out > 0)
		return bpk_codec_corrupt(err, "zlib", in.size, out.size,
					 complaint(rc, &state->inflate));
	return 0;
}

const char *bpk_zlib_version(void)
{
#ifdef HAVE_LIBDEFLATE
	return "libdeflate " LIBDEFLATE_VERSION_STRING;
#else
	return zlibVersion();
#endif
}

void bpk_zlib_state_free(struct bpk_zlib_state *state)
{
	if (state == NULL)
		return;
	end_deflate(state);
	end_fast(state);
	if (state->inflate_live)
		calls.inflateEnd(&state->inflate);
	free(state);
}
