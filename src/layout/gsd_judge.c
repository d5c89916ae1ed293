/*
 * Salvage of GSD files: which of the entries that were found are true, and which frames have lost
 * some. Called by gsd_salvage.c.
 *
 * The entries of the index in use count if their frames are in order and their data overlap
 * nothing. A slot without such an entry has lost it (gsd_holes.c).
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

enum { SECTOR = 512 };

/* Frames without an entry that are taken for real. With more of them a frame has a damaged number,
 * and the new index would need a slot for each. */
#ifdef BPK_FUZZING
enum { MOST_EMPTY = 1 << 8 }; /* a fuzzer would write large indexes most of the time */
#else
enum { MOST_EMPTY = 1 << 16 };
#endif

/* ---- The index in use ---- */

/* True if the slot at place may have lost its first bytes with the sector before it, which is
 * zeros. A frame of 0 is plausible. */
static bool is_rest(const uint8_t *bytes, uint64_t place, bool behind_zeros)
{
	size_t lost = SECTOR - (size_t)(place % SECTOR);

	return behind_zeros && lost < BPK_GSD_ENTRY && bpk_is_zero(bpk_view(bytes, lost));
}

static int take_slots(struct bpk_gsd_found *found, uint64_t at, struct bpk_view piece,
		      struct bpk_err *err)
{
	struct bpk_gsd_lead lead;

	for (size_t i = 0; i < piece.size; i += BPK_GSD_ENTRY) {
		const uint8_t *bytes = piece.data + i;
		bool behind_zeros = found->index_end < at + i;
		bool is = bpk_gsd_lead_read(found, bytes, at + i, &lead) &&
			  !is_rest(bytes, at + i, behind_zeros);

		if (bpk_is_zero(bpk_view(bytes, BPK_GSD_ENTRY)) || (!is && behind_zeros))
			continue;
		found->index_end = at + i + BPK_GSD_ENTRY;
		if (!is)
			continue;
		found->rows_end = found->index_end;
		if (bpk_buf_append(&found->kept, bpk_view(&lead, sizeof lead), err) != 0)
			return -1;
	}
	return 0;
}

static int walk_index(struct bpk_gsd_found *found, struct bpk_err *err)
{
	uint64_t left = found->size - found->index.offset;
	uint64_t present = bpk_min_u64(found->index.size, left - left % BPK_GSD_ENTRY);
	uint8_t piece[256 * BPK_GSD_ENTRY];

	found->index_end = found->index.offset;
	for (uint64_t done = 0; done < present;) {
		uint64_t at = found->index.offset + done;
		uint64_t hole = bpk_source_hole_at(found->source, at);
		struct bpk_span span =
			bpk_span(piece, (size_t)bpk_min_u64(sizeof piece, present - done));

		if (hole >= sizeof piece) {
			done += hole - hole % BPK_GSD_ENTRY;
			continue;
		}
		if (bpk_source_need_at(found->source, at, span, err) != 0 ||
		    take_slots(found, at, bpk_view_of_span(span), err) != 0)
			return -1;
		done += span.size;
	}
	return 0;
}

/* A number of slots that is too large takes the data of arrays for slots, and so does an offset
 * that is too small. */
static bool has_data(const struct bpk_gsd_found *found)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	uint64_t begin = found->index.offset;
	size_t inside = 0;

	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++) {
		uint64_t location = leads[i].entry.location, end = location + leads[i].size;

		if (location < begin && end > begin && end <= leads[0].place)
			return true;
		inside += leads[i].size > 0 && location >= begin && location < found->rows_end;
	}
	return inside > 1;
}

/* A number of a name behind a whole list is damage, unless many entries have such numbers: then
 * names are lost. */
static void drop_nameless(struct bpk_gsd_found *found)
{
	enum { FEW = 8 }; /* one in so many */
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t count = bpk_gsd_nleads(&found->kept), nameless = 0;

	for (size_t i = 0; i < count; i++) {
		leads[i].dropped = found->nnames > 0 && leads[i].entry.id >= found->nnames;
		nameless += leads[i].dropped;
	}
	for (size_t i = 0; i < count && nameless > count / FEW; i++)
		leads[i].dropped = false;
	bpk_gsd_leads_sweep(&found->kept);
}

/* ---- The order of frames ---- */

static bool is_ordered(const struct bpk_gsd_lead *leads, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (leads[i].entry.frame < leads[i - 1].entry.frame)
			return false;
	return true;
}

/* The number of ends whose frame is not above frame. ends: leads that end the best row of each
 * length, whose frames ascend. */
static size_t count_below(const struct bpk_gsd_lead *leads, const size_t *ends, size_t count,
			  uint64_t frame)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (leads[ends[middle]].entry.frame <= frame)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Remove the leads that are dropped, and note their frames: these may have lost them. */
static int sweep_disordered(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < bpk_gsd_nleads(&found->kept); i++)
		if (leads[i].dropped)
			rc = bpk_buf_append(&found->dropped, bpk_view(&leads[i].entry.frame, 8),
					    err);
	bpk_gsd_leads_sweep(&found->kept);
	return rc;
}

/* Keep the longest row whose frames do not descend, by the method of patience. */
static int keep_ordered(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t count = bpk_gsd_nleads(&found->kept), length = 0, at;
	size_t *ends, *before;

	if (is_ordered(leads, count))
		return 0;
	ends = bpk_calloc(count, 2 * sizeof *ends, err);
	if (ends == NULL)
		return -1;
	before = ends + count;
	for (size_t i = 0; i < count; i++) {
		size_t below = count_below(leads, ends, length, leads[i].entry.frame);

		before[i] = below > 0 ? ends[below - 1] : i;
		ends[below] = i;
		length = below == length ? length + 1 : length;
		leads[i].dropped = true;
	}
	at = ends[length - 1];
	for (size_t i = 0; i < length; i++) {
		leads[at].dropped = false;
		at = before[at];
	}
	free(ends);
	return sweep_disordered(found, err);
}

/* Leads are in the order of their frames. */
static void drop_far(struct bpk_buf *kept)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(kept);
	uint64_t next = 0, empty = 0;

	for (size_t i = 0; i < bpk_gsd_nleads(kept); i++) {
		uint64_t frame = leads[i].entry.frame;

		empty += frame > next ? frame - next : 0;
		if (empty > MOST_EMPTY) {
			kept->size = i * sizeof *leads;
			return;
		}
		next = frame + 1;
	}
}

/* ---- Strays ---- */

static void find_twins(struct bpk_gsd_found *found)
{
	const struct bpk_gsd_lead *strays = bpk_gsd_leads(&found->strays);
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t nstrays = bpk_gsd_nleads(&found->strays);

	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++) {
		struct bpk_gsd_lead *lead = &leads[i];

		for (size_t j =
			     bpk_gsd_lead_find(&found->strays, lead->entry.frame, lead->entry.id);
		     j < nstrays && bpk_gsd_is_same_name(lead, &strays[j]) && !lead->twin; j++)
			lead->twin = bpk_gsd_is_twin(lead, &strays[j]);
	}
}

/* ---- Repeated names ---- */

/* True if an array has the type and shape of that name in a frame. */
static bool is_like(const struct bpk_gsd_found *found, const struct bpk_gsd_lead *lead,
		    uint64_t frame)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t at = bpk_gsd_lead_find(&found->kept, frame, lead->entry.id);
	const struct bpk_gsd_entry *x = &lead->entry, *y = &leads[at].entry;

	return at < bpk_gsd_nleads(&found->kept) && y->frame == frame && x->id == y->id &&
	       x->type == y->type && x->ncolumns == y->ncolumns && x->nrows == y->nrows;
}

/* How probable it is that an entry has its own name, which another one of its frame has, too. */
static int rate(const struct bpk_gsd_found *found, const struct bpk_gsd_lead *lead)
{
	uint64_t frame = lead->entry.frame;

	return 2 * lead->twin +
	       ((frame > 0 && is_like(found, lead, frame - 1)) || is_like(found, lead, frame + 1));
}

/* Of two entries of a name in a frame the less probable one is dropped, or the later one. */
static void drop_repeated(struct bpk_gsd_found *found)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t last = 0;

	bpk_gsd_leads_sort(&found->kept);
	for (size_t i = 1; i < bpk_gsd_nleads(&found->kept); i++) {
		if (!bpk_gsd_is_same_name(&leads[last], &leads[i])) {
			last = i;
			continue;
		}
		leads[last].unproven = leads[i].unproven = true;
		if (rate(found, &leads[last]) >= rate(found, &leads[i])) {
			leads[i].dropped = true;
			continue;
		}
		leads[last].dropped = true;
		last = i;
	}
}

/* An entry that is there twice was copied over another one. Nothing tells which slot is its own, so
 * both count as lost, and it is set aside. */
static int drop_copies(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t first = 0;
	int rc = 0;

	bpk_gsd_leads_sort(&found->kept);
	for (size_t i = 1; rc == 0 && i < bpk_gsd_nleads(&found->kept); i++) {
		if (!bpk_gsd_is_twin(&leads[first], &leads[i])) {
			first = i;
			continue;
		}
		if (!leads[first].dropped)
			rc = bpk_buf_append(&found->copies, bpk_view(&leads[first], sizeof *leads),
					    err);
		leads[first].dropped = leads[i].dropped = true;
	}
	bpk_gsd_leads_sweep(&found->kept);
	return rc;
}

/* An entry that is out of order may be of its frame, and at a wrong place. */
static void doubt_dropped(struct bpk_gsd_found *found)
{
	const uint64_t *frames = (const void *)found->dropped.data;
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);

	for (size_t i = 0; i < found->dropped.size / sizeof *frames; i++) {
		size_t at = bpk_gsd_lead_find(&found->kept, frames[i], 0);

		if (at < bpk_gsd_nleads(&found->kept) && leads[at].entry.frame == frames[i])
			leads[at].unproven = true;
	}
}

/* Since version 2 the names of a frame ascend in the index. GSD's library refuses a frame that the
 * index has no slots for; a damaged number may be one. */
static void doubt_order(struct bpk_gsd_found *found)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);

	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++) {
		if (found->has_index && leads[i].entry.frame >= found->index.room)
			leads[i].unproven = true;
		if (i > 0 && found->version >= 0x20000 &&
		    leads[i].entry.frame == leads[i - 1].entry.frame &&
		    leads[i].entry.id < leads[i - 1].entry.id)
			leads[i].unproven = leads[i - 1].unproven = true;
	}
}

/* ---- Entry ---- */

/* Keep the true entries of the index in use. */
static int judge_index(struct bpk_gsd_found *found, struct bpk_err *err)
{
	if (walk_index(found, err) != 0)
		return -1;
	found->has_wrong_room = has_data(found);
	drop_nameless(found);
	if (keep_ordered(found, err) != 0)
		return -1;
	drop_far(&found->kept);
	find_twins(found);
	doubt_order(found);
	if (drop_copies(found, err) != 0 || bpk_gsd_keep_apart(found, err) != 0)
		return -1;
	bpk_gsd_leads_sweep(&found->kept);
	drop_repeated(found);
	bpk_gsd_leads_sweep(&found->kept);
	return 0;
}

/* Take the entries that were set aside, unless another index has given them back. */
static int take_copies(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads;

	if (bpk_buf_append(&found->kept, bpk_buf_view(&found->copies), err) != 0)
		return -1;
	bpk_gsd_leads_sort(&found->kept);
	leads = bpk_gsd_leads(&found->kept);
	for (size_t i = 1; i < bpk_gsd_nleads(&found->kept); i++)
		leads[i].dropped = bpk_gsd_is_twin(&leads[i - 1], &leads[i]);
	bpk_gsd_leads_sweep(&found->kept);
	return 0;
}

int bpk_gsd_judge(struct bpk_gsd_found *found, struct bpk_err *err)
{
	if (judge_index(found, err) != 0 || bpk_gsd_fill(found, err) != 0 ||
	    take_copies(found, err) != 0 || bpk_gsd_keep_apart(found, err) != 0 ||
	    bpk_gsd_lose(found, err) != 0)
		return -1;
	drop_repeated(found);
	drop_far(&found->kept);
	if (bpk_gsd_lose(found, err) != 0)
		return -1;
	doubt_dropped(found);
	return 0;
}
