/*
 * Reads the parts before the chunks: header, metadata, and the start of the offsets. The reader's
 * open calls it.
 */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>

enum { ENTRIES_TO_JUDGE = 8192 }; /* most entries that open reads to look for -1 */

static int read_header(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	struct bpk_view head;

	if (bpk_source_peek(r->source, BPK_BLOSCPACK_HEAD_SIZE, &head, err) != 0)
		return -1;
	bpk_copy(r->head, head.data, bpk_min_size(head.size, sizeof r->head));
	return bpk_bloscpack_header_read(head, &r->header, err);
}

/* Find the consecutive sections, and test that they and the chunks fit into the file. */
static int lay_out(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *h = &r->header;
	uint64_t section = bpk_bloscpack_slots(h) * BPK_BLOSCPACK_ENTRY_SIZE;
	uint64_t least = BPK_CHUNK_HEADER_SIZE + (uint64_t)h->checksum->size;

	r->offsets_offset = h->has_metadata ? r->metadata.end : h->size;
	if (!r->seekable) {
		if (!bpk_add_u64(r->offsets_offset, section, &r->offsets_end))
			return bpk_fail(err, BPK_CORRUPT, "offsets section has %" PRIu64 " bytes",
					section);
		return 0;
	}
	if (section > r->size - r->offsets_offset)
		return bpk_fail(err, BPK_CORRUPT,
				"offsets section needs %" PRIu64 " bytes, %" PRIu64
				" are left in the file",
				section, r->size - r->offsets_offset);
	r->offsets_end = r->offsets_offset + section;
	if (h->nchunks != BPK_UNKNOWN && h->nchunks > (r->size - r->offsets_end) / least)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " chunks need at least %" PRIu64 " bytes each, %" PRIu64
				" are left in the file",
				h->nchunks, least, r->size - r->offsets_end);
	return 0;
}

/*
 * The first entry must equal the end of the section. No digest covers the counts in the header, and
 * this test proves them ("Offsets section"; a lowered count would pass for a shorter archive). Only
 * a file with a gap before its first chunk has another value; the gap begins with zeros, while a
 * miscounted section would continue with entries.
 */
static int check_first_entry(struct bpk_bloscpack_reader *r, uint64_t entry, struct bpk_err *err)
{
	uint8_t gap[BPK_BLOSCPACK_ENTRY_SIZE];

	r->data_offset = r->offsets_end;
	if (entry == BPK_UNKNOWN || entry == r->offsets_end)
		return 0;
	if (entry > r->offsets_end && entry - r->offsets_end >= sizeof gap &&
	    (!r->seekable || entry < r->size)) {
		if (bpk_bloscpack_need(r->source, r->offsets_end, bpk_span(gap, sizeof gap),
				       "input", err) != 0)
			return -1;
		r->data_offset = entry;
		if (bpk_get_le64(gap) == 0)
			return 0;
	}
	return bpk_fail(err, BPK_CORRUPT,
			"first offset entry is %" PRIu64 ", expected %" PRIu64
			", the end of %" PRIu64 " entries",
			entry, r->offsets_end, bpk_bloscpack_slots(&r->header));
}

/*
 * Decide whether chunks can be found by their entries. The first and the last must be plausible,
 * without -1 between them. A section small enough to cost nothing is searched for -1, so that such
 * a file is read in sequence; in a larger one, -1 is found when its chunk is fetched.
 */
static int judge_entries(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	struct bpk_bloscpack_page page = { 0 };
	uint64_t nchunks = r->header.nchunks;
	uint64_t entry = BPK_UNKNOWN;

	for (uint64_t i = nchunks > ENTRIES_TO_JUDGE ? nchunks - 1 : 0; i < nchunks; i++) {
		if (bpk_bloscpack_offsets_turn(&r->offsets, &page, i, &entry, err) != 0)
			return -1;
		if (entry == BPK_UNKNOWN)
			return 0;
	}
	r->positional = entry >= r->data_offset && entry < r->size &&
			r->size - entry >= BPK_CHUNK_HEADER_SIZE;
	return 0;
}

/* Find the first chunk, and decide whether the offsets section is reliable. */
static int find_chunks(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	uint8_t bytes[BPK_BLOSCPACK_ENTRY_SIZE];
	uint64_t entry;

	r->data_offset = r->offsets_end;
	if (!r->header.has_offsets || r->header.nchunks == 0)
		return 0;
	if (bpk_bloscpack_need(r->source, r->offsets_offset, bpk_span(bytes, sizeof bytes),
			       "offsets section", err) != 0)
		return -1;
	entry = bpk_get_le64(bytes);
	if (check_first_entry(r, entry, err) != 0)
		return -1;
	if (!r->seekable || entry == BPK_UNKNOWN)
		return 0;
	return judge_entries(r, err);
}

/* The raw size of the chunk at offset; 0 if no chunk begins there. */
static uint64_t size_at(const struct bpk_bloscpack_reader *r, uint64_t offset)
{
	uint8_t bytes[BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header chunk;
	size_t got;

	if (bpk_source_read_at(r->source, offset, bpk_span(bytes, sizeof bytes), &got, NULL) != 0 ||
	    got < sizeof bytes ||
	    bpk_chunk_header_read_plain(bpk_view(bytes, sizeof bytes), &chunk, NULL) != 0)
		return 0;
	return chunk.raw_size;
}

/* The last entry of the ascending run of set entries from first on; BPK_UNKNOWN: the run is
 * empty. */
static int find_last_entry(struct bpk_bloscpack_reader *r, uint64_t first, uint64_t *last,
			   struct bpk_err *err)
{
	uint64_t entries[BPK_BLOSCPACK_PAGE];
	bool ends = false;

	*last = BPK_UNKNOWN;
	for (uint64_t i = first; !ends && i < r->offsets.count; i += BPK_BLOSCPACK_PAGE) {
		unsigned n = (unsigned)bpk_min_u64(BPK_BLOSCPACK_PAGE, r->offsets.count - i);

		if (bpk_bloscpack_offsets_get(&r->offsets, i, n, entries, err) != 0)
			return -1;
		for (unsigned k = 0; k < n && !ends; k++) {
			ends = entries[k] == BPK_UNKNOWN ||
			       (*last != BPK_UNKNOWN && entries[k] <= *last);
			*last = ends ? *last : entries[k];
		}
	}
	return 0;
}

/*
 * An append that was interrupted while writing the header may have left the new last-chunk with the
 * old counts. Two signs show it: entries after the last chunk's are set, since they are written
 * before the header, and last-chunk equals the size of the last chunk they lead to. The correct
 * value is then read from the last counted chunk itself. Any other last-chunk is damage: the last
 * chunk was overwritten, and the journal with the old one is missing.
 */
static int mend_last_chunk(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	struct bpk_bloscpack_header *h = &r->header;
	uint64_t entry, added, size;

	if (!r->positional || h->last_chunk_size == BPK_UNKNOWN || h->nchunks == r->offsets.count)
		return 0;
	if (bpk_bloscpack_offsets_get(&r->offsets, h->nchunks - 1, 1, &entry, err) != 0 ||
	    find_last_entry(r, h->nchunks, &added, err) != 0)
		return -1;
	if (added == BPK_UNKNOWN || added <= entry)
		return 0;
	size = size_at(r, entry);
	if (size == 0 || size == h->last_chunk_size || size > h->chunk_size ||
	    size_at(r, added) != h->last_chunk_size)
		return 0;
	r->torn = true;
	if (h->raw_size != BPK_UNKNOWN)
		h->raw_size += size - h->last_chunk_size;
	h->last_chunk_size = (uint32_t)size;
	return 0;
}

/* If chunk sizes differ, the list in the metadata may give the total raw size. */
static int parse_sizes(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	struct bpk_bloscpack_header *h = &r->header;

	if (!r->metadata.good || r->metadata.text.size == 0 || h->chunk_size != BPK_UNKNOWN)
		return 0;
	if (bpk_bloscpack_sizes_parse(bpk_buf_view(&r->metadata.text), h->nchunks, &r->sizes,
				      err) != 0)
		return -1;
	if (r->sizes.runs.nchunks > 0 && r->sizes.runs.nchunks == h->nchunks - 1 &&
	    h->last_chunk_size != BPK_UNKNOWN)
		h->raw_size = r->sizes.runs.raw_size + h->last_chunk_size;
	return 0;
}

/* The end of the archive; unknown if only a walk can find it, or the last chunk is damaged. */
static int find_end(struct bpk_bloscpack_reader *r, uint64_t *end, struct bpk_err *err)
{
	struct bpk_bloscpack_extent extent;
	uint8_t bytes[BPK_CHUNK_HEADER_SIZE];
	struct bpk_chunk_header chunk;
	struct bpk_err why = { 0 };

	*end = BPK_UNKNOWN;
	if (!r->positional)
		return 0;
	if (bpk_bloscpack_find(r, r->header.nchunks - 1, NULL, &extent, &why) != 0 ||
	    bpk_bloscpack_need(r->source, extent.offset, bpk_span(bytes, sizeof bytes), "chunk",
			       &why) != 0 ||
	    bpk_bloscpack_examine(r, r->header.nchunks - 1, bpk_view(bytes, sizeof bytes), &extent,
				  &chunk, &why) != 0)
		return bpk_err_pass(&why, err);
	*end = extent.offset + chunk.packed_size + r->header.checksum->size;
	return 0;
}

/* Record the end; the caller judges the bytes after it. */
static int find_followed_end(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	r->end = BPK_UNKNOWN;
	return r->options.followed ? find_end(r, &r->end, err) : 0;
}

int bpk_bloscpack_check_end(void *reader, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = reader;
	uint64_t end;

	if (find_end(r, &end, err) != 0)
		return -1;
	if (end == BPK_UNKNOWN || r->size <= end)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"%" PRIu64 " %s from offset %" PRIu64
			" on, after its last chunk, %s to no archive",
			r->size - end, bpk_plural(r->size - end, "byte", "bytes"), end,
			bpk_plural(r->size - end, "belongs", "belong"));
}

/* Peek at the first chunk; any damage in it is reported when it is fetched. */
static int look_at_first_chunk(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	uint8_t bytes[BPK_CHUNK_HEADER_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);
	bool ends;

	if (r->header.nchunks == 0)
		return 0;
	if (r->seekable) {
		if (bpk_source_read_at(r->source, r->data_offset, bpk_span(bytes, sizeof bytes),
				       &head.size, err) != 0)
			return -1;
	} else {
		struct bpk_err early = { 0 };

		if (bpk_bloscpack_ends_at(r->source, r->data_offset, &ends, &early) != 0)
			return early.kind == BPK_CORRUPT ? 0 : bpk_fail_as(err, &early);
		if (bpk_source_peek(r->source, sizeof bytes, &head, err) != 0)
			return -1;
	}
	r->info.chunks.has_first =
		head.size == sizeof bytes &&
		bpk_chunk_header_read_plain(head, &r->info.chunks.first, NULL) == 0;
	return 0;
}

static const char *variant(const struct bpk_bloscpack_header *header)
{
	static const char *const names[] = { "version 1", "version 2", "version 3" };

	return header->blaze ? "version 3 (Blaze)" : names[header->version - 1];
}

/* The parts that can change unseen, by a flipped bit or by swapped chunks: a digest follows its
 * chunk and covers neither the chunk's number nor the header. */
#define SEALED   "the spare offsets, and of the metadata options, level and room"
#define METADATA "; of the metadata options, level, user codec and room"

static const char *unprotected(const struct bpk_bloscpack_header *h)
{
	static const char *const names[3][2] = {
		{ "the chunks and their order, the header and the offsets",
		  "the chunks and their order, the header and the offsets" METADATA },
		{ "the header (typesize, sizes, counts), the spare offsets and the order of chunks",
		  "the header (typesize, sizes, counts), the spare offsets and the order of "
		  "chunks" METADATA },
		{ "the header (version, typesize, sizes, counts) and the order of chunks",
		  "the header (version, typesize, sizes, counts) and the order of "
		  "chunks" METADATA },
	};
	size_t row = h->checksum->size == 0 ? 0 : h->has_offsets ? 1 : 2;

	if (h->version == 1)
		return "the chunks and their order";
	return names[row][h->has_metadata && !h->blaze];
}

/*
 * The chunk size for the plan. Unknown, so that a walk finds the sizes, for version 2 files with a
 * larger last chunk and for chunk sizes of 0.
 */
static uint64_t chunk_size_to_plan(const struct bpk_bloscpack_header *h)
{
	bool larger = h->last_chunk_size != BPK_UNKNOWN && h->chunk_size != BPK_UNKNOWN &&
		      h->last_chunk_size > h->chunk_size;
	uint64_t size = h->nchunks == 1 && larger ? h->last_chunk_size : h->chunk_size;

	return size == 0 || (larger && h->nchunks != 1) ? BPK_UNKNOWN : size;
}

static void fill_info(struct bpk_bloscpack_reader *r)
{
	const struct bpk_bloscpack_header *h = &r->header;
	const struct bpk_bloscpack_metadata *m = &r->metadata;
	struct bpk_info *info = &r->info;

	info->format = "blp";
	info->variant = variant(h);
	info->stored_size = r->size;
	info->raw_size = h->raw_size;
	info->chunks.count = h->nchunks;
	info->chunks.size = chunk_size_to_plan(h);
	info->chunks.last_size = h->last_chunk_size;
	info->chunks.append_space = h->has_offsets ? h->append_space : 0;
	info->chunks.has_offsets = h->has_offsets;
	info->chunks.typesize = h->typesize;
	info->chunks.checksum = h->checksum;
	info->unprotected = r->seal.recorded ? SEALED : unprotected(h);
	info->pending = bpk_source_pending(r->source);
	info->damage = m->damage.kind != BPK_OK ? m->damage.text : NULL;
	info->chunks.runs = r->sizes.runs.nchunks > 0 ? &r->sizes.runs : NULL;
	info->seal.sealed = r->seal.recorded || r->seal.marked;
	info->seal.generation = r->seal.generation;
	memcpy(info->seal.root, r->seal.root, sizeof info->seal.root);
	info->metadata.given =
		m->good && m->text.size > 0 && (!r->sizes.listed || r->sizes.user.size > 0);
	if (!info->metadata.given)
		return;
	info->metadata.text = bpk_buf_view(r->sizes.listed ? &r->sizes.user : &m->text);
	info->metadata.stored_size = m->stored_size;
	info->metadata.room = m->room;
	info->metadata.codec = m->codec;
	info->metadata.checksum = m->checksum;
}

/* Find an array in the metadata. A contradictory description counts as other metadata; audit
 * reports one that contradicts the size of the data. */
static int find_array(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	bool is_array;

	if (!r->info.metadata.given)
		return 0;
	if (bpk_array_from_metadata(r->info.metadata.text, &r->array, &is_array, NULL, &why) != 0)
		return bpk_err_pass_memory(&why, err);
	if (is_array && (r->info.raw_size == BPK_UNKNOWN || r->info.raw_size == r->array.size))
		r->info.array.type = &r->array;
	return 0;
}

int bpk_bloscpack_open_parts(struct bpk_bloscpack_reader *r, struct bpk_err *err)
{
	bool ends;

	if (read_header(r, err) != 0)
		return -1;
	if (r->header.has_metadata &&
	    bpk_bloscpack_metadata_read(r->source, &r->header, &r->metadata, err) != 0)
		return -1;
	if (bpk_bloscpack_seal_take(&r->metadata, r->header.nchunks, &r->seal, err) != 0 ||
	    lay_out(r, err) != 0)
		return -1;
	r->offsets = (struct bpk_bloscpack_offsets){ .source = r->source,
						     .start = r->offsets_offset,
						     .count = bpk_bloscpack_slots(&r->header) };
	if (find_chunks(r, err) != 0 || mend_last_chunk(r, err) != 0 || parse_sizes(r, err) != 0)
		return -1;
	fill_info(r);
	if (find_array(r, err) != 0)
		return -1;
	if (r->header.nchunks == 0 && !r->header.has_offsets && !r->options.followed) {
		if (bpk_bloscpack_ends_at(r->source, r->data_offset, &ends, err) != 0)
			return -1;
		if (!ends)
			return bpk_fail(err, BPK_CORRUPT,
					"header has no chunks, but more bytes follow it");
	}
	r->sequence = bpk_bloscpack_walk_start(r);
	r->located = r->sequence;
	if (find_followed_end(r, err) != 0)
		return -1;
	return look_at_first_chunk(r, err);
}
