/*
 * Salvage of GSD files: the bytes that tables and arrays own, and those that nothing owns. Called
 * by the other files of the salvage.
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

/* ---- Extents ---- */

/* The tables: header, index, names; rooms: also their free room. */
static size_t list_tables(const struct bpk_gsd_found *found, bool rooms,
			  struct bpk_gsd_extent *extents)
{
	const struct bpk_gsd_block *index = &found->index, *names = &found->names_block;
	uint64_t end = index->offset + bpk_min_u64(index->size, found->size - index->offset);
	size_t count = 0;

	extents[count++] = (struct bpk_gsd_extent){ 0, BPK_GSD_HEADER, BPK_GSD_TABLE };
	if (found->rows_end > index->offset)
		extents[count++] =
			(struct bpk_gsd_extent){ index->offset, found->rows_end - index->offset,
						 BPK_GSD_TABLE };
	if (rooms && end > found->rows_end)
		extents[count++] = (struct bpk_gsd_extent){ found->rows_end, end - found->rows_end,
							    BPK_GSD_ROOM };
	/* a pointer that is off by a few bytes takes those of an array */
	if (found->names_end > names->offset)
		extents[count++] =
			(struct bpk_gsd_extent){ names->offset, found->names_end - names->offset,
						 rooms ? BPK_GSD_ROOM : BPK_GSD_TABLE };
	end = names->offset + names->size;
	if (rooms && end > found->names_end)
		extents[count++] = (struct bpk_gsd_extent){ found->names_end,
							    end - found->names_end, BPK_GSD_ROOM };
	return count;
}

enum { TABLES = 5 };

struct bpk_gsd_extent *bpk_gsd_extents(const struct bpk_gsd_found *found, bool others,
				       size_t *count, struct bpk_err *err)
{
	const struct bpk_gsd_lead *kept = bpk_gsd_leads(&found->kept);
	const struct bpk_gsd_lead *strays = bpk_gsd_leads(&found->strays);
	size_t nkept = bpk_gsd_nleads(&found->kept);
	size_t nstrays = others ? bpk_gsd_nleads(&found->strays) : 0;
	struct bpk_gsd_extent *extents = bpk_calloc(nkept + nstrays + TABLES, sizeof *extents, err);

	if (extents == NULL)
		return NULL;
	*count = list_tables(found, !others, extents);
	for (size_t i = 0; i < nkept; i++)
		if (kept[i].size > 0)
			extents[(*count)++] =
				(struct bpk_gsd_extent){ kept[i].entry.location, kept[i].size, i };
	for (size_t i = 0; i < nstrays; i++)
		extents[(*count)++] =
			(struct bpk_gsd_extent){ strays[i].place, BPK_GSD_ENTRY, BPK_GSD_TABLE };
	bpk_gsd_extents_sort(extents, *count);
	return extents;
}

/* ---- Gaps ---- */

int bpk_gsd_gaps_begin(const struct bpk_gsd_found *found, struct bpk_gsd_gaps *gaps,
		       struct bpk_err *err)
{
	*gaps = (struct bpk_gsd_gaps){ 0 };
	gaps->extents = bpk_gsd_extents(found, true, &gaps->count, err);
	return gaps->extents != NULL ? 0 : -1;
}

void bpk_gsd_gaps_end(struct bpk_gsd_gaps *gaps)
{
	free(gaps->extents);
	*gaps = (struct bpk_gsd_gaps){ 0 };
}

/* Move *at, below end, to the next byte that is not 0. */
static int skip_zeros(const struct bpk_gsd_found *found, uint64_t *at, uint64_t end,
		      struct bpk_err *err)
{
	uint8_t piece[4096];

	while (*at < end) {
		uint64_t hole = bpk_source_hole_at(found->source, *at);
		struct bpk_span span =
			bpk_span(piece, (size_t)bpk_min_u64(sizeof piece, end - *at));
		size_t i = 0;

		if (hole > 0) {
			*at += bpk_min_u64(hole, end - *at);
			continue;
		}
		if (bpk_source_need_at(found->source, *at, span, err) != 0)
			return -1;
		while (i < span.size && piece[i] == 0)
			i++;
		*at += i;
		if (i < span.size)
			return 0;
	}
	return 0;
}

int bpk_gsd_gaps_next(const struct bpk_gsd_found *found, struct bpk_gsd_gaps *gaps, uint64_t *at,
		      uint64_t *end, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);

	while (gaps->next <= gaps->count) {
		const struct bpk_gsd_extent *extent =
			gaps->next < gaps->count ? &gaps->extents[gaps->next] : NULL;

		gaps->begin = *at = gaps->covered;
		*end = extent != NULL ? bpk_min_u64(extent->offset, found->size) : found->size;
		if (*at < *end && skip_zeros(found, at, *end, err) != 0)
			return -1;
		if (*at < *end) {
			gaps->covered = *end;
			return 0;
		}
		gaps->next++;
		if (extent == NULL)
			break;
		if (extent->offset + extent->size >= gaps->covered) {
			gaps->covered = extent->offset + extent->size;
			gaps->before = bpk_gsd_is_lead(extent) ? &leads[extent->number] : NULL;
		}
	}
	return 1;
}
