#include "flow/work.h"

void bpk_worker_clear(struct bpk_worker *worker)
{
	bpk_chunk_ctx_free(worker->ctx);
	bpk_buf_clear(&worker->proof);
	worker->ctx = NULL;
}

bool bpk_work_passes_over(const struct bpk_parcel *parcel)
{
	return parcel->want_size == 0 && parcel->raw_size > 0;
}

static int need_ctx(struct bpk_worker *worker, struct bpk_err *err)
{
	if (worker->ctx == NULL)
		worker->ctx = bpk_chunk_ctx_new(err);
	return worker->ctx == NULL ? -1 : 0;
}

/*
 * Unpack what is wanted of the chunk, and let the parcel describe just that, as a part of the
 * output.
 */
static int decode(struct bpk_worker *worker, const struct bpk_flow *flow, struct bpk_parcel *parcel,
		  struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	bool whole = parcel->want_size == parcel->raw_size;
	uint64_t start = flow->plan.start;
	int rc;

	if (bpk_buf_resize(&parcel->raw, parcel->want_size, err) != 0)
		return -1;
	if (whole)
		rc = bpk_chunk_decode(worker->ctx, chunk,
				      bpk_span(parcel->raw.data, parcel->raw.size), err);
	else
		rc = bpk_chunk_decode_range(worker->ctx, chunk, parcel->want_start,
					    bpk_span(parcel->raw.data, parcel->raw.size), err);
	/* an empty chunk may lie before the start */
	parcel->raw_offset = bpk_max_u64(parcel->raw_offset + parcel->want_start, start) - start;
	parcel->want_start = 0;
	return rc;
}

/*
 * A chunk that ends inside an element is not bitshuffled but shuffled: some readers (c-blosc2 from
 * 2.21 on) return stale bytes for its tail, and report success (Blosc chunk format, "Where
 * documentation and code disagree").
 */
static struct bpk_recipe recipe_for(const struct bpk_recipe *recipe, size_t raw_size)
{
	struct bpk_recipe own = *recipe;

	if (own.filter == BPK_FILTER_BITSHUFFLE && raw_size % own.typesize != 0)
		own.filter = BPK_FILTER_SHUFFLE;
	return own;
}

static int encode(struct bpk_worker *worker, const struct bpk_recipe *wanted,
		  struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_recipe recipe = recipe_for(wanted, parcel->raw.size);
	size_t bound = bpk_chunk_bound(parcel->raw.size);

	/* the seal finds its room behind the chunk */
	parcel->packed.size = 0;
	if (bpk_buf_reserve(&parcel->packed, bound + BPK_DIGEST_MAX, err) != 0)
		return -1;
	if (bpk_chunk_encode(worker->ctx, &recipe, bpk_buf_view(&parcel->raw),
			     bpk_span(parcel->packed.data, bound), &parcel->packed_size, err) != 0)
		return -1;
	parcel->packed.size = parcel->packed_size;
	parcel->packed_offset = BPK_UNKNOWN;
	return 0;
}

static int compare(struct bpk_worker *worker, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	if (bpk_buf_resize(&worker->proof, parcel->raw.size, err) != 0)
		return -1;
	if (bpk_chunk_decode(worker->ctx, bpk_buf_view(&parcel->packed),
			     bpk_span(worker->proof.data, worker->proof.size), err) != 0)
		return -1;
	if (parcel->raw.size > 0 &&
	    memcmp(worker->proof.data, parcel->raw.data, parcel->raw.size) != 0)
		return bpk_fail(err, BPK_BUG, "unpacks to other bytes than were packed");
	return 0;
}

/* All that the room chunk does for a parcel. */
static int transform(struct bpk_worker *worker, const struct bpk_flow *flow,
		     struct bpk_parcel *parcel, struct bpk_err *err)
{
	bool unpack = parcel->packed_size > 0 && (flow->decode || flow->recipe != NULL);

	if ((unpack || flow->recipe != NULL) && need_ctx(worker, err) != 0)
		return -1;
	if (unpack && decode(worker, flow, parcel, err) != 0)
		return -1;
	if (flow->recipe != NULL && encode(worker, flow->recipe, parcel, err) != 0)
		return -1;
	if (flow->recipe != NULL && flow->compare && compare(worker, parcel, err) != 0)
		return -1;
	return 0;
}

/* The room chunk does not know which chunk it was given. */
static int name_chunk(const struct bpk_parcel *parcel, struct bpk_err *err)
{
	if (parcel->packed_offset == BPK_UNKNOWN)
		return bpk_err_subject(err, "chunk %llu", (unsigned long long)parcel->number);
	return bpk_err_subject(err, "chunk %llu at offset %llu", (unsigned long long)parcel->number,
			       (unsigned long long)parcel->packed_offset);
}

int bpk_work(struct bpk_worker *worker, const struct bpk_flow *flow, struct bpk_parcel *parcel,
	     struct bpk_err *err)
{
	if (bpk_work_passes_over(parcel))
		return 0;
	if (parcel->packed_size > 0 && flow->check && flow->in->check != NULL &&
	    flow->in->check(flow->reader, parcel, err) != 0)
		return -1;
	if (transform(worker, flow, parcel, err) != 0)
		return name_chunk(parcel, err);
	if (flow->out == NULL || flow->out->seal == NULL)
		return 0;
	/* a chunk that is carried over leaves its old seal behind */
	parcel->packed.size = parcel->packed_size;
	return flow->out->seal(flow->writer, parcel, err);
}

uint64_t bpk_work_parcel_memory(const struct bpk_flow *flow, uint64_t raw_size)
{
	uint64_t packed = raw_size + BPK_CHUNK_HEADER_SIZE + BPK_DIGEST_MAX;

	return flow->decode || flow->recipe != NULL ? raw_size + packed : packed;
}

/*
 * A thread keeps a block or two as the filter has it, and the codec's state. An encoder's tables
 * follow the size of its streams: about twice that at the lower levels, and up to 16 times at the
 * highest (Zstd's search trees).
 */
uint64_t bpk_work_thread_memory(const struct bpk_flow *flow, uint64_t raw_size)
{
	enum { STATE = 2 << 20 };
	static const unsigned tables[] = { 0, 2, 2, 2, 8, 8, 8, 16, 16, 16 };
	const struct bpk_recipe *recipe = flow->recipe;
	uint64_t block = raw_size;

	if (recipe == NULL)
		return flow->decode ? 2 * block + STATE : 0;
	if (recipe->block_size > 0)
		block = bpk_min_u64(block, recipe->block_size);
	return (1 + tables[bpk_min_u64(recipe->level, 9)]) * block + STATE +
	       (flow->compare ? raw_size : 0);
}
