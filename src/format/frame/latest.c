/*
 * Reading while a writer is active: bpk_frame_latest_do, called by fetch.c. When bpk changes a
 * contiguous frame it keeps every byte of older states: the old index and trailer become a hole. A
 * sparse frame loses files, and their numbers may be used again. But chunks.b2frame is replaced
 * first, or there is a list of changes that replaces it; a reader that finds it unchanged after
 * reading a chunk has read the right one. A file that has not changed since open, by its times, is
 * the right one without that question. If it was replaced, the chunk is fetched from the frame's
 * current state, provided that it still has the same one; otherwise the frame was changed while it
 * was read.
 */
#include "format/frame/latest.h"
#include "format/frame/chunks.h"
#include "format/frame/names.h"
#include "format/frame/notes.h"
#include "format/frame/open.h"

/* ---- Contiguous ---- */

/* Perform step without a hold. False: that is worth nothing. A failed read is final, since it may
 * not occur again. */
static bool do_still(struct bpk_frame_reader *r, bpk_frame_step_fn *step, void *arg, int *rc,
		     struct bpk_err *err)
{
	unsigned state = bpk_source_glance(r->source);
	struct bpk_frame_sight sight = { 0 };
	struct bpk_err found = { 0 };

	if (state == 0)
		return false;
	*rc = step(r, arg, &sight, &found);
	if (*rc == 0)
		return bpk_source_is_still(r->source, state);
	if (bpk_err_is_of_machine(&found) && err != NULL)
		*err = found;
	return bpk_err_is_of_machine(&found);
}

static int do_contiguous(struct bpk_frame_reader *r, bpk_frame_step_fn *step, void *arg,
			 struct bpk_err *err)
{
	struct bpk_frame_sight sight = { 0 };
	struct bpk_err found = { 0 };
	int rc;

	if (do_still(r, step, arg, &rc, err))
		return rc;
	if (bpk_source_hold(r->source, err) != 0)
		return -1;
	rc = step(r, arg, &sight, &found);
	if (rc != 0)
		bpk_frame_blame_change(r, &found);
	bpk_source_release(r->source);
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}

/* ---- Sparse ---- */

/* Open the current state of the frame, which becomes r's latest; the caller is its other user. */
static struct bpk_frame_reader *open_latest(struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_read_options options = r->options;
	struct bpk_frame_reader *latest;

	options.as_stored = true;
	if (bpk_frame_open(r->dir, NULL, &options, &latest, err) != 0)
		return NULL;
	latest->users = 2;
	bpk_mutex_lock(&r->lock);
	bpk_frame_close(r->latest);
	r->latest = latest;
	bpk_mutex_unlock(&r->lock);
	return latest;
}

static struct bpk_frame_reader *enter(struct bpk_frame_reader *r, struct bpk_err *err)
{
	struct bpk_frame_reader *latest;

	bpk_mutex_lock(&r->lock);
	latest = r->latest;
	if (latest != NULL && !bpk_frame_has_changed(latest))
		latest->users++;
	else
		latest = NULL;
	bpk_mutex_unlock(&r->lock);
	return latest != NULL ? latest : open_latest(r, err);
}

/* Compare chunk number of two states that have digests of it. Returns 1: equal. */
static int compare_seals(const struct bpk_frame_state *a, const struct bpk_frame_state *b,
			 uint64_t number, struct bpk_err *err)
{
	uint8_t of_a[BPK_DIGEST_MAX], of_b[BPK_DIGEST_MAX];

	if (bpk_frame_get_seal(a, number, of_a, err) != 0 ||
	    bpk_frame_get_seal(b, number, of_b, err) != 0)
		return -1;
	return memcmp(of_a, of_b, a->digests.checksum->size) == 0;
}

/*
 * Returns 1 if chunk number of the current state equals that of r, 0 if it does not. The last chunk
 * may have been recompressed with more data. Digests are compared first, since the number of a file
 * may be used again.
 */
static int still_has(const struct bpk_frame_reader *r, const struct bpk_frame_reader *now,
		     uint64_t number, struct bpk_err *err)
{
	const struct bpk_frame_header *a = &r->state.header, *b = &now->state.header;
	uint64_t entry, then;

	if (a->typesize != b->typesize || a->chunk_size != b->chunk_size ||
	    now->state.nchunks < r->state.nchunks || b->raw_size < a->raw_size ||
	    r->state.digests.checksum != now->state.digests.checksum)
		return 0;
	if (number == r->state.nchunks - 1 && b->raw_size > a->raw_size)
		return 1;
	if (bpk_frame_has_seal(&r->state, number) && bpk_frame_has_seal(&now->state, number))
		return compare_seals(&r->state, &now->state, number, err);
	if (bpk_frame_entry(&r->state, number, &then, err) != 0 ||
	    bpk_frame_entry(&now->state, number, &entry, err) != 0)
		return -1;
	return then == entry;
}

/*
 * Perform step on one state of r's frame. *again: it may have met another state. bpk never writes
 * to a file that the index of a state refers to, so where no digest covers a chunk, and its file is
 * newer than the index, or was written to, another program has done that.
 */
static int do_once(struct bpk_frame_reader *r, struct bpk_frame_reader *on, bpk_frame_step_fn *step,
		   void *arg, bool *again, struct bpk_err *err)
{
	struct bpk_frame_sight sight = { 0 };
	int rc = step(on, arg, &sight, err);

	*again = !(rc == 0 && sight.sure) && bpk_frame_has_changed(on);
	if (rc != 0 || sight.sure || *again)
		return rc;
	if (sight.is_written || (sight.is_newer && bpk_dir_is_old(&on->moment, on->source)))
		return bpk_fail_changed(err);
	return sight.is_young ? bpk_frame_note_young(r, &sight, err) : 0;
}

/* Try step once on the current state. *again: the frame was changed meanwhile. */
static int do_latest(struct bpk_frame_reader *r, uint64_t number, bpk_frame_step_fn *step,
		     void *arg, bool *again, struct bpk_err *err)
{
	struct bpk_frame_reader *latest = enter(r, err);
	int rc = 0;

	*again = latest == NULL && err->kind == BPK_CORRUPT;
	if (latest == NULL)
		return -1;
	rc = still_has(r, latest, number, err);
	if (rc > 0) {
		rc = do_once(r, latest, step, arg, again, err);
	} else {
		rc = rc == 0 ? bpk_fail_changed(err) : rc;
		*again = bpk_frame_has_changed(latest);
	}
	bpk_mutex_lock(&r->lock);
	bpk_frame_close(latest);
	bpk_mutex_unlock(&r->lock);
	return rc;
}

static int do_sparse(struct bpk_frame_reader *r, uint64_t number, bpk_frame_step_fn *step,
		     void *arg, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	bool again, overwritten;
	int rc = do_once(r, r, step, arg, &again, &found);

	/* where no digest is compared, only bpk's own changes leave a state to go on with */
	if (again && !bpk_frame_chunk_is_sealed(r, number)) {
		if (bpk_source_is_overwritten(r->source, &overwritten, err) != 0)
			return -1;
		if (overwritten)
			return bpk_fail_changed(err);
	}
	for (int i = 0; again && i < BPK_FRAME_TIMES; i++) {
		found = (struct bpk_err){ 0 };
		rc = do_latest(r, number, step, arg, &again, &found);
	}
	if (again)
		rc = bpk_fail_changed(&found);
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}

int bpk_frame_latest_do(struct bpk_frame_reader *r, uint64_t number, bpk_frame_step_fn *step,
			void *arg, struct bpk_err *err)
{
	int rc;

	if (bpk_sidecar_share(r->sidecar, err) != 0)
		return -1;
	rc = r->dir == NULL ? do_contiguous(r, step, arg, err)
			    : do_sparse(r, number, step, arg, err);
	bpk_sidecar_release(r->sidecar);
	return rc;
}

int bpk_frame_latest_settle(struct bpk_frame_reader *r, struct bpk_err *err)
{
	bool differ, overwritten, current;

	if (bpk_frame_notes_differ(r, &differ, err) != 0)
		return -1;
	if (!differ)
		return 0;
	/* a commit of bpk replaces the index first, by another file */
	if (bpk_source_is_overwritten(r->source, &overwritten, err) != 0 ||
	    bpk_dir_is_current(r->dir, BPK_FRAME_SPARSE_INDEX, r->source, &current, err) != 0)
		return -1;
	return overwritten || current ? bpk_fail_changed(err) : 0;
}
