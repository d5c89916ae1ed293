/* Compares the identity that a damaged archive records with the content of the chunks that were
 * found, or with raw data: salvage_job.h. Called by salvage.c and salvage_save.c. */
#include "cli/salvage_job.h"

/* Bring the raw bytes of a chunk. */
static int put_chunk(struct bpk_salvage_job *job, struct bpk_chunk_ctx *ctx,
		     const struct bpk_saved *saved, uint64_t offset, struct bpk_leaves *leaves,
		     struct bpk_err *err)
{
	struct bpk_buf *raw = &job->proof;

	if (bpk_salvage_fetch(&job->in.place, &job->found, saved, &job->parcel.packed, err) != 0 ||
	    bpk_buf_resize(raw, saved->raw_size, err) != 0 ||
	    bpk_chunk_decode(ctx, bpk_buf_view(&job->parcel.packed), bpk_span(raw->data, raw->size),
			     err) != 0)
		return -1;
	return bpk_leaves_put(leaves, offset, bpk_buf_view(raw), err);
}

/* Bring all chunks, none of which is lost. */
static int put_chunks(struct bpk_salvage_job *job, struct bpk_leaves *leaves, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	uint64_t offset = 0;
	int rc = ctx == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < found->count; i++) {
		if (!found->all[i].intact)
			continue;
		rc = put_chunk(job, ctx, &found->all[i], offset, leaves, err);
		offset += found->all[i].raw_size;
	}
	bpk_chunk_ctx_free(ctx);
	return rc;
}

static int put_raw(struct bpk_salvage_job *job, struct bpk_leaves *leaves, struct bpk_err *err)
{
	enum { STEP = 1 << 20 };
	uint64_t size = bpk_source_size(job->raw);
	size_t got = 1;

	if (bpk_buf_resize(&job->proof, STEP, err) != 0)
		return -1;
	for (uint64_t at = 0; got > 0 && at < size; at += got)
		if (bpk_source_read_at(job->raw, at, bpk_span(job->proof.data, STEP), &got, err) !=
			    0 ||
		    bpk_leaves_put(leaves, at, bpk_view(job->proof.data, got), err) != 0)
			return -1;
	return 0;
}

static int have_same_root(const struct bpk_ident *a, const struct bpk_ident *b, bool *same,
			  struct bpk_err *err)
{
	uint8_t left[BPK_MERKLE_SIZE], right[BPK_MERKLE_SIZE];

	if (bpk_ident_root(a, left, err) != 0 || bpk_ident_root(b, right, err) != 0)
		return -1;
	*same = a->size == b->size && memcmp(left, right, sizeof left) == 0;
	return 0;
}

/* Compare the record with the content, which has as many bytes. */
static int compare(struct bpk_salvage_job *job, const struct bpk_ident *recorded,
		   struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	struct bpk_leaves leaves;
	int rc;

	bpk_leaves_init(&leaves, &tree);
	rc = (job->raw != NULL ? put_raw : put_chunks)(job, &leaves, err);
	if (rc == 0)
		rc = bpk_leaves_finish(&leaves, err);
	bpk_leaves_clear(&leaves);
	if (rc == 0)
		rc = have_same_root(recorded, &tree, &job->proves_ident, err);
	bpk_ident_clear(&tree);
	return rc;
}

int bpk_salvage_prove(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_info *like = job->found.like;
	struct bpk_ident recorded = { 0 };
	enum bpk_ident_state state = BPK_IDENT_NONE;
	uint64_t size = job->raw != NULL ? bpk_source_size(job->raw) : bpk_salvage_raw_size(job);
	int rc = 0;

	job->proves_ident = false;
	/* chunks of several dimensions are not the content in order */
	if (like != NULL && (job->raw != NULL || (job->lost == 0 && !job->found.shaped)))
		rc = bpk_ident_find(like, size, &recorded, &state, err);
	if (rc == 0 && state == BPK_IDENT_GOOD)
		rc = compare(job, &recorded, err);
	bpk_ident_clear(&recorded);
	return rc;
}
