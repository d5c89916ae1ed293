/*
 * Writes data files, for writer and editor. In the Blaze layout each is a Bloscpack file of version
 * 3, written by that format's own writer without spare entries and metadata, so that it means the
 * same to readers of every 32-byte header. The offsets precede the chunks, so the number of chunks
 * must be known when a file is begun. If it is not, room is made for a full file, and the chunks of
 * a shorter one, which only the last can be, are moved down.
 *
 * In the bcolz layout a file is a header of version 1 and one chunk.
 */
#include "format/chunkdir/output.h"

#include <stdlib.h>

#include "format/bloscpack/bloscpack.h"

enum { SMALL_HEADER_SIZE = 16 }; /* Bloscpack format, "Version 1" */

static const struct bpk_writer_ops *const blp = &bpk_bloscpack_writer_ops;

/* ---- One file ---- */

static uint64_t full_chunk(const struct bpk_chunkdir_output *out, size_t column)
{
	const struct bpk_chunkdir_column *c = &out->set->columns[column];

	return c->chunk_rows * out->set->row_items * c->item_size;
}

/* Begin a Bloscpack file of nchunks chunks on the file's draft. */
static int begin_superchunk(const struct bpk_chunkdir_output *out, size_t column, uint64_t nchunks,
			    void **writer, struct bpk_err *err)
{
	struct bpk_info info = { .raw_size = BPK_UNKNOWN,
				 .chunks.count = nchunks,
				 .chunks.size = full_chunk(out, column),
				 .chunks.last_size = BPK_UNKNOWN,
				 .chunks.typesize = out->tracks[column].file.typesize,
				 .chunks.checksum = out->checksum };
	struct bpk_write_options options = { .append_space = 0 };

	return blp->open(out->tracks[column].file.draft, &info, &options, writer, err);
}

static int begin_single(struct bpk_draft *draft, struct bpk_err *err)
{
	static const uint8_t header[SMALL_HEADER_SIZE] = { 'b', 'l', 'p', 'k', 1, 0, 0, 0, 1 };

	return bpk_draft_write(draft, bpk_view(header, sizeof header), err);
}

static int begin_file(struct bpk_chunkdir_output *out, size_t column, uint64_t number,
		      uint64_t nchunks, unsigned typesize, struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &out->set->columns[column];
	struct bpk_chunkdir_draft *file = &out->tracks[column].file;
	uint64_t first = number * c->superchunk_chunks;
	struct bpk_buf name = { 0 };
	int rc = bpk_chunkdir_file_name(out->set, c, number, &name, err);

	*file = (struct bpk_chunkdir_draft){ .number = number,
					     .typesize = typesize,
					     .room = c->superchunk_chunks };
	if (nchunks != BPK_UNKNOWN && nchunks > first)
		file->room = bpk_min_u64(file->room, nchunks - first);
	if (rc == 0)
		rc = bpk_tree_draft(out->tree, (const char *)name.data, &file->draft, err);
	if (rc == 0 && nchunks == BPK_UNKNOWN) /* the file may have to be shortened */
		rc = bpk_draft_reread(file->draft, err);
	if (rc == 0 && out->set->layout == BPK_CHUNKDIR_BLAZE)
		rc = begin_superchunk(out, column, file->room, &file->writer, err);
	else if (rc == 0)
		rc = begin_single(file->draft, err);
	bpk_buf_clear(&name);
	return rc;
}

static int put_chunk(struct bpk_chunkdir_output *out, struct bpk_chunkdir_draft *file,
		     const struct bpk_chunkdir_sealed *chunk, struct bpk_err *err)
{
	size_t size = chunk->packed_size + out->checksum->size;
	struct bpk_parcel parcel = { .number = file->nchunks,
				     .packed = { chunk->data, size, size },
				     .packed_size = chunk->packed_size,
				     .raw_size = chunk->raw_size };

	file->size += size;
	file->nchunks++;
	if (file->writer != NULL)
		return blp->put(file->writer, &parcel, err);
	return bpk_draft_write(file->draft, bpk_view(chunk->data, size), err);
}

static void add_share(struct bpk_chunkdir_output *out, size_t column, uint64_t number,
		      const struct bpk_chunkdir_sealed *chunk)
{
	struct bpk_chunkdir_track *track = &out->tracks[column];
	uint64_t share = bpk_chunkdir_share(
		out->set->is_table ? 0 : column, number, bpk_view(chunk->data, chunk->packed_size),
		bpk_view(chunk->data + chunk->packed_size, out->checksum->size));

	if (chunk->raw_size == full_chunk(out, column)) {
		track->data += share;
	} else {
		track->last += share;
		track->has_last = true;
	}
}

/* ---- Ending a file ---- */

/* Put the chunk at *offset of the draft into writer, and advance *offset. */
static int move_chunk(const struct bpk_chunkdir_output *out, struct bpk_draft *draft,
		      uint64_t *offset, void *writer, struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	uint8_t head[BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header header;
	size_t size;

	if (bpk_draft_read_at(draft, *offset, bpk_span(head, sizeof head), err) != 0 ||
	    bpk_chunk_header_read_plain(bpk_view(head, sizeof head), &header, err) != 0)
		return -1;
	size = header.packed_size + out->checksum->size;
	parcel->packed_size = header.packed_size;
	parcel->raw_size = header.raw_size;
	if (bpk_buf_resize(&parcel->packed, size, err) != 0 ||
	    bpk_draft_read_at(draft, *offset, bpk_span(parcel->packed.data, size), err) != 0)
		return -1;
	*offset += size;
	return blp->put(writer, parcel, err);
}

/* Fewer chunks came than there is room for. The file is rewritten on the same draft; each chunk
 * lands before the position it is read from, so no unread byte is overwritten. */
static int shorten(struct bpk_chunkdir_output *out, size_t column, struct bpk_err *err)
{
	struct bpk_chunkdir_draft *file = &out->tracks[column].file;
	uint64_t offset = BPK_BLOSCPACK_HEADER_SIZE + file->room * BPK_BLOSCPACK_ENTRY_SIZE;
	struct bpk_parcel parcel = { 0 };
	void *writer = NULL;
	int rc = begin_superchunk(out, column, file->nchunks, &writer, err);

	for (; rc == 0 && parcel.number < file->nchunks; parcel.number++)
		rc = move_chunk(out, file->draft, &offset, writer, &parcel, err);
	bpk_buf_clear(&parcel.packed);
	if (rc != 0) {
		blp->close(writer);
		return -1;
	}
	blp->close(file->writer);
	file->writer = writer;
	return 0;
}

static void drop_file(struct bpk_chunkdir_draft *file)
{
	if (file->writer != NULL)
		blp->close(file->writer);
	bpk_draft_drop(file->draft);
	file->writer = NULL;
	file->draft = NULL;
}

static int end_file(struct bpk_chunkdir_output *out, size_t column, struct bpk_err *err)
{
	struct bpk_chunkdir_track *track = &out->tracks[column];
	struct bpk_chunkdir_draft *file = &track->file;
	struct bpk_draft *draft = file->draft;

	track->size += file->size + SMALL_HEADER_SIZE;
	if (file->writer != NULL) {
		if (file->nchunks < file->room && shorten(out, column, err) != 0)
			return -1;
		if (blp->finish(file->writer, err) != 0)
			return -1;
		track->size += BPK_BLOSCPACK_HEADER_SIZE - SMALL_HEADER_SIZE +
			       file->nchunks * BPK_BLOSCPACK_ENTRY_SIZE;
	}
	file->draft = NULL;
	drop_file(file);
	if (!track->hold)
		return bpk_tree_stage(out->tree, draft, err);
	track->held = draft;
	track->hold = false;
	return 0;
}

/* ---- All files ---- */

int bpk_chunkdir_output_open(struct bpk_chunkdir_output *out, struct bpk_err *err)
{
	const struct bpk_chunkdir *set = out->set;

	out->tracks = bpk_calloc(set->ncolumns, sizeof *out->tracks, err);
	if (out->tracks == NULL)
		return -1;
	for (size_t i = 0; i < set->ncolumns; i++)
		if (bpk_tree_folder(out->tree, set->columns[i].folder, err) != 0)
			return -1;
	return 0;
}

void bpk_chunkdir_output_close(struct bpk_chunkdir_output *out)
{
	for (size_t i = 0; out->tracks != NULL && i < out->set->ncolumns; i++) {
		drop_file(&out->tracks[i].file);
		bpk_draft_drop(out->tracks[i].held);
	}
	free(out->tracks);
	out->tracks = NULL;
}

int bpk_chunkdir_output_put(struct bpk_chunkdir_output *out, size_t column, uint64_t number,
			    uint64_t nchunks, const struct bpk_chunkdir_sealed *chunk,
			    struct bpk_err *err)
{
	const struct bpk_chunkdir_column *c = &out->set->columns[column];
	struct bpk_chunkdir_draft *file = &out->tracks[column].file;
	struct bpk_chunk_header first;

	if (file->draft == NULL &&
	    (bpk_chunk_header_read_plain(bpk_view(chunk->data, chunk->packed_size), &first, err) !=
		     0 ||
	     begin_file(out, column, bpk_chunkdir_superchunk(c, number), nchunks, first.typesize,
			err) != 0))
		return -1;
	if (put_chunk(out, file, chunk, err) != 0)
		return -1;
	add_share(out, column, number, chunk);
	return file->nchunks == file->room ? end_file(out, column, err) : 0;
}

int bpk_chunkdir_output_end(struct bpk_chunkdir_output *out, struct bpk_err *err)
{
	for (size_t i = 0; i < out->set->ncolumns; i++)
		if (out->tracks[i].file.draft != NULL && end_file(out, i, err) != 0)
			return -1;
	return 0;
}

int bpk_chunkdir_output_release(struct bpk_chunkdir_output *out, struct bpk_err *err)
{
	for (size_t i = 0; i < out->set->ncolumns; i++) {
		struct bpk_draft *held = out->tracks[i].held;

		out->tracks[i].held = NULL;
		if (held != NULL && bpk_tree_stage(out->tree, held, err) != 0)
			return -1;
	}
	return 0;
}
