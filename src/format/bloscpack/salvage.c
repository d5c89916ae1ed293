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
#include "format/bloscpack/bloscpack.h"

#include <stdlib.h>

#include "format/salvage.h"

enum { WINDOW = 1 << 20, VOTES = 3 };

/* One thread's own. */
struct search {
	struct bpk_source *source;
	uint64_t size;
	struct bpk_buf window; /* the bytes from window_at on */
	uint64_t window_at;
	struct bpk_buf chunk;
	struct bpk_chunk_ctx *ctx;
	const struct bpk_checksum *checksum; /* NULL: not known yet */
	uint64_t budget;                     /* bytes that may still be read to test chunks */
};

/* ---- Candidates ---- */

static int see(struct search *s, uint64_t at, size_t size, const uint8_t **bytes,
	       struct bpk_err *err)
{
	size_t got;

	if (at < s->window_at || at + size > s->window_at + s->window.size) {
		s->window_at = at;
		if (bpk_buf_resize(&s->window, WINDOW, err) != 0 ||
		    bpk_source_read_at(s->source, at, bpk_span(s->window.data, WINDOW), &got,
				       err) != 0)
			return -1;
		s->window.size = got;
		if (got < size)
			return bpk_fail(err, BPK_FAILED, "has become shorter");
	}
	*bytes = s->window.data + (at - s->window_at);
	return 0;
}

/* True in *is if the bytes at offset may be a chunk's header, whose chunk ends in the file. */
static int look(struct search *s, uint64_t at, struct bpk_chunk_header *header, bool *is,
		struct bpk_err *err)
{
	const uint8_t *bytes;

	*is = false;
	if (at > s->size || s->size - at < BPK_CHUNK_HEADER_SIZE)
		return 0;
	if (see(s, at, BPK_CHUNK_HEADER_SIZE, &bytes, err) != 0)
		return -1;
	*is = bytes[0] == 2 &&
	      bpk_chunk_header_read_plain(bpk_view(bytes, BPK_CHUNK_HEADER_SIZE), header, NULL) ==
		      0 &&
	      header->raw_size > 0 && header->packed_size <= s->size - at;
	return 0;
}

static unsigned digest_size(const struct search *s)
{
	return s->checksum == NULL ? 0 : s->checksum->size;
}

/* Bring the chunk and the bytes of a digest that follow, as far as there are any. */
static int bring(struct search *s, uint64_t at, const struct bpk_chunk_header *header,
		 struct bpk_err *err)
{
	size_t size =
		(size_t)bpk_min_u64(s->size - at, (uint64_t)header->packed_size + BPK_DIGEST_MAX);
	size_t got;

	if (size > s->budget)
		return bpk_fail(err, BPK_LIMIT,
				"holds too many false chunk headers to find the true ones");
	s->budget -= size;
	if (bpk_buf_resize(&s->chunk, size, err) != 0 ||
	    bpk_source_read_at(s->source, at, bpk_span(s->chunk.data, size), &got, err) != 0)
		return -1;
	return got == size ? 0 : bpk_fail(err, BPK_FAILED, "has become shorter");
}

static bool fits(const struct search *s, const struct bpk_chunk_header *header,
		 const struct bpk_checksum *checksum)
{
	return s->chunk.size - header->packed_size >= checksum->size &&
	       bpk_checksum_check(checksum, bpk_view(s->chunk.data, header->packed_size),
				  s->chunk.data + header->packed_size, NULL) == 0;
}

/* ---- One chunk ---- */

/* *is: the chunk at offset, whose header was looked at, is intact. */
static int test(struct search *s, uint64_t at, const struct bpk_chunk_header *header, bool *is,
		struct bpk_err *err)
{
	struct bpk_chunk_header next;
	uint64_t end = at + header->packed_size;

	*is = false;
	if (digest_size(s) > s->size - end)
		return 0;
	if (s->checksum->size == 0 && end < s->size) {
		if (look(s, end, &next, is, err) != 0)
			return -1;
		if (!*is)
			return 0;
	}
	if (bring(s, at, header, err) != 0)
		return -1;
	*is = s->checksum->size > 0
		      ? fits(s, header, s->checksum)
		      : bpk_chunk_prove(s->ctx, bpk_view(s->chunk.data, header->packed_size),
					NULL) == 0;
	return 0;
}

/* *is: the chunk is damaged, but not its header, since an intact chunk follows right behind it, or
 * it fills the room between the last chunk and the file's end. */
static int test_place(struct search *s, uint64_t at, bool follows,
		      const struct bpk_chunk_header *header, bool *is, struct bpk_err *err)
{
	uint64_t end = at + header->packed_size + digest_size(s);
	struct bpk_chunk_header next;

	*is = follows && end == s->size;
	if (*is || end >= s->size)
		return 0;
	if (look(s, end, &next, is, err) != 0)
		return -1;
	return *is ? test(s, end, &next, is, err) : 0;
}

/* ---- The kind of digest ---- */

/* The first kind with several matches. Files of any header say it by their chunks. */
static int find_checksum(struct search *s, struct bpk_err *err)
{
	unsigned votes[16] = { 0 }, most = 0;
	struct bpk_chunk_header header;
	bool is;

	s->checksum = &bpk_checksums[0];
	for (uint64_t at = 0; at < s->size && most < VOTES; at++) {
		if (look(s, at, &header, &is, err) != 0)
			return -1;
		if (!is)
			continue;
		if (bring(s, at, &header, err) != 0)
			return -1;
		for (size_t i = 1; bpk_checksums[i].name != NULL && i < 16; i++) {
			if (!fits(s, &header, &bpk_checksums[i]))
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

	for (uint64_t at = 0; at < s->size;) {
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

static int compare_sizes(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* The raw size of most chunks; of sizes that are as frequent the larger one. */
static int find_chunk_size(struct bpk_salvage *salvage, struct bpk_err *err)
{
	uint32_t *sizes = bpk_calloc(salvage->count + 1, sizeof *sizes, err);
	size_t n = 0, most = 0;

	if (sizes == NULL)
		return -1;
	for (size_t i = 0; i < salvage->count; i++)
		if (salvage->all[i].intact)
			sizes[n++] = salvage->all[i].raw_size;
	qsort(sizes, n, sizeof *sizes, compare_sizes);
	for (size_t i = 0, same = 0; i < n; i++) {
		same = i > 0 && sizes[i] == sizes[i - 1] ? same + 1 : 1;
		if (same >= most) {
			most = same;
			salvage->chunk_size = sizes[i];
		}
	}
	free(sizes);
	return 0;
}

static uint64_t end_of(const struct bpk_salvage *salvage, size_t i)
{
	const struct bpk_saved *found = &salvage->all[i];

	return found->offset + found->packed_size + salvage->checksum->size;
}

/*
 * Only the last chunk may be shorter, and none may be longer. A short one that neither follows
 * another chunk nor ends the file may belong to an archive inside a damaged chunk.
 */
static bool belongs(const struct search *s, const struct bpk_salvage *salvage, size_t i)
{
	const struct bpk_saved *found = &salvage->all[i];

	if (found->raw_size == salvage->chunk_size)
		return true;
	if (i + 1 < salvage->count || found->raw_size > salvage->chunk_size)
		return false;
	return end_of(salvage, i) == s->size || (i > 0 && end_of(salvage, i - 1) == found->offset);
}

static void drop_others(const struct search *s, struct bpk_salvage *salvage)
{
	size_t kept = 0;

	/* those behind i are where they were found */
	for (size_t i = 0; i < salvage->count; i++) {
		const struct bpk_saved found = salvage->all[i];

		if (belongs(s, salvage, i))
			salvage->all[kept++] = found;
		else
			salvage->nothers += found.intact;
	}
	salvage->count = kept;
}

/* ---- Numbers ---- */

static uint64_t average(const struct bpk_salvage *salvage)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < salvage->count; i++)
		sum += salvage->all[i].packed_size + salvage->checksum->size;
	return salvage->count == 0 ? 1 : bpk_max_u64(1, sum / salvage->count);
}

/* Chunks in a gap of this many bytes: at least one. */
static uint64_t estimate(uint64_t gap, uint64_t average)
{
	return gap == 0 ? 0 : bpk_max_u64(1, (gap + average / 2) / average);
}

/* Number the chunks by the gaps between them. Those before the first cannot be told from the
 * header, metadata and offsets. */
static void number_by_gaps(const struct search *s, struct bpk_salvage *salvage)
{
	uint64_t one = average(salvage), number = 0, end = BPK_UNKNOWN;

	for (size_t i = 0; i < salvage->count; i++) {
		struct bpk_saved *found = &salvage->all[i];

		if (end != BPK_UNKNOWN)
			number += estimate(found->offset - end, one);
		found->number = number++;
		end = end_of(salvage, i);
	}
	/* a short chunk is the last one, whatever follows it */
	if (salvage->count > 0 && salvage->all[salvage->count - 1].raw_size == salvage->chunk_size)
		number += estimate(s->size - end, one);
	salvage->nchunks = number;
	salvage->counted = false;
}

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
		if (see(s, offset + n * BPK_BLOSCPACK_ENTRY_SIZE, BPK_BLOSCPACK_ENTRY_SIZE, &entry,
			err) != 0)
			return -1;
		if (bpk_get_le64(entry) != salvage->all[next].offset)
			continue;
		salvage->all[next++].number = n;
	}
	*is = next == salvage->count;
	return 0;
}

/* The header fits what was found: its counts are used. */
static bool agrees(const struct bpk_bloscpack_header *header, const struct search *s,
		   const struct bpk_salvage *salvage)
{
	uint64_t most = s->size / BPK_CHUNK_HEADER_SIZE;

	return header->nchunks != BPK_UNKNOWN && header->nchunks <= most &&
	       header->nchunks >= salvage->count && header->chunk_size == salvage->chunk_size &&
	       header->checksum == salvage->checksum && header->last_chunk_size > 0 &&
	       header->last_chunk_size <= header->chunk_size;
}

/* Find the entries, which name their own end as the place of the first chunk, behind metadata of
 * any size. */
static int find_entries(struct search *s, const struct bpk_bloscpack_header *header,
			struct bpk_salvage *salvage, struct bpk_err *err)
{
	enum { TRIES = 4 };
	uint64_t first = salvage->all[0].offset, at = header->size, size;
	const uint8_t *entry;

	if (!header->has_offsets ||
	    !bpk_mul_u64(bpk_bloscpack_slots(header), BPK_BLOSCPACK_ENTRY_SIZE, &size) ||
	    size == 0 || size > first)
		return 0;
	for (unsigned tries = 0; !salvage->counted && tries < TRIES && at <= first - size; at++) {
		if (see(s, at, BPK_BLOSCPACK_ENTRY_SIZE, &entry, err) != 0)
			return -1;
		if (bpk_get_le64(entry) != at + size)
			continue;
		tries++;
		if (number_by_offsets(s, at, header->nchunks, salvage, &salvage->counted, err) != 0)
			return -1;
	}
	return 0;
}

/* Without entries that fit, the count alone numbers the chunks if they are all there. */
static int number_by_header(struct search *s, const struct bpk_bloscpack_header *header,
			    struct bpk_salvage *salvage, struct bpk_err *err)
{
	salvage->counted = salvage->count == header->nchunks;
	for (size_t i = 0; salvage->counted && i < salvage->count; i++)
		salvage->all[i].number = i;
	if (!salvage->counted && find_entries(s, header, salvage, err) != 0)
		return -1;
	if (!salvage->counted) {
		number_by_gaps(s, salvage);
		return 0;
	}
	salvage->nchunks = header->nchunks;
	salvage->last_size = header->last_chunk_size;
	return 0;
}

static int number(struct search *s, struct bpk_salvage *salvage, struct bpk_err *err)
{
	size_t size = (size_t)bpk_min_u64(s->size, BPK_BLOSCPACK_HEAD_SIZE);
	const struct bpk_saved *last = &salvage->all[salvage->count - 1];
	struct bpk_bloscpack_header header;
	const uint8_t *head;

	number_by_gaps(s, salvage);
	if (see(s, 0, size, &head, err) != 0)
		return -1;
	if (bpk_bloscpack_header_read(bpk_view(head, size), &header, NULL) == 0 &&
	    agrees(&header, s, salvage) && number_by_header(s, &header, salvage, err) != 0)
		return -1;
	if (!salvage->counted)
		salvage->last_size =
			last->number + 1 == salvage->nchunks ? last->raw_size : salvage->chunk_size;
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

int bpk_bloscpack_salvage(struct bpk_source *source, struct bpk_salvage *salvage,
			  struct bpk_err *err)
{
	enum { TIMES = 64 }; /* a file without false headers takes about twice its size */
	uint64_t size = bpk_source_size(source);
	struct search s = { .source = source, .size = size, .budget = UINT64_MAX };
	int rc;

	if (size <= (UINT64_MAX - ((uint64_t)WINDOW * TIMES)) / TIMES)
		s.budget = size * TIMES + (uint64_t)WINDOW * TIMES;
	s.ctx = bpk_chunk_ctx_new(err);
	rc = s.ctx == NULL ? -1 : find_checksum(&s, err);
	salvage->checksum = s.checksum;
	if (rc == 0)
		rc = find_chunks(&s, salvage, err);
	if (rc == 0)
		rc = find_chunk_size(salvage, err);
	if (rc == 0)
		drop_others(&s, salvage);
	if (rc == 0 && salvage->count > 0)
		rc = number(&s, salvage, err);
	if (rc == 0)
		rc = find_seal(source, salvage, err);
	bpk_chunk_ctx_free(s.ctx);
	bpk_buf_clear(&s.window);
	bpk_buf_clear(&s.chunk);
	return rc;
}
