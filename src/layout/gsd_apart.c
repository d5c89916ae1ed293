/*
 * Salvage of GSD files: of entries whose data overlap those are dropped that are damaged. Called by
 * gsd_judge.c.
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

/* ---- Overlaps ---- */

/* The offsets at which extents begin or end, sorted. */
struct edges {
	uint64_t *all;
	size_t count;
	uint64_t *starts; /* of those that may overlap */
	size_t nstarts;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The number of values below one. */
static size_t find_value(const uint64_t *values, size_t count, uint64_t value)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (values[middle] < value)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Other indexes, and the end of the file, are edges, too. */
static int list_edges(const struct bpk_gsd_found *found, const struct bpk_gsd_extent *extents,
		      size_t count, struct edges *edges, struct bpk_err *err)
{
	const struct bpk_gsd_lead *strays = bpk_gsd_leads(&found->strays);
	size_t nstrays = bpk_gsd_nleads(&found->strays);

	edges->starts = bpk_calloc(3 * count + 2 * nstrays + 1, sizeof *edges->all, err);
	if (edges->starts == NULL)
		return -1;
	edges->all = edges->starts + count;
	edges->nstarts = count;
	for (size_t i = 0; i < count; i++) {
		edges->starts[i] = extents[i].offset;
		edges->all[edges->count++] = extents[i].offset;
		edges->all[edges->count++] = extents[i].offset + extents[i].size;
	}
	for (size_t i = 0; i < nstrays; i++) {
		edges->all[edges->count++] = strays[i].place;
		edges->all[edges->count++] = strays[i].place + BPK_GSD_ENTRY;
	}
	edges->all[edges->count++] = found->size;
	qsort(edges->all, edges->count, sizeof *edges->all, by_value);
	return 0;
}

/* True if an extent, which has an edge at offset, has a neighbour there. */
static bool is_tight(const struct edges *edges, uint64_t offset)
{
	size_t at = find_value(edges->all, edges->count, offset);

	return at + 1 < edges->count && edges->all[at + 1] == offset;
}

/* The number of extents that begin inside of one. */
static size_t count_inside(const struct edges *edges, const struct bpk_gsd_extent *extent)
{
	return find_value(edges->starts, edges->nstarts, extent->offset + extent->size) -
	       find_value(edges->starts, edges->nstarts, extent->offset + 1);
}

enum { TWIN = 4 };

/* Writers put data one behind the other, so an entry with damaged numbers begins or ends where no
 * other data do, or covers several others. */
static int score(const struct bpk_gsd_found *found, const struct edges *edges,
		 const struct bpk_gsd_extent *extent)
{
	const struct bpk_gsd_lead *lead;

	if (!bpk_gsd_is_lead(extent))
		return extent->number == BPK_GSD_TABLE ? 2 * TWIN : 1;
	lead = &bpk_gsd_leads(&found->kept)[extent->number];
	if (lead->cut || count_inside(edges, extent) > 1)
		return -1;
	return TWIN * lead->twin + is_tight(edges, extent->offset) +
	       is_tight(edges, extent->offset + extent->size);
}

static bool is_dropped(const struct bpk_gsd_found *found, const struct bpk_gsd_extent *extent)
{
	return bpk_gsd_is_lead(extent) && bpk_gsd_leads(&found->kept)[extent->number].dropped;
}

static void drop(const struct bpk_gsd_found *found, const struct bpk_gsd_extent *extent)
{
	if (bpk_gsd_is_lead(extent))
		bpk_gsd_leads(&found->kept)[extent->number].dropped = true;
}

/* True if the data of a lead are behind those of the lead before it, and before those of the next
 * one. kept is sorted by frame and name. */
static bool is_in_order(const struct bpk_gsd_found *found, const struct bpk_gsd_extent *extent)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t n = (size_t)extent->number, count = bpk_gsd_nleads(&found->kept);

	return (n == 0 || leads[n - 1].entry.location < leads[n].entry.location) &&
	       (n + 1 == count || leads[n].entry.location < leads[n + 1].entry.location);
}

/* Two arrays claim the same bytes: drop the one that is out of order, or both. */
static void drop_equal(const struct bpk_gsd_found *found, const struct bpk_gsd_extent *a,
		       const struct bpk_gsd_extent *b)
{
	bool a_stays = is_in_order(found, a), b_stays = is_in_order(found, b);

	if (!a_stays || b_stays)
		drop(found, a);
	if (!b_stays || a_stays)
		drop(found, b);
}

/* Two extents overlap: drop the one with the lower score. Where the second ends at a neighbour, and
 * the first begins at one or has all of the second inside, the first has a damaged number of
 * elements: of the second both that and its offset would have to be damaged. Otherwise both are in
 * doubt. */
static void drop_one(const struct bpk_gsd_found *found, const struct edges *edges,
		     const struct bpk_gsd_extent *a, const struct bpk_gsd_extent *b)
{
	int order = score(found, edges, a) - score(found, edges, b);
	uint64_t b_end = b->offset + b->size;
	bool is_inside = bpk_gsd_is_lead(a) && bpk_gsd_is_lead(b) && b_end <= a->offset + a->size &&
			 is_tight(edges, b_end) && order > 0 && order < TWIN;

	if (order == 0 && (a->number == BPK_GSD_ROOM || b->number == BPK_GSD_ROOM))
		return;
	if (order == 0 && a->offset == b->offset) {
		drop_equal(found, a, b);
		return;
	}
	if (order <= 0 || is_inside)
		drop(found, a);
	if ((order > 0 && !is_inside) ||
	    (order == 0 && !(is_tight(edges, a->offset) && is_tight(edges, b_end))))
		drop(found, b);
}

/* stack: extents that do not overlap, so that the last one ends last. Room of a table that an array
 * is not dropped for is none. */
static void drop_overlapping(const struct bpk_gsd_found *found, const struct edges *edges,
			     const struct bpk_gsd_extent *extents, size_t count, size_t *stack)
{
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		const struct bpk_gsd_extent *next = &extents[i];
		bool stays = true;

		while (depth > 0 && stays) {
			const struct bpk_gsd_extent *top = &extents[stack[depth - 1]];

			if (next->offset - top->offset >= top->size)
				break;
			if (bpk_gsd_is_lead(top) || bpk_gsd_is_lead(next))
				drop_one(found, edges, top, next);
			stays = !is_dropped(found, next) && next->number != BPK_GSD_ROOM;
			if (is_dropped(found, top) || (stays && top->number == BPK_GSD_ROOM))
				depth--;
			else
				stays = false;
		}
		if (stays)
			stack[depth++] = i;
	}
}

/* An entry of another index whose data are not between others may be of another file. */
static void doubt_filled(const struct bpk_gsd_found *found, const struct edges *edges,
			 const struct bpk_gsd_extent *extents, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bpk_gsd_lead *lead =
			bpk_gsd_is_lead(&extents[i])
				? &bpk_gsd_leads(&found->kept)[extents[i].number]
				: NULL;

		if (lead != NULL && lead->filled && score(found, edges, &extents[i]) < 2)
			lead->unproven = true;
	}
}

int bpk_gsd_keep_apart(struct bpk_gsd_found *found, struct bpk_err *err)
{
	size_t count = 0;
	struct bpk_gsd_extent *extents = bpk_gsd_extents(found, false, &count, err);
	struct edges edges = { 0 };
	size_t *stack = NULL;
	int rc = -1;

	if (extents != NULL && list_edges(found, extents, count, &edges, err) == 0)
		stack = bpk_calloc(count, sizeof *stack, err);
	if (stack != NULL) {
		drop_overlapping(found, &edges, extents, count, stack);
		doubt_filled(found, &edges, extents, count);
		rc = 0;
	}
	free(stack);
	free(edges.starts);
	free(extents);
	return rc;
}
