/*
 * Loads the state of a frame: header, trailer and index, tested by bpk's own digests. The reader's
 * open calls it.
 */
#include "format/frame/state.h"

#include <inttypes.h>

enum {
	FIRST_READ = 4096, /* holds most headers */
	/* limit on unpacked layers: ANY_LAYERS plus MOST_TIMES their packed size */
	ANY_LAYERS = 4 << 20,
	MOST_TIMES = 64,
	LEAST_TRAILER_1 = 30, /* of version 1 */
	ENTRY = 8,
};

void bpk_frame_state_clear(struct bpk_frame_state *state)
{
	bpk_frame_header_clear(&state->header);
	bpk_buf_clear(&state->head);
	bpk_buf_clear(&state->entries);
	bpk_frame_layers_clear(&state->layers);
	bpk_frame_digests_clear(&state->digests);
	*state = (struct bpk_frame_state){ 0 };
}

/* Read size bytes at offset; fails unless all of them exist. */
static int bring(struct bpk_source *source, uint64_t offset, uint64_t size, struct bpk_buf *out,
		 struct bpk_err *err)
{
	uint64_t end = bpk_source_size(source);

	if (offset > end || size > end - offset)
		return bpk_fail(err, BPK_CORRUPT,
				"file ends after %" PRIu64 " bytes, expected %" PRIu64
				" bytes at offset %" PRIu64,
				end, size, offset);
	if (size > SIZE_MAX)
		return bpk_fail_memory(err, size);
	if (bpk_buf_resize(out, (size_t)size, err) != 0)
		return -1;
	return bpk_source_need_at(source, offset, bpk_span(out->data, out->size), err);
}

/* ---- Header ---- */

static int load_header(struct bpk_source *source, bool sparse, struct bpk_frame_state *state,
		       struct bpk_err *err)
{
	struct bpk_frame_header *header = &state->header;
	uint64_t end = bpk_source_size(source);
	uint32_t size;

	if (bring(source, 0, bpk_min_u64(FIRST_READ, end), &state->head, err) != 0 ||
	    bpk_frame_header_size(bpk_buf_view(&state->head), &size, err) != 0)
		return -1;
	if (size <= state->head.size)
		state->head.size = size;
	else if (bring(source, 0, size, &state->head, err) != 0)
		return bpk_err_subject(err, "header");
	if (bpk_frame_header_read(bpk_buf_view(&state->head), header, err) != 0)
		return -1;
	if (header->sparse && !sparse)
		return bpk_fail(err, BPK_CORRUPT,
				"it is the index of a sparse frame, name its directory instead");
	if (!header->sparse && sparse)
		return bpk_fail(err, BPK_CORRUPT,
				"it belongs to a contiguous frame, expected a sparse one");
	if (header->frame_size > end)
		return bpk_fail(err, BPK_CORRUPT,
				"the frame has %" PRIu64 " bytes, the file %" PRIu64,
				header->frame_size, end);
	return 0;
}

/* ---- Trailer ---- */

/* Find the start of the trailer: its length precedes the end by 23 bytes ("Trailer"). */
static int find_trailer(struct bpk_source *source, struct bpk_frame_state *state,
			struct bpk_err *err)
{
	const struct bpk_frame_header *header = &state->header;
	uint64_t least = header->version == 1 ? LEAST_TRAILER_1 : BPK_FRAME_LEAST_TRAILER;
	uint64_t room = header->frame_size - header->size;
	uint8_t tail[5];

	if (room < least)
		return bpk_fail(err, BPK_CORRUPT,
				"%" PRIu64 " bytes after the header, expected at least %" PRIu64,
				room, least);
	if (bpk_source_need_at(source, header->frame_size - BPK_FRAME_TRAILER_TAIL,
			       bpk_span(tail, sizeof tail), err) != 0)
		return -1;
	if (tail[0] != 0xce)
		return bpk_fail(err, BPK_CORRUPT,
				"byte 0x%02x stands before its length, expected 0xce", tail[0]);
	state->trailer_size = bpk_get_be32(tail + 1);
	if (state->trailer_size < least || state->trailer_size > room)
		return bpk_fail(err, BPK_CORRUPT,
				"it has %" PRIu64 " bytes, expected %" PRIu64 " to %" PRIu64,
				state->trailer_size, least, room);
	state->trailer_offset = header->frame_size - state->trailer_size;
	return 0;
}

/* ---- Index ---- */

/* If all entries are equal, load an index of one entry that stands for them. */
static int load_uniform(struct bpk_chunk_ctx *ctx, struct bpk_buf *packed,
			struct bpk_frame_state *state, struct bpk_err *err)
{
	uint64_t one;
	uint32_t size;

	bpk_put_le32(packed->data + 4, ENTRY); /* its raw size and its block size */
	bpk_put_le32(packed->data + 8, ENTRY);
	if (bpk_frame_index_read(ctx, &state->header, bpk_buf_view(packed), 1, &state->entries,
				 &one, &size, err) != 0)
		return -1;
	state->uniform = true;
	return 0;
}

static int load_entries(struct bpk_chunk_ctx *ctx, const struct bpk_chunk_header *chunk,
			struct bpk_buf *packed, struct bpk_frame_state *state, struct bpk_err *err)
{
	bool one_value = chunk->special == BPK_SPECIAL_ZERO ||
			 (chunk->special == BPK_SPECIAL_VALUE && ENTRY % chunk->value_size == 0);
	uint32_t size;

	if (one_value && chunk->raw_size > ENTRY)
		return load_uniform(ctx, packed, state, err);
	return bpk_frame_index_read(ctx, &state->header, bpk_buf_view(packed), BPK_UNKNOWN,
				    &state->entries, &state->nchunks, &size, err);
}

/* Read the index chunk, without bytes after it. */
static int bring_index(struct bpk_source *source, struct bpk_frame_state *state,
		       struct bpk_chunk_header *chunk, struct bpk_buf *packed, struct bpk_err *err)
{
	const struct bpk_frame_header *header = &state->header;
	uint64_t payload = header->sparse ? 0 : header->packed_size;
	uint64_t room = state->trailer_offset - header->size;

	if (payload > room)
		return bpk_fail(err, BPK_CORRUPT,
				"it begins after %" PRIu64 " bytes of chunks, the trailer after "
				"%" PRIu64,
				payload, room);
	room -= payload;
	state->index_offset = header->size + payload;
	if (bring(source, state->index_offset, bpk_min_u64(room, BPK_CHUNK_EXTENDED_HEADER_SIZE),
		  packed, err) != 0 ||
	    bpk_frame_own_chunk(bpk_buf_view(packed), chunk, err) != 0)
		return -1;
	if (chunk->packed_size > room)
		return bpk_fail(err, BPK_CORRUPT,
				"it has %" PRIu32 " bytes, %" PRIu64 " are left up to the trailer",
				chunk->packed_size, room);
	if (chunk->raw_size % ENTRY != 0 || chunk->raw_size == 0)
		return bpk_fail(err, BPK_CORRUPT,
				"it unpacks to %" PRIu32 " bytes, expected a multiple of 8",
				chunk->raw_size);
	state->nchunks = chunk->raw_size / ENTRY;
	state->index_size = chunk->packed_size;
	return bring(source, state->index_offset, chunk->packed_size, packed, err);
}

/* ---- Layers and digests ---- */

/* Load the trailer's layers. Damage is recorded: nothing else depends on them. */
static int load_layers(struct bpk_chunk_ctx *ctx, struct bpk_source *source,
		       struct bpk_frame_state *state, struct bpk_buf *trailer, struct bpk_err *err)
{
	uint64_t limit = ANY_LAYERS + MOST_TIMES * state->trailer_size;
	struct bpk_err *damage = &state->damage;

	if (bring(source, state->trailer_offset, state->trailer_size, trailer, err) != 0)
		return bpk_err_subject(err, "trailer");
	if (bpk_frame_trailer_read(ctx, &state->header, bpk_buf_view(trailer), limit,
				   &state->layers, damage) == 0 &&
	    bpk_frame_digests_find(&state->layers, &state->digests, damage) == 0)
		return 0;
	return damage->kind == BPK_NO_MEMORY ? bpk_fail(err, damage->kind, "%s", damage->text) : 0;
}

/* Find out whether another program has rewritten header and trailer, or the header alone, since bpk
 * wrote them. Fields that it does not change are compared with the old ones. */
static int find_author(struct bpk_frame_state *state, struct bpk_view trailer, bool no_check,
		       struct bpk_err *err)
{
	const struct bpk_frame_digests *digests = &state->digests;
	struct bpk_view head = bpk_buf_view(&state->head);
	enum bpk_frame_author author = bpk_frame_trailer_author(trailer);

	if (!digests->marked) {
		state->stale = digests->frame_size != state->header.frame_size;
		return 0;
	}
	if (bpk_frame_header_author(head) != BPK_FRAME_BY_OTHER)
		return 0;
	state->stale = author == BPK_FRAME_BY_OTHER;
	state->stale_header = author == BPK_FRAME_BY_BPK;
	if (no_check || author == BPK_FRAME_BY_NOBODY)
		return 0;
	return bpk_frame_digests_compare_header(digests, head, state->stale_header, err);
}

/* Without marks, another program's change that kept the frame's length looks like damage. */
static int check_part(const struct bpk_frame_digests *digests, enum bpk_frame_digest_part part,
		      const char *name, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	if (bpk_frame_digests_check(digests, part, bytes, &why) == 0)
		return 0;
	return bpk_fail(err, why.kind, "%s: %s%s", name, why.text,
			digests->marked || why.kind != BPK_CORRUPT
				? ""
				: "; it is damaged, or another program changed the frame, which "
				  "--no-check reads anyway");
}

static int test_parts(struct bpk_frame_state *state, struct bpk_view index, struct bpk_view trailer,
		      bool no_check, struct bpk_err *err)
{
	const struct bpk_frame_digests *digests = &state->digests;
	struct bpk_view head = bpk_buf_view(&state->head);

	if (digests->checksum == NULL)
		return 0;
	if (find_author(state, trailer, no_check, err) != 0)
		return bpk_err_subject(err, "header");
	if (state->stale || no_check)
		return 0;
	if (!state->stale_header &&
	    check_part(digests, BPK_FRAME_DIGEST_HEADER, "header", head, err) != 0)
		return -1;
	if (check_part(digests, BPK_FRAME_DIGEST_INDEX, "index", index, err) != 0)
		return -1;
	if (bpk_frame_digests_check_trailer(digests, trailer, &state->damage) != 0)
		bpk_err_subject(&state->damage, "trailer");
	else if (digests->nchunks != state->nchunks)
		bpk_fail(&state->damage, BPK_CORRUPT,
			 "trailer: digests of %" PRIu64 " chunks, the index has %" PRIu64,
			 digests->nchunks, state->nchunks);
	return 0;
}

/* ---- The whole ---- */

static int load_parts(struct bpk_chunk_ctx *ctx, struct bpk_source *source, bool no_check,
		      struct bpk_frame_state *state, struct bpk_err *err)
{
	struct bpk_buf trailer = { 0 }, packed = { 0 };
	struct bpk_chunk_header chunk;
	struct bpk_view index = bpk_view(NULL, 0);
	int rc = find_trailer(source, state, err);

	if (rc != 0)
		bpk_err_subject(err, "trailer");
	/* without data there is no index ("Contiguous frame") */
	if (rc == 0 && state->header.raw_size > 0) {
		rc = bring_index(source, state, &chunk, &packed, err);
		index = bpk_buf_view(&packed);
		if (rc != 0)
			bpk_err_subject(err, "index");
	}
	if (rc == 0)
		rc = load_layers(ctx, source, state, &trailer, err);
	if (rc == 0)
		rc = test_parts(state, index, bpk_buf_view(&trailer), no_check, err);
	if (rc == 0 && index.size > 0)
		rc = load_entries(ctx, &chunk, &packed, state, err);
	bpk_buf_clear(&trailer);
	bpk_buf_clear(&packed);
	return rc;
}

int bpk_frame_state_load(struct bpk_source *source, bool sparse, bool no_check,
			 struct bpk_frame_state *state, struct bpk_err *err)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(err);
	int rc = -1;

	*state = (struct bpk_frame_state){ 0 };
	if (ctx == NULL)
		return -1;
	if (load_header(source, sparse, state, err) == 0)
		rc = load_parts(ctx, source, no_check, state, err);
	bpk_chunk_ctx_free(ctx);
	if (rc != 0)
		bpk_frame_state_clear(state);
	return rc;
}
