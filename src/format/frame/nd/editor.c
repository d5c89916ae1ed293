/*
 * Changes an array in multidimensional chunks, for both editors of frames. It grows and shrinks by
 * rows, along its first dimension. A parcel is a band of one row of the grid of chunks:
 *
 *     rows 0..3    chunks 0 1 2      band 0
 *     rows 4..7    chunks 3 4 5      band 1
 *     row  8       chunks 6 7 8      band 2, not full: recompressed when rows are added
 *
 * Chunks are counted in C order, so remaining chunks keep their numbers whatever the number of
 * rows. That number is in the metalayer, inside the header, and so changes together with the sizes.
 */
#include <inttypes.h>

#include "format/frame/editor.h"
#include "format/frame/fetch.h"
#include "format/frame/nd/bands.h"

/* ---- The committed array ---- */

static const struct bpk_frame_nd *array_of(const struct bpk_frame_editor *e)
{
	return &e->reader->array.nd;
}

/* Chunks of a band. */
static uint64_t band_chunks(const struct bpk_frame_nd *nd)
{
	uint64_t count = 1;

	for (size_t i = 1; i < nd->array.ndimensions; i++)
		count *= nd->grid[i];
	return count;
}

/* Raw bytes of a full band; 0 if bands cannot be added. */
static uint64_t band_size(const struct bpk_frame_nd *nd)
{
	uint64_t row_size = bpk_frame_nd_row_size(nd), size;

	if (nd->array.ndimensions == 0)
		return nd->array.dtype.size;
	return bpk_mul_u64(row_size, nd->chunk_shape[0], &size) && size <= BPK_CHUNK_MAX_RAW_SIZE
		       ? size
		       : 0;
}

void bpk_frame_nd_load(struct bpk_frame_editor *e)
{
	bpk_frame_bands_for_changing(e->reader);
	e->info = e->reader->info;
	e->info.chunks.size = band_size(array_of(e));
	e->info.array.row_size = e->info.chunks.size > 0 ? bpk_frame_nd_row_size(array_of(e)) : 0;
	e->rows = array_of(e)->array.shape[0];
}

/* ---- Limits of changes ---- */

/* Report why no band can be packed. */
static int fail_band(const struct bpk_frame_nd *nd, struct bpk_err *err)
{
	if (bpk_frame_nd_row_size(nd) == 0)
		return bpk_fail(err, BPK_UNSUPPORTED, "rows without bytes cannot be changed");
	if (nd->chunk_shape[0] == 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"the array's chunks have no rows, so none can be added");
	return bpk_fail(err, BPK_LIMIT,
			"all chunks that hold the same rows have more than %d bytes together, "
			"which cannot be packed at a time",
			BPK_CHUNK_MAX_RAW_SIZE);
}

int bpk_frame_nd_check(const struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = array_of(e);
	const struct bpk_frame_header *header = &e->reader->state.header;
	uint64_t size = nd->nchunks * nd->chunk_size; /* both below 2^31 */

	if (header->raw_size != size)
		return bpk_fail(err, BPK_CORRUPT,
				"the array's chunks have %" PRIu64
				" bytes, the header says %" PRIu64,
				size, header->raw_size);
	return band_size(nd) > 0 ? 0 : fail_band(nd, err);
}

/* ---- Rows ---- */

int bpk_frame_nd_cut_rows(struct bpk_frame_editor *e, uint64_t nbands, uint64_t *nchunks,
			  struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = array_of(e);

	if (nd->array.ndimensions == 0)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"an array without dimensions holds a single item, no more and no "
				"less");
	if (nbands < e->info.chunks.count)
		e->rows = nbands * nd->chunk_shape[0];
	*nchunks = nbands * band_chunks(nd);
	return 0;
}

/* The number of rows up to the parcel, which is the last one. */
static int count_rows(const struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
		      uint64_t *rows, struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = array_of(e);
	uint64_t row_size = bpk_frame_nd_row_size(nd), start = parcel->number * nd->chunk_shape[0];

	*rows = start + parcel->raw_size / row_size;
	if (parcel->raw_size % row_size == 0)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%" PRIu64 " bytes are not whole rows of %" PRIu64,
			start * row_size + parcel->raw_size, row_size);
}

int bpk_frame_nd_set_shape(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct bpk_frame_layers *fixed = &e->output.header.fixed;
	struct bpk_frame_nd nd = *array_of(e); /* borrows its type */
	struct bpk_frame_layer *layer = bpk_frame_layers_find(fixed, BPK_FRAME_B2ND);

	if (e->rows == nd.array.shape[0])
		return 0;
	if (layer == NULL)
		layer = bpk_frame_layers_find(fixed, BPK_FRAME_CATERVA);
	if (bpk_frame_nd_set_rows(&nd, e->rows, err) != 0)
		return -1;
	if (layer == NULL || nd.nchunks != e->output.nchunks)
		return bpk_fail(err, BPK_BUG,
				"%" PRIu64 " chunks for %" PRIu64 " rows, not %" PRIu64,
				e->output.nchunks, e->rows, nd.nchunks);
	bpk_frame_nd_write_rows(e->rows, &layer->content);
	return 0;
}

/* ---- Packing ---- */

/* True if the committed frame holds these bytes; false if its chunk cannot be read. */
static bool holds(const void *arg, struct bpk_chunk_ctx *ctx, uint64_t number, struct bpk_view raw)
{
	const struct bpk_frame_editor *e = arg;
	struct bpk_parcel old = { .number = number, .want_size = SIZE_MAX };
	struct bpk_buf bytes = { 0 };
	bool same;

	bpk_chunk_ctx_set_typesize(ctx, e->info.chunks.typesize);
	same = bpk_frame_fetch(e->reader, &old, NULL) == 0 && old.raw_size == raw.size &&
	       bpk_frame_chunk_check(e->reader, &old, NULL) == 0 &&
	       bpk_buf_resize(&bytes, raw.size, NULL) == 0 &&
	       bpk_chunk_decode(ctx, bpk_view(old.packed.data, old.packed_size),
				bpk_span(bytes.data, bytes.size), NULL) == 0 &&
	       memcmp(bytes.data, raw.data, raw.size) == 0;
	bpk_buf_clear(&old.packed);
	bpk_buf_clear(&bytes);
	return same;
}

/* Pack the band, as the last one of an array that ends with it. */
int bpk_frame_nd_pack_band(const void *editor, struct bpk_chunk_ctx *ctx,
			   const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
			   struct bpk_err *err)
{
	const struct bpk_frame_editor *e = editor;
	struct bpk_frame_nd nd = *array_of(e); /* borrows its type */
	const struct bpk_frame_packing packing = {
		.nd = &nd,
		.purpose = BPK_FRAME_CHANGING,
		.checksum = e->info.chunks.checksum,
		.holds = e->is_cut ? NULL : holds,
		.arg = e,
	};
	uint64_t rows;

	/* a partial row is reported by put */
	parcel->packed_size = 0;
	if (nd.array.ndimensions > 0 && count_rows(e, parcel, &rows, NULL) != 0)
		return bpk_frame_band_begin(&parcel->packed, 0, err);
	if (nd.array.ndimensions > 0 && bpk_frame_nd_set_rows(&nd, rows, err) != 0)
		return -1;
	return bpk_frame_nd_pack(&packing, ctx, recipe, parcel, err);
}

/* ---- Putting ---- */

/* Add rows after the existing ones. */
static int add(struct bpk_frame_editor *e, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = array_of(e);
	uint64_t next = e->output.nchunks / band_chunks(nd);

	if (parcel->number != next || e->rows != next * nd->chunk_shape[0])
		return bpk_fail(err, BPK_BUG,
				"band %" PRIu64 " was put after %" PRIu64
				" rows, expected %" PRIu64,
				parcel->number, e->rows, next);
	if (count_rows(e, parcel, &e->rows, err) != 0)
		return -1;
	return bpk_frame_nd_put(&e->output, nd->chunk_size, parcel, bpk_frame_output_put, err);
}

/* Chunks are left out of a band if the committed frame holds them: test that they have not been
 * replaced since. */
static int check_left_out(const struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			  struct bpk_err *err)
{
	const struct bpk_frame_band *band = bpk_frame_band(&parcel->packed);
	uint64_t count = band_chunks(array_of(e)), first = parcel->number * count;
	size_t next = 0;

	for (uint64_t i = first; i < first + count; i++) {
		uint64_t old, now;

		if (next < band->count && band->chunk[next].number == i) {
			next++;
			continue;
		}
		if (bpk_frame_entry(&e->reader->state, i, &old, err) != 0)
			return -1;
		memcpy(&now, e->output.entries.data + i * sizeof now, sizeof now);
		if (now != old)
			return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was put twice", i);
	}
	return 0;
}

static int replace(struct bpk_frame_editor *e, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_frame_bands *bands = e->reader->array.bands;
	uint64_t first, size = 0;

	if (parcel->number < bands->count)
		size = bpk_frame_band_items(bands, parcel->number, &first) *
		       array_of(e)->array.dtype.size;
	if (parcel->raw_size != size)
		return bpk_fail(err, BPK_BUG, "band %" PRIu64 " of %zu bytes for one of %" PRIu64,
				parcel->number, parcel->raw_size, size);
	if (check_left_out(e, parcel, err) != 0)
		return -1;
	return bpk_frame_nd_put(&e->output, array_of(e)->chunk_size, parcel,
				bpk_frame_output_replace, err);
}

int bpk_frame_nd_put_band(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			  struct bpk_err *err)
{
	return (e->is_cut ? add : replace)(e, parcel, err);
}
