/*
 * The reader of frames, contiguous and sparse: open, fetch, check, locate, and its row as a member.
 */
#include "format/frame/bands.h"
#include "format/frame/reader.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/members.h"

/* ---- Raw sizes ---- */

/*
 * Find out whether all chunks but the last have one size. A frame that c-blosc2 2.15 appended to
 * after a short chunk has that in its middle ("Chunks"): its last chunk then is longer than the
 * sizes allow. Only the last chunk's header shows this; damage there is reported when it is
 * fetched.
 */
static int settle_sizes(struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_header *header = &r->state.header;
	uint64_t n = r->state.nchunks, size = (uint64_t)header->chunk_size;
	struct bpk_frame_found last;
	struct bpk_err why = { 0 };

	r->last_size = n == 0 ? 0 : BPK_UNKNOWN;
	r->raw_size = header->raw_size;
	r->special_size = BPK_UNKNOWN;
	if (header->chunk_size == 0 && bpk_frame_measure(r, err) != 0)
		return -1;
	if (n == 0)
		return 0;
	if (bpk_frame_look_here(r, n - 1, &last, &why) == 0)
		r->last_size = last.header.raw_size;
	else if (bpk_frame_is_failure(&why))
		return bpk_fail(err, why.kind, "%s", why.text);
	r->regular =
		header->chunk_size > 0 && n == bpk_frame_count(header) &&
		(r->last_size == BPK_UNKNOWN || r->last_size == header->raw_size - (n - 1) * size);
	if (r->regular)
		r->last_size = header->raw_size - (n - 1) * size;
	return r->regular || size == 0 ? 0 : bpk_frame_measure(r, err);
}

/* ---- Opening ---- */

void bpk_frame_close(struct bpk_frame_reader *r)
{
	if (r == NULL)
		return;
	bpk_frame_later_free(r);
	bpk_frame_repeats_free(r);
	bpk_frame_state_clear(&r->state);
	bpk_frame_nd_clear(&r->nd);
	bpk_buf_clear(&r->metadata);
	bpk_buf_clear(&r->known);
	free(r->bands);
	free(r->layers);
	if (r->owns_source)
		bpk_source_close(r->source);
	bpk_spool_close(r->spool);
	bpk_mutex_clear(&r->lock);
	free(r);
}

static int load(struct bpk_frame_reader *r, struct bpk_err *err)
{
	if (bpk_frame_state_load(r->source, r->dir != NULL, r->options.no_check, &r->state, err) !=
		    0 ||
	    settle_sizes(r, err) != 0)
		return -1;
	return bpk_frame_fill_info(r, err);
}

/* A frame is located from its end, so a pipe is spooled. */
static int open_source(struct bpk_frame_reader *r, struct bpk_source *source, struct bpk_err *err)
{
	r->source = source;
	if (bpk_source_seekable(source))
		return 0;
	r->source = NULL;
	if (bpk_spool_open(&r->spool, err) != 0 || bpk_spool_fill(r->spool, source, err) != 0)
		return -1;
	r->owns_source = true;
	return bpk_spool_source(r->spool, &r->source, err);
}

static int open_index(struct bpk_frame_reader *r, struct bpk_dir *dir, struct bpk_err *err)
{
	r->dir = dir;
	r->owns_source = true;
	if (bpk_dir_generation(dir, &r->generation, err) != 0)
		return -1;
	return bpk_dir_source(dir, BPK_FRAME_SPARSE_INDEX, &r->source, err);
}

static int open_once(struct bpk_dir *dir, struct bpk_source *source,
		     const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		     bool *changed, struct bpk_err *err)
{
	struct bpk_frame_reader *r = bpk_calloc(1, sizeof *r, err);
	int rc;

	*reader = NULL;
	*changed = false;
	if (r == NULL)
		return -1;
	bpk_mutex_init(&r->lock);
	r->options = *options;
	rc = dir != NULL ? open_index(r, dir, err) : open_source(r, source, err);
	if (rc == 0)
		rc = bpk_source_hold(r->source, err);
	if (rc == 0) {
		rc = load(r, err);
		bpk_source_release(r->source);
		if (rc != 0 && dir != NULL)
			bpk_err_subject(err, "%s", BPK_FRAME_SPARSE_INDEX);
	}
	*changed = dir != NULL && r->source != NULL && bpk_frame_has_changed(r);
	if (rc != 0 || *changed) {
		bpk_frame_close(r);
		return -1;
	}
	*reader = r;
	return 0;
}

/* Opening a sparse frame examines chunks, which may already belong to the next state. */
int bpk_frame_open(struct bpk_dir *dir, struct bpk_source *source,
		   const struct bpk_read_options *options, struct bpk_frame_reader **reader,
		   struct bpk_err *err)
{
	bool changed = true;
	int rc = -1;

	for (int i = 0; changed && i < BPK_FRAME_TIMES; i++)
		rc = open_once(dir, source, options, reader, &changed, err);
	return changed ? bpk_fail(err, BPK_FAILED, "changed while it was opened") : rc;
}

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

	if (r->bands != NULL)
		return bpk_frame_bands_fetch(r, parcel, err);
	if (r->array_damage.kind != BPK_OK && !r->options.as_stored)
		return bpk_fail(err, r->array_damage.kind, "%s", r->array_damage.text);
	rc = bpk_frame_bring(r, parcel, err);
	if (rc == 0)
		parcel->raw_offset = r->regular
					     ? parcel->number * (uint64_t)r->state.header.chunk_size
					     : BPK_UNKNOWN;
	return rc;
}

static bool reader_unpacks(const void *reader)
{
	return ((const struct bpk_frame_reader *)reader)->bands != NULL;
}

static int reader_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
			 const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	return bpk_frame_bands_unpack(reader, ctx, parcel, out, err);
}

static int reader_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return (reader_unpacks(reader) ? bpk_frame_bands_check : bpk_frame_check)(reader, parcel,
										  err);
}

/* For bands, the failing call has already named the chunk. */
static int reader_subject(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	return reader_unpacks(reader) ? -1 : bpk_frame_subject(reader, parcel->number, err);
}

/* Walk to chunk number by the sizes in chunk headers; repeated chunks are passed in one step. */
static int walk_to(struct bpk_frame_reader *r, uint64_t number, struct bpk_err *err)
{
	struct bpk_frame_found found;

	if (number < r->located)
		r->located = r->located_offset = 0;
	while (r->located < number) {
		uint64_t first, size, count;

		if (bpk_frame_look_on(r, &r->ahead, r->located, &found, err) != 0)
			return -1;
		count = 1 + bpk_frame_repeats(r, r->located + 1, &first, &size);
		if (count > 1 && first != r->located)
			count = 1;
		count = bpk_min_u64(count, number - r->located);
		if (!bpk_mul_u64(count, found.header.raw_size, &size) ||
		    !bpk_add_u64(r->located_offset, size, &r->located_offset))
			return bpk_fail(err, BPK_CORRUPT, "chunks unpack to more than 2^64 bytes");
		r->located += count;
	}
	return 0;
}

static int reader_locate(void *reader, uint64_t number, struct bpk_where *where,
			 struct bpk_err *err)
{
	struct bpk_frame_reader *r = reader;
	const struct bpk_frame_digests *digests = &r->state.digests;
	struct bpk_frame_found found;
	const uint8_t *digest;

	if (r->bands != NULL)
		return bpk_frame_bands_locate(r, number, where, err);
	if (number >= r->state.nchunks)
		return 1;
	if ((!r->regular && walk_to(r, number, err) != 0) ||
	    bpk_frame_look_on(r, &r->ahead, number, &found, err) != 0)
		return -1;
	if (found.offset == BPK_UNKNOWN)
		found.header.packed_size = 0; /* the special chunk is not stored */
	*where = (struct bpk_where){
		.packed_offset = found.offset,
		.raw_offset = r->regular ? number * (uint64_t)r->state.header.chunk_size
					 : r->located_offset,
		.header = found.header,
	};
	digest = r->state.stale ? NULL : bpk_frame_digests_chunk(digests, number);
	if (digest != NULL)
		memcpy(where->digest, digest, digests->checksum->size);
	return 0;
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
static int reader_settle(void *reader, bool failed, struct bpk_err *err)
{
	const struct bpk_frame_reader *r = reader;
	bool covered = r->state.digests.checksum != NULL && !r->state.stale;

	if (r->dir != NULL)
		return bpk_dir_settle(r->dir, r->generation, failed, err);
	if (failed || covered || bpk_frame_is_superseded(r))
		return 0;
	return bpk_source_unchanged(r->source, err);
}

int bpk_frame_check_end(const struct bpk_frame_reader *reader, struct bpk_err *err)
{
	uint64_t end = reader->state.header.frame_size, size = bpk_source_size(reader->source);

	if (reader->dir == NULL || size <= end)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"chunks.b2frame: %" PRIu64 " bytes from offset %" PRIu64
			" on, after its end, belong to no archive",
			size - end, end);
}

int bpk_frame_check_room(const struct bpk_frame_reader *reader, uint64_t number,
			 const struct bpk_frame_found *found, struct bpk_err *err)
{
	uint64_t end = found->header.packed_size;

	if (reader->dir == NULL || found->offset == BPK_UNKNOWN || found->room <= end)
		return 0;
	bpk_fail(err, BPK_CORRUPT,
		 "%" PRIu64 " bytes from offset %" PRIu64
		 " on, after its end, belong to no archive",
		 found->room - end, end);
	return bpk_frame_subject(reader, number, err);
}

/* ---- As a member ---- */

static void find_end(const void *reader, struct bpk_member_end *end)
{
	const struct bpk_frame_reader *r = reader;

	*end = (struct bpk_member_end){ r->state.header.frame_size, r->info.nchunks,
					r->info.raw_size };
}

/* An append writes chunks, and an index chunk, after the end. */
static bool is_unfinished(void *reader, struct bpk_view head)
{
	enum { LAST_VERSION = 6 }; /* of chunks */
	struct bpk_chunk_header chunk;

	(void)reader;
	if (head.size < BPK_CHUNK_EXTENDED_HEADER_SIZE)
		return head.size > 0 && head.data[0] >= 1 && head.data[0] <= LAST_VERSION;
	return bpk_chunk_header_read(head, &chunk, NULL) == 0;
}

const struct bpk_members_kind bpk_frame_members = {
	.one = &bpk_frame_reader_ops,
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
	.check = reader_check,
	.unpacks = reader_unpacks,
	.unpack = reader_unpack,
	.subject = reader_subject,
	.locate = reader_locate,
	.repeats = bpk_frame_repeats,
	.audit = bpk_frame_audit,
	.settle = reader_settle,
	.close = reader_close,
};
