/* A chunk of hostile bytes, of any version: read its header, decode all of it and ranges, and query
 * the extents and the sizes of its blocks. A range must be the slice of the whole. */
#include "fuzz/fuzz.h"

#include "chunk/chunk.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	LARGEST = 1 << 20, /* chunks above this raw size are not decoded */
	NRANGES = 4,       /* ranges decoded of each chunk */
};

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

static void *allocate(size_t size)
{
	void *bytes = malloc(size == 0 ? 1 : size);

	require(bytes != NULL, "memory for a small chunk");
	return bytes;
}

struct extents {
	struct bpk_view chunk;
	uint8_t *copy;
	uint64_t end;
};

static int take_extent(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	struct extents *e = arg;

	(void)err;
	require(size > 0 && offset >= e->end, "extents ascend");
	e->end = (uint64_t)offset + size;
	if (e->end <= e->chunk.size)
		memcpy(e->copy + offset, e->chunk.data + offset, size);
	return 0;
}

/*
 * whole is NULL when the whole chunk did not decode. A part of it may decode all the same; then its
 * bytes are not compared.
 */
static void try_range(struct bpk_chunk_ctx *ctx, struct bpk_view chunk,
		      const struct bpk_chunk_header *header, const uint8_t *whole, uint32_t start,
		      uint32_t size)
{
	uint8_t *part = allocate(size);
	struct extents e = { chunk, allocate(chunk.size), 0 };
	size_t head = header->header_size + (size_t)4 * header->nblocks;
	struct bpk_err err = { 0 };
	int rc = bpk_chunk_decode_range(ctx, chunk, start, bpk_span(part, size), &err);

	require(rc == 0 || (err.kind == BPK_CORRUPT && err.text[0] != '\0'), "failures say why");
	require(whole == NULL || rc == 0, "a range of a good chunk is good");
	if (whole != NULL && size > 0)
		require(memcmp(part, whole + start, size) == 0, "a range is a slice");
	if (head <= chunk.size) {
		memset(e.copy, 0, chunk.size);
		memcpy(e.copy, chunk.data, head);
		rc = bpk_chunk_extents(bpk_view(chunk.data, head), start, size, take_extent, &e,
				       &err);
		require(size == 0 || rc == 0 || whole == NULL, "a good chunk has extents");
		require(e.end <= header->packed_size, "extents end with the chunk");
	}
	free(e.copy);
	free(part);
}

/* The sizes of variable-length blocks must sum up. */
static void try_block_sizes(struct bpk_view chunk, const struct bpk_chunk_header *header,
			    bool decodes)
{
	uint32_t *sizes = allocate((size_t)4 * header->nblocks);
	struct bpk_err err = { 0 };
	uint64_t sum = 0;

	if (bpk_chunk_block_sizes(chunk, sizes, &err) == 0) {
		for (uint32_t k = 0; k < header->nblocks; k++)
			sum += sizes[k];
		require(sum == header->raw_size, "block sizes sum up");
	} else {
		require(!decodes || err.kind == BPK_USAGE, "a good chunk has block sizes");
	}
	free(sizes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bpk_chunk_ctx *ctx;
	struct bpk_view chunk = bpk_view(data, size);
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	uint8_t *whole;
	uint64_t seed = size;

	if (ctx == NULL)
		ctx = bpk_chunk_ctx_new(&err);
	require(ctx != NULL, "a context");
	if (bpk_chunk_header_read(chunk, &header, &err) != 0) {
		require(err.kind == BPK_CORRUPT || err.kind == BPK_UNSUPPORTED, "kinds of failure");
		return 0;
	}
	if (header.raw_size > LARGEST)
		return 0;
	whole = allocate(header.raw_size);
	if (bpk_chunk_decode(ctx, chunk, bpk_span(whole, header.raw_size), &err) != 0) {
		require(err.kind == BPK_CORRUPT, "kinds of failure");
		free(whole);
		whole = NULL;
	}
	try_block_sizes(chunk, &header, whole != NULL);
	for (int i = 0; i < NRANGES; i++) {
		uint32_t start, length;

		seed = (seed + size) * 6364136223846793005u + header.flags + 1;
		start = (uint32_t)(seed >> 40) % (header.raw_size + 1);
		length = (uint32_t)(seed >> 20) % (header.raw_size - start + 1);
		try_range(ctx, chunk, &header, whole, start, length);
	}
	free(whole);
	return 0;
}
