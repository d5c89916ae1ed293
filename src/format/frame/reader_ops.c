/*
 * The reader of frames, contiguous and sparse: its operations, and its row as a member. formats.c,
 * editors and repack call it.
 */
#include "format/frame/fetch.h"
#include "format/frame/nd/bands.h"
#include "format/frame/latest.h"
#include "format/frame/names.h"
#include "format/frame/open.h"
#include "format/frame/seal.h"

#include "format/members.h"

/* ---- Opening ---- */

/* A frame in a tar, or from a pipe, cannot be changed. */
static int open_sidecar(const struct bpk_place *place, struct bpk_sidecar **sidecar,
			struct bpk_err *err)
{
	*sidecar = NULL;
	if (place->path == NULL || place->is_member || strcmp(place->path, "-") == 0)
		return 0;
	return bpk_sidecar_open(place->path, place->is_directory, sidecar, err);
}

static int reader_open(struct bpk_place *place, const struct bpk_read_options *options,
		       void **reader, struct bpk_err *err)
{
	struct bpk_frame_reader *r = NULL;
	struct bpk_sidecar *sidecar;

	*reader = NULL;
	if (open_sidecar(place, &sidecar, err) != 0)
		return -1;
	if (bpk_sidecar_share(sidecar, err) == 0) {
		(void)bpk_frame_open(place->directory, place->source, options, &r, err);
		bpk_sidecar_release(sidecar);
	}
	if (r == NULL) {
		bpk_sidecar_close(sidecar);
		return -1;
	}
	r->sidecar = sidecar;
	*reader = r;
	return 0;
}

/* ---- The operations ---- */

static const struct bpk_info *reader_info(const void *reader)
{
	return &((const struct bpk_frame_reader *)reader)->info;
}

static bool reader_positional(const void *reader)
{
	(void)reader;
	return true;
}

static int reader_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader;
	int rc;

	if (r->array.bands != NULL)
		return bpk_frame_bands_fetch(r, parcel, err);
	if (r->array.damage.kind != BPK_OK && !r->options.as_stored)
		return bpk_fail_as(err, &r->array.damage);
	rc = bpk_frame_fetch(r, parcel, err);
	if (rc == 0)
		parcel->raw_offset = r->sizes.regular
					     ? parcel->number * (uint64_t)r->state.header.chunk_size
					     : BPK_UNKNOWN;
	return rc;
}

static bool reader_unpacks(const void *reader)
{
	return ((const struct bpk_frame_reader *)reader)->array.bands != NULL;
}

/* Of a sparse frame's bands, which lie in several files, only the index tells. */
static bool is_written_over(const struct bpk_frame_reader *r, uint64_t number)
{
	if (r->dir == NULL)
		return bpk_source_unchanged(r->source, NULL) != 0 && !bpk_frame_is_superseded(r);
	return bpk_frame_has_changed(r) ||
	       (r->array.bands == NULL && bpk_frame_chunk_is_young(r, number));
}

static int reader_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_frame_reader *r = reader;
	struct bpk_err found = { 0 };
	int rc = (reader_unpacks(reader) ? bpk_frame_bands_check
					 : bpk_frame_chunk_check)(reader, parcel, &found);

	/* another program may have written over the chunk, cp among them */
	if (rc != 0 && found.kind == BPK_CORRUPT && is_written_over(r, parcel->number))
		return bpk_fail_changed(err);
	if (rc == 0)
		rc = bpk_frame_seal_bring(r, parcel, &found);
	if (rc != 0 && err != NULL)
		*err = found;
	return rc;
}

/* For bands, the failing call has already named the chunk. */
static int reader_subject(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return reader_unpacks(reader) ? -1 : bpk_frame_chunk_subject(reader, parcel->number, err);
}

/* Walk to chunk number by the sizes in chunk headers; repeated chunks are passed in one step. */
static int walk_to(struct bpk_frame_reader *r, uint64_t number, struct bpk_err *err)
{
	struct bpk_frame_found found;

	if (number < r->located.number)
		r->located.number = r->located.offset = 0;
	while (r->located.number < number) {
		uint64_t first, size, count;

		if (bpk_frame_look_on(r, &r->located.ahead, r->located.number, &found, err) != 0)
			return -1;
		count = 1 + bpk_frame_repeats(r, r->located.number + 1, &first, &size);
		if (count > 1 && first != r->located.number)
			count = 1;
		count = bpk_min_u64(count, number - r->located.number);
		if (!bpk_mul_u64(count, found.header.raw_size, &size) ||
		    !bpk_add_u64(r->located.offset, size, &r->located.offset))
			return bpk_fail(err, BPK_CORRUPT, "chunks unpack to more than 2^64 bytes");
		r->located.number += count;
	}
	return 0;
}

static void reader_ahead(void *reader, uint64_t number)
{
	struct bpk_frame_reader *r = reader;

	if (r->array.bands == NULL)
		bpk_frame_announce(r, number, UINT64_MAX);
}

static int reader_locate(void *reader, uint64_t number, struct bpk_where *where,
			 struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader;
	struct bpk_frame_found found;
	uint64_t entry;

	if (r->array.bands != NULL)
		return bpk_frame_bands_locate(r, number, where, err);
	if (number >= r->state.nchunks)
		return 1;
	if ((!r->sizes.regular && walk_to(r, number, err) != 0) ||
	    bpk_frame_look_on(r, &r->located.ahead, number, &found, err) != 0)
		return -1;
	if (found.offset == BPK_UNKNOWN)
		found.header.packed_size = 0; /* the special chunk is not stored */
	*where = (struct bpk_where){
		.packed_offset = found.offset,
		.raw_offset = r->sizes.regular ? number * (uint64_t)r->state.header.chunk_size
					       : r->located.offset,
		.header = found.header,
	};
	if (r->dir != NULL && found.offset != BPK_UNKNOWN) {
		if (bpk_frame_entry(&r->state, number, &entry, err) != 0)
			return -1;
		bpk_frame_file_name((uint32_t)entry, where->file);
	}
	return bpk_frame_has_seal(&r->state, number)
		       ? bpk_frame_get_seal(&r->state, number, where->digest, err)
		       : 0;
}

static void reader_close(void *reader)
{
	struct bpk_frame_reader *r = reader;

	bpk_sidecar_close(r->sidecar);
	bpk_frame_close(r);
}

/*
 * bpk never overwrites the chunks and the index of a contiguous frame. Other programs do, cp among
 * them, and where no digest covers a chunk only the file's times tell.
 */
static int reader_unchanged(void *reader, bool failed, struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader;
	bool covered = r->state.digests.checksum != NULL && !r->state.stale && !r->options.no_check;

	if (r->dir != NULL)
		return bpk_dir_settle(r->dir, r->generation, failed, err) != 0
			       ? -1
			       : bpk_frame_latest_settle(r, err);
	if (failed || covered || bpk_frame_is_superseded(r))
		return 0;
	return bpk_source_unchanged(r->source, err);
}

/* ---- As a member ---- */

static void find_end(const void *reader, struct bpk_member_end *end)
{
	const struct bpk_frame_reader *r = reader;

	*end = (struct bpk_member_end){ r->state.header.frame_size, r->info.chunks.count,
					r->info.raw_size };
}

/* An append writes chunks, and an index chunk, after the end. No frame is as short as their
 * headers, whose bytes a power cut may have lost. */
static int is_unfinished(void *reader, struct bpk_view head, bool *unfinished, struct bpk_err *err)
{
	enum { LAST_VERSION = 6 }; /* of chunks */
	struct bpk_chunk_header chunk;

	(void)reader;
	(void)err;
	if (head.size <= BPK_EDIT_FIRST)
		*unfinished = head.size > 0 && head.data[0] <= LAST_VERSION;
	else
		*unfinished = bpk_chunk_header_read(head, &chunk, NULL) == 0;
	return 0;
}

static uint64_t size_of(struct bpk_view head)
{
	return head.size < BPK_FRAME_AT_SIZE + sizeof(uint64_t)
		       ? UINT64_MAX
		       : bpk_get_be64(head.data + BPK_FRAME_AT_SIZE);
}

const struct bpk_members_kind bpk_frame_members = {
	.one = &bpk_frame_reader_ops,
	.size = size_of,
	.ends = bpk_frame_is_trailer_start,
	.probe = bpk_frame_probe,
	.end = find_end,
	.unfinished = is_unfinished,
	.seeks = true,
};

const struct bpk_reader_ops bpk_frame_reader_ops = {
	.open = reader_open,
	.info = reader_info,
	.narrow = bpk_frame_bands_narrow,
	.positional = reader_positional,
	.fetch = reader_fetch,
	.ahead = reader_ahead,
	.check = reader_check,
	.unpacks = reader_unpacks,
	.unpack = bpk_frame_bands_unpack,
	.subject = reader_subject,
	.locate = reader_locate,
	.repeats = bpk_frame_repeats,
	.audit = bpk_frame_audit,
	.prove = bpk_frame_seal_prove,
	.refutes = bpk_frame_seal_refutes,
	.unchanged = reader_unchanged,
	.close = reader_close,
};
