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
	bpk_frame_pages_free(state->entry_pages);
	bpk_frame_pages_free(state->digest_pages);
	bpk_frame_layers_clear(&state->layers);
	bpk_frame_digests_clear(&state->digests);
	bpk_seal_clear(&state->seal);
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

/* Check the limits of an index in pages. If each entry may lead to a chunk, none is read. */
static int check_pages(const struct bpk_chunk_header *chunk, const struct bpk_frame_state *state,
		       struct bpk_err *err)
{
	const struct bpk_frame_header *header = &state->header;
	uint64_t nstored;

	if (bpk_frame_index_check_count(chunk, BPK_UNKNOWN, err) != 0)
		return -1;
	if (bpk_frame_index_check_stored(header, state->nchunks, state->index_size, NULL) == 0)
		return 0;
	if (bpk_frame_count_stored(state, &nstored, err) != 0)
		return -1;
	return bpk_frame_index_check_stored(header, nstored, state->index_size, err);
}

static int load_entries(struct bpk_chunk_ctx *ctx, const struct bpk_chunk_header *chunk,
			struct bpk_buf *packed, struct bpk_frame_state *state, struct bpk_err *err)
{
	bool one_value = chunk->special == BPK_SPECIAL_ZERO ||
			 (chunk->special == BPK_SPECIAL_VALUE && ENTRY % chunk->value_size == 0);
	uint32_t size;

	if (state->entry_pages != NULL)
		return check_pages(chunk, state, err);
	if (one_value && chunk->raw_size > ENTRY)
		return load_uniform(ctx, packed, state, err);
	return bpk_frame_index_read(ctx, &state->header, bpk_buf_view(packed), BPK_UNKNOWN,
				    &state->entries, &state->nchunks, &size, err);
}

/* Read the index chunk, without bytes after it, unless it is large: then make its pages. */
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
	if (bpk_frame_pages_of_index(source, state->index_offset, header, chunk,
				     &state->entry_pages, err) != 0)
		return -1;
	return state->entry_pages != NULL
		       ? 0
		       : bring(source, state->index_offset, chunk->packed_size, packed, err);
}

/* ---- Layers and digests ---- */

/* Parse the trailer's layers. Damage is recorded: nothing else depends on them. */
static int take_layers(struct bpk_chunk_ctx *ctx, struct bpk_frame_state *state,
		       struct bpk_view trailer, uint64_t apart, struct bpk_err *err)
{
	uint64_t limit = ANY_LAYERS + MOST_TIMES * state->trailer_size;
	struct bpk_err *damage = &state->damage;

	if (bpk_frame_trailer_read(ctx, &state->header, trailer, limit, &state->layers, damage) ==
		    0 &&
	    bpk_frame_digests_find(&state->layers, apart, &state->digests, damage) == 0 &&
	    bpk_frame_digests_expect(&state->digests, trailer, damage) == 0)
		return 0;
	return bpk_err_pass_memory(damage, err);
}

static int load_layers(struct bpk_chunk_ctx *ctx, struct bpk_source *source,
		       struct bpk_frame_state *state, struct bpk_buf *trailer, struct bpk_err *err)
{
	if (bring(source, state->trailer_offset, state->trailer_size, trailer, err) != 0)
		return bpk_err_subject(err, "trailer");
	return take_layers(ctx, state, bpk_buf_view(trailer), 0, err);
}

/* Load the layers, but leave many digests of chunks in the file: they become pages. */
static int cut_layers(struct bpk_chunk_ctx *ctx, struct bpk_source *source,
		      struct bpk_frame_state *state, struct bpk_frame_cut *cut, struct bpk_err *err)
{
	if (bpk_frame_cut_trailer(source, state->trailer_offset, state->trailer_size, cut, err) !=
	    0)
		return bpk_err_subject(err, "trailer");
	if (cut->left == 0)
		return 0;
	state->digest_pages = bpk_frame_pages_of_bytes(
		source, state->trailer_offset + cut->head.size, cut->left, cut->digest_size, err);
	if (state->digest_pages == NULL)
		return -1;
	return take_layers(ctx, state, bpk_buf_view(&cut->trailer), cut->left, err);
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

/* The parts of a frame with digests, as they were loaded. */
struct parts {
	struct bpk_chunk_header chunk; /* of the index */
	struct bpk_buf index;          /* empty: it has pages, or does not exist */
	struct bpk_buf trailer;        /* empty: it was cut */
	struct bpk_frame_cut cut;
};

/* Without marks, another program's change that kept the frame's length looks like damage. */
static int blame(const struct bpk_frame_digests *digests, const char *name,
		 const struct bpk_err *why, struct bpk_err *err)
{
	return bpk_fail(err, why->kind, "%s: %s%s", name, why->text,
			digests->marked || why->kind != BPK_CORRUPT
				? ""
				: "; it is damaged, or another program changed the frame, which "
				  "--no-check reads anyway");
}

/* Scan the pages of an index; tests: and compare its digest. */
static int test_index(const struct bpk_frame_state *state, const struct parts *parts, bool tests,
		      struct bpk_err *err)
{
	const struct bpk_frame_digests *digests = &state->digests;
	struct bpk_summing sum = { .checksum = &bpk_checksums[0] };
	int rc = 0;

	if (state->entry_pages == NULL)
		return tests ? bpk_frame_digests_check(digests, BPK_FRAME_DIGEST_INDEX,
						       bpk_buf_view(&parts->index), err)
			     : 0;
	if (tests)
		rc = bpk_summing_begin(&sum, digests->checksum, err);
	if (rc == 0)
		rc = bpk_frame_pages_scan(state->entry_pages, &sum, err);
	if (rc == 0 && tests)
		rc = bpk_summing_check(
			&sum, bpk_frame_digests_part(digests, BPK_FRAME_DIGEST_INDEX), err);
	bpk_summing_clear(&sum);
	return rc;
}

/* The same for a trailer that was cut: its own digest, the last before those of chunks, counts as
 * zeros. */
static int test_cut(const struct bpk_frame_state *state, const struct bpk_frame_cut *cut,
		    bool tests, struct bpk_err *err)
{
	const struct bpk_frame_digests *digests = &state->digests;
	static const uint8_t zeros[BPK_DIGEST_MAX];
	size_t before = cut->head.size - cut->digest_size;
	const uint8_t *tail = cut->trailer.data + cut->head.size;
	struct bpk_summing sum = { .checksum = &bpk_checksums[0] };
	uint8_t end[BPK_FRAME_TRAILER_TAIL];
	int rc = 0;

	memcpy(end, tail, sizeof end);
	bpk_put_be32(end + 1, (uint32_t)state->trailer_size);
	if (tests)
		rc = bpk_summing_begin(&sum, digests->checksum, err);
	if (rc == 0)
		rc = bpk_summing_add(&sum, bpk_view(cut->head.data, before), err);
	if (rc == 0)
		rc = bpk_summing_add(&sum, bpk_view(zeros, cut->digest_size), err);
	if (rc == 0)
		rc = bpk_frame_pages_scan(state->digest_pages, &sum, err);
	if (rc == 0)
		rc = bpk_summing_add(&sum, bpk_view(end, sizeof end), err);
	if (rc == 0 && tests)
		rc = bpk_summing_check(
			&sum, bpk_frame_digests_part(digests, BPK_FRAME_DIGEST_TRAILER), err);
	bpk_summing_clear(&sum);
	return rc;
}

static int test_trailer(struct bpk_frame_state *state, const struct parts *parts, bool tests,
			struct bpk_err *err)
{
	struct bpk_err *damage = &state->damage;
	struct bpk_err why = { 0 };
	int rc = 0;

	if (parts->cut.left > 0)
		rc = test_cut(state, &parts->cut, tests, &why);
	else if (tests)
		rc = bpk_frame_digests_check_trailer(&state->digests, bpk_buf_view(&parts->trailer),
						     &why);
	if (rc != 0 &&
	    (bpk_err_is_of_machine(&why) || (why.kind != BPK_CORRUPT && parts->cut.left > 0)))
		return bpk_fail(err, why.kind, "trailer: %s", why.text);
	if (rc != 0)
		return bpk_fail(damage, why.kind, "trailer: %s", why.text), 0;
	if (tests && state->digests.nchunks != state->nchunks)
		bpk_fail(damage, BPK_CORRUPT,
			 "trailer: digests of %" PRIu64 " chunks, the index has %" PRIu64,
			 state->digests.nchunks, state->nchunks);
	return 0;
}

/* Test header, index and trailer by their digests, and scan pages. */
static int test_parts(struct bpk_frame_state *state, const struct parts *parts, bool no_check,
		      struct bpk_err *err)
{
	const struct bpk_frame_digests *digests = &state->digests;
	bool tests = digests->checksum != NULL && !state->stale && !no_check;
	struct bpk_err why = { 0 };

	if (tests && !state->stale_header &&
	    bpk_frame_digests_check(digests, BPK_FRAME_DIGEST_HEADER, bpk_buf_view(&state->head),
				    &why) != 0)
		return blame(digests, "header", &why, err);
	if (test_index(state, parts, tests, &why) != 0)
		return blame(digests, "index", &why, err);
	return digests->checksum == NULL ? 0 : test_trailer(state, parts, tests, err);
}

/* ---- The whole ---- */

/* Load the trailer. If another program changed the frame, its digests are needed at once. */
static int load_trailer(struct bpk_chunk_ctx *ctx, struct bpk_source *source, bool no_check,
			struct bpk_frame_state *state, struct parts *parts, struct bpk_err *err)
{
	struct bpk_view trailer;

	if (cut_layers(ctx, source, state, &parts->cut, err) != 0 ||
	    (parts->cut.left == 0 && load_layers(ctx, source, state, &parts->trailer, err) != 0))
		return -1;
	if (state->digests.checksum == NULL)
		return 0;
	trailer = bpk_buf_view(parts->cut.left > 0 ? &parts->cut.trailer : &parts->trailer);
	if (find_author(state, trailer, no_check, err) != 0)
		return bpk_err_subject(err, "header");
	if (!state->stale || parts->cut.left == 0)
		return 0;
	bpk_frame_cut_clear(&parts->cut);
	bpk_frame_pages_free(state->digest_pages);
	state->digest_pages = NULL;
	bpk_frame_layers_clear(&state->layers);
	bpk_frame_digests_clear(&state->digests);
	return load_layers(ctx, source, state, &parts->trailer, err);
}

static int load_parts(struct bpk_chunk_ctx *ctx, struct bpk_source *source, bool no_check,
		      struct bpk_frame_state *state, struct bpk_err *err)
{
	struct parts parts = { 0 };
	bool has_index = state->header.raw_size > 0; /* "Contiguous frame": without data, none */
	int rc = find_trailer(source, state, err);

	if (rc != 0)
		bpk_err_subject(err, "trailer");
	if (rc == 0 && has_index &&
	    (rc = bring_index(source, state, &parts.chunk, &parts.index, err)) != 0)
		bpk_err_subject(err, "index");
	if (rc == 0)
		rc = load_trailer(ctx, source, no_check, state, &parts, err);
	if (rc == 0)
		rc = test_parts(state, &parts, no_check, err);
	if (rc == 0 && has_index)
		rc = load_entries(ctx, &parts.chunk, &parts.index, state, err);
	if (rc == 0)
		rc = bpk_frame_seal_read(&state->header, &state->layers, state->nchunks,
					 &state->seal, err);
	bpk_buf_clear(&parts.index);
	bpk_buf_clear(&parts.trailer);
	bpk_frame_cut_clear(&parts.cut);
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

/* ---- Entries and digests ---- */

int bpk_frame_entry(const struct bpk_frame_state *state, uint64_t number, uint64_t *entry,
		    struct bpk_err *err)
{
	if (state->entry_pages != NULL)
		return bpk_frame_pages_get(state->entry_pages, number * ENTRY,
					   bpk_span((uint8_t *)entry, sizeof *entry), err);
	memcpy(entry, state->entries.data + (state->uniform ? 0 : ENTRY * number), sizeof *entry);
	return 0;
}

int bpk_frame_entries(const struct bpk_frame_state *state, uint64_t number, size_t *count,
		      uint64_t *entries, struct bpk_err *err)
{
	uint64_t rest = bpk_frame_pages_rest(state->entry_pages, number * ENTRY) / ENTRY;

	*count = (size_t)bpk_min_u64(*count, rest);
	return bpk_frame_pages_get(state->entry_pages, number * ENTRY,
				   bpk_span((uint8_t *)entries, *count * ENTRY), err);
}

int bpk_frame_count_stored(const struct bpk_frame_state *state, uint64_t *count,
			   struct bpk_err *err)
{
	uint64_t n = state->uniform ? 1 : state->nchunks, entry;

	*count = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (bpk_frame_entry(state, i, &entry, err) != 0)
			return -1;
		*count += bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE;
	}
	return 0;
}

bool bpk_frame_has_seal(const struct bpk_frame_state *state, uint64_t number)
{
	return state->digests.checksum != NULL && !state->stale && number < state->digests.nchunks;
}

int bpk_frame_get_seal(const struct bpk_frame_state *state, uint64_t number,
		       uint8_t digest[BPK_DIGEST_MAX], struct bpk_err *err)
{
	size_t size = state->digests.checksum->size;

	if (state->digest_pages != NULL)
		return bpk_frame_pages_get(state->digest_pages, number * size,
					   bpk_span(digest, size), err);
	memcpy(digest, bpk_frame_digests_chunk(&state->digests, number), size);
	return 0;
}
