/*
 * Changes a frame, for both editors, independently of its files: the committed content becomes an
 * output, as if a writer had put it, and more chunks are added to it or replaced.
 */
#include "format/frame/editor.h"

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
	if (e->reader->has_nd)
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
	e->changes = e->is_cut = e->altered = e->replaces = false;
}

void bpk_frame_editor_clear(struct bpk_frame_editor *e)
{
	bpk_frame_editor_forget(e);
	bpk_frame_close(e->reader);
	e->reader = NULL;
}

/* ---- Beginning a change: taking over the committed content ---- */

static int copy_layers(const struct bpk_frame_layers *from, struct bpk_frame_layers *to,
		       struct bpk_err *err)
{
	for (size_t i = 0; i < from->count; i++)
		if (strcmp(from->all[i].name, BPK_FRAME_DIGESTS) != 0 &&
		    bpk_frame_layers_set(to, from->all[i].name, bpk_buf_view(&from->all[i].content),
					 err) != 0)
			return -1;
	return 0;
}

/* Only sizes and user data may differ, so the header's length must stay the same. */
static int take_header(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_header *header = &e->output.header;
	struct bpk_buf bytes = { 0 };
	int rc;

	*header = state->header;
	header->fixed = (struct bpk_frame_layers){ 0 };
	if (copy_layers(&state->header.fixed, &header->fixed, err) != 0 ||
	    copy_layers(&state->layers, &e->output.layers, err) != 0)
		return -1;
	rc = bpk_frame_header_write(header, &bytes, err);
	if (rc == 0 && bytes.size != state->head.size)
		rc = bpk_fail(err, BPK_UNSUPPORTED,
			      "its header has %zu bytes, expected %zu for its content; a copy "
			      "made by convert can be changed",
			      state->head.size, bytes.size);
	bpk_buf_clear(&bytes);
	return rc;
}

static int take_entries(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_output *out = &e->output;

	if (!state->uniform)
		return bpk_buf_append(&out->entries, bpk_buf_view(&state->entries), err);
	if (state->nchunks > MOST_UNIFORM)
		return bpk_fail(err, BPK_LIMIT,
				"%" PRIu64
				" chunks of one value, at most %d are possible in a frame that is "
				"changed",
				state->nchunks, MOST_UNIFORM);
	for (uint64_t i = 0; i < state->nchunks; i++)
		if (bpk_buf_append(&out->entries, bpk_buf_view(&state->entries), err) != 0)
			return -1;
	return 0;
}

/* The digest of chunk parcel->number; zeros if it is only an index entry. */
static int find_digest(struct bpk_frame_editor *e, struct bpk_parcel *parcel, struct bpk_buf *raw,
		       uint8_t *digest, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	const uint8_t *old = bpk_frame_digests_chunk(&state->digests, parcel->number);

	memset(digest, 0, BPK_DIGEST_MAX);
	if (bpk_frame_offset_special(bpk_frame_entry(state, parcel->number)) != BPK_SPECIAL_NONE)
		return 0;
	if (state->stale || old == NULL)
		return bpk_frame_bring(e->reader, parcel, err) != 0
			       ? -1
			       : bpk_frame_vouch(e->reader, e->output.ctx, parcel, raw, digest,
						 err);
	memcpy(digest, old, e->output.checksum->size);
	return 0;
}

static int take_digests(struct bpk_frame_editor *e, struct bpk_err *err)
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

/* Count the stored chunks; the first of them decides whether blocks have variable length. */
static int count_stored(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_output *out = &e->output;
	struct bpk_frame_found first;

	for (uint64_t i = 0; i < state->nchunks; i++) {
		if (bpk_frame_offset_special(bpk_frame_entry(state, i)) != BPK_SPECIAL_NONE ||
		    out->nstored++ > 0)
			continue;
		if (bpk_frame_look(e->reader, i, &first, err) != 0)
			return -1;
		out->header.variable_blocks = first.header.variable_blocks;
	}
	return 0;
}

static void take_sizes(struct bpk_frame_editor *e)
{
	const struct bpk_frame_state *state = &e->reader->state;
	struct bpk_frame_output *out = &e->output;

	out->nchunks = state->nchunks;
	out->raw_size = state->header.raw_size;
	out->last_size = e->info.chunks.last_size;
	out->full = state->header.chunk_size > 0 ? (uint64_t)state->header.chunk_size
						 : e->info.chunks.size;
	/* an array's chunks all have one size, including padding */
	if (e->reader->has_nd) {
		out->last_size = out->full = e->reader->nd.chunk_size;
		out->block_size = (uint32_t)e->reader->nd.block_size;
	}
}

static int take_all(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct bpk_frame_output *out = &e->output;

	if (bpk_frame_check_parts(e->reader, err) != 0)
		return -1;
	out->store = e->store;
	out->arg = e->arg;
	out->ctx = bpk_chunk_ctx_new(err);
	if (out->ctx == NULL || take_header(e, err) != 0 || take_entries(e, err) != 0 ||
	    take_digests(e, err) != 0 || count_stored(e, err) != 0)
		return -1;
	take_sizes(e);
	return 0;
}

static int begin(struct bpk_frame_editor *e, struct bpk_err *err)
{
	if (e->changes)
		return 0;
	if (bpk_sidecar_take(e->sidecar, err) != 0)
		return -1;
	if (take_all(e, err) != 0) {
		bpk_frame_editor_forget(e);
		return -1;
	}
	e->changes = true;
	return 0;
}

/*
 * For a fixed chunk size with a short chunk before the last ("Chunks"): the length of a special
 * entry would change with the number of chunks, so from here on every chunk records its own size.
 */
static int even_out(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct bpk_frame_output *out = &e->output;

	if (e->reader->regular || out->nchunks == 0 || out->header.variable_chunks)
		return 0;
	return bpk_frame_output_vary(out, err);
}

/* ---- Chunks ---- */

static int begin_chunks(struct bpk_frame_editor *e, struct bpk_err *err)
{
	if (e->reader->has_nd && bpk_frame_nd_check(e, err) != 0)
		return -1;
	if (begin(e, err) != 0)
		return -1;
	e->altered = true;
	return e->reader->has_nd ? 0 : even_out(e, err);
}

/* Measure the raw bytes up to chunk number, the last that is kept. */
static int measure(struct bpk_frame_editor *e, uint64_t number, struct bpk_err *err)
{
	struct bpk_frame_output *out = &e->output;
	struct bpk_where where;

	if (e->reader->has_nd) {
		out->raw_size = (number + 1) * out->full;
		return 0;
	}
	if (bpk_frame_reader_ops.locate(e->reader, number, &where, err) != 0)
		return -1;
	out->last_size = where.header.raw_size;
	out->raw_size = where.raw_offset + where.header.raw_size;
	return 0;
}

static void cut_all(struct bpk_frame_editor *e)
{
	struct bpk_frame_output *out = &e->output;

	out->raw_size = 0;
	out->header.variable_chunks = false;
	if (e->reader->has_nd) {
		/* it is set even without chunks */
		out->header.chunk_size = (int32_t)out->full;
		return;
	}
	out->last_size = 0;
	out->full = e->info.chunks.size;
	out->header.chunk_size = -1;
}

static void drop_entries(struct bpk_frame_output *out, uint64_t nchunks)
{
	for (uint64_t i = nchunks; i < out->nchunks; i++) {
		uint64_t entry;

		memcpy(&entry, out->entries.data + i * sizeof entry, sizeof entry);
		out->nstored -= bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE;
	}
	out->nchunks = nchunks;
	out->entries.size = nchunks * sizeof(uint64_t);
	out->digests.size = nchunks * out->checksum->size;
}

int bpk_frame_editor_cut(struct bpk_frame_editor *e, uint64_t nchunks, struct bpk_err *err)
{
	if (e->altered || nchunks > e->info.chunks.count)
		return bpk_fail(err, BPK_BUG, "cut to %" PRIu64 " of %" PRIu64 " chunks%s", nchunks,
				e->info.chunks.count, e->altered ? " after another change" : "");
	if (begin_chunks(e, err) != 0)
		return -1;
	e->is_cut = true;
	e->kept = nchunks;
	e->altered = nchunks < e->info.chunks.count;
	if (e->reader->has_nd && bpk_frame_nd_cut_rows(e, nchunks, &nchunks, err) != 0)
		return -1;
	drop_entries(&e->output, nchunks);
	e->output.open_typesize = !e->reader->has_nd && e->output.nstored == 0;
	if (!e->altered && nchunks > 0)
		return 0;
	if (nchunks == 0) {
		cut_all(e);
		return 0;
	}
	return measure(e, nchunks - 1, err);
}

/* A chunk can only be replaced by one of the same raw size. */
static int check_size(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	struct bpk_frame_found found;
	uint64_t size;

	if (parcel->number >= e->info.chunks.count)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " of %" PRIu64, parcel->number,
				e->info.chunks.count);
	size = bpk_frame_chunk_size(e->reader, parcel->number);
	if (size == BPK_UNKNOWN) {
		if (bpk_frame_look(e->reader, parcel->number, &found, err) != 0)
			return -1;
		size = found.header.raw_size;
	}
	if (parcel->raw_size != size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " of %zu bytes for one of %" PRIu64,
				parcel->number, parcel->raw_size, size);
	return 0;
}

int bpk_frame_editor_put(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
			 struct bpk_err *err)
{
	if (begin_chunks(e, err) != 0)
		return -1;
	e->replaces = e->replaces || !e->is_cut;
	if (e->reader->has_nd)
		return bpk_frame_nd_put_band(e, parcel, err);
	if (!e->is_cut)
		return check_size(e, parcel, err) == 0
			       ? bpk_frame_output_replace(&e->output, parcel, err)
			       : -1;
	if (parcel->number != e->output.nchunks)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was put, expected %" PRIu64,
				parcel->number, e->output.nchunks);
	return bpk_frame_output_put(&e->output, parcel, err);
}

bool bpk_frame_editor_only_adds(const struct bpk_frame_editor *e)
{
	if (e->replaces)
		return false;
	if (!e->is_cut)
		return true;
	return e->kept + 1 >= e->info.chunks.count &&
	       (e->reader->has_nd ? e->rows >= e->reader->nd.array.shape[0]
				  : e->output.raw_size >= e->reader->state.header.raw_size);
}

bool bpk_frame_editor_packs(const struct bpk_frame_editor *e)
{
	return e->reader->has_nd;
}

int bpk_frame_editor_seal(const struct bpk_frame_editor *e, struct bpk_parcel *parcel,
			  struct bpk_err *err)
{
	return (e->reader->has_nd ? bpk_frame_nd_seal : bpk_parcel_seal)(e->info.chunks.checksum,
									 parcel, err);
}

int bpk_frame_editor_end(struct bpk_frame_editor *e, uint64_t payload_end, uint64_t payload,
			 struct bpk_buf *header_bytes, struct bpk_buf *tail, struct bpk_err *err)
{
	if (e->reader->has_nd && bpk_frame_nd_set_shape(e, err) != 0)
		return -1;
	return bpk_frame_output_end(&e->output, payload_end, payload, header_bytes, tail, err);
}

/* ---- Metadata and digests ---- */

/* Begin a change that affects neither chunks nor rows. */
static int begin_others(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_output *out = &e->output;

	if (begin(e, err) != 0)
		return -1;
	return out->nchunks == bpk_frame_count(&out->header) ? 0 : even_out(e, err);
}

int bpk_frame_editor_reseal(struct bpk_frame_editor *e, bool *needed, struct bpk_err *err)
{
	const struct bpk_frame_state *state = &e->reader->state;

	*needed = state->stale || state->stale_header;
	if (!*needed)
		return bpk_frame_check_parts(e->reader, err);
	e->altered = begin_others(e, err) == 0;
	return e->altered ? 0 : -1;
}

static int parse(struct bpk_frame_editor *e, struct bpk_view text, struct bpk_frame_layers *fixed,
		 struct bpk_frame_layers *layers, struct bpk_err *err)
{
	static const char nothing[] = "{}";

	if (text.size == 0)
		text = bpk_view(nothing, sizeof nothing - 1);
	if (copy_layers(&e->output.header.fixed, fixed, err) != 0 ||
	    copy_layers(&e->output.layers, layers, err) != 0)
		return -1;
	return bpk_frame_layers_parse(text, fixed, layers, err);
}

static void exchange(struct bpk_frame_layers *a, struct bpk_frame_layers *b)
{
	struct bpk_frame_layers kept = *a;

	*a = *b;
	*b = kept;
}

int bpk_frame_editor_set_metadata(struct bpk_frame_editor *e, struct bpk_view text,
				  struct bpk_err *err)
{
	struct bpk_frame_layers fixed = { 0 }, layers = { 0 };
	struct bpk_frame_output *out = &e->output;
	int rc = begin_others(e, err);

	if (rc == 0)
		rc = parse(e, text, &fixed, &layers, err);
	if (rc == 0) {
		exchange(&fixed, &out->header.fixed);
		exchange(&layers, &out->layers);
		e->altered = true;
	}
	bpk_frame_layers_clear(&fixed);
	bpk_frame_layers_clear(&layers);
	return rc;
}
