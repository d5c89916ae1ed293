/*
 * Packs bands of multidimensional arrays, for writers and editors: raw bytes in C order are
 * distributed to the chunks that hold them.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/frame/nd/bands.h"
#include "format/frame/output.h"

enum {
	/* Defaults: small enough that a slice unpacks little more than it holds, large enough for a
	 * good compression ratio. */
	BLOCK_SIZE = 128 << 10,
	CHUNK_SIZE = 1 << 20,
};

/* ---- Dividing an array ---- */

static void fill_division(const struct bpk_frame_nd *nd, struct bpk_division *division)
{
	struct bpk_slice whole = bpk_frame_nd_whole(nd);
	struct bpk_frame_bands bands = bpk_frame_bands_of(nd, &whole, BPK_FRAME_WRITING);

	*division = (struct bpk_division){ .chunk_size = nd->chunk_size,
					   .block_size = (uint32_t)nd->block_size };
	memcpy(division->chunk_shape, nd->chunk_shape, sizeof nd->chunk_shape);
	memcpy(division->block_shape, nd->block_shape, sizeof nd->block_shape);
	/* an array without items has no parcels */
	division->parcel_size = bpk_max_u64(bands.size, 1) * nd->array.dtype.size;
}

int bpk_frame_divide(const struct bpk_array *array, const struct bpk_write_options *options,
		     uint64_t chunk_size, uint64_t block_size, struct bpk_division *division,
		     struct bpk_err *err)
{
	struct bpk_frame_nd nd;

	if (bpk_frame_nd_make(array, options->chunk_shape, options->block_shape,
			      chunk_size > 0 ? chunk_size : CHUNK_SIZE,
			      block_size > 0 ? block_size : BLOCK_SIZE, &nd, err) != 0)
		return -1;
	fill_division(&nd, division);
	bpk_frame_nd_clear(&nd);
	if (division->parcel_size > BPK_CHUNK_MAX_RAW_SIZE)
		return bpk_fail(err, BPK_LIMIT,
				"all chunks that hold the same rows have %" PRIu64
				" bytes together, at most %d are packed at a time: chunks of fewer "
				"rows avoid that",
				division->parcel_size, BPK_CHUNK_MAX_RAW_SIZE);
	return 0;
}

/* ---- Beginning ---- */

static int set_layer(struct bpk_frame_output *out, struct bpk_err *err)
{
	struct bpk_buf content = { 0 };
	int rc = bpk_frame_nd_write(&out->nd, &content, err);

	if (rc == 0)
		rc = bpk_frame_layers_set(&out->header.fixed, BPK_FRAME_B2ND,
					  bpk_buf_view(&content), err);
	bpk_buf_clear(&content);
	return rc;
}

bool bpk_frame_nd_is_wanted(const struct bpk_info *info, const struct bpk_write_options *options)
{
	return info->array.type != NULL && options->chunk_shape != NULL &&
	       options->block_shape != NULL;
}

int bpk_frame_nd_begin(const struct bpk_info *info, const struct bpk_write_options *options,
		       struct bpk_frame_output *out, struct bpk_err *err)
{
	if (!bpk_frame_nd_is_wanted(info, options))
		return 0;
	if (bpk_frame_nd_make(info->array.type, options->chunk_shape, options->block_shape, 0, 0,
			      &out->nd, err) != 0)
		return -1;
	out->has_nd = true;
	out->full = out->nd.chunk_size;
	out->block_size = (uint32_t)out->nd.block_size;
	out->header.typesize = (uint32_t)out->nd.array.dtype.size;
	out->header.block_size = (uint32_t)out->nd.block_size;
	/* set even if the frame has no chunks ("b2nd metalayer") */
	out->header.chunk_size = (int32_t)out->nd.chunk_size;
	return set_layer(out, err);
}

/* Copied chunks must keep the block size of the copied layer, if that is valid. */
void bpk_frame_nd_set_blocks(struct bpk_frame_output *out)
{
	struct bpk_frame_layers *fixed = &out->header.fixed;
	const struct bpk_frame_layer *older = bpk_frame_layers_find(fixed, BPK_FRAME_CATERVA);
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(fixed, BPK_FRAME_B2ND);
	struct bpk_frame_nd nd;

	if (layer == NULL && older == NULL)
		return;
	if (bpk_frame_nd_read(bpk_buf_view(&(layer != NULL ? layer : older)->content),
			      layer == NULL, out->header.typesize, &nd, NULL) != 0)
		return;
	out->block_size = (uint32_t)nd.block_size;
	bpk_frame_nd_clear(&nd);
}

/* ---- Packing ---- */

struct bpk_frame_packing bpk_frame_packing_of(const struct bpk_frame_output *out)
{
	return (struct bpk_frame_packing){ .nd = &out->nd,
					   .purpose = BPK_FRAME_WRITING,
					   .checksum = out->checksum };
}

/* A band being packed. */
struct packer {
	const struct bpk_frame_packing *packing;
	const struct bpk_frame_pieces *pieces;
	const struct bpk_recipe *recipe;
	struct bpk_chunk_ctx *ctx;
	struct bpk_parcel *parcel;
	struct bpk_buf scratch; /* an unpacked chunk */
	uint64_t count;         /* chunks of the band */
};

static int count_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	(void)number;
	(void)err;
	((struct packer *)arg)->count++;
	return 0;
}

static int pack_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	struct packer *p = arg;
	const struct bpk_frame_packing *packing = p->packing;
	struct bpk_view raw = bpk_buf_view(&p->scratch);
	struct bpk_buf *packed = &p->parcel->packed;
	size_t at = packed->size, bound = bpk_chunk_bound(raw.size), size;
	struct bpk_frame_band *band = bpk_frame_band(packed);

	bpk_frame_nd_gather(packing->nd, number, p->pieces, p->parcel->raw.data, p->scratch.data);
	if (packing->holds != NULL && packing->holds(packing->arg, p->ctx, number, raw))
		return 0;
	if (bpk_chunk_encode(p->ctx, p->recipe, raw, bpk_span(packed->data + at, bound), &size,
			     err) != 0)
		return bpk_err_subject(err, "chunk %" PRIu64, number);
	band->chunk[band->count++] = (struct bpk_frame_band_chunk){
		.number = number,
		.offset = at,
		.packed_size = size,
		.size = size + packing->checksum->size,
	};
	packed->size = at + size + packing->checksum->size;
	return 0;
}

/* Reserve room for all chunks at their largest packed size, and for their seals. */
static int make_room(struct packer *p, struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = p->packing->nd;
	struct bpk_buf *packed = &p->parcel->packed;
	uint64_t room = bpk_chunk_bound((size_t)nd->chunk_size) + p->packing->checksum->size;

	packed->size = 0;
	if (bpk_frame_nd_each_chunk(nd, p->pieces, count_chunk, p, err) != 0 ||
	    bpk_frame_band_begin(packed, p->count, err) != 0)
		return -1;
	if (!bpk_mul_u64(room, p->count, &room) || room > SIZE_MAX - packed->size)
		return bpk_fail_memory(err, UINT64_MAX);
	if (bpk_buf_reserve(packed, packed->size + (size_t)room, err) != 0)
		return -1;
	return bpk_buf_resize(&p->scratch, (size_t)nd->chunk_size, err);
}

/* Find the items of the parcel's band; BPK_FAILED unless the parcel has exactly these. */
static int cut_band(const struct bpk_frame_packing *packing, const struct bpk_parcel *parcel,
		    struct bpk_slice *whole, uint64_t *first, uint64_t *count, struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = packing->nd;
	struct bpk_frame_bands bands;

	*whole = bpk_frame_nd_whole(nd);
	bands = bpk_frame_bands_of(nd, whole, packing->purpose);
	*first = *count = 0;
	if (parcel->number < bands.count)
		*count = bpk_frame_band_items(&bands, parcel->number, first);
	if (parcel->raw_size != *count * nd->array.dtype.size)
		return bpk_fail(err, BPK_FAILED,
				"%zu bytes came, the array has %" PRIu64 " items here",
				parcel->raw_size, *count);
	return 0;
}

int bpk_frame_nd_pack(const struct bpk_frame_packing *packing, struct bpk_chunk_ctx *ctx,
		      const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	const struct bpk_frame_nd *nd = packing->nd;
	struct bpk_recipe own = *recipe;
	struct bpk_frame_pieces *pieces;
	struct packer p = { .packing = packing, .recipe = &own, .ctx = ctx, .parcel = parcel };
	struct bpk_slice whole;
	uint64_t first, count;
	int rc;

	own.block_size = (uint32_t)nd->block_size;
	own.exact_blocks = true;
	/* blocks must hold whole elements, or c-blosc2 cannot read parts of a chunk */
	own.typesize = (unsigned)bpk_gcd_u64(recipe->typesize, nd->array.dtype.size);
	if (cut_band(packing, parcel, &whole, &first, &count, err) != 0)
		return -1;
	pieces = bpk_frame_pieces_new(err);
	if (pieces == NULL)
		return -1;
	bpk_frame_nd_cut(nd, &whole, first, count, pieces);
	p.pieces = pieces;
	rc = make_room(&p, err);
	if (rc == 0)
		rc = bpk_frame_nd_each_chunk(nd, pieces, pack_chunk, &p, err);
	parcel->packed_size = parcel->packed.size;
	bpk_buf_clear(&p.scratch);
	free(pieces);
	return rc;
}

int bpk_frame_nd_prove(const struct bpk_frame_packing *packing, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span raw, struct bpk_err *err)
{
	struct bpk_slice whole;
	uint64_t first, count, failed;

	if (cut_band(packing, parcel, &whole, &first, &count, err) != 0)
		return -1;
	return bpk_frame_band_unpack(packing->nd, &whole, first, count, ctx, &parcel->packed, raw,
				     &failed, err);
}

/* ---- Sealing and putting ---- */

/* A chunk of a band as a parcel, which borrows its bytes. */
static struct bpk_parcel parcel_of(const struct bpk_parcel *band,
				   const struct bpk_frame_band_chunk *chunk)
{
	struct bpk_parcel parcel = { .number = chunk->number, .packed_size = chunk->packed_size };

	parcel.packed.data = band->packed.data + chunk->offset;
	parcel.packed.size = parcel.packed.capacity = chunk->size;
	return parcel;
}

int bpk_frame_nd_seal(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	const struct bpk_frame_band *band = bpk_frame_band(&parcel->packed);

	for (size_t i = 0; i < band->count; i++) {
		struct bpk_parcel chunk = parcel_of(parcel, &band->chunk[i]);

		chunk.packed.size = chunk.packed_size;
		if (bpk_parcel_seal(checksum, &chunk, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_frame_nd_put(struct bpk_frame_output *out, uint64_t chunk_size,
		     const struct bpk_parcel *parcel, bpk_frame_put_fn *put_chunk,
		     struct bpk_err *err)
{
	const struct bpk_frame_band *band = bpk_frame_band(&parcel->packed);

	for (size_t i = 0; i < band->count; i++) {
		struct bpk_parcel chunk = parcel_of(parcel, &band->chunk[i]);

		chunk.raw_size = (size_t)chunk_size;
		if (put_chunk(out, &chunk, err) != 0)
			return -1;
	}
	return 0;
}
