/*
 * Replaces data files for the editor: chunks that stay are copied.
 */
#include "format/chunkdir/editor.h"

#include <errno.h>
#include <inttypes.h>

#include "format/bloscpack/bloscpack.h"
#include "format/chunkdir/meta.h"

static const struct bpk_reader_ops *const blp = &bpk_bloscpack_reader_ops;

void bpk_chunkdir_old_close(struct bpk_chunkdir_old *old)
{
	if (old->reader != NULL)
		blp->close(old->reader);
	bpk_source_close(old->place.source);
	bpk_buf_clear(&old->parcel.packed);
	*old = (struct bpk_chunkdir_old){ 0 };
}

/* ---- Existing files ---- */

/* Number of chunks in a committed file of a column. */
static uint64_t chunks_in(const struct bpk_chunkdir_column *column, uint64_t number)
{
	uint64_t first = number * column->superchunk_chunks;

	return first < column->nchunks
		       ? bpk_min_u64(column->superchunk_chunks, column->nchunks - first)
		       : 0;
}

/* Test that no other bytes follow the chunks, which a replacement would lose. */
static int check_end(const struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
		     struct bpk_err *err)
{
	const struct bpk_chunkdir_reader *reader = e->reader;
	struct bpk_chunkdir_file *file;
	int rc = bpk_chunkdir_file_open(reader->files, column, number, &file, err);

	if (rc != 0)
		return -1;
	rc = bpk_chunkdir_file_check_end(file, err);
	bpk_chunkdir_file_close(reader->files, file);
	return rc;
}

int bpk_chunkdir_old_open(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			  struct bpk_chunkdir_old *old, struct bpk_err *err)
{
	struct bpk_read_options options = { 0 };
	struct bpk_buf name = { 0 };
	int rc = bpk_chunkdir_file_name(&e->set, &e->set.columns[column], number, &name, err);

	if (rc == 0)
		rc = bpk_dir_source(e->place.directory, (const char *)name.data, &old->place.source,
				    err);
	old->place.path = e->path;
	if (rc == 0 && blp->open(&old->place, &options, &old->reader, err) != 0) {
		old->reader = NULL;
		rc = -1;
	}
	if (rc == 0)
		rc = bpk_bloscpack_walk_check(old->reader, err);
	if (rc == 0)
		rc = check_end(e, column, number, err);
	if (rc != 0 && old->place.source != NULL)
		bpk_err_subject(err, "%s", (const char *)name.data);
	bpk_buf_clear(&name);
	return rc;
}

static bool has_digests(const struct bpk_chunkdir_editor *e, size_t column)
{
	const struct bpk_chunkdir *set = &e->set;

	return set->is_table ? set->columns[column].digests.given : set->sizes.digests.given;
}

/* Compute the share of a chunk of an old file in the digest. Its header and seal are read, or the
 * whole chunk if it has no seal. */
static int share_of_old(struct bpk_chunkdir_old *old, size_t column, uint64_t position,
			uint64_t number, uint64_t *share, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = blp->info(old->reader)->chunks.checksum;
	struct bpk_buf *chunk = &old->parcel.packed;
	struct bpk_where where;
	size_t size;

	if (blp->locate(old->reader, position, &where, err) != 0)
		return -1;
	size = checksum->size > 0 ? BPK_CHUNK_HEADER_SIZE : where.header.packed_size;
	if (bpk_buf_resize(chunk, size, err) != 0 ||
	    bpk_source_need_at(old->place.source, where.packed_offset, bpk_span(chunk->data, size),
			       err) != 0)
		return -1;
	*share = bpk_chunkdir_share(column, number, bpk_buf_view(chunk),
				    bpk_view(where.digest, checksum->size));
	return 0;
}

/*
 * Compute the share of the chunk that rows fill in part, if it is in the file, to be compared with
 * sizes: if the chunk holds more rows, which an interrupted append left, without these.
 */
static int share_of_last(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			 struct bpk_chunkdir_old *old, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &e->set.columns[column];
	struct bpk_chunkdir_track *track = &e->output.tracks[column];
	uint64_t first = number * c->superchunk_chunks, full = bpk_chunkdir_full_chunks(e);
	uint64_t rows = e->info.raw_size % bpk_chunkdir_full(e) / e->set.row_size, share;
	const struct bpk_chunks_info *chunks = &e->info.chunks;
	struct bpk_where where;
	struct bpk_chunkdir_longer longer = {
		.source = old->place.source,
		.where = &where,
		.checksum = blp->info(old->reader)->chunks.checksum,
		.first = chunks->has_first ? &chunks->first : NULL,
		.column = e->set.is_table ? 0 : column,
		.number = full,
		.need = rows * e->set.row_items * c->item_size,
	};

	if (rows == 0 || full < first || full - first >= chunks_in(c, number))
		return 0;
	if (blp->locate(old->reader, full - first, &where, err) != 0)
		return -1;
	track->took_last = true;
	memset(track->old_last, 0, sizeof track->old_last);
	if (where.header.raw_size > longer.need)
		return bpk_chunkdir_longer_shares(&longer, track->old_last, err);
	if (share_of_old(old, longer.column, full - first, full, &share, err) != 0)
		return -1;
	for (size_t way = 0; way < BPK_CHUNKDIR_WAYS; way++)
		track->old_last[way] = share;
	return 0;
}

int bpk_chunkdir_old_subtract(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			      struct bpk_chunkdir_old *old, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &e->set.columns[column];
	struct bpk_chunkdir_track *track = &e->output.tracks[column];
	uint64_t first = number * c->superchunk_chunks, full, share;

	track->size -= bpk_source_size(old->place.source);
	if (!has_digests(e, column))
		return 0;
	full = bpk_chunkdir_full_chunks(e);
	for (uint64_t i = 0; i < chunks_in(c, number) && first + i < full; i++) {
		if (share_of_old(old, e->set.is_table ? 0 : column, i, first + i, &share, err) != 0)
			return -1;
		track->data -= share;
	}
	return share_of_last(e, column, number, old, err);
}

/* Fetch a chunk of an old file, with a seal of the new kind. */
static int fetch_old(struct bpk_chunkdir_editor *e, struct bpk_chunkdir_old *old, uint64_t position,
		     struct bpk_err *err)
{
	struct bpk_parcel *parcel = &old->parcel;
	int rc;

	parcel->number = position;
	parcel->want_start = 0;
	parcel->want_size = SIZE_MAX;
	rc = blp->fetch(old->reader, parcel, err);
	if (rc > 0)
		return bpk_fail(err, BPK_CORRUPT, "chunk %" PRIu64 " of a data file is missing",
				position);
	if (rc < 0)
		return -1;
	/* copied as it is: if it is damaged, its digest still shows it */
	if (blp->info(old->reader)->chunks.checksum == e->output.checksum)
		return 0;
	return blp->check(old->reader, parcel, err) != 0
		       ? -1
		       : bpk_parcel_seal(e->output.checksum, parcel, err);
}

/* Copy the chunks before position to that the new file still lacks. */
static int copy_chunks(struct bpk_chunkdir_editor *e, size_t column, uint64_t number, uint64_t to,
		       uint64_t nchunks, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &e->set.columns[column];
	struct bpk_chunkdir_draft *file = &e->output.tracks[column].file;
	struct bpk_chunkdir_old *old = &e->old[column];
	uint64_t at = file->draft == NULL ? 0 : file->nchunks;

	for (; at < to; at++) {
		uint64_t place = number * c->superchunk_chunks + at;
		struct bpk_chunkdir_sealed chunk;

		if (fetch_old(e, old, at, err) != 0 ||
		    bpk_chunkdir_check_size(&e->set, c, place, &old->parcel, err) != 0)
			return -1;
		chunk = (struct bpk_chunkdir_sealed){ old->parcel.packed.data,
						      old->parcel.packed_size,
						      old->parcel.raw_size };
		if (bpk_chunkdir_output_put(&e->output, column, place, nchunks, &chunk, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Files that replace others ---- */

/* A reservation: sizes as they are, with a number that no other writer has. */
static int print_reservation(const struct bpk_chunkdir_sizes *committed, struct bpk_buf *text,
			     struct bpk_err *err)
{
	struct bpk_chunkdir_sizes sizes = *committed;
	struct bpk_buf plain = { 0 };
	struct bpk_unique number;
	int rc;

	if (bpk_unique_make(&number, err) != 0)
		return -1;
	if (sizes.cbytes == BPK_UNKNOWN)
		sizes.cbytes = 0;
	rc = bpk_chunkdir_sizes_print(&sizes, &plain, err);
	if (rc == 0)
		rc = bpk_buf_printf(text, err, "{\"writer\": \"%s\", ", number.text);
	if (rc == 0)
		rc = bpk_buf_append(text, bpk_view(plain.data + 1, plain.size - 1), err);
	bpk_buf_clear(&plain);
	return rc;
}

/* In a store a name is given again only once it is taken. It may be that of a committed file, or of
 * one that an interrupted append left. */
static int take_name(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
		     struct bpk_err *err)
{
	struct bpk_buf name = { 0 }, reservation = { 0 };
	bool is_used = false;
	int rc;

	if (!bpk_tree_is_remote(e->tree))
		return 0;
	rc = bpk_chunkdir_file_name(&e->set, &e->set.columns[column], number, &name, err);
	if (rc == 0)
		rc = bpk_dir_has(e->place.directory, (const char *)name.data, BPK_ENTRY_FILE,
				 &is_used, err);
	if (rc == 0 && is_used)
		rc = print_reservation(&e->set.sizes, &reservation, err);
	if (rc == 0 && is_used)
		rc = bpk_tree_take(e->tree, (const char *)name.data, bpk_buf_view(&reservation),
				   err);
	bpk_buf_clear(&name);
	bpk_buf_clear(&reservation);
	return rc;
}

/* Begin the replacement of an existing file of a column. After a cut the first such file is held
 * until the commit, since it may have to follow sizes. */
static int begin_replacing(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
			   struct bpk_err *err)
{
	struct bpk_chunkdir_track *track = &e->output.tracks[column];

	track->hold = e->cut.made && track->held == NULL;
	return bpk_chunkdir_old_open(e, column, number, &e->old[column], err) != 0
		       ? -1
		       : bpk_chunkdir_old_subtract(e, column, number, &e->old[column], err);
}

int bpk_chunkdir_complete(struct bpk_chunkdir_editor *e, size_t column, struct bpk_err *err)
{
	struct bpk_chunkdir_draft *file = &e->output.tracks[column].file;
	uint64_t count = chunks_in(&e->set.columns[column], file->number);

	if (copy_chunks(e, column, file->number, count, e->set.nchunks, err) != 0)
		return -1;
	bpk_chunkdir_old_close(&e->old[column]);
	return 0;
}

int bpk_chunkdir_reach(struct bpk_chunkdir_editor *e, size_t column, uint64_t number,
		       uint64_t nchunks, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &e->set.columns[column];
	struct bpk_chunkdir_draft *file = &e->output.tracks[column].file;
	uint64_t superchunk = bpk_chunkdir_superchunk(c, number);

	if (file->draft != NULL && file->number != superchunk &&
	    bpk_chunkdir_complete(e, column, err) != 0)
		return -1;
	if (file->draft == NULL && take_name(e, column, superchunk, err) != 0)
		return -1;
	if (file->draft == NULL && superchunk < c->nfiles &&
	    begin_replacing(e, column, superchunk, err) != 0)
		return -1;
	return copy_chunks(e, column, superchunk, bpk_chunkdir_position(c, number), nchunks, err);
}
