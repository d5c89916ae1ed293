/*
 * Finds the parts that are left of a damaged frame: header, index, trailer with metadata and
 * digests. salvage.c and salvage_directory.c call it.
 *
 *     header | chunks ... | old index | old trailer | chunks ... | index | trailer
 *
 * A change by bpk leaves the old index and trailer as a hole, so only those behind all chunks are
 * of the last state.
 */
#include "format/frame/salvage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	TAIL = 0xce,          /* the marker of its length */
	LENGTH = 1,           /* of the trailer, behind it */
	FINGERPRINT = 5,      /* and the marker of the fingerprint */
	MOST_TRAILERS = 16,   /* trailers that are, from the last on */
	ANY_LAYERS = 4 << 20, /* as state.c */
	MOST_TIMES = 64,
};

/* ---- A frame that can be loaded ---- */

/* Chunks of another number: the header is damaged, or a part is that of another state. */
static void compare_counts(struct bpk_frame_left *left)
{
	uint64_t n = left->has_fields ? bpk_frame_count(&left->header) : 0;

	if (left->digests.checksum != NULL)
		left->nchunks = left->digests.nchunks;
	left->is_old = left->has_fields && left->nchunks > 0 && left->nchunks != n &&
		       left->header.chunk_size > 0;
}

static int copy_entries(const struct bpk_frame_state *state, struct bpk_frame_left *left,
			uint64_t size, struct bpk_err *err)
{
	uint64_t n = state->nchunks, entry;

	left->nchunks = n;
	if (state->uniform && n / BPK_FRAME_ENTRY > size + (1 << 16))
		return bpk_fail(err, BPK_LIMIT, "has more special chunks than repair makes");
	if (n > SIZE_MAX / BPK_FRAME_ENTRY)
		return bpk_fail_memory(err, n);
	if (bpk_buf_resize(&left->entries, (size_t)n * BPK_FRAME_ENTRY, err) != 0)
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		if (bpk_frame_entry(state, i, &entry, err) != 0)
			return -1;
		memcpy(left->entries.data + i * BPK_FRAME_ENTRY, &entry, BPK_FRAME_ENTRY);
	}
	return 0;
}

/* Digests in pages are brought into memory. */
static int copy_digests(struct bpk_frame_state *state, struct bpk_frame_left *left,
			struct bpk_err *err)
{
	struct bpk_frame_digests *digests = &state->digests;
	size_t size, at;

	if (digests->checksum == NULL || state->stale)
		return 0;
	size = digests->checksum->size;
	at = digests->bytes.size;
	if (state->digest_pages != NULL) {
		if (digests->nchunks > (SIZE_MAX - at) / size)
			return bpk_fail_memory(err, digests->nchunks);
		if (bpk_buf_resize(&digests->bytes, at + (size_t)digests->nchunks * size, err) != 0)
			return -1;
	}
	for (uint64_t i = 0; state->digest_pages != NULL && i < digests->nchunks; i++)
		if (bpk_frame_pages_get(state->digest_pages, i * size,
					bpk_span(digests->bytes.data + at + i * size, size),
					err) != 0)
			return -1;
	*(state->damage.kind == BPK_OK ? &left->digests : &left->hints) = *digests;
	*digests = (struct bpk_frame_digests){ 0 };
	return 0;
}

/* Take over the parts of a state. */
static int take_state(struct bpk_frame_state *state, struct bpk_frame_left *left, uint64_t size,
		      struct bpk_err *err)
{
	bool has_trailer = state->layers.count > 0 || state->damage.kind == BPK_OK;
	struct bpk_err why = { 0 };

	if (copy_entries(state, left, size, err) != 0 || copy_digests(state, left, err) != 0)
		return -1;
	left->header = state->header;
	state->header = (struct bpk_frame_header){ 0 };
	left->loaded = left->has_header = left->has_fields = true;
	left->payload = left->header.size;
	left->index = (struct bpk_frame_run){ state->index_offset,
					      state->index_offset + state->index_size };
	left->layers = state->layers;
	state->layers = (struct bpk_frame_layers){ 0 };
	if (bpk_frame_digests_rename(&left->layers) && state->digest_pages == NULL)
		(void)bpk_frame_digests_find(&left->layers, 0, &left->hints, &why);
	if (has_trailer)
		left->trailer =
			(struct bpk_frame_run){ state->trailer_offset,
						state->trailer_offset + state->trailer_size };
	left->bad_layers = has_trailer && state->damage.kind != BPK_OK;
	compare_counts(left);
	return bpk_err_pass_memory(&why, err);
}

int bpk_frame_left_load(struct bpk_source *source, struct bpk_frame_left *left, bool *loaded,
			struct bpk_err *err)
{
	struct bpk_frame_state state;
	struct bpk_err why = { 0 };
	int rc = bpk_frame_state_load(source, left->sparse, false, &state, &why);

	*loaded = rc == 0 && state.nchunks > 0;
	if (rc != 0)
		return bpk_err_pass(&why, err);
	if (*loaded)
		rc = take_state(&state, left, bpk_source_size(source), err);
	bpk_frame_state_clear(&state);
	return rc;
}

/* ---- Trailers ---- */

/* *run: the trailer whose last bytes are at offset at, by its length and its first bytes; end 0:
 * none. */
static int look_for_trailer(struct bpk_scan *scan, uint64_t at, struct bpk_frame_run *run,
			    struct bpk_err *err)
{
	uint8_t first[BPK_FRAME_TRAILER_START];
	uint64_t end = at + BPK_FRAME_TRAILER_TAIL, size;
	const uint8_t *bytes;
	size_t got;

	*run = (struct bpk_frame_run){ 0 };
	if (bpk_scan_see(scan, at, BPK_FRAME_TRAILER_TAIL, &bytes, err) != 0)
		return -1;
	if (bytes[0] != TAIL || bytes[FINGERPRINT] != 0xd8)
		return 0;
	size = bpk_get_be32(bytes + LENGTH);
	if (size < BPK_FRAME_LEAST_TRAILER || size > end)
		return 0;
	if (bpk_source_read_at(scan->source, end - size, bpk_span(first, sizeof first), &got,
			       err) != 0)
		return -1;
	if (got == sizeof first && bpk_frame_is_trailer_start(first))
		*run = (struct bpk_frame_run){ end - size, end };
	return 0;
}

/* Take the trailer, if it is one. */
static int take_trailer(struct bpk_scan *scan, struct bpk_frame_left *left,
			struct bpk_frame_run run, struct bpk_err *err)
{
	const struct bpk_frame_header latest = { .version = 2 };
	struct bpk_frame_digests digests = { 0 };
	struct bpk_frame_layers layers;
	struct bpk_err why = { 0 };
	struct bpk_view bytes;
	bool renamed;

	if (bpk_scan_bring(scan, run.start, run.end - run.start, 0, err) != 0)
		return -1;
	bytes = bpk_buf_view(&scan->chunk);
	if (bpk_frame_trailer_read(scan->ctx, &latest, bytes,
				   ANY_LAYERS + MOST_TIMES * (uint64_t)bytes.size, &layers,
				   &why) != 0)
		return bpk_err_pass_memory(&why, err);
	renamed = bpk_frame_digests_rename(&layers);
	left->bad_layers = bpk_frame_digests_find(&layers, 0, &digests, &why) != 0 || renamed ||
			   bpk_frame_digests_expect(&digests, bytes, &why) != 0;
	if (digests.checksum != NULL && bpk_frame_trailer_author(bytes) == BPK_FRAME_BY_NOBODY)
		left->bad_layers = true;
	else if (digests.checksum != NULL && bpk_frame_trailer_author(bytes) == BPK_FRAME_BY_BPK &&
		 bpk_frame_digests_check_trailer(&digests, bytes, &why) != 0)
		left->bad_layers = true;
	if (bpk_frame_trailer_author(bytes) == BPK_FRAME_BY_OTHER)
		bpk_frame_digests_clear(&digests);
	*(left->bad_layers ? &left->hints : &left->digests) = digests;
	left->layers = layers;
	left->trailer = run;
	return bpk_err_pass_memory(&why, err);
}

/* Drop the chunks that lie in the run. */
static void drop_run(struct bpk_salvage *found, struct bpk_frame_run run)
{
	size_t kept = 0;

	for (size_t i = 0; i < found->count; i++)
		if (found->all[i].offset < run.start || found->all[i].offset >= run.end)
			found->all[kept++] = found->all[i];
	found->count = kept;
}

/* The last places that look like trailers. */
struct places {
	struct bpk_frame_run all[MOST_TRAILERS]; /* number n at n modulo their count */
	uint64_t count;
};

static int find_trailers_between(struct bpk_scan *scan, uint64_t start, uint64_t end,
				 struct places *places, struct bpk_err *err)
{
	struct bpk_frame_run run;

	for (uint64_t at = start; at < end && scan->size - at >= BPK_FRAME_TRAILER_TAIL;
	     at = bpk_scan_find(scan, at + 1, TAIL, TAIL)) {
		if (look_for_trailer(scan, at, &run, err) != 0)
			return -1;
		if (run.end > 0)
			places->all[places->count++ % MOST_TRAILERS] = run;
	}
	return 0;
}

/* Find the last trailer between the chunks. The bytes of chunks are passed over, as they may hold
 * other frames. */
static int find_trailer(struct bpk_scan *scan, struct bpk_frame_left *left,
			const struct bpk_salvage *found, struct bpk_err *err)
{
	struct places places = { .count = 0 };
	uint64_t at = 0;

	for (size_t i = 0; i <= found->count; i++) {
		uint64_t end = i < found->count ? found->all[i].offset : scan->size;

		if (find_trailers_between(scan, at, end, &places, err) != 0)
			return -1;
		if (i < found->count)
			at = bpk_max_u64(at, end + found->all[i].packed_size);
	}
	left->first_trailer =
		places.all[places.count > MOST_TRAILERS ? places.count % MOST_TRAILERS : 0];
	for (uint64_t i = 0; left->trailer.end == 0 && i < places.count && i < MOST_TRAILERS; i++)
		if (take_trailer(scan, left, places.all[(places.count - 1 - i) % MOST_TRAILERS],
				 err) != 0)
			return -1;
	return 0;
}

/* ---- All parts ---- */

/* A trailer before chunks is that of an older state. */
static void drop_old_trailer(struct bpk_frame_left *left, const struct bpk_salvage *found)
{
	const struct bpk_saved *last = found->count > 0 ? &found->all[found->count - 1] : NULL;

	if (left->sparse || last == NULL || last->offset < left->trailer.end)
		return;
	left->trailer = (struct bpk_frame_run){ 0 };
	left->bad_layers = false;
	bpk_frame_layers_clear(&left->layers);
	bpk_frame_digests_clear(&left->digests);
	bpk_frame_digests_clear(&left->hints);
}

/* Leave a header out that no digest proves if no chunk has its size: it is damaged. Of a single one
 * it must count the raw bytes, as the only chunk has all of them. */
static void test_header(struct bpk_frame_left *left, const struct bpk_salvage *found)
{
	size_t usual = 0;
	bool is_only = false;

	if (!left->has_fields || left->header.chunk_size <= 0 || left->digests.checksum != NULL)
		return;
	for (size_t i = 0; i < found->count; i++) {
		const struct bpk_saved *chunk = &found->all[i];

		if (chunk->intact && bpk_frame_left_has_size(left, chunk->raw_size))
			return;
		usual += chunk->intact && chunk->raw_size == found->chunk_size;
		is_only = is_only || (chunk->intact && chunk->raw_size == left->header.raw_size);
	}
	if (usual > 1 || is_only)
		left->has_header = left->has_fields = false;
}

int bpk_frame_left_find(struct bpk_scan *scan, struct bpk_frame_left *left,
			struct bpk_salvage *found, struct bpk_err *err)
{
	uint64_t first = found->count > 0 ? found->all[0].offset : scan->size;

	left->payload = BPK_UNKNOWN;
	if (find_trailer(scan, left, found, err) != 0)
		return -1;
	drop_run(found, left->trailer);
	drop_old_trailer(left, found);
	if (bpk_salvage_find_chunk_size(found, err) != 0 ||
	    bpk_frame_left_find_header(scan, left, first, err) != 0)
		return -1;
	test_header(left, found);
	if (bpk_frame_left_find_index(scan, left, found, err) != 0)
		return -1;
	if (left->index.end > 0) /* behind it are layers, of a trailer that is damaged */
		drop_run(found, (struct bpk_frame_run){ left->index.start, UINT64_MAX });
	compare_counts(left);
	return 0;
}

void bpk_frame_left_clear(struct bpk_frame_left *left)
{
	bpk_frame_header_clear(&left->header);
	bpk_frame_layers_clear(&left->layers);
	bpk_frame_digests_clear(&left->digests);
	bpk_frame_digests_clear(&left->hints);
	bpk_buf_clear(&left->entries);
	bpk_buf_clear(&left->text);
	bpk_buf_clear(&left->run);
	if (left->nd != NULL)
		bpk_frame_nd_clear(left->nd);
	free(left->nd);
	free(left->list);
	*left = (struct bpk_frame_left){ .sparse = left->sparse };
}

void bpk_frame_left_free(void *parts)
{
	if (parts == NULL)
		return;
	bpk_frame_left_clear(parts);
	free(parts);
}

/* ---- Digests of a damaged trailer ---- */

/* Sets unproven. Entries of an index that could be loaded have its digest. */
static int prove(const struct bpk_frame_left *left, const struct bpk_place *place,
		 const struct bpk_salvage *salvage, struct bpk_saved *saved, struct bpk_buf *packed,
		 struct bpk_err *err)
{
	const struct bpk_frame_digests *hints = &left->hints;
	uint8_t digest[BPK_DIGEST_MAX];

	saved->unproven = saved->special != BPK_SPECIAL_NONE && !left->loaded;
	if (saved->special != BPK_SPECIAL_NONE)
		return 0;
	if (bpk_salvage_fetch(place, salvage, saved, packed, err) != 0 ||
	    bpk_checksum_compute(hints->checksum, bpk_buf_view(packed), digest, err) != 0)
		return -1;
	saved->unproven = memcmp(digest, bpk_frame_digests_chunk(hints, saved->number),
				 hints->checksum->size) != 0;
	return 0;
}

/* Digests that prove no chunk are those of other data, or destroyed. */
static void settle_hints(struct bpk_frame_left *left, struct bpk_salvage *salvage)
{
	if (bpk_salvage_intact(salvage) > salvage->nunproven)
		return;
	bpk_frame_digests_clear(&left->hints);
	salvage->nunproven = 0;
	for (size_t i = 0; i < salvage->count; i++)
		salvage->all[i].unproven = false;
}

int bpk_frame_left_prove(struct bpk_frame_left *left, const struct bpk_place *place,
			 struct bpk_salvage *salvage, struct bpk_err *err)
{
	struct bpk_buf packed = { 0 };
	int rc = 0;

	if (left->hints.checksum == NULL || !salvage->counted ||
	    left->hints.nchunks != salvage->nchunks) {
		bpk_frame_digests_clear(&left->hints);
		return 0;
	}
	for (size_t i = 0; rc == 0 && i < salvage->count; i++) {
		struct bpk_saved *saved = &salvage->all[i];

		if (!saved->intact)
			continue;
		rc = prove(left, place, salvage, saved, &packed, err);
		salvage->nunproven += saved->unproven;
	}
	bpk_buf_clear(&packed);
	settle_hints(left, salvage);
	return rc;
}

/* ---- For the new archive ---- */

static void list_layers(struct bpk_frame_left *left, const struct bpk_frame_layers *layers,
			bool fixed)
{
	struct bpk_metadata_info *metadata = &left->info.metadata;

	for (size_t i = 0; i < layers->count; i++)
		if (!bpk_frame_layer_is_ours(layers->all[i].name))
			left->list[metadata->nlayers++] = (struct bpk_layer){
				.name = layers->all[i].name,
				.fixed = fixed,
				.content = bpk_buf_view(&layers->all[i].content),
			};
}

static const struct bpk_checksum *checksum_of(const struct bpk_frame_left *left)
{
	const struct bpk_frame_header *header = &left->header;
	bool by_other = left->has_fields && (header->pack_threads | header->unpack_threads) != 0;

	if (left->digests.checksum != NULL)
		return left->digests.checksum;
	if (left->hints.checksum != NULL)
		return left->hints.checksum;
	return by_other ? &bpk_checksums[0] : bpk_checksum_find("crc32");
}

/* True if each intact chunk has the digest of its number. */
static bool are_proven(const struct bpk_frame_left *left, const struct bpk_salvage *salvage)
{
	return left->digests.checksum != NULL ||
	       (left->hints.checksum != NULL && salvage->nunproven == 0);
}

static int doubt_trailer(const struct bpk_frame_left *left, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	char clause[256], which[128];
	size_t first = 0;

	if (are_proven(left, salvage) || left->is_cut)
		return bpk_salvage_doubt(salvage, "the trailer is damaged, and metadata may be",
					 err);
	if (left->hints.checksum == NULL)
		return bpk_salvage_doubt(salvage,
					 "the trailer is damaged, and metadata may be; changed "
					 "bytes in a chunk may go unnoticed",
					 err);
	while (!salvage->all[first].unproven)
		first++;
	if (salvage->nunproven == 1)
		snprintf(which, sizeof which, "chunk %" PRIu64 " has", salvage->all[first].number);
	else
		snprintf(which, sizeof which,
			 "%" PRIu64 " of the intact chunks, from chunk %" PRIu64 " on, have",
			 salvage->nunproven, salvage->all[first].number);
	snprintf(clause, sizeof clause,
		 "the trailer is damaged, and metadata may be; %s another digest there, and may "
		 "have changed bytes",
		 which);
	return bpk_salvage_doubt(salvage, clause, err);
}

/* The digests of an older state prove no chunk of the later one. */
static void unprove(struct bpk_salvage *salvage)
{
	salvage->nunproven = bpk_salvage_intact(salvage);
	for (size_t i = 0; i < salvage->count; i++)
		salvage->all[i].unproven = salvage->all[i].intact;
}

static int add_doubts(const struct bpk_frame_left *left, struct bpk_salvage *salvage,
		      struct bpk_err *err)
{
	bool by_other = checksum_of(left)->size == 0;
	bool lacks_trailer = left->trailer.end == 0 && !(by_other && !left->header.has_layers);
	const struct {
		bool applies;
		const char *clause;
	} doubts[] = {
		{ !left->has_header, "the header is lost, and with it shape and fixed metadata" },
		{ left->bad_header, "the header has another digest in the trailer, and shape and "
				    "fixed metadata may be damaged" },
		{ lacks_trailer, "the trailer is lost, and with it metadata, and the checksums "
				 "without which changed bytes in a chunk may go unnoticed" },
		{ left->is_old && !left->is_cut,
		  "the header counts other chunks than the index, as it is damaged "
		  "or of another state of the frame" },
		{ left->is_cut, "the header is of a later state of the frame, whose end is lost" },
		{ left->is_followed, "bytes follow the trailer, and may be of a later state of the "
				     "frame, whose header and end are lost" },
	};

	salvage->unnoticed = lacks_trailer || left->bad_header ||
			     (left->bad_layers && left->hints.checksum == NULL);
	salvage->maybe_array =
		!left->has_header && left->has_fields && left->header.size > BPK_FRAME_LEAST_HEADER;
	if (left->is_cut)
		unprove(salvage);
	salvage->sealed = left->has_header &&
			  bpk_frame_layers_find(&left->header.fixed, BPK_FRAME_SEAL) != NULL;
	for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
		if (doubts[i].applies && bpk_salvage_doubt(salvage, doubts[i].clause, err) != 0)
			return -1;
	return left->bad_layers ? doubt_trailer(left, salvage, err) : 0;
}

static const uint8_t *digest_of(const void *parts, uint64_t number)
{
	return bpk_frame_left_digest(parts, number);
}

/* True if the frame is not much larger than its chunks, index, digests, and the metadata that most
 * have: the size in the header is damaged otherwise, or proves nothing. */
static bool has_usual_size(const struct bpk_frame_left *left)
{
	enum { METADATA = 1 << 20 };
	const struct bpk_frame_header *header = &left->header;
	uint64_t n = bpk_min_u64(bpk_frame_count(header), UINT32_MAX);
	uint64_t payload = left->sparse ? 0 : header->packed_size;

	return n == 0 || header->frame_size - payload <=
				 METADATA + n * (BPK_FRAME_ENTRY + (uint64_t)BPK_DIGEST_MAX);
}

int bpk_frame_left_give(struct bpk_frame_left *left, struct bpk_salvage *salvage,
			struct bpk_err *err)
{
	const struct bpk_frame_layers *fixed = &left->header.fixed;
	struct bpk_info *info = &left->info;
	bool is_empty;

	if (left->has_header && !left->bad_header && bpk_frame_left_fits(left) &&
	    has_usual_size(left))
		salvage->file_size = left->header.frame_size;
	if (left->is_cut)
		salvage->file_size = left->seen.frame;
	salvage->estimated = salvage->estimated || left->is_old || left->is_followed;
	salvage->parts = left;
	salvage->release = bpk_frame_left_free;
	salvage->digest_of = digest_of;
	salvage->checksum = checksum_of(left);
	salvage->proven = are_proven(left, salvage);
	salvage->numbered = left->digests.checksum != NULL;
	if (left->digests.checksum != NULL)
		salvage->state = bpk_hash_words(BPK_HASH_START, bpk_buf_view(&left->digests.bytes));
	if (bpk_frame_left_set_array(left, salvage, err) != 0)
		return -1;
	left->list = bpk_calloc(fixed->count + left->layers.count + 1, sizeof *left->list, err);
	if (left->list == NULL ||
	    bpk_frame_layers_print(fixed, &left->layers, &left->text, &is_empty, err) != 0)
		return -1;
	list_layers(left, fixed, true);
	list_layers(left, &left->layers, false);
	info->metadata.layers = left->list;
	info->metadata.text = bpk_buf_view(&left->text);
	info->metadata.given = info->metadata.nlayers > 0;
	info->chunks.extended = true;
	if (left->has_fields) {
		info->frame = &left->header;
		info->chunks.typesize = left->header.typesize;
		salvage->typesize = left->header.typesize;
	}
	salvage->like = info;
	return add_doubts(left, salvage, err);
}
