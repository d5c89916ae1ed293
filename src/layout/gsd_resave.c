/*
 * Salvage of GSD files: the new file, which is the old one with new tables behind it. Called for
 * bpk repair.
 */
#include "layout/gsd_found.h"

#include <stdlib.h>

enum { PIECE = 1 << 20 };

/* ---- Writing ---- */

/* The new tables. */
struct tables {
	struct bpk_buf names, index;
	uint8_t header[BPK_GSD_HEADER];
	uint64_t end; /* of the data, behind which they are */
};

/* The names in the form of the file's version. */
static int make_names(const struct bpk_gsd_found *found, struct bpk_buf *out, struct bpk_err *err)
{
	const uint8_t *texts = found->names.data;
	size_t size, room;

	for (size_t at = 0; at < found->names.size; at += size) {
		static const uint8_t zeros[BPK_GSD_SEGMENT];

		size = strlen((const char *)texts + at) + 1;
		if (bpk_buf_append(out, bpk_view(texts + at, size), err) != 0)
			return -1;
		if (found->version < 0x20000 && size < BPK_GSD_SEGMENT &&
		    bpk_buf_append(out, bpk_view(zeros, BPK_GSD_SEGMENT - size), err) != 0)
			return -1;
	}
	size = out->size;
	room = (size_t)bpk_max_u64(BPK_GSD_FRESH_SEGMENTS, size / BPK_GSD_SEGMENT + 1);
	if (bpk_buf_resize(out, room * BPK_GSD_SEGMENT, err) != 0)
		return -1;
	memset(out->data + size, 0, out->size - size);
	return 0;
}

/* True if a frame is left out; otherwise *moved is the number of those before it that are. lost:
 * the run to go on from, for ascending frames. */
static bool is_left_out(const struct bpk_gsd_found *found, uint64_t frame, size_t *lost,
			uint64_t *moved)
{
	const struct bpk_gsd_run *runs = (const void *)found->lost.data;

	while (*lost < found->lost.size / sizeof *runs && runs[*lost].end <= frame) {
		*moved += runs[*lost].end - runs[*lost].first;
		++*lost;
	}
	return *lost < found->lost.size / sizeof *runs && runs[*lost].first <= frame;
}

/* GSD's library needs a slot for every frame. */
static int make_index(const struct bpk_gsd_found *found, bool skip, struct tables *tables,
		      struct bpk_err *err)
{
	const struct bpk_gsd_lead *leads = bpk_gsd_leads(&found->kept);
	uint64_t moved = 0, room = BPK_GSD_FRESH_ROOM, nframes = 0;
	struct bpk_buf *index = &tables->index;
	size_t lost = 0, size;

	tables->end = found->size;
	for (size_t i = 0; i < bpk_gsd_nleads(&found->kept); i++) {
		struct bpk_gsd_entry entry = leads[i].entry;

		if (skip && is_left_out(found, entry.frame, &lost, &moved))
			continue;
		entry.frame -= moved;
		if (bpk_gsd_entry_append(&entry, index, err) != 0)
			return -1;
		nframes = entry.frame + 1;
		tables->end = bpk_max_u64(tables->end, entry.location + leads[i].size);
	}
	while (room < nframes || room < index->size / BPK_GSD_ENTRY)
		room *= 2;
	size = index->size;
	if (bpk_buf_resize(index, (size_t)room * BPK_GSD_ENTRY, err) != 0)
		return -1;
	memset(index->data + size, 0, index->size - size);
	return 0;
}

static int make_tables(const struct bpk_gsd_found *found, bool skip, struct tables *tables,
		       struct bpk_err *err)
{
	uint8_t *header = tables->header;

	if (make_index(found, skip, tables, err) != 0)
		return -1;
	if (found->names_new && make_names(found, &tables->names, err) != 0)
		return -1;
	bpk_copy(header, bpk_gsd_magic, sizeof bpk_gsd_magic);
	bpk_put_le64(header + BPK_GSD_AT_INDEX, tables->end + tables->names.size);
	bpk_put_le64(header + BPK_GSD_AT_INDEX + 8, tables->index.size / BPK_GSD_ENTRY);
	bpk_put_le64(header + BPK_GSD_AT_NAMES,
		     found->names_new ? tables->end : found->names_block.offset);
	bpk_put_le64(header + BPK_GSD_AT_NAMES + 8, found->names_new
							    ? tables->names.size / BPK_GSD_SEGMENT
							    : found->names_block.room);
	bpk_copy(header + BPK_GSD_AT_SCHEMA_VERSION, found->header + BPK_GSD_AT_SCHEMA_VERSION,
		 BPK_GSD_RESERVED - BPK_GSD_AT_SCHEMA_VERSION);
	bpk_put_le32(header + BPK_GSD_AT_VERSION, found->version);
	return 0;
}

/* Copy the bytes behind the header. */
static int copy_data(const struct bpk_gsd_found *found, uint8_t *piece, struct bpk_draft *draft,
		     struct bpk_err *err)
{
	for (uint64_t at = BPK_GSD_HEADER; at < found->size;) {
		struct bpk_span span =
			bpk_span(piece, (size_t)bpk_min_u64(PIECE, found->size - at));
		uint64_t hole = bpk_source_hole_at(found->source, at);

		if (hole > 0) {
			at += hole;
			continue;
		}
		if (bpk_source_need_at(found->source, at, span, err) != 0 ||
		    bpk_draft_write_at(draft, at, bpk_view_of_span(span), err) != 0)
			return -1;
		at += span.size;
	}
	return 0;
}

static int write_all(const struct bpk_gsd_found *found, const struct tables *tables, uint8_t *piece,
		     struct bpk_draft *draft, struct bpk_err *err)
{
	uint64_t names_end = tables->end + tables->names.size;

	if (bpk_draft_set_size(draft, names_end + tables->index.size, err) != 0 ||
	    bpk_draft_write_at(draft, 0, bpk_view(tables->header, BPK_GSD_HEADER), err) != 0 ||
	    copy_data(found, piece, draft, err) != 0)
		return -1;
	if (tables->names.size > 0 &&
	    bpk_draft_write_at(draft, tables->end, bpk_buf_view(&tables->names), err) != 0)
		return -1;
	return bpk_draft_write_at(draft, names_end, bpk_buf_view(&tables->index), err);
}

int bpk_gsd_found_write(const struct bpk_gsd_found *found, bool skip, struct bpk_draft *draft,
			struct bpk_err *err)
{
	struct tables tables = { 0 };
	uint8_t *piece = bpk_calloc(1, (size_t)bpk_min_u64(PIECE, found->size), err);
	int rc = -1;

	if (piece != NULL && make_tables(found, skip, &tables, err) == 0)
		rc = write_all(found, &tables, piece, draft, err);
	bpk_buf_clear(&tables.names);
	bpk_buf_clear(&tables.index);
	free(piece);
	return rc;
}
