/*
 * Blocks of one chunk, encoded by several threads to the bytes that one thread writes. The encoder
 * appends parts from the first on; others encode parts from the last on, each in a room of its own
 * further on in the chunk's buffer; then the encoder moves these down. Called by encode_variable.c,
 * and by flow on any thread.
 *
 *     header, starts | part 0 | part 1 |  ->        [ part 2 ]      [ part 3 ]
 *                                      used         first + 2 n     first + 3 n
 */
#include "chunk/encode.h"

enum { PART = 1 << 20 }; /* raw bytes: taking a part costs a lock */

static size_t nstreams_of(const struct bpk_encoding *e)
{
	return e->split ? e->recipe->typesize : 1;
}

/* Most bytes of a part: every stream has its size before it. */
static size_t part_bound(const struct bpk_encoding *e)
{
	return e->parts.nblocks * (e->block_size + 4 * nstreams_of(e));
}

/* Set the parts and their rooms. A room, with the size of the part in front, begins behind all that
 * earlier blocks can take, so nothing that is written below reaches it. False if one thread has to
 * encode all blocks. */
static bool divide(struct bpk_encoding *e, uint32_t nblocks)
{
	e->parts.nblocks = (uint32_t)bpk_max_u64(1, PART / e->block_size);
	e->parts.first = e->used;
	e->parts.block = e->block_size + 4 * nstreams_of(e) + 4;
	return e->sharing != NULL && nblocks > e->parts.nblocks &&
	       e->raw.size + (uint64_t)nblocks * (e->parts.block - e->block_size) <=
		       e->room - e->used;
}

static size_t room_of(const struct bpk_encoding *e, uint32_t part)
{
	return e->parts.first + (size_t)part * e->parts.nblocks * e->parts.block;
}

/* The number of its first block, or of all blocks. */
static uint32_t first_of(const struct bpk_encoding *e, uint32_t part)
{
	return (uint32_t)bpk_min_u64((uint64_t)part * e->parts.nblocks,
				     bpk_div_up(e->raw.size, e->block_size));
}

static enum bpk_outcome encode_part(struct bpk_encoding *e, uint32_t part, struct bpk_err *err)
{
	return bpk_encode_some(e, first_of(e, part), first_of(e, part + 1), err);
}

/* Encode a part on another thread. */
static void help(void *offered, void *ctx, uint32_t part)
{
	struct bpk_encoding e = *(const struct bpk_encoding *)offered;
	uint8_t *size = e.out + room_of(&e, part);
	size_t start = room_of(&e, part) + 4;

	e.ctx = ctx;
	e.used = start;
	e.end = start + part_bound(&e);
	if (ctx != NULL && bpk_encode_reserve(&e, e.block_size, NULL) == 0 &&
	    encode_part(&e, part, NULL) == BPK_ENCODE_DONE)
		bpk_put_le32(size, (uint32_t)(e.used - start));
	else
		bpk_put_le32(size, 0);
}

/*
 * Append a part that another thread has encoded. Codecs may write other bytes if they have less
 * room, as at the end of a chunk that hardly shrinks: such parts are encoded again, where they
 * belong, and so are those for which a thread had no memory.
 */
static enum bpk_outcome append_part(struct bpk_encoding *e, uint32_t part, struct bpk_err *err)
{
	size_t from = room_of(e, part) + 4, size = bpk_get_le32(e->out + from - 4);
	uint8_t *starts = e->out + e->header_size;

	if (size == 0 || e->end - e->used < part_bound(e))
		return encode_part(e, part, err);
	for (size_t k = first_of(e, part); k < first_of(e, part + 1); k++)
		bpk_put_le32(starts + 4 * k,
			     (uint32_t)(bpk_get_le32(starts + 4 * k) - from + e->used));
	memmove(e->out + e->used, e->out + from, size);
	e->used += size;
	return BPK_ENCODE_DONE;
}

static enum bpk_outcome encode_shared(struct bpk_encoding *e, uint32_t nparts, struct bpk_err *err)
{
	const struct bpk_sharing *sharing = e->sharing;
	struct bpk_encoding offered = *e;
	const struct bpk_shared_work work = { &offered, help };
	enum bpk_outcome outcome = BPK_ENCODE_DONE;
	uint32_t part = 0;

	sharing->offer(sharing->arg, &work, nparts);
	for (; sharing->take(sharing->arg); part++)
		if (outcome == BPK_ENCODE_DONE)
			outcome = encode_part(e, part, err);
	for (; part < nparts && outcome == BPK_ENCODE_DONE; part++)
		outcome = append_part(e, part, err);
	return outcome;
}

enum bpk_outcome bpk_encode_blocks(struct bpk_encoding *e, struct bpk_err *err)
{
	uint64_t nblocks = bpk_div_up(e->raw.size, e->block_size);
	enum bpk_outcome outcome = bpk_encode_begin_blocks(e, nblocks);

	if (outcome != BPK_ENCODE_DONE)
		return outcome;
	if (bpk_encode_reserve(e, e->block_size, err) != 0)
		return BPK_ENCODE_FAILED;
	if (divide(e, (uint32_t)nblocks))
		return encode_shared(e, (uint32_t)bpk_div_up(nblocks, e->parts.nblocks), err);
	return bpk_encode_some(e, 0, (uint32_t)nblocks, err);
}
