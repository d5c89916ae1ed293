/*
 * GSD files being written: the tables, and the header that makes them valid. Called by gsd_editor.c
 * and by its users.
 */
#include "layout/gsd_write.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PIECE = 1 << 16 };

/* Stored at the start of the header's reserved bytes, followed by the offset of the idle block, its
 * room, and a hash of all this. */
static const uint8_t record_magic[8] = { 'b', 'p', 'k', 'i', 'n', 'd', 'e', 'x' };

enum { HASHED = 24 };

uint64_t bpk_gsd_editor_count(const struct bpk_gsd_editor *editor)
{
	return editor->index.size / BPK_GSD_ENTRY;
}

/* ---- The record of the idle block ---- */

static uint64_t hash(const uint8_t *record)
{
	return bpk_hash(BPK_HASH_START, bpk_view(record, HASHED));
}

bool bpk_gsd_record_read(const uint8_t *header, struct bpk_gsd_slot *slot)
{
	const uint8_t *record = header + BPK_GSD_RESERVED;

	*slot = (struct bpk_gsd_slot){ 0 };
	if (!bpk_is_zero(bpk_view(record + BPK_GSD_RECORD,
				  BPK_GSD_HEADER - BPK_GSD_RESERVED - BPK_GSD_RECORD)))
		return false;
	if (bpk_is_zero(bpk_view(record, BPK_GSD_RECORD)))
		return true;
	if (memcmp(record, record_magic, sizeof record_magic) != 0 ||
	    bpk_get_le64(record + HASHED) != hash(record))
		return false;
	slot->offset = bpk_get_le64(record + 8);
	slot->room = bpk_get_le64(record + 16);
	return true;
}

static void record_write(uint8_t *header, const struct bpk_gsd_slot *slot)
{
	uint8_t *record = header + BPK_GSD_RESERVED;

	memset(record, 0, BPK_GSD_RECORD);
	if (slot->room == 0)
		return;
	bpk_copy(record, record_magic, sizeof record_magic);
	bpk_put_le64(record + 8, slot->offset);
	bpk_put_le64(record + 16, slot->room);
	bpk_put_le64(record + HASHED, hash(record));
}

/* ---- Extents ---- */

static void get_extent(const struct bpk_gsd_editor *editor, size_t at, uint64_t *offset,
		       uint64_t *size)
{
	const uint8_t *bytes = editor->index.data + at;
	struct bpk_gsd_entry entry = {
		.nrows = bpk_get_le64(bytes + 8),
		.ncolumns = bpk_get_le32(bytes + 24),
		.type = bytes[30],
	};

	*offset = bpk_get_le64(bytes + 16);
	(void)bpk_gsd_entry_size(&entry, size); /* checked when it was read or put */
}

uint64_t bpk_gsd_live_end(const struct bpk_gsd_editor *editor)
{
	uint64_t end = editor->names_block.offset + editor->names_block.size;
	uint64_t offset, size;

	for (size_t at = 0; at < editor->index.size; at += BPK_GSD_ENTRY) {
		get_extent(editor, at, &offset, &size);
		end = bpk_max_u64(end, offset + size);
	}
	return bpk_max_u64(end, BPK_GSD_HEADER);
}

static bool overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	return a_size > 0 && b_size > 0 && (a < b ? b - a < a_size : a - b < b_size);
}

bool bpk_gsd_is_live(const struct bpk_gsd_editor *editor, uint64_t offset, uint64_t size)
{
	const struct bpk_gsd_slot *used = &editor->used;
	uint64_t at_offset, at_size;

	if (overlap(offset, size, 0, BPK_GSD_HEADER) ||
	    overlap(offset, size, used->offset, used->room * BPK_GSD_ENTRY) ||
	    overlap(offset, size, editor->names_block.offset, editor->names_block.size))
		return true;
	for (size_t at = 0; at < editor->index.size; at += BPK_GSD_ENTRY) {
		get_extent(editor, at, &at_offset, &at_size);
		if (overlap(offset, size, at_offset, at_size))
			return true;
	}
	return false;
}

static int take_extents(const struct bpk_gsd_editor *editor, struct bpk_gsd_extent *extents,
			size_t *count, struct bpk_err *err)
{
	const struct bpk_gsd_slot *used = &editor->used;
	const struct bpk_gsd_block *names = &editor->names_block;

	for (size_t at = 0; at < editor->index.size; at += BPK_GSD_ENTRY) {
		struct bpk_gsd_extent extent = { .number = at / BPK_GSD_ENTRY };

		get_extent(editor, at, &extent.offset, &extent.size);
		if (overlap(extent.offset, extent.size, used->offset, used->room * BPK_GSD_ENTRY) ||
		    overlap(extent.offset, extent.size, names->offset, names->size))
			return bpk_fail(err, BPK_CORRUPT,
					"entry %" PRIu64 " of the index has its data at %" PRIu64
					", inside the file's tables",
					extent.number, extent.offset);
		if (extent.size > 0)
			extents[(*count)++] = extent;
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct bpk_gsd_extent *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void bpk_gsd_extents_sort(struct bpk_gsd_extent *extents, size_t count)
{
	qsort(extents, count, sizeof *extents, by_offset);
}

int bpk_gsd_extents_check(struct bpk_gsd_extent *extents, size_t count, struct bpk_err *err)
{
	bpk_gsd_extents_sort(extents, count);
	for (size_t i = 1; i < count; i++)
		if (extents[i].offset - extents[i - 1].offset < extents[i - 1].size)
			return bpk_fail(err, BPK_CORRUPT,
					"data of the entries %" PRIu64 " and %" PRIu64
					" of the index overlap at %" PRIu64,
					extents[i - 1].number, extents[i].number,
					extents[i].offset);
	return 0;
}

int bpk_gsd_editor_check(const struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	size_t room = (size_t)bpk_gsd_editor_count(editor) + 1, count = 0;
	struct bpk_gsd_extent *extents = bpk_calloc(room, sizeof *extents, err);
	int rc;

	if (extents == NULL)
		return -1;
	rc = take_extents(editor, extents, &count, err);
	if (rc == 0)
		rc = bpk_gsd_extents_check(extents, count, err);
	free(extents);
	return rc;
}

/* Compare bytes of the block, from at on, with the index. */
static void survey_piece(struct bpk_gsd_editor *editor, struct bpk_gsd_slot *slot, uint64_t at,
			 struct bpk_view piece)
{
	for (size_t i = 0; i < piece.size; i += BPK_GSD_ENTRY) {
		uint64_t number = (at + i) / BPK_GSD_ENTRY;
		const uint8_t *entry = piece.data + i;

		if (slot->equal == number && at + i < editor->index.size &&
		    memcmp(entry, editor->index.data + at + i, BPK_GSD_ENTRY) == 0)
			slot->equal++;
		if (!bpk_is_zero(bpk_view(entry, BPK_GSD_ENTRY)))
			slot->dirty = number + 1;
	}
}

int bpk_gsd_slot_survey(struct bpk_gsd_editor *editor, struct bpk_source *source,
			struct bpk_gsd_slot *slot, struct bpk_err *err)
{
	uint64_t size = slot->room * BPK_GSD_ENTRY;
	struct bpk_buf piece = { 0 };
	int rc = bpk_buf_resize(&piece, (size_t)bpk_min_u64(size, PIECE), err);

	slot->equal = slot->dirty = 0;
	for (uint64_t at = 0; rc == 0 && at < size; at += PIECE) {
		struct bpk_span span = bpk_span(piece.data, (size_t)bpk_min_u64(size - at, PIECE));

		rc = bpk_source_need_at(source, slot->offset + at, span, err);
		if (rc == 0)
			survey_piece(editor, slot, at, bpk_view_of_span(span));
	}
	bpk_buf_clear(&piece);
	return rc;
}

/* ---- Writing ---- */

static int write_at(struct bpk_gsd_editor *editor, uint64_t offset, struct bpk_view bytes,
		    struct bpk_err *err)
{
	if (bytes.size == 0)
		return 0;
	return editor->store.ops->write_at(editor->store.own, offset, bytes, err);
}

static int write_zeros(struct bpk_gsd_editor *editor, uint64_t offset, uint64_t size,
		       struct bpk_err *err)
{
	static const uint8_t zeros[PIECE];

	while (size > 0) {
		size_t step = (size_t)bpk_min_u64(size, PIECE);

		if (write_at(editor, offset, bpk_view(zeros, step), err) != 0)
			return -1;
		offset += step;
		size -= step;
	}
	return 0;
}

/* Double the room until it suffices. */
static int grow_room(uint64_t room, uint64_t need, uint64_t each, uint64_t end, uint64_t *grown,
		     struct bpk_err *err)
{
	while (room < need)
		if (!bpk_mul_u64(room, 2, &room))
			break;
	*grown = room;
	if (room >= need && room <= (INT64_MAX - bpk_min_u64(end, INT64_MAX)) / each)
		return 0;
	return bpk_fail(err, BPK_LIMIT, "tables for %" PRIu64 " entries do not fit into a file",
			need);
}

/* Append bytes at the end, and zeros to fill the block. */
static int append_block(struct bpk_gsd_editor *editor, struct bpk_view bytes, uint64_t size,
			struct bpk_err *err)
{
	uint64_t offset = editor->end;

	editor->end += size;
	if (write_at(editor, offset, bytes, err) != 0)
		return -1;
	return write_zeros(editor, offset + bytes.size, size - bytes.size, err);
}

/* An empty name ends the list. */
static int write_names(struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	struct bpk_gsd_block *block = &editor->names_block;
	struct bpk_view texts = bpk_buf_view(&editor->names.texts);
	uint64_t room = bpk_max_u64(block->room, BPK_GSD_FRESH_SEGMENTS);

	if (!editor->names_new)
		return 0;
	editor->names_new = false;
	if (editor->names_fresh && texts.size < block->size) {
		editor->names_fresh = false;
		return write_at(editor, block->offset, texts, err);
	}
	editor->names_fresh = false;
	if (grow_room(room, texts.size / BPK_GSD_SEGMENT + 1, BPK_GSD_SEGMENT, editor->end, &room,
		      err) != 0)
		return -1;
	*block = (struct bpk_gsd_block){ editor->end, room, room * BPK_GSD_SEGMENT };
	return append_block(editor, texts, block->size, err);
}

/* GSD's library refuses a file with a frame number not below the room of its index, and an index
 * without room. */
static uint64_t room_needed(const struct bpk_gsd_editor *editor)
{
	return bpk_max_u64(bpk_max_u64(bpk_gsd_editor_count(editor), editor->nframes), 1);
}

static int append_index(struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	uint64_t room = bpk_max_u64(editor->used.room, BPK_GSD_FRESH_ROOM);

	if (grow_room(room, room_needed(editor), BPK_GSD_ENTRY, editor->end, &room, err) != 0)
		return -1;
	editor->idle = (struct bpk_gsd_slot){ .offset = editor->end, .room = room };
	return append_block(editor, bpk_buf_view(&editor->index), room * BPK_GSD_ENTRY, err);
}

static int write_lacking(struct bpk_gsd_editor *editor, const struct bpk_gsd_slot *slot,
			 struct bpk_err *err)
{
	size_t equal = (size_t)slot->equal * BPK_GSD_ENTRY;

	if (equal == editor->index.size)
		return 0;
	return write_at(editor, slot->offset + equal,
			bpk_view(editor->index.data + equal, editor->index.size - equal), err);
}

/* Bring the idle block up to date, writing only the entries that differ. */
static int write_index(struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	const struct bpk_gsd_slot *idle = &editor->idle;
	uint64_t count = bpk_gsd_editor_count(editor);

	if (idle->room < room_needed(editor))
		return append_index(editor, err);
	editor->store.ops->set_free(editor->store.own, idle->offset, idle->room * BPK_GSD_ENTRY);
	if (write_lacking(editor, idle, err) != 0)
		return -1;
	if (idle->dirty <= count)
		return 0;
	return write_zeros(editor, idle->offset + editor->index.size,
			   (idle->dirty - count) * BPK_GSD_ENTRY, err);
}

/* Make the written block the one in use. In a damaged file the other block may hold live data, so
 * it is given up then. */
static void exchange(struct bpk_gsd_editor *editor)
{
	struct bpk_gsd_slot before = editor->used;
	uint64_t count = bpk_gsd_editor_count(editor);

	editor->used = editor->idle;
	editor->used.equal = editor->used.dirty = count;
	editor->idle = before;
	editor->idle.equal = bpk_min_u64(before.equal, count);
	if (editor->damaged && bpk_gsd_is_live(editor, before.offset, before.room * BPK_GSD_ENTRY))
		editor->idle = (struct bpk_gsd_slot){ 0 };
}

/* After frames were removed: the content ends with the last live extent. The idle block is given up
 * if it is behind that end. */
static void shorten(struct bpk_gsd_editor *editor)
{
	struct bpk_gsd_slot *idle = &editor->idle;

	editor->end = bpk_max_u64(bpk_gsd_live_end(editor), bpk_gsd_slot_end(&editor->used));
	if (idle->offset >= editor->end)
		*idle = (struct bpk_gsd_slot){ 0 };
	editor->end = bpk_max_u64(editor->end, bpk_gsd_slot_end(idle));
}

static int commit(struct bpk_gsd_editor *editor, bool cut, struct bpk_err *err)
{
	uint8_t *header = editor->header;

	if (write_names(editor, err) != 0 || write_index(editor, err) != 0)
		return -1;
	exchange(editor);
	if (cut)
		shorten(editor);
	bpk_put_le64(header + BPK_GSD_AT_INDEX, editor->used.offset);
	bpk_put_le64(header + BPK_GSD_AT_INDEX + 8, editor->used.room);
	bpk_put_le64(header + BPK_GSD_AT_NAMES, editor->names_block.offset);
	bpk_put_le64(header + BPK_GSD_AT_NAMES + 8, editor->names_block.room);
	if (editor->records)
		record_write(header, &editor->idle);
	return editor->store.ops->commit(editor->store.own, bpk_view(header, BPK_GSD_HEADER),
					 editor->end, err);
}

int bpk_gsd_editor_commit(struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	return commit(editor, false, err);
}

/* ---- Cutting ---- */

static void drop_frames(struct bpk_gsd_editor *editor, uint64_t nframes)
{
	struct bpk_buf *index = &editor->index;
	uint64_t count;

	while (index->size > 0 &&
	       bpk_get_le64(index->data + index->size - BPK_GSD_ENTRY) >= nframes)
		index->size -= BPK_GSD_ENTRY;
	count = bpk_gsd_editor_count(editor);
	editor->used.equal = bpk_min_u64(editor->used.equal, count);
	editor->idle.equal = bpk_min_u64(editor->idle.equal, count);
	editor->nframes = nframes;
}

/* The index may say that the data of a torn frame lie behind the file's end. A new index that is
 * written there would pass for them. */
static int guard(struct bpk_gsd_editor *editor, struct bpk_err *err)
{
	if (!editor->damaged || editor->store.ops->guard == NULL)
		return 0;
	return editor->store.ops->guard(editor->store.own, err);
}

/* True if switching to the other block would make the file shorter. */
static bool is_last(const struct bpk_gsd_editor *editor)
{
	uint64_t others = bpk_max_u64(bpk_gsd_live_end(editor), bpk_gsd_slot_end(&editor->idle));

	return editor->used.offset >= others && editor->idle.room >= room_needed(editor);
}

int bpk_gsd_editor_truncate(struct bpk_gsd_editor *editor, uint64_t nframes, struct bpk_err *err)
{
	if (nframes > editor->nframes || editor->frame.size > 0)
		return bpk_fail(err, BPK_BUG, "%" PRIu64 " of %" PRIu64 " frames cannot be kept",
				nframes, editor->nframes);
	if (nframes == editor->nframes && !editor->damaged)
		return bpk_gsd_editor_check(editor, err);
	if (nframes > editor->sound_frames)
		return bpk_fail(err, BPK_CORRUPT,
				"frame %" PRIu64 " is torn, so at most %" PRIu64
				" frames can be kept",
				editor->sound_frames, editor->sound_frames);
	drop_frames(editor, nframes);
	if (bpk_gsd_editor_check(editor, err) != 0)
		return -1;
	if (guard(editor, err) != 0 || commit(editor, true, err) != 0)
		return -1;
	return is_last(editor) ? commit(editor, true, err) : 0;
}
