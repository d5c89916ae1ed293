/*
 * Fills in the bpk_info of a frame, for the reader.
 */
#include "format/frame/chunks.h"
#include "format/frame/names.h"
#include "format/frame/nd/bands.h"
#include "format/frame/survey.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MOST_TO_SURVEY = 256 }; /* most chunks whose headers are read at open, to find holes */

static void list_layers(struct bpk_frame_reader *r, const struct bpk_frame_layers *layers,
			bool fixed)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct bpk_frame_layer *layer = &layers->all[i];

		if (!bpk_frame_layer_is_ours(layer->name))
			r->layers[r->info.metadata.nlayers++] = (struct bpk_layer){
				.name = layer->name,
				.fixed = fixed,
				.content = bpk_buf_view(&layer->content),
			};
	}
}

/* List the metadata by name, and print them as one JSON object. */
static int fill_metadata(struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_layers *fixed = &r->state.header.fixed, *layers = &r->state.layers;
	struct bpk_info *info = &r->info;
	bool is_empty;

	r->layers = bpk_calloc(fixed->count + layers->count + 1, sizeof *r->layers, err);
	if (r->layers == NULL)
		return -1;
	list_layers(r, fixed, true);
	list_layers(r, layers, false);
	info->metadata.layers = r->layers;
	if (bpk_frame_layers_print(fixed, layers, &r->metadata, &is_empty, err) != 0)
		return -1;
	info->metadata.given = !is_empty;
	info->metadata.text = bpk_buf_view(&r->metadata);
	info->metadata.stored_size = BPK_UNKNOWN; /* each layer is packed separately */
	info->metadata.room = BPK_UNKNOWN;
	info->metadata.checksum = r->state.digests.checksum;
	return 0;
}

static const char *variant(const struct bpk_frame_reader *r)
{
	static const char *const names[] = { "version 1", "version 2", "version 3" };

	return names[r->state.header.version - 1];
}

static const char *unprotected(const struct bpk_frame_reader *r)
{
	if (r->state.seal.recorded)
		return "the frame from a return to an earlier state with its seal";
	if (r->state.digests.checksum == NULL)
		return r->dir == NULL
			       ? "the chunks, header, index and trailer, and the order of chunks"
			       : "the chunks, their order and " BPK_FRAME_SPARSE_INDEX;
	if (r->state.stale_header)
		return "the header, which another program wrote since bpk did";
	if (r->state.stale)
		return "the parts that another program wrote since bpk did";
	return r->dir == NULL ? "the frame from a return to an earlier header"
			      : "the frame from a return to an earlier " BPK_FRAME_SPARSE_INDEX;
}

/* Count the chunks that have files; the header has the total of their sizes. */
static int count_files(struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_info *info = &r->info;
	uint64_t count;

	if (bpk_frame_count_stored(&r->state, &count, err) != 0)
		return -1;
	info->directory.nfiles += count;
	if (!bpk_add_u64(info->stored_size, r->state.header.packed_size, &info->stored_size))
		info->stored_size = BPK_UNKNOWN;
	return 0;
}

/* Set the stored size. Holes are measured only if chunks are read as stored, and reads are cheap:
 * each chunk is looked at. */
static int fill_sizes(struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_info *info = &r->info;
	struct bpk_frame_survey survey;
	struct bpk_err why = { 0 };

	info->stored_size = bpk_source_size(r->source);
	if (r->dir != NULL)
		return count_files(r, err);
	info->hole_size = BPK_UNKNOWN;
	if (!r->options.as_stored || r->state.nchunks > MOST_TO_SURVEY ||
	    bpk_source_is_remote(r->source))
		return 0;
	if (bpk_frame_survey_here(r, &survey, &why) == 0)
		info->hole_size = survey.hole_size;
	else if (bpk_err_is_of_machine(&why))
		return bpk_fail_as(err, &why);
	return 0;
}

static int look_at_first_chunk(struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_frame_found found;
	struct bpk_err why = { 0 };

	if (r->state.nchunks == 0)
		return 0;
	r->info.chunks.has_first = bpk_frame_chunk_look(r, 0, &found, NULL, &why) == 0;
	if (r->info.chunks.has_first)
		r->info.chunks.first = found.header;
	else if (bpk_err_is_of_machine(&why)) /* damage is reported when it is fetched */
		return bpk_fail_as(err, &why);
	return 0;
}

/* ---- The array ---- */

static int check_array(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = &r->array.nd;

	if (nd->nchunks != r->state.nchunks)
		return bpk_fail(err, BPK_CORRUPT,
				"the array has %" PRIu64 " chunks, the frame %" PRIu64, nd->nchunks,
				r->state.nchunks);
	if (nd->nchunks > 0 && nd->chunk_size != (uint64_t)r->state.header.chunk_size)
		return bpk_fail(err, BPK_CORRUPT,
				"the array has chunks of %" PRIu64 " bytes, the frame of %" PRId32,
				nd->chunk_size, r->state.header.chunk_size);
	return 0;
}

/* Find the array; damage is reported when the array is read, and by audit. */
static void find_array(struct bpk_frame_reader *r)
{
	const struct bpk_frame_layers *fixed = &r->state.header.fixed;
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(fixed, BPK_FRAME_B2ND);
	bool older = layer == NULL;

	if (older)
		layer = bpk_frame_layers_find(fixed, BPK_FRAME_CATERVA);
	if (layer == NULL)
		return;
	/* nd.c names the metalayer in its errors */
	if (bpk_frame_nd_read(bpk_buf_view(&layer->content), older, r->state.header.typesize,
			      &r->array.nd, &r->array.damage) != 0 ||
	    check_array(r, &r->array.damage) != 0)
		return;
	r->array.is_nd = true;
	r->info.array.type = &r->array.nd.array;
	r->info.array.chunk_shape = r->array.nd.chunk_shape;
	r->info.array.block_shape = r->array.nd.block_shape;
}

int bpk_frame_info_fill(struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_header *header = &r->state.header;
	const struct bpk_checksum *checksum = r->state.digests.checksum;
	struct bpk_info *info = &r->info;
	bool even = r->sizes.regular || (r->state.nchunks == 0 && header->chunk_size > 0);

	info->format = r->dir != NULL ? "b2sparse" : "b2frame";
	info->variant = variant(r);
	info->raw_size = r->sizes.raw;
	info->chunks.count = r->state.nchunks;
	info->chunks.size = even ? (uint64_t)header->chunk_size : BPK_UNKNOWN;
	info->chunks.last_size = r->sizes.last;
	info->chunks.append_space = BPK_UNKNOWN; /* not limited */
	info->chunks.has_offsets = r->state.index_size > 0;
	info->chunks.typesize = header->typesize;
	info->chunks.checksum = checksum != NULL ? checksum : &bpk_checksums[0];
	info->unprotected = unprotected(r);
	info->damage = r->state.damage.kind != BPK_OK ? r->state.damage.text : NULL;
	info->pending = r->dir != NULL ? bpk_dir_pending(r->dir) : bpk_source_pending(r->source);
	info->chunks.extended = true;
	info->frame = header;
	info->seal.sealed = r->state.seal.recorded || r->state.seal.marked;
	info->seal.generation = r->state.seal.generation;
	memcpy(info->seal.root, r->state.seal.root, sizeof info->seal.root);
	if (look_at_first_chunk(r, err) != 0 || fill_sizes(r, err) != 0)
		return -1;
	find_array(r);
	if (bpk_frame_bands_begin(r, err) != 0)
		return -1;
	if (r->array.bands != NULL)
		info->chunks.composed = "its chunks have several dimensions";
	return fill_metadata(r, err);
}
