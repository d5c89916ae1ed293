/*
 * Reads an array in C order: the calls of a reader whose parcels are bands. Called by reader_ops.c.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/frame/fetch.h"
#include "format/frame/nd/bands.h"

enum {
	SMALL = 16 << 10, /* bytes of a chunk that is read whole though only blocks are wanted */
	AHEAD = 64,       /* chunks of a band that are announced at most */
};

/* ---- The wanted items ---- */

struct wanted {
	uint64_t first, count; /* items, in the bands' box */
	size_t skip;           /* unwanted bytes of the first item */
};

static struct wanted wanted_of(const struct bpk_frame_bands *bands, const struct bpk_parcel *parcel)
{
	uint64_t size = bands->nd->array.dtype.size, first;
	uint64_t bytes = bpk_frame_band_items(bands, parcel->number, &first) * size;
	uint64_t start = bpk_min_u64(parcel->want_start, bytes);
	uint64_t end = start + bpk_min_u64(parcel->want_size, bytes - start);

	return (struct wanted){
		.first = first + start / size,
		.count = bpk_div_up(end, size) - start / size,
		.skip = (size_t)(start % size),
	};
}

/* ---- Fetching ---- */

struct fetching {
	struct bpk_frame_reader *reader;
	struct bpk_parcel *parcel;
	struct bpk_frame_pieces *pieces;
	uint64_t count;        /* chunks of the pieces */
	uint64_t noted;        /* those whose numbers are in the band */
	uint64_t announced;    /* those that a remote file was told of */
	struct bpk_buf ranges; /* of one of these chunks, struct bpk_frame_range */
};

static int count_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	struct fetching *f = arg;

	(void)number;
	(void)err;
	f->count++;
	return 0;
}

/* Write the number of the next chunk into the band. */
static int note_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	struct fetching *f = arg;

	(void)err;
	bpk_frame_band(&f->parcel->packed)->chunk[f->noted++].number = number;
	return 0;
}

/* Before the chunk in that place is read, announce those that follow, many at a time: requests for
 * them go together. Of a chunk of which only blocks are read, the beginning has its header. */
static void announce(struct fetching *f, size_t place)
{
	const struct bpk_frame_band *band = bpk_frame_band(&f->parcel->packed);
	uint64_t end = bpk_min_u64(place + AHEAD, f->noted);

	if (place + AHEAD / 2 < f->announced)
		return;
	for (; f->announced < end; f->announced++) {
		uint64_t number = band->chunk[f->announced].number;

		bpk_frame_announce(f->reader, number,
				   bpk_frame_chunk_is_sealed(f->reader, number) ? UINT64_MAX
										: SMALL);
	}
}

/* Add a block to the ranges of the next chunk. */
static int add_block(void *arg, uint64_t number, struct bpk_err *err)
{
	struct fetching *f = arg;
	uint64_t size = f->reader->array.nd.block_size;
	const struct bpk_frame_range range = { number * size, size };
	struct bpk_frame_range last;

	if (f->ranges.size > 0) {
		memcpy(&last, f->ranges.data + f->ranges.size - sizeof last, sizeof last);
		if (last.start + last.size == range.start) {
			last.size += size;
			memcpy(f->ranges.data + f->ranges.size - sizeof last, &last, sizeof last);
			return 0;
		}
	}
	return bpk_buf_append(&f->ranges, bpk_view(&range, sizeof range), err);
}

/* Find the wanted blocks of the chunk. No range means all: it is wanted whole, sealed, to be
 * proven, or so small that one read is cheaper, as a special chunk is, however many blocks it
 * has. */
static int want_blocks(struct fetching *f, uint64_t number, struct bpk_frame_ranges *wanted,
		       struct bpk_err *err)
{
	struct bpk_frame_found found;

	*wanted = (struct bpk_frame_ranges){ 0 };
	f->ranges.size = 0;
	if (bpk_frame_chunk_is_sealed(f->reader, number) || f->reader->proof != NULL)
		return 0;
	if (bpk_frame_look(f->reader, number, &found, err) != 0)
		return -1;
	if (found.header.packed_size <= SMALL)
		return 0;
	if (bpk_frame_nd_each_block(&f->reader->array.nd, number, f->pieces, add_block, f, err) !=
	    0)
		return -1;
	wanted->all = (const void *)f->ranges.data; /* aligned for anything */
	wanted->count = f->ranges.size / sizeof wanted->all[0];
	if (wanted->count == 1 && wanted->all[0].size == f->reader->array.nd.chunk_size)
		wanted->count = 0;
	return 0;
}

/* Append one chunk to packed; the parcel's other buffer serves as scratch. */
static int add_chunk(void *arg, uint64_t number, struct bpk_err *err)
{
	struct fetching *f = arg;
	struct bpk_buf *packed = &f->parcel->packed;
	struct bpk_frame_ranges wanted;
	struct bpk_parcel chunk = { .number = number,
				    .want_size = SIZE_MAX,
				    .packed = f->parcel->raw };
	struct bpk_chunk_header header;
	struct bpk_frame_band *band;
	int rc;

	announce(f, bpk_frame_band(packed)->count);
	if (want_blocks(f, number, &wanted, err) != 0)
		return -1;
	rc = bpk_frame_fetch_ranges(f->reader, &chunk, &wanted, err);
	f->parcel->raw = chunk.packed;
	f->parcel->raw.size = 0;
	if (rc > 0)
		return bpk_fail(err, BPK_CORRUPT, "ends before chunk %" PRIu64, number);
	if (rc != 0)
		return -1;
	if (chunk.raw_size != f->reader->array.nd.chunk_size) {
		bpk_fail(err, BPK_CORRUPT, "it unpacks to %zu bytes, expected %" PRIu64,
			 chunk.raw_size, f->reader->array.nd.chunk_size);
		return bpk_frame_chunk_subject(f->reader, number, err);
	}
	if (bpk_chunk_header_read(bpk_buf_view(&chunk.packed), &header, err) != 0)
		return bpk_frame_chunk_subject(f->reader, number, err);
	f->parcel->extra_memory = bpk_max_u64(f->parcel->extra_memory,
					      bpk_frame_band_memory(&f->reader->array.nd, &header));
	band = bpk_frame_band(packed);
	band->chunk[band->count++] = (struct bpk_frame_band_chunk){
		.number = number,
		.offset = packed->size,
		.packed_size = chunk.packed_size,
		.size = chunk.packed.size,
	};
	return bpk_buf_append(packed, bpk_view(chunk.packed.data, chunk.packed.size), err);
}

int bpk_frame_bands_fetch(struct bpk_frame_reader *r, struct bpk_parcel *parcel,
			  struct bpk_err *err)
{
	uint64_t size = r->array.nd.array.dtype.size, first;
	struct fetching f = { .reader = r, .parcel = parcel };
	struct wanted wanted;
	int rc;

	if (parcel->number >= r->array.bands->count)
		return 1;
	f.pieces = bpk_frame_pieces_new(err);
	if (f.pieces == NULL)
		return -1;
	parcel->extra_memory = 0;
	wanted = wanted_of(r->array.bands, parcel);
	bpk_frame_nd_cut(&r->array.nd, &r->array.bands->box, wanted.first, wanted.count, f.pieces);
	bpk_frame_nd_each_chunk(&r->array.nd, f.pieces, count_chunk, &f, NULL);
	rc = bpk_frame_band_begin(&parcel->packed, f.count, err);
	if (rc == 0 && f.count > 1 && bpk_source_is_remote(r->source))
		bpk_frame_nd_each_chunk(&r->array.nd, f.pieces, note_chunk, &f, NULL);
	if (rc == 0)
		rc = bpk_frame_nd_each_chunk(&r->array.nd, f.pieces, add_chunk, &f, err);
	bpk_buf_clear(&f.ranges);
	free(f.pieces);
	if (rc != 0)
		return -1;
	parcel->raw_size = parcel->data_size =
		(size_t)(bpk_frame_band_items(r->array.bands, parcel->number, &first) * size);
	parcel->raw_offset = first * size;
	parcel->packed_size = parcel->packed.size;
	parcel->packed_offset = 0; /* several chunks: errors name the chunk themselves */
	return 0;
}

int bpk_frame_bands_check(const struct bpk_frame_reader *r, const struct bpk_parcel *parcel,
			  struct bpk_err *err)
{
	const struct bpk_frame_band *band = bpk_frame_band(&parcel->packed);

	for (size_t i = 0; i < band->count; i++) {
		const struct bpk_frame_band_chunk *chunk = &band->chunk[i];
		struct bpk_parcel part = { .number = chunk->number,
					   .packed_size = chunk->packed_size };

		part.packed.data = parcel->packed.data + chunk->offset;
		part.packed.size = chunk->size;
		if (bpk_frame_chunk_check(r, &part, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Unpacking ---- */

/* Unpack a want that begins or ends within an item: whole items go to a buffer first. */
static int unpack_cut(const struct bpk_frame_reader *r, struct bpk_chunk_ctx *ctx,
		      const struct bpk_parcel *parcel, const struct wanted *wanted,
		      struct bpk_span out, uint64_t *failed, struct bpk_err *err)
{
	struct bpk_buf items = { 0 };
	int rc =
		bpk_buf_resize(&items, (size_t)(wanted->count * r->array.nd.array.dtype.size), err);

	if (rc == 0)
		rc = bpk_frame_band_unpack(&r->array.nd, &r->array.bands->box, wanted->first,
					   wanted->count, ctx, &parcel->packed,
					   bpk_span(items.data, items.size), failed, err);
	if (rc == 0)
		bpk_copy(out.data, items.data + wanted->skip, out.size);
	bpk_buf_clear(&items);
	return rc;
}

int bpk_frame_bands_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
			   const struct bpk_parcel *parcel, struct bpk_span out,
			   struct bpk_err *err)
{
	const struct bpk_frame_reader *r = reader;
	struct wanted wanted = wanted_of(r->array.bands, parcel);
	uint64_t failed = BPK_UNKNOWN;
	int rc;

	if (out.size == wanted.count * r->array.nd.array.dtype.size)
		rc = bpk_frame_band_unpack(&r->array.nd, &r->array.bands->box, wanted.first,
					   wanted.count, ctx, &parcel->packed, out, &failed, err);
	else
		rc = unpack_cut(r, ctx, parcel, &wanted, out, &failed, err);
	return rc != 0 && failed != BPK_UNKNOWN ? bpk_frame_chunk_subject(r, failed, err) : rc;
}

/* ---- The position of a band: that of its first chunk ---- */

static int take_number(void *arg, uint64_t number, struct bpk_err *err)
{
	(void)err;
	*(uint64_t *)arg = number;
	return 1;
}

int bpk_frame_bands_locate(struct bpk_frame_reader *r, uint64_t number, struct bpk_where *where,
			   struct bpk_err *err)
{
	uint64_t size = r->array.nd.array.dtype.size, first, count, chunk = 0;
	struct bpk_frame_pieces *pieces;
	struct bpk_frame_found found;

	if (number >= r->array.bands->count)
		return 1;
	pieces = bpk_frame_pieces_new(err);
	if (pieces == NULL)
		return -1;
	count = bpk_frame_band_items(r->array.bands, number, &first);
	bpk_frame_nd_cut(&r->array.nd, &r->array.bands->box, first, count, pieces);
	bpk_frame_nd_each_chunk(&r->array.nd, pieces, take_number, &chunk, NULL);
	free(pieces);
	if (bpk_frame_look(r, chunk, &found, err) != 0)
		return -1;
	*where = (struct bpk_where){ .packed_offset = found.offset,
				     .raw_offset = first * size,
				     .header = found.header };
	where->header.raw_size = (uint32_t)(count * size);
	return 0;
}
