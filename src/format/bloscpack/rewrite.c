/*
 * Rewrites the whole file for the editor, if a change does not fit in place: the spare entries are
 * used up, a chunk or the metadata outgrew their room, more would be overwritten than may be saved,
 * or the layout is an older one. It uses the normal reader and writer; chunks are copied unopened.
 */
#include "format/bloscpack/editor.h"

#include <inttypes.h>

enum {
	LARGEST_SECTION = 128 << 20, /* largest metadata section that is copied */
	MOST_DIGITS = 20,            /* longest decimal form of a number of rows */
};

void bpk_bloscpack_rewrite_clear(struct bpk_bloscpack_rewrite *rw)
{
	if (rw->writer != NULL)
		bpk_bloscpack_writer_ops.close(rw->writer);
	bpk_bloscpack_reader_ops.close(rw->reader);
	bpk_draft_drop(rw->draft);
	bpk_buf_clear(&rw->parcel.packed);
	*rw = (struct bpk_bloscpack_rewrite){ 0 };
}

/* ---- The front ---- */

/* Read the metadata section as stored, without interpreting it. */
static int read_section(const struct bpk_bloscpack_editor *e, struct bpk_buf *section,
			struct bpk_err *err)
{
	uint64_t size = e->reader->metadata.end - BPK_BLOSCPACK_HEADER_SIZE;

	if (size > LARGEST_SECTION)
		return bpk_fail(err, BPK_LIMIT,
				"metadata section of %" PRIu64 " bytes, at most %d are copied",
				size, LARGEST_SECTION);
	return bpk_bloscpack_append(e->reader->source, BPK_BLOSCPACK_HEADER_SIZE, (size_t)size,
				    section, "metadata section", err);
}

/* The final number of rows is not known yet: test that any number fits into the section's room. */
static bool has_room_for_rows(const struct bpk_bloscpack_editor *e)
{
	const struct bpk_bloscpack_metadata *m = &e->reader->metadata;

	return e->mode != BPK_BLOSCPACK_ADDING || !bpk_bloscpack_shape_follows(e) ||
	       m->room >= m->text.size + MOST_DIGITS;
}

/* Choose the new file's metadata: those that were set, the existing ones, or no metadata. */
static int choose_metadata(const struct bpk_bloscpack_editor *e, struct bpk_info *info,
			   struct bpk_buf *section, struct bpk_err *err)
{
	const struct bpk_bloscpack_metadata *m = &e->reader->metadata;
	bool is_there = e->header.has_metadata && !bpk_bloscpack_text_changes(e);

	info->metadata.checksum = m->good ? m->checksum : NULL;
	info->metadata.text = bpk_bloscpack_text_user(e);
	info->metadata.given = info->metadata.text.size > 0;
	info->array.type = NULL; /* the text records it */
	if (is_there && e->in_place && has_room_for_rows(e))
		return read_section(e, section, err);
	if (is_there && !m->good)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"damaged metadata cannot be copied to version 3");
	return 0;
}

/* Open the writer; the first stop committed chunks are kept, and more may follow. */
static int open_writer(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_bloscpack_added *added = &e->added;
	bool adding = e->mode == BPK_BLOSCPACK_ADDING;
	struct bpk_write_options options = {
		.no_offsets = e->in_place && !e->header.has_offsets && !e->rewrite.offsets,
		.append_space = e->options.append_space,
	};
	struct bpk_bloscpack_expected expected = {
		.nchunks = adding ? added->cut + added->nchunks + 1 : e->header.nchunks,
		.raw_size = adding ? added->kept_raw + added->raw_size : e->header.raw_size,
	};
	struct bpk_info info = e->info;
	struct bpk_buf section = { 0 };
	struct bpk_sizes sizes = { 0 };
	int rc = choose_metadata(e, &info, &section, err);

	if (rc == 0)
		rc = bpk_bloscpack_text_sizes(e, &sizes, err);
	info.chunks.runs = &sizes;
	info.seal.sealed = e->seal.generation > 0;
	info.seal.generation = e->seal.generation;
	info.raw_size = info.chunks.count = info.chunks.last_size = BPK_UNKNOWN;
	if (adding && added->typesize > 0)
		info.chunks.typesize = added->typesize;
	info.chunks.size = adding ? added->chunk_size : e->header.chunk_size;
	/* a file of one empty chunk has size 0 */
	if (info.chunks.size == 0)
		info.chunks.size = e->info.chunks.size;
	expected.section = bpk_buf_view(&section);
	if (rc == 0)
		rc = bpk_bloscpack_writer_begin(e->rewrite.draft, &info, &options, &expected,
						&e->rewrite.writer, err);
	bpk_sizes_clear(&sizes);
	bpk_buf_clear(&section);
	return rc;
}

/* ---- Chunks ---- */

/* Copy the chunks before number. */
static int copy_to(struct bpk_bloscpack_rewrite *rw, uint64_t number, struct bpk_err *err)
{
	int rc = 0;

	for (; rc == 0 && rw->next < number; rw->next++) {
		rw->parcel.number = rw->next;
		rw->parcel.want_size = SIZE_MAX;
		rc = bpk_bloscpack_reader_ops.fetch(rw->reader, &rw->parcel, err);
		if (rc == 0 && rw->proves)
			rc = bpk_bloscpack_reader_ops.check(rw->reader, &rw->parcel, err);
		if (rc == 0)
			rc = bpk_bloscpack_writer_ops.put(rw->writer, &rw->parcel, err);
	}
	if (rc > 0)
		return bpk_fail(err, BPK_CORRUPT, "ends before chunk %" PRIu64, number);
	return rc;
}

/* Copy the chunks that were already put after the cut. */
static int copy_added(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_parcel *parcel = &e->rewrite.parcel;
	struct bpk_buf *packed = &parcel->packed;
	uint64_t at = e->added.base;

	while (at < e->added.position) {
		uint8_t head[BPK_CHUNK_HEADER_SIZE];
		struct bpk_chunk_header chunk;

		if (bpk_edit_read_at(e->edit, at, bpk_span(head, sizeof head), err) != 0 ||
		    bpk_chunk_header_read_plain(bpk_view(head, sizeof head), &chunk, err) != 0 ||
		    bpk_buf_resize(packed, chunk.packed_size + (size_t)e->header.checksum->size,
				   err) != 0 ||
		    bpk_edit_read_at(e->edit, at, bpk_span(packed->data, packed->size), err) != 0)
			return -1;
		parcel->packed_size = chunk.packed_size;
		parcel->raw_size = chunk.raw_size;
		if (bpk_bloscpack_writer_ops.put(e->rewrite.writer, parcel, err) != 0)
			return -1;
		at += packed->size;
	}
	return 0;
}

/* Copy the staged patches, and the chunks before and between them. */
static int copy_patches(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_rewrite *rw = &e->rewrite;

	for (size_t i = 0; i < e->patches.count; i++) {
		struct bpk_bloscpack_patch patch = bpk_bloscpack_patch_at(&e->patches, i);
		struct bpk_view bytes = bpk_view(e->patches.bytes.data + patch.at, patch.size);
		struct bpk_chunk_header chunk;

		if (copy_to(rw, patch.number, err) != 0 ||
		    bpk_chunk_header_read_plain(bytes, &chunk, err) != 0)
			return -1;
		rw->parcel.packed.size = 0;
		if (bpk_buf_append(&rw->parcel.packed, bytes, err) != 0)
			return -1;
		rw->parcel.packed_size = chunk.packed_size;
		rw->parcel.raw_size = chunk.raw_size;
		if (bpk_bloscpack_writer_ops.put(rw->writer, &rw->parcel, err) != 0)
			return -1;
		rw->next++;
	}
	bpk_buf_clear(&e->patches.bytes);
	return 0;
}

int bpk_bloscpack_rewrite_begin(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_read_options options = { 0 };
	struct bpk_bloscpack_rewrite *rw = &e->rewrite;
	bool adding = e->mode == BPK_BLOSCPACK_ADDING;

	rw->adding = adding;
	rw->stop = adding ? e->added.cut : e->header.nchunks;
	if (bpk_edit_draft(e->edit, &rw->draft, err) != 0 ||
	    bpk_bloscpack_reader_ops.open(&e->place, &options, &rw->reader, err) != 0 ||
	    open_writer(e, err) != 0)
		return -1;
	if ((adding && (copy_to(rw, rw->stop, err) != 0 || copy_added(e, err) != 0)) ||
	    (!adding && copy_patches(e, err) != 0))
		return -1;
	e->mode = BPK_BLOSCPACK_REWRITING;
	rw->has_text = bpk_bloscpack_text_changes(e);
	return 0;
}

int bpk_bloscpack_rewrite_put(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			      struct bpk_err *err)
{
	struct bpk_bloscpack_rewrite *rw = &e->rewrite;

	if (rw->adding)
		return bpk_bloscpack_writer_ops.put(rw->writer, parcel, err);
	if (copy_to(rw, parcel->number, err) != 0 ||
	    bpk_bloscpack_writer_ops.put(rw->writer, parcel, err) != 0)
		return -1;
	rw->next++;
	return 0;
}

/* ---- Finishing ---- */

/* Metadata that were set after the draft was begun must fit into the section written then. Where
 * there are none any more, the section holds an empty object. */
static int put_text(const struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_draft *draft = e->rewrite.draft;
	struct bpk_bloscpack_metadata m = { 0 };
	uint8_t head[BPK_BLOSCPACK_HEADER_SIZE + BPK_BLOSCPACK_METADATA_SIZE];
	struct bpk_bloscpack_header header;
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_buf front = { 0 }, text = { 0 };
	bool fits = false;
	int rc = -1;

	if (bpk_bloscpack_text_make(e, &text, err) != 0 ||
	    bpk_draft_read_at(draft, 0, bpk_span(head, sizeof head), err) != 0 ||
	    bpk_bloscpack_header_read(bpk_view(head, sizeof head), &header, err) != 0 ||
	    bpk_buf_append(&front,
			   bpk_view(head + BPK_BLOSCPACK_HEADER_SIZE, BPK_BLOSCPACK_METADATA_SIZE),
			   err) != 0)
		goto out;
	if (header.has_metadata) {
		if (text.size == 0 && bpk_buf_append(&text, bpk_view("{}", 2), err) != 0)
			goto out;
		bpk_bloscpack_metadata_room(front.data, &m);
		if (bpk_bloscpack_metadata_refit(&m, bpk_buf_view(&text), &front, digest, &fits,
						 err) != 0)
			goto out;
	}
	if (!fits)
		bpk_fail(err, BPK_FAILED, "metadata no longer fit into the section written before");
	else if (bpk_draft_write_at(draft, BPK_BLOSCPACK_HEADER_SIZE, bpk_buf_view(&front), err) ==
			 0 &&
		 bpk_draft_write_at(draft, sizeof head + m.room, bpk_view(digest, m.checksum->size),
				    err) == 0)
		rc = 0;
out:
	bpk_buf_clear(&front);
	bpk_buf_clear(&text);
	return rc;
}

/* The writer makes the new seal: of the latest metadata, and of the right chunks alone. */
static int reseal(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_seal_tree tree;
	struct bpk_buf text = { 0 };
	int rc = bpk_seal_growth_tree(&e->seal, &tree, err);

	if (rc == 0)
		rc = bpk_bloscpack_writer_compare(e->rewrite.writer, &tree, &e->reader->seal, err);
	if (rc == 0 && !e->rewrite.has_text)
		rc = bpk_bloscpack_text_make(e, &text, err);
	if (rc == 0 && !e->rewrite.has_text)
		rc = bpk_bloscpack_writer_retext(e->rewrite.writer, bpk_buf_view(&text), err);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_bloscpack_rewrite_commit(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_bloscpack_rewrite *rw = &e->rewrite;
	struct bpk_draft *draft = rw->draft;

	if (copy_to(rw, rw->stop, err) != 0)
		return -1;
	if (e->seal.generation > 0 && reseal(e, err) != 0)
		return -1;
	if (bpk_bloscpack_writer_ops.finish(rw->writer, err) != 0)
		return -1;
	if (e->seal.generation == 0 && bpk_bloscpack_text_changes(e) && !rw->has_text &&
	    put_text(e, err) != 0)
		return -1;
	rw->draft = NULL;
	return bpk_edit_replace(e->edit, draft, err);
}
