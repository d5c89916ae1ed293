/* The reader of Bloscpack files, whose calls hold the source, and its row as a member. Called
 * through formats.c, by the editor and by chunked directories. */
#include "format/bloscpack/bloscpack.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/members.h"

/* ---- Opening ---- */

static void reader_close(void *reader)
{
	struct bpk_bloscpack_reader *r = reader;

	if (r == NULL)
		return;
	bpk_bloscpack_marks_free(r->marks);
	bpk_bloscpack_ahead_free(r->ahead);
	bpk_bloscpack_metadata_clear(&r->metadata);
	bpk_seal_clear(&r->seal);
	bpk_seal_leaves_free(r->leaves);
	bpk_seal_proof_free(r->proof);
	bpk_bloscpack_sizes_clear(&r->sizes);
	bpk_array_clear(&r->array);
	free(r);
}

static int reader_open(struct bpk_place *place, const struct bpk_read_options *options,
		       void **reader, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r;
	int rc;

	*reader = NULL;
	if (place->is_directory)
		return bpk_fail(err, BPK_CORRUPT, "a directory, expected a Bloscpack file");
	r = bpk_calloc(1, sizeof *r, err);
	if (r == NULL)
		return -1;
	r->source = place->source;
	r->seekable = bpk_source_seekable(place->source);
	r->options = *options;
	rc = bpk_source_hold(r->source, err);
	if (rc == 0) {
		r->size = bpk_source_size(r->source);
		rc = bpk_bloscpack_marks_new(r->source, &r->marks, err);
		if (rc == 0 && r->marks != NULL)
			rc = bpk_bloscpack_ahead_new(&r->ahead, err);
		if (rc == 0)
			rc = bpk_bloscpack_open_parts(r, err);
		if (rc == 0 && r->options.to_end)
			rc = bpk_bloscpack_marks_pin(r, err);
		if (rc == 0 && r->options.audits && r->seal.tree != NULL)
			rc = bpk_seal_leaves_new(NULL, NULL, &r->leaves, err);
		bpk_source_release(r->source);
	}
	if (rc != 0) {
		reader_close(r);
		return -1;
	}
	*reader = r;
	return 0;
}

static const struct bpk_info *reader_info(const void *reader)
{
	return &((const struct bpk_bloscpack_reader *)reader)->info;
}

static bool reader_positional(const void *reader)
{
	return ((const struct bpk_bloscpack_reader *)reader)->positional;
}

/* ---- Fetching ---- */

/* The raw bytes of chunk number at open, if it has more now. */
static size_t size_at_open(const struct bpk_bloscpack_reader *r, uint64_t number, size_t raw_size)
{
	const struct bpk_bloscpack_header *h = &r->header;

	return number == h->nchunks - 1 ? (size_t)bpk_min_u64(raw_size, h->last_chunk_size)
					: raw_size;
}

/* Chunks were added since open: fetch one of the earlier ones. */
static int fetch_grown(struct bpk_bloscpack_reader *r, struct bpk_bloscpack_reader *now,
		       struct bpk_parcel *parcel, struct bpk_err *err)
{
	bool last = parcel->number == r->header.nchunks - 1;
	int rc;

	if (parcel->number >= r->header.nchunks)
		return 1;
	rc = bpk_bloscpack_fetch_held(now, parcel, err);
	if (rc != 0)
		return rc;
	parcel->data_size = size_at_open(r, parcel->number, parcel->raw_size);
	if (!r->positional) {
		r->sequence = now->sequence;
		r->sequence.ended = last;
	}
	return 0;
}

static int fetch_in_hold(struct bpk_bloscpack_reader *r, struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	struct bpk_bloscpack_walk before;
	struct bpk_bloscpack_reader now;
	int rc;

	/* a positional reader is used by several threads, and does not walk */
	if (!r->positional)
		before = r->sequence;
	if (bpk_source_hold(r->source, err) != 0)
		return -1;
	rc = bpk_bloscpack_fetch_held(r, parcel, err);
	if (rc < 0 && bpk_bloscpack_concurrent_judge(r, &now, err) == BPK_BLOSCPACK_GROWN) {
		if (!r->positional)
			now.sequence = before;
		rc = fetch_grown(r, &now, parcel, err);
	}
	bpk_source_release(r->source);
	return rc;
}

static int reader_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = reader;
	struct bpk_err found = { 0 };
	int rc;

	if (!bpk_bloscpack_fetch_still(r, parcel, &rc, &found))
		rc = fetch_in_hold(r, parcel, &found);
	if (rc == 0)
		rc = bpk_bloscpack_marks_fetched(r, parcel, &found);
	if (rc == 0)
		rc = bpk_bloscpack_seal_test(r, parcel, &found);
	if (rc < 0 && err != NULL)
		*err = found;
	return rc;
}

static int reader_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_bloscpack_reader *r = reader;
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);

	if (parcel->packed.size - parcel->packed_size < r->header.checksum->size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was fetched without its digest",
				parcel->number);
	if (bpk_checksum_check(r->header.checksum, chunk, parcel->packed.data + parcel->packed_size,
			       err) != 0)
		return bpk_bloscpack_chunk_subject(err, parcel->number, parcel->packed_offset);
	return r->leaves == NULL
		       ? 0
		       : bpk_seal_leaves_bring(r->leaves, r->header.checksum, parcel, err);
}

/* ---- Locating ---- */

static void reader_ahead(void *reader, uint64_t number)
{
	struct bpk_bloscpack_reader *r = reader;
	struct bpk_bloscpack_extent extent;

	if (bpk_source_is_remote(r->source) && r->positional && number < r->header.nchunks &&
	    bpk_bloscpack_find(r, number, NULL, &extent, NULL) == 0 && extent.exact)
		bpk_source_ahead(r->source, extent.offset, extent.room);
}

static int reader_locate(void *reader, uint64_t number, struct bpk_where *where,
			 struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = reader;
	struct bpk_bloscpack_walk before = r->located;
	struct bpk_bloscpack_reader now;
	struct bpk_err found = { 0 };
	int rc;

	if (r->header.nchunks != BPK_UNKNOWN && number >= r->header.nchunks)
		return 1;
	if (bpk_source_hold(r->source, err) != 0)
		return -1;
	rc = bpk_bloscpack_locate_held(r, number, where, &found);
	if (rc < 0 && bpk_bloscpack_concurrent_judge(r, &now, &found) == BPK_BLOSCPACK_GROWN) {
		now.located = before;
		rc = bpk_bloscpack_locate_held(&now, number, where, &found);
		r->located = now.located;
		where->header.raw_size = (uint32_t)size_at_open(r, number, where->header.raw_size);
	}
	bpk_source_release(r->source);
	if (rc == 0)
		rc = bpk_bloscpack_marks_located(r, number, where, &found);
	if (rc < 0 && err != NULL)
		*err = found;
	return rc;
}

/* ---- As a member ---- */

/* The walk that has passed all chunks; NULL if neither has. */
static const struct bpk_bloscpack_walk *passed(const struct bpk_bloscpack_reader *r)
{
	if (r->sequence.ended || r->sequence.number == r->header.nchunks)
		return &r->sequence;
	return r->located.ended || r->located.number == r->header.nchunks ? &r->located : NULL;
}

static void find_end(const void *reader, struct bpk_member_end *end)
{
	const struct bpk_bloscpack_reader *r = reader;
	const struct bpk_bloscpack_walk *walk = r->positional ? NULL : passed(r);

	*end = (struct bpk_member_end){ r->end, r->header.nchunks, r->header.raw_size };
	if (walk != NULL)
		*end = (struct bpk_member_end){ walk->ended ? walk->end : walk->offset,
						walk->number, walk->raw_offset };
}

/* Find out whether the entry after the last is set; unknown on a pipe. */
static int find_added_entry(struct bpk_bloscpack_reader *r, bool *added, struct bpk_err *err)
{
	uint64_t entry;

	*added = false;
	if (!r->seekable || r->header.nchunks >= r->offsets.count)
		return 0;
	if (bpk_bloscpack_offsets_get(&r->offsets, r->header.nchunks, 1, &entry, err) != 0)
		return -1;
	*added = entry != BPK_UNKNOWN;
	return 0;
}

/* True if head looks like an interrupted append, which writes chunks after the end, then their
 * entries. Without offsets an append saves the old end in a journal. A power cut may have lost the
 * first bytes; no archive with data is as short as these. */
static int is_unfinished(void *reader, struct bpk_view head, bool *unfinished, struct bpk_err *err)
{
	struct bpk_bloscpack_reader *r = reader;
	struct bpk_chunk_header chunk;

	*unfinished = false;
	/* an append to a sealed archive leaves a journal */
	if (!r->header.has_offsets || r->seal.marked)
		return 0;
	if (find_added_entry(r, unfinished, err) != 0)
		return -1;
	if (*unfinished)
		return 0;
	if (head.size <= BPK_EDIT_FIRST)
		*unfinished = head.size > 0 && head.data[0] <= 2;
	else
		*unfinished =
			bpk_chunk_header_read_plain(bpk_view(head.data, BPK_CHUNK_HEADER_SIZE),
						    &chunk, NULL) == 0 &&
			chunk.header_size == BPK_CHUNK_HEADER_SIZE && chunk.raw_size > 0;
	return 0;
}

const struct bpk_members_kind bpk_bloscpack_members = {
	.one = &bpk_bloscpack_reader_ops,
	.probe = bpk_bloscpack_probe,
	.end = find_end,
	.unfinished = is_unfinished,
	.has_digests = true,
};

const struct bpk_reader_ops bpk_bloscpack_reader_ops = {
	.open = reader_open,
	.info = reader_info,
	.positional = reader_positional,
	.fetch = reader_fetch,
	.ahead = reader_ahead,
	.check = reader_check,
	.locate = reader_locate,
	.audit = bpk_bloscpack_audit,
	.prove = bpk_bloscpack_seal_prove,
	.refutes = bpk_bloscpack_seal_refutes,
	.unchanged = bpk_bloscpack_unchanged,
	.close = reader_close,
};
