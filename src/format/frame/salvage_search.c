/* Searches a file for the chunks of a damaged frame, byte by byte. salvage.c, salvage_places.c and
 * salvage_directory.c call it. */
#include "format/frame/salvage.h"

int bpk_frame_has_trailer_at(struct bpk_scan *scan, uint64_t at, bool *is, struct bpk_err *err)
{
	const uint8_t *bytes;

	*is = false;
	if (scan->size - at < BPK_FRAME_TRAILER_START)
		return 0;
	if (bpk_scan_see(scan, at, BPK_FRAME_TRAILER_START, &bytes, err) != 0)
		return -1;
	*is = bpk_frame_is_trailer_start(bytes);
	return 0;
}

/* *is: something that may come behind a chunk begins at offset at. */
static int look_behind(struct bpk_scan *scan, uint64_t at, bool *is, struct bpk_err *err)
{
	struct bpk_chunk_header next;

	*is = at == scan->size;
	if (*is)
		return 0;
	if (bpk_frame_has_trailer_at(scan, at, is, err) != 0)
		return -1;
	return *is ? 0 : bpk_scan_look(scan, at, &next, is, err);
}

/*
 * Of two chunks that share bytes the first is damaged if the second ends behind it, since bytes are
 * missing; or if it is packed, and both are alike, since its size is wrong. Else the second is a
 * part of its data.
 */
static bool is_inside(const struct bpk_saved *outer, const struct bpk_saved *chunk)
{
	bool is_stored = outer->packed_size - outer->raw_size == BPK_CHUNK_EXTENDED_HEADER_SIZE;

	return chunk->offset + chunk->packed_size <= outer->offset + outer->packed_size &&
	       (is_stored || chunk->raw_size != outer->raw_size);
}

static void settle_overlaps(struct bpk_salvage *found)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++) {
		struct bpk_saved chunk = found->all[i];
		struct bpk_saved *last = kept > 0 ? &found->all[kept - 1] : NULL;

		if (last != NULL && chunk.offset - last->offset < last->packed_size) {
			if (is_inside(last, &chunk))
				continue;
			last->packed_size = (uint32_t)(chunk.offset - last->offset);
			last->intact = false;
		}
		found->all[kept++] = chunk;
	}
	found->count = kept;
}

/* A chunk of zeros, or NaN, always unpacks. */
static bool is_header_alone(const struct bpk_chunk_header *header)
{
	return header->special != BPK_SPECIAL_NONE && header->special != BPK_SPECIAL_VALUE;
}

int bpk_frame_find_chunks(struct bpk_scan *scan, uint64_t start, struct bpk_salvage *found,
			  struct bpk_err *err)
{
	struct bpk_chunk_header header;
	struct bpk_saved saved;
	bool is, followed;

	for (uint64_t at = start; at < scan->size;) {
		if (bpk_scan_look(scan, at, &header, &is, err) != 0)
			return -1;
		if (!is) {
			at = bpk_scan_skip(scan, at + 1);
			continue;
		}
		saved = (struct bpk_saved){ 0 };
		if (bpk_frame_bring(scan, at, NULL, NULL, &saved, &is, err) != 0 ||
		    look_behind(scan, at + header.packed_size, &followed, err) != 0)
			return -1;
		if (!followed && (!is || is_header_alone(&header))) {
			at++;
			continue;
		}
		if (bpk_salvage_add(found, &saved, err) != 0)
			return -1;
		/* without one behind it, its end may be wrong */
		at += followed ? header.packed_size : 1;
	}
	settle_overlaps(found);
	return 0;
}

/* ---- By digests ---- */

int bpk_frame_find_by_digests(struct bpk_scan *scan, uint64_t file, struct bpk_frame_table *table,
			      struct bpk_err *err)
{
	struct bpk_chunk_header header;
	bool is;

	for (uint64_t at = 0; at < scan->size;) {
		struct bpk_saved saved = { .file = file, .offset = at, .intact = true };

		if (bpk_scan_look(scan, at, &header, &is, err) != 0)
			return -1;
		saved.packed_size = header.packed_size;
		saved.raw_size = header.raw_size;
		if (is && (bpk_scan_bring(scan, at, header.packed_size, 0, err) != 0 ||
			   bpk_frame_table_take(table, bpk_buf_view(&scan->chunk), &saved, &is,
						err) != 0))
			return -1;
		at = is ? at + header.packed_size : bpk_scan_skip(scan, at + 1);
	}
	return 0;
}
