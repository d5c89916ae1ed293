/*
 * Finds and fetches the chunks of a frame by their numbers, in the state at open. fetch.c does so
 * while a writer changes the frame. Called by reader, audit, surveys, repack and editors.
 */
#include "format/frame/chunks.h"
#include "format/frame/names.h"
#include "format/frame/notes.h"
#include "format/weigh.h"

#include <inttypes.h>

/* ---- Sizes ---- */

uint64_t bpk_frame_chunk_size(const struct bpk_frame_reader *r, uint64_t number)
{
	if (!r->sizes.regular)
		return BPK_UNKNOWN;
	return number == r->state.nchunks - 1 ? r->sizes.last
					      : (uint64_t)r->state.header.chunk_size;
}

/* Raw bytes of a special offset ("Index chunk and offsets"), which has no header. */
static uint64_t special_size(const struct bpk_frame_reader *r, uint64_t number)
{
	uint64_t size = (uint64_t)r->state.header.chunk_size;

	if (r->sizes.regular)
		return bpk_frame_chunk_size(r, number);
	if (size == 0 && number == r->sizes.last_special && r->sizes.special != BPK_UNKNOWN)
		return r->sizes.special + r->sizes.special_rest;
	if (size == 0)
		return r->sizes.special;
	return number == r->state.nchunks - 1 && r->state.header.raw_size % size != 0
		       ? r->state.header.raw_size % size
		       : size;
}

static int check_size(const struct bpk_frame_reader *r, uint64_t number,
		      const struct bpk_chunk_header *chunk, struct bpk_err *err)
{
	uint64_t size = bpk_frame_chunk_size(r, number), limit = r->options.chunk_limit;
	uint64_t most = (uint64_t)r->state.header.chunk_size;

	if (size != BPK_UNKNOWN && chunk->raw_size != size)
		return bpk_fail(err, BPK_CORRUPT,
				"it unpacks to %" PRIu32 " bytes, expected %" PRIu64,
				chunk->raw_size, size);
	if (most != 0 && chunk->raw_size > most)
		return bpk_fail(err, BPK_CORRUPT,
				"it unpacks to %" PRIu32 " bytes, expected at most %" PRIu64,
				chunk->raw_size, most);
	if (limit != 0 && chunk->raw_size > limit)
		return bpk_fail(err, BPK_LIMIT,
				"it unpacks to %" PRIu32 " bytes, the limit is %" PRIu64,
				chunk->raw_size, limit);
	return 0;
}

/* ---- Special offsets ---- */

/* Make the special chunk for a special offset. */
static int make_special(const struct bpk_frame_reader *r, uint64_t number, int special,
			uint8_t out[BPK_CHUNK_EXTENDED_HEADER_SIZE], struct bpk_chunk_header *chunk,
			struct bpk_err *err)
{
	uint64_t size = special_size(r, number);
	uint32_t typesize = r->state.header.typesize;

	if (size == BPK_UNKNOWN)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"it is a special value of unknown length in a frame of variable "
				"chunk sizes");
	if (size > BPK_CHUNK_MAX_RAW_SIZE_EXTENDED)
		return bpk_fail(err, BPK_CORRUPT,
				"it is a special value of %" PRIu64 " bytes, expected at most %d",
				size, BPK_CHUNK_MAX_RAW_SIZE_EXTENDED);
	bpk_chunk_write_special((enum bpk_special)special, (uint32_t)size,
				typesize > BPK_CHUNK_MAX_TYPESIZE ? 1 : typesize, out);
	if (bpk_chunk_header_read(bpk_view(out, BPK_CHUNK_EXTENDED_HEADER_SIZE), chunk, err) != 0)
		return -1;
	return check_size(r, number, chunk, err);
}

/* ---- Stored chunks ---- */

/* The position of a chunk's bytes. */
struct spot {
	struct bpk_source *source;
	uint64_t offset;
	uint64_t room;                     /* bytes that the chunk may have there */
	struct bpk_source *own;            /* must be closed */
	const struct bpk_sharing *sharing; /* for reads of the chunk; NULL: no help */
	uint32_t id;                       /* sparse: of the file ... */
	bool old;                          /* ... and bpk_dir_source_since */
};

/* Find the bytes that entry leads to. */
static int find_spot(const struct bpk_frame_reader *r, uint64_t entry, struct spot *spot,
		     struct bpk_err *err)
{
	char name[BPK_FRAME_FILE_NAME];

	*spot = (struct spot){ .source = r->source };
	if (r->dir == NULL) {
		/* entry is inside the payload: tested when it was read */
		spot->offset = r->state.header.size + entry;
		spot->room = r->state.header.packed_size - entry;
		return 0;
	}
	spot->id = (uint32_t)entry;
	bpk_frame_file_name(spot->id, name);
	if (bpk_dir_source_since(r->dir, name, &r->moment, &spot->own, &spot->old, err) != 0)
		return -1;
	spot->source = spot->own;
	spot->room = bpk_source_size(spot->own);
	return 0;
}

/* Read a chunk's bytes from at on. */
static int read_spot(struct bpk_frame_reader *r, const struct spot *spot, size_t at,
		     struct bpk_span out, struct bpk_err *err)
{
	uint64_t offset = spot->offset + at;

	if (r->dir != NULL || out.size > BPK_STRETCH)
		return bpk_source_need_shared_at(spot->source, offset, out, spot->sharing, err);
	return bpk_stretch_read(&r->stretch, spot->source, offset, spot->room - at, out, err);
}

/* The chunk's header has unknown fields: decide whether that is damage. */
static int weigh(const struct bpk_frame_reader *r, uint64_t number, const struct spot *spot,
		 struct bpk_view head, struct bpk_err *err)
{
	uint64_t neighbour = number > 0 ? number - 1 : 1, entry;
	uint8_t digest[BPK_DIGEST_MAX];
	struct spot beside = { 0 };
	struct bpk_suspect suspect = {
		.source = spot->source,
		.offset = spot->offset,
		.room = spot->room,
		.digest = digest,
	};

	if (bpk_frame_has_seal(&r->state, number)) {
		if (bpk_frame_get_seal(&r->state, number, digest, err) != 0)
			return -1;
		suspect.checksum = r->state.digests.checksum;
	}
	if (neighbour < r->state.nchunks &&
	    bpk_frame_entry(&r->state, neighbour, &entry, NULL) == 0 &&
	    bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE &&
	    find_spot(r, entry, &beside, NULL) == 0) {
		suspect.neighbour = beside.source;
		suspect.neighbour_offset = beside.offset;
	}
	bpk_suspect_weigh(&suspect, head, err);
	bpk_source_close(beside.own);
	return -1;
}

/* Check a chunk's first bytes. */
static int examine(const struct bpk_frame_reader *r, uint64_t number, const struct spot *spot,
		   struct bpk_view head, struct bpk_chunk_header *chunk, struct bpk_err *err)
{
	if (spot->room == 0)
		return bpk_fail(err, BPK_CORRUPT, "the file is empty");
	if (bpk_chunk_header_read(head, chunk, err) != 0)
		return weigh(r, number, spot, head, err);
	if (chunk->packed_size > spot->room)
		return bpk_fail(err, BPK_CORRUPT, "it has %" PRIu32 " bytes, %" PRIu64 " are there",
				chunk->packed_size, spot->room);
	return check_size(r, number, chunk, err);
}

static size_t head_size(const struct spot *spot)
{
	return (size_t)bpk_min_u64(spot->room, BPK_CHUNK_EXTENDED_HEADER_SIZE);
}

static int look_at(struct bpk_frame_reader *r, uint64_t number, const struct spot *spot,
		   struct bpk_frame_found *found, struct bpk_err *err)
{
	uint8_t head[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	struct bpk_span room = bpk_span(head, head_size(spot));

	found->offset = spot->offset;
	found->room = spot->room;
	if (read_spot(r, spot, 0, room, err) != 0)
		return -1;
	return examine(r, number, spot, bpk_view_of_span(room), &found->header, err);
}

/* ---- Parts of chunks ---- */

struct pieces {
	const struct spot *spot;
	struct bpk_span packed;
};

static int bring_piece(void *arg, uint32_t offset, uint32_t size, struct bpk_err *err)
{
	const struct pieces *p = arg;

	if (offset > p->packed.size || size > p->packed.size - offset)
		return bpk_fail(err, BPK_CORRUPT, "a block leads outside the chunk");
	return bpk_source_need_at(p->spot->source, p->spot->offset + offset,
				  bpk_span(p->packed.data + offset, size), err);
}

/*
 * Read the bytes that the want needs, to their places. A hostile block may claim more bytes than
 * were read, and parcels are reused: so the rest is zeroed, lest bytes of an earlier chunk appear.
 */
static int bring_wanted(const struct spot *spot, const struct bpk_chunk_header *chunk,
			struct bpk_parcel *parcel, const struct bpk_frame_ranges *wanted,
			struct bpk_err *err)
{
	uint64_t head = chunk->header_size + 4 * (uint64_t)chunk->nblocks;
	struct pieces pieces = { .spot = spot };

	if (head > chunk->packed_size)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu32 " block starts do not fit into %" PRIu32 " packed bytes",
				chunk->nblocks, chunk->packed_size);
	if (bpk_buf_resize(&parcel->packed, chunk->packed_size, err) != 0)
		return -1;
	pieces.packed = bpk_span(parcel->packed.data, parcel->packed.size);
	memset(pieces.packed.data, 0, pieces.packed.size);
	if (bring_piece(&pieces, 0, (uint32_t)head, err) != 0)
		return -1;
	for (size_t i = 0; i < wanted->count; i++)
		if (bpk_chunk_extents(bpk_view(parcel->packed.data, head), wanted->all[i].start,
				      wanted->all[i].size, bring_piece, &pieces, err) != 0)
			return -1;
	return 0;
}

bool bpk_frame_chunk_is_sealed(const struct bpk_frame_reader *r, uint64_t number)
{
	return !r->options.no_check && bpk_frame_has_seal(&r->state, number);
}

/* True if a part of the chunk is enough. A sealed chunk is tested as a whole. */
static bool wants_part(const struct bpk_frame_reader *r, uint64_t number,
		       const struct bpk_frame_ranges *wanted, const struct bpk_chunk_header *chunk)
{
	if (wanted->count == 0 || bpk_frame_chunk_is_sealed(r, number))
		return false;
	for (size_t i = 0; i < wanted->count; i++) {
		const struct bpk_frame_range *range = &wanted->all[i];

		if (range->size == 0 || range->size >= chunk->raw_size ||
		    range->start > chunk->raw_size - range->size)
			return false;
	}
	return true;
}

/* ---- Fetching ---- */

/*
 * The size of the first read, before the header is known. The next chunk usually follows this one,
 * and without slack a chunk has at most 32 bytes more than its raw size.
 */
static size_t first_read(const struct bpk_frame_reader *r, const struct bpk_parcel *parcel,
			 const struct bpk_frame_ranges *wanted, const struct spot *spot)
{
	uint64_t number = parcel->number, size = bpk_frame_chunk_size(r, number);
	uint64_t guess = spot->room, entry = spot->offset - r->state.header.size, next;

	bool partly = wanted->count > 0 && !bpk_frame_chunk_is_sealed(r, number);

	if (partly || size == BPK_UNKNOWN || size > BPK_CHUNK_MAX_RAW_SIZE)
		return head_size(spot);
	if (r->dir == NULL && number + 1 < r->state.nchunks) {
		if (bpk_frame_entry(&r->state, number + 1, &next, NULL) != 0 ||
		    bpk_frame_offset_special(next) != BPK_SPECIAL_NONE || next <= entry)
			return head_size(spot);
		guess = bpk_min_u64(guess, next - entry);
	}
	return (size_t)bpk_max_u64(bpk_min_u64(guess, bpk_chunk_bound((size_t)size)),
				   head_size(spot));
}

/* Append the seal, if the chunk has one to be tested. */
static int add_seal(const struct bpk_frame_reader *r, struct bpk_parcel *parcel,
		    struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (!bpk_frame_chunk_is_sealed(r, parcel->number))
		return 0;
	if (bpk_frame_get_seal(&r->state, parcel->number, digest, err) != 0)
		return -1;
	return bpk_buf_append(&parcel->packed, bpk_view(digest, r->state.digests.checksum->size),
			      err);
}

static void label(struct bpk_parcel *parcel, const struct bpk_chunk_header *chunk, uint64_t offset)
{
	parcel->packed_offset = offset;
	parcel->packed_size = chunk->packed_size;
	parcel->raw_size = parcel->data_size = chunk->raw_size;
}

static int bring_from(struct bpk_frame_reader *r, const struct spot *spot,
		      struct bpk_parcel *parcel, const struct bpk_frame_ranges *wanted,
		      struct bpk_err *err)
{
	size_t first = first_read(r, parcel, wanted, spot);
	struct bpk_buf *packed = &parcel->packed;
	struct bpk_chunk_header chunk;
	size_t size;

	if (bpk_buf_reserve_whole(packed, first + BPK_DIGEST_MAX, err) != 0 ||
	    read_spot(r, spot, 0, bpk_span(packed->data, first), err) != 0)
		return -1;
	if (examine(r, parcel->number, spot, bpk_view(packed->data, first), &chunk, err) != 0)
		return -1;
	label(parcel, &chunk, spot->offset);
	if (wants_part(r, parcel->number, wanted, &chunk))
		return bring_wanted(spot, &chunk, parcel, wanted, err);
	size = chunk.packed_size;
	packed->size = bpk_min_size(first, size);
	if (bpk_buf_reserve_whole(packed, size + BPK_DIGEST_MAX, err) != 0)
		return -1;
	if (size > first &&
	    read_spot(r, spot, first, bpk_span(packed->data + first, size - first), err) != 0)
		return -1;
	packed->size = size;
	bpk_frame_note_chunk(r, parcel->number, &chunk, spot->room);
	return add_seal(r, parcel, err);
}

static int bring_special(const struct bpk_frame_reader *r, struct bpk_parcel *parcel, int special,
			 struct bpk_err *err)
{
	struct bpk_chunk_header chunk;

	if (bpk_buf_resize(&parcel->packed, BPK_CHUNK_EXTENDED_HEADER_SIZE, err) != 0 ||
	    make_special(r, parcel->number, special, parcel->packed.data, &chunk, err) != 0)
		return -1;
	label(parcel, &chunk, BPK_UNKNOWN);
	return 0;
}

/* ---- In the state at open ---- */

/* A digest tells whether bytes are right. Where there is none, only the times of the file do:
 * read_all is true if its bytes were read, and not its header alone. */
static int see(const struct bpk_frame_reader *r, uint64_t number, const struct spot *spot,
	       bool read_all, struct bpk_frame_sight *sight, struct bpk_err *err)
{
	int rc = 0;

	if (sight == NULL || r->dir == NULL)
		return 0;
	*sight = (struct bpk_frame_sight){ .sure = spot->old, .id = spot->id };
	if (bpk_frame_chunk_is_sealed(r, number))
		return 0;
	sight->is_young = !spot->old;
	sight->is_newer = bpk_dir_is_newer(&r->moment, spot->own);
	sight->state = bpk_source_state(spot->own);
	if (read_all && !r->moment.fixed)
		rc = bpk_source_is_overwritten(spot->own, &sight->is_written, err);
	sight->sure = spot->old && rc == 0 && !sight->is_written;
	return rc;
}

int bpk_frame_chunk_fetch(struct bpk_frame_reader *r, struct bpk_parcel *parcel,
			  const struct bpk_frame_ranges *wanted, struct bpk_frame_sight *sight,
			  struct bpk_err *err)
{
	struct spot spot;
	uint64_t entry;
	int rc, special;

	parcel->packed.size = 0;
	parcel->packed_offset = BPK_UNKNOWN;
	if (bpk_frame_entry(&r->state, parcel->number, &entry, err) != 0)
		return bpk_err_subject(err, "chunk %" PRIu64, parcel->number);
	special = bpk_frame_offset_special(entry);
	if (special != BPK_SPECIAL_NONE) {
		rc = bring_special(r, parcel, special, err);
		if (sight != NULL)
			sight->sure = true; /* the index has it */
	} else {
		if (find_spot(r, entry, &spot, err) != 0)
			return bpk_err_subject(err, "chunk %" PRIu64, parcel->number);
		spot.sharing = parcel->sharing;
		rc = bring_from(r, &spot, parcel, wanted, err);
		if (see(r, parcel->number, &spot, true, sight, rc == 0 ? err : NULL) != 0)
			rc = -1;
		bpk_source_close(spot.own);
	}
	return rc == 0 ? 0 : bpk_frame_chunk_subject(r, parcel->number, err);
}

/* Copy a chunk's first bytes, which were read in advance. */
static bool copy_ahead(struct bpk_frame_reader *r, const struct spot *spot, size_t size,
		       struct bpk_buf *packed)
{
	return size <= BPK_STRETCH && bpk_buf_reserve(packed, size + BPK_DIGEST_MAX, NULL) == 0 &&
	       bpk_stretch_copy(&r->stretch, spot->offset, bpk_span(packed->data, size));
}

bool bpk_frame_chunk_take(struct bpk_frame_reader *r, struct bpk_parcel *parcel,
			  const struct bpk_frame_ranges *wanted)
{
	bool whole = wanted->count == 0 || bpk_frame_chunk_is_sealed(r, parcel->number);
	struct bpk_buf *packed = &parcel->packed;
	struct bpk_chunk_header chunk;
	struct spot spot;
	uint64_t entry;

	packed->size = 0;
	if (r->dir != NULL || !whole ||
	    bpk_frame_entry(&r->state, parcel->number, &entry, NULL) != 0 ||
	    bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE ||
	    find_spot(r, entry, &spot, NULL) != 0 ||
	    !copy_ahead(r, &spot, head_size(&spot), packed) ||
	    examine(r, parcel->number, &spot, bpk_view(packed->data, head_size(&spot)), &chunk,
		    NULL) != 0 ||
	    !copy_ahead(r, &spot, chunk.packed_size, packed))
		return false;
	label(parcel, &chunk, spot.offset);
	packed->size = chunk.packed_size;
	return add_seal(r, parcel, NULL) == 0;
}

int bpk_frame_chunk_look(struct bpk_frame_reader *r, uint64_t number, struct bpk_frame_found *found,
			 struct bpk_frame_sight *sight, struct bpk_err *err)
{
	uint8_t made[BPK_CHUNK_EXTENDED_HEADER_SIZE];
	struct spot spot;
	uint64_t entry;
	int rc, special;

	*found = (struct bpk_frame_found){ .offset = BPK_UNKNOWN };
	if (bpk_frame_entry(&r->state, number, &entry, err) != 0)
		return bpk_err_subject(err, "chunk %" PRIu64, number);
	special = bpk_frame_offset_special(entry);
	if (special != BPK_SPECIAL_NONE) {
		rc = make_special(r, number, special, made, &found->header, err);
		if (sight != NULL)
			sight->sure = true;
	} else {
		if (find_spot(r, entry, &spot, err) != 0)
			return bpk_err_subject(err, "chunk %" PRIu64, number);
		rc = look_at(r, number, &spot, found, err);
		if (see(r, number, &spot, false, sight, rc == 0 ? err : NULL) != 0)
			rc = -1;
		bpk_source_close(spot.own);
	}
	return rc == 0 ? 0 : bpk_frame_chunk_subject(r, number, err);
}

bool bpk_frame_chunk_is_young(const struct bpk_frame_reader *r, uint64_t number)
{
	struct spot spot;
	uint64_t entry;
	bool young;

	if (bpk_frame_entry(&r->state, number, &entry, NULL) != 0 ||
	    bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE ||
	    find_spot(r, entry, &spot, NULL) != 0)
		return false;
	young = bpk_dir_is_newer(&r->moment, spot.own) && bpk_dir_is_old(&r->moment, r->source);
	bpk_source_close(spot.own);
	return young;
}
