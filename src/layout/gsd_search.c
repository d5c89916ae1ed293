/*
 * Salvage of GSD files: the search for index entries in a whole file, at any offset. Called by
 * gsd_salvage.c.
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

enum {
	PIECE = 1 << 20,
	/* The largest part of an index that may be lost between two of its rows: a page. */
	LOST_PAGE = 4096,
};

/* Frames have numbers below that: a larger one is a damaged byte. */
#define MOST_FRAME ((uint64_t)1 << 40)

/* ---- One entry ---- */

bool bpk_gsd_lead_read(const struct bpk_gsd_found *found, const uint8_t *bytes, uint64_t place,
		       struct bpk_gsd_lead *lead)
{
	struct bpk_gsd_entry *entry = &lead->entry;

	*lead = (struct bpk_gsd_lead){
		.entry = bpk_gsd_entry_parse(bytes),
		.place = place,
	};
	if (bytes[31] != 0 || bpk_gsd_scalar(entry->type) == NULL || entry->frame >= MOST_FRAME ||
	    entry->ncolumns == 0 || entry->id >= BPK_GSD_MAX_NAMES ||
	    entry->location < BPK_GSD_HEADER || entry->location > found->size)
		return false;
	if (entry->type == BPK_GSD_CHARACTER && found->has_head && found->version < 0x20001)
		return false;
	if (!bpk_gsd_entry_size(entry, &lead->size) || lead->size > found->size)
		return false;
	lead->cut = lead->size > found->size - entry->location;
	return true;
}

/* ---- The search ---- */

/* True if the 32 bytes may be an entry, by those that differ least: type, flags, and the highest of
 * the frame. */
static bool is_form(const uint8_t *bytes)
{
	return bytes[31] == 0 && (uint8_t)(bytes[30] - 1) < BPK_GSD_CHARACTER && bytes[5] == 0 &&
	       bytes[6] == 0 && bytes[7] == 0;
}

/* True if place is a slot of the index in use. */
static bool is_slot(const struct bpk_gsd_found *found, uint64_t place)
{
	const struct bpk_gsd_block *index = &found->index;

	return found->has_index && place >= index->offset && place - index->offset < index->size &&
	       (place - index->offset) % BPK_GSD_ENTRY == 0;
}

/* Add the entry at place, if it is one. *step: bytes to the next place to look at. Of a row of
 * entries the second tells that both are true, and those that overlap them are not. The data of
 * others than the first may be behind the end of the file. */
static int take(struct bpk_gsd_found *found, const uint8_t *bytes, uint64_t place, uint64_t *step,
		struct bpk_err *err)
{
	size_t count = bpk_gsd_nleads(&found->strays);
	const struct bpk_gsd_lead *last =
		count > 0 ? &bpk_gsd_leads(&found->strays)[count - 1] : NULL;
	struct bpk_gsd_lead lead;
	bool is_next;

	*step = 1;
	if (!bpk_gsd_lead_read(found, bytes, place, &lead))
		return 0;
	is_next = last != NULL && place - last->place == BPK_GSD_ENTRY &&
		  lead.entry.frame >= last->entry.frame;
	if (is_next || is_slot(found, place))
		*step = BPK_GSD_ENTRY;
	/* overlapping ones could be more than the file has bytes for */
	if ((lead.cut && !is_next) || is_slot(found, place) || count > found->size / BPK_GSD_ENTRY)
		return 0;
	return bpk_buf_append(&found->strays, bpk_view(&lead, sizeof lead), err);
}

/* Look at the places in piece, from *at on. */
static int take_piece(struct bpk_gsd_found *found, struct bpk_view piece, uint64_t *at,
		      struct bpk_err *err)
{
	size_t i = 0;

	while (piece.size - i >= BPK_GSD_ENTRY) {
		uint64_t step = 1;

		if (is_form(piece.data + i) &&
		    take(found, piece.data + i, *at + i, &step, err) != 0)
			return -1;
		i += (size_t)bpk_min_u64(step, piece.size - i);
	}
	*at += i;
	return 0;
}

static int search(struct bpk_gsd_found *found, uint8_t *piece, struct bpk_err *err)
{
	uint64_t at = BPK_GSD_HEADER;

	while (at < found->size && found->size - at >= BPK_GSD_ENTRY) {
		uint64_t hole = bpk_source_hole_at(found->source, at);
		struct bpk_span span =
			bpk_span(piece, (size_t)bpk_min_u64(PIECE, found->size - at));

		/* an entry at its end begins with zeros, and one in the hole is none */
		if (hole > BPK_GSD_ENTRY) {
			at += hole - BPK_GSD_ENTRY;
			continue;
		}
		if (bpk_source_need_at(found->source, at, span, err) != 0 ||
		    take_piece(found, bpk_view_of_span(span), &at, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- Leads ---- */

static int by_name(const void *a, const void *b)
{
	const struct bpk_gsd_lead *x = a, *y = b;

	if (x->entry.frame != y->entry.frame)
		return x->entry.frame < y->entry.frame ? -1 : 1;
	if (x->entry.id != y->entry.id)
		return x->entry.id < y->entry.id ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

void bpk_gsd_leads_sort(struct bpk_buf *buf)
{
	if (buf->size > 0)
		qsort(buf->data, bpk_gsd_nleads(buf), sizeof(struct bpk_gsd_lead), by_name);
}

void bpk_gsd_leads_sweep(struct bpk_buf *buf)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(buf);
	size_t count = bpk_gsd_nleads(buf), left = 0;

	for (size_t i = 0; i < count; i++)
		if (!leads[i].dropped)
			leads[left++] = leads[i];
	buf->size = left * sizeof *leads;
}

bool bpk_gsd_is_same_name(const struct bpk_gsd_lead *a, const struct bpk_gsd_lead *b)
{
	return a->entry.frame == b->entry.frame && a->entry.id == b->entry.id;
}

bool bpk_gsd_is_twin(const struct bpk_gsd_lead *a, const struct bpk_gsd_lead *b)
{
	const struct bpk_gsd_entry *x = &a->entry, *y = &b->entry;

	return bpk_gsd_is_same_name(a, b) && x->nrows == y->nrows && x->ncolumns == y->ncolumns &&
	       x->location == y->location && x->type == y->type;
}

size_t bpk_gsd_lead_find(const struct bpk_buf *buf, uint64_t frame, uint32_t id)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(buf);
	size_t low = 0, high = bpk_gsd_nleads(buf);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct bpk_gsd_entry *entry = &leads[middle].entry;

		if (entry->frame < frame || (entry->frame == frame && entry->id < id))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- The index ---- */

/* True if two entries, in the order of the file, may be of one index. */
static bool is_row(const struct bpk_gsd_lead *a, const struct bpk_gsd_lead *b)
{
	uint64_t distance = b->place - a->place;

	return distance % BPK_GSD_ENTRY == 0 && distance <= LOST_PAGE + BPK_GSD_ENTRY &&
	       b->entry.frame >= a->entry.frame;
}

/* Entries first to first+count-1 of strays, in the order of the file. */
struct row {
	size_t first, count;
};

/* Set row to the one that begins at its first entry. */
static void measure_row(const struct bpk_gsd_found *found, struct row *row)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->strays);
	size_t end = row->first + 1;

	while (end < bpk_gsd_nleads(&found->strays) && is_row(&leads[end - 1], &leads[end]))
		end++;
	row->count = end - row->first;
}

static uint64_t last_frame(const struct bpk_gsd_found *found, const struct row *row)
{
	return bpk_gsd_leads(&found->strays)[row->first + row->count - 1].entry.frame;
}

/* True if a row is rather the index in use: it goes on longer. A row that is much shorter than the
 * longest may be the data of an array. */
static bool is_better(const struct bpk_gsd_found *found, const struct row *row,
		      const struct row *best, size_t longest)
{
	if (row->count < longest / 2)
		return false;
	if (best->count == 0 || last_frame(found, row) != last_frame(found, best))
		return best->count == 0 || last_frame(found, row) > last_frame(found, best);
	return row->count >= best->count;
}

/* Of equal rows the last one counts, which was written last. */
static struct row find_row(const struct bpk_gsd_found *found)
{
	size_t count = bpk_gsd_nleads(&found->strays), longest = 0;
	struct row best = { 0 };

	for (struct row row = { 0 }; row.first < count; row.first += row.count) {
		measure_row(found, &row);
		longest = row.count > longest ? row.count : longest;
	}
	for (struct row row = { 0 }; row.first < count; row.first += row.count) {
		measure_row(found, &row);
		if (is_better(found, &row, &best, longest))
			best = row;
	}
	return best;
}

/* A new file has its index behind the header, and the data behind that. The row may lack its first
 * entries. */
static uint64_t begin_of_row(const struct bpk_gsd_lead *leads, size_t count)
{
	uint64_t distance = leads[0].place - BPK_GSD_HEADER;

	if (distance % BPK_GSD_ENTRY != 0 ||
	    distance >= (uint64_t)BPK_GSD_FRESH_ROOM * BPK_GSD_ENTRY)
		return leads[0].place;
	for (size_t i = 0; i < count; i++)
		if (leads[i].entry.location < leads[0].place)
			return leads[0].place;
	return BPK_GSD_HEADER;
}

/* *is: an index of another GSD file, which begins before it: in an array, or behind this one. */
static int is_foreign(const struct bpk_gsd_found *found, const struct row *row, bool *is,
		      struct bpk_err *err)
{
	uint64_t place = bpk_gsd_leads(&found->strays)[row->first].place;
	uint8_t magic[sizeof bpk_gsd_magic];

	*is = false;
	if (place < 2 * BPK_GSD_HEADER)
		return 0;
	if (bpk_source_need_at(found->source, place - BPK_GSD_HEADER, bpk_span(magic, sizeof magic),
			       err) != 0)
		return -1;
	*is = memcmp(magic, bpk_gsd_magic, sizeof magic) == 0;
	return 0;
}

static int drop_foreign(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->strays);
	bool is;

	for (struct row row = { 0 }; row.first < bpk_gsd_nleads(&found->strays);
	     row.first += row.count) {
		measure_row(found, &row);
		if (is_foreign(found, &row, &is, err) != 0)
			return -1;
		for (size_t i = row.first; i < row.first + row.count; i++)
			leads[i].dropped = is;
	}
	bpk_gsd_leads_sweep(&found->strays);
	return 0;
}

static void take_row(struct bpk_gsd_found *found)
{
	const struct row row = find_row(found);
	struct bpk_gsd_block *index = &found->index;
	struct bpk_gsd_lead *leads;

	if (row.count == 0)
		return;
	leads = bpk_gsd_leads(&found->strays) + row.first;
	index->offset = begin_of_row(leads, row.count);
	index->size = leads[row.count - 1].place + BPK_GSD_ENTRY - index->offset;
	index->room = index->size / BPK_GSD_ENTRY;
	for (size_t i = 0; i < row.count; i++)
		leads[i].dropped = true;
	bpk_gsd_leads_sweep(&found->strays);
}

int bpk_gsd_search(struct bpk_gsd_found *found, struct bpk_err *err)
{
	uint8_t *piece = bpk_calloc(1, (size_t)bpk_min_u64(PIECE, found->size), err);
	int rc = piece != NULL ? search(found, piece, err) : -1;

	free(piece);
	if (rc == 0)
		rc = drop_foreign(found, err);
	if (rc == 0 && !found->has_index)
		take_row(found);
	bpk_gsd_leads_sort(&found->strays);
	return rc;
}
