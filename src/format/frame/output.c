/*
 * Collects the content of a frame's end while its chunks come; writers and editors call it. In a
 * frame of version 2 all chunks but the last have one size, and chunks of zeros, NaN or
 * uninitialised values are then entries of the index without a stored chunk. If sizes differ
 * (version 3) such an entry would have no length, so the chunk is stored, as a repeated value.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/frame/writer.h"

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

/* When chunks are copied, an array's geometry is copied unchanged. */
static int copy_fixed(struct bpk_frame_output *out, const struct bpk_frame_layers *fixed,
		      struct bpk_err *err)
{
	for (size_t i = 0; i < fixed->count; i++)
		if (bpk_frame_layers_set(&out->header.fixed, fixed->all[i].name,
					 bpk_buf_view(&fixed->all[i].content), err) != 0)
			return -1;
	return 0;
}

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

static int take_layers(struct bpk_frame_output *out, const struct bpk_info *info,
		       const struct bpk_write_options *options, struct bpk_err *err)
{
	bool same_fixed = options->recipe == NULL && info->frame != NULL;

	if (same_fixed && copy_fixed(out, &info->frame->fixed, err) != 0)
		return -1;
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
	if (out->ctx != NULL && take_layers(out, info, options, err) == 0 &&
	    bpk_frame_nd_begin(info, options, out, err) == 0 && measure_header(out, err) == 0) {
		if (!out->has_nd)
			bpk_frame_nd_take_blocks(out);
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
	bpk_buf_clear(&out->entries);
	bpk_buf_clear(&out->digests);
	*out = (struct bpk_frame_output){ 0 };
}

/* ---- Chunks in another form ---- */

/* Store a chunk in c-blosc2's form, and write its digest, if there is one, to digest. */
static int store_spelled(struct bpk_frame_output *out, struct bpk_view as_it_is,
			 const struct bpk_chunk_header *header, uint64_t *entry, uint8_t *digest,
			 struct bpk_err *err)
{
	struct bpk_buf chunk = { 0 };
	uint8_t found[BPK_DIGEST_MAX];
	int rc = bpk_frame_spell(out, as_it_is, header, &chunk, err);

	if (rc == 0)
		rc = bpk_checksum_compute(out->checksum, bpk_buf_view(&chunk), found, err);
	if (rc == 0)
		rc = out->store(out->arg, bpk_buf_view(&chunk), entry, err);
	bpk_copy(digest, found, out->checksum->size);
	bpk_buf_clear(&chunk);
	out->nstored += rc == 0;
	return rc;
}

/* Store a chunk for the special entry of number, of the size that all chunks before the last
 * have. */
static int store_entry(struct bpk_frame_output *out, uint64_t number, enum bpk_special special,
		       struct bpk_err *err)
{
	uint8_t bytes[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	struct bpk_view chunk = bpk_view(bytes, sizeof bytes);
	bool is_last = number + 1 == out->nchunks;
	uint64_t size = is_last ? out->last_size : out->full;
	/* NaN is in the index only if it fits the typesize */
	unsigned typesize = special == BPK_SPECIAL_NAN ? out->header.typesize : 1;
	struct bpk_chunk_header header;
	uint8_t *digest = NULL;
	uint64_t entry;

	if (out->checksum->size > 0)
		digest = out->digests.data + number * out->checksum->size;
	bpk_chunk_write_special(special, (uint32_t)size, typesize, bytes);
	if (bpk_chunk_header_read(chunk, &header, err) != 0 ||
	    store_spelled(out, chunk, &header, &entry, digest, err) != 0)
		return -1;
	memcpy(out->entries.data + number * sizeof entry, &entry, sizeof entry);
	return 0;
}

int bpk_frame_output_vary(struct bpk_frame_output *out, struct bpk_err *err)
{
	out->header.variable_chunks = true;
	for (uint64_t i = 0; i < out->nchunks; i++) {
		uint64_t entry;
		int special;

		memcpy(&entry, out->entries.data + i * sizeof entry, sizeof entry);
		special = bpk_frame_offset_special(entry);
		if (special != BPK_SPECIAL_NONE &&
		    store_entry(out, i, (enum bpk_special)special, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Chunks ---- */

/* others: number of stored chunks besides this one */
static int check_chunk(const struct bpk_frame_output *out, uint64_t number,
		       const struct bpk_chunk_header *header, uint64_t others, struct bpk_err *err)
{
	bool stored = header->special == BPK_SPECIAL_NONE || header->special == BPK_SPECIAL_VALUE;

	if (header->header_size != BPK_CHUNK_EXTENDED_HEADER_SIZE)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk %" PRIu64 " is one of Blosc 1, which frames do not hold",
				number);
	if (stored && others > 0 && header->variable_blocks != out->header.variable_blocks)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunk %" PRIu64 " has blocks of %s length, other chunks have "
				"not: a frame does not hold both",
				number, header->variable_blocks ? "variable" : "fixed");
	if (number == BPK_FRAME_MAX_CHUNKS)
		return bpk_fail(err, BPK_LIMIT, "more than %d chunks, which no frame can have",
				BPK_FRAME_MAX_CHUNKS);
	return 0;
}

static int append_entry(struct bpk_frame_output *out, uint64_t entry, struct bpk_err *err)
{
	return bpk_buf_append(&out->entries, bpk_view(&entry, sizeof entry), err);
}

/* Store the chunk, or represent it in the index. digest is the chunk's, or stays zero. */
static int place(struct bpk_frame_output *out, uint64_t number, const struct bpk_parcel *parcel,
		 const struct bpk_chunk_header *header, uint64_t *entry, uint8_t *digest,
		 struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	bool readable;

	if (bpk_frame_is_told_by_index(out, header)) {
		*entry = bpk_frame_offset_of_special(header->special);
		return 0;
	}
	if (bpk_frame_is_readable(out, chunk, header, &readable, err) != 0)
		return -1;
	if (!readable)
		return store_spelled(out, chunk, header, entry, digest, err);
	if (parcel->packed.size < parcel->packed_size + out->checksum->size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was not sealed", number);
	bpk_copy(digest, parcel->packed.data + parcel->packed_size, out->checksum->size);
	out->header.variable_blocks = header->variable_blocks;
	out->nstored++;
	return out->store(out->arg, chunk, entry, err);
}

/* Read a chunk's header, and check it for this place. */
static int examine(const struct bpk_frame_output *out, uint64_t number, uint64_t others,
		   const struct bpk_parcel *parcel, struct bpk_chunk_header *header,
		   struct bpk_err *err)
{
	if (bpk_chunk_header_read(bpk_view(parcel->packed.data, parcel->packed_size), header,
				  err) != 0)
		return -1;
	return check_chunk(out, number, header, others, err);
}

static bool has_nans(const struct bpk_frame_output *out)
{
	for (uint64_t i = 0; i < out->nchunks; i++) {
		uint64_t entry;

		memcpy(&entry, out->entries.data + i * sizeof entry, sizeof entry);
		if (bpk_frame_offset_special(entry) == BPK_SPECIAL_NAN)
			return true;
	}
	return false;
}

/* Take the typesize from the first stored chunk, unless earlier special chunks contradict: all
 * chunks have items of one size (spell.c). */
static void settle_typesize(struct bpk_frame_output *out, const struct bpk_chunk_header *header)
{
	uint32_t item = out->header.typesize;

	if (!out->open_typesize || header->special == BPK_SPECIAL_ZERO ||
	    header->special == BPK_SPECIAL_UNINIT)
		return;
	out->open_typesize = false;
	/* larger than the typesize field of a chunk */
	if (item > BPK_CHUNK_MAX_TYPESIZE && item % header->typesize == 0)
		return;
	if (out->full % header->typesize != 0 || has_nans(out) ||
	    (out->nchunks > 0 && out->last_size != out->full))
		return;
	out->header.typesize = header->typesize;
}

int bpk_frame_output_put(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX] = { 0 };
	struct bpk_chunk_header header;
	uint64_t entry;

	if (parcel->raw_size == 0)
		return 0;
	if (examine(out, out->nchunks, out->nstored, parcel, &header, err) != 0)
		return -1;
	if (out->full == BPK_UNKNOWN)
		out->full = header.raw_size;
	settle_typesize(out, &header);
	if (!out->header.variable_chunks &&
	    (header.raw_size > out->full || (out->nchunks > 0 && out->last_size != out->full)) &&
	    bpk_frame_output_vary(out, err) != 0)
		return -1;
	if (place(out, out->nchunks, parcel, &header, &entry, digest, err) != 0 ||
	    append_entry(out, entry, err) != 0 ||
	    bpk_buf_append(&out->digests, bpk_view(digest, out->checksum->size), err) != 0)
		return -1;
	out->nchunks++;
	out->raw_size += header.raw_size;
	out->last_size = header.raw_size;
	return 0;
}

int bpk_frame_output_replace(struct bpk_frame_output *out, const struct bpk_parcel *parcel,
			     struct bpk_err *err)
{
	uint8_t *place_of_entry = out->entries.data + parcel->number * sizeof(uint64_t);
	uint8_t digest[BPK_DIGEST_MAX] = { 0 };
	struct bpk_chunk_header header;
	uint64_t entry, was_stored;

	memcpy(&entry, place_of_entry, sizeof entry);
	was_stored = bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE;
	if (examine(out, parcel->number, out->nstored - was_stored, parcel, &header, err) != 0 ||
	    place(out, parcel->number, parcel, &header, &entry, digest, err) != 0)
		return -1;
	out->nstored -= was_stored;
	memcpy(place_of_entry, &entry, sizeof entry);
	if (out->checksum->size > 0)
		memcpy(out->digests.data + parcel->number * out->checksum->size, digest,
		       out->checksum->size);
	return 0;
}

/* ---- The end ---- */

int bpk_frame_output_check(const struct bpk_frame_output *out, uint64_t announced,
			   struct bpk_err *err)
{
	if (out->has_nd && out->nchunks != out->nd.nchunks)
		return bpk_fail(err, BPK_FAILED,
				"the array has %" PRIu64 " chunks, %" PRIu64 " came",
				out->nd.nchunks, out->nchunks);
	if (!out->has_nd && announced != BPK_UNKNOWN && out->raw_size != announced)
		return bpk_fail(err, BPK_FAILED,
				"%" PRIu64 " bytes were announced, %" PRIu64 " came", announced,
				out->raw_size);
	return 0;
}

int bpk_frame_output_end(struct bpk_frame_output *out, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err)
{
	struct bpk_frame_header *header = &out->header;
	const struct bpk_frame_ending ending = {
		.header = header,
		.layers = &out->layers,
		.entries = (const uint64_t *)(const void *)out->entries.data, /* aligned */
		.nchunks = out->nchunks,
		.checksum = out->checksum,
		.chunk_digests = bpk_buf_view(&out->digests),
		.payload_end = payload_end,
	};

	header->raw_size = out->raw_size;
	header->packed_size = payload;
	header->has_layers = out->layers.count > 0;
	/* without chunks it stays unchanged: -1, or the chunk size of an array without items */
	if (out->nchunks > 0)
		header->chunk_size = header->variable_chunks ? 0 : (int32_t)out->full;
	return bpk_frame_end(out->ctx, &ending, header_bytes, tail, err);
}
