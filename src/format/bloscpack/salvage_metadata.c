/*
 * Finds the metadata of a Bloscpack file whose other parts are damaged (salvage.h): where the
 * header says, or by their own header and digest. salvage.c calls it.
 *
 *     header | header of the metadata, data, room, digest | entries | chunks
 *       32     JSON 0 0 0 0 ...                              |
 *                                                            +--> the first chunk
 *
 * An archive in the data has metadata, too. So those that bytes which came or went have moved must
 * lead to the chunks. Source: Bloscpack format, "Metadata section".
 */
#include "format/bloscpack/salvage.h"

#include <stdlib.h>

enum {
	MAGIC = 8,
	MOST_TRIES = 64,
	MOST_ENTRIES = 1 << 16, /* that are looked at */
};

/* ---- One place ---- */

/* Read the section at offset at, or that of header if it is Blaze's; it must end before the first
 * chunk, at limit. */
static int read_at(struct bpk_scan *scan, uint64_t at, const struct bpk_bloscpack_header *header,
		   uint64_t limit, struct bpk_bloscpack_metadata *metadata, struct bpk_err *err)
{
	struct bpk_bloscpack_header place = { .size = (size_t)at };
	struct bpk_err why = { 0 };

	if (header != NULL && header->blaze)
		place = *header;
	if (bpk_bloscpack_metadata_read(scan->source, &place, metadata, &why) != 0 ||
	    metadata->end > limit)
		metadata->good = false;
	return bpk_err_pass(&why, err);
}

/* The entry at offset at, moved by shift bytes; unknown if it is not set, or behind the file. */
static int see_entry(struct bpk_scan *scan, uint64_t at, uint64_t shift, uint64_t *entry,
		     struct bpk_err *err)
{
	const uint8_t *bytes;

	*entry = BPK_UNKNOWN;
	if (at > scan->size || scan->size - at < BPK_BLOSCPACK_ENTRY_SIZE)
		return 0;
	if (bpk_scan_see(scan, at, BPK_BLOSCPACK_ENTRY_SIZE, &bytes, err) != 0)
		return -1;
	if (bpk_get_le64(bytes) != BPK_UNKNOWN)
		*entry = bpk_get_le64(bytes) + shift;
	return 0;
}

static bool is_chunk(const struct bpk_salvage *salvage, uint64_t offset)
{
	const struct bpk_saved *all = salvage->all;

	return salvage->count > 0 &&
	       all[bpk_find_last(&all->offset, sizeof *all, salvage->count, offset)].offset ==
		       offset;
}

/* *is: chunks follow the offset end, or entries there lead to one, moved by shift bytes. */
static int leads_to_chunks(struct bpk_scan *scan, const struct bpk_salvage *salvage, uint64_t end,
			   uint64_t shift, bool *is, struct bpk_err *err)
{
	uint64_t first = salvage->count > 0 ? salvage->all[0].offset : 0, entry;

	*is = is_chunk(salvage, end);
	for (unsigned i = 0; i < MOST_ENTRIES && !*is && end < first; i++) {
		if (see_entry(scan, end, shift, &entry, err) != 0)
			return -1;
		*is = is_chunk(salvage, entry);
		end += BPK_BLOSCPACK_ENTRY_SIZE;
	}
	return 0;
}

/* ---- The search ---- */

/* Where the metadata are if nothing came or went before them. */
static uint64_t place_of(const struct bpk_bloscpack_left *left)
{
	return left->has_header ? left->header.size : BPK_BLOSCPACK_HEADER_SIZE;
}

/* Take the section at offset at, if it is intact and the file's own. */
static int try_at(struct bpk_scan *scan, uint64_t at, const struct bpk_salvage *salvage,
		  uint64_t limit, struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	struct bpk_bloscpack_metadata *metadata = &left->metadata;
	const struct bpk_bloscpack_header *header = left->has_header ? &left->header : NULL;
	bool is = at == place_of(left);

	if (read_at(scan, at, is ? header : NULL, limit, metadata, err) != 0)
		return -1;
	if (metadata->good && !is &&
	    leads_to_chunks(scan, salvage, metadata->end, at - place_of(left), &is, err) != 0)
		return -1;
	/* without a digest any bytes may be metadata */
	metadata->good = metadata->good && is &&
			 (metadata->checksum->size > 0 || (header != NULL && header->has_metadata));
	if (!metadata->good)
		bpk_bloscpack_metadata_clear(metadata);
	left->shift = at - place_of(left);
	return 0;
}

/* Try every place before offset limit at which the header of a section may begin. */
static int search(struct bpk_scan *scan, const struct bpk_salvage *salvage, uint64_t limit,
		  struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	const uint8_t *bytes;
	unsigned tries = 0;

	for (uint64_t at = 0; !left->metadata.good && tries < MOST_TRIES && at < limit &&
			      limit - at >= BPK_BLOSCPACK_METADATA_SIZE;
	     at = bpk_scan_find(scan, at + 1, 'J', 'J')) {
		if (bpk_scan_see(scan, at, MAGIC, &bytes, err) != 0)
			return -1;
		if (!bpk_bloscpack_magic_is_json(bytes))
			continue;
		tries++;
		left->traces = true;
		if (try_at(scan, at, salvage, limit, left, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_bloscpack_left_read_header(struct bpk_scan *scan, struct bpk_bloscpack_left *left,
				   struct bpk_err *err)
{
	size_t size = (size_t)bpk_min_u64(scan->size, BPK_BLOSCPACK_HEAD_SIZE);
	const uint8_t *head;

	if (size == 0)
		return 0;
	if (bpk_scan_see(scan, 0, size, &head, err) != 0)
		return -1;
	left->has_header =
		bpk_bloscpack_header_read(bpk_view(head, size), &left->header, NULL) == 0;
	left->traces = left->has_header && left->header.has_metadata;
	return 0;
}

/* Find the first chunk by its entry, which names the end of the entries. */
static int find_start(struct bpk_scan *scan, struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	uint64_t end = left->metadata.end, entry;

	if (see_entry(scan, end, left->shift, &entry, err) != 0)
		return -1;
	if (entry > end && entry < scan->size && (entry - end) % BPK_BLOSCPACK_ENTRY_SIZE == 0)
		left->start = entry;
	return 0;
}

/* ---- The text ---- */

/* Cut bpk's own members out of the text; the file has size bytes, and fewer chunks. */
static int cut_own(struct bpk_bloscpack_left *left, uint64_t size, struct bpk_err *err)
{
	struct bpk_bloscpack_metadata *metadata = &left->metadata;
	bool listed = !left->has_header || left->header.chunk_size == BPK_UNKNOWN;
	struct bpk_bloscpack_sizes sizes = { 0 };
	struct bpk_seal seal = { 0 };
	int rc = bpk_bloscpack_seal_take(metadata, BPK_UNKNOWN, &seal, err);

	bpk_seal_clear(&seal);
	if (rc == 0 && listed && metadata->text.size > 0)
		rc = bpk_bloscpack_sizes_parse(bpk_buf_view(&metadata->text), size, &sizes, err);
	if (rc == 0 && sizes.listed && !sizes.wrong) {
		bpk_buf_clear(&metadata->text);
		metadata->text = sizes.user;
		sizes.user = (struct bpk_buf){ 0 };
	}
	bpk_bloscpack_sizes_clear(&sizes);
	return rc;
}

static int take_text(struct bpk_bloscpack_left *left, uint64_t size, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (left->shift == 0 && left->metadata.checksum->size > 0)
		left->state = bpk_hash_words(BPK_HASH_START, bpk_buf_view(&left->metadata.text));
	if (cut_own(left, size, err) != 0)
		return -1;
	if (left->metadata.text.size == 0 ||
	    bpk_array_from_metadata(bpk_buf_view(&left->metadata.text), &left->array,
				    &left->has_array, NULL, &why) == 0)
		return 0;
	return bpk_err_pass_memory(&why, err);
}

/* True if the first bytes behind a header that is lost lead to chunks: there were no metadata. */
static int look_for_none(struct bpk_scan *scan, const struct bpk_salvage *salvage, bool *none,
			 struct bpk_err *err)
{
	*none = is_chunk(salvage, BPK_BLOSCPACK_HEADER_SIZE_1);
	return *none ? 0 : leads_to_chunks(scan, salvage, BPK_BLOSCPACK_HEADER_SIZE, 0, none, err);
}

int bpk_bloscpack_left_find(struct bpk_scan *scan, const struct bpk_salvage *salvage,
			    struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	uint64_t limit = salvage->count > 0 ? salvage->all[0].offset : scan->size;

	left->start = BPK_UNKNOWN;
	if ((left->traces && try_at(scan, place_of(left), salvage, limit, left, err) != 0) ||
	    (!left->metadata.good && (left->traces || !left->has_header) &&
	     search(scan, salvage, limit, left, err) != 0))
		return -1;
	if (left->metadata.good)
		return take_text(left, scan->size, err) != 0 ? -1 : find_start(scan, left, err);
	left->none = left->has_header && !left->traces;
	return left->none ? 0 : look_for_none(scan, salvage, &left->none, err);
}

void bpk_bloscpack_left_free(void *parts)
{
	struct bpk_bloscpack_left *left = parts;

	if (left == NULL)
		return;
	bpk_bloscpack_metadata_clear(&left->metadata);
	bpk_array_clear(&left->array);
	free(left->entries);
	free(left);
}

/* ---- The entries ---- */

uint64_t bpk_bloscpack_left_first(const struct bpk_bloscpack_left *left)
{
	const struct bpk_bloscpack_header *header = &left->header;
	uint64_t start = left->metadata.good ? left->metadata.end : header->size, size;

	if (!left->has_header || (header->has_metadata && !left->metadata.good))
		return BPK_UNKNOWN;
	return bpk_mul_u64(bpk_bloscpack_slots(header), BPK_BLOSCPACK_ENTRY_SIZE, &size) &&
			       bpk_add_u64(start, size, &start)
		       ? start
		       : BPK_UNKNOWN;
}

/* bpk_salvage.entry_of. */
static uint64_t entry_of(const void *parts, uint64_t number)
{
	const struct bpk_bloscpack_left *left = parts;

	return number < left->nentries ? left->entries[number] : BPK_UNKNOWN;
}

int bpk_bloscpack_left_take_entries(struct bpk_scan *scan, struct bpk_salvage *salvage,
				    struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	enum { TIMES = 64 }; /* a table in a hole costs no more than the chunks that were found */
	uint64_t start = bpk_bloscpack_left_first(left), n = left->header.nchunks, table, first;

	if (start == BPK_UNKNOWN || start > scan->size || n == 0 || n == BPK_UNKNOWN ||
	    n / TIMES > salvage->count || !left->header.has_offsets)
		return 0;
	table = start - bpk_bloscpack_slots(&left->header) * BPK_BLOSCPACK_ENTRY_SIZE;
	if (see_entry(scan, table, 0, &first, err) != 0)
		return -1;
	if (first != start && !is_chunk(salvage, start))
		return 0;
	left->entries = bpk_calloc((size_t)n, sizeof *left->entries, err);
	if (left->entries == NULL)
		return -1;
	for (uint64_t i = 0; i < n; i++)
		if (see_entry(scan, table + i * BPK_BLOSCPACK_ENTRY_SIZE, 0, &left->entries[i],
			      err) != 0)
			return -1;
	left->nentries = salvage->likely = n;
	salvage->entry_of = entry_of;
	return 0;
}

/* ---- For the new archive ---- */

int bpk_bloscpack_left_give(struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
			    struct bpk_err *err)
{
	const struct bpk_bloscpack_metadata *metadata = &left->metadata;
	struct bpk_info *info = &left->info;

	salvage->parts = left;
	salvage->release = bpk_bloscpack_left_free;
	salvage->like = info;
	if (!metadata->good && left->traces)
		return bpk_salvage_doubt_metadata(salvage, "the metadata are damaged, and lost",
						  err);
	if (!metadata->good && !left->none)
		return bpk_salvage_doubt(salvage, "metadata, if there were any, are lost", err);
	if (metadata->good)
		salvage->state = left->state;
	else if (left->has_header && salvage->counted)
		salvage->state = BPK_HASH_START;
	if (!metadata->good || metadata->text.size == 0)
		return 0;
	info->metadata.given = true;
	info->metadata.text = bpk_buf_view(&metadata->text);
	info->metadata.checksum = metadata->checksum;
	info->array.type = left->has_array ? &left->array : NULL;
	if (left->shift != 0 &&
	    bpk_salvage_doubt(salvage,
			      "the metadata are not at their place, and may be those of an "
			      "archive in the data",
			      err) != 0)
		return -1;
	return metadata->checksum->size > 0
		       ? 0
		       : bpk_salvage_doubt(
				 salvage, "no checksum tells whether the metadata are intact", err);
}
