/*
 * The offset entries of a new file: how many there are, and their values. Called by writer.c.
 */
#include "format/bloscpack/writer.h"

#include <inttypes.h>

enum {
	RESERVED = 1024,         /* entries if the number of chunks is not known */
	MOVE_PIECE = 1 << 20,    /* bytes moved at a time */
	SPARE_FACTOR = 10,       /* spare entries for each chunk; "Defaults of the blpk tool" */
	SPARE_LEAST = 10,        /* fewest spare entries */
	SPARE_MOST = 65536,      /* 512 KiB of entries, unless there are more chunks than that */
	RAW_PER_SPARE = 1 << 17, /* keeps the spare entries under 0.01% of the raw bytes */
};

/* ---- Their number ---- */

/*
 * Ten spare entries for every chunk as in blpk, never fewer than ten, bounded by a fraction of the
 * raw bytes, and by SPARE_MOST or the number of chunks.
 */
static uint64_t default_space(uint64_t nchunks, uint64_t raw_size)
{
	uint64_t space = bpk_max_u64(nchunks, SPARE_MOST);

	if (nchunks < space / SPARE_FACTOR)
		space = SPARE_FACTOR * nchunks;
	if (raw_size != BPK_UNKNOWN)
		space = bpk_min_u64(space, raw_size / RAW_PER_SPARE);
	return bpk_max_u64(space, SPARE_LEAST);
}

static uint64_t wanted_space(const struct bpk_bloscpack_writer *w, uint64_t nchunks,
			     uint64_t raw_size)
{
	return w->append_space != BPK_UNKNOWN ? w->append_space : default_space(nchunks, raw_size);
}

static int flush_batch(struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	struct bpk_view bytes = bpk_bloscpack_batch_view(&w->batch);
	uint64_t at = w->offsets_offset + w->batch.first * BPK_BLOSCPACK_ENTRY_SIZE;

	if (bytes.size > 0 && bpk_draft_write_at(w->draft, at, bytes, err) != 0)
		return -1;
	bpk_bloscpack_batch_start(&w->batch, w->batch.first + w->batch.n);
	return 0;
}

static int add_entry(struct bpk_bloscpack_writer *w, uint64_t offset, struct bpk_err *err)
{
	if (w->batch.n == BPK_BLOSCPACK_BATCH && flush_batch(w, err) != 0)
		return -1;
	bpk_bloscpack_batch_add(&w->batch, offset);
	return 0;
}

int bpk_bloscpack_entries_note(struct bpk_bloscpack_writer *w, uint64_t offset, struct bpk_err *err)
{
	if (!w->header.has_offsets || (!w->sized && w->batch.n == BPK_BLOSCPACK_BATCH))
		return 0;
	return add_entry(w, offset, err);
}

/* Fill the remaining entries with -1. */
static int write_spares(struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	for (uint64_t i = w->batch.first + w->batch.n; i < w->slots; i++)
		if (add_entry(w, UINT64_MAX, err) != 0)
			return -1;
	return flush_batch(w, err);
}

int bpk_bloscpack_entries_plan(struct bpk_bloscpack_writer *w,
			       const struct bpk_write_options *options,
			       const struct bpk_bloscpack_expected *expected, struct bpk_err *err)
{
	struct bpk_bloscpack_header *h = &w->header;
	uint64_t most = INT64_MAX / BPK_BLOSCPACK_ENTRY_SIZE / 2;

	h->has_offsets = w->seekable && !options->no_offsets;
	w->append_space = options->append_space;
	if (!h->has_offsets)
		return 0;
	if (w->append_space != BPK_UNKNOWN && w->append_space > most)
		return bpk_fail(err, BPK_USAGE,
				"append space of %" PRIu64 " chunks, at most %" PRIu64
				" are possible",
				w->append_space, most);
	if (w->sized && h->nchunks > most)
		return bpk_fail(err, BPK_LIMIT,
				"%" PRIu64 " chunks, at most %" PRIu64 " are possible", h->nchunks,
				most);
	w->slots = RESERVED;
	w->reserved = expected != NULL;
	if (w->reserved)
		w->slots =
			expected->nchunks + wanted_space(w, expected->nchunks, expected->raw_size);
	if (w->sized) {
		h->append_space = wanted_space(w, h->nchunks, w->announced);
		w->slots = h->nchunks + h->append_space;
	}
	return 0;
}

/* ---- After the last chunk ---- */

/* Move the chunks to the end of the offsets section, the last bytes first, so that no byte is
 * overwritten before it is read. */
static int move_chunks(struct bpk_bloscpack_writer *w, uint64_t to, struct bpk_err *err)
{
	uint64_t left = w->position - w->data_offset;
	struct bpk_buf piece = { 0 };
	int rc = bpk_buf_reserve(&piece, MOVE_PIECE, err);

	while (rc == 0 && left > 0) {
		size_t n = (size_t)bpk_min_u64(MOVE_PIECE, left);

		left -= n;
		rc = bpk_draft_read_at(w->draft, w->data_offset + left, bpk_span(piece.data, n),
				       err);
		if (rc == 0)
			rc = bpk_draft_write_at(w->draft, to + left, bpk_view(piece.data, n), err);
	}
	bpk_buf_clear(&piece);
	return rc;
}

/* Add the entries that were not kept: each chunk ends where the next begins. */
static int add_walked_entries(struct bpk_bloscpack_writer *w, uint64_t offset, uint64_t number,
			      struct bpk_err *err)
{
	uint8_t head[BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header chunk;

	while (number < w->nchunks) {
		if (bpk_draft_read_at(w->draft, offset, bpk_span(head, sizeof head), err) != 0 ||
		    bpk_chunk_header_read_plain(bpk_view(head, sizeof head), &chunk, err) != 0)
			return -1;
		offset += chunk.packed_size + (uint64_t)w->header.checksum->size;
		if (++number < w->nchunks && add_entry(w, offset, err) != 0)
			return -1;
	}
	return 0;
}

/* Entries that the file needs: if they were reserved by an estimate, some may have been used up. */
static uint64_t needed_slots(const struct bpk_bloscpack_writer *w)
{
	bool some_left = w->reserved && w->append_space == BPK_UNKNOWN && w->slots >= w->nchunks &&
			 w->slots - w->nchunks >= SPARE_LEAST;

	return some_left ? w->slots : w->nchunks + wanted_space(w, w->nchunks, w->raw_size);
}

/* With the number of chunks known: decide the number of entries, never fewer than reserved, make
 * room for them, and fill in all entries of chunks. */
static int complete_offsets(struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	uint64_t needed = needed_slots(w);
	uint64_t slots = bpk_max_u64(needed, w->slots);
	uint64_t to = w->offsets_offset + slots * BPK_BLOSCPACK_ENTRY_SIZE;
	uint64_t last;

	if (to != w->data_offset && move_chunks(w, to, err) != 0)
		return -1;
	for (unsigned i = 0; i < w->batch.n; i++) {
		uint8_t *entry = w->batch.bytes + i * (size_t)BPK_BLOSCPACK_ENTRY_SIZE;

		bpk_put_le64(entry, bpk_get_le64(entry) - w->data_offset + to);
	}
	w->position = w->position - w->data_offset + to;
	w->data_offset = to;
	w->slots = slots;
	w->header.append_space = slots - w->nchunks;
	last = bpk_get_le64(w->batch.bytes + (w->batch.n - 1) * (size_t)BPK_BLOSCPACK_ENTRY_SIZE);
	return add_walked_entries(w, last, w->batch.n - 1, err);
}

int bpk_bloscpack_entries_finish(struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	if (!w->header.has_offsets)
		return 0;
	if (!w->sized && complete_offsets(w, err) != 0)
		return -1;
	return write_spares(w, err);
}
