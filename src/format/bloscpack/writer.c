/*
 * Writes version 3. Called by rewrite.c and chunked directories; its row is in formats.c. The
 * layout depends on the draft and on the known counts:
 *
 *   size known,   seeks     header | metadata | nchunks + spare entries | chunks
 *   size known,   a pipe    header | metadata | chunks
 *   size unknown, seeks     as the first, with 1024 entries; chunks move at the end if more come
 *   size unknown, a pipe    header with -1 | metadata | chunks | end marker
 *
 * On a draft that seeks the header is written last.
 */
#include "format/bloscpack/writer.h"

#include <inttypes.h>
#include <stdlib.h>

static int write_next(struct bpk_bloscpack_writer *w, struct bpk_view bytes, struct bpk_err *err)
{
	int rc = w->seekable ? bpk_draft_write_at(w->draft, w->position, bytes, err)
			     : bpk_draft_write(w->draft, bytes, err);

	w->position += bytes.size;
	return rc;
}

/* ---- Opening ---- */

static int check_info(const struct bpk_info *info, struct bpk_err *err)
{
	if (info->chunks.size != BPK_UNKNOWN &&
	    (info->chunks.size == 0 || info->chunks.size > BPK_CHUNK_MAX_RAW_SIZE))
		return bpk_fail(err, BPK_LIMIT,
				"chunks of %" PRIu64 " bytes, 1 to %d are possible in a Bloscpack "
				"file",
				info->chunks.size, BPK_CHUNK_MAX_RAW_SIZE);
	return 0;
}

/* Set the header from the data that info announces. */
static void announce(struct bpk_bloscpack_writer *w, const struct bpk_info *info)
{
	struct bpk_bloscpack_header *h = &w->header;
	struct bpk_sized last;

	w->announced = info->raw_size;
	h->version = 3;
	h->checksum = info->chunks.checksum;
	h->typesize = info->chunks.typesize <= BPK_CHUNK_MAX_TYPESIZE ? info->chunks.typesize : 0;
	h->chunk_size = info->chunks.size;
	h->last_chunk_size = BPK_UNKNOWN;
	h->nchunks = info->chunks.count;
	if (info->raw_size != BPK_UNKNOWN && info->chunks.size != BPK_UNKNOWN) {
		h->nchunks = bpk_max_u64(1, bpk_div_up(info->raw_size, info->chunks.size));
		h->last_chunk_size = info->raw_size - (h->nchunks - 1) * info->chunks.size;
	}
	if (info->chunks.size == BPK_UNKNOWN && info->chunks.runs != NULL &&
	    h->nchunks != BPK_UNKNOWN && bpk_sizes_chunk(info->chunks.runs, h->nchunks - 1, &last))
		h->last_chunk_size = last.size;
	/* an archive without chunks is written with one empty chunk */
	if (h->nchunks == 0)
		h->nchunks = 1;
	w->sized = h->nchunks != BPK_UNKNOWN;
}

/* section: the metadata section, made from info if it is empty. */
static int write_front(struct bpk_bloscpack_writer *w, const struct bpk_info *info,
		       struct bpk_view section, struct bpk_err *err)
{
	uint8_t bytes[BPK_BLOSCPACK_HEADER_SIZE];
	struct bpk_buf metadata = { 0 };
	int rc = 0;

	if (section.size == 0) {
		rc = bpk_bloscpack_metadata_make(info, w->seal_room, &w->text, &metadata, err);
		section = bpk_buf_view(&metadata);
	}
	if (rc == 0 && section.size > 0)
		memcpy(w->section, section.data, sizeof w->section);
	w->header.has_metadata = section.size > 0;
	bpk_bloscpack_header_write(&w->header, bytes);
	if (w->seekable)
		w->position = sizeof bytes;
	else if (rc == 0)
		rc = write_next(w, bpk_view(bytes, sizeof bytes), err);
	if (rc == 0 && section.size > 0)
		rc = write_next(w, section, err);
	bpk_buf_clear(&metadata);
	w->offsets_offset = w->position;
	w->data_offset = w->position + w->slots * BPK_BLOSCPACK_ENTRY_SIZE;
	w->position = w->data_offset;
	return rc;
}

static void writer_close(void *writer)
{
	struct bpk_bloscpack_writer *w = writer;

	if (w == NULL)
		return;
	bpk_buf_clear(&w->text);
	free(w);
}

/* Plan the room for a seal's record, which is written last, in front. Without a known count of
 * chunks there is room for any number. */
static int plan_seal(struct bpk_bloscpack_writer *w, const struct bpk_info *info,
		     struct bpk_err *err)
{
	const struct bpk_metadata_info *metadata = &info->metadata;
	bool counted = w->header.has_offsets && (w->sized || w->reserved);
	bool joins = !metadata->given || bpk_json_kind(metadata->text) == BPK_JSON_OBJECT;

	if (!info->seal.sealed)
		return 0;
	if (!w->seekable)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"a seal cannot be written into a pipe; name the result with "
				"--output");
	if (!joins)
		return bpk_fail(err, BPK_USAGE, "a seal needs metadata that are an object");
	w->generation = bpk_max_u64(info->seal.generation, 1);
	w->seal_room = bpk_bloscpack_seal_room(counted ? w->slots : BPK_UNKNOWN);
	return 0;
}

int bpk_bloscpack_writer_begin(struct bpk_draft *draft, const struct bpk_info *info,
			       const struct bpk_write_options *options,
			       const struct bpk_bloscpack_expected *expected, void **writer,
			       struct bpk_err *err)
{
	struct bpk_bloscpack_writer *w = bpk_calloc(1, sizeof *w, err);
	struct bpk_view section = expected != NULL ? expected->section : bpk_view(NULL, 0);

	*writer = NULL;
	if (w == NULL)
		return -1;
	w->draft = draft;
	w->seekable = bpk_draft_seekable(draft);
	announce(w, info);
	/* without the counts, chunks may be read back and moved at the end */
	if ((w->seekable && !w->sized && bpk_draft_reread(draft, err) != 0) ||
	    check_info(info, err) != 0 ||
	    bpk_bloscpack_entries_plan(w, options, expected, err) != 0 ||
	    plan_seal(w, info, err) != 0 || write_front(w, info, section, err) != 0) {
		writer_close(w);
		return -1;
	}
	*writer = w;
	return 0;
}

static int writer_open(struct bpk_draft *draft, const struct bpk_info *info,
		       const struct bpk_write_options *options, void **writer, struct bpk_err *err)
{
	return bpk_bloscpack_writer_begin(draft, info, options, NULL, writer, err);
}

/* ---- Chunks ---- */

static int writer_seal(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_bloscpack_writer *w = writer;

	return bpk_parcel_seal(w->header.checksum, parcel, err);
}

int bpk_bloscpack_make_empty(const struct bpk_bloscpack_header *header, struct bpk_parcel *parcel,
			     struct bpk_err *err)
{
	parcel->raw_size = 0;
	parcel->packed_size = BPK_CHUNK_HEADER_SIZE;
	if (bpk_buf_resize(&parcel->packed, BPK_CHUNK_HEADER_SIZE, err) != 0)
		return -1;
	bpk_chunk_write_empty(header->typesize > 0 ? header->typesize : 1, parcel->packed.data);
	return bpk_parcel_seal(header->checksum, parcel, err);
}

/* Check that the chunk agrees with the header. If the counts are unknown, the header can still
 * change: its chunk size then becomes unknown. */
static int check_order(struct bpk_bloscpack_writer *w, const struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	uint64_t chunk_size = w->header.chunk_size;
	bool uneven =
		parcel->raw_size > chunk_size || (w->nchunks > 0 && w->last_raw != chunk_size);

	if (w->sized && w->nchunks == w->header.nchunks)
		return bpk_fail(err, BPK_FAILED, "%" PRIu64 " chunks were announced, more came",
				w->header.nchunks);
	if (chunk_size == BPK_UNKNOWN || !uneven)
		return 0;
	if (!w->sized && w->seekable)
		w->header.chunk_size = BPK_UNKNOWN;
	else
		return bpk_fail(err, BPK_BUG,
				"chunk %" PRIu64 " of %zu bytes after one of %" PRIu64
				", chunks have %" PRIu64,
				w->nchunks, parcel->raw_size, w->last_raw, chunk_size);
	return 0;
}

static int writer_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_bloscpack_writer *w = writer;
	uint64_t here = w->position;
	size_t size = parcel->packed_size + w->header.checksum->size;

	/* in a stream of unknown length an empty chunk is the end marker, written at finish */
	if (!w->sized && parcel->raw_size == 0)
		return 0;
	if (check_order(w, parcel, err) != 0)
		return -1;
	if (parcel->packed.size < size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was not sealed", w->nchunks);
	if (w->generation > 0 &&
	    bpk_seal_tree_put(&w->tree, w->header.checksum, parcel, true, err) != 0)
		return -1;
	if (write_next(w, bpk_view(parcel->packed.data, size), err) != 0 ||
	    bpk_bloscpack_entries_note(w, here, err) != 0)
		return -1;
	w->nchunks++;
	w->raw_size += parcel->raw_size;
	w->last_raw = parcel->raw_size;
	return 0;
}

/* Every chunk is written as it is; entries that are found by walking need its header. */
static bool writer_takes_unseen(const void *writer, const struct bpk_parcel *parcel, bool all_there)
{
	const struct bpk_bloscpack_writer *w = writer;

	(void)parcel;
	(void)all_there;
	return w->seekable && w->sized && (w->generation == 0 || w->header.checksum->size > 0);
}

/* ---- Finishing ---- */

/* Write an empty chunk: the end marker, or the only chunk of an empty input. */
static int write_empty_chunk(struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	struct bpk_parcel parcel = { 0 };
	uint64_t here = w->position;
	int rc = bpk_bloscpack_make_empty(&w->header, &parcel, err);

	if (rc == 0)
		rc = write_next(w, bpk_buf_view(&parcel.packed), err);
	if (rc == 0)
		rc = bpk_bloscpack_entries_note(w, here, err);
	if (rc == 0 && w->generation > 0)
		rc = bpk_seal_tree_put(&w->tree, w->header.checksum, &parcel, true, err);
	bpk_buf_clear(&parcel.packed);
	return rc;
}

static int check_total(const struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	if (w->announced != BPK_UNKNOWN && w->raw_size != w->announced)
		return bpk_fail(err, BPK_FAILED,
				"%" PRIu64 " bytes were announced, %" PRIu64 " came", w->announced,
				w->raw_size);
	if (w->sized && w->nchunks != w->header.nchunks)
		return bpk_fail(err, BPK_FAILED,
				"%" PRIu64 " chunks were announced, %" PRIu64 " came",
				w->header.nchunks, w->nchunks);
	return 0;
}

/* The text of the metadata, with the record of a seal. */
static int make_text(const struct bpk_bloscpack_writer *w, const uint8_t *header,
		     struct bpk_buf *text, struct bpk_err *err)
{
	if (w->generation == 0)
		return bpk_buf_append(text, bpk_buf_view(&w->text), err);
	return bpk_bloscpack_seal_join(bpk_buf_view(&w->text), header, w->generation, &w->tree,
				       text, err);
}

/* Write the metadata, which are not those that were written before, into their place. */
static int write_text(struct bpk_bloscpack_writer *w, const uint8_t *header, struct bpk_err *err)
{
	struct bpk_buf text = { 0 }, front = { 0 };
	struct bpk_bloscpack_metadata m = { 0 };
	uint8_t digest[BPK_DIGEST_MAX];
	uint64_t at = BPK_BLOSCPACK_HEADER_SIZE;
	bool fits = false;
	int rc = -1;

	bpk_bloscpack_metadata_room(w->section, &m);
	if (make_text(w, header, &text, err) != 0 ||
	    bpk_buf_append(&front, bpk_view(w->section, sizeof w->section), err) != 0 ||
	    bpk_bloscpack_metadata_refit(&m, bpk_buf_view(&text), &front, digest, &fits, err) != 0)
		goto out;
	if (!fits)
		bpk_fail(err, BPK_FAILED, "metadata no longer fit into the section written before");
	else if (bpk_draft_write_at(w->draft, at, bpk_buf_view(&front), err) == 0 &&
		 bpk_draft_write_at(w->draft, at + sizeof w->section + m.room,
				    bpk_view(digest, m.checksum->size), err) == 0)
		rc = 0;
out:
	bpk_buf_clear(&text);
	bpk_buf_clear(&front);
	return rc;
}

int bpk_bloscpack_writer_retext(void *writer, struct bpk_view text, struct bpk_err *err)
{
	struct bpk_bloscpack_writer *w = writer;

	w->text.size = 0;
	return bpk_buf_append(&w->text, text, err);
}

/* The room is counted without packing, which may change its mind. */
static int writer_set_member(void *writer, const char *name, const char *value, bool *fits,
			     struct bpk_err *err)
{
	struct bpk_bloscpack_writer *w = writer;
	struct bpk_bloscpack_metadata m = { 0 };
	struct bpk_buf text = { 0 };
	int rc = -1;

	*fits = false;
	bpk_bloscpack_metadata_room(w->section, &m);
	if (!w->seekable || !w->header.has_metadata)
		bpk_fail(err, BPK_UNSUPPORTED,
			 "metadata cannot be changed in a pipe; name the result with --output");
	else if (bpk_buf_append(&text, bpk_buf_view(&w->text), err) == 0)
		rc = bpk_json_set(&text, name, value, err);
	*fits = rc == 0 && text.size <= m.room && w->seal_room <= m.room - text.size;
	if (*fits) {
		w->text_changed = true;
		rc = bpk_bloscpack_writer_retext(w, bpk_buf_view(&text), err);
	}
	bpk_buf_clear(&text);
	return rc;
}

int bpk_bloscpack_writer_compare(const void *writer, const struct bpk_seal_tree *tree,
				 const struct bpk_seal *old, struct bpk_err *err)
{
	const struct bpk_bloscpack_writer *w = writer;

	/* the only chunk of an empty archive is made by finish */
	if (w->nchunks == 0 && bpk_seal_tree_count(tree) <= 1)
		return 0;
	return bpk_seal_tree_equals(&w->tree, tree) ? 0 : bpk_seal_refuse(old, err);
}

/* Write the entries, and last the header with the final counts. */
static int finish_seekable(struct bpk_bloscpack_writer *w, struct bpk_err *err)
{
	struct bpk_bloscpack_header *h = &w->header;
	uint8_t bytes[BPK_BLOSCPACK_HEADER_SIZE];

	if (bpk_bloscpack_entries_finish(w, err) != 0)
		return -1;
	h->nchunks = w->nchunks;
	h->last_chunk_size = w->last_raw;
	bpk_bloscpack_header_write(h, bytes);
	if ((w->generation > 0 || w->text_changed) && write_text(w, bytes, err) != 0)
		return -1;
	if (bpk_draft_set_size(w->draft, w->position, err) != 0)
		return -1;
	return bpk_draft_write_at(w->draft, 0, bpk_view(bytes, sizeof bytes), err);
}

static int writer_finish(void *writer, struct bpk_err *err)
{
	struct bpk_bloscpack_writer *w = writer;
	bool empty = w->nchunks == 0 && (w->sized ? w->announced == 0 : w->seekable);

	if (empty || (!w->sized && !w->seekable)) {
		if (write_empty_chunk(w, err) != 0)
			return -1;
		w->nchunks += empty;
	}
	if (check_total(w, err) != 0)
		return -1;
	return w->seekable ? finish_seekable(w, err) : 0;
}

const struct bpk_writer_ops bpk_bloscpack_writer_ops = {
	.open = writer_open,
	.seal = writer_seal,
	.put = writer_put,
	.takes_unseen = writer_takes_unseen,
	.set_member = writer_set_member,
	.finish = writer_finish,
	.close = writer_close,
};
