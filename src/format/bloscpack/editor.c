/*
 * The editor of Bloscpack files: changes one in place if its layout and room allow that, else by a
 * rewrite. Its row is in formats.c.
 */
#include "format/bloscpack/editor.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/members.h"

static int open_reader(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	const struct bpk_read_options options = { .followed = true };
	void *reader;

	bpk_bloscpack_reader_ops.close(e->reader);
	e->reader = NULL;
	e->place.source = bpk_edit_source(e->edit);
	if (bpk_bloscpack_reader_ops.open(&e->place, &options, &reader, err) != 0)
		return -1;
	e->reader = reader;
	bpk_bloscpack_reseal_begin(e);
	return 0;
}

/* ---- Leftovers of an earlier writer ---- */

/* Test the digest of the last chunk: it proves that the bytes after it are not part of the
 * archive. */
static int prove_last(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_parcel parcel = { .number = e->header.nchunks - 1, .want_size = SIZE_MAX };
	int rc;

	if (e->header.nchunks == 0)
		return 0;
	rc = bpk_bloscpack_reader_ops.fetch(e->reader, &parcel, err);
	if (rc == 0)
		rc = bpk_bloscpack_reader_ops.check(e->reader, &parcel, err);
	bpk_buf_clear(&parcel.packed);
	return rc;
}

/* Commit by one write of the header, with everything written before it. */
static int commit_header(struct bpk_bloscpack_editor *e, const struct bpk_bloscpack_header *header,
			 uint64_t end, struct bpk_err *err)
{
	uint8_t bytes[BPK_BLOSCPACK_HEADER_SIZE];
	struct bpk_edit_head head = { .offset = 0, .bytes = bpk_view(bytes, sizeof bytes) };

	bpk_bloscpack_header_write(header, bytes);
	return bpk_edit_commit(e->edit, &head, end, err);
}

/* Reset spare entries to -1, all of them or the leading ones that are set. The first of them
 * becomes first, which marks the bytes after the end as left over by an append. */
static int reset_spares(struct bpk_bloscpack_editor *e, bool all, uint64_t first,
			struct bpk_err *err)
{
	uint64_t spares = e->header.append_space * BPK_BLOSCPACK_ENTRY_SIZE;
	bool wrote = false;

	bpk_edit_set_free(e->edit, e->reader->offsets_end - spares, spares);
	if (bpk_bloscpack_clear_spares(e, all, first, &wrote, err) != 0)
		return -1;
	if (wrote && bpk_edit_commit(e->edit, NULL, e->ends.all, err) != 0)
		return -1;
	bpk_edit_set_free(e->edit, 0, 0);
	return 0;
}

/*
 * Cut off the bytes that an uncommitted addition left after the end. The entries that lead there
 * are reset first: with new chunks in that place, they would lead into one of them.
 */
static int clean(struct bpk_bloscpack_editor *e, bool tail, struct bpk_err *err)
{
	if (tail && prove_last(e, err) != 0)
		return -1;
	if (e->reader->torn &&
	    (commit_header(e, &e->header, e->ends.all, err) != 0 || open_reader(e, err) != 0))
		return -1;
	if (tail && (reset_spares(e, true, e->ends.all, err) != 0 ||
		     bpk_edit_trim(e->edit, err) != 0 || open_reader(e, err) != 0))
		return -1;
	return reset_spares(e, false, BPK_UNKNOWN, err);
}

/* ---- Opening ---- */

static void forget_change(struct bpk_bloscpack_editor *e)
{
	bpk_bloscpack_rewrite_clear(&e->rewrite);
	bpk_buf_clear(&e->patches.list);
	bpk_buf_clear(&e->patches.bytes);
	bpk_buf_clear(&e->metadata.text);
	bpk_seal_growth_clear(&e->seal);
	e->patches.count = 0;
	e->metadata.set = e->reseals = false;
	e->mode = BPK_BLOSCPACK_AT_REST;
}

static void editor_close(void *editor)
{
	struct bpk_bloscpack_editor *e = editor;

	if (e == NULL)
		return;
	/* if this fails, the next editor resets the entries */
	if (e->mode == BPK_BLOSCPACK_ADDING)
		(void)bpk_bloscpack_add_undo(e, NULL);
	forget_change(e);
	bpk_bloscpack_reader_ops.close(e->reader);
	bpk_edit_close(e->edit);
	free(e);
}

/* Only an interrupted append, or zeros, may follow the last chunk; without entries to prove that,
 * nothing may follow. */
static int check_end(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(e->place.source);

	if (e->ends.archive >= size)
		return 0;
	if (bpk_members_refuse_tail(&bpk_bloscpack_members, e->reader, e->place.source,
				    e->place.path, e->ends.archive, err) != 0)
		return -1;
	if (e->header.has_offsets)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"%" PRIu64 " %s from offset %" PRIu64 " on, after the end of the "
			"archive, %s to no archive",
			size - e->ends.archive, bpk_plural(size - e->ends.archive, "byte", "bytes"),
			e->ends.archive, bpk_plural(size - e->ends.archive, "belongs", "belong"));
}

/* A seal must be right, unless it will be renewed. */
static int check_seal(const struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	uint64_t next;

	return !e->options.reseals && bpk_bloscpack_seal_check(e->reader, err) != 0
		       ? -1
		       : bpk_seal_next(&e->reader->seal, &next, err);
}

static int start(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	bool tail;

	if (open_reader(e, err) != 0 || check_seal(e, err) != 0 ||
	    bpk_bloscpack_survey(e, err) != 0 || check_end(e, err) != 0)
		return -1;
	tail = bpk_source_size(e->place.source) > e->ends.all;
	bpk_edit_set_end(e->edit, e->ends.all);
	if (e->header.has_offsets && bpk_bloscpack_check_spares(e, tail, err) != 0)
		return -1;
	if (e->options.reseals && bpk_bloscpack_reseal_look(e, err) != 0)
		return -1;
	if (e->header.has_offsets && e->adds_in_place && clean(e, tail, err) != 0)
		return -1;
	bpk_bloscpack_survey_info(e);
	return 0;
}

static int editor_open(const char *path, const struct bpk_editor_options *options, void **editor,
		       struct bpk_err *err)
{
	struct bpk_bloscpack_editor *e = bpk_calloc(1, sizeof *e, err);

	*editor = NULL;
	if (e == NULL)
		return -1;
	e->options = *options;
	e->options.edit.claims = bpk_bloscpack_claims;
	e->place.path = path;
	if (bpk_edit_open(path, &e->options.edit, &e->edit, err) != 0 || start(e, err) != 0) {
		editor_close(e);
		return -1;
	}
	e->options.reseals = false; /* a commit has made a right seal */
	*editor = e;
	return 0;
}

static const struct bpk_info *editor_info(const void *editor)
{
	return &((const struct bpk_bloscpack_editor *)editor)->info;
}

static void *editor_reader(void *editor)
{
	return ((struct bpk_bloscpack_editor *)editor)->reader;
}

/* ---- Chunks ---- */

static int editor_cut(void *editor, uint64_t nchunks, struct bpk_err *err)
{
	struct bpk_bloscpack_editor *e = editor;

	if (e->mode != BPK_BLOSCPACK_AT_REST)
		return bpk_fail(err, BPK_BUG, "a cut while another change is under way");
	if (bpk_bloscpack_add_cut(e, nchunks, err) != 0)
		return -1;
	e->mode = BPK_BLOSCPACK_ADDING;
	return 0;
}

static int editor_seal(const void *editor, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_bloscpack_editor *e = editor;

	return bpk_parcel_seal(e->header.checksum, parcel, err);
}

/* Put a chunk that did not fit into the draft. */
static int put_rewriting(struct bpk_bloscpack_editor *e, const struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	e->rewrite.coming = true;
	if (e->mode != BPK_BLOSCPACK_REWRITING && bpk_bloscpack_rewrite_begin(e, err) != 0)
		return -1;
	if (bpk_bloscpack_rewrite_put(e, parcel, err) != 0)
		return -1;
	return e->rewrite.adding ? bpk_bloscpack_add_note(e, parcel, 0, err)
				 : bpk_bloscpack_reseal_note(e, parcel, err);
}

/* Of a chunk's header. Source: Blosc chunk format, "Header". */
enum { TYPESIZE_AT = 3 };

static int editor_put(void *editor, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_bloscpack_editor *e = editor;
	enum bpk_bloscpack_fit fit = BPK_BLOSCPACK_REWRITE;
	size_t size = parcel->packed_size + e->header.checksum->size;

	if (parcel->packed.size < size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was not sealed", parcel->number);
	if (e->mode == BPK_BLOSCPACK_AT_REST)
		e->mode = BPK_BLOSCPACK_PATCHING;
	if (bpk_bloscpack_is_adding(e) && bpk_bloscpack_add_check(e, parcel, err) != 0)
		return -1;
	if (bpk_bloscpack_is_adding(e) && parcel->number == 0)
		e->added.typesize = parcel->packed.data[TYPESIZE_AT];
	if (e->mode == BPK_BLOSCPACK_ADDING && bpk_bloscpack_add_put(e, parcel, &fit, err) != 0)
		return -1;
	if (e->mode == BPK_BLOSCPACK_PATCHING && bpk_bloscpack_patch_put(e, parcel, &fit, err) != 0)
		return -1;
	return fit == BPK_BLOSCPACK_FITS ? 0 : put_rewriting(e, parcel, err);
}

/* ---- Metadata ---- */

static int editor_set_metadata(void *editor, struct bpk_view text, struct bpk_err *err)
{
	struct bpk_bloscpack_editor *e = editor;

	if (e->reader->metadata.strange_magic)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"metadata is not JSON, and cannot be changed");
	if (bpk_bloscpack_seal_is_named(text))
		return bpk_fail(err, BPK_USAGE, "the name bpk_seal in metadata is bpk's own");
	e->metadata.text.size = 0;
	if (bpk_buf_append(&e->metadata.text, text, err) != 0)
		return -1;
	e->metadata.set = true;
	e->rewrite.has_text = false;
	return 0;
}

/* The text of the new metadata, and the seal over it and the new header. */
static int make_metadata(struct bpk_bloscpack_editor *e, const struct bpk_bloscpack_header *header,
			 struct bpk_buf *text, struct bpk_err *err)
{
	uint8_t bytes[BPK_BLOSCPACK_HEADER_SIZE];
	struct bpk_seal_tree tree;
	struct bpk_buf plain = { 0 };
	int rc = bpk_bloscpack_text_make(e, &plain, err);

	if (rc != 0 || e->seal.generation == 0) {
		*text = plain;
		return rc;
	}
	memcpy(bytes, e->reader->head, sizeof bytes);
	if (e->mode == BPK_BLOSCPACK_ADDING)
		bpk_bloscpack_header_write(header, bytes);
	rc = bpk_seal_growth_tree(&e->seal, &tree, err);
	if (rc == 0)
		rc = bpk_bloscpack_seal_join(bpk_buf_view(&plain), bytes, e->seal.generation, &tree,
					     text, err);
	bpk_buf_clear(&plain);
	return rc;
}

/* The bytes that the journal may still save beside the chunks that patches replace. */
static uint64_t journal_left(const struct bpk_bloscpack_editor *e)
{
	uint64_t limit = e->options.journal_limit;

	return limit - bpk_min_u64(limit, e->patches.bytes.size);
}

/* Overwrite the metadata; *fit tells whether they fit. */
static int write_metadata(struct bpk_bloscpack_editor *e, const struct bpk_bloscpack_header *header,
			  enum bpk_bloscpack_fit *fit, struct bpk_err *err)
{
	const struct bpk_bloscpack_metadata *m = &e->reader->metadata;
	uint64_t at = BPK_BLOSCPACK_HEADER_SIZE;
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_buf front = { 0 }, text = { 0 };
	bool fits = false;
	int rc = -1;

	if (make_metadata(e, header, &text, err) != 0)
		goto out;
	*fit = text.size > 0 || e->header.has_metadata ? BPK_BLOSCPACK_REWRITE : BPK_BLOSCPACK_FITS;
	rc = 0;
	if (!m->good || text.size == 0)
		goto out;
	rc = -1;
	if (bpk_bloscpack_append(e->reader->source, at, BPK_BLOSCPACK_METADATA_SIZE, &front,
				 "metadata header", err) != 0 ||
	    bpk_bloscpack_metadata_refit(m, bpk_buf_view(&text), &front, digest, &fits, err) != 0)
		goto out;
	if (e->seal.generation > 0)
		memcpy(front.data + BPK_BLOSCPACK_SEAL_MARK, bpk_bloscpack_seal_mark,
		       BPK_BLOSCPACK_SEAL_MARK_SIZE);
	rc = 0;
	if (!fits || !e->in_place || front.size > journal_left(e))
		goto out;
	*fit = BPK_BLOSCPACK_FITS;
	rc = bpk_edit_write_at(e->edit, at, bpk_buf_view(&front), err);
	if (rc == 0)
		rc = bpk_edit_write_at(e->edit, m->end - m->checksum->size,
				       bpk_view(digest, m->checksum->size), err);
out:
	bpk_buf_clear(&front);
	bpk_buf_clear(&text);
	return rc;
}

/* ---- Committing ---- */

/* An empty archive has one empty chunk. */
static int put_empty(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	struct bpk_parcel parcel = { .number = 0 };
	int rc = bpk_bloscpack_make_empty(&e->header, &parcel, err);

	if (rc == 0)
		rc = editor_put(e, &parcel, err);
	bpk_buf_clear(&parcel.packed);
	return rc;
}

/* Do all that is possible in place, up to the commit; *fit tells whether that was everything. */
static int write_changes(struct bpk_bloscpack_editor *e, struct bpk_bloscpack_header *header,
			 enum bpk_bloscpack_fit *fit, struct bpk_err *err)
{
	*fit = e->mode == BPK_BLOSCPACK_ADDING ? bpk_bloscpack_add_fits(e) : BPK_BLOSCPACK_FITS;
	if (e->mode == BPK_BLOSCPACK_ADDING)
		bpk_bloscpack_add_header(e, header);
	if (*fit == BPK_BLOSCPACK_FITS && bpk_bloscpack_text_changes(e) &&
	    write_metadata(e, header, fit, err) != 0)
		return -1;
	if (*fit != BPK_BLOSCPACK_FITS)
		return 0;
	if (e->mode == BPK_BLOSCPACK_ADDING)
		return bpk_bloscpack_add_finish(e, err);
	return bpk_bloscpack_patch_finish(e, err);
}

/* After a commit: cut off the bytes behind the new end, then reset the mark that names them left
 * over. */
static int load_committed(struct bpk_bloscpack_editor *e, bool shrinks, struct bpk_err *err)
{
	if (shrinks && bpk_edit_trim(e->edit, err) != 0)
		return -1;
	if (open_reader(e, err) != 0)
		return -1;
	if (shrinks && e->header.has_offsets)
		return reset_spares(e, false, BPK_UNKNOWN, err);
	return 0;
}

static int commit_in_place(struct bpk_bloscpack_editor *e,
			   const struct bpk_bloscpack_header *header, struct bpk_err *err)
{
	bool adding = e->mode == BPK_BLOSCPACK_ADDING;
	uint64_t end = adding ? e->added.position : e->ends.all;
	bool shrinks = end < e->ends.all;

	if ((adding ? commit_header(e, header, end, err)
		    : bpk_edit_commit(e->edit, NULL, end, err)) != 0)
		return -1;
	bpk_edit_set_free(e->edit, 0, 0);
	e->header = *header;
	e->ends.chunks = adding ? end : e->ends.chunks;
	e->ends.all = end;
	forget_change(e);
	if (load_committed(e, shrinks, err) != 0)
		return bpk_edit_fail_committed(err);
	bpk_bloscpack_survey_info(e);
	return 0;
}

static int commit_rewrite(struct bpk_bloscpack_editor *e, struct bpk_err *err)
{
	if (e->mode != BPK_BLOSCPACK_REWRITING && bpk_bloscpack_rewrite_begin(e, err) != 0)
		return -1;
	if (bpk_bloscpack_rewrite_commit(e, err) != 0)
		return -1;
	forget_change(e);
	return start(e, err);
}

static int editor_commit(void *editor, struct bpk_err *err)
{
	struct bpk_bloscpack_editor *e = editor;
	struct bpk_bloscpack_header header = e->header;
	enum bpk_bloscpack_fit fit = BPK_BLOSCPACK_REWRITE;

	if (bpk_bloscpack_is_adding(e) && e->added.cut == e->header.nchunks &&
	    e->added.nchunks == 0) {
		e->mode = BPK_BLOSCPACK_AT_REST;
		bpk_bloscpack_rewrite_clear(&e->rewrite);
	}
	if (e->mode == BPK_BLOSCPACK_AT_REST && !e->metadata.set && !e->reseals)
		return 0;
	if (bpk_bloscpack_is_adding(e) && e->added.cut + e->added.nchunks == 0 &&
	    put_empty(e, err) != 0)
		return -1;
	if (bpk_bloscpack_is_adding(e) && bpk_bloscpack_shape_follow(e, err) != 0)
		return -1;
	if (e->mode != BPK_BLOSCPACK_REWRITING && write_changes(e, &header, &fit, err) != 0)
		return -1;
	if (fit == BPK_BLOSCPACK_FITS)
		return commit_in_place(e, &header, err);
	return commit_rewrite(e, err);
}

/* ---- Finishing a stream ---- */

/* True if the file lacks its counts or its offsets. */
static bool is_unfinished(const struct bpk_bloscpack_reader *r)
{
	const struct bpk_bloscpack_header *h = &r->header;

	return !h->has_offsets || h->nchunks == BPK_UNKNOWN || h->last_chunk_size == BPK_UNKNOWN;
}

int bpk_bloscpack_finish(const char *path, const struct bpk_edit_options *options,
			 struct bpk_repacked *result, struct bpk_err *err)
{
	const struct bpk_editor_options with = { .edit = *options, .append_space = BPK_UNKNOWN };
	struct bpk_bloscpack_editor *e;
	void *editor;
	int rc = 0;

	*result = (struct bpk_repacked){ 0 };
	if (editor_open(path, &with, &editor, err) != 0)
		return -1;
	e = editor;
	result->before = bpk_source_size(e->place.source);
	if (is_unfinished(e->reader)) {
		e->rewrite.proves = e->rewrite.offsets = true;
		rc = commit_rewrite(e, err);
		result->changed = rc == 0;
	}
	result->after = bpk_source_size(e->place.source);
	editor_close(editor);
	return rc;
}

static const struct bpk_writer_ops appender = {
	.seal = editor_seal,
	.put = editor_put,
};

const struct bpk_editor_ops bpk_bloscpack_editor_ops = {
	.open = editor_open,
	.info = editor_info,
	.reader = editor_reader,
	.reads = &bpk_bloscpack_reader_ops,
	.cut = editor_cut,
	.appender = &appender,
	.set_metadata = editor_set_metadata,
	.reseal = bpk_bloscpack_reseal,
	.commit = editor_commit,
	.close = editor_close,
};
