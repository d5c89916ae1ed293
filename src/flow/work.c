/* The work on one parcel: flow.c calls it on any thread, and views unpack chunks by it. */
#include "flow/work.h"

#include <inttypes.h>

#include "flow/memory.h"
#include "flow/mode.h"

/*
 * A chunk larger than the largest that bpk makes by itself is put or proved in pieces of the usual
 * chunk size. So memory does not depend on the size in a chunk's header, and all threads unpack one
 * chunk. By pieces, cat of one chunk of 32 MB with one thread takes 0.8 of the processor time that
 * it takes at once, with delta 0.9. Several threads may encode such a chunk.
 */
enum { LARGE = 4 << 20, PIECE = 1 << 20 };

void bpk_worker_clear(struct bpk_worker *worker)
{
	bpk_chunk_ctx_free(worker->ctx);
	bpk_buf_clear(&worker->proof);
	bpk_race_clear(&worker->race);
	bpk_buf_clear(&worker->sizes);
	bpk_buf_clear(&worker->one.raw);
	bpk_buf_clear(&worker->one.packed);
	bpk_buf_clear(&worker->twin.raw);
	bpk_buf_clear(&worker->twin.packed);
	worker->ctx = worker->race.ctx = NULL;
}

bool bpk_work_passes_over(const struct bpk_parcel *parcel)
{
	return parcel->want_size == 0 && parcel->raw_size > 0;
}

int bpk_worker_ready(struct bpk_worker *worker, struct bpk_err *err)
{
	if (worker->ctx == NULL)
		worker->ctx = worker->race.ctx = bpk_chunk_ctx_new(err);
	return worker->ctx == NULL ? -1 : 0;
}

/* Add the chunk to the error: the room chunk does not know which one it was given. */
int bpk_work_subject(const struct bpk_reader_ops *ops, const void *reader,
		     const struct bpk_parcel *parcel, struct bpk_err *err)
{
	if (parcel->packed_offset == BPK_UNKNOWN)
		return bpk_err_subject(err, "chunk %" PRIu64, parcel->number);
	if (ops->subject != NULL)
		return ops->subject(reader, parcel, err);
	return bpk_err_subject(err, "chunk %" PRIu64 " at offset %" PRIu64, parcel->number,
			       parcel->packed_offset);
}

int bpk_work_unpack(const struct bpk_reader_ops *ops, const void *reader, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);

	/* chunks cannot record element sizes over 255 */
	bpk_chunk_ctx_set_typesize(ctx, ops->info(reader)->chunks.typesize);
	if (ops->unpacks != NULL && ops->unpacks(reader))
		return ops->unpack(reader, ctx, parcel, out, err);
	if (parcel->want_size == parcel->raw_size)
		return bpk_chunk_decode(ctx, chunk, out, err);
	return bpk_chunk_decode_range(ctx, chunk, parcel->want_start, out, err);
}

/*
 * Unpack the bytes of chunk that parcel wants; parcel may be the same. It then describes only these
 * bytes, as a part of the output.
 */
static int decode(struct bpk_worker *worker, const struct bpk_flow *flow,
		  const struct bpk_parcel *chunk, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_parcel wanted = *chunk;
	uint64_t start = flow->plan.start;
	int rc;

	if (bpk_buf_resize(&parcel->raw, parcel->want_size, err) != 0)
		return -1;
	wanted.want_start = parcel->want_start;
	wanted.want_size = parcel->want_size;
	rc = bpk_work_unpack(flow->in, flow->reader, worker->ctx, &wanted,
			     bpk_span(parcel->raw.data, parcel->raw.size), err);
	/* an empty chunk may lie before the start */
	parcel->raw_offset = bpk_max_u64(parcel->raw_offset + parcel->want_start, start) - start;
	parcel->want_start = 0;
	return rc;
}

/* The same for a parcel of several equal chunks: unpack one of them, and repeat it to give the
 * wanted bytes of all. */
static int decode_alike(struct bpk_worker *worker, const struct bpk_flow *flow,
			struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_parcel one = *parcel;
	size_t size = parcel->raw_size;
	uint64_t from = parcel->raw_offset + parcel->want_start;

	one.want_start = 0;
	one.want_size = size;
	if (bpk_buf_resize(&worker->proof, size, err) != 0 ||
	    bpk_buf_resize(&parcel->raw, parcel->want_size, err) != 0 ||
	    bpk_work_unpack(flow->in, flow->reader, worker->ctx, &one,
			    bpk_span(worker->proof.data, size), err) != 0)
		return -1;
	bpk_bytes_repeat(bpk_buf_view(&worker->proof), parcel->want_start % size,
			 bpk_span(parcel->raw.data, parcel->raw.size));
	parcel->raw_offset = from - flow->plan.start;
	parcel->want_start = 0;
	return 0;
}

/*
 * A chunk that ends inside an element is not bitshuffled but shuffled: some readers (c-blosc2 from
 * 2.21 on) return stale bytes for its tail, and report success (Blosc chunk format, "Where
 * documentation and code disagree").
 */
static struct bpk_recipe recipe_for(const struct bpk_recipe *recipe, size_t raw_size)
{
	struct bpk_recipe own = *recipe;

	if (!own.extended && own.pipeline.nsteps > 0 &&
	    own.pipeline.steps[0].filter == BPK_FILTER_BITSHUFFLE && raw_size % own.typesize != 0)
		own.pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE);
	return own;
}

/* Leave room inside the chunk, which its buffer has. */
static int add_slack(const struct bpk_slack *slack, struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t reserve = slack->bytes + (uint64_t)parcel->packed_size * slack->percent / 100;
	struct bpk_chunk_header header;
	uint32_t slot;

	if (reserve == 0)
		return 0;
	if (bpk_chunk_header_read(bpk_view(parcel->packed.data, parcel->packed_size), &header,
				  err) != 0)
		return -1;
	slot = bpk_chunk_slot(bpk_view(parcel->packed.data, parcel->packed_size), &header, reserve);
	if (bpk_chunk_pad(bpk_span(parcel->packed.data, slot), parcel->packed_size, err) != 0)
		return -1;
	parcel->packed_size = slot;
	return 0;
}

static int encode_plain(struct bpk_worker *worker, const struct bpk_recipe *recipe,
			struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_sharing *sharing = parcel->raw.size > LARGE ? parcel->sharing : NULL;
	size_t bound = sharing != NULL ? bpk_chunk_shared_bound(parcel->raw.size)
				       : bpk_chunk_bound(parcel->raw.size);

	if (bpk_buf_reserve(&parcel->packed, bound + BPK_DIGEST_MAX, err) != 0)
		return -1;
	return bpk_chunk_encode_shared(worker->ctx, recipe, bpk_buf_view(&parcel->raw),
				       bpk_span(parcel->packed.data, bound), sharing,
				       &parcel->packed_size, err);
}

/* Block sizes for a parcel, whose number is the plan's until it is put. */
static struct bpk_view sizes_for(const struct bpk_flow *flow, const struct bpk_parcel *parcel)
{
	return parcel->number == 0 ? flow->first_sizes : bpk_view(NULL, 0);
}

static int encode_chunk(struct bpk_worker *worker, const struct bpk_flow *flow,
			const struct bpk_recipe *wanted, struct bpk_parcel *parcel,
			struct bpk_err *err)
{
	struct bpk_recipe recipe = recipe_for(wanted, parcel->raw.size);
	bool variable = recipe.variable_blocks && parcel->raw.size > 0;

	/* the seal finds its room behind the chunk */
	parcel->packed.size = 0;
	if ((variable ? bpk_work_encode_variable(worker, &recipe, sizes_for(flow, parcel), parcel,
						 err)
		      : encode_plain(worker, &recipe, parcel, err)) != 0)
		return -1;
	return flow->packing == NULL ? 0 : add_slack(&flow->packing->slack, parcel, err);
}

/* Chunks packed by their place in the archive use the number under which they are put. */
static int pack_numbered(struct bpk_worker *worker, const struct bpk_flow *flow,
			 const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	int rc;

	parcel->number += flow->first_number;
	rc = flow->out->pack(flow->writer, worker->ctx, recipe, parcel, err);
	parcel->number -= flow->first_number;
	return rc;
}

/* Choose the best recipe for the chunk. */
static int choose(struct bpk_worker *worker, const struct bpk_flow *flow,
		  const struct bpk_parcel *parcel, struct bpk_recipe *recipe, struct bpk_err *err)
{
	const struct bpk_choice *choice = &flow->packing->choice;
	const struct bpk_cuts *cuts = flow->packing->cuts;
	const struct bpk_predictions *predictions = flow->packing->predictions;
	struct bpk_view raw = bpk_buf_view(&parcel->raw);
	struct bpk_sized chunk;

	if (cuts != NULL && bpk_sizes_chunk(flow->plan.runs, parcel->number, &chunk))
		choice = &cuts->kinds[chunk.kind];
	*recipe = choice->recipe;
	if (bpk_choose_for_chunk(&worker->race, choice->candidates, choice->ncandidates, raw,
				 parcel->raw_offset, recipe, err) != 0)
		return -1;
	return predictions == NULL
		       ? 0
		       : bpk_choose_for_chunk(&worker->race, predictions->all, predictions->count,
					      raw, parcel->raw_offset, recipe, err);
}

/* True in *loses if the pipeline changes one of the first kept bytes of raw. Filters clear bits, so
 * that the other bytes of an item do not matter. */
static int find_loss(struct bpk_worker *worker, const struct bpk_recipe *recipe,
		     const struct bpk_buf *raw, size_t kept, bool *loses, struct bpk_err *err)
{
	size_t whole = bpk_min_size(raw->size, kept + recipe->typesize - 1);
	struct bpk_buf *copy = &worker->proof;

	if (bpk_buf_resize(copy, whole, err) != 0)
		return -1;
	bpk_copy(copy->data, raw->data, whole);
	bpk_pipeline_degrade(&recipe->pipeline, recipe->typesize, bpk_span(copy->data, whole));
	*loses = memcmp(copy->data, raw->data, kept) != 0;
	return 0;
}

/* Apply the lossy filters before anything is packed: stored chunks then hold the same bytes as
 * others, and a proof compares with these. Committed bytes stay as they are. */
static int degrade(struct bpk_worker *worker, const struct bpk_flow *flow,
		   struct bpk_recipe *recipe, struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t at = parcel->raw_offset;
	struct bpk_buf *raw = &parcel->raw;
	bool loses = false;

	if (!bpk_pipeline_is_lossy(&recipe->pipeline))
		return 0;
	if (at < flow->kept &&
	    find_loss(worker, recipe, raw, (size_t)bpk_min_u64(flow->kept - at, raw->size), &loses,
		      err) != 0)
		return -1;
	if (loses)
		recipe->pipeline = bpk_pipeline_exact(&recipe->pipeline);
	bpk_pipeline_degrade(&recipe->pipeline, recipe->typesize, bpk_span(raw->data, raw->size));
	return 0;
}

static int encode(struct bpk_worker *worker, const struct bpk_flow *flow, struct bpk_recipe recipe,
		  struct bpk_parcel *parcel, struct bpk_err *err)
{
	int rc;

	parcel->raw_size = parcel->data_size = parcel->raw.size;
	if (degrade(worker, flow, &recipe, parcel, err) != 0)
		return -1;
	if (bpk_mode_writer_packs(flow))
		rc = pack_numbered(worker, flow, &recipe, parcel, err);
	else
		rc = encode_chunk(worker, flow, &recipe, parcel, err);
	parcel->packed.size = parcel->packed_size;
	parcel->packed_offset = BPK_UNKNOWN;
	return rc;
}

static int compare(struct bpk_worker *worker, const struct bpk_flow *flow,
		   const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_span proof;
	int rc;

	if (bpk_buf_resize(&worker->proof, parcel->raw.size, err) != 0)
		return -1;
	proof = bpk_span(worker->proof.data, worker->proof.size);
	if (bpk_mode_writer_packs(flow))
		rc = flow->out->unpack(flow->writer, worker->ctx, parcel, proof, err);
	else
		rc = bpk_chunk_decode(worker->ctx, bpk_buf_view(&parcel->packed), proof, err);
	if (rc != 0)
		return -1;
	if (proof.size > 0 && memcmp(proof.data, parcel->raw.data, proof.size) != 0)
		return bpk_fail(err, BPK_BUG, "unpacks to other bytes than were packed");
	return 0;
}

/* Recompress a chunk that was committed in part, as it was packed. */
static int cut_off(struct bpk_worker *worker, const struct bpk_flow *flow,
		   struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_chunk_header header;
	struct bpk_recipe recipe;

	if (bpk_chunk_header_read(bpk_view(parcel->packed.data, parcel->packed_size), &header,
				  err) != 0)
		return -1;
	recipe = bpk_recipe_like(&header);
	if (decode(worker, flow, parcel, parcel, err) != 0)
		return -1;
	return encode(worker, flow, recipe, parcel, err);
}

static int unpack_or_prove(struct bpk_worker *worker, const struct bpk_flow *flow,
			   struct bpk_parcel *parcel, struct bpk_err *err)
{
	if (parcel->again > 0 && parcel->raw_size > 0)
		return decode_alike(worker, flow, parcel, err);
	if (!bpk_mode_only_proves(flow))
		return decode(worker, flow, parcel, parcel, err);
	return bpk_chunk_prove(worker->ctx, bpk_view(parcel->packed.data, parcel->packed_size),
			       err);
}

/*
 * Memory is bounded by the bytes of the archive. Unless the user set a limit, what cannot be
 * unpacked in parts may take AT_ONCE bytes or 1024 times the archive's size: a block, or all of a
 * chunk with a prediction or with blocks of many sizes, and the buffers that filters need. bpk
 * makes no such blocks by itself.
 */
enum { AT_ONCE = 40 << 20 };

static int fail_worth(uint64_t size, uint64_t limit, struct bpk_err *err)
{
	return bpk_fail(err, BPK_LIMIT,
			"needs %" PRIu64
			" bytes of memory at once, an archive of this size gets %" PRIu64 "; "
			"--memory-limit allows more",
			size, limit);
}

/* The same for a parcel of several chunks. */
static int check_extra_memory(const struct bpk_flow *flow, const struct bpk_parcel *parcel,
			      struct bpk_err *err)
{
	uint64_t limit = bpk_memory_limit(flow, AT_ONCE);

	if (!flow->limits.memory_is_default || !flow->decode || parcel->extra_memory <= limit)
		return 0;
	return fail_worth(parcel->extra_memory, limit, err);
}

/* All the work of the room chunk for a parcel. */
static int transform(struct bpk_worker *worker, const struct bpk_flow *flow,
		     struct bpk_parcel *parcel, struct bpk_err *err)
{
	bool pack = flow->packing != NULL;
	bool unpack = parcel->packed_size > 0 && (flow->decode || pack);
	bool copied = flow->out != NULL && !flow->decode && !pack;
	bool cut = copied && parcel->data_size < parcel->raw_size;
	struct bpk_recipe recipe;

	if ((unpack || pack || cut) && bpk_worker_ready(worker, err) != 0)
		return -1;
	if (cut)
		return cut_off(worker, flow, parcel, err);
	if (unpack && (check_extra_memory(flow, parcel, err) != 0 ||
		       unpack_or_prove(worker, flow, parcel, err) != 0))
		return -1;
	if (pack && (choose(worker, flow, parcel, &recipe, err) != 0 ||
		     encode(worker, flow, recipe, parcel, err) != 0))
		return -1;
	if (pack && flow->compare && compare(worker, flow, parcel, err) != 0)
		return -1;
	if (pack && flow->packed != NULL && flow->packed(flow->packed_arg, parcel, err) != 0)
		return -1;
	return 0;
}

int bpk_work_check(const struct bpk_flow *flow, const struct bpk_parcel *parcel,
		   struct bpk_err *err)
{
	if (bpk_work_passes_over(parcel) || parcel->packed_size == 0 || !flow->check ||
	    flow->in->check == NULL)
		return 0;
	return flow->in->check(flow->reader, parcel, err);
}

int bpk_work(struct bpk_worker *worker, const struct bpk_flow *flow, struct bpk_parcel *parcel,
	     struct bpk_err *err)
{
	if (bpk_work_passes_over(parcel))
		return 0;
	if (transform(worker, flow, parcel, err) != 0)
		return bpk_work_subject(flow->in, flow->reader, parcel, err);
	if (flow->out == NULL || flow->out->seal == NULL)
		return 0;
	if (flow->same_seals && parcel->packed.size > parcel->packed_size)
		return 0;
	/* a copied chunk loses its old seal */
	parcel->packed.size = parcel->packed_size;
	return flow->out->seal(flow->writer, parcel, err);
}

/* ---- Pieces ---- */

static bool is_one_chunk(const struct bpk_reader_ops *ops, const void *reader)
{
	return ops->unpacks == NULL || !ops->unpacks(reader);
}

bool bpk_work_may_split(const struct bpk_flow *flow, uint64_t raw_size)
{
	return raw_size > LARGE && flow->decode && flow->packing == NULL &&
	       is_one_chunk(flow->in, flow->reader);
}

bool bpk_work_may_share(const struct bpk_flow *flow, uint64_t raw_size)
{
	return raw_size > LARGE && flow->packing != NULL && !bpk_mode_writer_packs(flow);
}

int bpk_work_divide(const struct bpk_reader_ops *ops, const void *reader, struct bpk_chunk_ctx *ctx,
		    const struct bpk_parcel *parcel, size_t *size, struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);

	*size = 0;
	if (chunk.size == 0 || parcel->want_size <= LARGE || !is_one_chunk(ops, reader))
		return 0;
	bpk_chunk_ctx_set_typesize(ctx, ops->info(reader)->chunks.typesize);
	if (bpk_chunk_piece(ctx, chunk, parcel->want_start, parcel->want_size, PIECE, size, err) !=
	    0)
		return bpk_work_subject(ops, reader, parcel, err);
	if (*size >= parcel->want_size)
		*size = 0;
	return 0;
}

/* piece is 0 if the parcel's bytes are unpacked at once. */
static int check_worth(struct bpk_worker *worker, const struct bpk_flow *flow,
		       const struct bpk_parcel *parcel, size_t piece, struct bpk_err *err)
{
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);
	uint64_t limit = bpk_memory_limit(flow, AT_ONCE), size;
	struct bpk_chunk_header header;

	if (!flow->limits.memory_is_default || chunk.size == 0 || parcel->want_size == 0)
		return 0;
	if (bpk_chunk_header_read(chunk, &header, err) != 0)
		return bpk_work_subject(flow->in, flow->reader, parcel, err);
	if (bpk_chunk_decode_memory(&header, parcel->raw_size) <= limit)
		return 0;
	bpk_chunk_ctx_set_typesize(worker->ctx, flow->in->info(flow->reader)->chunks.typesize);
	if (piece == 0 &&
	    /* the blocks that are not wanted may not have been fetched */
	    bpk_chunk_piece(worker->ctx, chunk, parcel->want_start, parcel->want_size, PIECE,
			    &piece, err) != 0)
		return bpk_work_subject(flow->in, flow->reader, parcel, err);
	size = bpk_chunk_decode_memory(&header, piece == 0 ? parcel->raw_size : piece);
	if (size <= limit)
		return 0;
	fail_worth(size, limit, err);
	return bpk_work_subject(flow->in, flow->reader, parcel, err);
}

/* The cost of a proof follows the packed size, and all of the chunk is proved. */
static bool may_divide(const struct bpk_flow *flow, const struct bpk_parcel *parcel)
{
	if (!bpk_mode_only_proves(flow))
		return bpk_work_may_split(flow, parcel->want_size);
	return parcel->want_size == parcel->raw_size &&
	       bpk_work_may_split(flow, parcel->packed_size);
}

int bpk_work_piece_size(struct bpk_worker *worker, const struct bpk_flow *flow,
			const struct bpk_parcel *parcel, size_t *size, struct bpk_err *err)
{
	*size = 0;
	if (bpk_worker_ready(worker, err) != 0)
		return -1;
	if (may_divide(flow, parcel) &&
	    bpk_work_divide(flow->in, flow->reader, worker->ctx, parcel, size, err) != 0)
		return -1;
	return bpk_mode_only_proves(flow) ? 0 : check_worth(worker, flow, parcel, *size, err);
}

/* Prove the blocks of the bytes of chunk that piece wants. */
static int prove_piece(struct bpk_worker *worker, const struct bpk_parcel *chunk,
		       const struct bpk_parcel *piece, struct bpk_err *err)
{
	return bpk_chunk_prove_range(worker->ctx, bpk_view(chunk->packed.data, chunk->packed_size),
				     piece->want_start, piece->want_size, err);
}

int bpk_work_piece(struct bpk_worker *worker, const struct bpk_flow *flow,
		   const struct bpk_parcel *chunk, struct bpk_parcel *piece, struct bpk_err *err)
{
	int rc = bpk_worker_ready(worker, err);

	if (rc == 0)
		rc = bpk_mode_only_proves(flow) ? prove_piece(worker, chunk, piece, err)
						: decode(worker, flow, chunk, piece, err);
	return rc != 0 ? bpk_work_subject(flow->in, flow->reader, chunk, err) : 0;
}

uint64_t bpk_work_at_once(const struct bpk_flow *flow, uint64_t raw_size)
{
	const struct bpk_info *info = flow->in->info == NULL ? NULL : flow->in->info(flow->reader);
	uint64_t piece;

	if (info == NULL || !info->chunks.has_first || !bpk_work_may_split(flow, raw_size))
		return raw_size;
	piece = bpk_chunk_likely_piece(&info->chunks.first, PIECE);
	return piece == 0 ? raw_size : bpk_min_u64(raw_size, bpk_max_u64(piece, PIECE));
}

uint64_t bpk_work_for_one(const struct bpk_flow *flow, uint64_t raw_size)
{
	return bpk_work_may_share(flow, raw_size) ? PIECE : bpk_work_at_once(flow, raw_size);
}
