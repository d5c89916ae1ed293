/*
 * The end of a damaged Bloscpack file, and the size and the numbers of the chunks that were found
 * in it: by offsets, the header, the shape of an array, or the gaps between them. salvage.c calls
 * it.
 */
#include "format/bloscpack/salvage.h"

#include <stdlib.h>

/* ---- The end ---- */

/* The header may be that of the file, and count its chunks. */
static bool may_count(const struct bpk_bloscpack_search *s, const struct bpk_bloscpack_left *left)
{
	const struct bpk_bloscpack_header *header = &left->header;

	return left->has_header && header->nchunks != BPK_UNKNOWN && header->nchunks > 0 &&
	       header->nchunks <= s->scan.size / BPK_CHUNK_HEADER_SIZE &&
	       header->checksum == s->checksum;
}

/* The first byte behind a chunk and its digest. */
static uint64_t end_of(const struct bpk_bloscpack_search *s, const struct bpk_saved *saved)
{
	return saved->offset + saved->packed_size + bpk_bloscpack_digest_size(s);
}

/* *at: where the entries begin, the first of which names their end; unknown: nowhere. */
static int find_table(struct bpk_bloscpack_search *s, const struct bpk_bloscpack_header *header,
		      uint64_t first, uint64_t *at, struct bpk_err *err)
{
	const uint8_t *entry;
	uint64_t size;

	*at = BPK_UNKNOWN;
	if (!header->has_offsets ||
	    !bpk_mul_u64(bpk_bloscpack_slots(header), BPK_BLOSCPACK_ENTRY_SIZE, &size) ||
	    size == 0 || size > first)
		return 0;
	for (uint64_t place = header->size; *at == BPK_UNKNOWN && place <= first - size; place++) {
		if (bpk_scan_see(&s->scan, place, BPK_BLOSCPACK_ENTRY_SIZE, &entry, err) != 0)
			return -1;
		if (bpk_get_le64(entry) == place + size)
			*at = place;
	}
	return 0;
}

/*
 * *kept: as many of the chunks that were found are the file's own, by n entries at offset table,
 * some of which may be damaged; 0: that is not known. The last chunk is named by its entry; if it
 * is lost, that leads between two chunks.
 */
static int keep_entries(struct bpk_bloscpack_search *s, uint64_t table, uint64_t n,
			const struct bpk_salvage *salvage, size_t *kept, struct bpk_err *err)
{
	const struct bpk_saved *all = salvage->all;
	uint64_t offset = 0, number = 0;
	const uint8_t *entry;
	size_t count = 0; /* up to the last one that is known */
	bool is_lost;

	for (uint64_t i = 0; i < n; i++) {
		size_t k;

		if (bpk_scan_see(&s->scan, table + i * BPK_BLOSCPACK_ENTRY_SIZE,
				 BPK_BLOSCPACK_ENTRY_SIZE, &entry, err) != 0)
			return -1;
		offset = bpk_get_le64(entry);
		k = bpk_find_last(&all->offset, sizeof *all, salvage->count, offset);
		if (all[k].offset != offset || k < count)
			continue;
		count = k + 1;
		number = i;
	}
	/* bytes that came in may have moved chunks behind the last entry, but not more than n */
	is_lost = count > 0 && count < salvage->count && offset >= end_of(s, &all[count - 1]) &&
		  offset < all[count].offset && salvage->count - count >= n - number;
	if (is_lost || (count > 0 && number + 1 == n))
		*kept = count;
	return 0;
}

/* Without entries: as many chunks as the header counts follow each other, and no more, and have the
 * sizes that it says. */
static bool is_complete(const struct bpk_bloscpack_search *s,
			const struct bpk_bloscpack_header *header,
			const struct bpk_salvage *salvage)
{
	const struct bpk_saved *all = salvage->all;
	uint64_t n = header->nchunks;

	if (n > salvage->count || header->has_offsets ||
	    (n < salvage->count && all[n].offset == end_of(s, &all[n - 1])))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (all[i].raw_size != (i + 1 < n ? header->chunk_size : header->last_chunk_size) ||
		    (i > 0 && all[i].offset != end_of(s, &all[i - 1])))
			return false;
	return true;
}

int bpk_bloscpack_find_end(struct bpk_bloscpack_search *s, struct bpk_bloscpack_left *left,
			   struct bpk_salvage *salvage, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *header = &left->header;
	const struct bpk_saved *next;
	size_t kept = 0;
	uint64_t table;

	if (!may_count(s, left) || salvage->count == 0)
		return 0;
	if (find_table(s, header, salvage->all[0].offset, &table, err) != 0 ||
	    (table != BPK_UNKNOWN &&
	     keep_entries(s, table, header->nchunks, salvage, &kept, err) != 0))
		return -1;
	if (is_complete(s, header, salvage))
		kept = (size_t)header->nchunks;
	if (kept == 0)
		return 0;
	next = &salvage->all[kept];
	left->is_followed = kept < salvage->count && next->offset == end_of(s, next - 1);
	salvage->count = kept;
	s->scan.size = end_of(s, next - 1);
	return 0;
}

/* ---- The size ---- */

/* The raw size of the damaged chunks before the last one, by their headers; 0: these differ, or no
 * header is left. */
static uint32_t size_of_damaged(const struct bpk_salvage *salvage)
{
	const struct bpk_saved *all = salvage->all;

	for (size_t i = 1; i + 1 < salvage->count; i++)
		if (all[i].raw_size != all[0].raw_size)
			return 0;
	return salvage->count > 1 ? all[0].raw_size : 0;
}

int bpk_bloscpack_find_size(const struct bpk_bloscpack_search *s,
			    const struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
			    struct bpk_err *err)
{
	const struct bpk_bloscpack_header *header = &left->header;
	uint64_t size = size_of_damaged(salvage);

	if (bpk_salvage_find_chunk_size(salvage, err) != 0)
		return -1;
	if (bpk_salvage_intact(salvage) != 1 || !salvage->all[salvage->count - 1].intact)
		return 0;
	salvage->unsized = true;
	if (may_count(s, left) && header->nchunks > 1 && header->chunk_size != BPK_UNKNOWN &&
	    header->last_chunk_size == salvage->chunk_size)
		size = header->chunk_size;
	if (size > salvage->chunk_size)
		salvage->chunk_size = (uint32_t)size;
	return 0;
}

/* Two of the header, a chunk and the array's size agree on the chunk size. */
static bool is_size_certain(const struct bpk_bloscpack_left *left,
			    const struct bpk_bloscpack_header *header,
			    const struct bpk_salvage *salvage)
{
	bool own = header == &left->header;

	for (size_t i = 0; i + !own < salvage->count; i++)
		if (salvage->all[i].raw_size == salvage->chunk_size)
			return true;
	return header->nchunks == 1 ||
	       (own && left->has_array && left->array.size == header->raw_size);
}

/* ---- Numbers ---- */

/*
 * Number the chunks by the entries of the offsets section, which begins at offset. Entries may be
 * damaged. False: not all chunks are in it.
 */
static int number_by_offsets(struct bpk_bloscpack_search *s, uint64_t offset, uint64_t nchunks,
			     struct bpk_salvage *salvage, bool *is, struct bpk_err *err)
{
	const uint8_t *entry;
	size_t next = 0;

	for (uint64_t n = 0; n < nchunks && next < salvage->count; n++) {
		if (bpk_scan_see(&s->scan, offset + n * BPK_BLOSCPACK_ENTRY_SIZE,
				 BPK_BLOSCPACK_ENTRY_SIZE, &entry, err) != 0)
			return -1;
		if (bpk_get_le64(entry) != salvage->all[next].offset)
			continue;
		salvage->all[next++].number = n;
	}
	*is = next == salvage->count;
	return 0;
}

/* The size of the last chunk that was found is possible with the header. */
static bool fits_last(const struct bpk_bloscpack_header *header, const struct bpk_salvage *salvage)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];

	return !last->intact || last->raw_size == header->last_chunk_size ||
	       (header->nchunks > salvage->count && last->raw_size == salvage->chunk_size);
}

/* The header fits what was found: its counts are used. */
static bool agrees(const struct bpk_bloscpack_header *header, const struct bpk_bloscpack_search *s,
		   const struct bpk_salvage *salvage)
{
	uint64_t most = s->scan.size / BPK_CHUNK_HEADER_SIZE;
	/* of a single chunk the header may have a larger size */
	uint64_t chunk_size = header->nchunks == 1 ? header->last_chunk_size : header->chunk_size;

	return header->nchunks != BPK_UNKNOWN && header->nchunks <= most &&
	       header->nchunks >= salvage->count && chunk_size == salvage->chunk_size &&
	       header->checksum == salvage->checksum && header->last_chunk_size > 0 &&
	       header->last_chunk_size <= header->chunk_size;
}

/* The entry of chunk number, of the n at offset table. */
static int see_entry(struct bpk_bloscpack_search *s, uint64_t table, uint64_t number,
		     uint64_t *entry, struct bpk_err *err)
{
	const uint8_t *bytes;

	if (bpk_scan_see(&s->scan, table + number * BPK_BLOSCPACK_ENTRY_SIZE,
			 BPK_BLOSCPACK_ENTRY_SIZE, &bytes, err) != 0)
		return -1;
	*entry = bpk_get_le64(bytes);
	return 0;
}

/* *fills: an intact chunk, moved by shift bytes, fills the room between its entry and the next, or
 * the end of the file. */
static int fills_room(struct bpk_bloscpack_search *s, uint64_t table, uint64_t n,
		      const struct bpk_saved *saved, uint64_t shift, bool *fills,
		      struct bpk_err *err)
{
	uint64_t next = s->scan.size - shift;

	if (saved->number + 1 < n && see_entry(s, table, saved->number + 1, &next, err) != 0)
		return -1;
	*fills = end_of(s, saved) == next + shift;
	return 0;
}

/* The digest of a chunk with its sizes, as one number. */
static int hash_digest(struct bpk_bloscpack_search *s, const struct bpk_saved *saved,
		       uint64_t *hash, struct bpk_err *err)
{
	const uint64_t sizes[] = { saved->packed_size, saved->raw_size };
	unsigned size = bpk_bloscpack_digest_size(s);
	const uint8_t *digest;

	if (bpk_scan_see(&s->scan, end_of(s, saved) - size, size, &digest, err) != 0)
		return -1;
	*hash = bpk_hash(bpk_hash_words(BPK_HASH_START, bpk_view(sizes, sizeof sizes)),
			 bpk_view(digest, size));
	return 0;
}

/* *is: one other chunk has the same digest as chunk k, which may be a copy of it. More of them are
 * those of data that repeat. */
static int has_twin(struct bpk_bloscpack_search *s, const struct bpk_salvage *salvage, size_t k,
		    bool *is, struct bpk_err *err)
{
	const struct bpk_saved *all = salvage->all;
	uint64_t hash, other;
	size_t n = 0;

	*is = false;
	if (!salvage->proven || !all[k].intact)
		return 0;
	if (hash_digest(s, &all[k], &hash, err) != 0)
		return -1;
	for (size_t i = 0; n < 2 && i < salvage->count; i++) {
		if (i == k || !all[i].intact || all[i].packed_size != all[k].packed_size)
			continue;
		if (hash_digest(s, &all[i], &other, err) != 0)
			return -1;
		n += hash == other;
	}
	*is = n == 1;
	return 0;
}

/* The last chunk has no number if it may be a copy of another one. */
static int refute_twin(struct bpk_bloscpack_search *s, const struct bpk_salvage *salvage,
		       bool *is_numbered, struct bpk_err *err)
{
	bool is;
	int rc = has_twin(s, salvage, salvage->count - 1, &is, err);

	*is_numbered = !is;
	return rc;
}

/*
 * The same if bytes came or went in one place, where a chunk is lost: chunks before it are where
 * the entries say, and those behind it are all as far from there as the last one, which ends the
 * file.
 */
static int number_by_shift(struct bpk_bloscpack_search *s, uint64_t table, uint64_t n,
			   struct bpk_salvage *salvage, bool *is, struct bpk_err *err)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];
	uint64_t entry, moved, shift = 0;
	bool fills = end_of(s, last) == s->scan.size, is_lost = false;
	size_t i = 0, nmoved = 0;

	if (see_entry(s, table, n - 1, &entry, err) != 0)
		return -1;
	moved = last->offset - entry; /* wraps around if bytes went */
	for (uint64_t number = 0; fills && number < n && i < salvage->count; number++) {
		struct bpk_saved *saved = &salvage->all[i];

		if (see_entry(s, table, number, &entry, err) != 0)
			return -1;
		is_lost = is_lost || shift == moved;
		if (saved->offset == entry + moved && is_lost)
			shift = moved;
		nmoved += saved->offset == entry + shift && shift == moved;
		is_lost = saved->offset != entry + shift;
		if (is_lost)
			continue;
		saved->number = number;
		if (fills_room(s, table, n, saved, shift, &fills, err) != 0)
			return -1;
		i++;
	}
	*is = fills && i == salvage->count;
	return *is && nmoved == 1 ? refute_twin(s, salvage, is, err) : 0;
}

/* *is: an intact chunk does not end where the entry of the next one says: another chunk was there.
 * Damage leads an entry before the chunk, or behind the file. */
static int has_other_size(struct bpk_bloscpack_search *s, uint64_t table, uint64_t n,
			  const struct bpk_salvage *salvage, bool *is, struct bpk_err *err)
{
	*is = false;
	for (size_t i = 0; !*is && i < salvage->count; i++) {
		const struct bpk_saved *saved = &salvage->all[i];
		uint64_t next = BPK_UNKNOWN;

		if (saved->intact && saved->number + 1 < n &&
		    see_entry(s, table, saved->number + 1, &next, err) != 0)
			return -1;
		*is = next > saved->offset && next < s->scan.size && next != end_of(s, saved);
	}
	return 0;
}

/* Number the chunks by the entries, which name their own end as the place of the first chunk,
 * *start, behind metadata of any size. */
static int number_by_entries(struct bpk_bloscpack_search *s,
			     const struct bpk_bloscpack_header *header, uint64_t *start,
			     struct bpk_salvage *salvage, bool *contradicts, struct bpk_err *err)
{
	uint64_t table;

	if (find_table(s, header, salvage->all[0].offset, &table, err) != 0)
		return -1;
	if (table == BPK_UNKNOWN)
		return 0;
	*start = table + bpk_bloscpack_slots(header) * BPK_BLOSCPACK_ENTRY_SIZE;
	if (number_by_offsets(s, table, header->nchunks, salvage, &salvage->counted, err) != 0)
		return -1;
	return salvage->counted
		       ? has_other_size(s, table, header->nchunks, salvage, contradicts, err)
		       : number_by_shift(s, table, header->nchunks, salvage, &salvage->counted,
					 err);
}

/* True if entry i of the sorted places between start and end stands at its place among them. */
static bool is_plausible(const uint64_t *entries, uint64_t i, uint64_t n, uint64_t end)
{
	return entries[i] < end && (i == 0 || entries[i] > entries[i - 1]) &&
	       (i + 1 == n || entries[i] < entries[i + 1]);
}

/* True if the chunks i - 1 and i have each other's size by the entries. */
static bool are_swapped(const struct bpk_bloscpack_search *s, const uint64_t *entries, uint64_t i,
			uint64_t n, const struct bpk_salvage *salvage)
{
	const struct bpk_saved *all = salvage->all;
	uint64_t behind = i + 1 < n ? entries[i + 1] : s->scan.size;

	return i > 0 && end_of(s, &all[i - 1]) - all[i - 1].offset == behind - entries[i] &&
	       end_of(s, &all[i]) - all[i].offset == entries[i] - entries[i - 1];
}

/* *contradicts: the one entry that names another place stands between two chunks that were swapped,
 * or behind one that was copied. That one moves the chunk behind it alone if this is the last, or a
 * copy, too. */
static int judge_entry(struct bpk_bloscpack_search *s, const uint64_t *entries, uint64_t i,
		       const struct bpk_salvage *salvage, bool *contradicts, struct bpk_err *err)
{
	uint64_t n = salvage->count;

	*contradicts = are_swapped(s, entries, i, n, salvage);
	if (*contradicts || i == 0)
		return 0;
	if (has_twin(s, salvage, (size_t)i - 1, contradicts, err) != 0)
		return -1;
	return *contradicts && i + 1 < n ? has_twin(s, salvage, (size_t)i, contradicts, err) : 0;
}

/* The entries, of as many chunks as were found, name other places: several that are sound by
 * themselves, as damage does not make them, or one beside chunks that are not their own. */
static int compare_entries(struct bpk_bloscpack_search *s, uint64_t table,
			   const struct bpk_salvage *salvage, bool *contradict, struct bpk_err *err)
{
	uint64_t n = salvage->count, others = 0, sound = 0, last = 0;
	uint64_t *entries = bpk_calloc((size_t)n, sizeof *entries, err);
	int rc = entries == NULL ? -1 : 0;

	*contradict = false;
	for (uint64_t i = 0; rc == 0 && i < n; i++)
		rc = see_entry(s, table, i, &entries[i], err);
	for (uint64_t i = 0; rc == 0 && i < n; i++) {
		if (entries[i] == salvage->all[i].offset)
			continue;
		others++;
		last = i;
		sound += is_plausible(entries, i, n, s->scan.size);
	}
	*contradict = sound > 1;
	if (rc == 0 && others == 1 && sound == 1)
		rc = judge_entry(s, entries, last, salvage, contradict, err);
	free(entries);
	return rc;
}

/* The same, if the entries are found. */
static int test_order(struct bpk_bloscpack_search *s, const struct bpk_bloscpack_header *header,
		      const struct bpk_salvage *salvage, bool *contradict, struct bpk_err *err)
{
	uint64_t table;

	*contradict = false;
	if (find_table(s, header, salvage->all[0].offset, &table, err) != 0)
		return -1;
	return table == BPK_UNKNOWN ? 0 : compare_entries(s, table, salvage, contradict, err);
}

/* The counts and sizes of the array that the metadata describe, which a digest covers, in place of
 * the header. False: they do not fit. */
static bool count_by_array(const struct bpk_bloscpack_left *left,
			   const struct bpk_bloscpack_search *s, const struct bpk_salvage *salvage,
			   struct bpk_bloscpack_header *header)
{
	uint64_t size = left->array.size, n;

	if (!left->has_array || size == 0 || left->metadata.checksum->size == 0 ||
	    salvage->chunk_size == 0)
		return false;
	n = bpk_div_up(size, salvage->chunk_size);
	*header = (struct bpk_bloscpack_header){
		.version = 3,
		.checksum = salvage->checksum,
		.chunk_size = salvage->chunk_size,
		.last_chunk_size = size - (n - 1) * salvage->chunk_size,
		.nchunks = n,
	};
	return agrees(header, s, salvage) && fits_last(header, salvage);
}

/* Number chunks without a header: by the entries behind the metadata, or by the gaps. */
static int number_behind(struct bpk_bloscpack_search *s, const struct bpk_bloscpack_left *left,
			 const struct bpk_bloscpack_header *header, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	uint64_t n = header->nchunks, end = left->metadata.end;

	if (left->shift == 0 && left->start != BPK_UNKNOWN &&
	    n <= (left->start - end) / BPK_BLOSCPACK_ENTRY_SIZE &&
	    number_by_offsets(s, end, n, salvage, &salvage->counted, err) != 0)
		return -1;
	if (!salvage->counted)
		bpk_salvage_fit_numbers(salvage, n, header->last_chunk_size);
	return 0;
}

/* The same with the file's own header, whose count is used if an entry confirms the place of the
 * first chunk that follows from it, or without entries the gaps from there on confirm the count. */
static int number_own(struct bpk_bloscpack_search *s, struct bpk_bloscpack_left *left,
		      struct bpk_salvage *salvage, bool *known, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *header = &left->header;

	left->start = BPK_UNKNOWN;
	if (number_by_entries(s, header, &left->start, salvage, &left->is_disordered, err) != 0)
		return -1;
	if (bpk_bloscpack_slots(header) == 0 && salvage->likely > 0)
		left->start = bpk_bloscpack_left_first(left);
	*known = salvage->counted || left->start != BPK_UNKNOWN;
	if (salvage->counted)
		return 0;
	bpk_salvage_number_by_gaps(salvage, left->start, s->scan.size);
	if (*known)
		bpk_salvage_fit_numbers(salvage, header->nchunks, header->last_chunk_size);
	return 0;
}

/* True if the last chunk is a whole one where the header has a short one: either the header is
 * damaged, or a chunk was copied over that one, or came in. */
static bool is_too_long(const struct bpk_bloscpack_header *header,
			const struct bpk_salvage *salvage)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];

	return last->intact && last->number + 1 == header->nchunks &&
	       last->raw_size == salvage->chunk_size && header->last_chunk_size < last->raw_size;
}

/* Without entries that fit, the count alone numbers the chunks if they are all there, and no other
 * bytes: a chunk that was copied would stand for one that is lost. */
static int number_by_header(struct bpk_bloscpack_search *s,
			    const struct bpk_bloscpack_header *header,
			    struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
			    struct bpk_err *err)
{
	bool own = header == &left->header, known = true;

	bpk_salvage_number_by_gaps(salvage, own ? bpk_bloscpack_left_first(left) : left->start,
				   s->scan.size);
	salvage->counted =
		salvage->count == header->nchunks && salvage->gapless && fits_last(header, salvage);
	if (own && salvage->nchunks == header->nchunks)
		salvage->likely = header->nchunks;
	for (size_t i = 0; salvage->counted && i < salvage->count; i++)
		salvage->all[i].number = i;
	if (salvage->counted && own &&
	    test_order(s, header, salvage, &left->is_disordered, err) != 0)
		return -1;
	if (!salvage->counted && (own ? number_own(s, left, salvage, &known, err)
				      : number_behind(s, left, header, salvage, err)) != 0)
		return -1;
	if (!known)
		return 0;
	salvage->nchunks = header->nchunks;
	salvage->last_size = header->last_chunk_size;
	return 0;
}

/* A file that ends within a chunk has lost its end, and its header counts the chunks of before. */
static uint64_t claim_of(const struct bpk_bloscpack_search *s,
			 const struct bpk_bloscpack_left *left, const struct bpk_salvage *salvage)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];
	uint64_t end = last->offset + last->packed_size + bpk_bloscpack_digest_size(s);
	uint64_t n = left->has_header ? left->header.nchunks : BPK_UNKNOWN;

	return n != BPK_UNKNOWN && n > last->number + 1 && end < s->scan.size ? n : 0;
}

int bpk_bloscpack_number(struct bpk_bloscpack_search *s, struct bpk_bloscpack_left *left,
			 struct bpk_salvage *salvage, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *header = &left->header;
	struct bpk_bloscpack_header by_array;
	bool known = left->has_header && agrees(header, s, salvage);

	if ((!known || !fits_last(header, salvage)) &&
	    count_by_array(left, s, salvage, &by_array)) {
		header = &by_array;
		known = true;
	}
	if (!known)
		bpk_salvage_number_by_gaps(salvage, left->start, s->scan.size);
	else if (number_by_header(s, header, left, salvage, err) != 0)
		return -1;
	salvage->claimed = claim_of(s, left, salvage);
	left->is_too_long = known && header == &left->header && is_too_long(header, salvage);
	bpk_salvage_trust_last(salvage);
	salvage->unsized = salvage->unsized && !(known && is_size_certain(left, header, salvage));
	salvage->counted = salvage->counted && !left->is_disordered && !left->is_too_long &&
			   !left->is_followed;
	salvage->contradicted = left->is_disordered;
	if (left->is_too_long)
		salvage->unplaced =
			"the last chunk is not as short as the header says, and a chunk "
			"may be a copy of another one";
	else if (left->is_followed)
		salvage->unplaced = "a chunk follows the last one, since an append was "
				    "interrupted, or since another chunk came in";
	else if (left->is_disordered)
		salvage->unplaced = "the offsets name other places: chunks were swapped or copied";
	else if (!salvage->counted)
		salvage->unplaced =
			left->start == BPK_UNKNOWN
				? "it is unknown whether others were before the first, from which "
				  "all ranges are counted"
				: "the numbers of chunks follow from the gaps between them";
	return 0;
}
