/*
 * GSD: reading the index, and searching it. Called by gsd.c, and by gsd_v0.c for its own index.
 */
#include "layout/gsd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct bpk_scalar *bpk_gsd_scalar(uint8_t type)
{
	static const struct bpk_scalar scalars[] = {
		[BPK_GSD_UINT8] = { 'u', '|', 1, "" },     [BPK_GSD_UINT16] = { 'u', '<', 2, "" },
		[BPK_GSD_UINT32] = { 'u', '<', 4, "" },    [BPK_GSD_UINT64] = { 'u', '<', 8, "" },
		[BPK_GSD_INT8] = { 'i', '|', 1, "" },      [BPK_GSD_INT16] = { 'i', '<', 2, "" },
		[BPK_GSD_INT32] = { 'i', '<', 4, "" },     [BPK_GSD_INT64] = { 'i', '<', 8, "" },
		[BPK_GSD_FLOAT32] = { 'f', '<', 4, "" },   [BPK_GSD_FLOAT64] = { 'f', '<', 8, "" },
		[BPK_GSD_CHARACTER] = { 'S', '|', 1, "" },
	};

	return type >= BPK_GSD_UINT8 && type <= BPK_GSD_CHARACTER ? &scalars[type] : NULL;
}

void bpk_gsd_note(struct bpk_gsd *gsd, const char *format, ...)
{
	char text[BPK_ERR_TEXT];
	va_list args;

	if (gsd->damage.kind != BPK_OK)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	bpk_fail(&gsd->damage, BPK_CORRUPT, "%s", text);
}

enum { ENTRY = 32, PIECE = 2048 * ENTRY };

const struct bpk_gsd_entry *bpk_gsd_entry(const struct bpk_gsd *gsd, uint64_t number)
{
	return (const struct bpk_gsd_entry *)(const void *)gsd->entries.data + number;
}

/* ---- Checks ---- */

/* Bytes of a chunk; false if they exceed 64 bits. GSD's library multiplies without a check, so 2^62
 * rows of float32 count as 0 bytes there. */
bool bpk_gsd_entry_size(const struct bpk_gsd_entry *entry, uint64_t *size)
{
	return bpk_mul_u64(entry->nrows, entry->ncolumns, size) &&
	       bpk_mul_u64(*size, bpk_gsd_scalar(entry->type)->item_size, size);
}

static int check_extent(const struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry,
			struct bpk_err *err)
{
	uint64_t size;

	if (!bpk_gsd_entry_size(entry, &size))
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " x %" PRIu64 " elements are 2^64 bytes or more",
				entry->nrows, entry->ncolumns);
	if (entry->location < gsd->header_size)
		return bpk_fail(err, BPK_CORRUPT, "data at %" PRIu64 ", in the header",
				entry->location);
	if (!bpk_layout_fits(gsd->file_size, entry->location, size))
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " bytes of data at %" PRIu64
				", but the file has %" PRIu64 " bytes",
				size, entry->location, gsd->file_size);
	return 0;
}

int bpk_gsd_entry_check(const struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry,
			struct bpk_err *err)
{
	uint64_t before = gsd->nentries > 0 ? bpk_gsd_entry(gsd, gsd->nentries - 1)->frame : 0;

	if (bpk_gsd_scalar(entry->type) == NULL ||
	    (entry->type == BPK_GSD_CHARACTER && gsd->version < 0x20001))
		return bpk_fail(err, BPK_CORRUPT, "unknown type %u", entry->type);
	if (entry->ncolumns == 0)
		return bpk_fail(err, BPK_CORRUPT, "no columns, expected 1 or more");
	if (entry->frame < before || entry->frame > INT64_MAX - 1)
		return bpk_fail(err, BPK_CORRUPT, "frame %" PRIu64 " after frame %" PRIu64,
				entry->frame, before);
	return check_extent(gsd, entry, err);
}

int bpk_gsd_entry_add(struct bpk_gsd *gsd, const struct bpk_gsd_entry *entry, struct bpk_err *err)
{
	if (bpk_buf_append(&gsd->entries, bpk_view(entry, sizeof *entry), err) != 0)
		return -1;
	gsd->nentries++;
	return 0;
}

/* ---- Reading ---- */

/* The bytes of an entry: u64 frame, u64 rows, i64 location, u32 columns, u16 id, u8 type, u8
 * flags. */
struct bpk_gsd_entry bpk_gsd_entry_parse(const uint8_t *bytes)
{
	return (struct bpk_gsd_entry){
		.frame = bpk_get_le64(bytes),
		.nrows = bpk_get_le64(bytes + 8),
		.location = bpk_get_le64(bytes + 16),
		.ncolumns = bpk_get_le32(bytes + 24),
		.id = bpk_get_le16(bytes + 28),
		.type = bytes[30],
	};
}

static int read_entry(const struct bpk_gsd *gsd, const uint8_t *bytes, struct bpk_gsd_entry *entry,
		      struct bpk_err *err)
{
	*entry = bpk_gsd_entry_parse(bytes);
	if (bytes[31] != 0)
		return bpk_fail(err, BPK_CORRUPT, "flags %u, expected 0", bytes[31]);
	if (entry->id >= gsd->names.count)
		return bpk_fail(err, BPK_CORRUPT, "name %u, the file has %u", entry->id,
				gsd->names.count);
	return bpk_gsd_entry_check(gsd, entry, err);
}

/* Of the entries that were read. */
static uint64_t last_frame(const struct bpk_gsd *gsd)
{
	return gsd->nentries > 0 ? bpk_gsd_entry(gsd, gsd->nentries - 1)->frame : 0;
}

/* Note an invalid entry of frame. That frame is incomplete then; if the number is not plausible,
 * the frame after the last one is. A lower number than that of the last frame is other damage. */
static void note_torn(struct bpk_gsd *gsd, uint64_t frame)
{
	uint64_t last = last_frame(gsd);

	if (frame >= last)
		gsd->sound_frames = frame == last || gsd->nentries == 0 ? last : last + 1;
}

/* The first entry without a location ends the list; it is all zeros unless a writer died there. */
static void end_list(struct bpk_gsd *gsd, const uint8_t *bytes)
{
	if (bpk_is_zero(bpk_view(bytes, ENTRY)))
		return;
	bpk_gsd_note(gsd, "entry %" PRIu64 " of the index is written in part", gsd->nentries);
	note_torn(gsd, bpk_max_u64(last_frame(gsd), bpk_get_le64(bytes)));
}

/* Add the entries in bytes. *ended: the end of the list was found. */
static int take_entries(struct bpk_gsd *gsd, struct bpk_view bytes, bool *ended,
			struct bpk_err *err)
{
	for (size_t at = 0; at < bytes.size; at += ENTRY) {
		struct bpk_gsd_entry entry;
		struct bpk_err why = { 0 };

		*ended = true;
		if (bpk_get_le64(bytes.data + at + 16) == 0) {
			end_list(gsd, bytes.data + at);
			return 0;
		}
		if (read_entry(gsd, bytes.data + at, &entry, &why) != 0) {
			if (gsd->nentries == 0)
				return bpk_fail(err, BPK_CORRUPT, "entry 0 of the index: %s",
						why.text);
			bpk_gsd_note(gsd, "entry %" PRIu64 " of the index (frame %" PRIu64 "): %s",
				     gsd->nentries, entry.frame, why.text);
			note_torn(gsd, entry.frame);
			return 0;
		}
		*ended = false;
		if (bpk_gsd_entry_add(gsd, &entry, err) != 0)
			return -1;
	}
	return 0;
}

/* The part of the index that is read in search of more entries. Writers double its room, so it is
 * all of that, unless the file claims more. */
static uint64_t far_behind(const struct bpk_gsd *gsd)
{
	return gsd->goes_on ? 0 : 2 * gsd->nentries * ENTRY + PIECE;
}

/* Look for entries in bytes from at on, which are behind the end of the list. GSD's library
 * searches the end by bisection, and refuses the file if it meets one there, valid or not. */
static void look_behind(struct bpk_gsd *gsd, struct bpk_view bytes, size_t at)
{
	for (; at < bytes.size && !gsd->goes_on; at += ENTRY)
		gsd->goes_on = bpk_get_le64(bytes.data + at + 16) != 0;
}

/* No writer leaves zeros between entries. One of them, or the first one in damage, may be of the
 * last frame before them. */
static void note_gap(struct bpk_gsd *gsd)
{
	if (!gsd->goes_on || gsd->damage.kind != BPK_OK)
		return;
	bpk_gsd_note(gsd, "entry %" PRIu64 " of the index is zeros, and others follow",
		     gsd->nentries);
	note_torn(gsd, last_frame(gsd));
}

/* present: bytes of whole entries that the file has. */
static int read_entries(struct bpk_gsd *gsd, uint64_t present, uint8_t *piece, struct bpk_err *err)
{
	bool ended = false;

	for (uint64_t at = 0; at < (ended ? bpk_min_u64(present, far_behind(gsd)) : present);
	     at += PIECE) {
		struct bpk_span span = bpk_span(piece, (size_t)bpk_min_u64(PIECE, present - at));
		struct bpk_view bytes = bpk_view_of_span(span);
		size_t behind = 0;
		uint64_t first = gsd->nentries;

		if (bpk_source_need_at(gsd->source, gsd->index.offset + at, span, err) != 0)
			return -1;
		if (!ended) {
			if (take_entries(gsd, bytes, &ended, err) != 0)
				return -1;
			behind = (size_t)(gsd->nentries - first + 1) * ENTRY;
		}
		if (ended)
			look_behind(gsd, bytes, behind);
	}
	note_gap(gsd);
	if (!ended && present < gsd->index.size) {
		bpk_gsd_note(gsd, "index of %" PRIu64 " entries is cut short after %" PRIu64,
			     gsd->index.room, gsd->nentries);
		if (gsd->nentries > 0)
			note_torn(gsd, bpk_gsd_entry(gsd, gsd->nentries - 1)->frame);
	}
	return 0;
}

int bpk_gsd_index_read(struct bpk_gsd *gsd, struct bpk_err *err)
{
	uint64_t left = gsd->file_size - gsd->index.offset;
	uint64_t present = bpk_min_u64(gsd->index.size, left - left % ENTRY);
	uint8_t *piece = bpk_calloc(1, PIECE, err);
	int rc;

	if (piece == NULL)
		return -1;
	rc = read_entries(gsd, present, piece, err);
	free(piece);
	return rc == 0 ? bpk_gsd_index_finish(gsd, err) : -1;
}

/* ---- Order ---- */

static bool is_sorted(const struct bpk_gsd *gsd)
{
	for (uint64_t i = 1; i < gsd->nentries; i++) {
		const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, i);

		if (entry->frame == entry[-1].frame && entry->id < entry[-1].id)
			return false;
	}
	return true;
}

static int by_id(const void *a, const void *b)
{
	const struct bpk_gsd_place *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Files before version 2 keep the entries of a frame in the order of writing. Frames ascend. */
static int sort(struct bpk_gsd *gsd, struct bpk_err *err)
{
	struct bpk_gsd_place *order = bpk_calloc((size_t)gsd->nentries, sizeof *order, err);
	uint64_t first = 0;

	if (order == NULL)
		return -1;
	for (uint64_t i = 0; i < gsd->nentries; i++) {
		order[i] = (struct bpk_gsd_place){ .number = i, .id = bpk_gsd_entry(gsd, i)->id };
		if (bpk_gsd_entry(gsd, i)->frame == bpk_gsd_entry(gsd, first)->frame)
			continue;
		qsort(order + first, (size_t)(i - first), sizeof *order, by_id);
		first = i;
	}
	qsort(order + first, (size_t)(gsd->nentries - first), sizeof *order, by_id);
	gsd->order = order;
	return 0;
}

static uint64_t number_at(const struct bpk_gsd *gsd, uint64_t place)
{
	return gsd->order != NULL ? gsd->order[place].number : place;
}

/* The first position not below (frame, id, number). */
static uint64_t first_place(const struct bpk_gsd *gsd, uint64_t frame, uint32_t id, uint64_t number)
{
	uint64_t low = 0, high = gsd->nentries;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		uint64_t here = number_at(gsd, middle);
		const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, here);
		bool below = entry->frame != frame ? entry->frame < frame
			     : entry->id != id     ? entry->id < id
						   : here < number;

		if (below)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool bpk_gsd_find(const struct bpk_gsd *gsd, uint64_t frame, uint32_t id, uint64_t turn,
		  uint64_t *number)
{
	uint64_t place = first_place(gsd, frame, id, 0);
	const struct bpk_gsd_entry *entry;

	if (turn - 1 >= gsd->nentries - place)
		return false;
	*number = number_at(gsd, place + (turn - 1));
	entry = bpk_gsd_entry(gsd, *number);
	return entry->frame == frame && entry->id == id;
}

bool bpk_gsd_find_name(const struct bpk_gsd *gsd, uint64_t frame, const char *name,
		       uint64_t *number)
{
	uint64_t turn = 1;
	uint32_t id;

	if (!bpk_gsd_name_find(&gsd->names, name, &id) &&
	    !(gsd->repeats && bpk_gsd_label_find(&gsd->names, name, &id, &turn)))
		return false;
	return bpk_gsd_find(gsd, frame, id, turn, number);
}

uint64_t bpk_gsd_turn(const struct bpk_gsd *gsd, uint64_t number)
{
	const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, number);

	return first_place(gsd, entry->frame, entry->id, number) -
	       first_place(gsd, entry->frame, entry->id, 0) + 1;
}

/* ---- Oddities that do not prevent reading ---- */

static void note_repeats(struct bpk_gsd *gsd)
{
	for (uint64_t i = 1; i < gsd->nentries && !gsd->repeats; i++) {
		const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, number_at(gsd, i));
		const struct bpk_gsd_entry *before = bpk_gsd_entry(gsd, number_at(gsd, i - 1));

		gsd->repeats = entry->frame == before->frame && entry->id == before->id;
		if (gsd->repeats)
			bpk_gsd_note(gsd, "frame %" PRIu64 " has %s twice", entry->frame,
				     bpk_gsd_name(&gsd->names, entry->id));
	}
}

static bool overlap(const struct bpk_gsd_block *block, uint64_t offset, uint64_t size)
{
	return offset < block->offset ? size > block->offset - offset
				      : size > 0 && offset - block->offset < block->size;
}

/* Overlapping chunks could make a small file claim any amount of data. */
static void note_overlaps(struct bpk_gsd *gsd)
{
	uint64_t total = 0, size = 0;

	for (uint64_t i = 0; i < gsd->nentries; i++) {
		const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, i);

		if (!bpk_gsd_entry_size(entry, &size) || !bpk_add_u64(total, size, &total))
			total = BPK_UNKNOWN;
		if (total > gsd->file_size) {
			bpk_gsd_note(gsd,
				     "chunks overlap: the first %" PRIu64
				     " have more bytes than the file",
				     i + 1);
			return;
		}
		if (overlap(&gsd->index, entry->location, size) ||
		    overlap(&gsd->names_block, entry->location, size))
			bpk_gsd_note(gsd,
				     "entry %" PRIu64 " of the index has its data at %" PRIu64
				     ", inside the file's tables",
				     i, entry->location);
	}
}

/* Files that GSD's libraries refuse, or cannot search. */
static void note_refused(struct bpk_gsd *gsd, bool sorted)
{
	uint64_t last = gsd->nentries > 0 ? bpk_gsd_entry(gsd, gsd->nentries - 1)->frame : 0;

	if (!bpk_layout_fits(gsd->file_size, gsd->index.offset, gsd->index.size))
		bpk_gsd_note(gsd,
			     "index of %" PRIu64 " entries at %" PRIu64 " in a file of %" PRIu64
			     " bytes",
			     gsd->index.room, gsd->index.offset, gsd->file_size);
	if (overlap(&gsd->index, gsd->names_block.offset, gsd->names_block.size))
		bpk_gsd_note(gsd, "index and list of names overlap");
	if (gsd->names.repeated)
		bpk_gsd_note(gsd, "list of names has a name twice");
	if (!sorted && gsd->version >= 0x20000)
		bpk_gsd_note(gsd, "index is not sorted, so GSD's library does not find all of it");
	if (gsd->version > 0 && last >= gsd->index.room)
		bpk_gsd_note(gsd,
			     "frame %" PRIu64 " in an index of %" PRIu64
			     " entries, which GSD's library refuses",
			     last, gsd->index.room);
}

/* Replace each id by the first id of the same name. */
static void share_names(struct bpk_gsd *gsd)
{
	for (uint64_t i = 0; i < gsd->nentries; i++) {
		uint8_t *bytes = gsd->entries.data + i * sizeof(struct bpk_gsd_entry);
		struct bpk_gsd_entry *entry = (void *)bytes;

		entry->id = gsd->names.same[entry->id];
	}
}

int bpk_gsd_index_finish(struct bpk_gsd *gsd, struct bpk_err *err)
{
	bool sorted = is_sorted(gsd);

	if (gsd->names.same != NULL)
		share_names(gsd);
	if (!is_sorted(gsd) && sort(gsd, err) != 0)
		return -1;
	note_repeats(gsd);
	note_overlaps(gsd);
	note_refused(gsd, sorted);
	return 0;
}
