/*
 * Records and columns: the pieces of a parcel, and the copies between columns and records. Called
 * by columns.c and reader.c. Columns are unpacked into one buffer, concatenated. Then a few records
 * at a time are assembled, so that the output stays in cache while all columns add to it:
 *
 *      x x x x x x . . .            x yy zzz x yy zzz
 *      yyyyyyyyyyyyyyyyyy    ->     x yy zzz x yy zzz
 *      zzzzzzzzzzzzzzzzzzzzz        ...
 */
#include "format/chunkdir/chunkdir.h"

#include "format/chunkdir/meta.h"

enum { RECORDS_IN_CACHE = 16 << 10 }; /* bytes of records that are assembled at a time */

int bpk_chunkdir_pieces_begin(struct bpk_buf *packed, size_t npieces, struct bpk_err *err)
{
	size_t size =
		sizeof(struct bpk_chunkdir_pieces) + npieces * sizeof(struct bpk_chunkdir_piece);

	if (bpk_buf_resize(packed, size, err) != 0)
		return -1;
	memset(packed->data, 0, size);
	bpk_chunkdir_pieces(packed)->npieces = npieces;
	return 0;
}

/* ---- Strided copies: a constant size lets the compiler make each copy a single move ---- */

static inline void copy_items(const uint8_t *from, size_t from_step, uint8_t *to, size_t to_step,
			      size_t nitems, size_t size)
{
	for (size_t i = 0; i < nitems; i++) {
		memcpy(to, from, size);
		from += from_step;
		to += to_step;
	}
}

static void copy_strided(const uint8_t *from, size_t from_step, uint8_t *to, size_t to_step,
			 size_t nitems, size_t size)
{
	switch (size) {
	case 1:
		copy_items(from, from_step, to, to_step, nitems, 1);
		break;
	case 2:
		copy_items(from, from_step, to, to_step, nitems, 2);
		break;
	case 4:
		copy_items(from, from_step, to, to_step, nitems, 4);
		break;
	case 8:
		copy_items(from, from_step, to, to_step, nitems, 8);
		break;
	case 12:
		copy_items(from, from_step, to, to_step, nitems, 12);
		break;
	case 16:
		copy_items(from, from_step, to, to_step, nitems, 16);
		break;
	default:
		copy_items(from, from_step, to, to_step, nitems, size);
	}
}

void bpk_chunkdir_gather(const uint8_t *records, size_t item_size, size_t nitems, uint8_t *column,
			 size_t size)
{
	copy_strided(records, item_size, column, size, nitems, size);
}

void bpk_chunkdir_scatter(const uint8_t *column, size_t size, size_t nitems, uint8_t *records,
			  size_t item_size)
{
	copy_strided(column, size, records, item_size, nitems, size);
}

/* ---- Unpacking ---- */

/* Items first to last - 1 of a parcel, and their columns in a buffer. */
struct wanted {
	const struct bpk_chunkdir *set;
	struct bpk_chunk_ctx *ctx;
	size_t first, last;
	uint8_t *columns; /* concatenated, each (last - first) * item_size bytes */
};

static uint8_t *start_of(const struct wanted *w, const struct bpk_chunkdir_column *column)
{
	/* earlier columns have as many bytes of each item as precede this one in the item */
	return w->columns + (w->last - w->first) * (size_t)column->item_offset;
}

static int unpack_piece(const struct wanted *w, const struct bpk_buf *packed,
			const struct bpk_chunkdir_piece *piece, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *column = &w->set->columns[piece->column];
	size_t size = (size_t)column->item_size;
	size_t from = piece->item > w->first ? piece->item : w->first;
	size_t to = bpk_min_size(piece->item + piece->nitems, w->last);
	struct bpk_view chunk = bpk_view(packed->data + piece->offset, piece->size);
	struct bpk_span out;
	size_t start;

	if (from >= to)
		return 0;
	start = piece->skip + (from - piece->item) * size;
	out = bpk_span(start_of(w, column) + (from - w->first) * size, (to - from) * size);
	if (out.size == piece->raw_size
		    ? bpk_chunk_decode(w->ctx, chunk, out, err) == 0
		    : bpk_chunk_decode_range(w->ctx, chunk, start, out, err) == 0)
		return 0;
	return bpk_chunkdir_subject(w->set, column, piece->number, piece->file_offset, err);
}

/* Assemble the records at out. */
static void weave(const struct wanted *w, uint8_t *out)
{
	size_t record = (size_t)w->set->array.dtype.size;
	size_t total = w->last - w->first;
	size_t step = RECORDS_IN_CACHE / record + 1;

	for (size_t done = 0; done < total; done += step) {
		size_t n = bpk_min_size(step, total - done);

		for (size_t i = 0; i < w->set->ncolumns; i++) {
			const struct bpk_chunkdir_column *column = &w->set->columns[i];
			size_t size = (size_t)column->item_size;

			bpk_chunkdir_scatter(start_of(w, column) + done * size, size, n,
					     out + done * record + column->item_offset, record);
		}
	}
}

int bpk_chunkdir_unpack(const struct bpk_chunkdir *set, struct bpk_chunk_ctx *ctx,
			const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	const struct bpk_chunkdir_pieces *pieces = bpk_chunkdir_pieces(&parcel->packed);
	size_t record = (size_t)set->array.dtype.size;
	size_t end = parcel->want_start + parcel->want_size;
	struct wanted w = { .set = set,
			    .ctx = ctx,
			    .first = parcel->want_start / record,
			    .last = end / record + (end % record != 0) };
	size_t size = (w.last - w.first) * record;
	struct bpk_buf columns = { 0 }, records = { 0 };
	bool aligned = out.size == size;
	int rc = bpk_buf_resize(&columns, size, err);

	w.columns = columns.data;
	for (size_t i = 0; rc == 0 && i < pieces->npieces; i++)
		rc = unpack_piece(&w, &parcel->packed, &pieces->piece[i], err);
	if (rc == 0 && !aligned)
		rc = bpk_buf_resize(&records, size, err);
	if (rc == 0 && size > 0) {
		weave(&w, aligned ? out.data : records.data);
		if (!aligned)
			bpk_copy(out.data, records.data + parcel->want_start % record, out.size);
	}
	bpk_buf_clear(&records);
	bpk_buf_clear(&columns);
	return rc;
}
