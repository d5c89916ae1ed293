/*
 * Snappy: raw streams, a varint of the size and the elements. Called through the table in codecs.c.
 * Source: Blosc chunk format, "Stream formats and level mapping".
 */
#include "chunk/codec/state.h"

#include <snappy-c.h>

#include "config.h"

#define CALLS(X)                                                                                   \
	X(snappy_compress)                                                                         \
	X(snappy_max_compressed_length)                                                            \
	X(snappy_uncompress)                                                                       \
	X(snappy_uncompressed_length)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(SNAPPY_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(SNAPPY_SONAME, names, calls);

int bpk_snappy_encode(struct bpk_codec_ctx *ctx, unsigned level, struct bpk_view in,
		      struct bpk_span out, size_t *packed_size, struct bpk_err *err)
{
	uint8_t *to = out.data;
	size_t size;

	(void)level;
	*packed_size = 0;
	if (bpk_library_need(&library, err) != 0)
		return -1;
	size = calls.snappy_max_compressed_length(in.size);
	if (out.size < size) {
		if (bpk_buf_reserve(&ctx->snappy, size, err) < 0)
			return -1;
		to = ctx->snappy.data;
	}
	if (calls.snappy_compress((const char *)in.data, in.size, (char *)to, &size) != SNAPPY_OK ||
	    size > out.size)
		return 0;
	if (to != out.data)
		memcpy(out.data, to, size);
	*packed_size = size;
	return 0;
}

int bpk_snappy_decode(struct bpk_codec_ctx *ctx, struct bpk_view in, struct bpk_span out,
		      struct bpk_err *err)
{
	size_t size;

	(void)ctx;
	if (bpk_library_need(&library, err) != 0)
		return -1;
	if (calls.snappy_uncompressed_length((const char *)in.data, in.size, &size) != SNAPPY_OK)
		return bpk_codec_corrupt(err, "snappy", in.size, out.size, "malformed length");
	if (size != out.size)
		return bpk_codec_corrupt(err, "snappy", in.size, out.size,
					 "it holds another number of bytes");
	if (calls.snappy_uncompress((const char *)in.data, in.size, (char *)out.data, &size) !=
	    SNAPPY_OK)
		return bpk_codec_corrupt(err, "snappy", in.size, out.size, "malformed");
	return 0;
}
