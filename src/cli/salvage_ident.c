/* Compares the identity that a damaged archive records with the content of the chunks that were
 * found, or with raw data: salvage_job.h. Called by salvage_doubt.c and salvage_save.c. */
#include "cli/identity.h"
#include "cli/salvage_job.h"

int bpk_salvage_unpack(struct bpk_salvage_job *job, struct bpk_chunk_ctx *ctx,
		       const struct bpk_saved *saved, struct bpk_err *err)
{
	struct bpk_buf *raw = &job->proof;

	return bpk_buf_resize(raw, saved->raw_size, err) != 0
		       ? -1
		       : bpk_chunk_decode(ctx, bpk_buf_view(&job->parcel.packed),
					  bpk_span(raw->data, raw->size), err);
}

/* Bring the raw bytes of a chunk. */
static int put_chunk(struct bpk_salvage_job *job, struct bpk_chunk_ctx *ctx,
		     const struct bpk_saved *saved, uint64_t offset, struct bpk_leaves *leaves,
		     struct bpk_err *err)
{
	if (bpk_salvage_fetch(&job->in.place, &job->found, saved, &job->parcel.packed, err) != 0 ||
	    bpk_salvage_unpack(job, ctx, saved, err) != 0)
		return -1;
	return bpk_leaves_put(leaves, offset, bpk_buf_view(&job->proof), err);
}

/* Bring zeros for lost chunks. */
static int put_zeros(struct bpk_salvage_job *job, uint64_t from, uint64_t to,
		     struct bpk_leaves *leaves, struct bpk_err *err)
{
	enum { STEP = 1 << 20 };
	size_t size = (size_t)bpk_min_u64(STEP, to - from);

	if (bpk_buf_resize(&job->proof, size, err) != 0)
		return -1;
	if (size > 0)
		memset(job->proof.data, 0, size);
	for (uint64_t at = from; at < to; at += size) {
		size = (size_t)bpk_min_u64(size, to - at);
		if (bpk_leaves_put(leaves, at, bpk_view(job->proof.data, size), err) != 0)
			return -1;
	}
	return 0;
}

/* Bring all chunks, and zeros for those that are lost. */
static int put_chunks(struct bpk_salvage_job *job, struct bpk_leaves *leaves, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	uint64_t end = 0;
	int rc = ctx == NULL ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < found->count; i++) {
		uint64_t start = bpk_salvage_start(job, found->all[i].number);

		if (!found->all[i].intact)
			continue;
		rc = put_zeros(job, end, start, leaves, err);
		if (rc == 0)
			rc = put_chunk(job, ctx, &found->all[i], start, leaves, err);
		end = start + found->all[i].raw_size;
	}
	if (rc == 0)
		rc = put_zeros(job, end, bpk_salvage_raw_size(job), leaves, err);
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
			return bpk_err_subject(err, "%s", job->from);
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

/* True if intact chunks have all these bytes. *next: the first chunk that may have one of them, for
 * ranges in ascending order. */
static bool are_intact(const struct bpk_salvage_job *job, uint64_t start, uint64_t end,
		       size_t *next)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t covered = start;

	for (size_t i = *next; i < found->count && covered < end; i++) {
		const struct bpk_saved *saved = &found->all[i];
		uint64_t from = bpk_salvage_start(job, saved->number);

		if (from + saved->raw_size <= start)
			*next = i + 1;
		else if (saved->intact && from > covered)
			return false;
		else if (saved->intact)
			covered = from + saved->raw_size;
	}
	return covered >= end;
}

/* Look for a recorded digest that the intact chunks under it contradict. */
static int find_refuted(struct bpk_salvage_job *job, struct bpk_ident *recorded,
			struct bpk_ident *tree, struct bpk_err *err)
{
	struct bpk_ident_range *refuted = &job->refuted;
	size_t next = 0;

	if (bpk_ident_coarsen(recorded, tree->level, err) != 0)
		return -1;
	for (uint64_t n = 0; n <= bpk_ident_nodes(recorded); n++) {
		bpk_ident_range(recorded, n, &refuted->start, &refuted->end);
		if (refuted->start < refuted->end && !bpk_ident_same(recorded, tree, n) &&
		    are_intact(job, refuted->start, refuted->end, &next))
			return 0;
	}
	*refuted = (struct bpk_ident_range){ 0 };
	return 0;
}

typedef int put_fn(struct bpk_salvage_job *job, struct bpk_leaves *leaves, struct bpk_err *err);

/* Compare the record with the content, which has as many bytes, or with the chunks of it. */
static int compare(struct bpk_salvage_job *job, struct bpk_ident *recorded, put_fn *put, bool *same,
		   struct bpk_err *err)
{
	struct bpk_ident tree = { .level = recorded->level, .most = UINT64_MAX };
	struct bpk_leaves leaves;
	int rc;

	bpk_leaves_init(&leaves, &tree);
	rc = put(job, &leaves, err);
	if (rc == 0)
		rc = bpk_leaves_finish(&leaves, err);
	bpk_leaves_clear(&leaves);
	if (rc == 0)
		rc = have_same_root(recorded, &tree, same, err);
	if (rc == 0 && !*same && put == put_chunks)
		rc = find_refuted(job, recorded, &tree, err);
	bpk_ident_clear(&tree);
	return rc;
}

/* True if the place of each chunk in the content is known. */
static bool are_placed(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t end = 0, size = bpk_salvage_raw_size(job);

	if (found->shaped || size == BPK_UNKNOWN)
		return false;
	for (size_t i = 0; i < found->count; i++) {
		uint64_t start = bpk_salvage_start(job, found->all[i].number);

		if (!found->all[i].intact)
			continue;
		if (start == BPK_UNKNOWN || start < end || start > size ||
		    found->all[i].raw_size > size - start)
			return false;
		end = start + found->all[i].raw_size;
	}
	return true;
}

static bool claims_too_much(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t stored = 0;

	for (size_t i = 0; i < found->count; i++)
		stored += found->all[i].packed_size;
	return job->lost > 0 && bpk_identity_is_bomb(bpk_salvage_raw_size(job), stored);
}

int bpk_salvage_prove(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_ident recorded = { 0 };
	enum bpk_ident_state state = BPK_IDENT_NONE;
	uint64_t size = bpk_salvage_raw_size(job);
	bool same = false;
	int rc = 0;

	job->proves_ident = false;
	job->refuted = (struct bpk_ident_range){ 0 };
	if (job->found.like != NULL && are_placed(job) && !claims_too_much(job))
		rc = bpk_ident_find(job->found.like, size, &recorded, &state, err);
	if (rc == 0 && state == BPK_IDENT_GOOD)
		rc = compare(job, &recorded, put_chunks, &same, err);
	job->proves_ident = same && job->lost == 0;
	job->ident_size = rc == 0 && state == BPK_IDENT_STALE && job->lost == 0 ? recorded.size : 0;
	bpk_ident_clear(&recorded);
	return rc;
}

int bpk_salvage_prove_raw(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_ident recorded = { 0 };
	enum bpk_ident_state state = BPK_IDENT_NONE;
	int rc = 0;

	job->proves_ident = false;
	if (job->found.like != NULL)
		rc = bpk_ident_find(job->found.like, bpk_source_size(job->raw), &recorded, &state,
				    err);
	if (rc == 0 && state == BPK_IDENT_GOOD)
		rc = compare(job, &recorded, put_raw, &job->proves_ident, err);
	bpk_ident_clear(&recorded);
	return rc;
}
