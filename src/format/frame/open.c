/*
 * Opens and closes the state of a frame with its files, and tests if the frame has changed since.
 * The reader, the editors and latest.c call it.
 */
#include <stdlib.h>

#include "format/frame/chunks.h"
#include "format/frame/names.h"
#include "format/frame/notes.h"
#include "format/frame/open.h"
#include "format/frame/seal.h"

/* ---- Raw sizes ---- */

/* Compare the last chunk with its digest, whatever the options say of other chunks: *is_own is
 * false if another chunk lies in its place, and true without a digest. */
static int compare_last(struct bpk_frame_reader *r, bool *is_own, struct bpk_err *err)
{
	const struct bpk_frame_ranges whole = { 0 };
	struct bpk_parcel parcel = { .number = r->state.nchunks - 1 };
	uint8_t digest[BPK_DIGEST_MAX];
	struct bpk_err why = { 0 };

	*is_own = true;
	if (!bpk_frame_has_seal(&r->state, parcel.number))
		return 0;
	*is_own = bpk_frame_chunk_fetch(r, &parcel, &whole, NULL, &why) == 0 &&
		  bpk_frame_get_seal(&r->state, parcel.number, digest, &why) == 0 &&
		  bpk_checksum_check(r->state.digests.checksum,
				     bpk_view(parcel.packed.data, parcel.packed_size), digest,
				     &why) == 0;
	bpk_buf_clear(&parcel.packed);
	return bpk_err_pass(&why, err);
}

/*
 * Find out whether all chunks but the last have one size. A frame that c-blosc2 2.15 appended to
 * after a short chunk has that in its middle ("Chunks"): its last chunk then is longer than the
 * sizes allow. Only the last chunk's header shows this, and the place of each chunk follows from
 * it: where a digest contradicts that chunk, the frame keeps one size, and a chunk of another size
 * is reported when it is fetched.
 */
static int settle_sizes(struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_header *header = &r->state.header;
	uint64_t n = r->state.nchunks, size = (uint64_t)header->chunk_size;
	struct bpk_frame_found last;
	struct bpk_err why = { 0 };
	bool is_own = true;

	r->sizes.last = n == 0 ? 0 : BPK_UNKNOWN;
	r->sizes.raw = header->raw_size;
	r->sizes.special = BPK_UNKNOWN;
	if (header->chunk_size == 0 && bpk_frame_measure(r, err) != 0)
		return -1;
	if (n == 0)
		return 0;
	if (bpk_frame_chunk_look(r, n - 1, &last, NULL, &why) == 0)
		r->sizes.last = last.header.raw_size;
	else if (bpk_err_is_of_machine(&why))
		return bpk_fail_as(err, &why);
	if (header->chunk_size > 0 && n == bpk_frame_count(header)) {
		uint64_t left = header->raw_size - (n - 1) * size;
		bool differs = r->sizes.last != BPK_UNKNOWN && r->sizes.last != left;

		if (differs && compare_last(r, &is_own, err) != 0)
			return -1;
		r->sizes.regular = !differs || !is_own;
		if (r->sizes.regular)
			r->sizes.last = left;
	}
	return r->sizes.regular || size == 0 ? 0 : bpk_frame_measure(r, err);
}

/* ---- Changes since open ---- */

/* True if the old trailer is in its place, where a change by bpk leaves it. */
static bool is_old_tail_there(const struct bpk_frame_reader *r)
{
	uint8_t tail[5];

	return bpk_source_need_at(r->source, r->state.header.frame_size - BPK_FRAME_TRAILER_TAIL,
				  bpk_span(tail, sizeof tail), NULL) == 0 &&
	       tail[0] == 0xce && bpk_get_be32(tail + 1) == r->state.trailer_size;
}

/* Compare the header with that at open; false with err set where it cannot be read. *moved: it has
 * another frame size, too, as a change by bpk leaves it. */
static bool is_header_there(const struct bpk_frame_reader *r, bool *moved, struct bpk_err *err)
{
	const struct bpk_buf *head = &r->state.head;
	struct bpk_buf now = { 0 };
	bool read = bpk_buf_resize(&now, head->size, err) == 0 &&
		    bpk_source_need_at(r->source, 0, bpk_span(now.data, now.size), err) == 0;
	bool same = read && memcmp(now.data, head->data, head->size) == 0;

	*moved = read && bpk_get_be64(now.data + BPK_FRAME_AT_SIZE) != r->state.header.frame_size;
	bpk_buf_clear(&now);
	return same;
}

bool bpk_frame_is_superseded(const struct bpk_frame_reader *r)
{
	bool moved;

	return !is_header_there(r, &moved, NULL) && moved && is_old_tail_there(r);
}

/* A failed read counts as a change, and sets err. */
static bool has_changed(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	bool moved, current;

	if (r->dir != NULL)
		return bpk_dir_is_current(r->dir, BPK_FRAME_SPARSE_INDEX, r->source, &current,
					  err) != 0 ||
		       !current;
	return !is_header_there(r, &moved, err) && !(moved && is_old_tail_there(r));
}

bool bpk_frame_has_changed(const struct bpk_frame_reader *r)
{
	return has_changed(r, NULL);
}

void bpk_frame_blame_change(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (err->kind != BPK_CORRUPT || !has_changed(r, &why))
		return;
	if (bpk_err_is_of_machine(&why))
		*err = why;
	else
		bpk_fail_changed(err);
}

/* ---- Opening ---- */

void bpk_frame_close(struct bpk_frame_reader *r)
{
	if (r == NULL)
		return;
	if (r->users > 1) {
		r->users--;
		return;
	}
	bpk_frame_close(r->latest);
	free(r->repeats);
	bpk_seal_leaves_free(r->leaves);
	bpk_seal_proof_free(r->proof);
	bpk_frame_notes_free(r->notes);
	bpk_frame_state_clear(&r->state);
	bpk_frame_nd_clear(&r->array.nd);
	bpk_buf_clear(&r->metadata);
	bpk_buf_clear(&r->known);
	free(r->array.bands);
	free(r->layers);
	if (r->owns_source)
		bpk_source_close(r->source);
	bpk_spool_close(r->spool);
	bpk_stretch_clear(&r->stretch);
	bpk_mutex_clear(&r->lock);
	free(r);
}

static int load(struct bpk_frame_reader *r, struct bpk_err *err)
{
	if (bpk_frame_state_load(r->source, r->dir != NULL, r->options.no_check, &r->state, err) !=
		    0 ||
	    settle_sizes(r, err) != 0)
		return -1;
	return bpk_frame_info_fill(r, err) != 0 ? -1 : bpk_frame_seal_begin(r, err);
}

/* A frame is located from its end, so a pipe is spooled. */
static int open_source(struct bpk_frame_reader *r, struct bpk_source *source, struct bpk_err *err)
{
	r->source = source;
	if (bpk_source_seekable(source))
		return 0;
	r->source = NULL;
	if (bpk_spool_open(&r->spool, err) != 0 || bpk_spool_fill(r->spool, source, err) != 0)
		return -1;
	r->owns_source = true;
	return bpk_spool_source(r->spool, &r->source, err);
}

static int open_index(struct bpk_frame_reader *r, struct bpk_dir *dir, struct bpk_err *err)
{
	r->dir = dir;
	r->owns_source = true;
	r->notes = bpk_frame_notes_new(err);
	if (r->notes == NULL || bpk_dir_generation(dir, &r->generation, err) != 0)
		return -1;
	bpk_dir_begin(dir, &r->moment);
	return bpk_dir_source(dir, BPK_FRAME_SPARSE_INDEX, &r->source, err);
}

static int open_once(struct bpk_dir *dir, struct bpk_source *source,
		     const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		     bool *changed, struct bpk_err *err)
{
	struct bpk_frame_reader *r = bpk_calloc(1, sizeof *r, err);
	int rc;

	*reader = NULL;
	*changed = false;
	if (r == NULL)
		return -1;
	bpk_mutex_init(&r->lock);
	bpk_stretch_init(&r->stretch);
	r->options = *options;
	rc = dir != NULL ? open_index(r, dir, err) : open_source(r, source, err);
	if (rc == 0)
		rc = bpk_source_hold(r->source, err);
	if (rc == 0) {
		rc = load(r, err);
		bpk_source_release(r->source);
		if (rc == 0 && dir != NULL)
			rc = bpk_dir_begun(dir, &r->moment, err);
		if (rc != 0 && dir != NULL)
			bpk_err_subject(err, "%s", BPK_FRAME_SPARSE_INDEX);
	}
	*changed = dir != NULL && r->source != NULL && bpk_frame_has_changed(r);
	if (rc != 0 || *changed) {
		bpk_frame_close(r);
		return -1;
	}
	*reader = r;
	return 0;
}

/* Opening a sparse frame examines chunks, which may already belong to the next state. */
int bpk_frame_open(struct bpk_dir *dir, struct bpk_source *source,
		   const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		   struct bpk_err *err)
{
	bool changed = true;
	int rc = -1;

	for (int i = 0; changed && i < BPK_FRAME_TIMES; i++)
		rc = open_once(dir, source, options, reader, &changed, err);
	return changed ? bpk_fail(err, BPK_FAILED, "changed while it was opened") : rc;
}
