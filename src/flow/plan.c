/* Arithmetic of plans: cuts, ranges, and the bytes of each parcel. Runs and views ask it for
 * parcels; archive and cli make plans with it. */
#include "flow/plan.h"

#include <inttypes.h>

struct bpk_plan bpk_plan_cut(uint64_t raw_size, uint64_t chunk_size)
{
	struct bpk_plan plan = {
		.chunk_size = chunk_size,
		.raw_size = raw_size,
		.end = raw_size,
	};

	if (raw_size == BPK_UNKNOWN)
		plan.count = BPK_UNKNOWN;
	else
		plan.count = bpk_max_u64(1, bpk_div_up(raw_size, chunk_size));
	return plan;
}

struct bpk_plan bpk_plan_sizes(const struct bpk_sizes *runs)
{
	return (struct bpk_plan){
		.count = runs->nchunks,
		.chunk_size = BPK_UNKNOWN,
		.raw_size = runs->raw_size,
		.end = runs->raw_size,
		.runs = runs,
	};
}

struct bpk_plan bpk_plan_counted(const struct bpk_info *info)
{
	return (struct bpk_plan){
		.count = info->chunks.count,
		/* an empty archive may call its chunk size 0 */
		.chunk_size = info->chunks.size == 0 ? BPK_UNKNOWN : info->chunks.size,
		.raw_size = info->raw_size,
		.end = info->raw_size,
	};
}

struct bpk_plan bpk_plan_all(const struct bpk_info *info)
{
	if (info->members != BPK_UNKNOWN)
		return bpk_plan_counted(info);
	return (struct bpk_plan){
		.count = BPK_UNKNOWN,
		.chunk_size = BPK_UNKNOWN,
		.raw_size = BPK_UNKNOWN,
		.end = BPK_UNKNOWN,
	};
}

static int fail_range(uint64_t start, uint64_t end, uint64_t raw_size, struct bpk_err *err)
{
	if (end == BPK_UNKNOWN)
		return bpk_fail(err, BPK_USAGE,
				"the range begins at byte %" PRIu64
				", the data ends at byte %" PRIu64,
				start, raw_size);
	return bpk_fail(err, BPK_USAGE,
			"the range %" PRIu64 ":%" PRIu64 " leaves the data, which has %" PRIu64
			" bytes",
			start, end, raw_size);
}

/* Find the range in chunks of one size, by division. */
static void range_by_division(struct bpk_plan *plan)
{
	uint64_t nchunks = plan->count;

	plan->first = plan->start / plan->chunk_size;
	if (plan->end != BPK_UNKNOWN)
		plan->count = bpk_div_up(plan->end, plan->chunk_size) - plan->first;
	else if (nchunks != BPK_UNKNOWN)
		plan->count = nchunks - bpk_min_u64(nchunks, plan->first);
}

uint64_t bpk_plan_alike(const struct bpk_reader_ops *ops, void *reader, uint64_t number,
			uint64_t *size)
{
	uint64_t first, raw_size, count;

	*size = 0;
	if (ops->repeats == NULL)
		return 0;
	count = ops->repeats(reader, number, &first, &raw_size);
	if (count > 0) {
		*size = raw_size / count;
		return count - 1;
	}
	count = ops->repeats(reader, number + 1, &first, &raw_size);
	if (count == 0 || first != number)
		return 0;
	*size = raw_size / count;
	return count;
}

/* Set first and first_offset to the chunk that holds start, as far as the archive lists sizes,
 * otherwise to the first chunk that it does not list. Returns true if that chunk holds start. */
static bool find_first(const struct bpk_sizes *runs, struct bpk_plan *plan)
{
	struct bpk_sized chunk = { 0 };
	bool found = bpk_sizes_seek(runs, plan->start, &chunk);

	if (!found && runs != NULL)
		chunk = (struct bpk_sized){ .first = runs->nchunks, .raw_offset = runs->raw_size };
	plan->first = chunk.first;
	plan->first_offset = chunk.raw_offset;
	return found;
}

/* The number of equal chunks of size bytes that begin with number, at offset, up to the plan's end.
 * Only the first is looked up. */
static uint64_t count_steps(const struct bpk_reader_ops *ops, void *reader,
			    const struct bpk_plan *plan, uint64_t number, uint64_t offset,
			    uint64_t size)
{
	uint64_t one, count = 1 + bpk_plan_alike(ops, reader, number, &one);

	return size == 0 ? count : bpk_min_u64(count, bpk_div_up(plan->end - offset, size));
}

/* Find the range in chunks of any size: in the listed sizes, and behind those by chunk headers. */
static int range_by_walking(const struct bpk_reader_ops *ops, void *reader, struct bpk_plan *plan,
			    struct bpk_err *err)
{
	const struct bpk_sizes *runs = ops->info(reader)->chunks.runs;
	bool begun = find_first(runs, plan);
	uint64_t number = plan->first, offset = plan->first_offset;
	struct bpk_where where;
	struct bpk_sized chunk;
	uint64_t count;
	int rc = 0;

	if (begun && bpk_sizes_seek(runs, plan->end - 1, &chunk)) {
		plan->count = chunk.first + 1 - plan->first;
		return 0;
	}
	if (begun) {
		number = runs->nchunks;
		offset = runs->raw_size;
	}
	for (; offset < plan->end; number += count) {
		rc = ops->locate(reader, number, &where, err);
		if (rc < 0)
			return -1;
		if (rc > 0)
			break;
		count = count_steps(ops, reader, plan, number, offset, where.header.raw_size);
		if (!begun && plan->start < offset + count * where.header.raw_size) {
			uint64_t before = (plan->start - offset) / where.header.raw_size;

			plan->first = number + before;
			plan->first_offset = offset + before * where.header.raw_size;
			begun = true;
		}
		offset += count * where.header.raw_size;
	}
	if (plan->raw_size != BPK_UNKNOWN && offset < plan->end)
		return bpk_fail(err, BPK_CORRUPT, "unpacks to %" PRIu64 " bytes, expected %" PRIu64,
				offset, plan->raw_size);
	if (plan->end != BPK_UNKNOWN ? offset < plan->end : offset < plan->start)
		return fail_range(plan->start, plan->end, offset, err);
	plan->count = begun ? number - plan->first : 0;
	return 0;
}

int bpk_plan_range(const struct bpk_reader_ops *ops, void *reader, uint64_t start, uint64_t end,
		   struct bpk_plan *plan, struct bpk_err *err)
{
	const struct bpk_info *info = ops->info(reader);

	/* a range inside the first of several archives does not depend on the others */
	*plan = end <= info->raw_size && end != BPK_UNKNOWN ? bpk_plan_counted(info)
							    : bpk_plan_all(info);
	plan->start = start;
	plan->end = end == BPK_UNKNOWN ? plan->raw_size : end;
	if (plan->raw_size != BPK_UNKNOWN && (start > plan->raw_size || plan->end > plan->raw_size))
		return fail_range(start, end, plan->raw_size, err);
	if (start == plan->end) {
		plan->count = 0;
		return 0;
	}
	if (plan->chunk_size != BPK_UNKNOWN) {
		range_by_division(plan);
		return 0;
	}
	/* a pipe has no size, and then the run finds the range while it reads */
	if (info->stored_size != BPK_UNKNOWN && ops->locate != NULL)
		return range_by_walking(ops, reader, plan, err);
	plan->count = BPK_UNKNOWN;
	return 0;
}

uint64_t bpk_plan_first_offset(const struct bpk_plan *plan)
{
	struct bpk_sized chunk;

	if (bpk_sizes_chunk(plan->runs, plan->first, &chunk))
		return chunk.raw_offset;
	if (plan->chunk_size == BPK_UNKNOWN)
		return plan->first_offset;
	return plan->first * plan->chunk_size;
}

void bpk_plan_want(const struct bpk_plan *plan, struct bpk_parcel *parcel)
{
	uint64_t offset = parcel->raw_offset;
	uint64_t low = plan->start > offset ? plan->start - offset : 0;
	uint64_t high = plan->end > offset ? plan->end - offset : 0;

	high = bpk_min_u64(high, parcel->data_size);
	low = bpk_min_u64(low, high);
	parcel->want_start = (size_t)low;
	parcel->want_size = (size_t)(high - low);
}

void bpk_plan_parcel(const struct bpk_plan *plan, struct bpk_parcel *parcel)
{
	struct bpk_sized chunk;
	uint64_t left;

	parcel->packed_offset = BPK_UNKNOWN;
	parcel->packed_size = 0;
	parcel->packed.size = 0;
	parcel->raw.size = 0;
	parcel->data_size = SIZE_MAX;
	if (bpk_sizes_chunk(plan->runs, parcel->number, &chunk)) {
		parcel->raw_offset = chunk.raw_offset;
		parcel->raw_size = chunk.size;
		bpk_plan_want(plan, parcel);
		return;
	}
	if (plan->chunk_size == BPK_UNKNOWN) {
		parcel->raw_offset = BPK_UNKNOWN;
		parcel->raw_size = 0;
		parcel->want_start = 0;
		parcel->want_size = SIZE_MAX;
		return;
	}
	parcel->raw_offset = parcel->number * plan->chunk_size;
	left = plan->raw_size - bpk_min_u64(plan->raw_size, parcel->raw_offset);
	parcel->raw_size = (size_t)bpk_min_u64(plan->chunk_size, left);
	bpk_plan_want(plan, parcel);
}

/* If the size of the whole is unknown, a last chunk may be shorter. */
int bpk_plan_judge(const struct bpk_plan *plan, struct bpk_parcel *parcel, uint64_t size,
		   struct bpk_err *err)
{
	bool raw = parcel->packed_size == 0;
	bool planned = plan->chunk_size != BPK_UNKNOWN || plan->runs != NULL;

	if (raw)
		parcel->raw_size = parcel->raw.size;
	parcel->data_size = bpk_min_size(parcel->data_size, parcel->raw_size);
	if (!planned || parcel->data_size == size ||
	    (plan->raw_size == BPK_UNKNOWN && parcel->data_size < size))
		return 0;
	if (raw)
		return bpk_fail(err, BPK_FAILED,
				"ends at byte %" PRIu64 ", %" PRIu64 " bytes were expected",
				(parcel->raw_offset + parcel->raw_size), plan->raw_size);
	return bpk_fail(err, BPK_CORRUPT,
			"chunk %" PRIu64 " unpacks to %zu bytes, expected %" PRIu64, parcel->number,
			parcel->data_size, size);
}
