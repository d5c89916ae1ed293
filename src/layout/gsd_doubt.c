/*
 * Salvage of GSD files: arrays and tables that are plausible, but may be wrong. Called by
 * gsd_salvage.c.
 */
#include "layout/gsd_found.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Doubts ---- */

int bpk_gsd_found_doubt(struct bpk_gsd_found *found, struct bpk_err *err, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return bpk_buf_printf(&found->doubt, err, "%s%s", found->doubt.size > 0 ? "; " : "", text);
}

/* ---- Entries ---- */

/* An array keeps its type from frame to frame. */
static int doubt_types(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t count = bpk_gsd_nleads(&found->kept), most = 0;
	enum { TYPES = BPK_GSD_CHARACTER + 1 };
	size_t(*uses)[TYPES];

	for (size_t i = 0; i < count; i++)
		most = leads[i].entry.id > most ? leads[i].entry.id : most;
	uses = bpk_calloc(most + 1, sizeof *uses, err);
	if (uses == NULL)
		return -1;
	for (size_t i = 0; i < count; i++)
		uses[leads[i].entry.id][leads[i].entry.type]++;
	for (size_t i = 0; i < count; i++)
		for (size_t type = 0; type < TYPES; type++)
			if (uses[leads[i].entry.id][type] > 1 &&
			    uses[leads[i].entry.id][type] >
				    uses[leads[i].entry.id][leads[i].entry.type])
				leads[i].unproven = true;
	free(uses);
	return 0;
}

/* True if a frame has lost arrays. */
static bool has_lost(const struct bpk_gsd_found *found, uint64_t frame)
{
	const struct bpk_gsd_run *runs = (const void *)found->lost.data;
	size_t count = found->lost.size / sizeof *runs;
	size_t behind = count > 0 ? bpk_find_behind(&runs->first, sizeof *runs, count, frame) : 0;

	return behind > 0 && runs[behind - 1].end > frame;
}

static size_t count_arrays(const struct bpk_gsd_found *found, uint64_t frame)
{
	return bpk_gsd_lead_find(&found->kept, frame + 1, 0) -
	       bpk_gsd_lead_find(&found->kept, frame, 0);
}

/* True if a frame has as many arrays as one beside it. */
static bool is_regular(const struct bpk_gsd_found *found, uint64_t frame)
{
	size_t count = count_arrays(found, frame);

	return (frame > 0 && count_arrays(found, frame - 1) == count) ||
	       count_arrays(found, frame + 1) == count;
}

/* *is: a list of names that was outgrown lies at offset at, as it begins as the present one. */
static int is_old_list(const struct bpk_gsd_found *found, uint64_t at, uint64_t end, bool *is,
		       struct bpk_err *err)
{
	uint8_t bytes[BPK_GSD_SEGMENT];
	size_t size = bpk_min_size(strlen((const char *)found->names.data) + 1, sizeof bytes);

	*is = false;
	if (end - at < size)
		return 0;
	if (bpk_source_need_at(found->source, at, bpk_span(bytes, size), err) != 0)
		return -1;
	*is = memcmp(bytes, found->names.data, size) == 0;
	return 0;
}

/* True if arrays that are known to be lost had the bytes behind a lead. If they are of the next
 * frame, that of the lead may lack some, too. */
static bool is_explained(struct bpk_gsd_found *found, struct bpk_gsd_lead *before)
{
	if (before == NULL)
		return found->lost.size > 0;
	if (before->is_followed || has_lost(found, before->entry.frame))
		return true;
	if (!has_lost(found, before->entry.frame + 1))
		return false;
	before->unproven = before->unproven || !is_regular(found, before->entry.frame);
	return true;
}

/* Bytes from at to end belong to nothing. The entry of the array before them may have lost rows,
 * unless another index agrees, or one may be lost. *told: that was said. */
static int doubt_gap(struct bpk_gsd_found *found, struct bpk_gsd_lead *before, uint64_t at,
		     uint64_t end, bool *told, struct bpk_err *err)
{
	bool is_first = !*told;

	if (is_explained(found, before))
		return 0;
	if (before != NULL && !before->twin)
		before->unproven = true;
	*told = true;
	return !is_first ? 0
			 : bpk_gsd_found_doubt(found, err,
					       "bytes %" PRIu64 ":%" PRIu64
					       " belong to no array that was found",
					       at, end);
}

/* Where entries are at wrong places, others may have been overwritten without a trace in the index,
 * whose data lay before those of the next array. */
static void doubt_next(const struct bpk_gsd_found *found, const struct bpk_gsd_gaps *gaps)
{
	bool is_misplaced = found->dropped.size + found->copies.size > 0;
	const struct bpk_gsd_extent *next =
		gaps->next < gaps->count ? &gaps->extents[gaps->next] : NULL;

	if (is_misplaced && next != NULL && bpk_gsd_is_lead(next))
		bpk_gsd_leads(&found->kept)[next->number].unproven = true;
}

static int doubt_gaps(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_gaps gaps;
	bool is_list = false, told = false;
	uint64_t at = 0, end;
	int rc = bpk_gsd_gaps_begin(found, &gaps, err);

	while (rc == 0 && (rc = bpk_gsd_gaps_next(found, &gaps, &at, &end, err)) == 0) {
		doubt_next(found, &gaps);
		rc = is_old_list(found, at, end, &is_list, err);
		if (rc == 0 && !is_list)
			rc = doubt_gap(found, gaps.before, at, end, &told, err);
	}
	bpk_gsd_gaps_end(&gaps);
	return rc < 0 ? -1 : 0;
}

/* ---- The whole ---- */

static int doubt_head(struct bpk_gsd_found *found, struct bpk_err *err)
{
	char *schema =
		bpk_layout_text(bpk_view(found->header + BPK_GSD_AT_SCHEMA, BPK_GSD_TEXT), err);
	int rc = -1;

	if (schema != NULL)
		rc = bpk_gsd_found_doubt(
			found, err,
			"its header is damaged, and version %u.%u and schema '%s' may be wrong",
			found->version >> 16, found->version & 0xffff, schema);
	free(schema);
	return rc;
}

/* Bytes may be missing behind the last ones, or somewhere before them, so that data have moved. */
static int doubt_end(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	uint64_t end = found->has_index ? found->index.offset + found->index.size : 0;

	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++)
		end = bpk_max_u64(end, leads[i].entry.location + leads[i].size);
	if (end <= found->size)
		return 0;
	return bpk_gsd_found_doubt(found, err,
				   "%" PRIu64 " bytes are missing at its end, or before",
				   end - found->size);
}

/* Entries in the index, but between its slots, have moved, and so may data have. */
static int doubt_index(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *strays = bpk_gsd_leads(&found->strays);
	const struct bpk_gsd_block *index = &found->index;

	for (size_t i = 0; found->has_index && i < bpk_gsd_nleads(&found->strays); i++)
		if (strays[i].place > index->offset &&
		    strays[i].place - index->offset < index->size)
			return bpk_gsd_found_doubt(
				found, err, "bytes came into its index, or are missing there");
	return 0;
}

/* A sector of zeros over the first slots may have been over the data before them, too. */
static int doubt_data(struct bpk_gsd_found *found, struct bpk_err *err)
{
	uint8_t bytes[2 * BPK_GSD_ENTRY];
	uint64_t begin = found->index.offset;

	if (!found->has_index || begin < BPK_GSD_HEADER + BPK_GSD_ENTRY ||
	    bpk_source_need_at(found->source, begin - BPK_GSD_ENTRY, bpk_span(bytes, sizeof bytes),
			       NULL) != 0 ||
	    !bpk_is_zero(bpk_view(bytes, sizeof bytes)))
		return 0;
	return bpk_gsd_found_doubt(
		found, err, "the zeros in its index begin before it, where data may be lost, too");
}

static int doubt_whole(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	bool is_proven = true;

	if (!found->has_head && doubt_head(found, err) != 0)
		return -1;
	if (!found->has_index &&
	    bpk_gsd_found_doubt(found, err,
				"its index was found at %" PRIu64
				" by its entries, and later frames may be lost",
				found->index.offset) != 0)
		return -1;
	if (doubt_end(found, err) != 0 || doubt_index(found, err) != 0 ||
	    doubt_data(found, err) != 0 || doubt_gaps(found, err) != 0)
		return -1;
	found->info.needs_first =
		has_lost(found, 0) &&
		strcmp((const char *)found->header + BPK_GSD_AT_SCHEMA, "hoomd") == 0;
	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++)
		is_proven = is_proven && !leads[i].unproven;
	found->info.certain = found->doubt.size == 0 && is_proven;
	if (bpk_buf_append(&found->doubt, bpk_view("", 1), err) != 0)
		return -1;
	found->info.doubt = (const char *)found->doubt.data;
	return 0;
}

int bpk_gsd_doubt(struct bpk_gsd_found *found, struct bpk_err *err)
{
	return doubt_types(found, err) != 0 ? -1 : doubt_whole(found, err);
}
