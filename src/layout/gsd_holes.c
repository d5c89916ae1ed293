/*
 * Salvage of GSD files: the slots of the index in use that have lost their entries. Another index
 * gives these back if it has exactly one of the frames and names between those beside the slots,
 * whose data overlap nothing. Called by gsd_judge.c.
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

enum {
	MOST_HINTS = 64,      /* slots of a hole that are asked for their frames */
	MOST_STEPS = 1 << 20, /* strays that are looked at for all holes */
};

static int add_lost(struct bpk_gsd_found *found, uint64_t first, uint64_t end, struct bpk_err *err)
{
	const struct bpk_gsd_run run = { first, end, BPK_GSD_LOST };

	return first >= end ? 0 : bpk_buf_append(&found->lost, bpk_view(&run, sizeof run), err);
}

/* ---- Holes: slots without an entry ---- */

struct hole {
	uint64_t place, count; /* slots; of an index that is cut off all that may have been used */
	bool cut;
	bool open;       /* or unknown, at an end of an index that was found */
	uint64_t filled; /* of them, from another index */
	/* The entries beside it, in the order of the index; NULL before the first, or behind the
	 * last. Valid while kept does not grow. */
	const struct bpk_gsd_lead *before, *after;
	uint64_t low, high;   /* frames that its entries may be of, both included */
	uint64_t first, last; /* and are of, if none is filled */
	bool doubts;          /* as it seems; other frames beside it are in doubt */
};

static int by_place(const void *a, const void *b)
{
	const struct bpk_gsd_lead *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/* The number of the first extent behind an offset. */
static size_t first_behind(const struct bpk_gsd_extent *extents, size_t count, uint64_t offset)
{
	return bpk_find_behind(&extents->offset, sizeof *extents, count, offset);
}

/* Where the slots from place on end, end at most: before the data of an array. */
static uint64_t end_slots(const struct bpk_gsd_extent *extents, size_t count, uint64_t place,
			  uint64_t end)
{
	size_t low = first_behind(extents, count, place);

	while (low < count && !bpk_gsd_is_lead(&extents[low]))
		low++;
	return low < count ? bpk_min_u64(end, extents[low].offset) : end;
}

/* True if all slots of a hole tell their frames, which are then first to last. A slot that has the
 * form of an entry was dropped, and its frame may be wrong. */
static bool ask_slots(const struct bpk_gsd_found *found, struct hole *hole)
{
	uint64_t first = BPK_UNKNOWN, last = 0;
	struct bpk_gsd_lead lead;
	uint8_t bytes[BPK_GSD_ENTRY];

	if (hole->count == 0)
		return false;
	for (uint64_t i = 0; i < hole->count; i++) {
		uint64_t at = hole->place + i * BPK_GSD_ENTRY, frame;

		if (i == MOST_HINTS ||
		    bpk_source_need_at(found->source, at, bpk_span(bytes, sizeof bytes), NULL) != 0)
			return false;
		frame = bpk_get_le64(bytes);
		if (bpk_gsd_lead_read(found, bytes, at, &lead) || frame < hole->low ||
		    frame > hole->high || bpk_is_zero(bpk_view(bytes, sizeof bytes)))
			return false;
		first = bpk_min_u64(first, frame);
		last = bpk_max_u64(last, frame);
	}
	hole->first = first;
	hole->last = last;
	return true;
}

/* The number of leads of the frame that ends before the lead at; and of the one that begins there.
 * */
static size_t count_back(const struct bpk_gsd_lead *leads, size_t at)
{
	size_t i = at;

	while (i > 0 && leads[i - 1].entry.frame == leads[at - 1].entry.frame)
		i--;
	return at - i;
}

static size_t count_on(const struct bpk_gsd_lead *leads, size_t count, size_t at)
{
	size_t i = at;

	while (i < count && leads[i].entry.frame == leads[at].entry.frame)
		i++;
	return i - at;
}

/* True if the frames beside a hole, in front of the lead at, have as many arrays as one another, so
 * that it is clear which of them lack some: first to last. */
static bool ask_frames(struct bpk_gsd_found *found, struct hole *hole, size_t at)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t count = bpk_gsd_nleads(&found->kept);
	size_t before = at > 0 ? count_back(leads, at) : 0, after = count_on(leads, count, at);
	size_t earlier = at > before ? count_back(leads, at - before) : 0;
	size_t later = at + after < count ? count_on(leads, count, at + after) : 0;
	uint64_t each = earlier > 0 ? earlier : later, lacking, ends;

	if (hole->cut || hole->count == 0 || each == 0 || before == 0 ||
	    (later > 0 && later != each) || hole->low == hole->high)
		return false;
	lacking = before < each ? each - before : 0;
	ends = after > 0 && after < each ? each - after : 0;
	hole->first = lacking > 0 ? hole->low : hole->low + 1;
	if (after > 0 && hole->count != lacking + ends + (hole->high - hole->low - 1) * each)
		return false;
	if (after > 0)
		hole->last = ends > 0 ? hole->high : hole->high - 1;
	else if (hole->count > lacking)
		hole->last = hole->low + (hole->count - lacking + each - 1) / each;
	else
		hole->last = hole->low;
	hole->doubts = true;
	return true;
}

/* Add the slots from place to end, in front of the lead at. Behind the last entry the frames are
 * those of the slots, or unknown: then one of them may be of its frame, or of the next. */
static int add_hole(struct bpk_gsd_found *found, struct bpk_buf *holes, size_t at, uint64_t place,
		    uint64_t end, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	bool is_last = at == bpk_gsd_nleads(&found->kept);
	struct hole hole = {
		.place = place,
		.count = (end - place) / BPK_GSD_ENTRY,
		.before = at > 0 ? &leads[at - 1] : NULL,
		.after = is_last ? NULL : &leads[at],
		.open = !found->has_index && (at == 0 || is_last),
	};

	if (hole.count == 0 && !hole.open)
		return 0;
	hole.low = hole.before != NULL ? hole.before->entry.frame : 0;
	hole.high = is_last ? hole.low + hole.count : hole.after->entry.frame;
	hole.cut = is_last && place >= found->index_end;
	if (!ask_slots(found, &hole) && !ask_frames(found, &hole, at)) {
		hole.first = hole.low;
		hole.last = is_last ? hole.low + !hole.cut : hole.high;
	}
	if (at > 0)
		bpk_gsd_leads(&found->kept)[at - 1].is_followed = hole.count > 0;
	return bpk_buf_append(holes, bpk_view(&hole, sizeof hole), err);
}

/* True if the file ends in the index in use, and all slots before that are used. */
static bool has_cut_index(const struct bpk_gsd_found *found)
{
	const struct bpk_gsd_block *index = &found->index;

	return found->has_index && index->size > found->size - index->offset &&
	       found->size - found->index_end < BPK_GSD_ENTRY;
}

static int walk_holes(struct bpk_gsd_found *found, const struct bpk_gsd_extent *extents,
		      size_t nextents, struct bpk_buf *holes, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t count = bpk_gsd_nleads(&found->kept);
	uint64_t next = found->index.offset;

	for (size_t i = 0; i <= count; i++) {
		uint64_t end = i < count ? leads[i].place : found->index_end;

		end = end > next ? end_slots(extents, nextents, next, end) : next;
		if (add_hole(found, holes, i, next, end, err) != 0)
			return -1;
		next = i < count ? leads[i].place + BPK_GSD_ENTRY : next;
	}
	return has_cut_index(found) ? add_hole(found, holes, count, found->index_end,
					       found->index.offset + found->index.size, err)
				    : 0;
}

/* Find the holes of the index in use. kept has its entries alone, and is sorted by place. */
static int find_holes(struct bpk_gsd_found *found, struct bpk_buf *holes, struct bpk_err *err)
{
	size_t count = bpk_gsd_nleads(&found->kept), nextents = 0;
	struct bpk_gsd_extent *extents;
	int rc;

	if (count > 0)
		qsort(found->kept.data, count, sizeof(struct bpk_gsd_lead), by_place);
	extents = bpk_gsd_extents(found, false, &nextents, err);
	if (extents == NULL)
		return -1;
	rc = walk_holes(found, extents, nextents, holes, err);
	free(extents);
	return rc;
}

/* True if size bytes at offset are those of an extent. */
static bool is_owned(const struct bpk_gsd_extent *extents, size_t count, uint64_t offset,
		     uint64_t size)
{
	size_t low = first_behind(extents, count, offset);

	return (low > 0 && offset - extents[low - 1].offset < extents[low - 1].size) ||
	       (size > 0 && low < count && extents[low].offset - offset < size);
}

/* A stray that may be in a hole: between the entries beside it. In files before version 2 the names
 * of a frame are in any order. */
static bool may_fill(const struct bpk_gsd_found *found, const struct hole *hole,
		     const struct bpk_gsd_lead *stray)
{
	const struct bpk_gsd_lead *before = hole->before, *after = hole->after;
	bool any = found->version < 0x20000;

	if (before != NULL && stray->entry.frame == before->entry.frame &&
	    (any ? stray->entry.id == before->entry.id : stray->entry.id <= before->entry.id))
		return false;
	return after == NULL || stray->entry.frame < after->entry.frame ||
	       (stray->entry.frame == after->entry.frame &&
		(any ? stray->entry.id != after->entry.id : stray->entry.id < after->entry.id));
}

/* The number of strays from one on that are of the same array. *alike: they are equal. */
static size_t count_alike(const struct bpk_gsd_found *found, size_t from, bool *alike)
{
	const struct bpk_gsd_lead *strays = bpk_gsd_leads(&found->strays);
	size_t count = bpk_gsd_nleads(&found->strays), i = from + 1;

	*alike = true;
	for (; i < count && bpk_gsd_is_same_name(&strays[i], &strays[from]); i++)
		*alike = *alike && bpk_gsd_is_twin(&strays[i], &strays[from]);
	return i - from;
}

/* The first stray that may be in a hole. */
static size_t begin_of(const struct bpk_gsd_found *found, const struct hole *hole)
{
	bool ordered = found->version >= 0x20000 && hole->before != NULL;

	return bpk_gsd_lead_find(&found->strays, hole->low, ordered ? hole->before->entry.id : 0);
}

/* Add strays for a hole to more, none if they are more than it has slots. extents: of kept. */
static int fill_hole(const struct bpk_gsd_found *found, const struct bpk_gsd_extent *extents,
		     size_t nextents, struct hole *hole, struct bpk_buf *more, unsigned *steps,
		     struct bpk_err *err)
{
	const struct bpk_gsd_lead *strays = bpk_gsd_leads(&found->strays);
	uint64_t last = hole->after != NULL ? hole->high : BPK_UNKNOWN, count = 0;
	size_t nstrays = bpk_gsd_nleads(&found->strays), size = more->size;
	bool alike;

	for (size_t i = begin_of(found, hole), step;
	     i < nstrays && strays[i].entry.frame <= last && *steps < MOST_STEPS;
	     i += step, ++*steps) {
		const struct bpk_gsd_lead *stray = &strays[i];

		step = count_alike(found, i, &alike);
		if (!alike || stray->cut || !may_fill(found, hole, stray) ||
		    is_owned(extents, nextents, stray->place, BPK_GSD_ENTRY) ||
		    is_owned(extents, nextents, stray->entry.location, stray->size))
			continue;
		if (++count > hole->count && !hole->open)
			break;
		if (bpk_buf_append(more, bpk_view(stray, sizeof *stray), err) != 0)
			return -1;
		bpk_gsd_leads(more)[bpk_gsd_nleads(more) - 1].filled = true;
	}
	if (count > hole->count && !hole->open)
		more->size = size;
	else
		hole->filled = count;
	return 0;
}

static void doubt(struct bpk_gsd_found *found, const struct hole *hole,
		  const struct bpk_gsd_lead *lead)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);

	if (lead != NULL && (lead->entry.frame < hole->first || lead->entry.frame > hole->last))
		leads[lead - leads].unproven = true;
}

/* Add the frames of a hole that was not filled. In front of the first entry of an index that was
 * found all frames before it are lost. */
static int lose_hole(struct bpk_gsd_found *found, const struct hole *hole, struct bpk_err *err)
{
	if (hole->doubts) {
		doubt(found, hole, hole->before);
		doubt(found, hole, hole->after);
	}
	if (hole->count > 0)
		return add_lost(found, hole->first, hole->last + 1, err);
	return hole->before == NULL ? add_lost(found, 0, hole->high, err) : 0;
}

/* Add the frames of a hole that was filled in part, last in more. Older indexes have the first
 * entries of newer ones. */
static int lose_rest(struct bpk_gsd_found *found, const struct hole *hole,
		     const struct bpk_buf *more, struct bpk_err *err)
{
	uint64_t last = bpk_gsd_leads(more)[bpk_gsd_nleads(more) - 1].entry.frame;

	return add_lost(found, last, hole->after != NULL ? hole->high + 1 : last + 1 + !hole->cut,
			err);
}

/* Fill the holes, and add the frames of others to lost. */
static int fill_holes(struct bpk_gsd_found *found, struct bpk_buf *holes, struct bpk_err *err)
{
	struct bpk_gsd_extent *extents;
	struct bpk_buf more = { 0 };
	unsigned steps = 0;
	size_t nextents = 0;
	int rc = 0;

	extents = bpk_gsd_extents(found, false, &nextents, err);
	if (extents == NULL)
		return -1;
	for (size_t i = 0; rc == 0 && i < holes->size / sizeof(struct hole); i++) {
		struct hole *hole = (struct hole *)(void *)holes->data + i;

		rc = fill_hole(found, extents, nextents, hole, &more, &steps, err);
		if (rc == 0 && hole->filled == 0)
			rc = lose_hole(found, hole, err);
		else if (rc == 0 && hole->filled < hole->count)
			rc = lose_rest(found, hole, &more, err);
	}
	if (rc == 0)
		rc = bpk_buf_append(&found->kept, bpk_buf_view(&more), err);
	bpk_buf_clear(&more);
	free(extents);
	return rc;
}

int bpk_gsd_fill(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_buf holes = { 0 };
	int rc = find_holes(found, &holes, err);

	if (rc == 0)
		rc = fill_holes(found, &holes, err);
	bpk_buf_clear(&holes);
	return rc;
}

/* ---- Losses ---- */

static int by_first(const void *a, const void *b)
{
	const struct bpk_gsd_run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static void join_lost(struct bpk_buf *lost)
{
	struct bpk_gsd_run *runs = (void *)lost->data;
	size_t count = lost->size / sizeof *runs, last = 0;

	if (count == 0)
		return;
	qsort(runs, count, sizeof *runs, by_first);
	for (size_t i = 1; i < count; i++) {
		if (runs[i].first > runs[last].end)
			runs[++last] = runs[i];
		else
			runs[last].end = bpk_max_u64(runs[last].end, runs[i].end);
	}
	lost->size = (last + 1) * sizeof *runs;
}

/* Where entries are at wrong places, a frame without any may have lost all. */
static int lose_empty(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	uint64_t next = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < bpk_gsd_nleads(&found->kept); i++) {
		rc = add_lost(found, next, leads[i].entry.frame, err);
		next = leads[i].entry.frame + 1;
	}
	return rc;
}

int bpk_gsd_lose(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < bpk_gsd_nleads(&found->kept); i++)
		if (leads[i].cut || leads[i].dropped)
			rc = add_lost(found, leads[i].entry.frame, leads[i].entry.frame + 1, err);
	bpk_gsd_leads_sweep(&found->kept);
	bpk_gsd_leads_sort(&found->kept);
	if (rc == 0 && found->dropped.size + found->copies.size > 0)
		rc = lose_empty(found, err);
	join_lost(&found->lost);
	return rc;
}
