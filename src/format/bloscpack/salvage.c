/*
 * Finds the chunks of a Bloscpack file without its header and offsets. Its row is in formats.c.
 *
 *     ....| chunk | digest | chunk | digest |..........| chunk | digest | end
 *      gap   found            found            gap        found
 *
 * A chunk is found by its digest, or without digests if it unpacks and another chunk, or the end,
 * follows. The bytes inside a found chunk are never looked at, so that an archive in the data is no
 * part of the result. Source: Bloscpack format, "Chunks".
 */
#include "format/bloscpack/salvage.h"

#include <stdlib.h>
#include "format/guess.h"

enum { VOTES = 3 };

/* One thread's own. */
struct search {
	struct bpk_scan scan;
	const struct bpk_checksum *checksum; /* NULL: not known yet */
};

/* ---- Candidates ---- */

static int look(struct search *s, uint64_t at, struct bpk_chunk_header *header, bool *is,
		struct bpk_err *err)
{
	return bpk_scan_look(&s->scan, at, header, is, err);
}

static unsigned digest_size(const struct search *s)
{
	return s->checksum == NULL ? 0 : s->checksum->size;
}

/* Bring the chunk and the bytes of a digest that follow, as far as there are any. */
static int bring(struct search *s, uint64_t at, const struct bpk_chunk_header *header,
		 struct bpk_err *err)
{
	return bpk_scan_bring(&s->scan, at, header->packed_size, BPK_DIGEST_MAX, err);
}

/* No line is made of the many that do not match. */
static int fits(const struct search *s, const struct bpk_chunk_header *header,
		const struct bpk_checksum *checksum, bool *is, struct bpk_err *err)
{
	const uint8_t *chunk = s->scan.chunk.data;
	uint8_t digest[BPK_DIGEST_MAX];

	*is = s->scan.chunk.size - header->packed_size >= checksum->size;
	if (!*is)
		return 0;
	if (bpk_checksum_compute(checksum, bpk_view(chunk, header->packed_size), digest, err) != 0)
		return -1;
	*is = memcmp(chunk + header->packed_size, digest, checksum->size) == 0;
	return 0;
}

/* ---- One chunk ---- */

/* *is: the chunk at offset, whose header was looked at, is intact. */
static int test(struct search *s, uint64_t at, const struct bpk_chunk_header *header, bool *is,
		struct bpk_err *err)
{
	struct bpk_chunk_header next;
	uint64_t end = at + header->packed_size;
	struct bpk_err why = { 0 };

	*is = false;
	if (digest_size(s) > s->scan.size - end)
		return 0;
	if (s->checksum->size == 0 && end < s->scan.size) {
		if (look(s, end, &next, is, err) != 0)
			return -1;
		if (!*is)
			return 0;
	}
	if (bring(s, at, header, err) != 0)
		return -1;
	if (s->checksum->size > 0)
		return fits(s, header, s->checksum, is, err);
	return bpk_err_settle(bpk_chunk_prove(s->scan.ctx,
					      bpk_view(s->scan.chunk.data, header->packed_size),
					      &why),
			      &why, is, err);
}

/* *is: the chunk is damaged, but not its header, since an intact chunk follows right behind it, or
 * it fills the room between the last chunk and the file's end. */
static int test_place(struct search *s, uint64_t at, bool follows,
		      const struct bpk_chunk_header *header, bool *is, struct bpk_err *err)
{
	uint64_t end = at + header->packed_size + digest_size(s);
	struct bpk_chunk_header next;

	*is = follows && end == s->scan.size;
	if (*is || end >= s->scan.size)
		return 0;
	if (look(s, end, &next, is, err) != 0)
		return -1;
	return *is ? test(s, end, &next, is, err) : 0;
}

/* ---- The kind of digest ---- */

/* The first kind with several matches. Files of any header say it by their chunks. A chunk with
 * another one right behind it has no digest. */
static int find_checksum(struct search *s, struct bpk_err *err)
{
	unsigned votes[16] = { 0 }, most = 0;
	struct bpk_chunk_header header, next;
	bool is, follows;

	s->checksum = &bpk_checksums[0];
	for (uint64_t at = 0; at < s->scan.size && most < VOTES; at++) {
		if (look(s, at, &header, &is, err) != 0)
			return -1;
		if (!is)
			continue;
		if (look(s, at + header.packed_size, &next, &follows, err) != 0)
			return -1;
		if (follows)
			continue;
		if (bring(s, at, &header, err) != 0)
			return -1;
		for (size_t i = 1; bpk_checksums[i].name != NULL && i < 16; i++) {
			/* a kind that libcrypto refuses is no match */
			if (fits(s, &header, &bpk_checksums[i], &is, NULL) != 0 || !is)
				continue;
			if (++votes[i] > most) {
				most = votes[i];
				s->checksum = &bpk_checksums[i];
			}
			at += header.packed_size + bpk_checksums[i].size - 1;
			break;
		}
	}
	return 0;
}

/* ---- All chunks ---- */

static int find_chunks(struct search *s, struct bpk_salvage *salvage, struct bpk_err *err)
{
	struct bpk_chunk_header header;
	uint64_t end = UINT64_MAX; /* of the chunk found last */
	bool is, intact;

	for (uint64_t at = 0; at < s->scan.size;) {
		struct bpk_saved found = { .offset = at };

		if (look(s, at, &header, &is, err) != 0 ||
		    (is && test(s, at, &header, &intact, err) != 0) ||
		    (is && !intact && test_place(s, at, at == end, &header, &is, err) != 0))
			return -1;
		if (!is) {
			at++;
			continue;
		}
		found.intact = intact;
		found.packed_size = header.packed_size;
		found.raw_size = header.raw_size;
		if (intact && salvage->typesize == 0)
			salvage->typesize = header.typesize;
		if (bpk_salvage_add(salvage, &found, err) != 0)
			return -1;
		end = at += header.packed_size + digest_size(s);
	}
	return 0;
}

/* ---- Guesses ---- */

/* Guess at the chunk and its digest that lie between start and end; *is: one byte tells it. */
static int guess_chunk(struct search *s, uint64_t start, uint64_t end, uint64_t *budget,
		       struct bpk_saved *found, bool *is, struct bpk_err *err)
{
	unsigned size = digest_size(s);
	struct bpk_chunk_header header;
	struct bpk_guess guess;
	struct bpk_span chunk;

	*is = false;
	if (end - start < BPK_CHUNK_HEADER_SIZE + size)
		return 0;
	if (bpk_scan_bring(&s->scan, start, end - start, 0, err) != 0)
		return -1;
	chunk = bpk_span(s->scan.chunk.data, s->scan.chunk.size - size);
	if (bpk_guess_byte(s->scan.ctx, s->checksum, chunk, chunk.data + chunk.size, budget, &guess,
			   err) != 0)
		return -1;
	if (guess.count != 1)
		return 0;
	chunk.data[guess.at] = guess.byte;
	*is = bpk_chunk_header_read_plain(bpk_view(chunk.data, chunk.size), &header, NULL) == 0;
	*found = (struct bpk_saved){
		.offset = start,
		.packed_size = header.packed_size,
		.raw_size = header.raw_size,
		.intact = true,
		.guessed = true,
		.guess_at = guess.at,
		.guess_byte = guess.byte,
	};
	return 0;
}

/* Guess at each chunk between start and end, and add it to all, or the place of it that is among
 * the n places. A header that is damaged has no size: then it is one chunk. */
static int guess_gap(struct search *s, uint64_t start, uint64_t end, const struct bpk_saved *places,
		     size_t n, uint64_t *budget, struct bpk_salvage *all, struct bpk_err *err)
{
	while (start < end) {
		struct bpk_chunk_header header;
		struct bpk_saved found;
		uint64_t stop = end;
		bool is;

		if (look(s, start, &header, &is, err) != 0)
			return -1;
		if (is && header.packed_size + digest_size(s) <= end - start)
			stop = start + header.packed_size + digest_size(s);
		if (guess_chunk(s, start, stop, budget, &found, &is, err) != 0 ||
		    (is && bpk_salvage_add(all, &found, err) != 0))
			return -1;
		for (; n > 0 && places->offset < stop; places++, n--)
			if (!is && bpk_salvage_add(all, places, err) != 0)
				return -1;
		start = stop;
	}
	return 0;
}

/* Move *start, where the first chunk that is known begins, to headers whose chunks lead there. */
static int find_front(struct search *s, uint64_t *start, struct bpk_err *err)
{
	enum { MOST = 16 };
	struct bpk_chunk_header header;
	bool is = true;

	for (unsigned i = 0; is && i < MOST && *start < s->scan.size; i++) {
		is = false;
		for (uint64_t at = 0; !is && at < *start; at++) {
			if (look(s, at, &header, &is, err) != 0)
				return -1;
			is = is && header.packed_size + digest_size(s) == *start - at;
			if (is)
				*start = at;
		}
	}
	return 0;
}

/* Guess at the bytes between two intact chunks, before the first, if a header of one is there, and
 * behind the last. */
static int guess_chunks(struct search *s, struct bpk_salvage *salvage, struct bpk_err *err)
{
	enum { BUDGET = 1 << 30 };
	uint64_t start = salvage->count > 0 ? salvage->all[0].offset : s->scan.size;
	uint64_t budget = BUDGET;
	struct bpk_salvage all = { 0 };
	size_t places = 0; /* the first behind the last intact chunk */
	int rc = find_front(s, &start, err);

	for (size_t i = 0; rc == 0 && i <= salvage->count; i++) {
		const struct bpk_saved *next = i < salvage->count ? &salvage->all[i] : NULL;
		uint64_t end = next != NULL ? next->offset : s->scan.size;

		if (next != NULL && !next->intact)
			continue;
		rc = guess_gap(s, start, end, salvage->all + places, i - places, &budget, &all,
			       err);
		if (rc == 0 && next != NULL) {
			rc = bpk_salvage_add(&all, next, err);
			start = end + next->packed_size + digest_size(s);
		}
		places = i + 1;
	}
	free(salvage->all);
	salvage->all = all.all;
	salvage->count = all.count;
	salvage->room = all.room;
	return rc;
}

/* ---- The end ---- */

/* The header may be that of the file, and count its chunks. */
static bool may_count(const struct search *s, const struct bpk_bloscpack_left *left)
{
	const struct bpk_bloscpack_header *header = &left->header;

	return left->has_header && header->nchunks != BPK_UNKNOWN && header->nchunks > 0 &&
	       header->nchunks <= s->scan.size / BPK_CHUNK_HEADER_SIZE &&
	       header->checksum == s->checksum;
}

/* The first byte behind a chunk and its digest. */
static uint64_t end_of(const struct search *s, const struct bpk_saved *saved)
{
	return saved->offset + saved->packed_size + digest_size(s);
}

/* *at: where the entries begin, the first of which names their end; unknown: nowhere. */
static int find_table(struct search *s, const struct bpk_bloscpack_header *header, uint64_t first,
		      uint64_t *at, struct bpk_err *err)
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
 * some of which may be damaged; 0: that is not known. The last chunk is named by its entry, follows
 * those that are, or is lost: then its entry leads between two chunks.
 */
static int keep_entries(struct search *s, uint64_t table, uint64_t n,
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
	while (count > 0 && count < salvage->count && number + 1 < n &&
	       all[count].offset == end_of(s, &all[count - 1])) {
		count++;
		number++;
	}
	/* bytes that came in may have moved chunks behind the last entry, but not more than n */
	is_lost = count > 0 && count < salvage->count && offset >= end_of(s, &all[count - 1]) &&
		  offset < all[count].offset && salvage->count - count >= n - number;
	if (is_lost || (count > 0 && number + 1 == n))
		*kept = count;
	return 0;
}

/* Without entries: as many chunks as the header counts follow each other, and have the sizes that
 * it says. */
static bool is_complete(const struct search *s, const struct bpk_bloscpack_header *header,
			const struct bpk_salvage *salvage)
{
	const struct bpk_saved *all = salvage->all;
	uint64_t n = header->nchunks;

	if (n > salvage->count || header->has_offsets)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (all[i].raw_size != (i + 1 < n ? header->chunk_size : header->last_chunk_size) ||
		    (i > 0 && all[i].offset != end_of(s, &all[i - 1])))
			return false;
	return true;
}

/*
 * Find the end of the archive, behind its last chunk, and leave out what follows, such as another
 * archive, whose chunks are none of its own.
 */
static int find_end(struct search *s, const struct bpk_bloscpack_left *left,
		    struct bpk_salvage *salvage, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *header = &left->header;
	size_t kept = 0, count = salvage->count;
	uint64_t table, others = 0;

	if (!may_count(s, left) || count == 0)
		return 0;
	if (find_table(s, header, salvage->all[0].offset, &table, err) != 0 ||
	    (table != BPK_UNKNOWN &&
	     keep_entries(s, table, header->nchunks, salvage, &kept, err) != 0))
		return -1;
	if (is_complete(s, header, salvage))
		kept = (size_t)header->nchunks;
	if (kept == 0)
		return 0;
	for (size_t i = kept; i < count; i++)
		others += salvage->all[i].intact;
	salvage->count = kept;
	s->scan.size = end_of(s, &salvage->all[kept - 1]);
	return bpk_salvage_doubt_others(salvage, others, err);
}

/* ---- Numbers ---- */

/*
 * Number the chunks by the entries of the offsets section, which begins at offset. Entries may be
 * damaged. False: not all chunks are in it.
 */
static int number_by_offsets(struct search *s, uint64_t offset, uint64_t nchunks,
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
static bool agrees(const struct bpk_bloscpack_header *header, const struct search *s,
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
static int see_entry(struct search *s, uint64_t table, uint64_t number, uint64_t *entry,
		     struct bpk_err *err)
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
static int fills_room(struct search *s, uint64_t table, uint64_t n, const struct bpk_saved *saved,
		      uint64_t shift, bool *fills, struct bpk_err *err)
{
	uint64_t next = s->scan.size - shift;

	if (saved->number + 1 < n && see_entry(s, table, saved->number + 1, &next, err) != 0)
		return -1;
	*fills = end_of(s, saved) == next + shift;
	return 0;
}

/*
 * The same if bytes came or went in one place, where a chunk is lost: chunks before it are where the
 * entries say, and those behind it are all as far from there as the last one, which ends the file.
 */
static int number_by_shift(struct search *s, uint64_t table, uint64_t n,
			   struct bpk_salvage *salvage, bool *is, struct bpk_err *err)
{
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];
	uint64_t entry, moved, shift = 0;
	bool fills = end_of(s, last) == s->scan.size, is_lost = false;
	size_t i = 0;

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
		is_lost = saved->offset != entry + shift;
		if (is_lost)
			continue;
		saved->number = number;
		if (fills_room(s, table, n, saved, shift, &fills, err) != 0)
			return -1;
		i++;
	}
	*is = fills && i == salvage->count;
	return 0;
}

/* Number the chunks by the entries, which name their own end as the place of the first chunk,
 * *start, behind metadata of any size. */
static int number_by_entries(struct search *s, const struct bpk_bloscpack_header *header,
			     uint64_t *start, struct bpk_salvage *salvage, struct bpk_err *err)
{
	uint64_t table;

	if (find_table(s, header, salvage->all[0].offset, &table, err) != 0)
		return -1;
	if (table == BPK_UNKNOWN)
		return 0;
	*start = table + bpk_bloscpack_slots(header) * BPK_BLOSCPACK_ENTRY_SIZE;
	if (number_by_offsets(s, table, header->nchunks, salvage, &salvage->counted, err) != 0)
		return -1;
	return salvage->counted ? 0
				: number_by_shift(s, table, header->nchunks, salvage,
						  &salvage->counted, err);
}

/* The counts and sizes of the array that the metadata describe, which a digest covers, in place of
 * the header. False: they do not fit. */
static bool count_by_array(const struct bpk_bloscpack_left *left, const struct search *s,
			   const struct bpk_salvage *salvage, struct bpk_bloscpack_header *header)
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
static int number_behind(struct search *s, const struct bpk_bloscpack_left *left,
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

/* Where the file's own header says that the first chunk begins; unknown: the size of the metadata
 * is lost. */
static uint64_t first_of(const struct bpk_bloscpack_left *left)
{
	const struct bpk_bloscpack_header *header = &left->header;
	uint64_t start = left->metadata.good ? left->metadata.end : header->size, size;

	if (header->has_metadata && !left->metadata.good)
		return BPK_UNKNOWN;
	return bpk_mul_u64(bpk_bloscpack_slots(header), BPK_BLOSCPACK_ENTRY_SIZE, &size) &&
			       bpk_add_u64(start, size, &start)
		       ? start
		       : BPK_UNKNOWN;
}

/* The same with the file's own header, whose count is used if an entry confirms the place of the
 * first chunk that follows from it. */
static int number_own(struct search *s, struct bpk_bloscpack_left *left,
		      struct bpk_salvage *salvage, bool *known, struct bpk_err *err)
{
	const struct bpk_bloscpack_header *header = &left->header;

	left->start = BPK_UNKNOWN;
	if (number_by_entries(s, header, &left->start, salvage, err) != 0)
		return -1;
	*known = salvage->counted || left->start != BPK_UNKNOWN;
	if (salvage->counted)
		return 0;
	bpk_salvage_number_by_gaps(salvage, left->start, s->scan.size);
	if (*known)
		bpk_salvage_fit_numbers(salvage, header->nchunks, header->last_chunk_size);
	return 0;
}

/* Without entries that fit, the count alone numbers the chunks if they are all there, and no other
 * bytes: a chunk that was copied would stand for one that is lost. */
static int number_by_header(struct search *s, const struct bpk_bloscpack_header *header,
			    struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
			    struct bpk_err *err)
{
	bool own = header == &left->header, known = true;

	bpk_salvage_number_by_gaps(salvage, own ? first_of(left) : left->start, s->scan.size);
	salvage->counted =
		salvage->count == header->nchunks && salvage->gapless && fits_last(header, salvage);
	for (size_t i = 0; salvage->counted && i < salvage->count; i++)
		salvage->all[i].number = i;
	if (!salvage->counted && (own ? number_own(s, left, salvage, &known, err)
				      : number_behind(s, left, header, salvage, err)) != 0)
		return -1;
	if (!known)
		return 0;
	salvage->nchunks = header->nchunks;
	salvage->last_size = header->last_chunk_size;
	return 0;
}

static int number(struct search *s, struct bpk_bloscpack_left *left, struct bpk_salvage *salvage,
		  struct bpk_err *err)
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
	bpk_salvage_trust_last(salvage);
	if (!salvage->counted)
		salvage->unplaced =
			left->start == BPK_UNKNOWN
				? "it is unknown whether others were before the first, from which "
				  "all ranges are counted"
				: "the numbers of chunks follow from the gaps between them";
	return 0;
}

/* ---- The whole ---- */

static bool holds(const struct bpk_buf *front, const void *bytes, size_t size)
{
	return memmem(front->data, front->size, bytes, size) != NULL;
}

/* Look for the mark of a seal, or its record, before the chunks. */
static int find_seal(struct bpk_source *source, struct bpk_salvage *salvage, struct bpk_err *err)
{
	enum { MOST = 64 << 10 };
	static const char record[] = "\"" BPK_SEAL_NAME "\":{";
	struct bpk_buf front = { 0 };
	int rc = bpk_buf_resize(&front, MOST, err);

	if (rc == 0)
		rc = bpk_source_read_at(source, 0, bpk_span(front.data, MOST), &front.size, err);
	if (rc == 0 && salvage->count > 0)
		front.size = (size_t)bpk_min_u64(front.size, salvage->all[0].offset);
	salvage->sealed =
		rc == 0 && (holds(&front, bpk_bloscpack_seal_mark, BPK_BLOSCPACK_SEAL_MARK_SIZE) ||
			    holds(&front, record, sizeof record - 1));
	bpk_buf_clear(&front);
	return rc;
}

/* Find the chunks, and left's parts. */
static int search_all(struct search *s, struct bpk_salvage *salvage,
		      struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	if (find_checksum(s, err) != 0)
		return -1;
	salvage->checksum = s->checksum;
	salvage->seal_size = digest_size(s);
	salvage->proven = digest_size(s) > 0;
	if (bpk_bloscpack_left_read_header(&s->scan, left, err) != 0 ||
	    find_chunks(s, salvage, err) != 0 ||
	    (salvage->guesses && digest_size(s) > 0 && guess_chunks(s, salvage, err) != 0) ||
	    find_end(s, left, salvage, err) != 0 || bpk_salvage_find_chunk_size(salvage, err) != 0)
		return -1;
	bpk_salvage_drop_others(salvage, s->scan.size);
	if (bpk_bloscpack_left_find(&s->scan, salvage, left, err) != 0 ||
	    (salvage->count > 0 && number(s, left, salvage, err) != 0))
		return -1;
	return find_seal(s->scan.source, salvage, err);
}

int bpk_bloscpack_salvage_source(struct bpk_source *source, struct bpk_salvage *salvage,
				 struct bpk_err *err)
{
	struct bpk_bloscpack_left *left = bpk_calloc(1, sizeof *left, err);
	struct search s = { 0 };
	int rc = left == NULL ? -1 : bpk_scan_begin(&s.scan, source, false, err);

	if (rc == 0)
		rc = search_all(&s, salvage, left, err);
	bpk_scan_clear(&s.scan);
	if (rc == 0)
		return bpk_bloscpack_left_give(left, salvage, err);
	bpk_bloscpack_left_free(left);
	return -1;
}

int bpk_bloscpack_salvage(const struct bpk_place *place, struct bpk_salvage *salvage,
			  struct bpk_err *err)
{
	return bpk_bloscpack_salvage_source(place->source, salvage, err);
}
