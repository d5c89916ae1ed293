/*
 * Begins an output: the defaults and the layers of a frame's header. The writer and repack call it.
 */
#include <inttypes.h>

#include "format/frame/output.h"

enum {
	SPLIT_FORWARD = 3, /* "Header": the usual split mode, less 1 */
	DEFAULT_LEVEL = 5, /* c-blosc2's default, used if no level is known */
	DEFAULT_CODEC = 0, /* and its default codec, blosclz */
};

/* ---- The header's defaults ---- */

/* Filters take the last slots, as in c-blosc2. */
static void set_filters(struct bpk_frame_header *header, const struct bpk_pipeline *pipeline)
{
	unsigned first = BPK_CHUNK_MAX_FILTERS - pipeline->nsteps;

	header->nfilters = BPK_CHUNK_MAX_FILTERS;
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		header->filters[first + i] = pipeline->steps[i].filter;
		header->filter_metas[first + i] = pipeline->steps[i].meta;
	}
}

static void set_by_recipe(struct bpk_frame_header *header, const struct bpk_recipe *recipe)
{
	header->codec = bpk_codec_code(recipe->codec);
	header->level = recipe->level;
	header->block_size = recipe->block_size;
	header->dictionary = recipe->dictionary;
	set_filters(header, &recipe->pipeline);
}

/* Take the defaults of a frame of any version, without its sizes and layers. */
static void set_by_frame(struct bpk_frame_header *header, const struct bpk_frame_header *frame)
{
	header->codec = frame->codec;
	header->level = frame->level;
	header->split = frame->split;
	header->user_codec = frame->user_codec;
	header->codec_meta = frame->codec_meta;
	header->pack_threads = frame->pack_threads;
	header->unpack_threads = frame->unpack_threads;
	header->block_size = frame->block_size;
	header->dictionary = frame->dictionary;
	/* version 1 has eight slots, filled from the first */
	memcpy(header->filters, frame->filters, BPK_CHUNK_MAX_FILTERS);
	memcpy(header->filter_metas, frame->filter_metas, BPK_CHUNK_MAX_FILTERS);
}

static void set_by_chunk(struct bpk_frame_header *header, const struct bpk_chunk_header *chunk)
{
	if (chunk->memcpyed || chunk->special != BPK_SPECIAL_NONE)
		return;
	header->codec = chunk->codec;
	header->block_size = chunk->variable_blocks ? 0 : chunk->block_size;
	set_filters(header, &chunk->pipeline);
}

static void set_defaults(struct bpk_frame_header *header, const struct bpk_info *info,
			 const struct bpk_recipe *recipe)
{
	const struct bpk_pipeline shuffle = bpk_pipeline_of(BPK_FILTER_SHUFFLE);

	header->codec = DEFAULT_CODEC;
	header->level = DEFAULT_LEVEL;
	header->split = SPLIT_FORWARD;
	header->pack_threads = header->unpack_threads = 1;
	set_filters(header, &shuffle);
	if (recipe != NULL)
		set_by_recipe(header, recipe);
	else if (info->frame != NULL)
		set_by_frame(header, info->frame);
	else if (info->chunks.has_first)
		set_by_chunk(header, &info->chunks.first);
	if (info->chunks.typesize > 0)
		header->typesize = info->chunks.typesize;
	else if (recipe != NULL)
		header->typesize = recipe->typesize;
	else
		header->typesize = info->chunks.has_first ? info->chunks.first.typesize : 1;
	/* the next byte always has the codec's number; 6 refers to it */
	if (recipe != NULL || info->frame == NULL)
		header->user_codec = header->codec;
}

/* ---- Layers ---- */

/* If the array gets a layer of its own, the metadata that describe it are left out. */
static int parse_layers(struct bpk_frame_output *out, const struct bpk_info *info,
			const struct bpk_write_options *options, struct bpk_err *err)
{
	struct bpk_view text = info->metadata.text;
	struct bpk_buf stripped = { 0 };
	struct bpk_array array;
	bool is_array = false;
	int rc = 0;

	if (bpk_frame_nd_is_wanted(info, options)) {
		if (bpk_array_from_metadata(text, &array, &is_array, NULL, err) != 0)
			return -1;
		bpk_array_clear(&array);
	}
	if (is_array) {
		rc = bpk_array_strip_metadata(text, &stripped, err);
		text = bpk_buf_view(&stripped);
	}
	if (rc == 0 && text.size > 0)
		rc = bpk_frame_layers_parse(text, &out->header.fixed, &out->layers, err);
	bpk_buf_clear(&stripped);
	return rc;
}

static int set_layers(struct bpk_frame_output *out, const struct bpk_info *info,
		      const struct bpk_write_options *options, struct bpk_err *err)
{
	bool same_fixed = options->recipe == NULL && info->frame != NULL;

	/* when chunks are copied, an array's geometry is copied unchanged */
	if (same_fixed && bpk_frame_layers_copy(&info->frame->fixed, &out->header.fixed, err) != 0)
		return -1;
	if (out->seal.generation == 0)
		bpk_frame_layers_remove(&out->header.fixed, BPK_FRAME_SEAL);
	if (info->metadata.layers == NULL && info->metadata.given)
		return parse_layers(out, info, options, err);
	for (size_t i = 0; i < info->metadata.nlayers; i++) {
		const struct bpk_layer *layer = &info->metadata.layers[i];

		if (layer->fixed && same_fixed)
			continue;
		if (bpk_frame_layers_set(layer->fixed ? &out->header.fixed : &out->layers,
					 layer->name, layer->content, err) != 0)
			return -1;
	}
	return 0;
}

/* Set the mark of a seal. It stands before the user's layers, which leave room for the record. */
static int begin_seal(struct bpk_frame_output *out, const struct bpk_info *info,
		      struct bpk_err *err)
{
	if (!info->seal.sealed)
		return 0;
	out->seal.generation = bpk_max_u64(info->seal.generation, 1);
	return bpk_frame_seal_mark(&out->header, err);
}

/* ---- Beginning ---- */

static int check_info(const struct bpk_info *info, struct bpk_err *err)
{
	if (info->chunks.size != BPK_UNKNOWN && info->chunks.size > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED)
		return bpk_fail(err, BPK_LIMIT,
				"chunks of %" PRIu64 " bytes, at most %d are possible in a frame",
				info->chunks.size, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED);
	if (info->chunks.typesize > INT32_MAX)
		return bpk_fail(err, BPK_LIMIT,
				"items of %" PRIu32 " bytes, at most %" PRId32
				" are possible in a frame",
				info->chunks.typesize, INT32_MAX);
	return 0;
}

/* The layers determine the header's length, and with it the position of the first chunk. */
static int measure_header(struct bpk_frame_output *out, struct bpk_err *err)
{
	struct bpk_buf bytes = { 0 };
	int rc = bpk_frame_header_write(&out->header, &bytes, err);

	bpk_buf_clear(&bytes);
	return rc;
}

int bpk_frame_output_begin(const struct bpk_info *info, const struct bpk_write_options *options,
			   bool sparse, struct bpk_frame_output *out, struct bpk_err *err)
{
	*out = (struct bpk_frame_output){ .checksum = info->chunks.checksum,
					  .full = info->chunks.size };
	if (out->full == 0)
		out->full = BPK_UNKNOWN;
	if (check_info(info, err) != 0)
		return -1;
	out->header.version = 2;
	out->header.sparse = sparse;
	out->header.chunk_size = -1;
	set_defaults(&out->header, info, options->recipe);
	out->ctx = bpk_chunk_ctx_new(err);
	if (out->ctx != NULL && begin_seal(out, info, err) == 0 &&
	    set_layers(out, info, options, err) == 0 &&
	    bpk_frame_nd_begin(info, options, out, err) == 0 && measure_header(out, err) == 0) {
		if (!out->has_nd)
			bpk_frame_nd_set_blocks(out);
		return 0;
	}
	bpk_frame_output_clear(out);
	return -1;
}

void bpk_frame_output_clear(struct bpk_frame_output *out)
{
	bpk_frame_header_clear(&out->header);
	bpk_frame_layers_clear(&out->layers);
	bpk_frame_nd_clear(&out->nd);
	bpk_chunk_ctx_free(out->ctx);
	bpk_seal_growth_clear(&out->seal);
	bpk_buf_clear(&out->entries);
	bpk_buf_clear(&out->digests);
	*out = (struct bpk_frame_output){ 0 };
}
