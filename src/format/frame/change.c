/*
 * The start and the end of a change of a frame, independently of its files: the committed content
 * becomes an output, as if a writer had put it. The editor and its stores call it.
 */
#include "format/frame/chunks.h"
#include "format/frame/editor.h"
#include "format/frame/fetch.h"
#include "format/frame/open.h"
#include "format/frame/seal.h"
#include "format/frame/validate.h"

#include <inttypes.h>

enum {
	/* a single chunk below this size reflects small data, not a chosen chunk size */
	SMALL_CHUNK = 64 << 10,
	NEW_CHUNK = 1 << 20,    /* size of added chunks if the frame does not decide it */
	MOST_UNIFORM = 1 << 24, /* most chunks of an index of equal entries that is expanded */
	USER_CODEC = 6,         /* codec value that refers to the number in the next byte */
};

/* ---- The committed content ---- */

/* The size of chunks to be added; a single small chunk does not decide it. */
static uint64_t size_to_add(const struct bpk_info *info)
{
	uint32_t typesize = info->chunks.typesize > 0 && info->chunks.typesize <= NEW_CHUNK
				    ? info->chunks.typesize
				    : 1;

	if (info->chunks.size != BPK_UNKNOWN && info->chunks.size > 0 &&
	    (info->chunks.count > 1 || info->chunks.size >= SMALL_CHUNK))
		return info->chunks.size;
	return NEW_CHUNK / typesize * typesize;
}

static int check_kind(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	const struct bpk_frame_header *header = &r->state.header;

	if (header->version == 1)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"frames of version 1 are only read; a copy made by convert can be "
				"changed");
	if (header->codec == USER_CODEC)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"is packed with codec %u, which is not built in; it cannot be "
				"changed",
				header->user_codec);
	return 0;
}

int bpk_frame_editor_load(struct bpk_frame_editor *e, struct bpk_dir *dir,
			  struct bpk_source *source, struct bpk_err *err)
{
	const struct bpk_read_options options = { 0 };
	struct bpk_frame_found last;

	bpk_frame_close(e->reader);
	e->reader = NULL;
	if (bpk_frame_open(dir, source, &options, &e->reader, err) != 0 ||
	    check_kind(e->reader, err) != 0)
		return -1;
	e->info = e->reader->info;
	e->info.chunks.size = size_to_add(&e->info);
	if (e->reader->array.is_nd)
		bpk_frame_nd_load(e);
	/* the error explains why its size is unknown */
	if (e->info.chunks.last_size == BPK_UNKNOWN &&
	    bpk_frame_look(e->reader, e->info.chunks.count - 1, &last, err) != 0)
		return -1;
	bpk_sidecar_give(e->sidecar);
	return 0;
}

void bpk_frame_editor_forget(struct bpk_frame_editor *e)
{
	bpk_frame_output_clear(&e->output);
	e->changes = e->is_cut = e->altered = e->replaces = e->reseals = false;
}

/* ---- Beginning a change: taking over the committed content ---- */

/* Only sizes and user data may differ, so the header's length must stay the same. */
static int copy_header(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_header *header = &e->output.header;
	struct bpk_buf bytes = { 0 };
	int rc;

	*header = state->header;
	header->fixed = (struct bpk_frame_layers){ 0 };
	if (bpk_frame_layers_copy(&state->header.fixed, &header->fixed, err) != 0 ||
	    bpk_frame_layers_copy(&state->layers, &e->output.layers, err) != 0)
		return -1;
	bpk_frame_layers_remove(&header->fixed, BPK_FRAME_DIGESTS);
	bpk_frame_layers_remove(&e->output.layers, BPK_FRAME_DIGESTS);
	bpk_frame_layers_remove(&e->output.layers, BPK_FRAME_SEAL);
	rc = bpk_frame_header_write(header, &bytes, err);
	if (rc == 0 && bytes.size != state->head.size)
		rc = bpk_fail(err, BPK_UNSUPPORTED,
			      "its header has %zu bytes, expected %zu for its content; a copy "
			      "made by convert can be changed",
			      state->head.size, bytes.size);
	bpk_buf_clear(&bytes);
	return rc;
}

static int copy_entries(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_output *out = &e->output;

	if (!state->uniform && state->entry_pages == NULL)
		return bpk_buf_append(&out->entries, bpk_buf_view(&state->entries), err);
	if (state->uniform && state->nchunks > MOST_UNIFORM)
		return bpk_fail(err, BPK_LIMIT,
				"%" PRIu64
				" chunks of one value, at most %d are possible in a frame that is "
				"changed",
				state->nchunks, MOST_UNIFORM);
	for (uint64_t i = 0; i < state->nchunks; i++) {
		uint64_t entry;

		if (bpk_frame_entry(state, i, &entry, err) != 0 ||
		    bpk_buf_append(&out->entries, bpk_view((uint8_t *)&entry, sizeof entry), err) !=
			    0)
			return -1;
	}
	return 0;
}

/* The digest of chunk parcel->number; zeros if it is only an index entry. */
static int find_digest(struct bpk_frame_editor *e, struct bpk_parcel *parcel, struct bpk_buf *raw,
		       uint8_t *digest, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	uint64_t entry;

	memset(digest, 0, BPK_DIGEST_MAX);
	if (bpk_frame_entry(state, parcel->number, &entry, err) != 0)
		return -1;
	if (bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE)
		return 0;
	if (!bpk_frame_has_seal(state, parcel->number))
		return bpk_frame_fetch(e->reader, parcel, err) != 0
			       ? -1
			       : bpk_frame_validate(e->reader, e->output.ctx, parcel, raw, digest,
						    err);
	/* a new seal would stand on a damaged chunk */
	if (e->reseals && (bpk_frame_fetch(e->reader, parcel, err) != 0 ||
			   bpk_frame_chunk_check(e->reader, parcel, err) != 0))
		return -1;
	return bpk_frame_get_seal(state, parcel->number, digest, err);
}

static int copy_digests(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_checksum *checksum = e->info.chunks.checksum;
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	struct bpk_buf raw = { 0 };
	uint8_t digest[BPK_DIGEST_MAX];
	int rc = 0;

	e->output.checksum = checksum;
	for (; rc == 0 && checksum->size > 0 && parcel.number < e->reader->state.nchunks;
	     parcel.number++) {
		rc = find_digest(e, &parcel, &raw, digest, err);
		if (rc == 0)
			rc = bpk_buf_append(&e->output.digests, bpk_view(digest, checksum->size),
					    err);
	}
	bpk_buf_clear(&parcel.packed);
	bpk_buf_clear(&raw);
	return rc;
}

static int recall(void *arg, struct bpk_buf *all, struct bpk_err *err)
{
	struct bpk_frame_editor *e = arg;

	return bpk_frame_seal_walk(e->reader, !e->reseals, all, err);
}

static int find_leaf(void *arg, uint64_t number, uint8_t leaf[BPK_MERKLE_SIZE], struct bpk_err *err)
{
	return bpk_frame_seal_find(((struct bpk_frame_editor *)arg)->reader, number, leaf, err);
}

/* Continue the seal: by the tree alone, or after another program's changes by all chunks. */
static int copy_seal(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_seal *seal = &e->reader->state.seal;
	struct bpk_seal_growth *next = &e->output.seal;
	bool sealed;

	if (!e->reseals && bpk_frame_seal_check(e->reader, err) != 0)
		return -1;
	if (!seal->marked) /* no program removes the fixed layer */
		return bpk_seal_check(seal, e->reader->state.nchunks, &sealed, err);
	if (bpk_seal_next(seal, &next->generation, err) != 0)
		return -1;
	next->recall = recall;
	next->find = find_leaf;
	next->arg = e;
	next->old = seal;
	if (e->reseals)
		return recall(e, &next->leaves, err);
	next->base = *seal->tree;
	return 0;
}

/* Count the stored chunks; the first of them decides whether blocks have variable length. */
static int count_stored(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_output *out = &e->output;
	struct bpk_frame_found first;

	for (uint64_t i = 0; i < state->nchunks; i++) {
		uint64_t entry;

		if (bpk_frame_entry(state, i, &entry, err) != 0)
			return -1;
		if (bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE || out->nstored++ > 0)
			continue;
		if (bpk_frame_look(e->reader, i, &first, err) != 0)
			return -1;
		out->header.variable_blocks = first.header.variable_blocks;
	}
	return 0;
}

static void copy_sizes(struct bpk_frame_editor *e)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_output *out = &e->output;

	out->nchunks = state->nchunks;
	out->raw_size = state->header.raw_size;
	out->last_size = e->info.chunks.last_size;
	out->full = state->header.chunk_size > 0 ? (uint64_t)state->header.chunk_size
						 : e->info.chunks.size;
	/* an array's chunks all have one size, including padding */
	if (e->reader->array.is_nd) {
		out->last_size = out->full = e->reader->array.nd.chunk_size;
		out->block_size = (uint32_t)e->reader->array.nd.block_size;
	}
}

static int copy_all(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct bpk_frame_output *out = &e->output;

	if (bpk_frame_check_parts(e->reader, err) != 0)
		return -1;
	out->store = e->store->put;
	out->arg = e->files;
	out->ctx = bpk_chunk_ctx_new(err);
	if (out->ctx == NULL || copy_header(e, err) != 0 || copy_entries(e, err) != 0 ||
	    copy_digests(e, err) != 0 || count_stored(e, err) != 0)
		return -1;
	copy_sizes(e);
	return copy_seal(e, err);
}

int bpk_frame_editor_begin(struct bpk_frame_editor *e, struct bpk_err *err)
{
	if (e->changes)
		return 0;
	if (bpk_sidecar_take(e->sidecar, err) != 0)
		return -1;
	if (copy_all(e, err) != 0) {
		bpk_frame_editor_forget(e);
		return -1;
	}
	e->changes = true;
	return 0;
}

/* ---- Ending a change ---- */

int bpk_frame_editor_end(struct bpk_frame_editor *e, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err)
{
	if (e->reader->array.is_nd && bpk_frame_nd_set_shape(e, err) != 0)
		return -1;
	return bpk_frame_output_end(&e->output, payload_end, payload, header_bytes, tail, err);
}
