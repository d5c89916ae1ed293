/*
 * Reading while a writer is active: bpk_frame_latest_do, called by fetch.c. When bpk changes a
 * contiguous frame it keeps every byte of older states: the old index and trailer become a hole. A
 * sparse frame loses files, and their numbers may be used again. But chunks.b2frame is replaced
 * first, or there is a list of changes that replaces it; a reader that finds it unchanged after
 * reading a chunk has read the right one. If it was replaced, the chunk is fetched from the frame's
 * current state, provided that it still has the same one; otherwise the frame was changed while it
 * was read.
 */
#include "format/frame/latest.h"
#include "format/frame/open.h"

/* ---- Contiguous ---- */

static int do_contiguous(struct bpk_frame_reader *r, bpk_frame_step_fn *step, void *arg,
			 struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	int rc;

	if (bpk_source_hold(r->source, err) != 0)
		return -1;
	rc = step(r, arg, &found);
	if (rc != 0 && found.kind == BPK_CORRUPT && bpk_frame_has_changed(r))
		bpk_fail_changed(&found);
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

/* The digest of a chunk; NULL if there is no valid one. */
static const uint8_t *digest_of(const struct bpk_frame_state *state, uint64_t number)
{
	if (state->digests.checksum == NULL || state->stale)
		return NULL;
	return bpk_frame_digests_chunk(&state->digests, number);
}

/*
 * True if chunk number of the current state equals that of r. The last chunk may have been
 * recompressed with more data. Digests are compared first, since the number of a file may be used
 * again.
 */
static bool still_has(const struct bpk_frame_reader *r, const struct bpk_frame_reader *now,
		      uint64_t number)
{
	const struct bpk_frame_header *a = &r->state.header, *b = &now->state.header;
	const uint8_t *of_a, *of_b;

	if (a->typesize != b->typesize || a->chunk_size != b->chunk_size ||
	    now->state.nchunks < r->state.nchunks || b->raw_size < a->raw_size ||
	    r->state.digests.checksum != now->state.digests.checksum)
		return false;
	if (number == r->state.nchunks - 1 && b->raw_size > a->raw_size)
		return true;
	of_a = digest_of(&r->state, number);
	of_b = digest_of(&now->state, number);
	if (of_a != NULL && of_b != NULL)
		return memcmp(of_a, of_b, r->state.digests.checksum->size) == 0;
	return bpk_frame_entry(&r->state, number) == bpk_frame_entry(&now->state, number);
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
	if (!still_has(r, latest, number))
		rc = bpk_fail_changed(err);
	else
		rc = step(latest, arg, err);
	*again = bpk_frame_has_changed(latest);
	bpk_mutex_lock(&r->lock);
	bpk_frame_close(latest);
	bpk_mutex_unlock(&r->lock);
	return rc;
}

static int do_sparse(struct bpk_frame_reader *r, uint64_t number, bpk_frame_step_fn *step,
		     void *arg, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	bool again = bpk_frame_has_changed(r);
	int rc = 0;

	if (!again) {
		rc = step(r, arg, &found);
		again = bpk_frame_has_changed(r);
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
