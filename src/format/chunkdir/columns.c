/*
 * Packs parcels of records as columns: the records are split, and each column's part is packed
 * separately. Writer and editor call it.
 */
#include "format/chunkdir/output.h"

#include <inttypes.h>

unsigned bpk_chunkdir_typesize(const struct bpk_dtype *dtype)
{
	const struct bpk_scalar *scalar = &dtype->scalar;

	if (scalar->kind == 'S' || scalar->item_size > BPK_CHUNK_MAX_TYPESIZE)
		return 1;
	return scalar->kind == 'U' ? 4 : scalar->item_size;
}

/* ---- Packing ---- */

/* Bytes that one column of a parcel of nitems items needs in packed: chunk and seal. */
static size_t piece_room(const struct bpk_chunkdir_column *column, size_t nitems)
{
	return bpk_chunk_bound(nitems * column->item_size) + BPK_DIGEST_MAX;
}

/* Reserve room for all pieces, and after them for one unpacked column. */
static int make_room(const struct bpk_chunkdir *set, size_t nitems, struct bpk_buf *packed,
		     size_t *scratch, struct bpk_err *err)
{
	size_t largest = 0;

	packed->size = 0;
	if (bpk_chunkdir_pieces_begin(packed, set->ncolumns, err) != 0)
		return -1;
	*scratch = packed->size;
	for (size_t i = 0; i < set->ncolumns; i++) {
		const struct bpk_chunkdir_column *column = &set->columns[i];

		*scratch += piece_room(column, nitems);
		largest = bpk_max_u64(largest, nitems * column->item_size);
	}
	*scratch += -*scratch % BPK_ALIGNMENT;
	return bpk_buf_reserve(packed, *scratch + largest, err);
}

/* The recipe for a column: with its own typesize, and no shuffle if that is 1. */
static struct bpk_recipe recipe_of(const struct bpk_recipe *recipe,
				   const struct bpk_chunkdir_column *column)
{
	struct bpk_recipe own = *recipe;

	own.typesize = bpk_chunkdir_typesize(column->dtype);
	if (own.typesize == 1 && bpk_chunkdir_filter(&own.pipeline) == BPK_FILTER_SHUFFLE)
		own.pipeline = bpk_pipeline_of(BPK_FILTER_NONE);
	return own;
}

bool bpk_chunkdir_packs(const struct bpk_chunkdir *set)
{
	return set->has_columns ||
	       (set->layout != BPK_CHUNKDIR_BLAZE && set->array.dtype.scalar.item_size > 1);
}

/* Pack with the typesize of the elements: bcolz records no other, and its readers may rely on
 * it. */
static int pack_plain(const struct bpk_chunkdir *set, struct bpk_chunk_ctx *ctx,
		      const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	struct bpk_recipe own = recipe_of(recipe, &set->columns[0]);
	size_t bound = bpk_chunk_bound(parcel->raw.size);

	parcel->packed.size = 0;
	if (bpk_buf_reserve(&parcel->packed, bound + BPK_DIGEST_MAX, err) != 0)
		return -1;
	return bpk_chunk_encode(ctx, &own, bpk_buf_view(&parcel->raw),
				bpk_span(parcel->packed.data, bound), &parcel->packed_size, err);
}

static int pack_columns(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
			struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
			struct bpk_parcel *parcel, struct bpk_err *err)
{
	size_t item_size = set->array.dtype.size, nitems = parcel->raw.size / item_size, scratch;
	struct bpk_buf *packed = &parcel->packed;

	if (parcel->raw.size % item_size != 0)
		return bpk_fail(err, BPK_FAILED, "%zu bytes are not whole records of %zu",
				parcel->raw.size, item_size);
	if (make_room(set, nitems, packed, &scratch, err) != 0)
		return -1;
	for (size_t i = 0; i < set->ncolumns; i++) {
		const struct bpk_chunkdir_column *column = &set->columns[i];
		struct bpk_chunkdir_piece *piece = &bpk_chunkdir_pieces(packed)->piece[i];
		struct bpk_recipe own = recipe_of(recipe, column);

		*piece = (struct bpk_chunkdir_piece){ .column = (uint32_t)i,
						      .checksum = checksum,
						      .offset = packed->size,
						      .raw_size = nitems * column->item_size,
						      .nitems = nitems,
						      .number = parcel->number,
						      .file_offset = BPK_UNKNOWN };
		if (nitems > 0)
			bpk_chunkdir_gather(parcel->raw.data + column->item_offset, item_size,
					    nitems, packed->data + scratch, column->item_size);
		if (bpk_chunk_encode(
			    ctx, &own, bpk_view(packed->data + scratch, piece->raw_size),
			    bpk_span(packed->data + packed->size, bpk_chunk_bound(piece->raw_size)),
			    &piece->size, err) != 0)
			return bpk_err_subject(err, "column %s", column->name);
		packed->size += piece->size + checksum->size;
	}
	parcel->packed_size = packed->size;
	return 0;
}

int bpk_chunkdir_pack(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
		      struct bpk_chunk_ctx *ctx, const struct bpk_recipe *recipe,
		      struct bpk_parcel *parcel, struct bpk_err *err)
{
	return set->has_columns ? pack_columns(set, checksum, ctx, recipe, parcel, err)
				: pack_plain(set, ctx, recipe, parcel, err);
}

int bpk_chunkdir_prove(const struct bpk_chunkdir *set, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	if (set->has_columns)
		return bpk_chunkdir_unpack(set, ctx, parcel, out, err);
	return bpk_chunk_decode(ctx, bpk_view(parcel->packed.data, parcel->packed_size), out, err);
}

/* ---- Seals ---- */

static int seal_at(const struct bpk_checksum *checksum, uint8_t *chunk, size_t size,
		   struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_checksum_compute(checksum, bpk_view(chunk, size), digest, err) != 0)
		return -1;
	bpk_copy(chunk + size, digest, checksum->size);
	return 0;
}

/* Pieces copied from a directory with another checksum: move them apart as our seals need. */
static int respace(const struct bpk_checksum *checksum, struct bpk_parcel *parcel,
		   struct bpk_err *err)
{
	const struct bpk_chunkdir_pieces *from = bpk_chunkdir_pieces(&parcel->packed);
	struct bpk_buf packed = { 0 };

	if (bpk_chunkdir_pieces_begin(&packed, from->npieces, err) != 0)
		return -1;
	for (size_t i = 0; i < from->npieces; i++) {
		struct bpk_chunkdir_piece piece = from->piece[i];
		size_t at = packed.size;

		if (bpk_buf_append(&packed,
				   bpk_view(parcel->packed.data + piece.offset, piece.size),
				   err) != 0 ||
		    bpk_buf_resize(&packed, at + piece.size + checksum->size, err) != 0) {
			bpk_buf_clear(&packed);
			return -1;
		}
		piece.offset = at;
		piece.checksum = checksum;
		bpk_chunkdir_pieces(&packed)->piece[i] = piece;
	}
	bpk_buf_clear(&parcel->packed);
	parcel->packed = packed;
	parcel->packed_size = packed.size;
	return 0;
}

/* True if every piece is the one whole chunk of its column. */
static bool are_whole(const struct bpk_chunkdir *set, const struct bpk_chunkdir_pieces *pieces)
{
	if (pieces->npieces != set->ncolumns)
		return false;
	for (size_t i = 0; i < pieces->npieces; i++) {
		const struct bpk_chunkdir_piece *piece = &pieces->piece[i];

		if (piece->column != i || piece->skip != 0 || piece->item != 0 ||
		    piece->raw_size != piece->nitems * set->columns[i].item_size)
			return false;
	}
	return true;
}

int bpk_chunkdir_seal(const struct bpk_chunkdir *set, const struct bpk_checksum *checksum,
		      struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_buf *packed = &parcel->packed;
	struct bpk_chunkdir_pieces *pieces;
	bool spaced = true;

	if (!set->has_columns)
		return bpk_parcel_seal(checksum, parcel, err);
	pieces = bpk_chunkdir_pieces(packed);
	if (!are_whole(set, pieces))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"chunks of columns that differ in length cannot be copied");
	for (size_t i = 0; i < pieces->npieces; i++)
		spaced = spaced && pieces->piece[i].checksum == checksum;
	if (!spaced && respace(checksum, parcel, err) != 0)
		return -1;
	pieces = bpk_chunkdir_pieces(packed);
	for (size_t i = 0; i < pieces->npieces; i++)
		if (seal_at(checksum, packed->data + pieces->piece[i].offset, pieces->piece[i].size,
			    err) != 0)
			return -1;
	return 0;
}

/* ---- Output ---- */

int bpk_chunkdir_put(struct bpk_chunkdir_output *out, uint64_t nchunks,
		     const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_chunkdir_pieces *pieces = bpk_chunkdir_pieces(&parcel->packed);
	struct bpk_chunkdir_sealed chunk = { parcel->packed.data, parcel->packed_size,
					     parcel->raw_size };

	if (!out->set->has_columns)
		return bpk_chunkdir_output_put(out, 0, parcel->number, nchunks, &chunk, err);
	for (size_t i = 0; i < pieces->npieces; i++) {
		const struct bpk_chunkdir_piece *piece = &pieces->piece[i];

		chunk = (struct bpk_chunkdir_sealed){ parcel->packed.data + piece->offset,
						      piece->size, piece->raw_size };
		if (bpk_chunkdir_output_put(out, i, parcel->number, nchunks, &chunk, err) != 0)
			return -1;
	}
	return 0;
}
