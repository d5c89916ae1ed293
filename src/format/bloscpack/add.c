/*
 * Adds chunks in place and cuts them off, for the editor. With an offsets section and no cut,
 * nothing needs to be saved: chunks are written after the end, then their entries, which no reader
 * uses yet, and the header makes all of it visible. The edit saves bytes that are overwritten below
 * the end.
 *
 *     header | metadata | entries, spare entries | chunks ... cut ... | end
 *                                                         ^base ->position
 */
#include "format/bloscpack/editor.h"

#include <inttypes.h>

static bool cuts_nothing(const struct bpk_bloscpack_editor *e)
{
	return e->header.has_offsets && e->added.cut == e->header.nchunks;
}

static uint64_t entry_offset(const struct bpk_bloscpack_editor *e, uint64_t number)
{
	return e->reader->offsets_offset + number * BPK_BLOSCPACK_ENTRY_SIZE;
}

/* True if the header is the only part below the end that readers use and that will be written. If
 * metadata follow the rows, or have a seal, a journal is needed, and its undo must not leave
 * entries behind. */
static bool saves_nothing(const struct bpk_bloscpack_editor *e)
{
	return cuts_nothing(e) && !bpk_bloscpack_shape_follows(e) && !e->reader->seal.marked;
}

/* ---- Entries ---- */

/* An entry may lead only to bytes that exist, whichever writes survive a power cut. */
static int flush_entries(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_batch *batch = &e->added.batch;
	struct bpk_view bytes = bpk_bloscpack_batch_view(batch);

	if (bytes.size == 0)
		return 0;
	if (saves_nothing(e) && bpk_edit_sync(e->edit, err) != 0)
		return -1;
	e->added.entries_written = true;
	if (bpk_edit_write_at(e->edit, entry_offset(e, batch->first), bytes, err) != 0)
		return -1;
	bpk_bloscpack_batch_start(batch, batch->first + batch->n);
	return 0;
}

static int add_entry(struct bpk_bloscpack_editor *e, uint64_t entry, struct bpk_err *err)
{
	if (e->added.batch.n == BPK_BLOSCPACK_BATCH && flush_entries(e, err) != 0)
		return -1;
	bpk_bloscpack_batch_add(&e->added.batch, entry);
	return 0;
}

/* Add the entry of the chunk at position; the first chunk after a cut keeps its entry. */
static int note_entry(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_added *added = &e->added;

	if (added->nchunks > 0 || cuts_nothing(e))
		return add_entry(e, added->position, err);
	bpk_bloscpack_batch_start(&added->batch, added->cut + 1);
	return 0;
}

/*
 * Reset the entries of removed chunks. Until the cut is committed they are in use, so the edit
 * saves them; then spare entries must not lead below the end. The first of them leads to the new
 * end until the bytes after it are cut off, which tells readers that those bytes are left over.
 */
static int drop_entries(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_bloscpack_added *added = &e->added;
	uint64_t first = added->cut + added->nchunks;

	for (uint64_t i = first; i < e->header.nchunks; i++)
		if (add_entry(e, i == first ? added->position : BPK_UNKNOWN, err) != 0)
			return -1;
	return 0;
}

static bool any_is_set(const uint64_t *entries, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (entries[i] != BPK_UNKNOWN)
			return true;
	return false;
}

int bpk_bloscpack_check_spares(struct bpk_bloscpack_editor *e, bool all, struct bpk_err *err)
{
	const struct bpk_bloscpack_offsets *offsets = &e->reader->offsets;
	uint64_t entries[BPK_BLOSCPACK_PAGE];
	bool set = true;
	unsigned n;

	for (uint64_t i = e->header.nchunks; i < offsets->count && (set || all); i += n) {
		n = (unsigned)bpk_min_u64(BPK_BLOSCPACK_PAGE, offsets->count - i);
		if (bpk_bloscpack_offsets_get(offsets, i, n, entries, err) != 0)
			return -1;
		for (unsigned k = 0; k < n; k++)
			if (bpk_bloscpack_spare_check(i + k, entries[k], e->ends.all, all, err) !=
			    0)
				return -1;
		set = any_is_set(entries, n);
	}
	return 0;
}

int bpk_bloscpack_clear_spares(struct bpk_bloscpack_editor *e, bool all, uint64_t first,
			       bool *wrote, struct bpk_err *err)
{
	const struct bpk_bloscpack_offsets *offsets = &e->reader->offsets;
	uint8_t unset[BPK_BLOSCPACK_PAGE * BPK_BLOSCPACK_ENTRY_SIZE];
	uint64_t entries[BPK_BLOSCPACK_PAGE];
	uint64_t i = e->header.nchunks;
	bool set = true;

	memset(unset, 0xff, sizeof unset);
	bpk_put_le64(unset, first);
	while (i < offsets->count && (set || all)) {
		unsigned n = (unsigned)bpk_min_u64(BPK_BLOSCPACK_PAGE, offsets->count - i);
		struct bpk_view bytes = bpk_view(unset, n * (size_t)BPK_BLOSCPACK_ENTRY_SIZE);

		if (bpk_bloscpack_offsets_get(offsets, i, n, entries, err) != 0)
			return -1;
		set = any_is_set(entries, n);
		if (set && bpk_edit_write_at(e->edit, entry_offset(e, i), bytes, err) != 0)
			return -1;
		*wrote = *wrote || set;
		bpk_put_le64(unset, BPK_UNKNOWN);
		i += n;
	}
	return 0;
}

int bpk_bloscpack_add_undo(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	uint8_t unset[BPK_BLOSCPACK_PAGE * BPK_BLOSCPACK_ENTRY_SIZE];
	const struct bpk_bloscpack_added *added = &e->added;
	uint64_t i = added->cut;

	if (!added->entries_written || !saves_nothing(e))
		return 0;
	memset(unset, 0xff, sizeof unset);
	while (i < added->batch.first + added->batch.n) {
		uint64_t n =
			bpk_min_u64(BPK_BLOSCPACK_PAGE, added->batch.first + added->batch.n - i);
		struct bpk_view bytes = bpk_view(unset, (size_t)n * BPK_BLOSCPACK_ENTRY_SIZE);

		if (bpk_edit_write_at(e->edit, entry_offset(e, i), bytes, err) != 0)
			return -1;
		i += n;
	}
	return bpk_edit_sync(e->edit, err);
}

/* ---- The cut ---- */

/* Find the offset of the cut, and the size of the content before it. */
static int find_cut(struct bpk_bloscpack_editor *e, uint64_t cut, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_bloscpack_reader_ops;
	struct bpk_bloscpack_added *added = &e->added;
	struct bpk_where where;

	*added = (struct bpk_bloscpack_added){ .cut = cut };
	added->base = e->ends.chunks;
	added->kept_raw = e->header.raw_size;
	added->last_raw = e->header.last_chunk_size;
	if (cut == e->header.nchunks)
		return 0;
	if (cut > 0) {
		if (ops->locate(e->reader, cut - 1, &where, err) != 0)
			return -1;
		added->last_raw = where.header.raw_size;
	}
	if (ops->locate(e->reader, cut, &where, err) != 0)
		return -1;
	added->base = where.packed_offset;
	added->kept_raw = where.raw_offset;
	return 0;
}

int bpk_bloscpack_add_cut(struct bpk_bloscpack_editor *e, uint64_t cut, struct bpk_err *err)
{
	struct bpk_bloscpack_added *added = &e->added;

	if (cut > e->header.nchunks)
		return bpk_fail(err, BPK_USAGE, "cut after %" PRIu64 " chunks, there are %" PRIu64,
				cut, e->header.nchunks);
	if (find_cut(e, cut, err) != 0)
		return -1;
	added->position = added->base;
	added->chunk_size = cut == 0 ? e->info.chunks.size : e->header.chunk_size;
	bpk_bloscpack_batch_start(&added->batch, cut);
	return bpk_seal_growth_cut(&e->seal, cut, err);
}

/* ---- Chunks ---- */

int bpk_bloscpack_add_check(const struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			    struct bpk_err *err)
{
	const struct bpk_bloscpack_added *added = &e->added;
	uint64_t number = added->cut + added->nchunks;

	if (parcel->number != number)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was put, expected %" PRIu64,
				parcel->number, number);
	if (added->chunk_size == BPK_UNKNOWN)
		return 0;
	if (parcel->raw_size > added->chunk_size ||
	    (number > 0 && added->last_raw != added->chunk_size))
		return bpk_fail(err, BPK_BUG,
				"chunk %" PRIu64 " of %zu bytes after one of %" PRIu64
				", chunks have %" PRIu64,
				number, parcel->raw_size, added->last_raw, added->chunk_size);
	return 0;
}

int bpk_bloscpack_add_note(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			   size_t size, struct bpk_err *err)
{
	struct bpk_bloscpack_added *added = &e->added;

	added->position += size;
	added->nchunks++;
	added->raw_size += parcel->raw_size;
	added->last_raw = parcel->raw_size;
	return bpk_bloscpack_reseal_note(e, parcel, err);
}

/* True if bytes that a kill leaves behind the end are no damage: then they need no journal. */
static bool bears_tail(const struct bpk_bloscpack_editor *e)
{
	return e->header.has_offsets && !e->reader->seal.marked;
}

/* Write the first chunk. The bytes that it begins to overwrite are saved in one step: all that was
 * cut off, if that is little. */
static int write_first(struct bpk_bloscpack_editor *e, struct bpk_view bytes, struct bpk_err *err)
{
	const struct bpk_bloscpack_added *added = &e->added;
	uint64_t below = e->ends.all - added->base;

	if (below == 0 && !bears_tail(e) && bpk_edit_need_journal(e->edit, err) != 0)
		return -1;
	if (added->cut + 1 < e->header.nchunks || below > e->options.journal_limit)
		below = 0;
	return bpk_edit_write_saving(e->edit, added->base, bytes, below, err);
}

/* True if more bytes would be overwritten than may be saved, or the entries are used up. */
static bool leaves_no_room(const struct bpk_bloscpack_editor *e, size_t size)
{
	const struct bpk_bloscpack_added *added = &e->added;
	uint64_t until = bpk_min_u64(added->position + size, e->ends.all);

	if (!e->adds_in_place)
		return true;
	if (until > added->base && until - added->base > e->options.journal_limit)
		return true;
	return e->header.has_offsets &&
	       added->cut + added->nchunks >= bpk_bloscpack_slots(&e->header);
}

int bpk_bloscpack_add_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			  enum bpk_bloscpack_fit *fit, struct bpk_err *err)
{
	struct bpk_bloscpack_added *added = &e->added;
	size_t size = parcel->packed_size + e->header.checksum->size;
	struct bpk_view bytes = bpk_view(parcel->packed.data, size);

	*fit = leaves_no_room(e, size) ? BPK_BLOSCPACK_REWRITE : BPK_BLOSCPACK_FITS;
	if (*fit != BPK_BLOSCPACK_FITS)
		return 0;
	if (saves_nothing(e))
		bpk_edit_set_free(e->edit, entry_offset(e, added->cut),
				  e->header.append_space * BPK_BLOSCPACK_ENTRY_SIZE);
	if ((added->nchunks == 0 ? write_first(e, bytes, err)
				 : bpk_edit_write_at(e->edit, added->position, bytes, err)) != 0)
		return -1;
	if (e->header.has_offsets && note_entry(e, err) != 0)
		return -1;
	return bpk_bloscpack_add_note(e, parcel, size, err);
}

/* ---- Finishing ---- */

/*
 * Without offsets, or with a seal, no byte may follow the last chunk. The rest of the old chunks is
 * then saved too, so that the commit can cut it off.
 */
static bool leaves_rest(const struct bpk_bloscpack_editor *e)
{
	return !bears_tail(e) && e->added.position < e->ends.all;
}

enum bpk_bloscpack_fit bpk_bloscpack_add_fits(const struct bpk_bloscpack_editor *e)
{
	bool too_much = leaves_rest(e) && e->ends.all - e->added.base > e->options.journal_limit;

	return e->adds_in_place && !too_much ? BPK_BLOSCPACK_FITS : BPK_BLOSCPACK_REWRITE;
}

int bpk_bloscpack_add_finish(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_bloscpack_added *added = &e->added;

	if (leaves_rest(e) &&
	    bpk_edit_save(e->edit, added->position, e->ends.all - added->position, err) != 0)
		return -1;
	if (e->header.has_offsets && (drop_entries(e, err) != 0 || flush_entries(e, err) != 0))
		return -1;
	return 0;
}

void bpk_bloscpack_add_header(const struct bpk_bloscpack_editor *e,
			      struct bpk_bloscpack_header *header)
{
	const struct bpk_bloscpack_added *added = &e->added;

	header->append_space = bpk_bloscpack_slots(header);
	header->nchunks = added->cut + added->nchunks;
	header->append_space -= header->has_offsets ? header->nchunks : 0;
	header->chunk_size = added->chunk_size;
	header->last_chunk_size = header->nchunks > 0 ? added->last_raw : 0;
	header->raw_size = added->kept_raw + added->raw_size;
	if (added->typesize > 0)
		header->typesize = added->typesize;
}
