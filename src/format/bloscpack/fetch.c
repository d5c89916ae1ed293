/* Bringing and locating single chunks while the caller holds the source: by the offsets, or in
 * sequence. Called by the reader, and again for another look at a file that was changed. */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>
#include <stdlib.h>

/* Fill in the parcel's description of its chunk. */
static void label(const struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel, uint64_t offset,
		  const struct bpk_chunk_header *chunk)
{
	uint64_t size = r->header.chunk_size;
	struct bpk_sized known;

	parcel->packed_offset = offset;
	parcel->packed_size = chunk->packed_size;
	parcel->raw_size = chunk->raw_size;
	parcel->data_size = chunk->raw_size;
	if (parcel->number == 0)
		parcel->raw_offset = 0;
	else if (bpk_sizes_chunk(&r->sizes.runs, parcel->number, &known))
		parcel->raw_offset = known.raw_offset;
	else if (size == BPK_UNKNOWN || !bpk_mul_u64(size, parcel->number, &parcel->raw_offset))
		parcel->raw_offset = BPK_UNKNOWN;
}

/* The packed bytes of one parcel that is read in pieces. */
struct pieces {
	struct bpk_source *source;
	uint64_t offset;
	struct bpk_span packed;
};

static int bring_piece(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	const struct pieces *p = arg;

	if (offset > p->packed.size || size > p->packed.size - offset)
		return bpk_fail(err, BPK_CORRUPT, "a block leads outside the chunk");
	return bpk_bloscpack_need(p->source, p->offset + offset,
				  bpk_span(p->packed.data + offset, size), "chunk", err);
}

/* Read the digest. It is not tested, but shows later whether the chunk was replaced. */
static int bring_digest(const struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
			uint64_t offset, struct bpk_err *err)
{
	size_t size = r->header.checksum->size;

	if (r->marks == NULL || size == 0)
		return 0;
	return bpk_bloscpack_need(r->source, offset + parcel->packed_size,
				  bpk_span(parcel->packed.data + parcel->packed_size, size),
				  "digest", err);
}

/*
 * Read the bytes that the want needs, to their places. A hostile block may claim more bytes than
 * were read, and parcels are reused: so the rest is zeroed, lest bytes of an earlier chunk appear.
 */
static int bring_wanted(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel, uint64_t offset,
			const struct bpk_chunk_header *chunk, struct bpk_err *err)
{
	uint64_t head = BPK_CHUNK_HEADER_SIZE + 4 * (uint64_t)chunk->nblocks;
	struct pieces pieces = { .source = r->source, .offset = offset };

	if (head > chunk->packed_size)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu32 " block starts do not fit into %" PRIu32 " packed bytes",
				chunk->nblocks, chunk->packed_size);
	if (bpk_buf_resize(&parcel->packed, chunk->packed_size + r->header.checksum->size, err) !=
	    0)
		return -1;
	memset(parcel->packed.data, 0, parcel->packed.size);
	pieces.packed = bpk_span(parcel->packed.data, chunk->packed_size);
	if (bring_piece(&pieces, 0, (uint32_t)head, err) != 0 ||
	    bring_digest(r, parcel, offset, err) != 0)
		return -1;
	return bpk_chunk_extents(bpk_view(parcel->packed.data, head), parcel->want_start,
				 parcel->want_size, bring_piece, &pieces, err);
}

static bool wants_part(const struct bpk_bloscpack_reader *r, const struct bpk_parcel *parcel,
		       const struct bpk_chunk_header *chunk)
{
	return r->options.no_check && r->seekable && parcel->want_size > 0 &&
	       parcel->want_size < chunk->raw_size && parcel->want_start <= chunk->raw_size &&
	       parcel->want_size <= chunk->raw_size - parcel->want_start;
}

/* Read the chunk whose header a walk has taken. */
static int bring_walked(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
			const struct bpk_bloscpack_step *step, struct bpk_err *err)
{
	const struct bpk_chunk_header *chunk = &step->header;
	size_t rest = chunk->packed_size - sizeof step->head + r->header.checksum->size;

	label(r, parcel, step->extent.offset, chunk);
	if (wants_part(r, parcel, chunk))
		return bring_wanted(r, parcel, step->extent.offset, chunk, err);
	parcel->packed.size = 0;
	if (bpk_buf_append(&parcel->packed, bpk_view(step->head, sizeof step->head), err) != 0)
		return -1;
	return bpk_bloscpack_append(r->source, step->extent.offset + sizeof step->head, rest,
				    &parcel->packed, "chunk", err);
}

/* The size of the first read, before the header is known: up to the next chunk if its position is
 * known, but at most the size of a chunk without slack. */
static size_t first_read(const struct bpk_bloscpack_reader *r, const struct bpk_parcel *parcel,
			 const struct bpk_bloscpack_extent *extent)
{
	const struct bpk_bloscpack_header *h = &r->header;
	uint64_t raw = bpk_bloscpack_raw_size(r, parcel->number);
	uint64_t most =
		raw == BPK_UNKNOWN ? extent->room : raw + BPK_CHUNK_HEADER_SIZE + h->checksum->size;

	if (!extent->exact || (r->options.no_check && parcel->want_size < raw))
		return BPK_CHUNK_HEADER_SIZE;
	if (most > BPK_CHUNK_MAX_RAW_SIZE)
		most = BPK_CHUNK_HEADER_SIZE;
	return (size_t)bpk_max_u64(BPK_CHUNK_HEADER_SIZE, bpk_min_u64(extent->room, most));
}

/* Append bytes of the file to the packed ones. */
static int bring_more(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel, uint64_t offset,
		      size_t size, struct bpk_err *err)
{
	struct bpk_buf *packed = &parcel->packed;
	size_t got;

	if (bpk_buf_reserve_whole(packed, packed->size + size, err) != 0 ||
	    bpk_source_read_shared_at(r->source, offset,
				      bpk_span(packed->data + packed->size, size), parcel->sharing,
				      &got, err) != 0)
		return -1;
	packed->size += got;
	return got == size ? 0 : bpk_bloscpack_ends_early(err, "chunk", got, size);
}

/* Of a chunk at extent the first bytes were read: examine them, and read the others. */
static int bring_rest(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
		      const struct bpk_bloscpack_extent *extent, struct bpk_err *err)
{
	size_t first = parcel->packed.size;
	struct bpk_chunk_header chunk;
	size_t total;

	if (bpk_bloscpack_examine(r, parcel->number,
				  bpk_view(parcel->packed.data, BPK_CHUNK_HEADER_SIZE), extent,
				  &chunk, err) != 0)
		return -1;
	label(r, parcel, extent->offset, &chunk);
	if (wants_part(r, parcel, &chunk))
		return bring_wanted(r, parcel, extent->offset, &chunk, err);
	total = (size_t)chunk.packed_size + r->header.checksum->size;
	if (total > first)
		return bring_more(r, parcel, extent->offset + first, total - first, err);
	parcel->packed.size = total;
	return 0;
}

/* Read the chunk at extent, in one read if its size can be foreseen. */
static int bring_found(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
		       const struct bpk_bloscpack_extent *extent, struct bpk_err *err)
{
	parcel->packed.size = 0;
	if (bring_more(r, parcel, extent->offset, first_read(r, parcel, extent), err) != 0 ||
	    bring_rest(r, parcel, extent, err) != 0)
		return bpk_bloscpack_chunk_subject(err, parcel->number, extent->offset);
	return 0;
}

static int fetch_found(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
		       struct bpk_err *err)
{
	struct bpk_bloscpack_extent extent;

	if (parcel->number >= r->header.nchunks)
		return 1;
	if (bpk_bloscpack_find(r, parcel->number, NULL, &extent, err) != 0)
		return -1;
	return bring_found(r, parcel, &extent, err);
}

/* After the last chunk in sequence: set the counts. */
static void complete_info(struct bpk_bloscpack_reader *r)
{
	const struct bpk_bloscpack_walk *walk = &r->sequence;

	if (!walk->ended || walk->number > r->info.chunks.count)
		return;
	r->info.chunks.count = walk->number;
	r->info.raw_size = walk->raw_offset;
	r->info.chunks.last_size = walk->last_raw;
}

static int fetch_in_sequence(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
			     struct bpk_err *err)
{
	struct bpk_bloscpack_walk *walk = &r->sequence;
	struct bpk_bloscpack_step step;
	int rc;

	if (parcel->number < walk->number && r->seekable)
		*walk = bpk_bloscpack_walk_start(r);
	if (parcel->number < walk->number)
		return bpk_fail(err, BPK_BUG,
				"chunk %" PRIu64 " was asked for after chunk %" PRIu64,
				parcel->number, walk->number);
	while ((rc = bpk_bloscpack_walk_look(r, walk, false, NULL, &step, err)) == 0 &&
	       walk->number < parcel->number)
		bpk_bloscpack_walk_move(r, walk, &step);
	if (rc != 0) {
		complete_info(r);
		return rc;
	}
	if (bring_walked(r, parcel, &step, err) != 0)
		return bpk_bloscpack_chunk_subject(err, parcel->number, step.extent.offset);
	parcel->raw_offset = walk->raw_offset;
	bpk_bloscpack_walk_move(r, walk, &step);
	/* a plan that knows the number of chunks does not fetch again after the last */
	if (walk->number == r->header.nchunks &&
	    bpk_bloscpack_walk_look(r, walk, false, NULL, &step, err) < 0)
		return -1;
	complete_info(r);
	return 0;
}

int bpk_bloscpack_fetch_held(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
			     struct bpk_err *err)
{
	return r->positional ? fetch_found(r, parcel, err) : fetch_in_sequence(r, parcel, err);
}

/* ---- Without a hold ---- */

int bpk_bloscpack_ahead_new(struct bpk_bloscpack_ahead **ahead, struct bpk_err *err)
{
	*ahead = bpk_calloc(1, sizeof **ahead, err);
	if (*ahead == NULL)
		return -1;
	bpk_mutex_init(&(*ahead)->lock);
	bpk_stretch_init(&(*ahead)->stretch);
	return 0;
}

void bpk_bloscpack_ahead_free(struct bpk_bloscpack_ahead *ahead)
{
	if (ahead == NULL)
		return;
	bpk_stretch_clear(&ahead->stretch);
	bpk_mutex_clear(&ahead->lock);
	free(ahead);
}

/* Begin with a state of the file of which nothing was read. */
static void forget(struct bpk_bloscpack_ahead *ahead, unsigned state)
{
	ahead->state = state;
	ahead->page.first = ahead->page.n = 0;
	bpk_stretch_drop(&ahead->stretch);
}

/* Bring the first bytes of a small chunk, for bring_rest; its header alone is not worth it. *fresh:
 * they were not read in advance. Returns 1 for other chunks. */
static int bring_small(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
		       const struct bpk_bloscpack_extent *extent, bool *fresh, struct bpk_err *err)
{
	struct bpk_stretch *stretch = &r->ahead->stretch;
	size_t first = first_read(r, parcel, extent);
	struct bpk_span out;

	if (first <= BPK_CHUNK_HEADER_SIZE || first > BPK_STRETCH || first > extent->room)
		return 1;
	if (bpk_buf_resize(&parcel->packed, first, err) != 0)
		return -1;
	out = bpk_span(parcel->packed.data, first);
	if (bpk_stretch_copy(stretch, extent->offset, out))
		return 0;
	*fresh = true;
	return bpk_stretch_read(stretch, r->source, extent->offset, r->size - extent->offset, out,
				err);
}

/*
 * Find the chunk, and bring a small one: rc of bring_small. False if the file was changed: other
 * threads see nothing that was read in advance before it is known that the file was not.
 */
static bool look_ahead(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel, unsigned state,
		       struct bpk_bloscpack_extent *extent, int *rc, struct bpk_err *err)
{
	struct bpk_bloscpack_ahead *ahead = r->ahead;
	bool fresh, still = true;
	uint64_t first;
	unsigned n;

	bpk_mutex_lock(&ahead->lock);
	if (ahead->state != state)
		forget(ahead, state);
	first = ahead->page.first;
	n = ahead->page.n;
	*rc = bpk_bloscpack_find(r, parcel->number, &ahead->page, extent, err);
	fresh = ahead->page.first != first || ahead->page.n != n;
	if (*rc == 0)
		*rc = bring_small(r, parcel, extent, &fresh, err);
	if (fresh)
		still = bpk_source_is_still(r->source, state);
	if (!still)
		forget(ahead, 0);
	bpk_mutex_unlock(&ahead->lock);
	return still;
}

/* A failed read is final, since it may not occur again. A walk cannot begin again, so it holds. */
bool bpk_bloscpack_fetch_still(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel, int *rc,
			       struct bpk_err *err)
{
	unsigned state = r->positional ? bpk_source_glance(r->source) : 0;
	struct bpk_bloscpack_extent extent;
	size_t first;

	*rc = 1;
	if (state == 0)
		return false;
	if (parcel->number >= r->header.nchunks)
		return true;
	parcel->packed.size = 0;
	if (!look_ahead(r, parcel, state, &extent, rc, err))
		return *rc < 0 && bpk_err_is_of_machine(err);
	if (*rc > 0) {
		*rc = bring_found(r, parcel, &extent, err);
		return *rc < 0 ? bpk_err_is_of_machine(err) : bpk_source_is_still(r->source, state);
	}
	first = parcel->packed.size;
	if (*rc == 0)
		*rc = bring_rest(r, parcel, &extent, err);
	if (*rc < 0)
		return bpk_err_is_of_machine(err);
	return parcel->packed.size <= first || bpk_source_is_still(r->source, state);
}

/*
 * Move walk to chunk number, or as close before it as is possible without reading the chunks before
 * it.
 */
static void approach(const struct bpk_bloscpack_reader *r, struct bpk_bloscpack_walk *walk,
		     uint64_t number)
{
	const struct bpk_sizes *runs = &r->sizes.runs;
	struct bpk_bloscpack_walk start = bpk_bloscpack_walk_start(r);
	struct bpk_sized known;

	if (r->positional && r->header.chunk_size != BPK_UNKNOWN) {
		start.number = number;
		start.raw_offset = number * r->header.chunk_size;
	} else if (r->positional && bpk_sizes_chunk(runs, number, &known)) {
		start.number = number;
		start.raw_offset = known.raw_offset;
	} else if (r->positional && number >= runs->nchunks) {
		start.number = runs->nchunks;
		start.raw_offset = runs->raw_size;
	}
	if (walk->number > number || walk->number < start.number)
		*walk = start;
}

int bpk_bloscpack_locate_held(struct bpk_bloscpack_reader *r, uint64_t number,
			      struct bpk_where *where, struct bpk_err *err)
{
	struct bpk_bloscpack_walk *walk = &r->located;
	struct bpk_bloscpack_step step;
	int rc;

	approach(r, walk, number);
	while ((rc = bpk_bloscpack_walk_look(r, walk, r->positional, NULL, &step, err)) == 0 &&
	       walk->number < number)
		bpk_bloscpack_walk_move(r, walk, &step);
	if (rc != 0)
		return rc;
	where->packed_offset = step.extent.offset;
	where->raw_offset = walk->raw_offset;
	where->header = step.header;
	if (bpk_bloscpack_need(r->source, step.extent.offset + step.header.packed_size,
			       bpk_span(where->digest, r->header.checksum->size), "digest",
			       err) != 0)
		return bpk_bloscpack_chunk_subject(err, number, step.extent.offset);
	bpk_bloscpack_walk_move(r, walk, &step);
	return 0;
}
