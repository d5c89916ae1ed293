/*
 * Finds the chunks of a Bloscpack file without its header and offsets. Its row is in formats.c.
 *
 *     ....| chunk | digest | chunk | digest |..........| chunk | digest | end
 *      gap   found            found            gap        found
 *
 * A chunk is found by its digest, or without digests if it unpacks and another chunk, or the end,
 * follows. The bytes inside a found chunk are never looked at, so that an archive in the data is no
 * part of the result. salvage_numbers.c counts them. Source: Bloscpack format, "Chunks".
 */
#include "format/bloscpack/salvage.h"

#include <stdlib.h>
#include "format/guess.h"

enum { VOTES = 3 };

/* ---- Candidates ---- */

static int look(struct bpk_bloscpack_search *s, uint64_t at, struct bpk_chunk_header *header,
		bool *is, struct bpk_err *err)
{
	return bpk_scan_look(&s->scan, at, header, is, err);
}

/* Bring the chunk and the bytes of a digest that follow, as far as there are any. */
static int bring(struct bpk_bloscpack_search *s, uint64_t at, const struct bpk_chunk_header *header,
		 struct bpk_err *err)
{
	return bpk_scan_bring(&s->scan, at, header->packed_size, BPK_DIGEST_MAX, err);
}

/* No line is made of the many that do not match. */
static int fits(const struct bpk_bloscpack_search *s, const struct bpk_chunk_header *header,
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
static int test(struct bpk_bloscpack_search *s, uint64_t at, const struct bpk_chunk_header *header,
		bool *is, struct bpk_err *err)
{
	struct bpk_chunk_header next;
	uint64_t end = at + header->packed_size;
	struct bpk_err why = { 0 };

	*is = false;
	if (bpk_bloscpack_digest_size(s) > s->scan.size - end)
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
static int test_place(struct bpk_bloscpack_search *s, uint64_t at, bool follows,
		      const struct bpk_chunk_header *header, bool *is, struct bpk_err *err)
{
	uint64_t end = at + header->packed_size + bpk_bloscpack_digest_size(s);
	struct bpk_chunk_header next;

	*is = follows && end == s->scan.size;
	if (*is || end >= s->scan.size)
		return 0;
	if (look(s, end, &next, is, err) != 0)
		return -1;
	return *is ? test(s, end, &next, is, err) : 0;
}

/* ---- The kind of digest ---- */

/* The first kind with several matches. Files of any header say it by their chunks, and if none is
 * intact by the header. A chunk with another one right behind it has no digest. */
static int find_checksum(struct bpk_bloscpack_search *s, const struct bpk_bloscpack_left *left,
			 struct bpk_err *err)
{
	unsigned votes[16] = { 0 }, most = 0;
	struct bpk_chunk_header header, next;
	bool is, follows, bare = false;

	s->checksum = &bpk_checksums[0];
	for (uint64_t at = 0; at < s->scan.size && most < VOTES;
	     at = bpk_scan_skip(&s->scan, at + 1)) {
		if (look(s, at, &header, &is, err) != 0)
			return -1;
		if (!is)
			continue;
		if (look(s, at + header.packed_size, &next, &follows, err) != 0)
			return -1;
		bare = bare || follows;
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
	if (most == 0 && !bare && left->has_header)
		s->checksum = left->header.checksum;
	return 0;
}

/* ---- All chunks ---- */

static int find_chunks(struct bpk_bloscpack_search *s, struct bpk_salvage *salvage,
		       struct bpk_err *err)
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
			at = bpk_scan_skip(&s->scan, at + 1);
			continue;
		}
		found.intact = intact;
		found.packed_size = header.packed_size;
		found.raw_size = header.raw_size;
		if (intact && salvage->typesize == 0)
			salvage->typesize = header.typesize;
		if (bpk_salvage_add(salvage, &found, err) != 0)
			return -1;
		end = at += header.packed_size + bpk_bloscpack_digest_size(s);
	}
	return 0;
}

/* ---- Guesses ---- */

/* Guess at the chunk and its digest that lie between start and end; *is: one byte tells it. */
static int guess_chunk(struct bpk_bloscpack_search *s, uint64_t start, uint64_t end,
		       uint64_t *budget, struct bpk_salvage *salvage, struct bpk_saved *found,
		       bool *is, struct bpk_err *err)
{
	unsigned size = bpk_bloscpack_digest_size(s);
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
	salvage->unguessed = salvage->unguessed || guess.too_large;
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
static int guess_gap(struct bpk_bloscpack_search *s, uint64_t start, uint64_t end,
		     const struct bpk_saved *places, size_t n, uint64_t *budget,
		     struct bpk_salvage *all, struct bpk_err *err)
{
	while (start < end) {
		struct bpk_chunk_header header;
		struct bpk_saved found;
		uint64_t stop = end;
		bool is;

		if (look(s, start, &header, &is, err) != 0)
			return -1;
		if (is && header.packed_size + bpk_bloscpack_digest_size(s) <= end - start)
			stop = start + header.packed_size + bpk_bloscpack_digest_size(s);
		if (guess_chunk(s, start, stop, budget, all, &found, &is, err) != 0 ||
		    (is && bpk_salvage_add(all, &found, err) != 0))
			return -1;
		for (; n > 0 && places->offset < stop; places++, n--)
			if (!is && bpk_salvage_add(all, places, err) != 0)
				return -1;
		start = stop;
	}
	return 0;
}

/* Move *start, where the first chunk that is known begins, or the end of the file, to headers whose
 * chunks lead there. */
static int find_front(struct bpk_bloscpack_search *s, uint64_t *start, struct bpk_err *err)
{
	enum { MOST = 16 };
	struct bpk_chunk_header header;
	bool is = true;

	for (unsigned i = 0; is && i < MOST; i++) {
		is = false;
		for (uint64_t at = 0; !is && at < *start; at++) {
			if (look(s, at, &header, &is, err) != 0)
				return -1;
			is = is && header.packed_size + bpk_bloscpack_digest_size(s) == *start - at;
			if (is)
				*start = at;
		}
	}
	return 0;
}

/* True if a guess at a damaged chunk is possible. */
static bool may_guess(const struct bpk_salvage *salvage)
{
	for (size_t i = 0; i < salvage->count; i++)
		if (!salvage->all[i].intact &&
		    bpk_guess_allows(salvage->checksum, salvage->all[i].packed_size,
				     BPK_GUESS_BUDGET))
			return true;
	return false;
}

/* Guess at the bytes between two intact chunks, before the first, if a header of one is there, and
 * behind the last. */
static int guess_chunks(struct bpk_bloscpack_search *s, struct bpk_salvage *salvage,
			struct bpk_err *err)
{
	uint64_t start = salvage->count > 0 ? salvage->all[0].offset : s->scan.size;
	uint64_t budget = BPK_GUESS_BUDGET;
	struct bpk_salvage all = { 0 };
	size_t places = 0; /* the first behind the last intact chunk */
	int rc = find_front(s, &start, err);

	for (size_t i = 0; rc == 0 && i <= salvage->count; i++) {
		const struct bpk_saved *next = i < salvage->count ? &salvage->all[i] : NULL;
		uint64_t end = next != NULL ? next->offset : s->scan.size;

		if (next != NULL && !next->intact)
			continue;
		/* without a chunk there is no list */
		rc = guess_gap(s, start, end, i > places ? salvage->all + places : NULL, i - places,
			       &budget, &all, err);
		if (rc == 0 && next != NULL) {
			rc = bpk_salvage_add(&all, next, err);
			start = end + next->packed_size + bpk_bloscpack_digest_size(s);
		}
		places = i + 1;
	}
	free(salvage->all);
	salvage->unguessed = all.unguessed;
	salvage->all = all.all;
	salvage->count = all.count;
	salvage->room = all.room;
	return rc;
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

/* Count the intact chunks in the bytes of the file from offset start on, of any kind of digest. */
static int count_chunks(struct bpk_source *file, uint64_t start, uint64_t *count,
			struct bpk_err *err)
{
	const struct bpk_bloscpack_left none = { 0 };
	struct bpk_bloscpack_search s = { 0 };
	struct bpk_salvage found = { 0 };
	struct bpk_source *part = NULL;
	int rc = bpk_source_slice(file, start, bpk_source_size(file) - start, &part, err);

	if (rc == 0)
		rc = bpk_scan_begin(&s.scan, part, false, err);
	if (rc == 0)
		rc = find_checksum(&s, &none, err);
	if (rc == 0)
		rc = find_chunks(&s, &found, err);
	*count = bpk_salvage_intact(&found);
	bpk_salvage_clear(&found);
	bpk_scan_clear(&s.scan);
	bpk_source_close(part);
	return rc;
}

/* Leave out the bytes behind the archive, and say so if they have chunks, or begin as another one,
 * whose chunks may all be damaged. */
static int leave_others(struct bpk_bloscpack_search *s, struct bpk_bloscpack_left *left,
			struct bpk_salvage *salvage, struct bpk_err *err)
{
	struct bpk_source *source = s->scan.source;
	uint64_t others = 0;

	if (bpk_bloscpack_find_end(s, left, salvage, err) != 0)
		return -1;
	if (s->scan.size == bpk_source_size(source))
		return 0;
	if (count_chunks(source, s->scan.size, &others, err) != 0)
		return -1;
	if (others > 0)
		return bpk_salvage_doubt_others(salvage, others, err);
	return bpk_salvage_doubt_archive(salvage, source, s->scan.size, bpk_bloscpack_claims, err);
}

/* Find the chunks, and left's parts. */
static int search_all(struct bpk_bloscpack_search *s, struct bpk_salvage *salvage,
		      struct bpk_bloscpack_left *left, struct bpk_err *err)
{
	if (bpk_bloscpack_left_read_header(&s->scan, left, err) != 0 ||
	    find_checksum(s, left, err) != 0)
		return -1;
	salvage->checksum = s->checksum;
	salvage->seal_size = bpk_bloscpack_digest_size(s);
	salvage->proven = bpk_bloscpack_digest_size(s) > 0;
	if (find_chunks(s, salvage, err) != 0 ||
	    (salvage->guesses && bpk_bloscpack_digest_size(s) > 0 &&
	     guess_chunks(s, salvage, err) != 0) ||
	    leave_others(s, left, salvage, err) != 0 ||
	    bpk_bloscpack_find_size(s, left, salvage, err) != 0)
		return -1;
	bpk_salvage_drop_others(salvage, s->scan.size);
	salvage->guessable = !salvage->guesses && may_guess(salvage);
	if (bpk_bloscpack_left_find(&s->scan, salvage, left, err) != 0 ||
	    (salvage->count > 0 && bpk_bloscpack_number(s, left, salvage, err) != 0) ||
	    bpk_bloscpack_left_take_entries(&s->scan, salvage, left, err) != 0)
		return -1;
	return find_seal(s->scan.source, salvage, err);
}

int bpk_bloscpack_salvage_source(struct bpk_source *source, struct bpk_salvage *salvage,
				 struct bpk_err *err)
{
	struct bpk_bloscpack_left *left = bpk_calloc(1, sizeof *left, err);
	struct bpk_bloscpack_search s = { 0 };
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
	if (bpk_bloscpack_salvage_source(place->source, salvage, err) != 0)
		return -1;
	if (salvage->counted && salvage->unsized)
		salvage->unplaced = "the size of the lost chunks is not certain";
	salvage->counted = salvage->counted && !salvage->unsized;
	return 0;
}
