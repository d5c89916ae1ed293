/* Looks a chunk up in another archive. Called by flow.c. */
#include "flow/twin.h"

#include "flow/plan.h"

/* Misses cost a read each: with more of them than hits, the archives are packed in other ways. */
enum { MOST_MISSES = 8 };

static bool is_worth_it(struct bpk_twins *twins)
{
	uint64_t misses = atomic_load_explicit(&twins->misses, memory_order_relaxed);

	return misses < MOST_MISSES ||
	       misses < atomic_load_explicit(&twins->hits, memory_order_relaxed);
}

/* Bytes under no digest may be damaged in the same way on both sides. */
static bool is_sealed(const struct bpk_parcel *parcel)
{
	return parcel->packed.size > parcel->packed_size;
}

static bool check(const struct bpk_reader_ops *ops, const void *reader,
		  const struct bpk_parcel *parcel)
{
	return ops->check == NULL || ops->check(reader, parcel, NULL) == 0;
}

static bool fetch(struct bpk_worker *worker, const struct bpk_flow *flow, uint64_t number)
{
	struct bpk_parcel *twin = &worker->twin;
	size_t planned;

	twin->number = number;
	bpk_plan_parcel(&flow->plan, twin);
	planned = twin->raw_size;
	return flow->twin_in->fetch(flow->twin, twin, NULL) == 0 &&
	       bpk_plan_judge(&flow->plan, twin, planned, NULL) == 0;
}

bool bpk_twin_holds(struct bpk_twins *twins, struct bpk_worker *worker, const struct bpk_flow *flow,
		    const struct bpk_parcel *parcel)
{
	const struct bpk_parcel *twin = &worker->twin;
	bool same;

	if (flow->twin_in == NULL || parcel->again > 0 || parcel->packed_size == 0 ||
	    !is_worth_it(twins))
		return false;
	same = fetch(worker, flow, parcel->number) && twin->packed_size == parcel->packed_size &&
	       twin->raw_size == parcel->raw_size && twin->data_size == parcel->data_size &&
	       memcmp(twin->packed.data, parcel->packed.data, parcel->packed_size) == 0 &&
	       (is_sealed(parcel) || is_sealed(twin)) && check(flow->in, flow->reader, parcel) &&
	       check(flow->twin_in, flow->twin, twin);
	atomic_fetch_add_explicit(same ? &twins->hits : &twins->misses, 1, memory_order_relaxed);
	return same;
}
