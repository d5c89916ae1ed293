/*
 * Salvage of GSD files: opens a damaged one. Called for bpk repair.
 */
#include "layout/gsd_found.h"

#include <inttypes.h>
#include <stdlib.h>

#include "layout/layout.h"

/* ---- The header ---- */

/* True if bytes have a text with its NUL, and zeros behind it. */
static bool is_text(const uint8_t *bytes)
{
	size_t size = strnlen((const char *)bytes, BPK_GSD_TEXT);

	return size < BPK_GSD_TEXT && bpk_utf8_valid(bpk_view(bytes, size)) &&
	       bpk_is_zero(bpk_view(bytes + size, BPK_GSD_TEXT - size));
}

/* True if the header's two numbers at bytes are a table of pieces of size bytes each. Only the
 * first one of an index must be in the file. */
static bool read_block(const struct bpk_gsd_found *found, const uint8_t *bytes, uint64_t size,
		       bool whole, struct bpk_gsd_block *block)
{
	*block = (struct bpk_gsd_block){ bpk_get_le64(bytes), bpk_get_le64(bytes + 8), 0 };
	return block->room > 0 && bpk_mul_u64(block->room, size, &block->size) &&
	       block->offset >= BPK_GSD_HEADER &&
	       bpk_layout_fits(found->size, block->offset, whole ? block->size : size);
}

static void read_head(struct bpk_gsd_found *found)
{
	const uint8_t *header = found->header;
	uint32_t version = bpk_get_le32(header + BPK_GSD_AT_VERSION);

	found->version = bpk_gsd_is_known(version) ? version : 0;
	found->has_head = memcmp(header, bpk_gsd_magic, sizeof bpk_gsd_magic) == 0 &&
			  bpk_gsd_is_known(version) && is_text(header + BPK_GSD_AT_APPLICATION) &&
			  is_text(header + BPK_GSD_AT_SCHEMA);
	found->has_index =
		read_block(found, header + BPK_GSD_AT_INDEX, BPK_GSD_ENTRY, false, &found->index);
	found->has_names = read_block(found, header + BPK_GSD_AT_NAMES, BPK_GSD_SEGMENT, true,
				      &found->names_block);
	if (!found->has_index)
		found->index = (struct bpk_gsd_block){ 0 };
	if (!found->has_names)
		found->names_block = (struct bpk_gsd_block){ 0 };
}

/* Version 0.0.1 has other tables, and so has 0.2; another order of bytes is not read. */
static int refuse_other(const struct bpk_gsd_found *found, struct bpk_err *err)
{
	struct bpk_view head = bpk_view(found->header, BPK_GSD_HEADER);

	if (memcmp(found->header, bpk_gsd_magic, 8) != 0 && bpk_layout_gsd.probe(head, head.size))
		return bpk_fail(err, BPK_UNSUPPORTED,
				"nothing is searched for in GSD of version 0.0.1, or of a "
				"big-endian machine");
	if (memcmp(found->header, bpk_gsd_magic, 8) == 0 && bpk_get_le32(found->header + 8) == 2)
		return bpk_fail(err, BPK_UNSUPPORTED, "nothing is searched for in GSD 0.2");
	return 0;
}

/* ---- The map ---- */

static int add_run(struct bpk_gsd_found *found, uint64_t first, uint64_t end,
		   enum bpk_gsd_fate fate, struct bpk_err *err)
{
	struct bpk_gsd_run *runs = (void *)found->runs.data;
	size_t count = found->runs.size / sizeof *runs;
	const struct bpk_gsd_run run = { first, end, fate };

	if (first >= end)
		return 0;
	if (count > 0 && runs[count - 1].fate == fate) {
		runs[count - 1].end = end;
		return 0;
	}
	return bpk_buf_append(&found->runs, bpk_view(&run, sizeof run), err);
}

/* Frames first to end-1 are not lost. *at: the lead to go on from. */
static int add_found(struct bpk_gsd_found *found, uint64_t first, uint64_t end, size_t *at,
		     struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	int rc = 0;

	for (; rc == 0 && *at < bpk_gsd_nleads(&found->kept) && leads[*at].entry.frame < end;
	     (*at)++) {
		uint64_t frame = leads[*at].entry.frame;

		if (!leads[*at].unproven || frame < first)
			continue;
		rc = add_run(found, first, frame, BPK_GSD_INTACT, err);
		if (rc == 0)
			rc = add_run(found, frame, frame + 1, BPK_GSD_UNPROVEN, err);
		first = frame + 1;
	}
	return rc == 0 ? add_run(found, first, end, BPK_GSD_INTACT, err) : -1;
}

static int make_map(struct bpk_gsd_found *found, struct bpk_err *err)
{
	const struct bpk_gsd_run *lost = (const void *)found->lost.data;
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	size_t count = bpk_gsd_nleads(&found->kept), nlost = found->lost.size / sizeof *lost;
	struct bpk_gsd_found_info *info = &found->info;
	uint64_t next = 0;
	size_t at = 0;

	info->narrays = count;
	info->nframes = leads[count - 1].entry.frame + 1;
	if (nlost > 0)
		info->nframes = bpk_max_u64(info->nframes, lost[nlost - 1].end);
	for (size_t i = 0; i < nlost; i++) {
		if (add_found(found, next, lost[i].first, &at, err) != 0 ||
		    add_run(found, lost[i].first, lost[i].end, BPK_GSD_LOST, err) != 0)
			return -1;
		next = lost[i].end;
		info->nlost += lost[i].end - lost[i].first;
	}
	return add_found(found, next, info->nframes, &at, err);
}

/* ---- Missing parts of the header ---- */

static bool has_name(const struct bpk_gsd_found *found, const char *prefix)
{
	const char *texts = (const char *)found->names.data;

	for (size_t at = 0; at < found->names.size; at += strlen(texts + at) + 1)
		if (strncmp(texts + at, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

/* Replace texts that are none. The names tell hoomd's schema. */
static void mend_texts(struct bpk_gsd_found *found)
{
	uint8_t *header = found->header;
	bool is_hoomd = has_name(found, "particles/") || has_name(found, "configuration/");
	const char *schema = is_hoomd ? "hoomd" : "";

	if (!is_text(header + BPK_GSD_AT_APPLICATION))
		memset(header + BPK_GSD_AT_APPLICATION, 0, BPK_GSD_TEXT);
	if (is_text(header + BPK_GSD_AT_SCHEMA) && header[BPK_GSD_AT_SCHEMA] != 0)
		return;
	memset(header + BPK_GSD_AT_SCHEMA, 0, BPK_GSD_TEXT);
	bpk_copy(header + BPK_GSD_AT_SCHEMA, schema, strlen(schema));
	bpk_put_le32(header + BPK_GSD_AT_SCHEMA_VERSION, bpk_gsd_schema_version(schema));
}

/* Characters are a type since 2.1; names have another form before 2. */
static void mend_version(struct bpk_gsd_found *found)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);

	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++) {
		if (leads[i].entry.type != BPK_GSD_CHARACTER || found->version > 0x20000)
			continue;
		found->names_new = found->names_new || found->version < 0x20000;
		found->version = 0x20001;
	}
}

/* ---- Open and close ---- */

/* True in *is if an index goes on from the slot before offset at to the one there. */
static int goes_on(const struct bpk_gsd_found *found, uint64_t at, bool *is, struct bpk_err *err)
{
	uint8_t bytes[2 * BPK_GSD_ENTRY];
	struct bpk_gsd_lead before, after;

	*is = false;
	if (!bpk_layout_fits(found->size, at - BPK_GSD_ENTRY, sizeof bytes))
		return 0;
	if (bpk_source_need_at(found->source, at - BPK_GSD_ENTRY, bpk_span(bytes, sizeof bytes),
			       err) != 0)
		return -1;
	*is = bpk_gsd_lead_read(found, bytes, at - BPK_GSD_ENTRY, &before) &&
	      bpk_gsd_lead_read(found, bytes + BPK_GSD_ENTRY, at, &after) &&
	      before.entry.frame <= after.entry.frame;
	return 0;
}

/* An index that does not begin or end where the header says is searched for. */
static int check_index(struct bpk_gsd_found *found, struct bpk_err *err)
{
	bool before = false, behind = false;

	if (!found->has_index)
		return 0;
	if (goes_on(found, found->index.offset, &before, err) != 0 ||
	    goes_on(found, found->index.offset + found->index.size, &behind, err) != 0)
		return -1;
	found->has_index = !before && !behind;
	if (!found->has_index)
		found->index = (struct bpk_gsd_block){ 0 };
	return 0;
}

/* An index without an entry is lost, if there are any elsewhere, and so is one with a wrong number
 * of slots. */
static int find_entries(struct bpk_gsd_found *found, struct bpk_err *err)
{
	if (bpk_gsd_names_look(found, err) != 0 || check_index(found, err) != 0 ||
	    bpk_gsd_search(found, err) != 0 || bpk_gsd_judge(found, err) != 0)
		return -1;
	if (!found->has_index || (found->rows_end > found->index.offset && !found->has_wrong_room))
		return 0;
	found->has_index = false;
	found->index = (struct bpk_gsd_block){ 0 };
	found->index_end = found->rows_end = 0;
	found->strays.size = found->kept.size = found->lost.size = 0;
	found->copies.size = found->dropped.size = 0;
	if (bpk_gsd_search(found, err) != 0)
		return -1;
	return bpk_gsd_judge(found, err);
}

static int find(struct bpk_gsd_found *found, struct bpk_err *err)
{
	size_t got;

	if (bpk_source_read_at(found->source, 0, bpk_span(found->header, BPK_GSD_HEADER), &got,
			       err) != 0)
		return -1;
	memset(found->header + got, 0, BPK_GSD_HEADER - got);
	if (refuse_other(found, err) != 0)
		return -1;
	read_head(found);
	if (find_entries(found, err) != 0)
		return -1;
	if (found->kept.size == 0)
		return bpk_fail(err, BPK_CORRUPT, "no entry of a GSD file's index is left in it");
	if (bpk_gsd_relist(found, err) != 0)
		return -1;
	if (!found->has_head)
		mend_texts(found);
	mend_version(found);
	return bpk_gsd_doubt(found, err) != 0 ? -1 : make_map(found, err);
}

void bpk_gsd_found_close(struct bpk_gsd_found *found)
{
	if (found == NULL)
		return;
	bpk_buf_clear(&found->strays);
	bpk_buf_clear(&found->kept);
	bpk_buf_clear(&found->lost);
	bpk_buf_clear(&found->copies);
	bpk_buf_clear(&found->dropped);
	bpk_buf_clear(&found->names);
	bpk_buf_clear(&found->doubt);
	bpk_buf_clear(&found->runs);
	free(found);
}

int bpk_gsd_found_open(struct bpk_source *source, struct bpk_gsd_found **found, struct bpk_err *err)
{
	struct bpk_gsd_found *made = bpk_calloc(1, sizeof *made, err);

	*found = NULL;
	if (made == NULL)
		return -1;
	made->source = source;
	made->size = bpk_source_size(source);
	if (find(made, err) != 0) {
		bpk_gsd_found_close(made);
		return -1;
	}
	made->info.runs = (const void *)made->runs.data;
	made->info.nruns = made->runs.size / sizeof *made->info.runs;
	*found = made;
	return 0;
}

const struct bpk_gsd_found_info *bpk_gsd_found_info(const struct bpk_gsd_found *found)
{
	return &found->info;
}

int bpk_gsd_is_torn(struct bpk_source *source, uint64_t nframes, uint64_t narrays, bool *torn,
		    struct bpk_err *err)
{
	struct bpk_gsd_found *found;
	struct bpk_err why = { 0 };

	*torn = false;
	if (bpk_gsd_found_open(source, &found, &why) != 0)
		return bpk_err_is_of_machine(&why) ? bpk_fail_as(err, &why) : 0;
	*torn = bpk_gsd_lead_find(&found->kept, nframes, 0) == narrays &&
		bpk_gsd_lead_find(&found->kept, nframes + 1, 0) == found->info.narrays;
	for (size_t i = 0; i < found->info.nruns && *torn; i++) {
		const struct bpk_gsd_run *run = &found->info.runs[i];

		*torn = run->fate == BPK_GSD_LOST ? run->first >= nframes : run->end <= nframes;
	}
	bpk_gsd_found_close(found);
	return 0;
}
