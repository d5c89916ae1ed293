/*
 * Salvage of GSD files: arrays and tables that are plausible, but may be wrong. Called by gsd_salvage.c.
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

/* True if a frame, or the one behind it, has lost arrays. */
static bool has_lost(const struct bpk_gsd_found *found, uint64_t frame)
{
	const struct bpk_gsd_run *runs = (const void *)found->lost.data;
	size_t low = 0, high = found->lost.size / sizeof *runs;

	while (low < high) { /* the first run behind both */
		size_t middle = low + (high - low) / 2;

		if (runs[middle].first <= frame + 1)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && runs[low - 1].end > frame;
}

/* Bytes behind an array that belong to no other: its entry may have lost rows, unless another index
 * agrees, or the array behind them is lost. */
static int doubt_gaps(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	struct bpk_gsd_gaps gaps;
	uint64_t at = 0, end;
	int rc = bpk_gsd_gaps_begin(found, &gaps, err);

	while (rc == 0 && (rc = bpk_gsd_gaps_next(found, &gaps, &at, &end, err)) == 0) {
		const struct bpk_gsd_lead *before = gaps.before;

		if (before != NULL && !before->twin && !has_lost(found, before->entry.frame))
			leads[before - leads].unproven = true;
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

/* The first bytes that belong to no array. */
static int doubt_rest(struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_gsd_gaps gaps;
	uint64_t at, end;
	int rc = bpk_gsd_gaps_begin(found, &gaps, err);

	if (rc == 0)
		rc = bpk_gsd_gaps_next(found, &gaps, &at, &end, err);
	bpk_gsd_gaps_end(&gaps);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return bpk_gsd_found_doubt(
		found, err, "bytes %" PRIu64 ":%" PRIu64 " belong to no array that was found", at,
		end);
}

static int doubt_whole(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	bool is_proven = true;

	if (!found->has_head && doubt_head(found, err) != 0)
		return -1;
	if (!found->has_index &&
	    (bpk_gsd_found_doubt(found, err,
				 "its index was found at %" PRIu64
				 " by its entries, and later frames may be lost",
				 found->index.offset) != 0 ||
	     doubt_rest(found, err) != 0))
		return -1;
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
	return doubt_types(found, err) != 0 || doubt_gaps(found, err) != 0
		       ? -1
		       : doubt_whole(found, err);
}
