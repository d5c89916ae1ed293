/*
 * Converts chunks to a form that c-blosc2 can read in a frame. It also interprets a stored chunk by
 * the frame's header, so it cannot open many a chunk that is valid by itself, or cannot read a part
 * of it. Outputs test every chunk here before they store it, and re-encode it if they must. The
 * source of each rule is c-blosc2 3.3.3, by the name of its function:
 *
 *   a special chunk is in a file only as a repeated value ...        frame_get_lazychunk
 *     ... of exactly the frame's typesize, of which it reads 32 +
 *     typesize bytes, and which divides the chunk                    frame_get_lazychunk,
 *                                                                    read_chunk_header
 *     ... that divides each block                                    blosc_d, set_values
 *     ... which a part of the chunk begins with, wherever it starts  _blosc_getitem
 *   where a part starts and how long it is are whole elements of
 *     the chunk                                                      blosc2_getitem_bytes_ctx
 *   an array's chunk has the array's blocks                          b2nd: block_maskout, in
 *                                                    initialize_context_decompression
 *   a block has at most block_size + 4 * typesize packed bytes       blosc_d
 *   a special entry of the index stands for whole items              frame_special_chunk,
 *                                                                    blosc2_chunk_zeros
 */
#include "format/frame/output.h"

enum {
	LEVEL = 5,          /* used if the frame's own level is 0 */
	CBYTES_OFFSET = 12, /* of a chunk's size in its header ("Chunks") */
	BLOCK_OFFSET = 8,   /* and of its block size */
};

/* ---- Requirements of a frame ---- */

/* The common divisor of all positions where parts of chunks begin and end, which are items of the
 * frame. 0: chunks differ in size, and c-blosc2 only reads whole ones. */
static uint64_t unit_of(const struct bpk_frame_output *out)
{
	return out->header.variable_chunks ? 0 : bpk_gcd_u64(out->header.typesize, out->full);
}

static bool has_whole_items(const struct bpk_frame_output *out)
{
	return out->header.variable_chunks || unit_of(out) == out->header.typesize;
}

static bool has_right_blocks(const struct bpk_frame_output *out,
			     const struct bpk_chunk_header *header)
{
	return out->block_size == 0 || header->variable_blocks ||
	       header->block_size == bpk_min_u64(out->block_size, header->raw_size);
}

bool bpk_frame_compat_in_index(const struct bpk_frame_output *out,
			       const struct bpk_chunk_header *header)
{
	bool whole = has_whole_items(out) && header->raw_size % out->header.typesize == 0;

	if (out->header.variable_chunks || (!whole && !out->as_is))
		return false;
	switch (header->special) {
	case BPK_SPECIAL_ZERO:
	case BPK_SPECIAL_UNINIT:
		return true;
	case BPK_SPECIAL_NAN:
		/* c-blosc2 makes a chunk with the frame's blocks from it (set_nans) */
		return header->typesize == out->header.typesize &&
		       out->header.block_size % out->header.typesize == 0;
	default:
		return false;
	}
}

static bool is_value_readable(const struct bpk_frame_output *out,
			      const struct bpk_chunk_header *header)
{
	uint32_t item = header->value_size;

	return header->special == BPK_SPECIAL_VALUE && item == out->header.typesize &&
	       header->raw_size % item == 0 && header->block_size % item == 0 &&
	       has_whole_items(out) && has_right_blocks(out, header);
}

int bpk_frame_compat_test(const struct bpk_frame_output *out, struct bpk_view chunk,
			  const struct bpk_chunk_header *header, bool *readable,
			  struct bpk_err *err)
{
	uint64_t unit = unit_of(out);

	*readable = true;
	/* c-blosc2 reads no parts of the former, and cannot read the latter */
	if (header->variable_blocks || header->prediction.size > 0)
		return 0;
	if (out->as_is &&
	    (header->special == BPK_SPECIAL_NONE || header->special == BPK_SPECIAL_VALUE))
		return 0;
	if (header->special != BPK_SPECIAL_NONE) {
		*readable = is_value_readable(out, header);
		return 0;
	}
	if (unit % header->typesize != 0 || !has_right_blocks(out, header)) {
		*readable = false;
		return 0;
	}
	return bpk_chunk_blocks_fit(chunk, header, readable, err);
}

bool bpk_frame_compat_by_header(const struct bpk_frame_output *out, uint64_t raw_size,
				const struct bpk_chunk_header *header)
{
	if (out->open_typesize || out->full == BPK_UNKNOWN)
		return false;
	if (!out->header.variable_chunks &&
	    (raw_size > out->full || (out->nchunks > 0 && out->last_size != out->full)))
		return false;
	if (header->variable_blocks || header->prediction.size > 0 || out->as_is)
		return true;
	return unit_of(out) % header->typesize == 0 && has_right_blocks(out, header);
}

/* ---- As a repeated value ---- */

/* True if the chunk can be one item of the frame, repeated. */
static bool can_repeat(const struct bpk_frame_output *out, const struct bpk_chunk_header *header)
{
	uint32_t item = out->header.typesize;

	return header->special != BPK_SPECIAL_NONE && item <= BPK_CHUNK_MAX_TYPESIZE &&
	       item % bpk_frame_period(header) == 0 && header->raw_size % item == 0 &&
	       header->raw_size > 0 && has_whole_items(out);
}

static int encode_as_value(struct bpk_frame_output *out, struct bpk_view special,
			   const struct bpk_chunk_header *header, struct bpk_buf *chunk,
			   struct bpk_err *err)
{
	uint32_t item = out->header.typesize, size = BPK_CHUNK_EXTENDED_HEADER_SIZE + item;

	if (bpk_buf_resize(chunk, size, err) != 0)
		return -1;
	bpk_chunk_write_special(BPK_SPECIAL_VALUE, header->raw_size, item, chunk->data);
	bpk_put_le32(chunk->data + CBYTES_OFFSET, size);
	if (out->block_size > 0)
		bpk_put_le32(chunk->data + BLOCK_OFFSET,
			     (uint32_t)bpk_min_u64(out->block_size, header->raw_size));
	return bpk_chunk_decode_range(out->ctx, special, 0,
				      bpk_span(chunk->data + BPK_CHUNK_EXTENDED_HEADER_SIZE, item),
				      err);
}

/* ---- As blocks ---- */

/* The same filters for elements of another size: filters that depend on it get the old size as
 * their parameter. A bitshuffle has no such parameter, and becomes a shuffle. */
static struct bpk_pipeline with_width(const struct bpk_pipeline *pipeline, unsigned typesize)
{
	struct bpk_pipeline with = *pipeline;

	for (unsigned i = 0; i < with.nsteps; i++) {
		struct bpk_filter_step *step = &with.steps[i];

		if (step->filter == BPK_FILTER_BITSHUFFLE)
			step->filter = BPK_FILTER_SHUFFLE;
		if ((step->filter == BPK_FILTER_SHUFFLE || step->filter == BPK_FILTER_BYTEDELTA) &&
		    step->meta == 0)
			step->meta = (uint8_t)typesize;
	}
	return with;
}

/* A recipe as close to the chunk's own as possible, with the elements and blocks the frame
 * requires. */
static struct bpk_recipe recipe_for(const struct bpk_frame_output *out,
				    const struct bpk_chunk_header *header)
{
	uint64_t unit = unit_of(out);
	struct bpk_recipe recipe = {
		.codec = bpk_codec_of_chunk(header),
		.level = out->header.level > 0 ? out->header.level : LEVEL,
		.typesize = (unsigned)bpk_gcd_u64(unit, header->typesize),
		.block_size = out->block_size > 0 ? out->block_size : header->block_size,
		.exact_blocks = out->block_size > 0,
		.extended = true,
		.dictionary = header->dictionary,
		.no_special = true,
	};

	/* a codec that every c-blosc2 has */
	if (recipe.codec == NULL || !bpk_codec_is_extended(recipe.codec))
		recipe.codec = bpk_codec_find("blosclz");
	if (header->special == BPK_SPECIAL_NONE && !header->memcpyed)
		recipe.pipeline = bpk_pipeline_exact(&header->pipeline);
	if (recipe.typesize != header->typesize)
		recipe.pipeline = with_width(&recipe.pipeline, header->typesize);
	return recipe;
}

/* For a frame with blocks of variable length: encode the chunk as one such block. */
static int encode_as_block(struct bpk_frame_output *out, struct bpk_view raw, struct bpk_buf *chunk,
			   struct bpk_err *err)
{
	const struct bpk_recipe recipe = {
		.codec = bpk_codec_find("blosclz"),
		.level = LEVEL,
		.typesize = 1,
		.extended = true,
	};
	uint32_t size = (uint32_t)raw.size;
	size_t room = bpk_chunk_bound(size) + 2 * sizeof size;

	if (bpk_buf_resize(chunk, room, err) != 0)
		return -1;
	return bpk_chunk_encode_blocks(out->ctx, &recipe, raw, &size, 1,
				       bpk_span(chunk->data, room), &chunk->size, err);
}

static int encode(struct bpk_frame_output *out, const struct bpk_chunk_header *header,
		  struct bpk_view raw, struct bpk_buf *chunk, struct bpk_err *err)
{
	struct bpk_recipe recipe = recipe_for(out, header);
	size_t room = bpk_chunk_bound(raw.size);

	if (out->header.variable_blocks)
		return encode_as_block(out, raw, chunk, err);
	if (bpk_buf_resize(chunk, room, err) != 0)
		return -1;
	return bpk_chunk_encode(out->ctx, &recipe, raw, bpk_span(chunk->data, room), &chunk->size,
				err);
}

int bpk_frame_compat_encode(struct bpk_frame_output *out, struct bpk_view chunk,
			    const struct bpk_chunk_header *header, struct bpk_buf *encoded,
			    struct bpk_err *err)
{
	struct bpk_buf raw = { 0 };
	int rc;

	if (!out->header.variable_blocks && can_repeat(out, header))
		return encode_as_value(out, chunk, header, encoded, err);
	rc = bpk_buf_resize(&raw, header->raw_size, err);
	if (rc == 0)
		rc = bpk_chunk_decode(out->ctx, chunk, bpk_span(raw.data, raw.size), err);
	if (rc == 0)
		rc = encode(out, header, bpk_buf_view(&raw), encoded, err);
	bpk_buf_clear(&raw);
	return rc;
}
