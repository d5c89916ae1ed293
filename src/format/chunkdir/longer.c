/*
 * A last chunk that holds more rows than sizes counts, as an append that was interrupted before its
 * commit leaves in a store, or of another program. The digest in sizes is that of the chunk without
 * these rows, so it is packed again without them, in each way in which bpk may have done that.
 * Called by audit.c and replace.c.
 */
#include "format/chunkdir/meta.h"

enum {
	/* By each level, in blocks of the size that the chunk's header has, and of the size that
	 * the level gives; and all that by lz4hc, whose chunks are lz4's. */
	LEVELS = 10,
	SIZES = 2 * LEVELS,
	CODECS = 2 * SIZES,
	/* A larger chunk is not packed again: a few bytes may claim to unpack to gigabytes. */
	MOST_PACKED = 256 << 20,
};

/* By the codec and filters of the longer chunk, and by those of the first chunk: an append may have
 * others than the dataset. */
_Static_assert(BPK_CHUNKDIR_WAYS == 2 * CODECS, "ways");

static struct bpk_recipe recipe_of(const struct bpk_chunk_header *header, size_t way)
{
	struct bpk_recipe recipe = {
		.codec = way < SIZES ? bpk_codec_of_chunk(header) : bpk_codec_find("lz4hc"),
		.level = (unsigned)(way % LEVELS),
		.typesize = header->typesize,
		.pipeline = bpk_pipeline_exact(&header->pipeline),
		.block_size = way % SIZES < LEVELS ? header->block_size : 0,
	};

	if (way % SIZES == LEVELS) { /* stored; without a type bpk stores single bytes */
		recipe.typesize = 1;
		recipe.pipeline = (struct bpk_pipeline){ 0 };
		recipe.block_size = header->block_size;
	}
	return recipe;
}

/* Add the shares that the first bytes of a chunk have, packed in each way by the header, to the
 * sums. */
static int add_cut(const struct bpk_chunkdir_longer *longer, const struct bpk_chunk_header *header,
		   struct bpk_view raw, struct bpk_chunk_ctx *ctx, uint64_t sums[CODECS],
		   struct bpk_err *err)
{
	const struct bpk_checksum *checksum = longer->checksum;
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_buf packed = { 0 };
	struct bpk_err why = { 0 };
	int rc = bpk_buf_resize(&packed, bpk_chunk_bound(raw.size), err);
	size_t room = packed.size;
	size_t ways = bpk_codec_of_chunk(header) == bpk_codec_find("lz4") ? CODECS : SIZES;

	for (size_t way = 0; rc == 0 && way < ways; way++) {
		struct bpk_recipe recipe = recipe_of(header, way);

		/* no encoder makes a chunk of some headers */
		if (bpk_chunk_encode(ctx, &recipe, raw, bpk_span(packed.data, room), &packed.size,
				     &why) != 0) {
			rc = bpk_err_pass(&why, err);
			continue;
		}
		rc = bpk_checksum_compute(checksum, bpk_buf_view(&packed), digest, err);
		if (rc == 0)
			sums[way] += bpk_chunkdir_share(longer->column, longer->number,
							bpk_buf_view(&packed),
							bpk_view(digest, checksum->size));
	}
	bpk_buf_clear(&packed);
	return rc;
}

static int add_cuts(const struct bpk_chunkdir_longer *longer, struct bpk_view raw,
		    struct bpk_chunk_ctx *ctx, uint64_t sums[BPK_CHUNKDIR_WAYS],
		    struct bpk_err *err)
{
	const struct bpk_chunk_header *first = longer->first;

	if (add_cut(longer, &longer->where->header, raw, ctx, sums, err) != 0)
		return -1;
	if (first == NULL || first->memcpyed || first->special != BPK_SPECIAL_NONE ||
	    bpk_codec_of_chunk(first) == NULL)
		return 0;
	return add_cut(longer, first, raw, ctx, sums + CODECS, err);
}

int bpk_chunkdir_longer_shares(const struct bpk_chunkdir_longer *longer,
			       uint64_t sums[BPK_CHUNKDIR_WAYS], struct bpk_err *err)
{
	const struct bpk_chunk_header *header = &longer->where->header;
	struct bpk_buf packed = { 0 }, raw = { 0 };
	struct bpk_chunk_ctx *ctx;
	int rc;

	if (header->raw_size > MOST_PACKED || bpk_codec_of_chunk(header) == NULL)
		return 0;
	ctx = bpk_chunk_ctx_new(err);
	rc = ctx == NULL ? -1 : bpk_buf_resize(&packed, header->packed_size, err);
	if (rc == 0)
		rc = bpk_source_need_at(longer->source, longer->where->packed_offset,
					bpk_span(packed.data, packed.size), err);
	if (rc == 0)
		rc = bpk_buf_resize(&raw, header->raw_size, err);
	if (rc == 0)
		rc = bpk_chunk_decode(ctx, bpk_buf_view(&packed), bpk_span(raw.data, raw.size),
				      err);
	if (rc == 0)
		rc = add_cuts(longer, bpk_view(raw.data, (size_t)longer->need), ctx, sums, err);
	bpk_buf_clear(&packed);
	bpk_buf_clear(&raw);
	bpk_chunk_ctx_free(ctx);
	return rc;
}
